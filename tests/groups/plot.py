"""A group with a member who writes messages that no program of ours would."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.groups.mesh import Mesh
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import SlotKey, box
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupMessage
from tinyssb_node.groups.short_form import encode
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import EpochKey, FeedId, MessageId


@dataclass
class Plot:
    """A group of a, b and c; c is up to something, and x is in no group."""

    mesh: Mesh
    root: MessageId

    def key(self, epoch: MessageId | None = None) -> EpochKey:
        """That of an epoch; of epoch zero if none is given."""
        return self.mesh.group("a", self.root).view[epoch or self.root].key

    def view(self, name: str) -> tuple[list[str], MessageId | None, list[str]]:
        """Return the epochs as a person's node has them."""
        mesh, root = self.mesh, self.root
        view = mesh.group(name, root).view
        return (
            mesh.epochs(name, root),
            mesh.prefers(name, root),
            [mesh.names(view[init].excluded) for init in view.of(mesh.id(name))],
        )

    def write(self, by: str, message: GroupMessage, key: EpochKey) -> MessageId:
        """Let a person write a message on the feed of its kind."""
        return self.mesh.do(by, lambda groups, pen, _: groups.writer.write(pen, message, key)[-1].id)

    def put(self, by: str, key: SigningKey, content: Callable[[MessageId], bytes]) -> MessageId:
        """Let a person write any content, made for the position after an entry, on a feed of theirs."""

        def write(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> MessageId:
            previous = self.mesh.previous(by, key.feed_id)
            return pen.write(key, content(previous)).id

        return self.mesh.do(by, write)

    def feed(self, by: str, epoch: MessageId | None = None) -> SigningKey:
        """Return a person's feed in an epoch."""
        return self.mesh.keys(by).epoch(self.key(epoch))

    def group(self, name: str) -> Group:
        """Return the group as a person's node has it."""
        return self.mesh.group(name, self.root)

    def rule(self, name: str, id_: MessageId) -> str | None:
        """Return the rule that a message broke, as a person's node has it."""
        (line,) = [line for line in self.group(name).audit() if line.said.id == id_]
        return None if line.flaw is None else line.flaw.rule

    def waits(self, name: str, id_: MessageId) -> bool:
        """Return whether a message has no position on a person's node."""
        (line,) = [line for line in self.group(name).audit() if line.said.id == id_]
        return line.waits


def nothing_changes(plot: Plot, do: Callable[[], object], names: str = "ab") -> None:
    """Nothing of the group is different behind it, and it goes on working: whoever did it can be excluded."""
    before = [plot.view(name) for name in names]
    do()
    mesh, root = plot.mesh, plot.root
    mesh.settle()
    assert [plot.view(name) for name in names] == before
    assert [task for name in names for task in mesh[name].due(root, mesh.world.now_us)] == []
    mesh.say("b", root, "still here")
    mesh.settle()
    assert mesh.texts("a", root)[-1] == "still here"
    if "c" in mesh.members("a", root):
        mesh.exclude("a", root, "c")
        mesh.settle()
        assert mesh.members("a", root) == mesh.members("b", root) == "ab"
        mesh.say("b", root, "without c")
        mesh.settle()
        assert mesh.texts("a", root)[-1] == "without c"
        assert "without c" not in mesh.texts("c", root)


def leak(plot: Plot, epoch: MessageId, to: str) -> None:
    """Let a person who has an epoch's key give it to another, who is not in the epoch."""
    key = plot.key(epoch)

    def learn(groups: GroupManager, _: GroupWriterPort, now_us: int) -> None:
        groups.reader.learn(key, plot.root)
        groups.appended(now_us)

    plot.mesh.do(to, learn)
    plot.mesh.settle()


def without_c(plot: Plot) -> MessageId:
    """Exclude c. Returns the new epoch, of which c has the key: a member leaked it."""
    plot.mesh.exclude("a", plot.root, "c")
    plot.mesh.settle()
    init = plot.mesh.prefers("a", plot.root)
    assert init is not None
    leak(plot, init, "c")
    return init


def seal(
    message: GroupMessage,
    feed: FeedId,
    previous: MessageId,
    slots: list[SlotKey],
    known: list[FeedId] | None = None,
) -> bytes:
    """*message* for whom one likes."""
    return box(encode(message, known=known or ()), context_of(feed, previous), slots, b"\x42" * 32)
