"""The order in which people read a tangle: by time, as far as its messages agree on it (decision 0084).

The order is a function of the set of messages alone. It never goes against an author's own sequence or against a
predecessor that a message names, and a clock that is wrong by years moves few messages besides its author's.
"""

from bisect import insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Final

from tinyssb_node.content import limits
from tinyssb_node.ids import MessageId

Position = tuple[int, bytes]
"""The effective time of a message, and its id: positions compare as the order is."""

_Latest = tuple[int, int, int]
"""The latest claim of some messages, its author, and the latest claim of any other author; -1 for none."""
_Earliest = tuple[int, int, int]
"""The earliest claim of some messages, its author, and the earliest claim of any other author; `_NEVER` for none."""
_NEVER: Final = 1 << 62
_NONE: Final[_Latest] = (-1, -1, -1)
_OPEN: Final[_Earliest] = (_NEVER, -1, _NEVER)


@dataclass(frozen=True, slots=True)
class DatedMessage:
    """The part of a message on which the order depends."""

    id: bytes
    author: int
    """Any number of its author."""
    seq: int
    """Its number in its feed."""
    claimed_us: int | None
    """Its author's clock when it was written, microseconds since 1970; None: it states no time."""
    previous: Sequence[bytes]
    """Ids of the messages that it names; those that are not in the set do not count."""
    feed: int = 0
    """Any number of its feed, among those of its author."""

    @property
    def sequence(self) -> tuple[int, int]:
        """Its author and feed: the messages of both are in a sequence."""
        return self.author, self.feed


@dataclass(slots=True)
class _Node:
    """A message between the ones before and behind it."""

    message: DatedMessage
    before: list[int] = field(default_factory=list)
    behind: list[int] = field(default_factory=list)


def order_key(order_us: int, id_: bytes) -> str:
    """Return the position of a message as text, which compares as the order is."""
    return f"{order_us:018d}{id_.hex()}"


def right_behind(order: str) -> str:
    """Return the position between that of a message and the next one."""
    return f"{order}00"


def read_order_key(order: str) -> Position | None:
    """Return the effective time and the id of a position, an id with a byte more for one behind a message; None: it is
    no position."""
    digits, id_ = order[:18], order[18:]
    if len(digits) < 18 or not (digits.isascii() and digits.isdigit()) or len(id_) > 2 * MessageId.SIZE + 2:
        return None
    try:
        return int(digits), bytes.fromhex(id_)
    except ValueError:
        return None


def claim_of(said_us: int | None) -> int | None:
    """Return the time that counts as a claim: none for clocks that were never set."""
    return None if said_us is None or said_us < limits.CLAIM_MIN_US else said_us


def doubtful(said_us: int | None, order_us: int) -> bool:
    """Return whether the other messages contradict the time that an author states, by more than clocks differ."""
    claimed = claim_of(said_us)
    return claimed is None or abs(order_us - claimed) > limits.CLAIM_TOLERANCE_US


def order_times(messages: Iterable[DatedMessage]) -> dict[bytes, int]:
    """Return the effective times of messages in microseconds since 1970; by them, and then by id, they are in order.

    The effective time is the author's claim, except that

    - it is later than that of all predecessors: the messages that it names, and the previous one of its feed;
    - a claim is too late if two authors contradict it: their messages follow it and claim times that are earlier, by
      more than `limits.CLAIM_TOLERANCE_US`. Then the later of these two times counts instead. Where the message that
      contradicts follows later claims of two authors itself, the earlier of those counts for it;
    - a message without a claim comes right behind its predecessors, and without any at 0.
    """
    nodes = _nodes(messages)
    order = list(_forward(nodes))
    times = _capped(nodes, order, _witnessed(nodes, order))
    for at in order:
        floor = max((times[one] for one in nodes[at].before), default=-1) + 1
        times[at] = max(times[at], floor)
    return {node.message.id: time for node, time in zip(nodes, times, strict=True)}


def _nodes(messages: Iterable[DatedMessage]) -> list[_Node]:
    """Return the messages, each connected with those right before and behind it."""
    nodes = [_Node(message) for message in sorted(messages, key=lambda one: (*one.sequence, one.seq))]
    at = {node.message.id: number for number, node in enumerate(nodes)}
    for number, node in enumerate(nodes):
        before = {at[id_] for id_ in node.message.previous if id_ in at}
        if number and nodes[number - 1].message.sequence == node.message.sequence:
            before.add(number - 1)
        node.before = sorted(before)
        for one in node.before:
            nodes[one].behind.append(number)
    return nodes


def _forward(nodes: Sequence[_Node]) -> Iterator[int]:
    """Yield the numbers of all messages, each behind its predecessors. If messages are before themselves, which only a
    forged id for a brief tie could cause, the first of them by author and number comes although others are before it.
    """
    lacking = [len(node.before) for node in nodes]
    ready = [number for number, left in enumerate(lacking) if not left]
    heapify(ready)
    done, first = [False] * len(nodes), 0
    while True:
        while first < len(nodes) and done[first]:
            first += 1
        if not ready and first == len(nodes):
            return
        number = heappop(ready) if ready else first
        done[number] = True
        yield number
        for one in nodes[number].behind:
            lacking[one] -= 1
            if not lacking[one] and not done[one]:
                heappush(ready, one)


