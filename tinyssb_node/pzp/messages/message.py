"""A message of PZP: its fields by version, its id, its names and its roots."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, TypeAlias, cast

from blake3 import blake3

from tinyssb_node.limits import FEED_ID_SIZE
from tinyssb_node.pzp.messages import base58, limits
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.tangle import FeedName, RootFacts

Message: TypeAlias = Mapping[str, Json]
"""A message as JSON says it. Unchecked, until a version has checked it."""


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """Field names of a version: the versions read here differ only in these and in their rules."""

    v: int
    """The number in ``metadata.v``."""
    payload: str
    """The payload."""
    payload_hash: str
    """Its hash, in the metadata."""
    payload_size: str
    """Its size in bytes, in the metadata."""
    author: str
    """The author's key."""
    author_signed: bool
    """True: the author's key is in the metadata, and so is hashed and signed."""
    owner: str
    """The owner of its feed, in the metadata: a group, or the author."""
    tips: str | None
    """The tips of the group that the author knew, in the metadata; None: there are no groups."""

    outer: frozenset[str] = field(init=False)
    """The names of a message's fields."""
    inner: frozenset[str] = field(init=False)
    """The names of its metadata's fields."""

    def __post_init__(self) -> None:
        """Gather the names once: every message that is checked is compared with them."""
        names = {self.payload, "metadata", "sig"}
        object.__setattr__(self, "outer", frozenset(names if self.author_signed else names | {self.author}))
        names = {self.payload_hash, self.payload_size, self.owner, "tangles", "type", "v"}
        object.__setattr__(self, "inner", frozenset(names | {self.tips} if self.tips else names))


V2_FIELDS: Final = FieldLayout(2, "data", "dataHash", "dataSize", "pubkey", False, "group", "groupTips")
V1_FIELDS: Final = FieldLayout(1, "content", "hash", "size", "who", True, "who", None)
IDENTITY_TYPE: Final = "group"
"""The type of messages that found a group and add keys to it."""


def hash_bytes(data: bytes) -> str:
    """The hash of *data* as PZP writes it."""
    return base58.encode(blake3(data).digest(limits.HASH_SIZE))


def hash_and_size(payload: Json) -> tuple[str, int]:
    """Hash and size in bytes of what is said. Raises what ``canonical`` does."""
    data = canonical(payload)
    return hash_bytes(data), len(data)


def decoded(text: str) -> bytes | None:
    """The bytes of an id or key, which are remembered; None if *text* is no base58."""
    return _decoded(text) if len(text) <= limits.BASE58_MAX else None


@lru_cache(maxsize=4_096)  # 1 MB; each message of a feed names the same group and key
def _decoded(text: str) -> bytes | None:
    try:
        return base58.decode(text)
    except ValueError:
        return None


def is_hash(value: object) -> bool:
    """Return True if *value* is the text of 16 bytes."""
    return isinstance(value, str) and len(decoded(value) or b"") == limits.HASH_SIZE


def is_key(value: object) -> bool:
    """Return True if *value* is the text of 32 bytes."""
    return isinstance(value, str) and len(decoded(value) or b"") == FEED_ID_SIZE


def metadata_of(message: Message) -> dict[str, Json]:
    """The metadata of a message whose shape was checked."""
    return cast("dict[str, Json]", message["metadata"])


def message_id(message: Message) -> str:
    """The id of *message*, whose metadata there has to be. Raises what ``canonical`` does."""
    return hash_bytes(canonical(message["metadata"]))


def author_of(fields: FieldLayout, message: Message) -> Json:
    """The author's key, as it is written."""
    return metadata_of(message).get(fields.author) if fields.author_signed else message.get(fields.author)


def root_metadata(fields: FieldLayout, owner: str, kind: str) -> dict[str, Json]:
    """The metadata of a feed's root, which anybody can work out."""
    metadata: dict[str, Json] = {
        fields.payload_hash: None,
        fields.payload_size: 0,
        fields.owner: owner,
        "tangles": {},
        "type": kind,
        "v": fields.v,
    }
    if fields.tips:
        metadata[fields.tips] = None
    return metadata


def feed_id(fields: FieldLayout, owner: str, kind: str) -> str:
    """The id of the feed of *owner*, a group or in V1 a key, with messages of type *kind*."""
    return hash_bytes(canonical(root_metadata(fields, owner, kind)))


def erase(fields: FieldLayout, message: Message) -> dict[str, Json]:
    """*message* without what it says; its id and signature hold."""
    return {**message, fields.payload: None}


def uri(fields: FieldLayout, message: Message) -> str:
    """The name of a checked message for people and links."""
    metadata = metadata_of(message)
    owner = metadata[fields.owner]
    return f"ppppp:message/v{fields.v}/{'null' if owner is None else owner}/{metadata['type']}/{message_id(message)}"


def group_uri(group: str) -> str:
    """The name of a group for people and links."""
    return f"ppppp:group/v2/{group}"


def id_of_uri(text: str) -> str:
    """The id that *text* names, be it a URI or the id itself. Raises ValueError if there is none."""
    found = text.rsplit("/", 1)[-1] if text.startswith(("ppppp:message/", "ppppp:group/")) else text
    if not is_hash(found):
        raise ValueError(f"{text[: limits.SHOWN_MAX]!a} names no message: an id is 16 bytes in base58")
    return found


def root_facts(fields: FieldLayout, message: Message) -> RootFacts:
    """Return the facts about a tangle that its root *message*, already checked, states."""
    metadata = metadata_of(message)
    size = metadata[fields.payload_size]
    payload = message[fields.payload]
    empty = payload is None or payload in ("", 0)
    unread = metadata[fields.payload_hash] is None and isinstance(size, int) and size <= 0
    tipless = fields.tips is None or metadata[fields.tips] is None
    if empty and unread and tipless:
        return RootFacts(FeedName(metadata[fields.owner], metadata.get("type")))
    return RootFacts(identity=fields.tips is not None and is_identity_kind(fields, metadata))


def is_identity_kind(fields: FieldLayout, metadata: Mapping[str, Json]) -> bool:
    """Return True if a root with *metadata* founds an identity."""
    return metadata.get("type") == IDENTITY_TYPE and metadata.get(fields.owner) is None


def added_key(fields: FieldLayout, message: Message) -> str | None:
    """The key that *message* of an identity adds; None if it adds none, or was erased."""
    payload = message[fields.payload]
    added = payload.get("add") if isinstance(payload, dict) else None
    return added if isinstance(added, str) else None
