"""Groups on real nodes: the simulator's, on cables, with everything from the seal to the store."""

from collections.abc import Callable, Iterable
from itertools import combinations
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import first_prev
from tinyssb_node.codec.events import Effect, EntryAppended
from tinyssb_node.errors import LocalError
from tinyssb_node.groups.entry_source import StoreEntrySource
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.groups.manager import GroupManager, GroupWriteResult
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupContent, GroupMessage, OpenedGroupMessage, post, text_of
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.replication.replica import CHILD_DIALECT
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.world import World

Result = TypeVar("Result")
Kind = TypeVar("Kind", bound=GroupMessage)
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US


class _RunDryError(LocalError):
    """Nothing more is written."""


class _Dry:
    """A pen that writes some entries only."""

    def __init__(self, pen: GroupWriterPort, entries: int) -> None:
        self._pen = pen
        self._left = entries

    @property
    def main(self) -> SigningKey:
        """See ``GroupWriterPort``."""
        return self._pen.main

    def write(self, key: SigningKey, content: bytes, type_: int | None = None) -> EntryAppended:
        """See ``GroupWriterPort``."""
        if not self._left:
            raise _RunDryError
        self._left -= 1
        return self._pen.write(key, content, type_)

    @property
    def on_air_only(self) -> bool:
        """See ``GroupWriterPort``."""
        return self._pen.on_air_only

    @property
    def has_spare_air(self) -> bool:
        """See ``GroupWriterPort``."""
        return self._pen.has_spare_air

    def want(self, feed: FeedId, *, wanted: bool, invited: bool = False, certain: bool = False) -> bool:
        """See ``GroupWriterPort``."""
        return self._pen.want(feed, wanted=wanted, invited=invited, certain=certain)


