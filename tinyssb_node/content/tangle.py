"""Tangles: messages of many feeds in an order that needs no clock (Tangles SIP; exclusion document, 4.10).

A message names its predecessors. It is placed in a tangle once all of them are placed, and waits until then. All loops
here are over stored messages, never recursive, since a chain may have any length.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import heapify, heappop, heappush
from typing import Final, Generic, Protocol, TypeVar

from tinyssb_node.content import limits as content_limits
from tinyssb_node.ids import MessageId

M = TypeVar("M")
M_contra = TypeVar("M_contra", contravariant=True)


@dataclass(frozen=True, slots=True)
class TangleData:
    """The position of a message in one tangle as it states it: the SIP's "tangle data"."""

    root: MessageId | None
    """First message of the tangle. None: with predecessors, theirs is meant; without, this message is the first."""
    previous: tuple[MessageId, ...]
    """Its direct predecessors, each once, as written: the tips its author knew. Empty: it is a first message."""

    def __post_init__(self) -> None:
        """Raise ValueError for a root without predecessors, which no tangle can reach."""
        if self.root is not None and not self.previous:
            raise ValueError("a message that names a root follows something")
        if len(set(self.previous)) != len(self.previous):
            raise ValueError("a predecessor is named once")

    @property
    def first(self) -> bool:
        """True if the message is the root of a tangle."""
        return not self.previous


FIRST: Final = TangleData(None, ())
"""Tangle data of the first message of a tangle."""


class TangleRules(Protocol[M_contra]):
    """The rules of a tangle, which the SIP requires: the candidates for it, and their predecessors."""

    def place(self, message: M_contra) -> TangleData | None:
        """Return the tangle data of *message*; None: it is not a candidate."""
        ...

    def extends(self, message: M_contra, previous: Sequence[M_contra]) -> bool:
        """Return whether *message* may follow *previous*, all of which are placed. If not, it is never placed."""
        ...


class Candidates(Generic[M]):
    """The rules of most tangles: all messages that name a predecessor in the tangle are in it."""

    __slots__ = ("_place",)

    def __init__(self, place: Callable[[M], TangleData | None]) -> None:
        self._place = place

    def place(self, message: M) -> TangleData | None:
        """Return the tangle data of *message*."""
        return self._place(message)

    def extends(self, message: M, previous: Sequence[M]) -> bool:  # noqa: ARG002 - a port's signature
        """Return True."""
        return True


class AddOutcome(StrEnum):
    """The outcome of adding a message."""

    PLACED = "placed"
    WAITS = "waits"
    """It waits for predecessors, or for the root."""
    DUPLICATE = "duplicate"
    """It was added before."""
    REFUSED = "refused"
    """It is not a candidate, is in another tangle, is a second root, or follows itself or a message that it may not
    follow."""


@dataclass(frozen=True, slots=True)
class AddResult:
    """The result of adding a message."""

    outcome: AddOutcome
    placed: tuple[MessageId, ...] = ()
    """Messages placed by this addition, each behind its predecessors."""


_DUPLICATE: Final = AddResult(AddOutcome.DUPLICATE)
_WAITS: Final = AddResult(AddOutcome.WAITS)
_REFUSED: Final = AddResult(AddOutcome.REFUSED)


@dataclass(slots=True)
class _Waiting(Generic[M]):
    """A message that is not placed yet."""

    message: M
    place: TangleData
    missing: int
    """Number of predecessors that are not placed."""


