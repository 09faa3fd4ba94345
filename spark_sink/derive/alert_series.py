"""Time series, and the spans in which their values were too high, for many subjects at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Bools, Floats, Ints, run_starts, take
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.row_keys import last_before

OPEN: Final = -(2**63)
"""In place of an end: the span is still open."""


@dataclass(frozen=True, slots=True)
class Series:
    """Values of subjects, which are numbers, at times; in any order. A value lasts until the next one."""

    subject: Ints
    t_us: Ints
    value: Floats

    def at(self, t_us: Ints) -> "Series":
        """Return the same values at other times."""
        return Series(self.subject, t_us, self.value)

    def where(self, chosen: Bools) -> "Series":
        """Return some of the rows."""
        return take(self, chosen)

    def reaching(self, least: float, also: Sequence[int] = ()) -> "Series":
        """Return the rows of subjects that reach this value at some time, which are few, and of those named."""
        subjects = np.concatenate([self.subject[self.value >= least], np.array(also, np.int64)])
        return self.where(np.isin(self.subject, np.unique(subjects)))


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans in which values were too high, in order of subject and begin."""

    subject: Ints
    since_us: Ints
    until_us: Ints
    """`OPEN` if the span has not ended."""
    value: Floats
    """The last one that was too high, or not yet low enough."""
    peak: Floats

    def where(self, chosen: Bools) -> "Spans":
        """Return some of the spans."""
        return take(self, chosen)


def spans(series: Series, raise_at: float, clear_at: float, may: Bools | None = None) -> Spans:
    """Find spans from a value that reaches *raise_at*, if it *may*, to one that is down to *clear_at*."""
    order = np.lexsort((series.value, series.t_us, series.subject))
    subject, t_us, value = series.subject[order], series.t_us[order], series.value[order]
    first = run_starts(subject)
    raised = value >= raise_at if may is None else (value >= raise_at) & may[order]
    mark = np.where(raised, 1, np.where(value <= clear_at, -1, 0))
    decided = np.maximum.accumulate(np.where((mark != 0) | first, np.arange(len(mark)), 0))
    on = mark[decided] == 1
    before = np.zeros(len(on), np.bool_)
    before[1:] = on[:-1] & ~first[1:]
    begins = np.flatnonzero(on & ~before)
    last = np.append(first[1:], True)[: len(on)]
    after = np.append(on[1:], False)[: len(on)]
    ends = np.flatnonzero(on & (last | ~after))
    until_us = np.where(last[ends], OPEN, t_us[np.minimum(ends + 1, len(t_us) - 1)]) if len(ends) else ends
    bounds = np.stack([begins, ends + 1], axis=1).ravel()
    peak = np.maximum.reduceat(np.append(value, 0.0), bounds)[::2] if len(bounds) else value[:0]
    return Spans(subject[begins], t_us[begins], until_us, value[ends], peak)


def hourly(subject: Ints, hour_us: Ints, value: Ints | Floats) -> Series:
    """Sum up values by hour, with 0 in each missing hour that follows one."""
    order = np.lexsort((hour_us, subject))
    subject, hour_us = subject[order], hour_us[order]
    begins = np.flatnonzero(run_starts(subject, hour_us))
    summed = np.add.reduceat(value[order].astype(np.float64), begins) if len(begins) else np.zeros(0)
    subject, hour_us = subject[begins], hour_us[begins]
    gap = np.ones(len(subject), np.bool_)
    gap[:-1] = (subject[1:] != subject[:-1]) | (hour_us[1:] != hour_us[:-1] + HOUR_US)
    return Series(
        np.concatenate([subject, subject[gap]]),
        np.concatenate([hour_us, hour_us[gap] + HOUR_US]),
        np.concatenate([summed, np.zeros(int(gap.sum()))]),
    )


def rolling(subject: Ints, tick: Ints, value: Ints, window: Ints) -> Series:
    """Sum up what happened within the window before, at each time when something enters or leaves the window.

    Times are in coarse ticks, so that hostile ones, with the subject in front, still fit into 64 bits. *window* is in
    ticks, a value for each row, the same for all rows of a subject. What happened exactly a window ago has left it.
    """
    if not len(subject):
        return Series(subject, tick, value.astype(np.float64))
    begin = int(tick.min())
    span = int(tick.max()) - begin + 2 * int(window.max()) + 1
    order = np.lexsort((tick, subject))
    subject, tick, window = subject[order], tick[order] - begin, window[order]
    key = subject * span + tick + window
    # Differences are right even if it wraps.
    total = np.concatenate([np.zeros(1, np.int64), np.cumsum(value[order])])
    both = np.concatenate([subject, subject])
    when = np.concatenate([tick, tick + window])
    came = np.searchsorted(key, both * span + when + np.concatenate([window, window]), "right")
    left = np.searchsorted(key, both * span + when, "right")
    return Series(both, when + begin, (total[came] - total[left]).astype(np.float64))


def mesh_us(clocks: pa.Table, node_no: Ints, t_us: Ints) -> Ints:
    """Correct times of nodes' wall clocks: by the latest clock of each node that had begun when it showed that time."""
    starts = ints(clocks, "base_us") + ints(clocks, "from_mono_us")
    return _right(clocks, ints(clocks, "node_no"), starts, node_no, t_us, t_us)


def boot_mesh_us(clocks: pa.Table, node_no: Ints, boot: Ints, mono_us: Ints, t_us: Ints) -> Ints:
    """Correct times of nodes' wall clocks, of which boot and monotonic clock are known."""
    groups = ints(clocks, "node_no") * _BOOTS + ints(clocks, "boot")
    return _right(clocks, groups, ints(clocks, "from_mono_us"), node_no * _BOOTS + boot, mono_us, t_us)


_BOOTS: Final = 10**9
"""More than the 8 digits of a boot."""


def _right(clocks: pa.Table, group: Ints, start: Ints, asked: Ints, moment: Ints, t_us: Ints) -> Ints:
    """Correct *t_us* by the last clock of its group that had started; else by the first; else leave it as it is."""
    if not len(group):
        return t_us
    sort = np.lexsort((ints(clocks, "base_us"), start, group))
    group, start = group[sort], start[sort]
    found = last_before(asked, moment, group, start)
    place = np.where(found < 0, np.minimum(np.searchsorted(group, asked), len(group) - 1), found)
    known = group[place] == asked
    row = sort[place]
    drift = clocks["drift_ppm"].to_numpy()[row] / 1_000_000
    gone = t_us - ints(clocks, "at_us")[row]
    right_us = t_us - ints(clocks, "offset_us")[row] - np.rint(drift / (1 + drift) * gone).astype(np.int64)
    return np.where(known, right_us, t_us)


def ints(table: pa.Table, name: str) -> Ints:
    """Return a column without nulls."""
    return np.asarray(table[name].to_numpy(), np.int64)
