"""When boots began and when they were last heard of, by the clock of the mesh."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.derive.facts import Ints
from spark_sink.derive.mesh_time import Corrections

_PPM: Final = 1e-6


@dataclass(frozen=True, slots=True)
class Boots:
    """The first and the last record of each boot; columns of the table ``boots``."""

    node_no: Ints
    boot: Ints
    first_us: Ints
    first_mono_us: Ints
    last_us: Ints
    last_mono_us: Ints


def boots_of(table: pa.Table) -> Boots:
    """Rows of the table ``boots``, or some with its columns."""
    return Boots(*(np.asarray(table[name].to_numpy(), np.int64) for name in Boots.__slots__))


@dataclass(frozen=True, slots=True)
class Lives:
    """When boots were up; a value each."""

    since_us: Ints
    until_us: Ints
    """Their last record: never before `since_us`."""
    mesh: Ints
    """That of the clock that tells the end; the node's number if none is known."""


def lives(clocks: Corrections, boots: Boots) -> Lives:
    """When boots were up, by those of their clocks that are related to others, if any is, and else by the last.

    Only packets and arrivals show when a clock jumped. What came before the first of them or after the last, above all
    the record of the start, may have been written by another one, as where a machine without a clock asks the network
    for the time: its moment is told by the monotonic clock, which goes on when the machine sleeps.
    """
    last = clocks.clock(boots.node_no, boots.boot, boots.last_mono_us)
    known = np.flatnonzero(last >= 0)
    began = _by_related(clocks, last[known], from_begin=True)
    ended = _by_related(clocks, last[known], from_begin=False)
    gone_us = boots.last_mono_us - boots.first_mono_us
    until_us = np.where(gone_us < 0, boots.first_us, boots.last_us)
    since_us = until_us - np.maximum(gone_us, 0)
    since_us[known] = _right(clocks, began, boots.first_us[known], boots.first_mono_us[known])
    until_us[known] = _right(clocks, ended, boots.last_us[known], boots.last_mono_us[known])
    mesh = boots.node_no.copy()
    mesh[known] = clocks.mesh[ended]
    return Lives(since_us, np.maximum(since_us, until_us), mesh)


def _by_related(clocks: Corrections, clock: Ints, *, from_begin: bool) -> Ints:
    """Of the same boot the first clock that is related to others, or else the last one up to *clock*, or the next.

    *clock* itself where none is.
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
    """Mesh time of records: of `t_us` if that is what *clock* may have shown, and else of what it would have."""
    shown_us = clocks.base_us[clock] + mono_us
    slewed_us = np.abs(mono_us - clocks.from_mono_us[clock]) * (limits.DRIFT_MAX_PPM * _PPM)
    own = np.abs(t_us - shown_us) <= limits.CLOCK_JUMP_US + slewed_us
    return clocks.put_right(clock, np.where(own, t_us, shown_us))
