"""A node's groups, played by a member of a world in which everybody is in one process."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from tests.groups.world import Member, World, person
from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.errors import LocalError
from tinyssb_node.groups.consent import GroupConsentError, GroupInvitation
from tinyssb_node.groups.early_posts import EarlyGroup
from tinyssb_node.groups.manager import DueGroupTask, GroupReview, GroupWriteResult
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupMessage, OpenedGroupMessage, post
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step, add, exclude, join, plan
from tinyssb_node.groups.reader_events import FeedAssignment, InvalidGroupEntry
from tinyssb_node.groups.secrecy import Exposure
from tinyssb_node.groups.waits import GroupConsent
from tinyssb_node.groups.writer import GroupWriteCost, GroupWriterPort, draft_content
from tinyssb_node.ids import EpochKey, FeedId, MessageId, Origin


@dataclass
class FakeHeld:
    group: Group
    name: str | None
    broken: dict[MessageId, InvalidGroupEntry] = field(default_factory=dict)


class FakeEarly:
    """Groups whose history is not here."""

    def __init__(self) -> None:
        self.held: dict[MessageId, EarlyGroup] = {}
        self.lately: set[MessageId] = set()
        """Groups that were judged, and in which posts wait."""
        self.asked: list[MessageId] = []

    def roots(self) -> list[MessageId]:
        return [root for root in self.held if root not in self.lately]

    def arriving(self, root: MessageId) -> bool:
        return root in self.roots()

    def shows(self, root: MessageId) -> bool:
        return root in self.held

    def requested(self, root: MessageId) -> bool:
        return root in self.asked

    def group(self, root: MessageId) -> EarlyGroup:
        return self.held[root]


class FakeGroups:
    """Groups of somebody who is a member of a world for each."""

    def __init__(self, **members: Member) -> None:
        self.members: dict[MessageId, Member] = {}
        self.held: dict[MessageId, FakeHeld] = {}
        self.gone: set[MessageId] = set()
        self.rejected: set[MessageId] = set()
        self.quiet: set[MessageId] = set()
        self.read_all = True
        self.early = FakeEarly()
        self.decided: dict[MessageId, GroupConsent] = {}
        self.problems: dict[MessageId, LocalError] = {}
        self.covered: dict[MessageId, GroupMessage] = {}
        self.exposures: dict[MessageId, Exposure] = {}
        for name, member in members.items():
            self.hold(member, name)

    def hold(self, member: Member, name: str | None) -> None:
        self.members[member.here.root] = member
        self.held[member.here.root] = FakeHeld(member.here, name)

    @property
    def reader(self) -> "FakeGroups":
        return self

    @property
    def groups(self) -> Mapping[MessageId, FakeHeld]:
        return self.held

    def feed_of(self, member: FeedId, key: EpochKey | None) -> FeedId | None:
        return person((member, key))

    def role_of(self, _feed: FeedId) -> FeedAssignment | None:
        return None

    def stored_by(self, _said: OpenedGroupMessage, _people: Collection[FeedId]) -> Collection[FeedId]:
        return ()

    @property
    def consents(self) -> "FakeGroups":
        return self

    def of(self, root: MessageId) -> GroupConsent:
        return self.decided.get(root, GroupConsent.ACCEPTED)

    def invitation(self, root: MessageId) -> GroupInvitation:
        creator = self.members[root].here.said(root).author
        return GroupInvitation(creator, (creator,), frozenset({creator}))

    def accept_group(self, root: MessageId, _now_us: int) -> None:
        if self.of(root) is GroupConsent.ACCEPTED:
            raise GroupConsentError(GroupConsent.ACCEPTED, root)
        self.decided[root] = GroupConsent.ACCEPTED

    def decline_group(self, root: MessageId, _now_us: int) -> None:
        if self.of(root) is not GroupConsent.INVITED:
            raise GroupConsentError(self.of(root), root)
        self.decided[root] = GroupConsent.DECLINED

    def fetch_history(self, root: MessageId, _now_us: int) -> None:
        self.early.asked.append(root)

    @property
    def secrecy(self) -> "FakeGroups":
        return self

    def opened(self, _root: MessageId, said: OpenedGroupMessage) -> GroupMessage:
        return self.covered.get(said.id, said.message)

    def exposure(self, root: MessageId) -> Exposure | None:
        return self.exposures.get(root)

    def create(
        self, _pen: GroupWriterPort, name: str | None, _now_us: int, erase_days: int | None = None
    ) -> GroupWriteResult:
        member = World("a")["a"]
        member.create()
        self.hold(member, name)
        if erase_days is not None:
            self.exposures[member.here.root] = Exposure(erase_days, 0, lacking=False)
        return _written(member, 2)

    def add(
        self,
        _pen: GroupWriterPort,
        root: MessageId,
        people: Iterable[FeedId],
        _text: str | None,
        _now_us: int,
    ) -> GroupWriteResult:
        member = self.members[root]
        return _do(member, add(member.here, member.id, people))

    def exclude(
        self, _pen: GroupWriterPort, root: MessageId, people: Iterable[FeedId], _now_us: int
    ) -> GroupWriteResult:
        member = self.members[root]
        return _do(member, exclude(member.here, member.id, people))

    def reviews(self, root: MessageId) -> list[GroupReview]:
        forks = self.members[root].here.late_forks
        return [GroupReview(fork, rejected=fork.tip in self.rejected) for fork in forks]

    def accept(
        self, _pen: GroupWriterPort, root: MessageId, fork: MessageId, _now_us: int
    ) -> GroupWriteResult:
        member = self.members[root]
        return _do(member, join(member.here, member.id, fork))

    def cost_of_accepting(self, root: MessageId, fork: MessageId) -> GroupWriteCost:
        member = self.members[root]
        return _cost(join(member.here, member.id, fork))

    def reject(self, _root: MessageId, fork: MessageId, _now_us: int) -> None:
        self.rejected.add(fork)

    def cost_of_creating(
        self, name: str | None, people: Collection[FeedId], erase_days: int | None
    ) -> GroupWriteCost:
        assert (name, erase_days) == ("Club", 7)
        return GroupWriteCost(3 + len(people), 18, 1_000, ("begin",))

    def cost_of_adding(self, root: MessageId, people: Iterable[FeedId], _text: str | None) -> GroupWriteCost:
        member = self.members[root]
        return _cost(add(member.here, member.id, people))

    def cost_of_excluding(self, root: MessageId, people: Iterable[FeedId]) -> GroupWriteCost:
        member = self.members[root]
        return _cost(exclude(member.here, member.id, people))

    def cost_of_posting(self, root: MessageId, kind: str, body: bytes) -> GroupWriteCost:
        assert kind in {"post", "file", "group/name"}
        assert root in self.members
        return GroupWriteCost(1, 1 + len(body) // 100, len(body), (kind,))

    def leave(self, _pen: GroupWriterPort, root: MessageId, _now_us: int) -> GroupWriteResult:
        self.gone.add(root)
        return GroupWriteResult(root, ())

    def come_back(self, root: MessageId, _now_us: int) -> None:
        self.gone.discard(root)

    def post(
        self, _pen: GroupWriterPort, root: MessageId, kind: str, body: bytes, _now_us: int
    ) -> GroupWriteResult:
        _publish(self.members[root], kind, body)
        return _written(self.members[root], 1)

    def due(self, root: MessageId, now_us: int) -> list[DueGroupTask]:
        member = self.members[root]
        found = plan(member.here, member.id, since_us={}, now_us=now_us, seed=b"").tasks
        return [DueGroupTask(task, now_us + 754_000_000) for task in found]

    def spent(self, root: MessageId, _now_us: int) -> int:
        return 7 if root in self.members else 0

    def mute(self, root: MessageId, _now_us: int, *, muted: bool) -> None:
        if muted:
            self.quiet.add(root)
        else:
            self.quiet.discard(root)

    def muted(self, root: MessageId) -> bool:
        return root in self.quiet

    def left(self, root: MessageId) -> bool:
        return root in self.gone


def say(member: Member, text: str) -> None:
    """Let somebody say *text* in the epoch that he prefers."""
    _publish(member, *post(text))


def _publish(member: Member, kind: str, body: bytes) -> None:
    preferred = member.prefers
    assert preferred is not None
    member.publish(draft_content(member.here, kind, body), member.here.view[preferred].key)


def _do(member: Member, steps: Iterable[Step]) -> GroupWriteResult:
    before = len(member.held)
    member.do(tuple(steps))
    return _written(member, len(member.held) - before)


def _written(member: Member, count: int) -> GroupWriteResult:
    last = list(member.held.values())[-count:]
    return GroupWriteResult(member.here.root, tuple(_appended(one.author, one.id) for one in last))


def _appended(feed: FeedId, id_: MessageId) -> EntryAppended:
    return EntryAppended(
        feed=feed, seq=1, id=id_, type=1, size=200, chunks=2, origin=Origin.OWN, face=None, arrival=1
    )


def _cost(steps: tuple[Step, ...]) -> GroupWriteCost:
    words = {ExcludeStep: "exclude", BeginEpochStep: "begin", AddStep: "add"}
    return GroupWriteCost(
        len(steps), 4 * len(steps), 300 * len(steps), tuple(words[type(step)] for step in steps)
    )
