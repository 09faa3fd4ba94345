"""Mesh time: what a node's clock showed, corrected; and when boots were up by it (docs/reference/analytics.md)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Bools, Floats, Ints, count_up, run_starts, runs
from spark_sink.derive.facts import HOUR_US

_PPM: Final = 1e-6
_BOOT_BITS: Final = 32
_OPEN_US: Final = 2**62


def comparable(node: Ints, mesh: Ints, other_node: Ints, other_mesh: Ints) -> Bools:
    """Return whether clocks are related; or neither is related to any, and both are taken as correct."""
    return np.asarray((mesh == other_mesh) | ((mesh == node) & (other_mesh == other_node)))


@dataclass(frozen=True, slots=True)
class MeshStretches:
    """Stretches of mesh time in which records may lie that a boot wrote in a stretch of its own time."""

    asked: Ints
    """Index of the requested stretch."""
    low_us: Ints
    high_us: Ints
    mesh: Ints
    """Mesh of the clock that gives these times; the node's number if no clock is known."""
    again: Ints
    """1: that clock is of the boot before. Only records written again after a crash go by it."""


@dataclass(frozen=True, slots=True)
class Corrections:
    """Corrections of clocks: rows of the table `clocks`, in order of (node_no, boot, era), a value each."""

    node_no: Ints
    boot: Ints
    from_mono_us: Ints
    base_us: Ints
    mesh: Ints
    at_us: Ints
    offset_us: Ints
    drift_ppm: Floats
    boots: Ints
    """A key for each boot, in order."""
    first: Ints
    """For each boot the index of its first clock; one more for the end."""

    def table(self) -> pa.Table:
        """Return the rows of the table `clocks` that these are, with the columns that there are here."""
        return pa.table({name: getattr(self, name) for name in self.__slots__[:-2]})

    def mesh_us(self, node_no: Ints, boot: Ints, t_us: Ints, mono_us: Ints) -> tuple[Ints, Ints]:
        """Return mesh time and mesh of records with these columns.

        A record written again after a crash (its `mono_us` is 0 while its boot's clock showed something else) is by the
        last clock of the newest boot before, if that had begun. A record whose clock is not known stays as it is, by a
        mesh of its own.
        """
        clock = self.clock(node_no, boot, mono_us)
        again = np.flatnonzero(mono_us == 0)
        ahead_us = t_us[again] - self.base_us[clock[again]] if len(self.boots) else again
        again = again[(np.abs(ahead_us) > limits.CLOCK_JUMP_US) | (clock[again] < 0)]
        clock[again] = self._clock_before(node_no[again], boot[again])
        again = again[clock[again] >= 0]
        clock[again[t_us[again] < self.shown(clock[again])[0]]] = -1
        known = np.flatnonzero(clock >= 0)
        mesh_us, mesh = t_us.copy(), node_no.copy()
        mesh_us[known] = self.put_right(clock[known], t_us[known])
        mesh[known] = self.mesh[clock[known]]
        return mesh_us, mesh

    def put_right(self, clock: Ints, t_us: Ints) -> Ints:
        """Return mesh time when a clock, by its place, showed *t_us*."""
        slowed = self.drift_ppm[clock] * _PPM / (1 + self.drift_ppm[clock] * _PPM)
        return t_us - self.offset_us[clock] - np.rint(slowed * (t_us - self.at_us[clock])).astype(np.int64)

    def shown(self, clock: Ints) -> tuple[Ints, Ints]:
        """Return the time of clocks at their beginning, and at most at their end: a boot's last clock has none."""
        last = np.isin(clock + 1, self.first)
        end_us = self.from_mono_us[np.minimum(clock + 1, len(self.from_mono_us) - 1)]
        until_us = self.base_us[clock] + end_us + HOUR_US
        return self.base_us[clock] + self.from_mono_us[clock] - HOUR_US, np.where(last, _OPEN_US, until_us)

    def clock(self, node_no: Ints, boot: Ints, mono_us: Ints) -> Ints:
        """Return the index of the clock that a boot had at *mono_us*: the last begun, or the first; −1 if unknown."""
        if not len(self.boots):
            return np.full(len(node_no), -1)
        key = _key(node_no, boot)
        begin, length = runs(run_starts(key))
        place = np.minimum(np.searchsorted(self.boots, key[begin]), len(self.boots) - 1)
        low, high = np.repeat(self.first[place], length), np.repeat(self.first[place + 1], length)
        known = np.repeat(self.boots[place] == key[begin], length)
        open_ = np.flatnonzero(high - low > 1)
        while len(open_):
            middle = (low[open_] + high[open_]) // 2
            begun = self.from_mono_us[middle] <= mono_us[open_]
            low[open_[begun]] = middle[begun]
            high[open_[~begun]] = middle[~begun]
            open_ = open_[high[open_] - low[open_] > 1]
        low[~known] = -1
        return low

    def spans(self, node_no: Ints, boot: Ints, low_us: Ints, high_us: Ints) -> MeshStretches:
        """Return the mesh time in which boots may have written records while their clocks showed *low_us* to
        *high_us*."""
        key = _key(node_no, boot)
        begin = self.first[np.searchsorted(self.boots, key)]
        number = self.first[np.searchsorted(self.boots, key, "right")] - begin
        asked = np.repeat(np.arange(len(number)), number)
        within = count_up(number)
        clock = begin[asked] + within
        before = self._clock_before(node_no, boot)
        has_before = np.flatnonzero(before >= 0)
        asked, clock = np.concatenate([asked, has_before]), np.concatenate([clock, before[has_before]])
        again = np.repeat([0, 1], [len(within), len(has_before)])
        since_us, until_us = self.shown(clock)
        earliest = np.flatnonzero(within == 0)  # a boot's first clock goes for whatever came before it, too
        since_us[earliest] = self.base_us[clock[earliest]] - HOUR_US
        met = (since_us <= high_us[asked]) & (until_us >= low_us[asked])
        asked, clock = asked[met], clock[met]
        lost = np.union1d(np.flatnonzero(number == 0), np.setdiff1d(np.arange(len(node_no)), asked))
        low = np.concatenate([self.put_right(clock, low_us[asked]), low_us[lost]])
        high = np.concatenate([self.put_right(clock, high_us[asked]), high_us[lost]])
        mesh = np.concatenate([self.mesh[clock], node_no[lost]])
        again = np.concatenate([again[met], np.zeros(len(lost), np.int64)])
        return MeshStretches(np.concatenate([asked, lost]), low, high, mesh, again)

    def _clock_before(self, node_no: Ints, boot: Ints) -> Ints:
        """Return the index of the last clock of the newest boot before, −1 if there is none."""
        place = self.first[np.searchsorted(self.boots, _key(node_no, boot))] - 1
        found: Ints = np.full(len(node_no), -1)
        same = np.flatnonzero(place >= 0)
        same = same[self.node_no[place[same]] == node_no[same]]
        found[same] = place[same]
        return found


