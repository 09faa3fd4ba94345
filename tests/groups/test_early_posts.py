"""A newcomer to a group of many epochs reads its newest posts first, and the history when the air is idle."""

from collections.abc import Sequence
from functools import partial

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US
from tests.groups.test_beside import Beside, adding, excluding, importing
from tests.nodes import key_of
from tinyssb_node import limits
from tinyssb_node.codec.events import Effect, EntryAppended
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.messages import GroupMessage, post
from tinyssb_node.groups.writer import GroupWriterPort, draft_add, draft_content
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.sim.deployed_board import DeployedBoard

EPOCHS = 64


class Newcomer(Beside):
    """Members on cables, and a newcomer b who is in no group yet, and follows them. They meet on the air, where b has
    received what the members add to groups, as everybody's node does of people whom they follow."""

    def __init__(self, names: str, *, loss: float = 0.0) -> None:
        super().__init__(names, 0, empty=True, loss=loss)
        self.join(names.replace("b", ""))
        for name in names:
            for other in names:
                if name != other:
                    self.world.follow(name, self.id(other))

    def age(self, root: MessageId, epochs: int = EPOCHS) -> None:
        """The first node excludes somebody for each further epoch, and says something in each."""
        for epoch in range(1, epochs):
            guest = [key_of(f"guest {epoch}").feed_id]
            self.do(self._names[0], partial(adding, root, guest))
            self.do(self._names[0], partial(excluding, root, guest))
            self.settle(2 * SECOND_US)
        self.settle(group_limits.END_WAIT_US + MINUTE_US)  # feeds of epochs that are over end

    def go_on_air(self, without: str = "") -> None:
        """Cut the cables, let b have the main feeds and feeds of additions, and switch all radios on. *without*: people
        whose feeds of additions b lacks."""
        self.join()
        for name in self._names.replace("b", ""):
            self._hand_over(name, self.id(name))
        self.settle(SECOND_US)
        for name in self._names.replace("b", ""):
            additions = self[name].reader.feed_of(self.id(name), None)
            if additions is not None and name not in without:
                self._hand_over(name, additions)

    def meet(self) -> None:
        """Switch all radios on, in reach of each other."""
        for name in self._names:
            self.world.switch_on_air(name)

    def _hand_over(self, name: str, feed: FeedId) -> None:
        store = self.world.inhabitants[name].store
        for entry in store.entries(feed, 1, limits.SEQ_MAX):
            for packet in (entry.packet, *store.chunks(feed, entry.seq, 0, limits.SEQ_MAX)):
                self.world.act("b", importing(packet))

    def stored(self, name: str) -> int:
        """Return the number of packets in a store."""
        return self.world.inhabitants[name].store.last_arrival()


def newcomer(
    names: str = "ab", *, loss: float = 0.0, said: str = "the newest", epochs: int = EPOCHS
) -> tuple[Newcomer, MessageId]:
    """A group of 64 epochs of all people in *names* but b and x, whose first member adds b and says something. They
    have not met yet."""
    mesh = Newcomer(names, loss=loss)
    root = mesh.create("a")
    members = names.translate({ord("a"): None, ord("b"): None, ord("x"): None})
    if members:
        mesh.add("a", root, members)
        mesh.settle(MINUTE_US)
    mesh.age(root, epochs)
    for name in members:
        mesh.say(name, root, f"{name} is here")
    mesh.settle(MINUTE_US)
    mesh.go_on_air()
    mesh.add("a", root, "b")
    mesh.say("a", root, said)
    return mesh, root


@pytest.mark.parametrize("loss", [0.0, 0.2])
def test_a_newcomer_to_64_epochs_reads_the_newest_post_after_12_packets(loss: float) -> None:
    mesh, root = newcomer(loss=loss)
    before = mesh.stored("b")
    mesh.meet()
    mesh.until(lambda: "the newest" in mesh.early("b", root), 15 * MINUTE_US, SECOND_US)
    assert mesh.stored("b") - before <= 12
    assert mesh["b"].early.group(root).adders == [mesh.id("a")]
    mesh.until(lambda: root not in mesh["b"].early.roots(), 12 * HOUR_US, MINUTE_US)
    assert mesh.members("b", root) == "ab"
    while "the newest" not in mesh.texts("b", root):
        assert mesh.early("b", root) == ["the newest"], "it waits for entries before it"
        mesh.settle(MINUTE_US)
    mesh.settle(group_limits.EARLY_LAST_US)
    assert mesh.early("b", root) == []
    assert len(mesh.group("b", root).view.epochs) == EPOCHS


