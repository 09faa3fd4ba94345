"""Sums of derived rows over days, for views of long ranges (docs/formats/serving.md, "Sums over days").

A day is summed up when its hours have not been derived again for a while. As soon as one of them is, `mark` takes the
day's sums out of use, in the same transaction.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Ints, run_starts, runs
from spark_sink.derive.buckets import NEGATIVE
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving.database import Database, Reader
from spark_sink.serving.ddl import ARROW_TYPES
from spark_sink.serving.tables import DAY_SUMS, TABLES

DAY_US: Final = 24 * HOUR_US
SLOTS: Final = DAY_US // limits.SLOT_US
_LINK_SUMS: Final = ", ".join(
    f"sum({name})" for name in ("heard", "sent", "rssi_sum", "rssi_n", "snr_sum", "snr_n")
)
_IN_SQL: Final = {
    "link_days": f"SELECT {{day}}, sender, receiver, {_LINK_SUMS}, min(first_us), max(last_us) FROM links "  # noqa: S608 - names of ours
    "WHERE hour_us >= ? AND hour_us < ? GROUP BY sender, receiver",
    "use_days": 'SELECT {day}, node_no, face, packet, "use", sum(packets), sum(airtime_us) FROM uses '
    'WHERE hour_us >= ? AND hour_us < ? GROUP BY node_no, face, packet, "use"',
}


def days_of(hours: Iterable[int]) -> list[int]:
    """Return the days that hours are in, in order."""
    return sorted({hour_us - hour_us % DAY_US for hour_us in hours})


def mark(database: Database, hours: Iterable[int]) -> None:
    """Take the sums of the days with these hours out of use. Within a transaction. Raises DatabaseFailedError."""
    for day_us in days_of(hours):
        database.execute(
            "INSERT INTO days (day_us, summed) VALUES (?, 0) ON CONFLICT (day_us) DO UPDATE SET summed = 0",
            (day_us,),
        )


def waiting(reader: Reader) -> list[int]:
    """Return the days that are not summed up. Raises DatabaseFailedError."""
    rows = reader.rows("SELECT day_us FROM days WHERE summed = 0 ORDER BY day_us")
    return [day_us for (day_us,) in rows if isinstance(day_us, int)]


def sum_up(database: Database, lock: threading.Lock, day_us: int) -> None:
    """Sum up a day, whose hours nobody else changes meanwhile; *lock* is held while *database* is used. Raises
    DatabaseFailedError."""
    bounds = day_us, day_us + DAY_US
    with lock:
        sent = _read(
            database, "transmitted", "node_no, face, slot_us, packets, airtime_us", "node_no, face", bounds
        )
    air = _air(sent, day_us)
    with lock:
        counted = _read(database, "delays", "scope, a, b, bucket, n", "scope, a, b", bounds)
    delays = _delays(counted, day_us)
    with lock, database.transaction():
        for table in DAY_SUMS:
            database.execute(f"DELETE FROM {table.name} WHERE day_us = ?", (day_us,))  # noqa: S608 - names of ours
        for name, sql in _IN_SQL.items():
            database.execute(f"INSERT INTO {name} {sql.format(day=day_us)}", bounds)
        database.insert("air_days", air)
        database.insert("delay_days", delays)
        database.execute("INSERT INTO days (day_us, summed) VALUES (?, 1)", (day_us,))


def _read(database: Database, table: str, columns: str, order: str, bounds: tuple[int, int]) -> pa.Table:
    types = {column.name: ARROW_TYPES[column.type] for column in TABLES[table].columns}
    return database.table(
        f"SELECT {columns} FROM {table} WHERE hour_us >= ? AND hour_us < ? ORDER BY {order}",  # noqa: S608 - names of ours
        pa.schema([(name, types[name]) for name in columns.split(", ")]),
        bounds,
    )


def _air(sent: pa.Table, day_us: int) -> pa.Table:
    """Make rows of ``air_days`` from those of ``transmitted`` in order of faces."""
    node_no, slot_us, packets, airtime_us = (
        sent[name].to_numpy() for name in ("node_no", "slot_us", "packets", "airtime_us")
    )
    begin, count = _runs(sent, "node_no", "face")
    slots = np.zeros((len(begin), SLOTS), np.int64)
    np.add.at(
        slots, (np.repeat(np.arange(len(begin)), count), (slot_us - day_us) // limits.SLOT_US), airtime_us
    )
    return pa.table(
        {
            "day_us": np.full(len(begin), day_us, np.int64),
            "node_no": node_no[begin],
            "face": sent["face"].take(pa.array(begin)),
            "packets": _sums(packets, begin),
            "airtime_us": slots.sum(axis=1),
            "slots": pa.array([pack_slots(row) for row in slots], pa.binary()),
        }
    )


def _delays(counted: pa.Table, day_us: int) -> pa.Table:
    """Make rows of ``delay_days`` from those of ``delays`` in order of their subjects."""
    bucket, n = counted["bucket"].to_numpy(), counted["n"].to_numpy()
    begin, count = _runs(counted, "scope", "a", "b")
    parts = zip(begin.tolist(), (begin + count).tolist(), strict=True)
    first = pa.array(begin)
    return pa.table(
        {
            "day_us": np.full(len(begin), day_us, np.int64),
            **{name: counted[name].take(first) for name in ("scope", "a", "b")},
            "n": _sums(n, begin),
            "buckets": pa.array(
                [pack_buckets(bucket[low:end], n[low:end]) for low, end in parts], pa.binary()
            ),
        }
    )


def _runs(table: pa.Table, *names: str) -> tuple[Ints, Ints]:
    """Return where each run of rows with equal values begins, and its length."""
    columns = (table[name].combine_chunks() for name in names)
    numbers = (
        column.dictionary_encode().indices if pa.types.is_string(column.type) else column
        for column in columns
    )
    return runs(run_starts(*(column.to_numpy(zero_copy_only=False) for column in numbers)))


def _sums(values: Ints, begin: Ints) -> Ints:
    return np.add.reduceat(values, begin) if len(begin) else values


# --- Packed columns


def pack_slots(slots: Ints) -> bytes:
    """Pack the airtime of a day's slots: unsigned numbers of 4 bytes, or of 8 if that is too small for one of them."""
    return slots.astype("<u8" if slots.max(initial=0) >= 2**32 else "<u4").tobytes()


