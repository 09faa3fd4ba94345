"""The exchange of nodes that are out of touch most of the time, while they are in reach of others."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Event
from tinyssb_node.ids import FeedId
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactFigures:
    """The contacts of a node with others, all together."""

    contact_us: int
    """Time for which it was in reach of other nodes, all awake, and had what they lacked, or they what it lacked."""
    packets: int
    """Entries and chunks that crossed in that time: that came to the node, or from it to others none of which had
    them."""
    least_us: int
    """Airtime of these packets, each sent once."""

    @property
    def share(self) -> float:
        """The share of the contact time that these packets alone would take: 1 for a contact without idle time."""
        return self.least_us / self.contact_us if self.contact_us else 0.0


class ContactWatcher(SimulationWatcher):
    """A meter of the contacts of some nodes."""

    def __init__(
        self, visitors: Iterable[str], names: Iterable[str], reaches: Callable[[str, str], bool]
    ) -> None:
        """*visitors* are measured. *reaches* is True if two of *names* hear each other now."""
        self._names = tuple(names)
        self._reaches = reaches
        self._near: dict[str, set[str]] = {name: set() for name in visitors}
        """The nodes in reach of each visitor now."""
        self._to_cross = dict.fromkeys(self._near, 0)
        """How many packets either the visitor has or some of those nodes, but not both."""
        self._since_us = 0
        """Until when contact times are counted."""
        self._contact_us = dict.fromkeys(self._near, 0)
        self._crossed = dict.fromkeys(self._near, 0)
        self._holders: dict[tuple[FeedId, int, int | None], set[str]] = defaultdict(set)

    def figures(self, packet_us: Callable[[str], int], now_us: int) -> Mapping[str, ContactFigures]:
        """Return the contacts up to *now_us*. *packet_us* returns the airtime of a full packet of a node."""
        self._pass_time(now_us)
        return {
            name: ContactFigures(
                contact_us=self._contact_us[name],
                packets=self._crossed[name],
                least_us=self._crossed[name] * packet_us(name),
            )
            for name in self._near
        }

    def links_changed(self, now_us: int) -> None:
        """Note that other nodes may be in reach of each other from now on."""
        self._pass_time(now_us)
        for name in self._near:
            self._near[name] = {
                other for other in self._names if other != name and self._reaches(name, other)
            }
            self._to_cross[name] = sum(self._is_to_cross(name, holders) for holders in self._holders.values())

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """Count an entry or chunk that crossed."""
        if not self._near or not isinstance(event, EntryAppended | ChunkAppended):
            return
        self._pass_time(now_us)
        chunk = event.chunk if isinstance(event, ChunkAppended) else None
        holders = self._holders[event.feed, event.seq, chunk]
        before = {name: self._is_to_cross(name, holders) for name in self._near}
        holders.add(inhabitant.name)
        for name, waited in before.items():
            waits = self._is_to_cross(name, holders)
            self._to_cross[name] += waits - waited
            self._crossed[name] += waited and not waits

    def _is_to_cross(self, name: str, holders: set[str]) -> bool:
        near = self._near[name]
        return bool(near) and (name in holders) == holders.isdisjoint(near)

    def _pass_time(self, now_us: int) -> None:
        for name, packets in self._to_cross.items():
            if packets:
                self._contact_us[name] += now_us - self._since_us
        self._since_us = now_us
