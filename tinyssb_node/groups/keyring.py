"""Keys of epochs, the groups that each is claimed to be of, and the people named in these groups.

A keyring decides which keys to try on which entry. Who is a member is decided in `membership`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.envelope import SlotKey
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.reader_events import GroupEntryFault
from tinyssb_node.ids import EpochKey, FeedId, MessageId

_NOBODY: Final[AbstractSet[FeedId]] = frozenset()


class Keyring:
    """A set of keys that only grows. Within its bounds, its content does not depend on the order of arrival."""

    def __init__(self, counts: Counter[GroupEntryFault]) -> None:
        self._counts = counts
        self._roots: dict[EpochKey, list[MessageId]] = {}
        self._keys: dict[MessageId, list[EpochKey]] = {}
        self._by: dict[FeedId, int] = {}
        """How many keys each person brought whose epochs are unknown."""
        self._from: dict[EpochKey, FeedId] = {}
        """The person who brought each of these keys."""
        self._put_off: dict[FeedId, dict[tuple[EpochKey, MessageId], None]] = {}
        """Further keys that a person brought."""
        self._people: dict[MessageId, set[FeedId]] = {}
        self._groups: dict[FeedId, list[MessageId]] = {}
        self._named: dict[bytes, set[FeedId]] = {}
        self.slots: list[SlotKey] = []
        """Slots of all keys, in order of arrival."""

    # --- keys

    def learn(self, key: EpochKey, root: MessageId, by: FeedId | None) -> bool:
        """Add a key that *by* claims to be of the group that begins with *root*. Returns False if it is known, or put
        off.

        With None it is a claim of our own, for which there is no quota.
        """
        roots = self._roots.get(key, [])
        if root in roots:
            return False
        if not roots and by is not None and self._by.get(by, 0) >= group_limits.KEYS_BY_ONE_MAX:
            theirs = self._put_off.setdefault(by, {})
            if len(theirs) < group_limits.KEYS_PUT_OFF_MAX:
                theirs[key, root] = None
            else:
                self._counts[GroupEntryFault.FULL] += 1
            return False
        if len(roots) >= 4:  # It belongs to one group; members may claim that it is of theirs.
            self._counts[GroupEntryFault.FULL] += 1
            return False
        if not roots:
            self._roots[key] = roots
            if by is not None:
                self._by[by] = self._by.get(by, 0) + 1
                self._from[key] = by
            self.slots.append(epoch_slot(key))
        roots.append(root)
        self._keys.setdefault(root, []).append(key)
        return True

    def confirm(self, key: EpochKey) -> tuple[EpochKey, MessageId, FeedId] | None:
        """Note that the first message of a key's epoch is here, so that it no longer uses up anybody's quota. Returns a
        key that was put off for that, with its group and who brought it."""
        by = self._from.pop(key, None)
        if by is None:
            return None
        self._by[by] -= 1
        theirs = self._put_off.get(by)
        if not theirs:
            return None
        next_key, root = next(iter(theirs))
        del theirs[next_key, root]
        return next_key, root, by

    def roots_of(self, key: EpochKey) -> Sequence[MessageId]:
        """Return the groups that a key is claimed to be of: one, unless somebody lies."""
        return self._roots.get(key, ())

    def keys_of(self, root: MessageId) -> Sequence[EpochKey]:
        """Return the keys claimed to be of a group."""
        return self._keys.get(root, ())

    # --- people

    def name(self, person: FeedId, root: MessageId) -> bool:
        """Note that a person is named in a group, or wrote in it. Returns False if that was known."""
        people = self._people.setdefault(root, set())
        if person in people:
            return False
        people.add(person)
        self._groups.setdefault(person, []).append(root)
        self._named.setdefault(person[: group_limits.SHORT_NAME_SIZE], set()).add(person)
        return True

    def people_of(self, root: MessageId) -> AbstractSet[FeedId]:
        """Return the people named in a group."""
        return self._people.get(root, _NOBODY)

    def called(self, name: bytes) -> AbstractSet[FeedId]:
        """Return all people whose main feed id begins with *name*."""
        return self._named.get(name, _NOBODY)

    def groups_of(self, person: FeedId) -> Sequence[MessageId]:
        """Return the groups that a person is named in."""
        return self._groups.get(person, ())

    def keys_with(self, person: FeedId) -> Iterable[EpochKey]:
        """Return the keys of these groups, each once."""
        return dict.fromkeys(key for root in self._groups.get(person, ()) for key in self.keys_of(root))
