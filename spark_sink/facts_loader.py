"""Loader of facts: hours of all nodes' logs out of the serving database, with corrected times."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Ints, Numbers, count_up, run_starts, runs, take
from spark_sink.derive.clock_table import ClockRecords, unpack_records
from spark_sink.derive.facts import ENTRY, HOUR_US, Copies, Facts, Sights, Uptimes
from spark_sink.derive.mesh_time import Corrections, boot_times
from spark_sink.derive.sights import unpack_all
from spark_sink.serving import facts as stored
from spark_sink.serving.database import Reader

_TIMES: Final = ("node_no", "boot", "t_us", "mono_us")
Key: TypeAlias = tuple[int, int, int]
"""Node, boot, and an hour by that node's clock."""


@dataclass(frozen=True, slots=True)
class AffectedHours:
    """Stretches of mesh time in which figures depend on hours of logs; a value each.

    An hour has several that several clocks showed. They may lie years apart, with nothing between.
    """

    asked: Ints
    """Index of the requested hour."""
    node_no: Ints
    boot: Ints
    hour_us: Ints
    low_us: Ints
    high_us: Ints
    """First and last full hour of mesh time that may have to be derived again."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Full hours of mesh time, one after the other, and the hours of logs that their figures depend on."""

    since_us: int
    until_us: int
    """First hour that is no more of it."""
    keys: Ints
    """Node, boot, and hour by that node's clock, a row each; repetition does not matter."""


def stretch(known: AffectedHours, since_us: int, until_us: int) -> Stretch:
    """Return these hours; *known* are all hours of logs of which there are sights."""
    met = (known.low_us < until_us) & (known.high_us >= since_us)
    return Stretch(
        since_us, until_us, np.stack([known.node_no[met], known.boot[met], known.hour_us[met]], axis=1)
    )


def keys_of(reader: Reader) -> Ints:
    """Return the hours of logs that have sights, a row each: node, boot, and hour. Raises DatabaseFailedError."""
    names = ("node_no", "boot", "hour_us")
    schema = pa.schema([(name, pa.int64()) for name in names])
    found = reader.table("SELECT DISTINCT node_no, boot, hour_us FROM sights", schema)
    return np.stack([np.asarray(found[name].to_numpy(), np.int64) for name in names], axis=1)


def affected_hours(clocks: Corrections, node_no: Ints, boot: Ints, hour_us: Ints) -> AffectedHours:
    """Return the mesh time in which figures depend on these hours of logs."""
    spans = clocks.spans(node_no, boot, hour_us, hour_us + HOUR_US - 1)
    asked = spans.asked
    low_us = _full_hour(spans.low_us - limits.HOURS_BEFORE_US)
    high_us = _full_hour(spans.high_us + limits.HOURS_AFTER_US)
    return AffectedHours(asked, node_no[asked], boot[asked], hour_us[asked], low_us, high_us)


def hours_between(low_us: Ints, high_us: Ints) -> Ints:
    """Return all full hours from one to another, each once, in order."""
    number = (high_us - low_us) // HOUR_US + 1
    return np.unique(np.repeat(low_us, number) + count_up(number) * HOUR_US)


def _full_hour(t_us: Ints) -> Ints:
    return t_us - t_us % HOUR_US


class FactsLoader:
    """Loads hours, and caches what many of them need. Made for one pass."""

    def __init__(self, reader: Reader, clocks: Corrections) -> None:
        """Raises DatabaseFailedError."""
        self._reader = reader
        self._clocks = clocks
        self._feeds = _Feeds(reader)
        boots = stored.boots(reader)
        found = boot_times(clocks, boots)
        node_no, boot = (boots[name].to_numpy() for name in ("node_no", "boot"))
        self._uptimes = Uptimes(node_no, boot, found.since_us, found.until_us)

    def load(self, stretch: Stretch) -> Facts:
        """Load all facts of full hours, and of a margin around. Raises DatabaseFailedError, DamagedDataError."""
        since_us, until_us = stretch.since_us, stretch.until_us
        sights = self._sights(stretch)
        arrived = (sights.kind == ENTRY) & (sights.feed_no >= 0)
        entries = zip(sights.feed_no[arrived].tolist(), sights.seq[arrived].tolist(), strict=True)
        copies = read_copies(self._reader, self._clocks, list(entries))
        up = (self._uptimes.since_us < until_us) & (
            self._uptimes.until_us >= since_us - limits.HOURS_AFTER_US
        )
        uptimes = take(self._uptimes, up)
        return Facts(since_us, until_us, sights, copies, uptimes)

    def _sights(self, stretch: Stretch) -> Sights:
        rows, faces = read_sights(
            self._reader, [(node, boot, hour) for node, boot, hour in stretch.keys.tolist()]
        )
        rows["mesh_us"], rows["mesh"] = self._clocks.mesh_us(*(rows[name] for name in _TIMES))
        near = rows["mesh_us"] >= stretch.since_us - limits.HOURS_AFTER_US
        near &= rows["mesh_us"] < stretch.until_us + limits.HOURS_BEFORE_US
        rows = in_order({name: column[near] for name, column in rows.items()})
        rows["feed_no"] = self._feeds.numbers(rows.pop("feed"))
        return Sights(**rows, faces=faces)


