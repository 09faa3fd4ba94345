"""Members of a group in one process: each has the messages that reached them, and reads those that they have the keys
for."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from tinyssb_node import limits
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludeMember,
    FeedRole,
    GroupContent,
    GroupInit,
    GroupMessage,
    OpenedGroupMessage,
)
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step, join, plan
from tinyssb_node.groups.writer import (
    draft_add,
    draft_content,
    draft_exclude,
    draft_first,
    draft_init,
)
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId


def person(name: object) -> FeedId:
    """Return the person of that name."""
    return FeedId(hashlib.sha256(f"person/{name}".encode()).digest())


def message_id(name: object) -> MessageId:
    """An id, the same for the same name."""
    return MessageId(hashlib.sha256(f"message/{name}".encode()).digest()[: MessageId.SIZE])


GROUND: Final = 8
"""Leading zero bytes of a key whose author tried keys until one was small (key grinding)."""


def key_of(name: object, *, ground: bool = False) -> EpochKey:
    """An epoch's key, the same for the same name; a *ground* one wins each tie-break against others."""
    drawn = hashlib.sha256(f"key/{name}".encode()).digest()
    return EpochKey(bytes(GROUND) + drawn[GROUND:] if ground else drawn)


GROUP = GroupId(hashlib.sha256(b"group").digest())


def said(
    id_: MessageId, author: FeedId, message: GroupMessage, key: EpochKey | None = None, seq: int = 0
) -> OpenedGroupMessage:
    """A message on the feed that it belongs on; *key* is needed for what is neither init nor addition."""
    if isinstance(message, AddMember):
        return OpenedGroupMessage(id_, author, FeedRole.ADDITIONS, None, message, seq)
    return OpenedGroupMessage(
        id_, author, FeedRole.EPOCH, message.secret if isinstance(message, GroupInit) else key, message, seq
    )


def followed(messages: Mapping[MessageId, GroupMessage], id_: MessageId) -> set[MessageId]:
    """All of *messages* that one of them follows, by going back step by step."""
    found: set[MessageId] = set()
    ahead = [id_]
    while ahead:
        message = messages[ahead.pop()]
        names = set(message.group_tangle.previous)
        if isinstance(message, GroupInit):
            names.update(message.epoch_tangle.previous)
        elif isinstance(message, AddMember | ExcludeMember):
            names.update(message.members_tangle.previous)
        ahead += names & messages.keys() - found
        found |= names & messages.keys()
    return found


class Member:
    """A person with a node."""

    def __init__(self, world: "World", name: str) -> None:
        self.world = world
        self.name = name
        self.id = person(name)
        self.held: dict[MessageId, OpenedGroupMessage] = {}
        """All messages that reached them, sealed or not."""
        self.came_us: dict[MessageId, int] = {}
        """When these reached them."""
        self._seqs: Counter[EpochKey | None] = Counter()
        """By the key of a feed of theirs: how many messages are in it."""
        self.keys: set[EpochKey] = set()
        self.group: Group | None = None
        self.since: dict[str, int] = {}
        self.stopped = False
        """True once they began an epoch that does not count. A node waits an hour then; these wait for ever."""
        self._unread: dict[MessageId, OpenedGroupMessage] = {}

    @property
    def here(self) -> Group:
        """The group as they have it, once they can read it."""
        assert self.group is not None
        return self.group

    @property
    def prefers(self) -> MessageId | None:
        """The epoch that they prefer."""
        return None if self.group is None else self.group.view.preference(self.id).epoch

    def receive(self, messages: Iterable[OpenedGroupMessage]) -> None:
        """Take what others hold, and read what can be read by now."""
        for each in messages:
            if each.id not in self.held:
                self.held[each.id] = each
                self._unread[each.id] = replace(each, arrival=len(self.held))
                self.came_us[each.id] = self.world.now_us
        again = True
        while again:
            again = False
            for each in list(self._unread.values()):
                if self._opens(each):
                    del self._unread[each.id]
                    again = True

    def _opens(self, each: OpenedGroupMessage) -> bool:
        message = each.message
        if isinstance(message, AddMember):
            if message.secret not in self.keys and self.id not in message.people:
                return False
            self.keys.update((message.secret, *message.old_secrets))
            if self.group is None:
                self.group = self._new_group(message.root)
        elif each.key not in self.keys or self.group is None:
            return False
        self.here.add(each)
        return True

    def _new_group(self, root: MessageId) -> Group:
        return Group(GROUP, root, self.id, lambda said: self.came_us.get(said.id))

    def publish(self, message: GroupMessage, key: EpochKey | None = None) -> OpenedGroupMessage:
        """Write a message."""
        each = self._on_feed(said(self.world.next_id(self.name), self.id, message, key))
        self.world.all[each.id] = each
        self.held[each.id] = each
        self.came_us[each.id] = self.world.now_us
        if isinstance(message, GroupInit | AddMember):
            self.keys.add(message.secret)
        self.here.add(each)
        return each

    def _on_feed(self, each: OpenedGroupMessage) -> OpenedGroupMessage:
        """Number a message of theirs in its feed, and by arrival."""
        self._seqs[each.key] += 1
        return replace(each, seq=self._seqs[each.key], arrival=len(self.held) + 1)

    def create(self) -> None:
        """Begin the group, with oneself in it."""
        first = draft_first(self.world.next_key(self.name))
        root = self.world.next_id(self.name)
        self.group = self._new_group(root)
        each = self._on_feed(said(root, self.id, first))
        self.world.all[root] = self.held[root] = each
        self.came_us[root] = self.world.now_us
        self.keys.add(first.secret)
        self.group.add(each)
        self.do([AddStep(root, (self.id,))])

    def do(self, steps: Sequence[Step]) -> None:
        """Write what steps ask for."""
        begun: MessageId | None = None
        for step in steps:
            match step:
                case ExcludeStep(epoch, people):
                    self.publish(draft_exclude(self.here, epoch, people), self.here.view[epoch].key)
                case BeginEpochStep(previous):
                    init = draft_init(self.here, self.id, self.world.next_key(self.name), previous)
                    begun = self.publish(init).id
                    if begun not in self.here.view.epochs:
                        self.stopped = True
                        return
                case AddStep(epoch, people, old_keys):
                    at = epoch or begun
                    assert at is not None
                    self.publish(draft_add(self.here, at, people, old_keys=old_keys))

    def accept(self, tip: MessageId) -> None:
        """Join a fork that is held. Raises GroupRefusalError."""
        steps = join(self.here, self.id, tip)
        with self.here.released(tip):
            self.do(steps)

    def say(self, text: str) -> None:
        """Write to the preferred epoch."""
        preferred = self.prefers
        assert preferred is not None
        message = draft_content(self.here, "post", text.encode())
        assert isinstance(message, GroupContent)
        self.publish(message, self.here.view[preferred].key)

    def act(self, now_us: int, most: int = 1_000) -> int | None:
        """Do what the plan asks for now, at most so many steps. Returns when to look again."""
        self.world.now_us = max(self.world.now_us, now_us)
        while self.group is not None and not self.stopped:
            found = plan(self.here, self.id, since_us=self.since, now_us=now_us, seed=self.name.encode())
            self.since = dict(found.since_us)
            if not found.steps or most <= 0:
                return found.wake_us
            before = len(self.world.all)
            self.do(found.steps[:most])
            self.world.unasked.update(dict.fromkeys(list(self.world.all)[before:], frozenset(self.held)))
            most -= len(found.steps)
        return None


