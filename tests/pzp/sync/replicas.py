"""Replicas in memory, feeds that several devices write, and a wire that loses."""

import copy
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from tests.pzp.messages.checked import check, enter
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.goals import ALL, NONE, Goal, GoalKind, needs
from tinyssb_node.pzp.messages.message import Message, metadata_of
from tinyssb_node.pzp.messages.tangle import PzpTangle, RootFacts
from tinyssb_node.pzp.messages.versions import (
    V2,
    VERSIONS,
    version_of,
    write,
    write_added_key,
    write_feed_root,
    write_identity,
)
from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.port import MessageOutcome
from tinyssb_node.pzp.sync.sync import Event, PzpSync

KEYS = [SigningKey(name.ljust(32, b"\0")) for name in (b"alice", b"bob", b"carol")]


class Replica:
    """PZP messages in memory, each checked strictly; a stand-in for the database."""

    def __init__(self, goals: Mapping[str, Goal] | None = None, default: Goal = ALL) -> None:
        self.goals = dict(goals or {})
        self.default = default
        self.messages: dict[str, Message] = {}
        self.tangles: dict[str, PzpTangle] = {}
        self.erased: set[str] = set()
        self.deleted: dict[str, dict[str, int]] = {}
        self.refusals: list[MessageError] = []
        self.batches = 0

    def goal(self, root: str) -> Goal:
        return self.goals.get(root, self.default)

    def tangle(self, root: str) -> PzpTangle:
        return self.tangles.get(root) or PzpTangle(root)

    def bare(self, root: str) -> Mapping[str, bool]:
        return {
            one: one not in self.erased
            for one in self.tangle(root).slice(0, limits.DEPTH_MAX)
            if self.messages[one]["data"] is None and metadata_of(self.messages[one])["dataHash"] is not None
        }

    def whole(self, root: str) -> set[str]:
        return set(self.tangle(root).slice(0, limits.DEPTH_MAX)) - self.bare(root).keys()

    def ghosts(self, root: str) -> Mapping[str, int]:
        return self.deleted.get(root, {})

    def get(self, message_: str) -> Message | None:
        return self.messages.get(message_)

    @contextmanager
    def batch(self) -> Iterator[None]:
        self.batches += 1
        yield

    def add(self, root: str, message_: Message) -> MessageOutcome:
        try:
            return self._add(root, message_)
        except MessageError as error:
            self.refusals.append(error)
            return MessageOutcome.REFUSED

    def _add(self, root: str, added: Message) -> MessageOutcome:
        fields = version_of(dict(added)).fields
        id_ = message.message_id(V2.fields, added)
        held = self.messages.get(id_)
        if held is not None and id_ in self.tangle(root):
            if added["data"] is None or held["data"] is not None or id_ in self.erased:
                return MessageOutcome.KNOWN
            assert message.hash_and_size(V2.fields, added["data"])[0] == metadata_of(held)["dataHash"]
            self.messages[id_] = added
            return MessageOutcome.NEW
        if id_ in self.ghosts(root):
            if added["data"] is not None:
                return MessageOutcome.KNOWN
            self.erased.add(id_)
        tangle = self.tangle(root)
        group = metadata_of(added)["group"]
        check(VERSIONS[2], dict(added), tangle, self.tangle(group).keys if isinstance(group, str) else ())
        enter(fields, added, tangle, id_)
        self.tangles[root] = tangle
        self.messages.setdefault(id_, added)
        self.deleted.get(root, {}).pop(id_, None)
        return MessageOutcome.NEW

    def erase(self, id_: str) -> None:
        self.messages[id_] = message.erase(V2.fields, self.messages[id_])
        self.erased.add(id_)

    def prune(self, root: str) -> None:
        """Keep what the goal asks for; what goes does not come back."""
        tangle = self.tangle(root)
        needed = needs(tangle, self.goal(root), dict)
        kept = needed.whole | needed.trail | {root}
        for one in tangle.slice(0, limits.DEPTH_MAX):
            if one in needed.trail and one != root:
                self.erase(one)
            elif one not in kept:
                self.deleted.setdefault(root, {})[one] = tangle.depth(one) or 0
                del self.messages[one]
                tangle.remove(one)


