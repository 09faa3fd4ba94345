"""Selection of packets that show how clocks differ, and of the pairs of clocks to compare."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, count_up, run_starts, runs, take
from spark_sink.clocks.sightings import Clocks, Sightings

_WHOLE: Final = 1 << 32
"""Worth of a packet that one clock saw; whole numbers have the same sum in any order."""


@dataclass(frozen=True, slots=True)
class SharedPackets:
    """Packets that at least two clocks saw, as runs: what one clock saw of one packet. Ordered by clock and packet."""

    seen: Sightings
    """All that the runs are made of, each run's in order of time."""
    packet: Ints
    """A number for each hash, by run."""
    clock: Ints
    begin: Ints
    """Index in `seen` at which a run begins."""
    length: Ints
    holders: Ints
    """Number of clocks that saw the packet."""
    first: Ints
    """For each clock the index of its first run; one more for the end."""


@dataclass(frozen=True, slots=True)
class ClockPairs:
    """Clocks of different nodes that saw the same packets, the left one the smaller number. Best first."""

    left: Ints
    right: Ints

    def __len__(self) -> int:
        return len(self.left)


def shared_packets(seen: Sightings, clocks: int) -> SharedPackets:
    """Select the packets that tell most about clocks. Order and repetition of sightings do not matter.

    Packets that a clock saw more than `limits.REPEATS_MAX` times are left out. A packet is kept if its hash is among
    the `limits.PACKETS_MAX` smallest of any clock that saw it. So all clocks that saw it keep the same packets, and a
    clock that lived for minutes keeps everything that it shares with one that ran for weeks.
    """
    seen = telling(seen)
    begin, length = runs(run_starts(seen.hash, seen.clock))
    hash_, clock = seen.hash[begin], seen.clock[begin]
    size = runs(run_starts(hash_))[1]
    holders = np.repeat(size, size)
    packet = np.repeat(np.arange(len(size)), size)
    wanted = np.zeros(len(size), bool)
    rows = np.flatnonzero(holders > 1)
    rows = rows[np.argsort(clock[rows], kind="stable")]
    rank = count_up(runs(run_starts(clock[rows]))[1])
    wanted[packet[rows[rank < limits.PACKETS_MAX]]] = True
    rows = rows[wanted[packet[rows]]]
    return SharedPackets(
        seen,
        packet[rows],
        clock[rows],
        begin[rows],
        length[rows],
        holders[rows],
        np.searchsorted(clock[rows], np.arange(clocks + 1)),
    )


def telling(seen: Sightings) -> Sightings:
    """Sort by packet and clock, drop repetitions, and what a clock saw more than `limits.REPEATS_MAX` times."""
    seen = take(seen, np.lexsort((seen.sent, seen.t_us, seen.clock, seen.hash)))
    seen = take(seen, run_starts(seen.hash, seen.clock, seen.t_us, seen.sent))
    length = runs(run_starts(seen.hash, seen.clock))[1]
    return take(seen, np.repeat(length <= limits.REPEATS_MAX, length))


def smallest(hashes: Ints, clock: Ints, most: int) -> Ints:
    """Return the *most* smallest hashes that each clock saw, of all clocks together, in order."""
    order = np.lexsort((clock, hashes))
    order = order[run_starts(hashes[order], clock[order])]
    order = order[np.argsort(clock[order], kind="stable")]
    rank = count_up(runs(run_starts(clock[order]))[1])
    return np.unique(hashes[order[rank < most]])


