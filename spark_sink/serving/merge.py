"""Upsert of a micro-batch into the serving database: one transaction, applied once."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.bad_lines import Row as BadLine
from spark_sink.bad_lines import bounded
from spark_sink.errors import SinkError
from spark_sink.serving import dirty_hours, meta, retention, standing, totals
from spark_sink.serving.database import Database, Value, marks, pieces, rows_of, table_of
from spark_sink.serving.ddl import quoted
from spark_sink.serving.facts import whole
from spark_sink.serving.names import NameNumbers
from spark_sink.serving.tables import FACE_LAW, FACE_STATE, TABLES

SUMS: Final = {
    "boots": ("records",),
    "traffic": ("packets", "bytes", "airtime_us"),
    "counts": ("records", "total"),
}
"""Columns that are added up: never negative, and at most limits.SUM_MAX."""


def _statement(table: str, action: str) -> str:
    """*action* is what happens to a row that is there already."""
    columns = quoted(TABLES[table].names)
    return (
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM new_{table} WHERE true "  # noqa: S608 the names are ours
        f"ON CONFLICT ({quoted(TABLES[table].key)}) DO {action}"
    )


def _update(table: str, expressions: Mapping[str, str], condition: str = "") -> str:
    changes = ", ".join(f'"{column}" = {expression}' for column, expression in expressions.items())
    return _statement(table, f"UPDATE SET {changes}{f' WHERE {condition}' if condition else ''}")


def _better(table: str, condition: str) -> str:
    """Replace the old row by the new one if *condition* holds."""
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
    """Keep the smallest known value; null only without any."""
    new, old = f'excluded."{column}"', f'{table}."{column}"'
    return f"CASE WHEN {old} IS NULL OR {new} < {old} THEN {new} ELSE {old} END"


def _boots() -> str:
    """Merge boots. A boot has one ``start`` and one ``stop``; if a log has more, the smallest values count."""
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


def _faces() -> str:
    """Merge faces: the newest record tells the state, the newest ``face_up`` the law."""
    law = _compared("faces", ("law_boot", "law_offset"), ">")
    newer = {
        FACE_STATE: _compared("faces", ("boot", "offset"), ">"),
        FACE_LAW: f"excluded.law_boot IS NOT NULL AND (faces.law_boot IS NULL OR {law})",
    }
    return _update(
        "faces",
        {
            name: f'CASE WHEN {condition} THEN excluded."{name}" ELSE faces."{name}" END'
            for names, condition in newer.items()
            for name in names
        },
    )


def _entries() -> str:
    """Merge entries. The publisher's record counts first; else, and among several publishers, the smallest id."""
    named = ("id", "type", "size", "chunks")
    told = ("id", "boot", "t_us", "mono_us", "type", "size", "chunks")
    return _better(
        "entries",
        "CASE WHEN excluded.publisher IS NULL AND entries.publisher IS NULL "  # noqa: S608 the names are ours
        f"THEN {_compared('entries', named, '<')} "
        "WHEN excluded.publisher IS NULL THEN false WHEN entries.publisher IS NULL THEN true "
        f"WHEN {_compared('entries', told, '=')} "
        "THEN (SELECT node FROM nodes WHERE node_no = excluded.publisher) "
        "< (SELECT node FROM nodes WHERE node_no = entries.publisher) "
        f"ELSE {_compared('entries', told, '<')} END",
    )


def _side_chains() -> str:
    """Merge side chains. Their packets come in order, so the highest number is that of all stored ones."""
    held = "CASE WHEN excluded.held > side_chains.held THEN excluded.held ELSE side_chains.held END"
    return _update("side_chains", {"held": held, "complete_us": _smallest("side_chains", "complete_us")})


RULES: Final = {
    "boots": _boots(),
    "faces": _faces(),
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
    "counts": _update("counts", _sums("counts")),
    "incidents": _statement("incidents", "NOTHING"),
}
"""Statements that upsert ``new_<table>``, by table."""


