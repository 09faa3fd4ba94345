"""Rows of the table `clocks`, from packets that several nodes saw (docs/reference/analytics.md)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, take
from spark_sink.clocks.estimates import Estimates, estimate
from spark_sink.clocks.shared_packets import smallest, telling
from spark_sink.clocks.sightings import Clocks, Sightings, by_clock
from spark_sink.derive.facts import TX
from spark_sink.derive.sights import unpack_all

_COLUMNS: Final = ("kind", "hash", "airtime_us", "t_us", "mono_us")
_FILTER_BITS: Final = 22
_NODE_BITS: Final = 24
_ERA_BITS: Final = 11
_BOOT_BITS: Final = 27


@dataclass(frozen=True, slots=True)
class ClockRecords:
    """Records of nodes, in any order; repetition does not matter. The columns are those of `Sights`."""

    node_no: Ints
    boot: Ints
    kind: Ints
    hash: Ints
    airtime_us: Ints
    t_us: Ints
    mono_us: Ints


def unpack_records(node_no: Sequence[int], boot: Sequence[int], rows: Sequence[bytes]) -> ClockRecords:
    """Unpack rows of the table `sights`. Raises DamagedDataError."""
    found = unpack_all(rows, _COLUMNS)
    numbers = np.repeat(np.array(node_no, np.int64), found.lengths)
    return ClockRecords(numbers, np.repeat(np.array(boot, np.int64), found.lengths), **found.columns)


def clock_rows(parts: Callable[[], Iterable[ClockRecords]], names: Mapping[int, str]) -> pa.Table:
    """Make the rows of the table `clocks`: all clocks of all nodes.

    *parts* gives all records, those of a boot in one part, and is asked twice: so no more than a part and some packets
    of each clock are ever in memory. *names* are the nodes' own by their numbers: they decide where otherwise the
    order of reading would.
    """
    ranks = {
        node_no: rank for rank, (_, node_no) in enumerate(sorted((name, no) for no, name in names.items()))
    }
    wanted = _wanted(parts())
    clocks: list[Clocks] = []
    seen: list[Sightings] = []
    for all_ in parts():
        part = _by_own_clock(all_)
        node = _ranked(part.node_no, ranks)
        found, clock = by_clock(node, part.boot, part.t_us, part.mono_us)
        rows = _on_air(part)
        rows = rows[wanted(part.hash[rows])]
        first = sum(map(len, clocks))
        sightings = Sightings(part.hash[rows], clock[rows] + first, part.kind[rows] == TX, part.t_us[rows])
        clocks.append(found)
        seen.append(telling(sightings))
    known, sightings = _joined(clocks, seen)
    node_no = np.array(sorted(ranks, key=ranks.__getitem__), np.int64)[known.node]
    return _table(known, node_no, estimate(known, sightings))


def _wanted(parts: Iterable[ClockRecords]) -> Callable[[Ints], Bools]:
    """Return a test whether hashes are among the smallest of any clock: the packets that all their receivers keep."""
    found = np.empty(0, np.int64)
    for all_ in parts:
        part = _by_own_clock(all_)
        clock = by_clock(part.node_no, part.boot, part.t_us, part.mono_us)[1]
        rows = _on_air(part)
        # Four times as many as are used: about a quarter of all packets are shared with other clocks.
        some = smallest(part.hash[rows], clock[rows], 4 * limits.PACKETS_MAX)
        found = np.union1d(found, some)
    mask = (1 << _FILTER_BITS) - 1
    maybe = np.zeros(mask + 1, bool)
    maybe[found & mask] = True

    def wanted(hashes: Ints) -> Bools:
        chosen: Bools = maybe[hashes & mask]
        few = hashes[chosen]
        if len(few):
            chosen[chosen] = found[np.minimum(np.searchsorted(found, few), len(found) - 1)] == few
        return chosen

    return wanted


def _by_own_clock(part: ClockRecords) -> ClockRecords:
    """Drop records written again after a crash: they have the time of an earlier clock, and a `mono_us` of 0."""
    again = (part.mono_us == 0) & (part.kind > TX)
    return take(part, ~again) if again.any() else part


def _on_air(part: ClockRecords) -> Ints:
    return np.flatnonzero((part.kind <= TX) & (part.airtime_us > 0))


def _ranked(node_no: Ints, ranks: Mapping[int, int]) -> Ints:
    numbers, place = np.unique(node_no, return_inverse=True)
    return np.array([ranks[number] for number in numbers.tolist()], np.int64)[place]


def _joined(clocks: Sequence[Clocks], seen: Sequence[Sightings]) -> tuple[Clocks, Sightings]:
    columns = [np.concatenate([getattr(some, name) for some in clocks]) for name in Clocks.__slots__]
    order = np.lexsort(columns[2::-1])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    hash_, clock, sent, t_us = (
        np.concatenate([getattr(some, name) for some in seen]) for name in Sightings.__slots__
    )
    return Clocks(*(column[order] for column in columns)), Sightings(hash_, place[clock], sent, t_us)


def _table(clocks: Clocks, node_no: Ints, found: Estimates) -> pa.Table:
    return pa.table(
        {
            "node_no": node_no,
            "boot": clocks.boot,
            "era": clocks.era,
            "from_mono_us": clocks.from_mono_us,
            "base_us": clocks.base_us,
            "mesh": _meshes(clocks, node_no, found),
            "at_us": found.at_us,
            "offset_us": np.rint(found.offset_us).astype(np.int64),
            "drift_ppm": found.drift_ppm,
            "offset_error_us": found.offset_error_us,
            "drift_error_ppm": found.drift_error_ppm,
            "covariance_us_ppm": found.covariance_us_ppm,
            "matches": found.matches,
        }
    )


def _meshes(clocks: Clocks, node_no: Ints, found: Estimates) -> Ints:
    """Return for a clock related to no other its node's number; for others a number that names the first of those
    related.

    That is larger than any node's number, and stays the same while more clocks become known.
    """
    first = np.full(len(clocks), len(clocks))
    np.minimum.at(first, found.reference, np.arange(len(clocks)))
    first = first[found.reference]
    era = np.minimum(clocks.era[first], (1 << _ERA_BITS) - 1)
    boot = np.minimum(clocks.boot[first], (1 << _BOOT_BITS) - 2) + 1
    named = node_no[first] + (((boot << _ERA_BITS) + era) << _NODE_BITS)
    return np.where(found.matches > 0, named, node_no)
