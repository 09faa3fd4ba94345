"""Who lives in a simulated world, and who watches it."""

from dataclasses import dataclass, field

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.effects import Send
from tinyssb_node.events import EntryAppended, Event
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.disk import DiskLoss, SimulatedDisk
from tinyssb_node.sim.links import Position


@dataclass(slots=True)
class SimulatedNode:
    """A node and what belongs to it."""

    name: str
    key: SigningKey
    dialect: Dialect
    node: Node | DeployedBoard
    store: SimulatedDisk
    feed: FeedId
    events: list[Event] = field(default_factory=list)
    """All it recorded, in order, unless the world was told not to keep it."""
    board: bool = False
    """Whether it plays by the rules of deployed boards."""
    position_m: Position | None = None
    """Where it stands."""
    allowance: Allowance | None = None
    """What the law lets it spend on the air; None for no limit."""
    up: bool = True
    """Whether it has power."""
    boot: int = 1
    """Times it was switched on."""
    boot_us: int = 0
    """When it last was."""
    wall_offset_us: int = sim_limits.EPOCH_US
    """What its wall clock adds to virtual time."""
    hung_until_us: int = 0
    """Until when its radio does nothing."""
    down_us: int | None = None
    """How long it will be off once it loses what it is about to write; None if nothing is to be lost."""
    brown_out_us: int | None = None
    """How long it will be off once it breaks down over a packet; None if it will not."""
    woken_for_us: int | None = None
    """The wake-up that is scheduled."""


class SimulationWatcher:
    """Who is told what happens. Nothing it does may change what happens. Here it looks at nothing."""

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """A node was switched on, for the first time or again."""

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        """A node lost power, and its disk what it had said was safe, but nothing of the node's own feed. What it holds
        still is in its store."""

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """A node recorded *event*; what it speaks of is committed."""

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """A node began to send over the air."""

    def acknowledged(self, inhabitant: SimulatedNode, entry: EntryAppended, now_us: int) -> None:
        """A user of a node was told that what they published is safe."""