def test_posts_of_all_members_of_the_epoch_come_first() -> None:
    mesh, root = newcomer("abcd")
    before = mesh.stored("b")
    mesh.meet()
    newest = {"the newest", "c is here", "d is here"}
    mesh.until(lambda: newest <= {*mesh.early("b", root)}, HOUR_US, SECOND_US)
    assert mesh.stored("b") - before <= 12 + 2 * 2, "and two for each further member"
    assert mesh.names(mesh["b"].early.group(root).people) == "abcd"


def test_people_who_have_the_key_and_were_added_by_nobody_are_not_shown() -> None:
    """Somebody gave x the key. They claim the newest post, in a feed that they announce as a member does."""
    mesh, root = newcomer("abcx")
    key = mesh.group("a", root).view[mesh.prefers("a", root) or root].key
    false = draft_content(mesh.group("a", root), *post("x is a member"))
    mesh.do("x", lambda groups, pen, _: groups.writer.write(pen, false, key))
    mesh.meet()
    mesh.until(lambda: {"the newest", "c is here"} <= {*mesh.early("b", root)}, HOUR_US, SECOND_US)
    mesh.until(lambda: mesh["b"].reader.feed_of(mesh.id("x"), key) is not None, HOUR_US)
    mesh.settle(10 * MINUTE_US)
    assert mesh.early("b", root), "its history is still on the way"
    assert "x is a member" not in mesh.early("b", root)
    assert mesh.names(mesh["b"].early.group(root).people) == "abc"


def excluded_adds(mesh: Newcomer, root: MessageId) -> None:
    """c, who was excluded, says something in the epoch that they were in, and adds b to it."""
    group = mesh.group("c", root)
    epoch = mesh.prefers("c", root)
    assert epoch is not None
    addition = draft_add(group, epoch, (mesh.id("b"),))
    for message in (draft_content(group, *post("c goes on")), addition):
        mesh.do("c", partial(written, message, group.view[epoch].key))


def written(
    message: GroupMessage, key: EpochKey, groups: GroupManager, pen: GroupWriterPort, _now_us: int
) -> Sequence[EntryAppended]:
    """Write a message that no correct program would write."""
    return groups.writer.write(pen, message, key)


def unfollowing(feed: FeedId, node: Node | DeployedBoard, now_us: int) -> Sequence[Effect]:
    """Unfollow a feed, as a user does."""
    assert isinstance(node, Node)
    return node.unfollow(feed, now_us)


def with_excluded(*, follows_a: bool) -> tuple[Newcomer, MessageId]:
    """A group from which c was excluded, who then adds b. They have not met yet."""
    mesh = Newcomer("abc")
    root = mesh.create("a")
    mesh.add("a", root, "c")
    mesh.age(root, 3)
    mesh.exclude("a", root, "c")
    mesh.age(root, 3)
    excluded_adds(mesh, root)
    mesh.go_on_air()
    if follows_a:
        mesh.world.act("b", partial(unfollowing, mesh.id("c")))
        mesh.add("a", root, "b")
        mesh.say("a", root, "the newest")
    mesh.meet()
    return mesh, root


def test_an_ex_member_whom_the_newcomer_does_not_follow_shows_them_nothing() -> None:
    mesh, root = with_excluded(follows_a=True)
    mesh.until(lambda: "the newest" in mesh.early("b", root), HOUR_US, SECOND_US)
    assert mesh["b"].early.group(root).adders == [mesh.id("a")]
    while root in mesh["b"].early.roots():
        assert "c goes on" not in mesh.early("b", root)
        mesh.settle(MINUTE_US)
    assert mesh.members("b", root) == "ab"


