"""The rules by which a message is taken, each a function that raises the error of what it finds broken.

A version is a list of them (``versions``). Those up to the signature are the original program's, with its order and its
laxness; where JavaScript throws in place of an answer, the message is refused. ``strictly`` has the others.
"""

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tinyssb_node.codec.crypto import verify
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import FEED_ID_SIZE, SIGNATURE_SIZE
from tinyssb_node.pzp.messages import base58, errors, limits
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.message import (
    FieldLayout,
    Message,
    author_of,
    decoded,
    hash_and_size,
    hash_bytes,
)
from tinyssb_node.pzp.messages.tangle import PzpTangle

_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(slots=True)
class ValidationCase:
    """One message, offered for one tangle."""

    fields: FieldLayout
    message: Message
    tangle: PzpTangle
    """What is known of the tangle; empty: the message has to be its root."""
    keys: Container[str] = ()
    """The keys of the message's group, as far as they are known."""
    metadata: dict[str, Json] = field(init=False)
    """The metadata; nothing, if it is no object."""
    place: Mapping[str, Json] = field(init=False)
    """Depth and ``prev`` in the tangle; nothing, if there is none."""
    known: dict[str, int] = field(default_factory=dict, init=False)
    """Depths of those of ``prev`` that the tangle has, once they were looked up."""
    key: bytes = field(default=b"", init=False)
    """The author's key, once it was checked."""
    _signed: bytes | None = field(default=None, init=False)
    _id: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Look once at what most rules look at; where it is not what it should be, a rule says so."""
        message: object = self.message  # whatever JSON said
        metadata = message.get("metadata") if isinstance(message, dict) else None
        self.metadata = metadata if isinstance(metadata, dict) else {}
        self.offer(self.tangle)

    def offer(self, tangle: PzpTangle) -> None:
        """Offer the message for *tangle*, be it the first one or another."""
        self.tangle = tangle
        tangles = self.metadata.get("tangles")
        place = tangles.get(tangle.root) if isinstance(tangles, dict) else None
        self.place = place if isinstance(place, dict) else {}
        self.known = {}

    def field_of(self, name: str) -> str:
        """What to call *name* of the place."""
        return f"metadata.tangles.{self.tangle.root}.{name}"

    @property
    def signed(self) -> bytes:
        """What is hashed and signed. Raises what ``canonical`` does."""
        if self._signed is None:
            self._signed = canonical(self.message["metadata"])
        return self._signed

    @property
    def id(self) -> str:
        """The message's id. Raises what ``canonical`` does."""
        if self._id is None:
            self._id = hash_bytes(self.signed)
        return self._id


Rule: TypeAlias = Callable[[ValidationCase], None]
"""Raises a MessageError if what it asks for is not so."""


def is_integer(value: object, least: int) -> bool:
    """Whether *value* is an integer from *least* that a double holds exactly; ``true`` is none."""
    return type(value) is int and least <= value <= limits.INTEGER_MAX


def counts(value: object) -> bool:
    """Whether JavaScript takes *value* for true: empty lists and objects are."""
    return isinstance(value, list | dict) or bool(value)


def shape(case: ValidationCase) -> None:
    """The fields are there, and of the version."""
    fields = case.fields
    message: object = case.message  # whatever JSON said
    if not isinstance(message, dict | list):
        raise errors.NotAnObjectError("the message", message)
    if not isinstance(message, dict) or fields.payload not in message:
        raise errors.MissingError(fields.payload, list(message))
    metadata = message.get("metadata")
    if not isinstance(metadata, dict | list):
        raise errors.NotAnObjectError("metadata", metadata)
    if not (isinstance(metadata, dict) and metadata.keys() >= fields.inner):
        later = (
            {"v", "type"} if fields.author_signed else {"v"}
        )  # which the original asks for by another rule
        if missing := [name for name in fields.inner if name not in metadata and name not in later]:
            raise errors.MissingError(f"metadata.{min(missing)}", list(metadata))
    tangles = metadata["tangles"] if isinstance(metadata, dict) else None
    if fields.author_signed and not isinstance(tangles, dict | list | None):
        raise errors.NotAnObjectError("metadata.tangles", tangles)  # V2's roots may have anything
    version = metadata.get("v") if isinstance(metadata, dict) else None
    if not (is_integer(version, 0) and version == fields.v):
        raise errors.VersionError("metadata.v", version, str(fields.v))
    if not isinstance(message.get("sig"), str):
        raise errors.NotTextError("sig", message.get("sig"))


def author(case: ValidationCase) -> None:
    """The author's key is one by its size."""
    name = f"metadata.{case.fields.author}" if case.fields.author_signed else case.fields.author
    key = author_of(case.fields, case.message)
    case.key = _sized(name, key, decoded(key) if isinstance(key, str) else None, FEED_ID_SIZE)


def _sized(name: str, text: Json, found: bytes | None, size: int) -> bytes:
    """*found*, what base58 made of *text*, if it has *size* bytes."""
    if not isinstance(text, str):
        raise errors.NotTextError(name, text)
    if found is None:
        raise errors.Base58Error(name, text)
    if len(found) != size:
        raise errors.LengthError(name, text, f"{size}, not {len(found)}")
    return found


def payload_size(case: ValidationCase) -> None:
    """The size of what is said is one."""
    name = case.fields.payload_size
    if not is_integer(case.metadata[name], 0):
        raise errors.SizeError(f"metadata.{name}", case.metadata[name])


