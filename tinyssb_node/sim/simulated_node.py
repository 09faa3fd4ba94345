"""A node in a simulated world, and the interface of watchers."""

from dataclasses import dataclass, field

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import EntryAppended, Event, Send
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.disk import DiskLoss, SimulatedDisk
from tinyssb_node.sim.links import Position


@dataclass(slots=True)
class SimulatedNode:
    """A node and its state in the world."""

    name: str
    key: SigningKey
    dialect: Dialect
    node: Node | DeployedBoard
    store: SimulatedDisk
    feed: FeedId
    events: list[Event] = field(default_factory=list)
    """All its events, in order, unless the world was told not to keep them."""
    board: bool = False
    """True if it follows the rules of deployed boards."""
    position_m: Position | None = None
    """Its position."""
    allowance: Allowance | None = None
    """Its legal allowance of airtime; None for no limit."""
    up: bool = True
    """True if it has power."""
    boot: int = 1
    """Times it was switched on."""
    boot_us: int = 0
    """The time when it last was."""
    wall_offset_us: int = sim_limits.EPOCH_US
    """Difference of its wall clock to virtual time."""
    asleep_since_us: int | None = None
    """Since when it sleeps; None: it is awake."""
    slept_us: int = 0
    """How long it slept before that, all together."""
    woken: int = 0
    """How often it woke."""
    hung_until_us: int = 0
    """Until when its radio does nothing."""
    down_us: int | None = None
    """Time for which it will be off after losing what it is about to write; None if nothing is to be lost."""
    brown_out_us: int | None = None
    """Time for which it will be off after a brown-out during a packet; None for none."""
    woken_for_us: int | None = None
    """The wake-up that is scheduled."""

    @property
    def on_air(self) -> bool:
        """True if its radio is on."""
        return self.up and self.asleep_since_us is None

    def begin(self, now_us: int) -> None:
        """Note *now_us* as the beginning of this boot."""
        self.boot_us = now_us

    def switch_off(self) -> None:
        """Take the power away, and every fault and wake-up that was planned for this boot."""
        self.up = False
        self.down_us = self.brown_out_us = self.woken_for_us = None
        self.boot += 1

    def switch_on(self, node: Node | DeployedBoard) -> None:
        """Give the power back; *node* runs from now on."""
        self.up = True
        self.node = node

    def move(self, position_m: Position) -> None:
        """Change the position."""
        self.position_m = position_m

    def tear(self, down_us: int) -> None:
        """Plan a loss of power, for *down_us*, at the next write."""
        self.down_us = down_us

    def brown_out(self, down_us: int) -> None:
        """Plan a loss of power, for *down_us*, in the middle of the next packet sent."""
        self.brown_out_us = down_us

    def hang(self, until_us: int) -> None:
        """Let the radio do nothing until *until_us*."""
        self.hung_until_us = until_us

    def sleep(self, now_us: int) -> None:
        """Fall asleep."""
        self.asleep_since_us = now_us

    def wake(self, now_us: int) -> None:
        """Wake."""
        self.slept_us = self.asleep_us(now_us)
        self.asleep_since_us = None
        self.woken += 1

    def asleep_us(self, now_us: int) -> int:
        """Return how long it has slept up to now."""
        since_us = now_us if self.asleep_since_us is None else self.asleep_since_us
        return self.slept_us + now_us - since_us

    def set_clock(self, offset_us: int) -> int:
        """Set the wall clock's difference to virtual time. Return by how much the clock jumped."""
        step_us = offset_us - self.wall_offset_us
        self.wall_offset_us = offset_us
        return step_us

    def schedule_wake(self) -> int | None:
        """Return the time of the next wake-up, and remember it as scheduled; None if nothing new is to be scheduled."""
        due_us = self.node.next_wake_us()
        if due_us is None or due_us == self.woken_for_us:
            return None
        self.woken_for_us = due_us
        return due_us

    def end_wait(self, due_us: int) -> bool:
        """Return True if the wake-up at *due_us* is still the scheduled one; then none is scheduled any more."""
        if self.woken_for_us != due_us:
            return False
        self.woken_for_us = None
        return True


class SimulationWatcher:
    """An observer of a simulation, which must not change it. This base class ignores everything."""

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """Note a node that was switched on, for the first time or again."""

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        """Note a node that lost power, with its disk's loss, which has nothing of the node's own feed. Its store has
        what is left."""

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """Note an *event* of a node; what it reports is committed."""

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """Note a node that began to send over the air."""

    def links_changed(self, now_us: int) -> None:
        """Note that from now on other nodes may be in reach of each other."""

    def acknowledged(self, inhabitant: SimulatedNode, entry: EntryAppended, now_us: int) -> None:
        """Note that an entry was acknowledged to its user as committed."""
