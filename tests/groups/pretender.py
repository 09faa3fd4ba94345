"""An excluded person who goes on in the old epoch as if they had not heard of it, and excludes others there."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field

from tests.groups.mesh import Mesh
from tests.groups.world import GROUND, Member
from tinyssb_node import limits
from tinyssb_node.groups.epochs import People
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupInit, GroupMessage, OpenedGroupMessage
from tinyssb_node.groups.writer import GroupWriterPort, draft_add, draft_exclude, draft_init
from tinyssb_node.ids import EpochKey, FeedId, MessageId

Publish = Callable[[GroupMessage, EpochKey], OpenedGroupMessage]


def unaware(group: Group, person: FeedId) -> Group:
    """Return the group as it was before *person* heard of any exclusion of theirs: all that they can say they know."""
    view = group.view
    naming = {one.id for one in view.exclusions.values() if person in one.people}
    known = Group(group.group, group.root)
    for line in group.audit():
        if line.said.id not in naming and not line.waits and not _behind(group, line.said, naming, known):
            known.add(line.said)
    return known


def _behind(group: Group, said: OpenedGroupMessage, naming: Collection[MessageId], known: Group) -> bool:
    """Return whether a message follows one that is left out; those before it were looked at already."""
    message = said.message
    before = set(message.group_tangle.previous)
    if isinstance(message, GroupInit):
        before |= set(message.epoch_tangle.previous)
    return any(one in naming or (one in group and one not in known) for one in before)


@dataclass
class Pretender:
    """The person. They write what any program would have written before it heard of the exclusion."""

    me: FeedId
    known: Group
    publish: Publish
    draw: Callable[[], EpochKey]
    epoch: MessageId = field(init=False)
    """The epoch that they go on in."""

    def __post_init__(self) -> None:
        preferred = self.known.view.preference(self.me).epoch
        assert preferred is not None
        self.epoch = preferred

    @property
    def members(self) -> People:
        """The people in their epoch."""
        return self.known.view[self.epoch].members

    def exclude(self, people: Iterable[FeedId], *, inside: bool = True) -> MessageId:
        """Exclude *people*, and begin an epoch without them, with themselves in it if they are *inside*."""
        view = self.known.view
        out = set(people)
        remaining = sorted(view[self.epoch].members - out - (set() if inside else {self.me}))
        self._write(draft_exclude(self.known, self.epoch, sorted(out)), view[self.epoch].key)
        init = draft_init(self.known, self.me, self.draw(), [self.epoch])
        self.epoch = self._write(init, init.secret)
        size = limits.GROUP_ADD_MAX
        for at in range(0, len(remaining), size):
            self._write(draft_add(self.known, self.epoch, remaining[at : at + size]), init.secret)
        return self.epoch

    def _write(self, message: GroupMessage, key: EpochKey) -> MessageId:
        said = self.publish(message, key)
        self.known.add(said)
        return said.id


def in_model(member: Member) -> Pretender:
    """Return a member of the model who pretends."""

    def draw() -> EpochKey:
        return member.world.next_key(member.name)

    return Pretender(member.id, unaware(member.here, member.id), member.publish, draw)


def on_node(mesh: Mesh, name: str, root: MessageId) -> Pretender:
    """Return a person with a node who pretends, and grinds the keys of their epochs."""
    count = 0

    def draw() -> EpochKey:
        nonlocal count
        count += 1
        drawn = mesh.world.chance(f"pretended by {name} {count}").randbytes(EpochKey.SIZE)
        return EpochKey(bytes(GROUND) + drawn[GROUND:])

    def publish(message: GroupMessage, key: EpochKey) -> OpenedGroupMessage:
        def write(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> MessageId:
            if isinstance(message, GroupInit):
                groups.reader.learn(key, root)
            written = groups.writer.write(pen, message, key)[-1].id
            groups.appended(now_us)
            return written

        return mesh.group(name, root).said(mesh.do(name, write))

    return Pretender(mesh.id(name), unaware(mesh.group(name, root), mesh.id(name)), publish, draw)