class Mesh:
    """Nodes that all have cables to each other, unless a test cuts them."""

    def __init__(
        self, names: str, seed: int = 1, *, star: bool = False, acknowledge_permille: int = 0
    ) -> None:
        """A node for each letter of *names*; in a *star* all cables lead to the first. They acknowledge if
        *acknowledge_permille* is not 0."""
        self.world = World(seed, acknowledge_permille=acknowledge_permille)
        for name in names:
            self.world.add(name)
        self.cables: set[tuple[str, str]] = set()
        self._keys: dict[str, GroupKeys] = {}
        if star:
            self._lay({(names[0], name) for name in names[1:]})
        else:
            self.join(names)
        self.world.acquaint()
        self.settle()

    def __getitem__(self, name: str) -> GroupManager:
        """Return a person's groups."""
        node = self.world.inhabitants[name].node
        assert isinstance(node, Node)
        groups = node.groups
        assert groups is not None
        return groups

    def id(self, name: str) -> FeedId:
        """Return a person's main feed."""
        return self.world.inhabitants[name].feed

    def keys(self, name: str) -> GroupKeys:
        """Return a person's keys."""
        if name not in self._keys:
            seed = self.world.chance(f"key {name}").randbytes(limits.SEED_SIZE)
            self._keys[name] = GroupKeys(seed, self.world.chance(f"keys of {name}").randbytes)
        return self._keys[name]

    def source(self, name: str) -> StoreEntrySource:
        """Return the entries in a person's store."""
        return StoreEntrySource(self.world.inhabitants[name].store)

    def previous(self, name: str, feed: FeedId) -> MessageId:
        """Return the id of the last entry of a feed in a person's store, or the value before the first."""
        entries = self.world.inhabitants[name].store.entries(feed, 1, limits.SEQ_MAX)
        return entries[-1].id if entries else first_prev(feed, CHILD_DIALECT)

    # --- cables

    def join(self, *parts: Iterable[str]) -> None:
        """Lay cables among those of each part, and none between parts."""
        self._lay({pair for part in parts for pair in combinations(sorted(part), 2)})

    def _lay(self, wanted: set[tuple[str, str]]) -> None:
        for pair in sorted(self.cables - wanted):
            self.world.disconnect(*pair)
        for pair in sorted(wanted - self.cables):
            self.world.connect(*pair)
        self.cables = wanted

    def settle(self, span_us: int = 30 * SECOND_US) -> None:
        """Let time pass."""
        self.world.run_for(span_us)

    def until(self, reached: Callable[[], bool], limit_us: int, step_us: int = 10 * SECOND_US) -> int:
        """Let time pass until something is so. Returns how long it took, up to *step_us* too much."""
        begun_us = self.world.now_us
        while not reached():
            assert self.world.now_us < begun_us + limit_us, "it never came to that"
            self.settle(step_us)
        return self.world.now_us - begun_us

    # --- failures

    def crash(self, name: str, down_us: int = SECOND_US) -> None:
        """Let a person's node lose power for a while. Its state of groups is read again from its store."""
        self.world.crash(name, down_us)

    def cut_short(
        self, name: str, deed: Callable[[GroupManager, GroupWriterPort, int], object], entries: int
    ) -> bool:
        """Let a person do something, and stop after so many *entries*, which are kept. If there was more to write, the
        rest of the program continues, but groups do nothing until an entry comes. Returns whether that was all."""

        def most(groups: GroupManager, pen: GroupWriterPort, now_us: int) -> bool:
            try:
                deed(groups, _Dry(pen, entries), now_us)
            except _RunDryError:
                groups.next_us = None
                return False
            return True

        return self.do(name, most)

    # --- operations

    def do(self, name: str, deed: Callable[[GroupManager, GroupWriterPort, int], Result]) -> Result:
        """Let a person do something now. Raises the same errors."""
        found: list[Result] = []

        def act(node: Node | DeployedBoard, now_us: int) -> list[Effect]:
            assert isinstance(node, Node)
            result, effects = node.in_groups(lambda groups, pen: deed(groups, pen, now_us), now_us)
            found.append(result)
            return effects

        self.world.act(name, act)
        return found[0]

    def refusal(self, name: str, deed: Callable[[GroupManager, GroupWriterPort, int], object]) -> LocalError:
        """Return the error of an operation that is refused."""
        try:
            self.do(name, deed)
        except LocalError as error:
            return error
        raise AssertionError("it was not refused")

    def create(self, name: str, title: str | None = None, erase_days: int | None = None) -> MessageId:
        """Begin a group. Returns its first message."""
        return self.do(name, lambda groups, pen, now: groups.create(pen, title, now, erase_days)).root

    def add(self, by: str, root: MessageId, people: str, text: str | None = None) -> GroupWriteResult:
        """Add people."""
        ids = [self.id(person) for person in people]
        return self.do(by, lambda groups, pen, now: groups.add(pen, root, ids, text, now))

    def exclude(self, by: str, root: MessageId, people: str) -> GroupWriteResult:
        """Exclude people."""
        ids = [self.id(person) for person in people]
        return self.do(by, lambda groups, pen, now: groups.exclude(pen, root, ids, now))

    def say(self, by: str, root: MessageId, text: str) -> GroupWriteResult:
        """Post a text."""
        return self.do(by, lambda groups, pen, now: groups.post(pen, root, *post(text), now))

    # --- views

    def group(self, name: str, root: MessageId) -> Group:
        """Return a group as a person's node has it."""
        return self[name].reader.groups[root].group

    def members(self, name: str, root: MessageId) -> str:
        """Return the members of the epoch that a person prefers, as their node has it."""
        view = self.group(name, root).view
        epoch = view.preference(self.id(name)).epoch
        assert epoch is not None
        return self.names(view[epoch].members)

    def epochs(self, name: str, root: MessageId) -> list[str]:
        """Return the members of each epoch that a person is in, as their node has it; predecessors come first."""
        view = self.group(name, root).view
        return [self.names(view[init].members) for init in view.of(self.id(name))]

    def names(self, people: Iterable[FeedId]) -> str:
        """The names of *people*, in order."""
        inside = set(people)
        return "".join(name for name in sorted(self.world.inhabitants) if self.id(name) in inside)

    def said(self, name: str, root: MessageId, kind: type[Kind]) -> list[tuple[OpenedGroupMessage, Kind]]:
        """Return messages of one kind, in the order of the group on a person's node; after them those without a
        position."""
        lines = self.group(name, root).audit()
        return [(line.said, line.said.message) for line in lines if isinstance(line.said.message, kind)]

    def prefers(self, name: str, root: MessageId) -> MessageId | None:
        """Return the epoch that a person prefers."""
        return self.group(name, root).view.preference(self.id(name)).epoch

    def texts(self, name: str, root: MessageId) -> list[str]:
        """Return the texts that a person can read, in the order of the group."""
        group = self.group(name, root)
        found = []
        for id_ in group.tangle.order():
            message = self[name].secrecy.opened(root, group.said(id_))
            if isinstance(message, GroupContent) and (text := text_of(message)) is not None:
                found.append(text)
        return found

    def early(self, name: str, root: MessageId) -> list[str]:
        """Return the texts that a newcomer reads before the history is here."""
        groups = self[name]
        if not groups.early.shows(root):
            return []
        said = [post.message for post in groups.early.group(root).posts]
        texts = [text_of(message) for message in said if isinstance(message, GroupContent)]
        return [text for text in texts if text is not None]


def begun(
    names: str, others: str = "", seed: int = 1, *, star: bool = False, erase_days: int | None = None
) -> tuple[Mesh, MessageId]:
    """A group of *names*, which the first of them made, beside *others*."""
    mesh = Mesh(names + others, seed, star=star)
    root = mesh.create(names[0], erase_days=erase_days)
    if len(names) > 1:
        mesh.add(names[0], root, names[1:])
    mesh.settle()
    return mesh, root