def unpack_slots(packed: bytes) -> Ints:
    """Return the airtime of a day's slots, microseconds."""
    return np.frombuffer(packed, "<u8" if len(packed) == 8 * SLOTS else "<u4").astype(np.int64)


def pack_buckets(bucket: Ints, n: Ints) -> bytes:
    """Pack delays counted by bucket: the distinct buckets (2 bytes, signed), then the counts (4 bytes, unsigned)."""
    kinds, places = np.unique(bucket, return_inverse=True)
    return kinds.astype("<i2").tobytes() + np.bincount(places, n).astype("<u4").tobytes()


def unpack_buckets(packed: Sequence[bytes], others: Sequence[tuple[int, int]] = ()) -> dict[int, int]:
    """Return counts by bucket of several packed ones together, and of *others*."""
    kinds: list[Ints] = [np.array([bucket for bucket, _n in others], np.int64)]
    counts: list[Ints] = [np.array([n for _bucket, n in others], np.int64)]
    for one in packed:
        size = len(one) // 6
        kinds.append(np.frombuffer(one, "<i2", size))
        counts.append(np.frombuffer(one, "<u4", offset=2 * size))
    together = np.bincount(np.concatenate(kinds) - NEGATIVE, np.concatenate(counts)).astype(np.int64)
    buckets = np.flatnonzero(together)
    return dict(zip((buckets + NEGATIVE).tolist(), together[buckets].tolist(), strict=True))
