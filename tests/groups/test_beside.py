"""A group on the air beside nodes with many feeds of others: it waits neither for places in the set, nor for the
admission of strangers, nor for the airtime that all those feeds would take."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import pytest

from firmware_bridge.regions import Region
from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh
from tests.nodes import key_of, written
from tinyssb_node.codec.events import Effect
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupManager, GroupWriteResult
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.options import RadioOptions
from tinyssb_node.sim.world import World

EPOCHS = 3


class Beside(Mesh):
    """Nodes with admission, under the law of EU868, with a group that has had several epochs before they meet."""

    def __init__(self, names: str, strangers: int, *, empty: bool, loss: float = 0.0, seed: int = 1) -> None:
        """The node before the last one knows the feeds of *strangers*, each with an entry unless they are *empty*."""

        def medium(chance: Random) -> SimulatedMedium:
            return SimulatedMedium(MediumOptions(default_loss=loss), chance)

        law = RadioOptions(region=Region.EU868).allowance
        self.world = World(seed, medium, allowance=law, admission=Admission)
        self.cables = set()
        self._keys = {}
        self._names = names
        for name in names:
            self.world.add(name, on_air=False)
        for number in range(strangers):
            key = key_of(f"stranger {number}")
            self.world.follow(names[-2], key.feed_id)
            if not empty:
                self.world.act(names[-2], importing(written(key, [b"a word"])[0].packet))

    def grow_old(self, epochs: int = EPOCHS, *, late: bool = False) -> MessageId:
        """The first node begins a group with the last one, or adds it *late*, and excludes somebody else for each
        further epoch."""
        first, last = self._names[0], self._names[-1]
        self.world.follow(first, self.id(last))
        self.world.follow(last, self.id(first))
        root = self.create(first)
        self.settle(SECOND_US)
        if not late:
            self.add(first, root, last)
        for epoch in range(1, epochs):
            guest = [key_of(f"guest {epoch}").feed_id]
            self.do(first, partial(adding, root, guest))
            self.settle(SECOND_US)
            self.do(first, partial(excluding, root, guest))
            self.settle(SECOND_US)
        if late:
            self.add(first, root, last)
        self.say(first, root, "the newest")
        self.settle(2 * HOUR_US)
        return root

    def meet(self) -> None:
        """Switch all radios on; each node hears the next ones only."""
        for at in range(2, len(self._names)):
            self.world.cut(self._names[: at - 1], self._names[at:])
        for name in self._names:
            self.world.switch_on_air(name)

    def reads(self, name: str, root: MessageId, text: str) -> bool:
        """Return whether a person reads *text*, marked as not checked or not (decision 0083)."""
        judged = root in self[name].reader.groups and text in self.texts(name, root)
        return judged or text in self.early(name, root)


def adding(
    root: MessageId, people: Sequence[FeedId], groups: GroupManager, pen: GroupWriterPort, now_us: int
) -> GroupWriteResult:
    """Add people by their ids."""
    return groups.add(pen, root, people, None, now_us)


def excluding(
    root: MessageId, people: Sequence[FeedId], groups: GroupManager, pen: GroupWriterPort, now_us: int
) -> GroupWriteResult:
    """Exclude people by their ids."""
    return groups.exclude(pen, root, people, now_us)


def importing(packet: bytes) -> Callable[[Node | DeployedBoard, int], Sequence[Effect]]:
    """Return the deed of a user who imports an entry from a file."""

    def deed(node: Node | DeployedBoard, now_us: int) -> Sequence[Effect]:
        assert isinstance(node, Node)
        return node.import_packet(packet, now_us)[1]

    return deed


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("strangers", [0, 84, 255])
def test_a_member_beside_a_node_of_many_feeds_reads_the_group_within_minutes(
    strangers: int, *, empty: bool
) -> None:
    mesh = Beside("ab", strangers, empty=empty)
    root = mesh.grow_old()
    mesh.meet()
    assert mesh.until(lambda: mesh.reads("b", root, "the newest"), HOUR_US) <= 3 * MINUTE_US
    records = [record for name in "ab" for record in mesh.world.inhabitants[name].node.feeds()]
    group = {mesh[name].reader.feed_of(mesh.id("a"), None) for name in "ab"}
    group |= {mesh["b"].reader.feed_of(mesh.id("a"), key) for key in mesh["b"].reader.keys_of(root)}
    beyond = {record.feed for record in records if record.feed in group and not record.in_set}
    assert beyond == group, "no feed of the group takes a place of the set"
    assert len(group) == 1 + EPOCHS


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize(("strangers", "seed"), [(84, 1), (84, 13), (255, 1), (255, 33)])
def test_a_relay_that_is_no_member_carries_the_group_beside_many_feeds(
    strangers: int, seed: int, *, empty: bool
) -> None:
    """It gave the entries of all those feeds first, until its airtime of the hour was used up. Where its own user
    follows all of them, it requested what the group waits for after all of those (seed 33), or the requests that name
    the group were lost while it gave the others (seed 13)."""
    mesh = Beside("arb", strangers, empty=empty, seed=seed)
    root = mesh.grow_old()
    mesh.meet()
    assert mesh.until(lambda: mesh.reads("b", root, "the newest"), HOUR_US) <= 8 * MINUTE_US
    assert root not in mesh["r"].reader.groups, "the relay is no member"


def test_the_other_feeds_follow_once_the_group_is_there() -> None:
    mesh = Beside("arb", 84, empty=False)
    root = mesh.grow_old()
    mesh.meet()
    mesh.until(lambda: mesh.reads("b", root, "the newest"), HOUR_US)
    strangers = [key_of(f"stranger {number}").feed_id for number in range(84)]
    stores = [mesh.world.inhabitants[name].store for name in "ab"]
    mesh.until(lambda: all(store.entry(each, 1) for store in stores for each in strangers), 2 * HOUR_US)


@pytest.mark.parametrize("wires", [[("a", "r"), ("r", "b")], [("r", "b")], [("a", "r")]], ids=str)
def test_a_relay_that_is_no_member_carries_the_group_over_wires(wires: list[tuple[str, str]]) -> None:
    mesh = Beside("arb", 84, empty=False)
    root = mesh.grow_old()
    mesh.meet()
    for one, other in wires:
        mesh.world.cut([one], [other])
        mesh.world.connect(one, other)
    assert mesh.until(lambda: mesh.reads("b", root, "the newest"), HOUR_US) <= 8 * MINUTE_US


def test_a_newcomer_gets_all_of_a_group_of_more_epochs_than_feeds_are_requested_of_an_invitation() -> None:
    """It took part in nothing before its addition could be judged, and so never requested the rest."""
    epochs = group_limits.INVITED_FEEDS_OF_ONE + 8
    mesh = Beside("ab", 0, empty=True)
    root = mesh.grow_old(epochs, late=True)
    mesh.meet()
    mesh.until(lambda: mesh.reads("b", root, "the newest"), 12 * HOUR_US)
    assert len(mesh.group("b", root).view.epochs) == epochs
