"""Messages of removed keys: those that a removal confirms, and those that it revokes (docs/formats/pzp.md).

A message is accepted by what its author knew, for good: others follow it. Whether it is revoked depends on the
removals that are here, so it is looked up when the message is read, and is the same in whatever order all came.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.port import PzpRecord
from tinyssb_node.pzp.messages import account, message
from tinyssb_node.pzp.messages.versions import VERSIONS

_PAGE: Final = 256  # records that are in memory at a time


def confirmable(database: PzpDatabase, group: str, key: str) -> Mapping[str, Sequence[str]]:
    """Return the last messages that *key* wrote for a group, by the root of each tangle: all others are before them."""
    written: dict[str, list[str]] = {}
    number = 0
    while page := database.records(number, _PAGE, owner=group):
        number = page[-1].number
        for record in page:
            if message.author_of(VERSIONS[record.version].fields, record.message()) == key:
                for root in database.roots_of(record):
                    written.setdefault(root, []).append(record.id)
    confirms: dict[str, Sequence[str]] = {}
    for root, ids in sorted(written.items()):
        tangle = database.tangle(root)
        before: set[str] = set()
        last: list[str] = []
        for one in sorted(ids, key=lambda one: tangle.depth(one) or 0, reverse=True):
            if one in tangle and one not in before:
                last.append(one)
                before |= tangle.ancestors([one])
        if last:
            confirms[root] = sorted(last)
    return confirms


def remove_key(database: PzpDatabase, key: SigningKey, group: str, removed: str, *, wall_us: int) -> str:
    """Remove a key from a group, and confirm those of its messages that are here; returns the id of the message.

    Raises what ``PzpDatabase.remove_key`` does.
    """
    with database.batch():
        confirms = confirmable(database, group, removed)
        return database.remove_key(key, group, removed, confirms, wall_us=wall_us)


class Revocations:
    """Answers for messages of one database, while nothing is written to it."""

    def __init__(self, database: PzpDatabase) -> None:
        self._database: Final = database
        self._void: Final[dict[str, frozenset[str]]] = {}
        self._known: Final[dict[tuple[str, tuple[str, ...]], frozenset[str]]] = {}
        self._confirmed: Final[dict[tuple[str, str], frozenset[str]]] = {}

    def is_revoked(self, record: PzpRecord) -> bool:
        """Return True if a message was signed by a key that was removed, and no removal of it confirms the message.

        Of an identity's own messages: if it adds a key to no effect.
        """
        fields = VERSIONS[record.version].fields
        if fields.tips is None:
            return False
        said = record.message()
        if record.owner is None:
            roots = [record.id, *self._database.roots_of(record)]
            return any(record.id in self._without_effect(root) for root in roots if self._is_identity(root))
        metadata = message.metadata_of(said)
        tips = metadata[fields.tips]
        author = str(message.author_of(fields, said))
        if not isinstance(tips, list):
            return False  # a feed's root, which anybody can sign
        identity = self._database.tangle(record.owner)
        if not any(change.removes for change in identity.changes.values()):
            return False
        known = self._before(record.owner, tuple(str(one) for one in tips))
        added = [
            one for one, change in identity.changes.items() if change.key == author and not change.removes
        ]
        beside = account.removals_beside(identity, author, known)
        if not any(one in known and one not in self._without_effect(record.owner) for one in added):
            return True
        roots = list(self._database.roots_of(record))
        return any(not self._confirms(record.owner, removal, record.id, roots) for removal in beside)

    def _is_identity(self, root: str) -> bool:
        return self._database.tangle(root).facts.identity

    def _without_effect(self, group: str) -> frozenset[str]:
        if group not in self._void:
            self._void[group] = frozenset(account.without_effect(self._database.tangle(group)))
        return self._void[group]

    def _before(self, group: str, tips: tuple[str, ...]) -> frozenset[str]:
        """The messages of a group that an author knew."""
        if (group, tips) not in self._known:
            self._known[group, tips] = frozenset(self._database.tangle(group).ancestors(tips))
        return self._known[group, tips]

    def _confirms(self, group: str, removal: str, id_: str, roots: Sequence[str]) -> bool:
        """Return True if a removal confirms a message that is in the tangles *roots*, or names none at all."""
        change = self._database.tangle(group).changes[removal]
        if change.confirms is None:
            return True
        for root in roots:
            ids = change.confirms.get(root, ())
            if (removal, root) not in self._confirmed:
                self._confirmed[removal, root] = frozenset(self._database.tangle(root).ancestors(ids))
            if id_ in self._confirmed[removal, root]:
                return True
        return False
