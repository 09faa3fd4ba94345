"""A message of PZP: its fields by version, its id, its names and its roots."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha512
from typing import Final, TypeAlias, cast

from blake3 import blake3

from tinyssb_node.limits import FEED_ID_SIZE
from tinyssb_node.pzp.messages import base58, limits
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.tangle import FeedName, KeyChange, RootFacts

Message: TypeAlias = Mapping[str, Json]
"""A message as JSON says it. Unchecked, until a version has checked it."""


@dataclass(frozen=True, slots=True)
class FieldLayout:
    """Names and values by which a version differs from the others; beside them it has rules of its own."""

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
    kind: str = "type"
    """The kind of message, in the metadata."""
    hash_size: int = limits.HASH_SIZE
    """Bytes of a hash: of BLAKE3 if there are 16, of SHA-512 if there are 32."""
    tag: bytes = b""
    """Bytes before the metadata that are signed, too."""
    scheme: str = "ppppp"
    """Of URIs."""
    account: str = "group"
    """The word for an identity in URIs."""
    own: str | None = None
    """The owner in an identity's own messages."""
    anybody: str | None = None
    """The owner in messages that any key may sign."""

    outer: frozenset[str] = field(init=False)
    """The names of a message's fields."""
    inner: frozenset[str] = field(init=False)
    """The names of its metadata's fields."""

    def __post_init__(self) -> None:
        """Gather the names once: every message that is checked is compared with them."""
        names = {self.payload, "metadata", "sig"}
        object.__setattr__(self, "outer", frozenset(names if self.author_signed else names | {self.author}))
        names = {self.payload_hash, self.payload_size, self.owner, "tangles", self.kind, "v"}
        object.__setattr__(self, "inner", frozenset(names | {self.tips} if self.tips else names))


V4_FIELDS: Final = FieldLayout(
    4, "data", "dataHash", "dataSize", "sigkey", False, "account", "accountTips", kind="domain", hash_size=32,
    tag=b":msg-v4:", scheme="pzp", account="account", own="self", anybody="any",
)  # fmt: skip
V2_FIELDS: Final = FieldLayout(2, "data", "dataHash", "dataSize", "pubkey", False, "group", "groupTips")
V1_FIELDS: Final = FieldLayout(1, "content", "hash", "size", "who", True, "who", None)
IDENTITY_TYPE: Final = "group"
"""V2: the type of messages that found a group and add keys to it."""
ACCOUNT_DOMAIN: Final = "account__"
"""V4: the beginning of the domain of an account's messages."""
CONFIRMS: Final = "confirms"
"""In a message that removes a key: the messages of that key that stay valid (docs/formats/pzp.md, "Removed keys")."""
ADD_POWER: Final = "add"
DEL_POWER: Final = "del"
POWERS: Final = frozenset({ADD_POWER, DEL_POWER, "internal-encryption", "external-encryption"})
"""V4: the powers that a key of an account may have; the first two are to add and to remove keys."""
_SIGNING: Final = frozenset({"sig", "shs-and-sig"})
"""V4: purposes of keys that sign."""


def hash_bytes(fields: FieldLayout, data: bytes) -> str:
    """The hash of *data* as PZP writes it."""
    if fields.hash_size == limits.HASH_SIZE:
        return base58.encode(blake3(data).digest(limits.HASH_SIZE))
    return base58.encode(sha512(data).digest()[: fields.hash_size])


def hash_and_size(fields: FieldLayout, payload: Json) -> tuple[str, int]:
    """Hash and size in bytes of what is said. Raises what ``canonical`` does."""
    data = canonical(payload)
    return hash_bytes(fields, data), len(data)


def decoded(text: str) -> bytes | None:
    """The bytes of an id or key, which are remembered; None if *text* is no base58."""
    return _decoded(text) if len(text) <= limits.BASE58_MAX else None


@lru_cache(maxsize=4_096)  # 1 MB; each message of a feed names the same group and key
def _decoded(text: str) -> bytes | None:
    try:
        return base58.decode(text)
    except ValueError:
        return None


def is_hash(fields: FieldLayout, value: object) -> bool:
    """Return True if *value* is the text of a hash of the version."""
    return isinstance(value, str) and len(decoded(value) or b"") == fields.hash_size


def is_id(value: object) -> bool:
    """Return True if *value* may be the id of a message, of whatever version."""
    return isinstance(value, str) and len(decoded(value) or b"") in limits.ID_SIZES


def is_key(value: object) -> bool:
    """Return True if *value* is the text of 32 bytes."""
    return isinstance(value, str) and len(decoded(value) or b"") == FEED_ID_SIZE


def metadata_of(message: Message) -> dict[str, Json]:
    """The metadata of a message whose shape was checked."""
    return cast("dict[str, Json]", message["metadata"])


def message_id(fields: FieldLayout, message: Message) -> str:
    """The id of *message*, whose metadata there has to be. Raises what ``canonical`` does."""
    return hash_bytes(fields, canonical(message["metadata"]))


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
        fields.kind: kind,
        "v": fields.v,
    }
    if fields.tips:
        metadata[fields.tips] = None
    return metadata