def read_copies(reader: Reader, clocks: Corrections, entries: Sequence[tuple[int, int]]) -> Copies:
    """Return all copies of these entries (feed_no, seq). Raises DatabaseFailedError."""
    table = stored.copies_of(reader, entries)
    mesh_us, mesh = mesh_times(clocks, table)
    return Copies(
        feed_no=table["feed_no"].to_numpy(),
        seq=table["seq"].to_numpy(),
        node_no=table["node_no"].to_numpy(),
        own=np.array([origin == "own" for origin in table["origin"].to_pylist()], np.int64),
        mesh_us=mesh_us,
        mesh=mesh,
    )


def read_sights(reader: Reader, wanted: Sequence[Key]) -> tuple[dict[str, Numbers], tuple[str, ...]]:
    """Return the packed rows of hours of logs, column by column, and the names of faces.

    Raises DatabaseFailedError, DamagedDataError.
    """
    table = stored.sights_of(reader, wanted)
    found = unpack_all(table["rows"].to_pylist())
    by_log = {name: np.repeat(table[name].to_numpy(), found.lengths) for name in ("node_no", "boot")}
    return {**found.columns, **by_log}, found.faces


def in_order(rows: dict[str, Numbers]) -> dict[str, Numbers]:
    """Sort columns of sights by mesh time; of equal times, by the log that has them."""
    order = np.lexsort((rows["offset"], rows["boot"], rows["node_no"], rows["mesh_us"]))
    return {name: column[order] for name, column in rows.items()}


class _Feeds:
    """Numbers of feeds by the first digits of their names, as packed rows have them."""

    def __init__(self, reader: Reader) -> None:
        rows = reader.rows("SELECT feed, feed_no FROM feeds")
        digits = np.array([int(str(feed)[:16], 16) for feed, _ in rows], np.uint64).view(np.int64)
        numbers = np.array([number for _, number in rows], np.int64)
        order = np.lexsort((numbers, digits))
        self._digits, self._numbers = digits[order], numbers[order]

    def numbers(self, digits: Ints) -> Ints:
        """Return the numbers of feeds, −1 for unknown ones."""
        if not len(self._digits):
            return np.full(len(digits), -1)
        place = np.minimum(np.searchsorted(self._digits, digits), len(self._digits) - 1)
        return np.where(self._digits[place] == digits, self._numbers[place], -1)


def mesh_times(clocks: Corrections, copies: pa.Table) -> tuple[Ints, Ints]:
    """Return mesh time and mesh of rows of ``copies``."""
    return clocks.mesh_us(*(copies[name].to_numpy() for name in _TIMES))


def records_by_node(reader: Reader, keys: Ints) -> Iterator[ClockRecords]:
    """Yield all sights of hours of logs, some nodes at a time, for the estimate of their clocks.

    Raises DatabaseFailedError.
    """
    keys = keys[np.lexsort(keys.T[::-1])]
    nodes, counts = runs(run_starts(keys[:, 0]))
    begin = 0
    for end in (nodes + counts).tolist():
        # A week of sixteen nodes has about 250,000 sights. The last node ends the last part.
        if end - begin >= _HOURS_AT_A_TIME or end == len(keys):
            wanted = [(node, boot, hour) for node, boot, hour in keys[begin:end].tolist()]
            table = stored.sights_of(reader, wanted)
            yield unpack_records(
                table["node_no"].to_pylist(), table["boot"].to_pylist(), table["rows"].to_pylist()
            )
            begin = end


_HOURS_AT_A_TIME: Final = 16 * 168