class World:
    """Members, and all that they wrote."""

    def __init__(self, names: str = "") -> None:
        self.all: dict[MessageId, OpenedGroupMessage] = {}
        self.members: dict[str, Member] = {}
        self.now_us = 0
        self.unasked: dict[MessageId, frozenset[MessageId]] = {}
        """Messages written because a plan asked for them, and all that their authors had when they wrote."""
        self.grinding: set[str] = set()
        """People who grind the keys of their epochs."""
        self._count = 0
        for name in names:
            self.member(name)

    def __getitem__(self, name: str) -> Member:
        return self.members[name]

    def member(self, name: str) -> Member:
        """Return a person, new or known."""
        return self.members.setdefault(name, Member(self, name))

    def next_id(self, name: str) -> MessageId:
        """The id of a new message."""
        self._count += 1
        return message_id(f"{name}/{self._count}")

    def next_key(self, name: str) -> EpochKey:
        """A new key, drawn by a person."""
        self._count += 1
        return key_of(self._count, ground=name in self.grinding)

    def meet(self, *names: str) -> None:
        """Let these exchange all they hold."""
        union = {id_: each for name in names for id_, each in self[name].held.items()}
        for name in names:
            self[name].receive(union.values())

    def meet_briefly(self, chance: Random, *names: str) -> None:
        """Let these exchange some of what they hold: of each feed nothing, the beginning of what is new, or all."""
        union = {id_ for name in names for id_ in self[name].held}
        offered = [each for id_, each in self.all.items() if id_ in union]
        for name in names:
            new: dict[tuple[FeedId, EpochKey | None], list[OpenedGroupMessage]] = {}
            for each in offered:
                if each.id not in self[name].held:
                    new.setdefault((each.author, each.key), []).append(each)
            came = [each for feed in new.values() for each in feed[: chance.choice([0, 1, 2, len(feed)])]]
            chance.shuffle(came)
            self[name].receive(came)

    def settle(self, start_us: int = 0, gone: Iterable[str] = ()) -> int:
        """All but who is *gone* meet and act until nobody has anything to do. Returns when that was."""
        now = start_us
        here = {name: member for name, member in self.members.items() if name not in set(gone)}
        for _ in range(500):
            self.meet(*here)
            wakes = [member.act(now) for member in here.values()]
            written = len(self.all)
            self.meet(*here)
            waiting = [wake for wake in wakes if wake is not None]
            idle = not waiting and len(self.all) == written
            if idle and all(member.act(now) is None for member in here.values()):
                return now
            if waiting:
                now = max(now, min(waiting))
        raise AssertionError("it never ends")

    def omniscient(self, gone: Iterable[str] = ()) -> Group:
        """Return the result of all messages for a reader with all keys; without those that only people in *gone*
        have."""
        root = next(iter(self.all))
        lost = set(gone)
        held = {id_ for name, member in self.members.items() if name not in lost for id_ in member.held}
        group = Group(GROUP, root)
        for each in self.all.values():
            if each.id in held:
                group.add(each)
        return group


def start(names: str, beside: str = "") -> World:
    """A group of *names*, made by the first of them, that all know of; *beside* are not in it."""
    world = World(names + beside)
    first = world[names[0]]
    first.create()
    others = tuple(world[name].id for name in names[1:])
    size = limits.GROUP_ADD_MAX
    first.do([AddStep(first.prefers, others[at : at + size]) for at in range(0, len(others), size)])
    world.meet(*names)
    return world
