"""Islands of radio that are out of reach of each other, gateways in them, and the internet in between.

A gateway here is what a gateway's process and its daemon are together: a node with a shelf, and the sync of gateways
over a link that takes time and loses nothing.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import partial

from tests.islands.feed_sources import CombinedFeedSource, StoreFeedSource
from tests.islands.memory_shelf import MemoryShelf
from tinyssb_node.codec.crypto import verify_signed
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Effect
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.feedsync.port import FeedSource, FeedState, KeptEntry
from tinyssb_node.islands.feedsync.sync import FeedDataReceived, FeedSync, FeedSyncViolation
from tinyssb_node.islands.shelf import Shelf
from tinyssb_node.node.node import Node
from tinyssb_node.node.shelf_port import BringResult
from tinyssb_node.scheduling.budget import BootReference
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.simulated_node import SimulatedNode
from tinyssb_node.sim.verification_cache import cached_verifier
from tinyssb_node.sim.world import World

GATEWAY_LOOK_US = 1_000_000
"""Time between two looks of a gateway for new entries, as in the real one."""
INTERNET_US = 40_000
"""Time that a packet takes from one gateway to the other: across Europe, over home connections."""
SHELF_PACKETS = 1_000_000
"""Entries and chunks that a gateway's shelf stores: 256 MiB, the default."""


class SimulatedGateway:
    """A node of a world, with a shelf."""

    def __init__(self, world: World, name: str, *, packets_max: int = SHELF_PACKETS) -> None:
        """Settle in *world* as *name*, and go on the air. The shelf takes *packets_max*."""
        self._world = world
        self.inhabitant: SimulatedNode = world.add(name, on_air=False)
        self.shelf = MemoryShelf()
        self._packets_max = packets_max
        self._verify = cached_verifier(verify_signed)
        self.inhabitant.node = Node(
            store=self.inhabitant.store,
            network=Network(),
            entropy=world.chance(f"gateway {name}"),
            key=self.inhabitant.key,
            boot=BootReference(id=f"{name} gateway", since_us=0),
            verify=self._verify,
            admission=Admission(),
            shelf=self._open,
        )
        world.switch_on_air(name)

    def _open(self, make: bool) -> Shelf | None:
        del make
        return Shelf(self.shelf, Network(), packets_max=self._packets_max, verify=self._verify)

    def bring(self, feed: FeedId, packets: Sequence[bytes]) -> BringResult:
        """Bring packets to the node, as the gateway's process does."""
        brought: list[BringResult] = []

        def deed(node: Node | DeployedBoard, now_us: int) -> Sequence[Effect]:
            assert isinstance(node, Node)
            taken, effects = node.bring(feed, packets, now_us)
            brought.append(taken)
            return effects

        self._world.act(self.inhabitant.name, deed)
        return brought[0]

    def in_set(self) -> list[FeedId]:
        """Return the feeds that are wanted of others, and offered to them."""
        return [record.feed for record in self.inhabitant.node.feeds() if not record.retired]

    def holding(self) -> FeedSource:
        """Return the feeds held now, those on the shelf too."""
        return CombinedFeedSource(StoreFeedSource(self.inhabitant.store), StoreFeedSource(self.shelf))

    def arrivals(self) -> tuple[int, int]:
        """Counts up whenever something comes."""
        return self.inhabitant.store.last_arrival(), self.shelf.last_arrival()


class _Live:
    """A gateway's ``FeedSource``, read anew where something came since."""

    def __init__(self, gateway: SimulatedGateway) -> None:
        self._gateway = gateway
        self._seen: tuple[int, int] | None = None
        self._holding: FeedSource = gateway.holding()

    def _now(self) -> FeedSource:
        if (seen := self._gateway.arrivals()) != self._seen:
            self._seen, self._holding = seen, self._gateway.holding()
        return self._holding

    def state(self, feed: FeedId) -> FeedState | None:
        """See ``FeedSource``."""
        return self._now().state(feed)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """See ``FeedSource``."""
        return self._now().entries(feed, first, limit)

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """See ``FeedSource``."""
        return self._now().chunks(feed, seq, first, limit)


@dataclass(slots=True)
class _End:
    """One end of a link."""

    gateway: SimulatedGateway
    sync: FeedSync
    arrivals: tuple[int, int] = (0, 0)
    known: dict[FeedId, int] = field(default_factory=dict)
    """Feeds of the set at the last look, and how far they were."""


class InternetLink:
    """A connection of two gateways: each wants what its island's set has, and offers it."""

    def __init__(
        self, world: World, left: SimulatedGateway, right: SimulatedGateway, *, number: int = 0
    ) -> None:
        """Be up from now on. *number* counts the connections of a world."""
        self._world = world
        salt = world.chance(f"link {number}").randbytes(32)
        self._ends = [_End(one, FeedSync(_Live(one), salt)) for one in (left, right)]
        self.up = True
        self.broken: list[FeedSyncViolation] = []
        for end in self._ends:
            self._look(end)

    @property
    def sent_bytes(self) -> int:
        """Bytes of packets of both sides."""
        return sum(end.sync.counts.sent_bytes for end in self._ends)

    @property
    def given(self) -> int:
        """Entries and chunks that either side gave."""
        return sum(end.sync.counts.given for end in self._ends)

    def cut(self) -> None:
        """Be down."""
        self.up = False

    def _look(self, end: _End) -> None:
        """Do a gateway's work of every second."""
        if not self.up:
            return
        self._world.later(GATEWAY_LOOK_US, lambda: self._look(end))
        arrivals = end.gateway.arrivals()
        feeds: Collection[FeedId] = end.gateway.in_set()
        if arrivals == end.arrivals and feeds == list(end.known):
            return
        end.arrivals = arrivals
        holding = end.gateway.holding()
        known = {feed: state.seq if (state := holding.state(feed)) else 0 for feed in feeds}
        changed = [feed for feed, seq in known.items() if end.known.get(feed) != seq]
        end.known = known
        end.sync.want(changed)
        end.sync.offer(feeds)
        end.sync.changed(feeds)
        self._send(end)

    def _send(self, end: _End) -> None:
        other = self._ends[end is self._ends[0]]
        while self.up and (packet := end.sync.next_packet()) is not None:
            self._world.later(INTERNET_US, partial(self._arrive, other, packet))

    def _arrive(self, end: _End, packet: bytes) -> None:
        if not self.up:
            return
        end.sync.receive(packet)
        for event in end.sync.events():
            if isinstance(event, FeedDataReceived):
                brought = end.gateway.bring(event.feed, event.packets)
                if brought.refused is not None:
                    end.sync.leave([event.feed])
                end.sync.changed([event.feed])
            else:
                self.broken.append(event)
        self._send(end)