def _key(node_no: Ints, boot: Ints) -> Ints:
    return (node_no << _BOOT_BITS) + boot


def corrections(clocks: pa.Table) -> Corrections:
    """Make corrections from rows of the table `clocks`."""
    columns = {name: clocks[name].to_numpy() for name in clocks.column_names}
    order = np.lexsort((columns["era"], columns["boot"], columns["node_no"]))
    columns = {name: np.ascontiguousarray(column[order]) for name, column in columns.items()}
    boots, first = np.unique(_key(columns["node_no"], columns["boot"]), return_index=True)
    first = np.append(first, len(order)).astype(np.int64)
    return Corrections(
        **{name: columns[name] for name in Corrections.__slots__[:-2]}, boots=boots, first=first
    )


def shifted_boots(
    old: Corrections,
    new: Corrections,
    newest_us: Mapping[tuple[int, int], int],
    least_us: int = limits.CLOCK_MOVED_US,
) -> set[tuple[int, int]]:
    """Return the boots (node_no, boot) with a new clock, or whose mesh time moved by more than *least_us*.

    *newest_us* is the newest time that each boot wrote. Records that the next boot wrote again after a crash go by the
    same clock, so that boot is among them, too.
    """
    return {
        boot
        for clock in np.flatnonzero(_differ(old, new, newest_us, least_us)).tolist()
        for boot in _written(new, clock)
    }


