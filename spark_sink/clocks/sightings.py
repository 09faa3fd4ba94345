"""Single packets as the nodes' clocks saw them, and which clock a node had when."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from spark_sink import limits


@dataclass(frozen=True, slots=True)
class Sighting:
    """One packet on the air, sent or heard: an ``rx`` or ``tx`` record with an ``airtime_us`` above 0."""

    hash: str
    node: str
    boot: int
    direction: Literal["rx", "tx"]
    t_us: int
    """The node's wall clock at the packet's end."""
    mono_us: int
    """The node's monotonic clock then."""


@dataclass(frozen=True, slots=True, order=True)
class Clock:
    """A node's wall clock between two restarts or jumps: it runs evenly, if too fast or too slow."""

    node: str
    boot: int
    zero_us: int
    """What it would have shown when the boot began: another value after a jump."""


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """When a clock saw a packet."""

    t_us: int
    sent: bool


Seen = Mapping[Clock, Mapping[str, Sequence[Moment]]]
"""By clock and packet hash, when it was seen, in order."""


def by_clock(sightings: Iterable[Sighting]) -> Seen:
    """Put each sighting down to a clock, in whatever order they come; the same one twice counts once.

    A jump is a change of wall minus monotonic clock by more than `limits.CLOCK_JUMP_US`.
    """
    boots: dict[tuple[str, int], dict[int, set[tuple[str, Moment]]]] = defaultdict(lambda: defaultdict(set))
    for sighting in sightings:
        packet = sighting.hash, Moment(sighting.t_us, sighting.direction == "tx")
        boots[sighting.node, sighting.boot][sighting.t_us - sighting.mono_us].add(packet)
    seen: dict[Clock, dict[str, list[Moment]]] = {}
    for (node, boot), zeros in boots.items():
        before_us: int | None = None
        packets: dict[str, list[Moment]] = {}
        for zero_us in sorted(zeros):
            if before_us is None or zero_us - before_us > limits.CLOCK_JUMP_US:
                packets = seen[Clock(node, boot, zero_us)] = defaultdict(list)
            before_us = zero_us
            for hash_, moment in sorted(zeros[zero_us]):
                packets[hash_].append(moment)
    return {clock: {hash_: sorted(times) for hash_, times in seen[clock].items()} for clock in sorted(seen)}
