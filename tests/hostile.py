"""Hostile stations of a simulated world: each sends valid packets, and few of them, that cost others much."""

import random
from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.codec.packets import (
    Chnk,
    NamedWant,
    Newest,
    Want,
    serialize_chnk,
    serialize_named_want,
    serialize_newest,
    serialize_want,
)
from tinyssb_node.ids import FaceName, FeedId, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.replication.salted import short_id
from tinyssb_node.scheduling.link import LinkProfile, Reception
from tinyssb_node.sim.world import AIR, World

SEQ_BOASTED = 2**31
SALT = b"salt"


class DeafStation:
    """The methods of a node that the world calls, of one that heeds nothing that it hears."""

    def receive(self, packet: bytes, face: FaceName, reception: Reception, now_us: int) -> list[Effect]:
        del packet, face, reception, now_us
        return []

    def sent(self, face: FaceName, count: int, now_us: int) -> list[Effect]:
        del face, count, now_us
        return []

    def busy(self, face: FaceName, now_us: int) -> list[Effect]:
        del face, now_us
        return []


class HostileStation(DeafStation):
    """A station that sends one packet each *every_us*, between two points in time, whatever it hears."""

    def __init__(self, world: World, every_us: int, first_us: int, last_us: int) -> None:
        self._world = world
        self._every_us = every_us
        self._due_us = first_us
        self._last_us = last_us
        self.chance = random.Random("hostile")
        self.sent_count = 0

    @property
    def feeds(self) -> list[FeedId]:
        """The set of the honest nodes, in order: anybody in reach can learn it."""
        node = self._world.inhabitants["n0"].node
        return sorted(record.feed for record in node.feeds() if record.in_set)

    @property
    def state(self) -> bytes:
        """The state of their set."""
        node = self._world.inhabitants["n0"].node
        assert isinstance(node, Node)
        return node.set_state

    def name(self) -> bytes:
        """Make up a name."""
        return self.chance.randbytes(limits.SPEAKER_SIZE)

    def packet(self) -> tuple[bytes, PacketKind]:
        """Make the next packet."""
        raise NotImplementedError

    # --- the methods of a node that the world calls

    def face_up(self, face: FaceName, profile: LinkProfile, spec: str, now_us: int) -> list[Effect]:
        del face, profile, spec, now_us
        return []

    def next_wake_us(self) -> int | None:
        return self._due_us if self._due_us < self._last_us else None

    def wake(self, now_us: int) -> Sequence[Effect]:
        self._due_us = now_us + self._every_us
        self.sent_count += 1
        return [Send(AIR, *self.packet())]


class Boaster(HostileStation):
    """Claims, in WANTs under ever new names, to have more of all feeds than there is."""

    def packet(self) -> tuple[bytes, PacketKind]:
        want = Want(0, (SEQ_BOASTED,) * min(16, len(self.feeds)), self.name())
        return serialize_want(want_dmx(Network(), self.state), want), PacketKind.WANT


class NamingBoaster(HostileStation):
    """The same by short ids, each time for a neighbour that does not exist: it asks others to be silent, too."""

    def packet(self) -> tuple[bytes, PacketKind]:
        wanted = tuple((short_id(SALT, feed), SEQ_BOASTED) for feed in self.feeds[:10])
        want = NamedWant(SALT, wanted, self.name(), self.name())
        return serialize_named_want(Network().goset_dmx, want), PacketKind.NAMED_WANT


class Beggar(HostileStation):
    """Requests all entries of all feeds under ever new names, again and again."""

    def packet(self) -> tuple[bytes, PacketKind]:
        want = Want(0, (1,) * min(40, len(self.feeds)), self.name(), lacking=(15,) * min(40, len(self.feeds)))
        return serialize_want(want_dmx(Network(), self.state), want), PacketKind.WANT


class PlainBeggar(HostileStation):
    """The same as a deployed board: without a name, and with entries as they are."""

    def packet(self) -> tuple[bytes, PacketKind]:
        want = Want(0, (1,) * min(40, len(self.feeds)))
        return serialize_want(want_dmx(Network(), self.state), want), PacketKind.WANT


class NamingBeggar(HostileStation):
    """The same by short ids."""

    def packet(self) -> tuple[bytes, PacketKind]:
        wanted = tuple((short_id(SALT, feed), 1) for feed in self.feeds[:10])
        want = NamedWant(SALT, wanted, self.name())
        return serialize_named_want(Network().goset_dmx, want), PacketKind.NAMED_WANT


class ChunkBeggar(HostileStation):
    """Requests all side chains from their beginning, as a deployed board and as a node of ours."""

    def packet(self) -> tuple[bytes, PacketKind]:
        wanted = tuple((index, self.chance.randrange(1, 4), 0) for index in range(min(16, len(self.feeds))))
        lacking = (15,) * len(wanted) if self.sent_count % 2 else None
        return serialize_chnk(chnk_dmx(Network(), self.state), Chnk(wanted, lacking)), PacketKind.CHNK


class NewestBeggar(HostileStation):
    """Requests the newest entries of all feeds."""

    def packet(self) -> tuple[bytes, PacketKind]:
        wanted = tuple((short_id(SALT, feed), 1, limits.NEWEST_MAX) for feed in self.feeds[:10])
        return serialize_newest(Network().goset_dmx, Newest(SALT, wanted)), PacketKind.NEWEST


def settle(world: World, station: HostileStation) -> None:
    """Put *station* into *world*, in reach of all."""
    world.add("mallory", on_air=False)
    world.inhabitants["mallory"].node = station  # type: ignore[assignment] # another kind of node
    world.switch_on_air("mallory")