class Tangle(Generic[M]):
    """One tangle, built from messages in any order. To add one takes time that depends on its number of predecessors
    only.

    The same messages make the same tangle in any order, as long as no more than *waiting_max* wait at a time; beyond
    that, the one that has waited longest is evicted and counted.
    """

    def __init__(
        self, root: MessageId, rules: TangleRules[M], *, waiting_max: int = content_limits.TANGLE_WAITING_MAX
    ) -> None:
        self.root = root
        self.forgotten = 0
        """Messages that were evicted while they waited."""
        self._rules = rules
        self._waiting_max = waiting_max
        self._placed: dict[MessageId, tuple[M, tuple[MessageId, ...]]] = {}
        """In the order in which they were placed."""
        self._tips: set[MessageId] = set()
        self._waiting: dict[MessageId, _Waiting[M]] = {}
        self._awaited: dict[MessageId, dict[MessageId, None]] = {}
        """Followers that wait for an id."""

    @property
    def valid(self) -> bool:
        """True once the root is here and is one. Without it there is no tangle."""
        return bool(self._placed)

    @property
    def tips(self) -> tuple[MessageId, ...]:
        """Messages that no other follows yet, sorted: the predecessors of a new message."""
        return tuple(sorted(self._tips))

    @property
    def waiting(self) -> tuple[MessageId, ...]:
        """Messages that are not placed yet, in order of arrival."""
        return tuple(self._waiting)

    @property
    def missing(self) -> tuple[MessageId, ...]:
        """Ids that other messages wait for and that were never added, sorted."""
        return tuple(sorted(self._awaited.keys() - self._waiting.keys()))

    def __len__(self) -> int:
        return len(self._placed)

    def __contains__(self, id_: object) -> bool:
        """Return True for a message that is connected to the root."""
        return id_ in self._placed

    def __iter__(self) -> Iterator[MessageId]:
        """Iterate over ids in the order in which they were placed: none before its predecessors."""
        return iter(self._placed)

    def message(self, id_: MessageId) -> M:
        """Return a placed message. Raises KeyError."""
        return self._placed[id_][0]

    def previous(self, id_: MessageId) -> tuple[MessageId, ...]:
        """Return the predecessors of a placed message. Raises KeyError."""
        return self._placed[id_][1]

    def add(self, id_: MessageId, message: M) -> AddResult:
        """Add *message*, whose id is *id_*."""
        if id_ in self._placed or id_ in self._waiting:
            return _DUPLICATE
        place = self._rules.place(message)
        if place is None or place.first != (id_ == self.root) or not self._ours(id_, place):
            return _REFUSED
        lacking = [previous for previous in place.previous if previous not in self._placed]
        if lacking:
            self._wait(id_, _Waiting(message, place, len(lacking)), lacking)
            return _WAITS
        placed = self._settle(id_, message, place)
        return AddResult(AddOutcome.PLACED, placed) if placed else _REFUSED

    def _ours(self, id_: MessageId, place: TangleData) -> bool:
        return place.root in {None, self.root} and id_ not in place.previous

    def _wait(self, id_: MessageId, waiting: _Waiting[M], lacking: Iterable[MessageId]) -> None:
        if len(self._waiting) >= self._waiting_max:
            self._forget(next(iter(self._waiting)))
        self._waiting[id_] = waiting
        for previous in lacking:
            self._awaited.setdefault(previous, {})[id_] = None

    def _forget(self, id_: MessageId) -> None:
        self.forgotten += 1
        for previous in self._waiting.pop(id_).place.previous:
            followers = self._awaited.get(previous)
            if followers is not None:
                followers.pop(id_, None)
                if not followers:
                    del self._awaited[previous]

    def _settle(self, id_: MessageId, message: M, place: TangleData) -> tuple[MessageId, ...]:
        """Place a message whose predecessors are all placed, and all messages that waited for it and can be placed
        now."""
        settled = []
        ready = deque([(id_, message, place)])
        while ready:
            id_, message, place = ready.popleft()
            if not self._rules.extends(message, [self._placed[previous][0] for previous in place.previous]):
                continue
            self._placed[id_] = (message, place.previous)
            self._tips.difference_update(place.previous)
            self._tips.add(id_)
            settled.append(id_)
            for follower in self._awaited.pop(id_, ()):
                waiting = self._waiting[follower]
                waiting.missing -= 1
                if not waiting.missing:
                    del self._waiting[follower]
                    ready.append((follower, waiting.message, waiting.place))
        return tuple(settled)

    def order(self) -> list[MessageId]:
        """Return all placed messages, in canonical order."""
        return canonical_order({id_: previous for id_, (_, previous) in self._placed.items()})

    def history(self, ids: Iterable[MessageId]) -> set[MessageId]:
        """Return the placed ones of *ids*, and all that they follow, directly or not."""
        history = {id_ for id_ in ids if id_ in self._placed}
        ahead = list(history)
        while ahead:
            for previous in self._placed[ahead.pop()][1]:
                if previous not in history:
                    history.add(previous)
                    ahead.append(previous)
        return history


def canonical_order(previous: Mapping[MessageId, Sequence[MessageId]]) -> list[MessageId]:
    """Return the messages in *previous*, each behind its predecessors; of those that may be next the smallest id first.

    The order depends on the set of messages only. Messages without predecessors come first. A message is left out if
    one of its predecessors is missing or left out, or if it follows itself, directly or not.
    """
    # A message's followers are a chain through two lists: a list for each message would take half as much time again.
    latest: dict[MessageId, int] = {}  # index of a message's latest follower in the lists
    follower: list[MessageId] = []
    earlier: list[int] = []  # index of the one before, -1 for none
    lacking: dict[MessageId, int] = {}
    ready = []
    for id_, follows in previous.items():
        if not follows:
            ready.append(id_)
            continue
        lacking[id_] = len(follows)
        for one in follows:
            earlier.append(latest.get(one, -1))
            latest[one] = len(follower)
            follower.append(id_)
    heapify(ready)
    ordered = []
    while ready:
        id_ = heappop(ready)
        ordered.append(id_)
        at = latest.get(id_, -1)
        while at >= 0:
            left = lacking[follower[at]] - 1
            lacking[follower[at]] = left
            if not left:
                heappush(ready, follower[at])
            at = earlier[at]
    return ordered
