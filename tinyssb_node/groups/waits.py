"""Group state that survives a restart: tasks' waits, what was spent, the user's decisions about groups and forks.

Waits are stored as durations, which need no clock: after a restart a task continues to wait where it was.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final

import msgspec

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.spending import GroupSpending
from tinyssb_node.ids import MessageId
from tinyssb_node.store.port import Store

META: Final = "groups"
"""Name in the store. Format: docs/formats/store.md."""
NOTHING: Final = '{"accepted":[]}'
"""The stored value while there is no other."""


class GroupConsent(StrEnum):
    """The user's decision about a group."""

    ACCEPTED = "accepted"
    INVITED = "invited"
    """Not decided: the node reads and writes nothing."""
    DECLINED = "declined"
    """It stays so whoever adds the user again: every exclusion in the group adds all its members anew."""


class _Kept(msgspec.Struct, omit_defaults=True):
    left: list[str] = []
    """Roots of groups, in hexadecimal."""
    accepted: list[str] | None = None
    """Roots of groups in which the user takes part; None: an earlier version wrote this, in which all groups counted as
    accepted."""
    declined: list[str] = []
    """Roots of groups in which the user does not want to take part."""
    wrote: dict[str, list[tuple[int, int]]] = {}
    """By root: how long ago the node wrote how many packets by itself, in the last 24 hours that it ran."""
    waited_us: dict[str, dict[str, int]] = {}
    """By root and task."""
    muted: list[str] = []
    """Roots of groups whose new messages the user is not told of."""
    rejected: dict[str, list[str]] = {}
    """By root: exclusions after which the user ignores what the people named in them wrote unaware."""


class GroupWaits:
    """The waits of one identity's groups."""

    def __init__(self, store: Store) -> None:
        self._store = store
        kept = msgspec.json.decode(store.get_meta(META) or NOTHING, type=_Kept)
        self.left: set[MessageId] = {MessageId.from_hex(root) for root in kept.left}
        """Groups that the user left."""
        self.muted: set[MessageId] = {MessageId.from_hex(root) for root in kept.muted}
        """Groups whose new messages the user is not told of."""
        self._accepted = (
            None if kept.accepted is None else {MessageId.from_hex(root) for root in kept.accepted}
        )
        self._declined = {MessageId.from_hex(root) for root in kept.declined}
        self._rejected = {
            MessageId.from_hex(root): {MessageId.from_hex(one) for one in each}
            for root, each in kept.rejected.items()
        }
        self._waited_us = {MessageId.from_hex(root): dict(each) for root, each in kept.waited_us.items()}
        """How long each task had been waiting at the last start."""
        self._since_us: dict[MessageId, dict[str, int]] = {}
        self.spending: Final = GroupSpending(
            {MessageId.from_hex(root): each for root, each in kept.wrote.items()}
        )
        """The packets that the node wrote by itself."""
        self._saved_us: int | None = None

    def begin(self) -> None:
        """Note in the store that there are groups, so that the next start looks for them."""
        if self._store.get_meta(META) is None:
            self._store.put_meta(META, NOTHING)

    def since_us(self, root: MessageId, now_us: int) -> Mapping[str, int]:
        """Return since when the tasks of a group have been waiting."""
        waited = self._waited_us.pop(root, None)
        if waited is not None:
            self._since_us[root] = {task: now_us - each_us for task, each_us in waited.items()}
        return self._since_us.get(root, {})

    def keep(self, root: MessageId, since_us: Mapping[str, int], now_us: int) -> None:
        """Set the tasks of a group."""
        before = self._since_us.pop(root, {})
        if since_us:
            self._since_us[root] = dict(since_us)
        old = self._saved_us is None or now_us - self._saved_us >= group_limits.WAITS_SAVE_US
        if before.keys() != since_us.keys() or (since_us and old):
            self._save(now_us)

    def charge(self, root: MessageId, packets: int, now_us: int) -> None:
        """Note that the node wrote *packets* for a group by itself."""
        self.spending.charge(root, packets, now_us)
        self._save(now_us)

    def leave(self, root: MessageId, now_us: int) -> None:
        """Note that the user left a group."""
        self.left.add(root)
        self._save(now_us)

    def come_back(self, root: MessageId, now_us: int) -> None:
        """Note that the user is in a group again."""
        self.left.discard(root)
        self._save(now_us)

    def mute(self, root: MessageId, now_us: int, *, muted: bool) -> None:
        """Note whether the user is told of new messages of a group."""
        if muted:
            self.muted.add(root)
        else:
            self.muted.discard(root)
        self._save(now_us)

    def decided(self, root: MessageId) -> GroupConsent | None:
        """Return what was decided about taking part in a group; None: nothing."""
        if root in self._declined:
            return GroupConsent.DECLINED
        return GroupConsent.ACCEPTED if root in (self._accepted or ()) else None

    def upgrade(self, roots: Iterable[MessageId], now_us: int) -> None:
        """Accept *roots*, the groups that are here, if an earlier version kept them, which asked nobody."""
        if self._accepted is None:
            self._accepted = set(roots)
            self._save(now_us)

    def accept(self, root: MessageId, now_us: int) -> None:
        """Note that the user takes part in a group."""
        self._accepted = (self._accepted or set()) | {root}
        self._declined.discard(root)
        self._save(now_us)

    def decline(self, root: MessageId, now_us: int) -> None:
        """Note that the user does not want to take part in a group."""
        self._declined.add(root)
        self._save(now_us)

    def reject(self, root: MessageId, exclusions: Collection[MessageId], now_us: int) -> None:
        """Note that the user ignores what the people whom these exclusions name wrote unaware of them."""
        self._rejected.setdefault(root, set()).update(exclusions)
        self._save(now_us)

    def rejected(self, root: MessageId, exclusions: Collection[MessageId]) -> bool:
        """Return whether the user ignores what the people whom these exclusions name wrote unaware of them."""
        return self._rejected.get(root, set()).issuperset(exclusions)

    def _save(self, now_us: int) -> None:
        self._saved_us = now_us
        waited_us = {root.hex(): dict(each) for root, each in self._waited_us.items()}
        for root, since_us in self._since_us.items():
            waited_us[root.hex()] = {task: max(0, now_us - at_us) for task, at_us in since_us.items()}
        rejected = {root.hex(): sorted(one.hex() for one in each) for root, each in self._rejected.items()}
        kept = _Kept(
            left=_hex(self.left),
            accepted=None if self._accepted is None else _hex(self._accepted),
            declined=_hex(self._declined),
            wrote={root.hex(): [*each] for root, each in self.spending.ago(now_us).items()},
            muted=_hex(self.muted),
            waited_us=waited_us,
            rejected=rejected,
        )
        self._store.put_meta(META, msgspec.json.encode(kept).decode())


def _hex(roots: Iterable[MessageId]) -> list[str]:
    return sorted(root.hex() for root in roots)