_SORTED: Final = frozenset({"copies", "entries", "frontiers", "side_chains"})
"""Large tables: rows that go next to each other are merged one after the other, which spares pages."""


@dataclass(frozen=True, slots=True)
class MicroBatch:
    """One micro-batch, and which stream it belongs to.

    Tables have the columns of serving/tables.py, but names (texts) in ``node``, ``feed`` and ``publisher`` where
    those have numbers; columns that may be null may be missing.
    """

    query: str
    """Name of the stream; for a bronze Spark's id of the query, kept in its checkpoint."""
    batch_id: int
    """Counts the query's batches from 0."""
    parts: Mapping[str, pa.Table]
    """Facts by table, one row a key; what brought nothing may be missing. ``sights`` without ``batch`` and ``part``,
    ``packets`` without ``place`` and in the order of reading."""
    bad_lines: pa.Table | None
    """Lines that are no records; None: none."""
    gaps: pa.Table | None
    """All gaps there are now; None: as before."""
    oddities: pa.Table | None
    """All oddities there are now; None: as before."""
    offsets: str
    """The place reached in every log, as the source writes it."""
    now_us: int
    """Time of the merge, by this machine's clock."""
    read_us: int
    """Time of the tasks for the batch."""
    bytes: int
    """Size of what was read."""
    behind_bytes: int
    """Size of what is still to be read."""


def last_batch(database: Database, query: str) -> int | None:
    """Number of the last batch of *query* that was merged, None before the first. Raises DatabaseFailedError."""
    rows = database.rows("SELECT batch_id FROM batches WHERE query = ?", (query,))
    batch_id = rows[0][0] if rows else None
    assert batch_id is None or isinstance(batch_id, int)
    return batch_id


def merge(database: Database, names: NameNumbers, batch: MicroBatch) -> bool:
    """Merge *batch* unless it was merged before, and return whether it was new. Durable when this returns.

    A query that is new to the database replaces the one before it; it must have begun where that one ended. Raises
    SinkError if a batch before this one is missing, DatabaseFailedError; then nothing was merged.
    """
    last = last_batch(database, batch.query)
    expected = 0 if last is None else last + 1
    if batch.batch_id < expected:
        return False
    if batch.batch_id > expected:
        raise SinkError(
            f"The database waits for batch {expected} of the stream, but the checkpoint is at batch {batch.batch_id} "
            "already; nothing was added. The database is older than the checkpoint: delete the checkpoint and start "
            "again. The database knows how far it was read, so nothing is counted twice or skipped."
        )
    begin_ns = time.perf_counter_ns()
    try:
        with database.transaction():
            _merge_facts(database, names, batch)
            _merge_sides(database, names, batch)
            _note(database, batch, begin_ns)
            meta.write(database, "program", meta.PROGRAM)
    except BaseException:
        names.forget()
        raise
    return True


def _merge_facts(database: Database, names: NameNumbers, batch: MicroBatch) -> None:
    for table, part in batch.parts.items():
        if part.num_rows == 0:
            continue
        rows = names.numbered(table, part)
        if table == "sights":
            _add_sights(database, rows, batch.now_us)
        elif table == "packets":
            _add_packets(database, rows)
        else:
            _merge_rows(database, table, rows)


def _merge_rows(database: Database, table: str, rows: pa.Table) -> None:
    for column in SUMS.get(table, ()):
        index = rows.column_names.index(column)
        bounded = np.clip(rows.column(index).to_numpy(), 0, limits.SUM_MAX)
        rows = rows.set_column(index, column, pa.array(bounded))
    if table in _SORTED:
        rows = rows.sort_by([(column, "ascending") for column in TABLES[table].key])
    database.stage(table, rows)
    for statement in totals.add(table):
        database.execute(statement)
    if table in ("counts", "traffic"):
        standing.note_counted(database, table)
    database.execute(RULES[table])
    if table == "copies":
        dirty_hours.touch(database)
    database.execute(f"DROP TABLE new_{table}")


