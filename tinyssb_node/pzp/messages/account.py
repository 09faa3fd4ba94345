"""Keys of an identity: which keys may sign for it after some of its messages, and what they may do.

The answer follows from these messages and all that they follow, so it is the same for every reader and in whatever
order the messages came. A removal wins over what it is concurrent with (strong removal, as in p2panda and Keyhive):
the removed key cannot stay by adding itself, or another key, at the same time.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from tinyssb_node.pzp.messages.tangle import KeyChange, PzpTangle

BEFORE_MAX: Final = 4_096
"""Messages of an identity that are looked at for one message: 10 ms of work. After more, nobody is a member."""
_REMEMBERED_MAX: Final = 64
"""Answers that are remembered of a tangle: messages of a feed name the same few messages."""


def keys_after(tangle: PzpTangle, messages: Iterable[str]) -> Mapping[str, AbstractSet[str]]:
    """Return the keys that may sign after *messages* of an identity, with the powers of each.

    Messages that are not known are left out; a caller who needs a lasting answer asks for them first. If of one of
    them only its place is known, nobody is a member: it may remove a key.
    """
    after = frozenset(one for one in messages if one in tangle)
    if after not in tangle.keys_after:
        if len(tangle.keys_after) >= _REMEMBERED_MAX:
            tangle.keys_after.clear()
        before = tangle.ancestors(after, limit=BEFORE_MAX)
        whole = len(before) < BEFORE_MAX and before <= tangle.changes.keys()
        tangle.keys_after[after] = _History.of(tangle, before).keys() if whole else {}
    return tangle.keys_after[after]


def without_effect(tangle: PzpTangle) -> AbstractSet[str]:
    """Return the known messages of an identity that add keys to no effect: a removal of their author is concurrent."""
    return _History.of(tangle, tangle.topological()).void()


def removals_beside(tangle: PzpTangle, key: str, known: AbstractSet[str]) -> list[str]:
    """Return the known messages that remove *key* and are not among those that an author has *known*."""
    return [
        one
        for one, change in tangle.changes.items()
        if change.removes and change.key == key and one not in known
    ]


def keys_besides(tangle: PzpTangle, tips: Iterable[str]) -> AbstractSet[str]:
    """Return the keys of an account at *tips* as the original program finds them.

    Those of all known messages except for what follows *tips*, in topological order, each change as it comes.
    """
    after = {one for one in tips if one in tangle}
    keys: set[str] = set()
    left_out: set[str] = set()
    for one in tangle.topological():
        if any(before in after or before in left_out for before in tangle.prev(one)):
            left_out.add(one)
        change = tangle.changes.get(one)
        if change is None or not change.signs or (one in left_out and one not in after):
            continue
        if change.removes:
            keys.discard(change.key)
        else:
            keys.add(change.key)
    return keys


def has_ever_power(tangle: PzpTangle, key: str, power: str) -> bool:
    """Return True if any message of the account gives *power* to *key*, as the original program asks."""
    return any(
        change.key == key and not change.removes and power in change.powers
        for change in tangle.changes.values()
    )


@dataclass(frozen=True, slots=True)
class _History:
    """Messages of an identity, numbered in topological order; sets of them are the bits of integers."""

    order: Sequence[str]
    before: Sequence[int]
    """The messages that each follows, directly or not."""
    behind: Sequence[int]
    """The messages that follow each."""
    changes: Mapping[str, KeyChange]

    @classmethod
    def of(cls, tangle: PzpTangle, messages: Iterable[str]) -> "_History":
        """Number *messages*, of which all predecessors are among them, or not known."""
        order = sorted(messages, key=lambda one: (tangle.depth(one) or 0, one))
        place = {one: number for number, one in enumerate(order)}
        before, behind = [0] * len(order), [0] * len(order)
        known = [[place[one] for one in tangle.prev(message) if one in place] for message in order]
        for number, links in enumerate(known):
            for one in links:
                before[number] |= before[one] | 1 << one
        for number in reversed(range(len(order))):
            for one in known[number]:
                behind[one] |= behind[number] | 1 << number
        return cls(order, before, behind, tangle.changes)

    def keys(self) -> dict[str, AbstractSet[str]]:
        """The keys that stand after all of the messages, with their powers."""
        removals = self._removals()
        standing: dict[str, AbstractSet[str]] = {}
        for number, change, counts in self._adding(removals):
            if counts and change.signs and not removals.get(change.key, 0) & ~self.before[number]:
                standing[change.key] = standing.get(change.key, frozenset()) | change.powers
        return standing

    def void(self) -> frozenset[str]:
        """The messages that add a key and do not count."""
        adding = self._adding(self._removals())
        return frozenset(self.order[number] for number, _, counts in adding if not counts)

    def _adding(self, removals: Mapping[str, int]) -> Iterator[tuple[int, KeyChange, bool]]:
        """Yield the messages that add a key, and whether they count."""
        adds: dict[str, int] = {}
        for number, message in enumerate(self.order):
            change = self.changes.get(message)
            if change is None or change.removes:
                continue
            counts = self._counts(number, change, removals, adds)
            if counts:
                adds[change.key] = adds.get(change.key, 0) | 1 << number
            yield number, change, counts

    def _removals(self) -> dict[str, int]:
        """The messages that remove each key."""
        removals: dict[str, int] = {}
        for number, message in enumerate(self.order):
            change = self.changes.get(message)
            if change is not None and change.removes:
                removals[change.key] = removals.get(change.key, 0) | 1 << number
        return removals

    def _counts(
        self, number: int, change: KeyChange, removals: Mapping[str, int], adds: Mapping[str, int]
    ) -> bool:
        """Return True unless the author of an added key was removed at the same time, or was added by such a one."""
        if not self.before[number]:
            return True  # the root
        beside = removals.get(change.author, 0) & ~self.before[number] & ~self.behind[number]
        return not beside and bool(adds.get(change.author, 0) & self.before[number])