def test_posts_to_which_an_ex_member_added_a_friend_are_marked_until_the_history_shows_that_they_do_not_count() -> (
    None
):
    mesh, root = with_excluded(follows_a=False)
    mesh.until(lambda: "c goes on" in mesh.early("b", root), HOUR_US, SECOND_US)
    assert mesh["b"].early.group(root).adders == [mesh.id("c")]
    mesh.until(lambda: root not in mesh["b"].early.roots(), 12 * HOUR_US, MINUTE_US)
    assert not mesh.group("b", root).view.of(mesh.id("b"))
    assert mesh.prefers("b", root) is None


def test_a_stranger_who_adds_the_newcomer_shows_them_nothing_early() -> None:
    mesh, root = newcomer(said="of a stranger")
    mesh.world.act("b", partial(unfollowing, mesh.id("a")))
    mesh.meet()
    mesh.until(lambda: bool(mesh["b"].reader.given(root)), HOUR_US)
    mesh.settle(10 * MINUTE_US)
    assert mesh["b"].early.roots() == []
    assert "of a stranger" not in mesh.early("b", root)


def requested(mesh: Newcomer, root: MessageId) -> int:
    """Return how many feeds of epochs b's node requests."""
    node, reader = mesh.world.inhabitants["b"].node, mesh["b"].reader
    keys = {reader.feed_of(mesh.id("a"), key) for key in reader.keys_of(root)}
    return sum(record.feed in keys and record.wanted for record in node.feeds())


def test_history_is_requested_in_portions_on_the_air() -> None:
    mesh, root = newcomer()
    mesh.meet()
    mesh.until(lambda: "the newest" in mesh.early("b", root), 15 * MINUTE_US, SECOND_US)
    assert requested(mesh, root) == 1, "the newest one"
    for portion in range(1, 5):
        mesh.settle(group_limits.HISTORY_WAIT_US)
        assert 1 < requested(mesh, root) <= 1 + portion * group_limits.HISTORY_FEEDS


def test_history_is_requested_at_once_if_the_user_wants_it() -> None:
    mesh, root = newcomer()
    mesh.meet()
    mesh.until(lambda: "the newest" in mesh.early("b", root), 15 * MINUTE_US, SECOND_US)
    mesh.do("b", lambda groups, _pen, now_us: groups.fetch_history(root, now_us))
    mesh.settle(SECOND_US)
    assert requested(mesh, root) == EPOCHS
    error = mesh.refusal("a", lambda groups, _pen, now_us: groups.fetch_history(root, now_us))
    assert "Nothing was requested" in error.message


def test_a_group_by_a_friend_has_room_for_more_feeds_than_all_groups_by_strangers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, most in (("INVITED_FEEDS_OF_ONE", 2), ("INVITED_FEEDS_MAX", 4), ("FRIENDS_FEEDS_OF_ONE", 12)):
        monkeypatch.setattr(group_limits, name, most)
    mesh, root = newcomer(epochs=16)
    mesh.meet()
    mesh.until(lambda: "the newest" in mesh.early("b", root), 15 * MINUTE_US, SECOND_US)
    mesh.do("b", lambda groups, _pen, now_us: groups.fetch_history(root, now_us))
    mesh.settle(SECOND_US)
    assert requested(mesh, root) == 12


def test_nothing_is_written_in_a_group_whose_history_is_missing() -> None:
    mesh, root = newcomer()
    mesh.meet()
    mesh.until(lambda: "the newest" in mesh.early("b", root), 15 * MINUTE_US, SECOND_US)
    own = mesh.world.inhabitants["b"].store.entries(mesh.id("b"), 1, limits.SEQ_MAX)
    mesh.refusal("b", lambda groups, pen, now_us: groups.post(pen, root, *post("me too"), now_us))
    mesh.settle(HOUR_US)
    assert mesh.early("b", root)
    assert mesh.world.inhabitants["b"].store.entries(mesh.id("b"), 1, limits.SEQ_MAX) == own


def test_after_a_restart_the_posts_are_there_again() -> None:
    mesh, root = newcomer()
    mesh.meet()
    mesh.until(lambda: "the newest" in mesh.early("b", root), 15 * MINUTE_US, SECOND_US)
    mesh.crash("b")
    mesh.settle(MINUTE_US)
    assert mesh.early("b", root) == ["the newest"]
