"""Combiner of partial rows of the fact tables: associative and commutative (docs/formats/serving.md).

Partial rows have the columns of the fact tables, but names of nodes and feeds (`node`, `feed`) instead of numbers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, TypeAlias, cast

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.arrays import Ints, fitted
from spark_sink.bad_lines import Row, bounded
from spark_sink.partials.groupby import (
    LAST,
    Column,
    Criterion,
    RowGroups,
    first_text,
    greatest,
    group,
    least,
    numbers_of,
)
from spark_sink.serving.database import rows_of, table_of
from spark_sink.serving.tables import FACE_LAW, FACE_STATE, FACTS, SIDE, Table

Merge: TypeAlias = Callable[[pa.Table, RowGroups], pa.Table]

_NAMED: Final = {"node_no": "node", "feed_no": "feed"}
_LEFT_OUT: Final = {"sights": ("batch", "part"), "packets": ("place",)}
"""Columns that are known only once rows are written."""


def _partial_schema(table: Table) -> pa.Schema:
    fields = []
    for column in table.columns:
        if column.name in _LEFT_OUT.get(table.name, ()):
            continue
        name = _NAMED.get(column.name, column.name)
        named = name != column.name or name == "publisher"
        arrow = pa.string() if named else pa.type_for_alias(column.type.value)
        fields.append(pa.field(name, arrow, nullable=column.optional))
    return pa.schema(fields)


_TABLES: Final = {table.name: table for table in (*FACTS, *SIDE)}
SCHEMAS: Final = {name: _partial_schema(table) for name, table in _TABLES.items()}
"""Columns of partial tables, by their names, in the order in which they are made."""
KEYS: Final = {
    name: tuple(_NAMED.get(key, key) for key in _TABLES[name].key if key not in _LEFT_OUT.get(name, ()))
    for name in SCHEMAS
}
"""Columns that identify a row of each partial table."""


def merge(name: str, rows: pa.Table) -> pa.Table:
    """Make the rows of the partial table *name*, merged to one for each key.

    Texts may be dictionary-encoded; optional columns of which nothing is known may be left out. Tables of single
    things (`incidents`, `bad_lines`, `sights`, `packets`) stay as they are, since no two of their rows are of the
    same record; only the last `packets` are kept, and the first `bad_lines` of each file.
    """
    if name in _MERGES:
        groups = group([rows.column(key) for key in KEYS[name]], len(rows))
        if groups.count < len(rows):
            rows = _MERGES[name](spelled(name, rows, encoded=True), groups)
    elif name == "packets":
        rows = rows.slice(max(0, len(rows) - limits.PACKETS_KEPT))
    elif name == "bad_lines":
        names = SCHEMAS[name].names
        lines = cast("Iterator[Row]", rows_of(rows.select(names)))
        rows = table_of(name, names, list(bounded(lines)))
    return spelled(name, rows)


def spelled(name: str, rows: pa.Table, *, encoded: bool = False) -> pa.Table:
    """Return all columns of the partial table *name*, in order; texts are spelled out unless they may be *encoded*."""
    if not encoded:
        return fitted(rows, SCHEMAS[name])
    there = set(rows.column_names)
    return pa.table(
        {
            field.name: rows.column(field.name) if field.name in there else pa.nulls(len(rows), field.type)
            for field in SCHEMAS[name]
        }
    )


def _add(*sums: str) -> Merge:
    """Make a merge that adds up the rows of one key."""

    def add(rows: pa.Table, groups: RowGroups) -> pa.Table:
        found = rows.drop_columns(list(sums)).take(pa.array(groups.some()))
        for column in sums:
            found = found.append_column(column, pa.array(groups.sums(numbers_of(rows.column(column)))))
        return found

    return add


def _pick(*criteria: tuple[Callable[[Column], Criterion], str]) -> Merge:
    """Keep one row of each key: the best by the first criterion in which they differ."""

    def pick(rows: pa.Table, groups: RowGroups) -> pa.Table:
        best = groups.best([criterion(rows.column(name)) for criterion, name in criteria])
        return rows.take(pa.array(best))

    return pick


def _unknown_last(column: Column) -> Criterion:
    return least(pc.is_null(column))


def _side_chains(rows: pa.Table, groups: RowGroups) -> pa.Table:
    complete_us = groups.least(numbers_of(rows.column("complete_us"), LAST))
    found = rows.select(KEYS["side_chains"]).take(pa.array(groups.some()))
    found = found.append_column("held", pa.array(groups.most(numbers_of(rows.column("held")))))
    return found.append_column("complete_us", pa.array(complete_us, mask=complete_us == LAST))


STARTED: Final = (
    "name", "feed", "dialect", "version", "clean", "network", "network_name", "latitude", "longitude", "started_us",
)  # fmt: skip
"""Columns of `boots` that come from the record ``start``, all from the same one."""
FIRST: Final = ("first_offset", "first_us", "first_mono_us")
LATEST: Final = ("last_offset", "last_us", "last_mono_us")


def _boots(rows: pa.Table, groups: RowGroups) -> pa.Table:
    """Add up records; keep the values of the first, the last and the start record each as a whole.

    There should be one stop record; if there are more, the smallest values count.
    """
    reasons = rows.column("stop_reason")
    picks = {
        KEYS["boots"]: groups.some(),
        FIRST: groups.best([least(rows.column("first_offset"))]),
        LATEST: groups.best([greatest(rows.column("last_offset"))]),
        STARTED: groups.best([least(rows.column("started_us"))]),
        ("stopped_us",): groups.best([least(rows.column("stopped_us"))]),
        ("stop_reason",): groups.best([_unknown_last(reasons), first_text(reasons)]),
    }
    records = groups.sums(numbers_of(rows.column("records")))
    return _picked(rows, picks).append_column("records", pa.array(records))


def _faces(rows: pa.Table, groups: RowGroups) -> pa.Table:
    """Keep the state that the newest record tells, and the law that the newest ``face_up`` does."""
    laws = rows.column("law_boot"), rows.column("law_offset")
    picks = {
        KEYS["faces"]: groups.some(),
        FACE_STATE: groups.best([criterion(rows.column(name)) for criterion, name in _NEWEST]),
        FACE_LAW: groups.best([_unknown_last(laws[0]), *(greatest(column) for column in laws)]),
    }
    return _picked(rows, picks)


def _picked(rows: pa.Table, picks: Mapping[tuple[str, ...], Ints]) -> pa.Table:
    """Return a row for each key: some columns of the rows at some places each."""
    found: dict[str, pa.ChunkedArray] = {}
    for names, places in picks.items():
        found |= dict(zip(names, rows.select(names).take(pa.array(places)).columns, strict=True))
    return pa.table(found)


_NEWEST: Final = (greatest, "boot"), (greatest, "offset")
_MERGES: Final[Mapping[str, Merge]] = {
    "boots": _boots,
    "faces": _faces,
    "entries": _pick(
        # a publisher's word goes first; of several, and if there is none, the smallest id; what follows breaks ties
        (_unknown_last, "publisher"), (first_text, "id"), (least, "boot"), (least, "t_us"), (least, "mono_us"),
        (least, "type"), (least, "size"), (least, "chunks"), (first_text, "publisher"),
    ),
    "copies": _pick((least, "boot"), (least, "offset")),
    "side_chains": _side_chains,
    "frontiers": _pick((greatest, "seq"), (least, "boot"), (least, "t_us")),
    "sets": _pick(*_NEWEST),
    "traffic": _add("packets", "bytes", "airtime_us"),
    "counts": _add("records", "total"),
}  # fmt: skip


def combine(parts: Iterable[tuple[str, pa.Table]]) -> dict[str, pa.Table]:
    """Return partial tables by name, each with one row a key, from what `reduce` gave for parts of the records.

    How records were divided makes no difference, but for `packets`, of which those read last are kept, and `sights`:
    records of one hour that were read in several tasks stay in several rows.
    """
    tables = defaultdict(list)
    for name, part in parts:
        tables[name].append(part)
    return {name: merge(name, pa.concat_tables(some)) for name, some in tables.items()}
