"""Tangle of PZP: the known messages of one root, in whatever order they arrived, and their lipmaa links.

It has ids, depths and links, not messages. What is added has been checked. Of messages that are missing or deleted,
only the links that name them are known.
"""

from bisect import bisect_left, bisect_right, insort
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final


def lipmaa(number: int) -> int:
    """The entry that entry *number* links to, both from 1 (0 for the first), as Bamboo and Helger Lipmaa count them."""
    power, reach = 3, 1
    while reach < number:
        power *= 3
        reach = (power - 1) // 2
    power //= 3
    if reach != number:
        rest = number
        while rest:
            reach = (power - 1) // 2
            power //= 3
            rest %= reach
        power = reach
    return number - power


def lipmaa_depth(depth: int) -> int:
    """The depth that a message at *depth*, from 1, links to."""
    return lipmaa(depth + 1) - 1


@dataclass(frozen=True, slots=True)
class FeedName:
    """Facts that all messages of a feed share, and that determine the id of its root."""

    owner: object
    """The group's id; in V1 the author's key."""
    type: object
    """Strings both, unless the root was taken by ``compat``."""


@dataclass(frozen=True, slots=True)
class RootFacts:
    """Facts about the whole tangle that its root states."""

    feed: FeedName | None = None
    """None: the root is no feed root."""
    identity: bool = False
    """True: the messages add keys to an identity, and remove them."""
    version: int | None = None
    """Version of the format of all messages; None: any."""


@dataclass(frozen=True, slots=True)
class KeyChange:
    """A message of an identity that adds a key, or removes one."""

    author: str
    """The key that signs the message."""
    key: str
    """The key that is added or removed. All keys are in base58."""
    removes: bool = False
    signs: bool = True
    """The key may sign messages for the identity."""
    powers: AbstractSet[str] = frozenset()
    """Powers that an added key gets."""
    confirms: Mapping[str, Sequence[str]] | None = None
    """Of a removed key: the messages that stay valid although their author did not know of the removal. They are these
    and all that they follow, by the root of their tangle. None: all of them."""


def in_locale_order(hashes: Iterable[str]) -> list[str]:
    """*hashes* as JavaScript's ``localeCompare`` puts them: by letter, and of one letter the small one first."""
    return sorted(hashes, key=lambda one: (one.lower(), one.swapcase()))