@dataclass(frozen=True)
class World:
    """Messages of some devices: an identity, its feed, and a thread that hangs on a message of it."""

    group: str
    feed: str
    thread: str
    identity: Sequence[Message]
    posts: Sequence[Message]
    replies: Sequence[Message]

    def ids(self) -> list[str]:
        return [message.message_id(V2.fields, one) for one in self.posts]

    def fill(
        self, replica: Replica, posts: Sequence[Message] | None = None, *, replies: bool = False
    ) -> Replica:
        """Add to *replica* the identity, and of the feed what can be added of *posts*."""
        for one in self.identity:
            assert replica.add(self.group, one) is MessageOutcome.NEW
        for one in self.posts if posts is None else posts:
            replica.add(self.feed, one)
        if replies:
            for one in [self.posts[1], *self.replies]:
                replica.add(self.thread, one)
        replica.refusals.clear()
        return replica


@lru_cache(maxsize=8)
def world(seed: int, posts: int = 30, forks: float = 0.3) -> World:
    """Three devices of one identity write a feed of *posts* messages, now and then without having heard the others."""
    chance = random.Random(seed)
    founds = write_identity(V2, KEYS[0], f"world {seed}")
    group = message.message_id(V2.fields, founds)
    identity, tangle = [founds], PzpTangle(group)
    enter(V2.fields, founds, tangle)
    for key in KEYS[1:]:
        identity.append(write_added_key(V2, KEYS[0], tangle, base58.encode(key.feed_id)))
        enter(V2.fields, identity[-1], tangle)
    root = write_feed_root(V2, KEYS[0], group, "post")
    feed = message.message_id(V2.fields, root)
    known = [PzpTangle(feed) for _ in KEYS]
    written: list[Message] = [root]
    for number in range(posts):
        writer = chance.randrange(len(KEYS))
        if number < 2 or chance.random() >= forks:
            for one in written:
                enter(V2.fields, one, known[writer])
        if not len(known[writer]):
            enter(V2.fields, root, known[writer])
        said = {"text": f"{seed} {number}"}
        post = write(V2, KEYS[writer], said, "post", [known[writer]], group, sorted(tangle.tips))  # type: ignore[arg-type] # JSON
        enter(V2.fields, post, known[writer])
        written.append(post)
    thread = PzpTangle(message.message_id(V2.fields, written[1]))
    thread.add_root(RootFacts())
    replies: list[Message] = []
    for number in range(3):
        reply: Message = write(
            V2, KEYS[number], {"text": f"re {number}"}, "reply", [thread], group, sorted(tangle.tips)
        )
        enter(V2.fields, reply, thread)
        replies.append(reply)
    return World(group, feed, thread.root, identity, written, replies)


@dataclass
class Wire:
    """Two sides of a sync and what is between them."""

    one: Replica
    other: Replica
    seed: int = 0
    lose: float = 0.0
    """Which part of the packets never arrives."""
    now_us: int = 0
    packets: int = 0
    sizes: int = 0
    said: list[Event] = field(default_factory=list)
    """The events at the first side."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.restart()

    def restart(self) -> None:
        """Both programs begin anew: what they held is all that is left."""
        self.sides = [PzpSync(self.one, self.chance.randbytes), PzpSync(self.other, self.chance.randbytes)]

    def run(self, most: int = 100_000) -> list[Event]:
        """Carry packets until there are none, at most so many; returns what happened at the first side meanwhile."""
        before, told = self.packets, len(self.said)
        moving = True
        while moving and self.packets - before < most:
            moving = False
            for from_, to in (self.sides, self.sides[::-1]):
                packet = from_.next_packet(self.now_us)
                if packet is None:
                    continue
                moving = True
                self.packets += 1
                self.sizes += len(packet)
                if self.chance.random() >= self.lose:
                    to.receive(packet, self.now_us)
            self.said += self.sides[0].events()
        return self.said[told:]

    def stall(self) -> list[Event]:
        """Let time pass until what is stalled is given up."""
        self.now_us += limits.STALL_US
        for side in self.sides:
            side.wake(self.now_us)
        return self.sides[0].events()


def newest(count: int) -> Goal:
    return Goal(GoalKind.NEWEST, count)


def clone(replica: Replica) -> Replica:
    return copy.deepcopy(replica)


__all__ = ["ALL", "KEYS", "NONE", "Replica", "Wire", "World", "clone", "newest", "world"]