def payload(case: ValidationCase) -> None:
    """What is said is what was signed, or was erased."""
    fields, said = case.fields, case.message[case.fields.payload]
    if said is None:
        return
    if isinstance(said, list):
        raise errors.PayloadListError(fields.payload, said)
    if not isinstance(said, dict | str):
        raise errors.PayloadKindError(fields.payload, said, "an object, a string or null")
    found, size = hash_and_size(said)
    if found != case.metadata[fields.payload_hash]:
        raise errors.PayloadHashError(
            fields.payload, said, f"{case.metadata[fields.payload_hash]!a}, not {found}"
        )
    if size != case.metadata[fields.payload_size]:
        raise errors.PayloadSizeError(
            fields.payload, said, f"{case.metadata[fields.payload_size]}, not {size}"
        )


def kind(case: ValidationCase) -> None:
    """The type is a word."""
    found = case.metadata.get("type")
    if not isinstance(found, str):
        raise errors.NotTextError("metadata.type", found)
    if len(found) > limits.TYPE_MAX:
        raise errors.TypeLongError("metadata.type", found, str(limits.TYPE_MAX))
    if len(found) < limits.TYPE_MIN:
        raise errors.TypeShortError("metadata.type", found, str(limits.TYPE_MIN))
    if _OTHER_CHARACTERS.search(found):
        raise errors.TypeCharactersError("metadata.type", found)


def is_feed_root(case: ValidationCase) -> bool:
    """Whether the message is one that anybody could have made: it says nothing, for a group."""
    fields, metadata = case.fields, case.metadata
    return (
        metadata[fields.payload_hash] is None
        and metadata[fields.payload_size] == 0
        and counts(metadata[fields.owner])
        and (fields.tips is None or metadata[fields.tips] is None)
        and not (isinstance(metadata["tangles"], dict | list | str) and metadata["tangles"])
    )


def member(case: ValidationCase) -> None:
    """Who writes for a group has a key of it; anybody may make a feed's root."""
    owner = case.metadata[case.fields.owner]
    if not is_feed_root(case) and counts(owner) and case.message[case.fields.author] not in case.keys:
        raise errors.NotMemberError(case.fields.author, case.message[case.fields.author], f"{owner!a}")


def place(case: ValidationCase) -> None:
    """The message is the tangle's root, or has a place in it that agrees with what is known."""
    if case.metadata["tangles"] is None:
        raise errors.NotAnObjectError("metadata.tangles", None)
    if not len(case.tangle):
        root(case)
        return
    tangles = case.metadata["tangles"]
    if not (isinstance(tangles, dict) and counts(tangles.get(case.tangle.root))):
        raise errors.NoPlaceError("metadata.tangles", tangles, case.tangle.root)
    if not isinstance(case.place.get("prev"), list):
        raise errors.PrevListError(case.field_of("prev"), case.place.get("prev"))
    if not is_integer(case.place.get("depth"), 1):
        raise errors.DepthRangeError(case.field_of("depth"), case.place.get("depth"))
    feed = case.tangle.facts.feed
    if feed is not None and not _same(case.metadata.get("type"), feed.type):
        raise errors.FeedTypeError("metadata.type", case.metadata.get("type"), f"{feed.type!a}")
    if feed is not None and not _same(case.metadata[case.fields.owner], feed.owner):
        raise errors.FeedOwnerError(
            f"metadata.{case.fields.owner}", case.metadata[case.fields.owner], f"{feed.owner!a}"
        )
    links(case)


def _same(one: object, other: object) -> bool:
    """Whether both are equal as JavaScript's ``===`` tells: ``true`` is not 1, and two lists never are."""
    return type(one) is type(other) and not isinstance(one, list | dict) and one == other


def root(case: ValidationCase) -> None:
    """The message is the root of the tangle, and says nothing of a place in it."""
    if case.id != case.tangle.root:
        raise errors.RootError("the message", case.id, case.tangle.root)
    tangles = case.metadata["tangles"]
    if isinstance(tangles, dict) and counts(tangles.get(case.tangle.root)):
        raise errors.RootPlaceError("metadata.tangles", tangles)


def links(case: ValidationCase) -> None:
    """``prev`` is ids in order, and the depth follows from theirs, as far as they are known."""
    prev, depth = case.place["prev"], case.place["depth"]
    assert isinstance(prev, list)
    assert isinstance(depth, int)
    last: str | None = None
    for one in prev:
        if not isinstance(one, str):
            raise errors.PrevTextError(case.field_of("prev"), one)
        if one.startswith("ppppp:"):
            raise errors.PrevUriError(case.field_of("prev"), one)
        if one == last:
            raise errors.PrevTwiceError(case.field_of("prev"), one)
        if last is not None and _is_before(one, last):
            raise errors.PrevOrderError(case.field_of("prev"), one)
        last = one
        found = case.tangle.depth(one)
        if found is not None:
            if found >= depth:
                raise errors.PrevDepthError(case.field_of("prev"), one, f"{depth}, not {found}")
            case.known[one] = found
    if not case.known:
        raise errors.PrevUnknownError(case.field_of("prev"), prev)
    deepest = max(case.known.values())
    if len(case.known) == len(prev) and depth != deepest + 1:
        raise errors.DepthError(case.field_of("depth"), depth, str(deepest + 1))


def _is_before(one: str, other: str) -> bool:
    """Whether *one* comes first in the order of UTF-16 code units; ids, being ASCII, have it in any order."""
    if one.isascii() and other.isascii():
        return one < other
    return one.encode("utf-16-be", "surrogatepass") < other.encode("utf-16-be", "surrogatepass")


def signature(case: ValidationCase) -> None:
    """The metadata is signed by the author."""
    text = case.message["sig"]
    try:
        signed = _sized("sig", text, base58.decode(str(text)), SIGNATURE_SIZE)
    except ValueError:
        raise errors.Base58Error("sig", text) from None
    if not verify(FeedId(case.key), signed, case.signed):
        raise errors.SignatureError("sig", case.message["sig"])
