"""What came of a simulation."""

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from tinyssb_node.effects import Send
from tinyssb_node.events import EntryAppended, Event
from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """The figures of a run. Airtime, packets and bytes are those until all agreed, or until the end."""

    scenario: str
    """Its name or file."""
    seed: int
    nodes: int
    converged: bool
    """Whether all nodes held all there was, at last."""
    time_us: int
    """When they did for the last time; the end of the run if they did not."""
    ended_us: int
    """When the run ended."""
    happenings: int
    """Packets and timers of the run."""
    airtime_us: Mapping[PacketKind, int]
    """Time on the air by kind of packet."""
    packets: Mapping[PacketKind, int]
    """Packets sent over the air by kind."""
    bytes: Mapping[PacketKind, int]
    """Their bytes, framing not counted."""
    bound_us: int
    """What the entries and chunks published had to cost at least (``sim.bound``)."""
    relayed_us: int
    """What they cost if each node of a least set of relays sends each until all that hear it have it: with loss, over
    several hops, more than the least possible (``sim.bound``)."""
    messages: int
    """Entries published."""
    delivered: int
    """Whole entries that came to nodes other than their author's; again where a disk lost them."""
    delays_us: tuple[int, ...]
    """Least, median, 95th percentile and longest time that took; empty if nothing was delivered."""
    duty: Mapping[str, float]
    """Share of the time that each node was on the air."""
    peak_duty: Mapping[str, float]
    """The same in the hour in which it was most."""
    idle_duty: Mapping[str, float]
    """The same after all agreed; empty if the run ended then."""
    curve: tuple[tuple[int, float], ...]
    """Time in microseconds, and share of what all should hold that was held then."""
    places: Mapping[str, tuple[float, float]]
    """Where each node stood in the beginning; for a mesh of links, where to draw it."""
    in_metres: bool
    """Whether places are metres east and north."""
    neighbours: tuple[tuple[str, str], ...]
    """Who heard each other in the beginning, when nothing disturbed."""
    history: str
    """SHA-256 of all that was sent and when, hexadecimal: the same for the same options, anywhere."""

    @property
    def ratio(self) -> float:
        """Airtime used, everything counted, as a multiple of the bound; 0 where nothing was published."""
        return sum(self.airtime_us.values()) / self.bound_us if self.bound_us else 0.0

    @property
    def relayed_ratio(self) -> float:
        """The same as a multiple of what relays pay; 0 where nothing was published."""
        return sum(self.airtime_us.values()) / self.relayed_us if self.relayed_us else 0.0


@dataclass(slots=True)
class TrafficTotals:
    """What was sent up to a time."""

    airtime_us: Counter[PacketKind] = field(default_factory=Counter)
    packets: Counter[PacketKind] = field(default_factory=Counter)
    bytes: Counter[PacketKind] = field(default_factory=Counter)
    by_node_us: Counter[str] = field(default_factory=Counter)

    def copy(self) -> "TrafficTotals":
        """As it is now."""
        return TrafficTotals(
            self.airtime_us.copy(), self.packets.copy(), self.bytes.copy(), self.by_node_us.copy()
        )


class TrafficMeter(SimulationWatcher):
    """Counts what is sent, and digests it."""

    def __init__(self) -> None:
        self.totals = TrafficTotals()
        self._history = sha256()

    @property
    def history(self) -> str:
        """SHA-256 so far."""
        return self._history.hexdigest()

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """A node was switched on."""
        self._history.update(b"%d %s\n" % (now_us, inhabitant.name.encode()))

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """An entry that came is part of the history: it says who heard what was sent."""
        if isinstance(event, EntryAppended):
            self._history.update(b"%d %s %d\n" % (now_us, inhabitant.name.encode(), event.arrival))

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """A packet goes out."""
        totals = self.totals
        totals.airtime_us[send.kind] += end_us - begin_us
        totals.packets[send.kind] += 1
        totals.bytes[send.kind] += len(send.packet)
        totals.by_node_us[inhabitant.name] += end_us - begin_us
        self._history.update(b"%d %s %b\n" % (begin_us, inhabitant.name.encode(), send.packet))


def spread(values: list[int]) -> tuple[int, ...]:
    """Least, median, 95th percentile and greatest of *values*; nothing for none."""
    if not values:
        return ()
    ordered = sorted(values)
    return (
        ordered[0],
        round(statistics.median_low(ordered)),
        ordered[(len(ordered) * 95 - 1) // 100],
        ordered[-1],
    )