class PzpTangle:
    """The messages of one root that are known."""

    __slots__ = (
        "_added", "_changes", "_depths", "_followers", "_levels", "_missing", "_prev", "_tips",
        "by_depth", "facts", "keys_after", "root",
    )  # fmt: skip

    def __init__(self, root: str) -> None:
        self.root: Final = root
        self.facts = RootFacts()
        """Of the root, once it was added."""
        self._depths: dict[str, int] = {}
        self._prev: dict[str, tuple[str, ...]] = {}
        self.by_depth: dict[int, list[str]] = {}
        """Messages by depth."""
        self._levels: list[int] = []
        """The depths of ``by_depth``, sorted."""
        self._followers: dict[str, list[str]] = {}
        """Which known messages name it as a predecessor, for each, known or not."""
        self._missing: set[str] = set()
        """Messages that are followed but not known."""
        self._tips: set[str] = set()
        self._changes: dict[str, KeyChange] = {}
        self._added: Counter[str] = Counter()
        """How many messages add each key."""
        self.keys_after: dict[frozenset[str], Mapping[str, AbstractSet[str]]] = {}
        """Keys of an identity after some of its messages, as ``account`` found them since the last change."""

    def add_root(self, facts: RootFacts, change: KeyChange | None = None) -> None:
        """Add the root, with the key that it adds if it founds an identity. A second time changes nothing."""
        if self.root not in self._depths:
            self.facts = facts
            self._enter(self.root, 0, (), change)

    def add(self, message: str, depth: int, prev: Iterable[str], change: KeyChange | None = None) -> None:
        """Add a message that was checked, by its id; a second time changes nothing."""
        if message not in self._depths:
            self._enter(message, depth, tuple(prev), change)

    def _enter(self, message: str, depth: int, prev: tuple[str, ...], change: KeyChange | None) -> None:
        self._depths[message] = depth
        self._prev[message] = prev
        if depth not in self.by_depth:
            insort(self._levels, depth)
        self.by_depth.setdefault(depth, []).append(message)
        for one in prev:
            self._followers.setdefault(one, []).append(message)
            if one not in self._depths:
                self._missing.add(one)
        self._missing.discard(message)
        self._tips.difference_update(prev)
        self._tips.discard(self.root)
        if self._is_tip(message):
            self._tips.add(message)
        self.keys_after.clear()
        if change is not None:
            self._changes[message] = change
            self._added[change.key] += not change.removes

    def remove(self, message: str) -> None:
        """Take away a message that is known and not the root. What no other message follows is a tip again."""
        assert message != self.root, "without its root a tangle is none"
        depth = self._depths.pop(message)
        beside = self.by_depth[depth]
        beside.remove(message)
        if not beside:
            del self.by_depth[depth]
            del self._levels[bisect_left(self._levels, depth)]
        self._tips.discard(message)
        if message in self._followers:
            self._missing.add(message)
        for one in self._prev.pop(message):
            followers = self._followers[one]
            followers.remove(message)
            if not followers:
                del self._followers[one]
                self._missing.discard(one)
            if one in self._depths and self._is_tip(one):
                self._tips.add(one)
        if len(self._depths) == 1:
            self._tips.update(self._depths)
        self.keys_after.clear()
        change = self._changes.pop(message, None)
        if change is not None:
            self._added[change.key] -= not change.removes

    def _is_tip(self, message: str) -> bool:
        if message == self.root:
            return len(self._depths) == 1  # all others follow it, be it by links that are not here
        return message not in self._followers

    def __contains__(self, message: object) -> bool:
        return message in self._depths

    def __len__(self) -> int:
        return len(self._depths)

    @property
    def max_depth(self) -> int:
        """The largest depth of a message that is known; 0 for an empty tangle."""
        return self._levels[-1] if self._levels else 0

    @property
    def tips(self) -> frozenset[str]:
        """Return the messages that no known message follows, whatever the order of arrival."""
        return frozenset(self._tips)

    @property
    def ends(self) -> frozenset[str]:
        """Tips that surely are some: nothing known can follow them by way of messages that are not here.

        Who named another one would name a predecessor of a predecessor; to leave a tip out does no harm.
        """
        gap = max(
            (self._depths[one] for missing in self._missing for one in self._followers[missing]), default=0
        )
        return frozenset(one for one in self._tips if self._depths[one] + 1 >= gap)

    @property
    def keys(self) -> AbstractSet[str]:
        """Every key that a message of this identity has added, whether it was removed again or not."""
        return {key for key, count in self._added.items() if count > 0}

    @property
    def changes(self) -> Mapping[str, KeyChange]:
        """The messages of this identity that add or remove keys."""
        return self._changes

    def depth(self, message: str) -> int | None:
        """The depth of *message*; None if it is not known."""
        return self._depths.get(message)

    def prev(self, message: str) -> tuple[str, ...]:
        """Return the predecessors that *message* names, known or not."""
        return self._prev.get(message, ())

    def at_depth(self, depth: int) -> list[str]:
        """The messages at *depth*, in the original's order."""
        found = self.by_depth.get(depth, ())
        return in_locale_order(found) if len(found) > 1 else list(found)

    def place_of_next(self) -> tuple[int, tuple[str, ...]]:
        """Depth and ``prev`` of a message written now: the ``ends`` and all messages at the lipmaa depth."""
        depth = self.max_depth + 1
        return depth, tuple(sorted(self.ends.union(self.by_depth.get(lipmaa_depth(depth), ()))))

    def topological(self) -> list[str]:
        """All messages, none before what it follows: by depth, then in the original's order."""
        return [message for depth in self._levels for message in self.at_depth(depth)]

    def slice(self, low: int, high: int) -> list[str]:
        """The messages from depth *low* to depth *high*, both included, in topological order."""
        return list(self.walk(low, high))

    def walk(self, low: int, high: int, *, back: bool = False) -> Iterator[str]:
        """The same, sought as somebody goes through them; *back*: the deepest first. Nothing may change meanwhile."""
        levels = range(bisect_left(self._levels, low), bisect_right(self._levels, high))
        for level in reversed(levels) if back else levels:
            yield from self.at_depth(self._levels[level])

    def path_to_root(self, message: str) -> list[str]:
        """From *message*, which is left out, by the least deep predecessors to the root, or as far as is known."""
        path: list[str] = []
        step = self._step(message)
        while step is not None:
            path.append(step)
            step = self._step(step)
        return path

    def _step(self, message: str) -> str | None:
        """The next message on the path to the root; None where it ends."""
        known = [one for one in self.prev(message) if one in self._depths]
        least = min((self._depths[one] for one in known), default=None)
        if least is None or least >= self._depths[message]:
            return None
        return in_locale_order(one for one in known if self._depths[one] == least)[0]

    def trail(self, messages: Iterable[str]) -> set[str]:
        """Return the messages on the paths of these to the root; one of these only if on another's path."""
        trail: set[str] = set()
        for message in messages:
            step = self._step(message)
            while step is not None and step not in trail:
                trail.add(step)
                step = self._step(step)
        return trail

    def leads_others(self, message: str) -> bool:
        """Return True if the path to the root of some other message goes through *message*."""
        return any(self._step(one) == message for one in self._followers.get(message, ()))

    def certificate(self, message: str) -> list[str] | None:
        """*message* and its path to the root, which prove that it is in the tangle; None if links are missing."""
        path = [message, *self.path_to_root(message)]
        return path if path[-1] == self.root and self.root in self._depths else None

    def ancestors(self, messages: Iterable[str], *, limit: int | None = None, above: int = -1) -> set[str]:
        """*messages* and what they follow, of that which is known: at most some *limit*, and deeper than *above*."""
        found = {one for one in messages if one in self._depths}
        queue = deque(found)
        while queue and (limit is None or len(found) < limit):
            for one in self._prev[queue.popleft()]:
                if one not in found and self._depths.get(one, -1) > above:
                    found.add(one)
                    queue.append(one)
        return found
