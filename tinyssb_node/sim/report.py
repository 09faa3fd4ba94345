"""The report of a simulation."""

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from tinyssb_node.codec.events import EntryAppended, Event, Send
from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.contacts import ContactFigures
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationReport:
    """The figures of a run. Airtime, packets and bytes are those until convergence, or until the end."""

    scenario: str
    """Its name or file."""
    seed: int
    nodes: int
    converged: bool
    """True if all nodes had stored everything at the end."""
    time_us: int
    """The time of the last convergence; the end of the run if there was none."""
    ended_us: int
    """The end of the run."""
    happenings: int
    """Packets and timers of the run."""
    airtime_us: Mapping[PacketKind, int]
    """Time on the air by kind of packet."""
    packets: Mapping[PacketKind, int]
    """Packets sent over the air by kind."""
    bytes: Mapping[PacketKind, int]
    """Their bytes, framing not counted."""
    bound_us: int
    """The lower bound on the airtime of the published entries and chunks (``sim.bound``)."""
    relayed_us: int
    """Their airtime if each node of a minimum relay set sends each until all in its reach have it: with loss, over
    several hops, more than the lower bound (``sim.bound``)."""
    busiest_us: int
    """Their least airtime within reach of the node that hears most of it (``sim.bound``)."""
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
    contacts: Mapping[str, ContactFigures]
    """Contacts of each node that is out of touch most of the time."""
    energy_j: Mapping[str, float]
    """Joules that all nodes together took until the end of the run, by the device they are (``sim.power``)."""
    curve: tuple[tuple[int, float], ...]
    """Time in microseconds, and the share of what all nodes should store that was stored then."""
    places: Mapping[str, tuple[float, float]]
    """Position of each node in the beginning; for a mesh of links, its position in the drawing."""
    in_metres: bool
    """True if positions are metres east and north."""
    neighbours: tuple[tuple[str, str], ...]
    """Pairs of nodes that heard each other in the beginning, without interference."""
    history: str
    """SHA-256 of all that was sent and when, hexadecimal: the same for the same options, anywhere."""

    @property
    def ratio(self) -> float:
        """Airtime used, everything counted, as a multiple of the bound; 0 where nothing was published."""
        return sum(self.airtime_us.values()) / self.bound_us if self.bound_us else 0.0

    @property
    def relayed_ratio(self) -> float:
        """Airtime as a multiple of *relayed_us*; 0 where nothing was published."""
        return sum(self.airtime_us.values()) / self.relayed_us if self.relayed_us else 0.0

    @property
    def haste(self) -> float:
        """Time until all agreed as a multiple of *busiest_us*; 0 where nothing was published."""
        return self.time_us / self.busiest_us if self.busiest_us else 0.0


@dataclass(slots=True)
class TrafficTotals:
    """Totals of what was sent up to a time."""

    airtime_us: Counter[PacketKind] = field(default_factory=Counter)
    packets: Counter[PacketKind] = field(default_factory=Counter)
    bytes: Counter[PacketKind] = field(default_factory=Counter)
    by_node_us: Counter[str] = field(default_factory=Counter)

    def copy(self) -> "TrafficTotals":
        """Return a copy of the present totals."""
        return TrafficTotals(
            self.airtime_us.copy(), self.packets.copy(), self.bytes.copy(), self.by_node_us.copy()
        )


class TrafficMeter(SimulationWatcher):
    """A meter that counts and hashes what is sent."""

    def __init__(self) -> None:
        self.totals = TrafficTotals()
        self._history = sha256()

    @property
    def history(self) -> str:
        """SHA-256 so far."""
        return self._history.hexdigest()

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """Note a node that was switched on."""
        self._history.update(b"%d %s\n" % (now_us, inhabitant.name.encode()))

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """Add a received entry to the history's hash: it shows which nodes received what was sent."""
        if isinstance(event, EntryAppended):
            self._history.update(b"%d %s %d\n" % (now_us, inhabitant.name.encode(), event.arrival))

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """Count a packet that is sent."""
        totals = self.totals
        totals.airtime_us[send.kind] += end_us - begin_us
        totals.packets[send.kind] += 1
        totals.bytes[send.kind] += len(send.packet)
        totals.by_node_us[inhabitant.name] += end_us - begin_us
        self._history.update(b"%d %s %b\n" % (begin_us, inhabitant.name.encode(), send.packet))


def spread(values: list[int]) -> tuple[int, ...]:
    """Return least, median, 95th percentile and greatest of *values*; nothing for none."""
    if not values:
        return ()
    ordered = sorted(values)
    return (
        ordered[0],
        round(statistics.median_low(ordered)),
        ordered[(len(ordered) * 95 - 1) // 100],
        ordered[-1],
    )
