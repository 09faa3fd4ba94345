"""Dependencies that a refused message waits for, if any could make it valid."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.message import is_id, owner_of
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import version_of

_LACKS_MAX: Final = 64  # remembered of a waiting message: one of these messages or tangles has to come


@dataclass(frozen=True, slots=True)
class MissingDependency:
    """One thing that may make a message right."""

    root: str
    """The tangle in which something has to come."""
    id: str
    """The message that has to; empty: any one."""
    held: int
    """Number of messages and changes of keys that the tangle had: an empty message makes its change when its payload
    arrives."""


def missing_dependencies(
    database: PzpDatabase, message: Mapping[str, Json], error: MessageError
) -> list[MissingDependency]:
    """Of what one has to come before *message*, refused by *error*, may be taken; nothing: it never will be.

    Raises StoreFailedError.
    """
    roots: list[object] = []
    if error.rule is PzpRule.PREV_UNKNOWN:
        root = error.field.removeprefix("metadata.tangles.").removesuffix(".prev")
        prev = error.value if isinstance(error.value, list) else []
        return [MissingDependency(root, one, 0) for one in filter(is_id, prev)][:_LACKS_MAX]
    if error.rule is PzpRule.TIPS_UNKNOWN:
        tips = error.value if isinstance(error.value, list) else []
        return [MissingDependency(error.expected, one, 0) for one in filter(is_id, tips)][:_LACKS_MAX]
    if error.rule is PzpRule.GROUP_UNKNOWN:
        roots = [error.value]
    elif error.rule is PzpRule.TANGLE_UNKNOWN:
        roots = list(error.value) if isinstance(error.value, list) else []
    elif error.rule is PzpRule.ROOT:
        roots = [error.expected]  # all of a tangle is wrong as long as its root is not here
    elif error.rule in (PzpRule.NOT_MEMBER, PzpRule.NOT_ALLOWED):
        roots = _identities(message)
    known = [root for root in roots if isinstance(root, str) and is_id(root)][:_LACKS_MAX]
    return [MissingDependency(root, "", _count(database.tangle(root))) for root in known]


def _identities(message: Mapping[str, Json]) -> list[object]:
    """Return the tangles that may add the author's key: the message's group, or the tangles it is in."""
    metadata = message.get("metadata")
    if not isinstance(metadata, dict):
        return []
    group, tangles = owner_of(version_of(dict(message)).fields, metadata), metadata.get("tangles")
    if isinstance(group, str):
        return [group]
    return list(tangles) if isinstance(tangles, dict) else []


def is_satisfied(database: PzpDatabase, lack: MissingDependency) -> bool:
    """Return True if the missing dependency is here. Raises StoreFailedError."""
    tangle = database.tangle(lack.root)
    return lack.id in tangle if lack.id else _count(tangle) != lack.held


def _count(tangle: PzpTangle) -> int:
    """Return the number of known messages and changes of keys of *tangle*."""
    return len(tangle) + len(tangle.changes)
