"""How what a batch brought is merged with what is there: one statement a table, the same for both databases.

What has been merged is the same in whatever order and portions it came (docs/formats/serving.md). The rows are in
the temporary table ``new_<table>``, one a key.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from spark_sink import limits
from spark_sink.serving.ddl import quoted
from spark_sink.serving.tables import TABLES

SUMS: Final = {
    "boots": ("records",),
    "traffic": ("packets", "bytes", "airtime_us"),
    "airtime": ("packets", "airtime_us"),
    "counts": ("records", "total"),
}
"""Columns that are added up: never negative, and at most limits.SUM_MAX."""


def _statement(table: str, action: str) -> str:
    """*action* is what happens to a row that is there already."""
    columns = quoted([column.name for column in TABLES[table].columns])
    return (
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM new_{table} WHERE true "  # noqa: S608
        f"ON CONFLICT ({quoted(TABLES[table].key)}) DO {action}"
    )


def _update(table: str, expressions: Mapping[str, str], condition: str = "") -> str:
    changes = ", ".join(f'"{column}" = {expression}' for column, expression in expressions.items())
    return _statement(table, f"UPDATE SET {changes}{f' WHERE {condition}' if condition else ''}")


def _better(table: str, condition: str) -> str:
    """The new row takes the place of the old one if *condition* holds."""
    rest = TABLES[table].columns[len(TABLES[table].key) :]
    return _update(table, {column.name: f'excluded."{column.name}"' for column in rest}, condition)


def _row(source: str, columns: Sequence[str]) -> str:
    names = ", ".join(f'{source}."{column}"' for column in columns)
    return f"({names})"


def _compared(table: str, columns: Sequence[str], sign: str) -> str:
    return f"{_row('excluded', columns)} {sign} {_row(table, columns)}"


def _sum(table: str, column: str) -> str:
    new, old = f'excluded."{column}"', f'{table}."{column}"'
    return f"CASE WHEN {old} > {limits.SUM_MAX} - {new} THEN {limits.SUM_MAX} ELSE {old} + {new} END"


def _sums(table: str) -> dict[str, str]:
    return {column: _sum(table, column) for column in SUMS[table]}


def _smallest(table: str, column: str) -> str:
    """The smallest value known, null only while there is none."""
    new, old = f'excluded."{column}"', f'{table}."{column}"'
    return f"CASE WHEN {old} IS NULL OR {new} < {old} THEN {new} ELSE {old} END"


def _boots() -> str:
    """A boot has one ``start`` and one ``stop``; where a log has more of them, the smallest values are taken."""
    told = (column.name for column in TABLES["boots"].columns if column.optional)
    expressions = {column: _smallest("boots", column) for column in told}
    # Nodes call feeds by name, and numbers depend on the order of reading.
    expressions["feed_no"] = (
        "CASE WHEN boots.feed_no IS NULL THEN excluded.feed_no WHEN excluded.feed_no IS NULL THEN boots.feed_no "
        "WHEN (SELECT feed FROM feeds WHERE feeds.feed_no = excluded.feed_no) "
        "< (SELECT feed FROM feeds WHERE feeds.feed_no = boots.feed_no) "
        "THEN excluded.feed_no ELSE boots.feed_no END"
    )
    expressions |= _sums("boots")
    for end, sign in (("first", "<"), ("last", ">")):
        for column in (f"{end}_offset", f"{end}_us", f"{end}_mono_us"):
            expressions[column] = (
                f"CASE WHEN excluded.{end}_offset {sign} boots.{end}_offset "
                f'THEN excluded."{column}" ELSE boots."{column}" END'
            )
    return _update("boots", expressions)


def _entries() -> str:
    """Whoever published an entry knows it best; else, and among several who say so, the smallest id counts."""
    named = ("id", "type", "size", "chunks")
    told = ("id", "boot", "t_us", "mono_us", "type", "size", "chunks")
    return _better(
        "entries",
        "CASE WHEN excluded.publisher IS NULL AND entries.publisher IS NULL "  # noqa: S608
        f"THEN {_compared('entries', named, '<')} "
        "WHEN excluded.publisher IS NULL THEN false WHEN entries.publisher IS NULL THEN true "
        f"WHEN {_compared('entries', told, '=')} "
        "THEN (SELECT node FROM nodes WHERE node_no = excluded.publisher) "
        "< (SELECT node FROM nodes WHERE node_no = entries.publisher) "
        f"ELSE {_compared('entries', told, '<')} END",
    )


def _side_chains() -> str:
    """Packets of a side chain come in order, so the highest number of them is that of those held."""
    held = "CASE WHEN excluded.held > side_chains.held THEN excluded.held ELSE side_chains.held END"
    return _update("side_chains", {"held": held, "complete_us": _smallest("side_chains", "complete_us")})


RULES: Final = {
    "boots": _boots(),
    "faces": _better("faces", _compared("faces", ("boot", "offset"), ">")),
    "entries": _entries(),
    "copies": _better("copies", _compared("copies", ("boot", "offset"), "<")),
    "side_chains": _side_chains(),
    "frontiers": _better(
        "frontiers",
        f"excluded.seq > frontiers.seq OR excluded.seq = frontiers.seq AND "
        f"{_compared('frontiers', ('boot', 't_us'), '<')}",
    ),
    "sets": _better("sets", _compared("sets", ("boot", "offset"), ">")),
    "traffic": _update("traffic", _sums("traffic")),
    "airtime": _update("airtime", _sums("airtime")),
    "counts": _update("counts", _sums("counts")),
    "incidents": _statement("incidents", "NOTHING"),
}
"""By table, the statement that merges ``new_<table>`` into it."""