def _add_sights(database: Database, rows: pa.Table, now_us: int) -> None:
    """Insert sights. The number of a transaction never repeats, so it identifies the delivery, whatever the stream."""
    count = rows.num_rows
    delivery = pa.array(np.full(count, database.changes(), np.int64))
    rows = rows.append_column("batch", delivery).append_column("part", pa.array(np.arange(count)))
    database.insert("sights", rows)
    dirty_hours.mark(database, rows.select(["node_no", "boot", "hour_us"]), now_us)


def _add_packets(database: Database, rows: pa.Table) -> None:
    ((last,),) = database.rows("SELECT max(place) FROM packets")
    first = last + 1 if isinstance(last, int) else 0
    rows = rows.append_column("place", pa.array(np.arange(first, first + rows.num_rows)))
    database.insert("packets", rows.slice(max(0, rows.num_rows - limits.PACKETS_KEPT)))
    oldest = first + rows.num_rows - limits.PACKETS_KEPT
    database.execute("DELETE FROM packets WHERE place < ?", (oldest,))


def _merge_sides(database: Database, names: NameNumbers, batch: MicroBatch) -> None:
    if batch.bad_lines is not None and batch.bad_lines.num_rows:
        _merge_bad_lines(database, batch.bad_lines)
    for table, rows in (("gaps", batch.gaps), ("oddities", batch.oddities)):
        if rows is not None:
            kept = f" WHERE path <> '{retention.PATH}'" if table == "oddities" else ""
            database.execute(f"DELETE FROM {table}{kept}")  # noqa: S608 - names of ours
            database.insert(table, names.numbered(table, rows))


def _merge_bad_lines(database: Database, found: pa.Table) -> None:
    """List the first bad lines of each file, and the number of further ones."""
    names = TABLES["bad_lines"].names
    paths = pc.unique(found.column("path")).to_pylist()
    for some in pieces(paths):
        known = list(rows_of(whole(database, "bad_lines", f"WHERE path IN ({marks(len(some))})", some)))
        new = rows_of(found.select(names).filter(pc.is_in(found.column("path"), pa.array(some))))
        listed = list(bounded(cast("Iterator[BadLine]", chain(known, new))))
        before, after = {row[:3] for row in known}, {row[:3] for row in listed}
        for path, byte, _ in before - after:
            database.execute("DELETE FROM bad_lines WHERE path = ? AND byte = ?", (path, byte))
        added = [row for row in listed if row[:3] not in before]
        database.insert("bad_lines", table_of("bad_lines", names, added))


def _note(database: Database, batch: MicroBatch, begin_ns: int) -> None:
    """Record how far the stream has come, and the cost of the batch."""
    boots = batch.parts.get("boots")
    records, newest_us = 0, None
    if boots is not None and boots.num_rows:
        records, newest_us = pc.sum(boots["records"]).as_py(), pc.max(boots["last_us"]).as_py()
    ((before,),) = database.rows("SELECT coalesce(sum(records), 0) FROM batches")
    assert isinstance(before, int)
    database.execute("DELETE FROM batches")
    database.execute(
        "INSERT INTO batches (query, batch_id, records, committed_us, newest_us, offsets) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (batch.query, batch.batch_id, before + records, batch.now_us, newest_us, batch.offsets),
    )
    row: dict[str, Value] = {
        "committed_us": batch.now_us,
        "query": batch.query,
        "batch_id": batch.batch_id,
        "records": records,
        "bytes": batch.bytes,
        "behind_bytes": batch.behind_bytes,
        "read_us": batch.read_us,
        "newest_us": newest_us,
        "merge_us": (time.perf_counter_ns() - begin_ns) // 1000,
    }
    database.execute(
        f"INSERT INTO batch_log ({', '.join(row)}) VALUES ({', '.join('?' for _ in row)})",  # noqa: S608 - names of ours
        tuple(row.values()),
    )
    database.execute(
        "DELETE FROM batch_log WHERE committed_us < "
        "(SELECT committed_us FROM batch_log ORDER BY committed_us DESC LIMIT 1 OFFSET ?)",
        (limits.LOG_KEPT - 1,),
    )