def _differ(
    old: Corrections, new: Corrections, newest_us: Mapping[tuple[int, int], int], least_us: int
) -> Bools:
    clock = np.arange(len(new.node_no))
    since = new.from_mono_us
    last = np.isin(clock + 1, new.first)
    keys = zip(new.node_no.tolist(), new.boot.tolist(), strict=True)
    shown = np.array([newest_us.get(key, 0) for key in keys], np.int64)
    until = np.maximum(since, np.where(last, shown - new.base_us, np.append(since[1:], 0)))
    was = old.clock(new.node_no, new.boot, since)
    differs = (was < 0) | (was != old.clock(new.node_no, new.boot, until - ~last))
    both = np.flatnonzero(~differs)
    differs[both] = new.mesh[both] != old.mesh[was[both]]
    for mono_us in (since[both], until[both]):
        t_us = new.base_us[both] + mono_us
        apart_us = np.abs(new.put_right(both, t_us) - old.put_right(was[both], t_us))
        differs[both] |= apart_us > least_us
    return np.asarray(differs)


def _written(clocks: Corrections, clock: int) -> Iterator[tuple[int, int]]:
    """Yield the boots with records that go by a clock."""
    node_no, boot = int(clocks.node_no[clock]), int(clocks.boot[clock])
    yield node_no, boot
    is_last = clock + 1 in clocks.first
    if is_last and clock + 1 < len(clocks.node_no) and clocks.node_no[clock + 1] == node_no:
        yield node_no, int(clocks.boot[clock + 1])


@dataclass(frozen=True, slots=True)
class BootTimes:
    """Beginnings and ends of boots, in mesh time; a value each."""

    since_us: Ints
    until_us: Ints
    """Their last record: never before `since_us`."""
    mesh: Ints
    """Mesh of the clock that gives the end; the node's number if no clock is known."""


def boot_times(clocks: Corrections, boots: pa.Table) -> BootTimes:
    """Return when boots were up, by those of their clocks that are related to others, or else by the last clock.

    *boots* has the columns of the table ``boots`` that tell a boot's first and last record.

    Only packets and arrivals show when a clock jumped. Records before the first of them or after the last, above all
    the start record, may have been written by another clock: a machine without a battery-backed clock asks the network
    for the time. The times of these records follow from the monotonic clock, which also runs while the machine sleeps.
    """
    names = ("node_no", "boot", "first_us", "first_mono_us", "last_us", "last_mono_us")
    node_no, boot, first_us, first_mono_us, last_us, last_mono_us = (
        np.asarray(boots[name].to_numpy(), np.int64) for name in names
    )
    last = clocks.clock(node_no, boot, last_mono_us)
    known = np.flatnonzero(last >= 0)
    began = _by_related(clocks, last[known], from_begin=True)
    ended = _by_related(clocks, last[known], from_begin=False)
    gone_us = last_mono_us - first_mono_us
    until_us = np.where(gone_us < 0, first_us, last_us)
    since_us = until_us - np.maximum(gone_us, 0)
    since_us[known] = _right(clocks, began, first_us[known], first_mono_us[known])
    until_us[known] = _right(clocks, ended, last_us[known], last_mono_us[known])
    mesh = node_no.copy()
    mesh[known] = clocks.mesh[ended]
    return BootTimes(since_us, np.maximum(since_us, until_us), mesh)


def _by_related(clocks: Corrections, clock: Ints, *, from_begin: bool) -> Ints:
    """Return the first clock of the same boot that is related to others; else the last up to *clock*, or the next.

    Returns *clock* itself if none is related.
    """
    count = len(clocks.node_no)
    place = np.arange(count)
    related = clocks.mesh != clocks.node_no
    before = np.maximum.accumulate(np.where(related, place, -1)) if count else place
    after = np.minimum.accumulate(np.where(related, place, count)[::-1])[::-1] if count else place
    boot = np.searchsorted(clocks.first, clock, "right") - 1
    begin, end = clocks.first[boot], clocks.first[boot + 1]
    later = after[begin] if from_begin else after[clock]
    found = np.where(later < end, later, clock)
    return found if from_begin else np.where(before[clock] >= begin, before[clock], found)


def _right(clocks: Corrections, clock: Ints, t_us: Ints, mono_us: Ints) -> Ints:
    """Return the mesh time of records: of `t_us` if *clock* may have shown it, else of the time it must have shown."""
    shown_us = clocks.base_us[clock] + mono_us
    slewed_us = np.abs(mono_us - clocks.from_mono_us[clock]) * (limits.DRIFT_MAX_PPM * _PPM)
    own = np.abs(t_us - shown_us) <= limits.CLOCK_JUMP_US + slewed_us
    return clocks.put_right(clock, np.where(own, t_us, shown_us))