def likely_pairs(packets: SharedPackets, clocks: Clocks) -> ClockPairs:
    """Return clocks that share `limits.MATCHES_MIN` packets or more, most in common first, rare packets counting more.

    Of a packet that more than `limits.HOLDERS_MAX` clocks saw, only some pairs are counted, of each packet others.
    """
    order = np.lexsort((packets.clock, packets.packet))
    packet, clock, holders = packets.packet[order], packets.clock[order], packets.holders[order]
    begin, size = runs(run_starts(packet))
    cut = np.minimum(size, limits.HOLDERS_MAX)
    sums = _PairSums()
    for number in np.unique(cut):
        for groups, width in _groups(begin[cut == number], size[cut == number], packet):
            low, high = np.triu_indices(width, 1)
            left, right = clock[groups[:, low]].ravel(), clock[groups[:, high]].ravel()
            other = clocks.node[left] != clocks.node[right]
            worth = np.repeat(_WHOLE // holders[groups[:, 0]], len(low))
            pairs = np.minimum(left, right) * len(clocks) + np.maximum(left, right)
            sums.add(pairs[other], worth[other])
    pairs, count, total = sums.taken()
    enough = count >= limits.MATCHES_MIN
    pairs, total = pairs[enough], total[enough]
    best = pairs[np.lexsort((pairs, -total))]
    return ClockPairs(best // len(clocks), best % len(clocks))


class _PairSums:
    """Count and worth of each pair of clocks; exact, so parts may be added in any order."""

    def __init__(self) -> None:
        self._parts: list[tuple[Ints, Ints, Ints]] = []
        self._waiting = 0

    def add(self, keys: Ints, worth: Ints) -> None:
        """Count pairs, each once."""
        self._parts.append((keys, np.ones(len(keys), np.int64), worth))
        self._waiting += len(keys)
        if self._waiting >= limits.PAIRS_AT_A_TIME:
            self._parts = [self.taken()]
            self._waiting = 0

    def taken(self) -> tuple[Ints, Ints, Ints]:
        """Return pairs in order, their counts and worths."""
        nothing = np.empty(0, np.int64)
        keys, counts, worths = (
            np.concatenate(column) for column in zip(*self._parts, (nothing,) * 3, strict=True)
        )
        keys, place = np.unique(keys, return_inverse=True)
        count, worth = np.zeros((2, len(keys)), np.int64)
        np.add.at(count, place, counts)
        np.add.at(worth, place, worths)
        return keys, count, worth


def _groups(begin: Ints, size: Ints, packet: Ints) -> Iterator[tuple[Ints, int]]:
    """Yield rows of packets seen by equally many clocks, a line each; of larger ones, lines of `limits.HOLDERS_MAX`.

    Some of them at a time: *limits.PAIRS_AT_A_TIME* pairs, or one more packet's.
    """
    if not len(begin):
        return
    if size[0] < limits.HOLDERS_MAX:
        yield from _pieces(begin[:, None] + np.arange(size[0]))
        return
    lines: dict[int, list[Ints]] = {}
    for first, count in zip(begin, size, strict=True):
        rows = first + (np.arange(count) + int(packet[first]) * 7) % count
        for place in range(0, count, limits.HOLDERS_MAX):
            line = rows[place : place + limits.HOLDERS_MAX]
            lines.setdefault(len(line), []).append(line)
    for width, some in lines.items():
        if width > 1:
            yield from _pieces(np.stack(some))


def _pieces(lines: Ints) -> Iterator[tuple[Ints, int]]:
    width = lines.shape[1]
    step = limits.PAIRS_AT_A_TIME // (width * width) + 1
    for first in range(0, len(lines), step):
        yield lines[first : first + step], width


def best_partners(pairs: ClockPairs, labels: Ints, most: int) -> Bools:
    """Return the *most* best pairs of each of *labels* (a number for every clock), without pairs within one label."""
    between = np.flatnonzero(labels[pairs.left] != labels[pairs.right])
    label = np.concatenate([labels[pairs.left[between]], labels[pairs.right[between]]])
    place = np.concatenate([between, between])
    order = np.lexsort((place, label))
    rank = count_up(runs(run_starts(label[order]))[1])
    chosen = np.zeros(len(pairs), bool)
    chosen[place[order[rank < most]]] = True
    return chosen
