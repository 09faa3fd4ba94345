"""Keys of epochs that reached us, which groups they are said to be of, and who is named in these groups.

Nothing here says who is in a group (`membership` does): it says what to try on which entry.
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
    """Grows only, so that what it holds does not depend on the order in which things came, but for its bounds."""

    def __init__(self, counts: Counter[GroupEntryFault]) -> None:
        self._counts = counts
        self._roots: dict[EpochKey, list[MessageId]] = {}
        self._keys: dict[MessageId, list[EpochKey]] = {}
        self._by: dict[FeedId, int] = {}
        """How many keys somebody brought."""
        self._people: dict[MessageId, set[FeedId]] = {}
        self._groups: dict[FeedId, list[MessageId]] = {}
        self._named: dict[bytes, set[FeedId]] = {}
        self.slots: list[SlotKey] = []
        """Of all keys, in the order in which they came."""

    # --- keys

    def learn(self, key: EpochKey, root: MessageId, by: FeedId | None) -> bool:
        """Take a key that *by* says is of the group that begins with *root*. False: known, or one too many.

        None: we say so ourselves, as often as we like.
        """
        roots = self._roots.get(key, [])
        if root in roots:
            return False
        if len(roots) >= group_limits.ROOTS_OF_KEY_MAX or (
            not roots and by is not None and self._by.get(by, 0) >= group_limits.KEYS_BY_ONE_MAX
        ):
            self._counts[GroupEntryFault.FULL] += 1
            return False
        if not roots:
            self._roots[key] = roots
            if by is not None:
                self._by[by] = self._by.get(by, 0) + 1
            self.slots.append(epoch_slot(key))
        roots.append(root)
        self._keys.setdefault(root, []).append(key)
        return True

    def roots_of(self, key: EpochKey) -> Sequence[MessageId]:
        """Groups that a key is said to be of: one, unless somebody lies."""
        return self._roots.get(key, ())

    def keys_of(self, root: MessageId) -> Sequence[EpochKey]:
        """Keys said to be of a group."""
        return self._keys.get(root, ())

    # --- people

    def name(self, person: FeedId, root: MessageId) -> bool:
        """Somebody is named in a group, or wrote in it. False: that was known."""
        people = self._people.setdefault(root, set())
        if person in people:
            return False
        people.add(person)
        self._groups.setdefault(person, []).append(root)
        self._named.setdefault(person[: group_limits.SHORT_NAME_SIZE], set()).add(person)
        return True

    def people_of(self, root: MessageId) -> AbstractSet[FeedId]:
        """Who is named in a group."""
        return self._people.get(root, _NOBODY)

    def called(self, name: bytes) -> AbstractSet[FeedId]:
        """All people whose main feed begins like that."""
        return self._named.get(name, _NOBODY)

    def groups_of(self, person: FeedId) -> Sequence[MessageId]:
        """Groups that somebody is named in."""
        return self._groups.get(person, ())

    def keys_with(self, person: FeedId) -> Iterable[EpochKey]:
        """Keys of these groups, each once."""
        return dict.fromkeys(key for root in self._groups.get(person, ()) for key in self.keys_of(root))
