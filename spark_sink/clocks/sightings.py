"""Single packets as the nodes' clocks saw them, and which clock a node had when."""

from dataclasses import dataclass

import numpy as np

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, run_starts


@dataclass(frozen=True, slots=True)
class Sightings:
    """Packets on the air, sent or heard: columns, a value each for every ``rx`` or ``tx`` with airtime."""

    hash: Ints
    clock: Ints
    """Place of the clock in `Clocks`."""
    sent: Bools
    t_us: Ints
    """Time of this clock at the packet's end."""

    def __len__(self) -> int:
        return len(self.hash)


@dataclass(frozen=True, slots=True)
class Clocks:
    """Nodes' wall clocks, each between two restarts or jumps, in order of (node, boot, era)."""

    node: Ints
    boot: Ints
    era: Ints
    """Number of its jumps before, in this boot."""
    from_mono_us: Ints
    """Its beginning, by the boot's monotonic clock."""
    base_us: Ints
    """Its time at the beginning, minus `from_mono_us`."""

    def __len__(self) -> int:
        return len(self.node)


def by_clock(node: Ints, boot: Ints, t_us: Ints, mono_us: Ints) -> tuple[Clocks, Ints]:
    """Return the clocks that these records were written by, and for each record the place of its clock.

    A jump is a change of wall minus monotonic clock by more than `limits.CLOCK_JUMP_US` from one record to the next.
    """
    order = _in_order(node, boot, t_us, mono_us)
    node_, boot_, mono_ = node[order], boot[order], mono_us[order]
    zero_us = t_us[order] - mono_
    restarts = run_starts(node_, boot_)
    begins = restarts.copy()
    begins[1:] |= np.abs(np.diff(zero_us)) > limits.CLOCK_JUMP_US
    first = np.flatnonzero(begins)
    clock = np.empty(len(order), np.int64)
    clock[order] = np.cumsum(begins) - 1
    number = np.arange(len(first))
    era = number - np.maximum.accumulate(np.where(restarts[first], number, 0))
    return Clocks(node_[first], boot_[first], era, mono_[first], zero_us[first]), clock


def _in_order(node: Ints, boot: Ints, t_us: Ints, mono_us: Ints) -> Ints:
    """Sort rows by node, boot, and time, unless they are in that order already: sorting costs most."""
    later = np.zeros(max(0, len(node) - 1), bool)
    same = np.ones(len(later), bool)
    for column in (node, boot, mono_us, t_us):
        step = np.diff(column)
        later |= same & (step < 0)
        same &= step == 0
    return np.lexsort((t_us, mono_us, boot, node)) if later.any() else np.arange(len(node))