def _witnessed(nodes: Sequence[_Node], order: Sequence[int]) -> list[int | None]:
    """Return the time of each message as evidence about those before it: its claim, but no earlier than two authors
    before it claim; None: it has no claim."""
    latest: list[_Latest] = [_NONE] * len(nodes)
    evidence: list[int | None] = [None] * len(nodes)
    for at in order:
        node = nodes[at]
        found = _NONE
        for one in node.before:
            found = _later(found, latest[one])
        claimed = claim_of(node.message.claimed_us)
        if claimed is not None:
            evidence[at] = max(claimed, found[2])
            found = _later(found, (claimed, node.message.author, -1))
        latest[at] = found
    return evidence


def _capped(nodes: Sequence[_Node], order: Sequence[int], evidence: Sequence[int | None]) -> list[int]:
    """Return the claim of each message, or the time by which two authors know of it, if that is much earlier; -1 for a
    message without a claim."""
    earliest: list[_Earliest] = [_OPEN] * len(nodes)
    times = [-1] * len(nodes)
    for at in reversed(order):
        node = nodes[at]
        found = _OPEN
        for one in node.behind:
            found = _earlier(found, earliest[one])
        claimed = claim_of(node.message.claimed_us)
        if claimed is not None:
            times[at] = claimed if claimed <= found[2] + limits.CLAIM_TOLERANCE_US else found[2]
        witness = evidence[at]
        earliest[at] = found if witness is None else _earlier(found, (witness, node.message.author, _NEVER))
    return times


def _later(one: _Latest, other: _Latest) -> _Latest:
    """Unite two records of latest claims."""
    if other[0] > one[0]:
        one, other = other, one
    first, author, second = one
    third = other[0] if other[1] != author else other[2]
    return one if third <= second else (first, author, third)


def _earlier(one: _Earliest, other: _Earliest) -> _Earliest:
    """Unite two records of earliest claims."""
    if other[0] < one[0]:
        one, other = other, one
    first, author, second = one
    third = other[0] if other[1] != author else other[2]
    return one if third >= second else (first, author, third)


@dataclass(frozen=True, slots=True)
class Appended:
    """The time of a message that was added to others."""

    order_us: int
    exact: bool
    """False: the times of other messages may change, too; `order_times` of all of them is needed."""


def append_time(said_us: int | None, before_us: int, *, contradicted: bool) -> Appended:
    """Return the time of a message that no other one follows.

    *before_us*: the latest time of its predecessors, -1 for none; *contradicted*: a claim in this tangle is capped.
    """
    claimed = claim_of(said_us)
    order_us = max(claimed if claimed is not None else -1, before_us + 1)
    slack = 0 if contradicted else limits.CLAIM_TOLERANCE_US
    return Appended(order_us, claimed is None or claimed >= before_us - slack)


def is_contradicted(messages: Iterable[DatedMessage], times: Mapping[bytes, int]) -> bool:
    """Return whether a claim among *messages* is capped in their *times*."""
    return any((claim_of(one.claimed_us) or -1) > times[one.id] for one in messages)


class OrderedMessages:
    """Messages in their order, kept while further ones are added, each behind those that it names."""

    def __init__(self) -> None:
        self._messages: dict[bytes, DatedMessage] = {}
        self._times: dict[bytes, int] = {}
        self._last: dict[tuple[int, int], DatedMessage] = {}
        """By author and feed: the last message."""
        self._contradicted = False
        self._unsettled = False
        self._positions: list[Position] = []

    @property
    def positions(self) -> Sequence[Position]:
        """The positions of all messages, in order; after `add` only once `settle` was called."""
        return self._positions

    def time(self, id_: bytes) -> int:
        """Return the effective time of a message. Raises KeyError."""
        return self._times[id_]

    def add(self, message: DatedMessage) -> None:
        """Add a message, which names none that is added later."""
        last = self._last.get(message.sequence)
        before = [self._times[id_] for id_ in message.previous if id_ in self._times]
        overtaken = last is not None and last.seq > message.seq
        if last is None or not overtaken:
            self._last[message.sequence] = message
            before += [] if last is None else [self._times[last.id]]
        found = append_time(message.claimed_us, max(before, default=-1), contradicted=self._contradicted)
        self._unsettled |= overtaken or not found.exact
        self._messages[message.id], self._times[message.id] = message, found.order_us
        insort(self._positions, (found.order_us, message.id))

    def settle(self) -> bool:
        """Compute all times anew if an added message may have changed those of others. Returns whether it did so."""
        if not self._unsettled:
            return False
        self._times = order_times(self._messages.values())
        self._contradicted = is_contradicted(self._messages.values(), self._times)
        self._positions = sorted((time, id_) for id_, time in self._times.items())
        self._unsettled = False
        return True
