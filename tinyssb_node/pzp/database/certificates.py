"""Certificates: what proves to somebody who has nothing that a message is in its tangles, and whose it is."""

from collections.abc import Iterator

from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.errors import PzpMissingError
from tinyssb_node.pzp.database.port import PzpRecord
from tinyssb_node.pzp.messages.message import Message, erase, feed_id, metadata_of
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import VERSIONS, version_of


def certificate(database: PzpDatabase, record: PzpRecord) -> list[Message]:
    """Return the messages that prove that a message is in its feed and in its other known tangles.

    Identities come first, whole; then the messages on the paths, from the roots on and without payload;
    then the message itself. Raises PzpMissingError if a path is incomplete, StoreFailedError.
    """
    found = dict(_in_feed(database, record))
    feed = _feed_of(record)
    for root in roots_of(record):
        tangle = database.tangle(root)
        if root != feed and not tangle.facts.identity and record.id in tangle:
            for one in _way(database, record.id, root):
                for id_, message in _in_feed(database, one):
                    found.setdefault(id_, _bare(message) if id_ == one.id else message)
    if record.owner is not None:
        found[record.id] = found.pop(record.id)
    return [*found.values()]


def _in_feed(database: PzpDatabase, record: PzpRecord) -> Iterator[tuple[str, Message]]:
    """A message, behind the identity that it is for, or of, and the way from the root of its feed."""
    identity = _identity_of(database, record)
    if identity is not None:
        for id_ in identity.topological():
            yield id_, _record(database, id_).message()
    feed = _feed_of(record)
    if feed is not None:
        for one in _way(database, record.id, feed):
            yield one.id, _bare(one.message())
    yield record.id, record.message()


def _identity_of(database: PzpDatabase, record: PzpRecord) -> PzpTangle | None:
    if record.version == 1:
        return None
    roots = [*roots_of(record), record.id] if record.owner is None else [record.owner]
    return next((found for root in roots if (found := database.tangle(root)).facts.identity), None)


def _feed_of(record: PzpRecord) -> str | None:
    """The feed that a message follows another one in; None if it follows none."""
    if record.owner is None or record.kind is None:
        return None
    feed = feed_id(VERSIONS[record.version].fields, record.owner, record.kind)
    return feed if feed in roots_of(record) else None


def _way(database: PzpDatabase, id_: str, root: str) -> list[PzpRecord]:
    """Return the path from a root to a message, without the message. Raises PzpMissingError."""
    ids = database.tangle(root).certificate(id_)
    if ids is None:
        raise PzpMissingError(id_, f"what leads from it to {root} is not all here")
    return [_record(database, one) for one in ids[:0:-1]]


def _bare(message: Message) -> Message:
    """A message without what it says, which its place is proved without."""
    return erase(version_of(dict(message)).fields, message)


def roots_of(record: PzpRecord) -> list[str]:
    """Return the tangles that a message names, its feed's among them, sorted."""
    tangles = metadata_of(record.message())["tangles"]
    return sorted(tangles) if isinstance(tangles, dict) else []


def _record(database: PzpDatabase, id_: str) -> PzpRecord:
    found = database.record(id_)
    if found is None:
        raise PzpMissingError(id_, "it is in a tangle, and not here")
    return found