def owner_of(fields: FieldLayout, metadata: Mapping[str, Json]) -> Json:
    """The owner of a message: a group, in V1 the author's key; None in an identity's own messages, and for anybody."""
    owner = metadata.get(fields.owner)
    return None if isinstance(owner, str) and owner in (fields.own, fields.anybody) else owner


def feed_id(fields: FieldLayout, owner: str, kind: str) -> str:
    """The id of the feed of *owner*, a group or in V1 a key, with messages of type *kind*."""
    return hash_bytes(fields, canonical(root_metadata(fields, owner, kind)))


def erase(fields: FieldLayout, message: Message) -> dict[str, Json]:
    """*message* without what it says; its id and signature hold."""
    return {**message, fields.payload: None}


def uri(fields: FieldLayout, message: Message) -> str:
    """The name of a checked message for people and links."""
    metadata = metadata_of(message)
    owner = metadata[fields.owner]
    names = f"{'null' if owner is None else owner}/{metadata[fields.kind]}"
    return f"{fields.scheme}:message/v{fields.v}/{names}/{message_id(fields, message)}"


def group_uri(fields: FieldLayout, group: str) -> str:
    """The name of an identity for people and links."""
    return f"{fields.scheme}:{fields.account}/v{fields.v}/{group}"


_URI_BEGINNINGS: Final = ("pzp:message/", "pzp:account/", "ppppp:message/", "ppppp:group/")


def id_of_uri(text: str) -> str:
    """The id that *text* names, be it a URI or the id itself. Raises ValueError if there is none."""
    found = text.rsplit("/", 1)[-1] if text.startswith(_URI_BEGINNINGS) else text
    if not is_id(found):
        raise ValueError(f"{text[: limits.SHOWN_MAX]!a} names no message: an id is 16 or 32 bytes in base58")
    return found


def root_facts(fields: FieldLayout, message: Message) -> RootFacts:
    """Return the facts about a tangle that its root *message*, already checked, states."""
    metadata = metadata_of(message)
    size = metadata[fields.payload_size]
    payload = message[fields.payload]
    empty = payload is None or payload in ("", 0)
    unread = metadata[fields.payload_hash] is None and isinstance(size, int) and size <= 0
    tipless = fields.tips is None or metadata[fields.tips] is None
    own = fields.own is not None and metadata[fields.owner] == fields.own
    if empty and unread and tipless and not own:
        return RootFacts(FeedName(metadata[fields.owner], metadata.get(fields.kind)), version=fields.v)
    identity = fields.tips is not None and is_identity_kind(fields, metadata)
    return RootFacts(identity=identity, version=fields.v)


def is_identity_kind(fields: FieldLayout, metadata: Mapping[str, Json]) -> bool:
    """Return True if a root with *metadata* founds an identity."""
    if fields.own is not None:
        return metadata.get(fields.owner) == fields.own
    return metadata.get(fields.kind) == IDENTITY_TYPE and metadata.get(fields.owner) is None


def key_change(fields: FieldLayout, message: Message) -> KeyChange | None:
    """The key that *message* of an identity adds or removes; None if there is none, or it was erased."""
    payload, author = message[fields.payload], author_of(fields, message)
    if fields.tips is None or not isinstance(payload, dict) or not isinstance(author, str):
        return None
    confirms = _confirms(payload)
    if fields.own is None:
        added, removed = payload.get("add"), payload.get("del")
        if isinstance(added, str):
            return KeyChange(author, added, powers=POWERS)
        return KeyChange(author, removed, True, confirms=confirms) if isinstance(removed, str) else None
    action, key, powers = payload.get("action"), payload.get("key"), payload.get("powers")
    named = key.get("bytes") if isinstance(key, dict) else None
    if action not in ("add", "del") or not isinstance(key, dict) or not isinstance(named, str):
        return None
    signs = key.get("purpose") in _SIGNING and key.get("algorithm") == "ed25519"
    granted = frozenset(one for one in powers if isinstance(one, str)) if isinstance(powers, list) else None
    if action == "del":
        return KeyChange(author, named, True, signs, confirms=confirms)
    return KeyChange(author, named, False, signs, granted or frozenset())


def _confirms(payload: Mapping[str, Json]) -> Mapping[str, Sequence[str]] | None:
    """Return the messages that the removal of a key confirms, in so far as they have the right form."""
    named = payload.get(CONFIRMS)
    if not isinstance(named, dict):
        return None
    return {
        root: [one for one in ids if isinstance(one, str)]
        for root, ids in named.items()
        if isinstance(ids, list)
    }


def consent_bytes(account: str) -> bytes:
    """Return the bytes that the owner of an added key signs (docs/formats/pzp.md, "Accounts of V4")."""
    return b":account-add:" + ",".join(map(str, base58.decode(account))).encode()
