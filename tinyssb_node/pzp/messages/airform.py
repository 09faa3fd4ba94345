"""A PZP message as the content of an entry (docs/formats/pzp-air.md): names left out, ids and signature as bytes."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.codec.varint import encode_varint, read_varint
from tinyssb_node.limits import FEED_ID_SIZE, SIGNATURE_SIZE
from tinyssb_node.pzp.messages import base58, limits
from tinyssb_node.pzp.messages.errors import AirFormError, MessageError
from tinyssb_node.pzp.messages.jsontext import Json, canonical, read
from tinyssb_node.pzp.messages.message import (
    FieldLayout,
    Message,
    author_of,
    decoded,
    feed_id,
    hash_and_size,
    is_hash,
    is_key,
)
from tinyssb_node.pzp.messages.rules import is_integer
from tinyssb_node.pzp.messages.versions import VERSIONS

WORD: Final = "PZP"
"""First item of the list that a message is carried as."""

_VERSION_MASK: Final = 0x0F
_OWNED: Final = 0x10
_FEED_ROOT: Final = 0x20
_ERASED: Final = 0x40
_ANYBODY: Final = 0x80
_TYPE: Final = re.compile(rf"[a-zA-Z0-9_]{{{limits.TYPE_MIN},{limits.TYPE_MAX}}}")
_BASE58: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]{16,88}")
"""Pattern of a possible id, key or signature."""


@dataclass(frozen=True, slots=True)
class AirFormTooLarge:
    """A message that no entry carries."""

    size: int
    """Bytes of content it would have."""
    most: int
    """Bytes of content that an entry carries of a message."""


def serialize_air(message: Message) -> bytes | AirFormTooLarge:
    """The content of an entry that carries *message*, checked or not: its one form.

    Raises MessageError for what has no canonical form, and for too deep nesting.
    """
    text = canonical(cast("Json", message))
    carried = bipf.encode([WORD, text.decode()])
    if len(text) <= limits.TEXT_MAX:
        compact = _compact(cast("Message", read(text)))
        if compact is not None and len(compact) <= len(carried):
            carried = compact
    return AirFormTooLarge(len(carried), limits.AIR_MAX) if len(carried) > limits.AIR_MAX else carried


def parse_air(content: bytes) -> dict[str, Json] | None:
    """The message that *content* carries, not checked by any rule of PZP; None if it is other content.

    Raises AirFormError for a message that is in another form than ``serialize_air`` gives it.
    """
    try:
        items = bipf.decode(content)
    except bipf.BipfError:
        return None
    if not isinstance(items, list) or items[:1] != [WORD]:
        return None
    if len(content) > limits.AIR_MAX:
        raise AirFormError("the content", len(content), f"at most {limits.AIR_MAX} bytes")
    try:
        message = _parse(items[1:])
        again = serialize_air(message)
    except AirFormError:
        raise
    except MessageError as error:
        raise AirFormError("the content", str(error), "JSON") from None
    if again != content:
        raise AirFormError("the content", content, "in its one form")
    return message


def _parse(items: list[Value]) -> dict[str, Json]:
    match items:
        case [str(text)]:
            message = read(text)
            if not isinstance(message, dict):
                raise AirFormError("the text", text, "an object")
            return message
        case [bytes(head)]:
            return _Head(head).message(None)
        case [bytes(head), said]:
            return _Head(head).message(_unpack(said))
    raise AirFormError("the content", items, "text, or a head and what is said")


# --- what is said: BIPF, in which bytes stand for their base58


def _pack(value: Json) -> Value:
    if isinstance(value, str):
        data = decoded(value) if _BASE58.fullmatch(value) else None
        return data if data is not None and len(data) in limits.AIR_RAW_SIZES else value
    if isinstance(value, dict):
        order = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return {cast("str | bytes", _pack(key)): _pack(value[key]) for key in order}
    if isinstance(value, list):
        return [_pack(item) for item in value]
    return value


def _unpack(value: Value) -> Json:
    if isinstance(value, bytes):
        return _text_of(value)
    if isinstance(value, dict):
        unpacked: dict[str, Json] = {}
        for key, item in value.items():
            name = _text_of(key) if isinstance(key, bytes) else key
            if not isinstance(name, str):
                raise AirFormError("a key", key, "text")
            unpacked[name] = _unpack(item)
        return unpacked
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    return value


def _text_of(data: bytes) -> str:
    if len(data) not in limits.AIR_RAW_SIZES:
        raise AirFormError("bytes", data, "an id, a key or a signature")
    return base58.encode(data)


# --- what is said about it


def _compact(message: Message) -> bytes | None:
    """*message* with its names left out; None if it has other fields, or others in them, than checked messages."""
    metadata = message.get("metadata")
    v = metadata.get("v") if isinstance(metadata, dict) else None
    version = VERSIONS.get(v) if type(v) is int else None
    if version is None or not isinstance(metadata, dict):
        return None
    fields = version.fields
    if not _is_regular(fields, message, metadata):
        return None
    said = message[fields.payload]
    items: list[Value] = [WORD, _write_head(fields, message, metadata)]
    if said is not None:
        items.append(_pack(said))
    try:
        return bipf.encode(items)
    except bipf.BipfError:  # nested deeper than BIPF
        return None


def _is_regular(fields: FieldLayout, message: Message, metadata: Mapping[str, Json]) -> bool:
    """Return True if a head can express *message*."""
    if message.keys() != fields.outer or metadata.keys() != fields.inner:
        return False
    kind, sig = metadata[fields.kind], message["sig"]
    if not isinstance(kind, str) or not isinstance(sig, str) or _TYPE.fullmatch(kind) is None:
        return False
    if not is_key(author_of(fields, message)) or len(decoded(sig) or b"") != SIGNATURE_SIZE:
        return False
    owner = metadata[fields.owner]
    if fields.tips is not None and not (owner in (fields.own, fields.anybody) or is_hash(fields, owner)):
        return False
    return _is_regular_payload(fields, message, metadata) and _has_regular_links(fields, metadata)


def _is_regular_payload(fields: FieldLayout, message: Message, metadata: Mapping[str, Json]) -> bool:
    said, found, size = message[fields.payload], metadata[fields.payload_hash], metadata[fields.payload_size]
    if not is_integer(size, 0):
        return False
    if said is not None:
        return (found, size) == hash_and_size(fields, said)
    if is_hash(fields, found):
        return True
    return (
        found is None and size == 0 and metadata["tangles"] == {} and metadata.get(fields.tips or "") is None
    )


def _has_regular_links(fields: FieldLayout, metadata: Mapping[str, Json]) -> bool:
    tips = metadata[fields.tips] if fields.tips else None
    tangles = metadata["tangles"]
    if not isinstance(tips, list | None) or not isinstance(tangles, dict):
        return False
    ids: list[Json] = [*(tips or ()), *tangles]
    for place in tangles.values():
        if not isinstance(place, dict) or place.keys() != {"depth", "prev"}:
            return False
        prev = place["prev"]
        if not is_integer(place["depth"], 0) or not isinstance(prev, list):
            return False
        ids += prev
    return len(ids) <= limits.AIR_IDS_MAX and all(is_hash(fields, one) for one in ids)


def _known_ids(fields: FieldLayout, owner: Json, kind: str) -> list[str]:
    """The ids that a head need not say in full: the group's, and that of its feed's root."""
    if not isinstance(owner, str) or owner in (fields.own, fields.anybody):
        return []
    root = feed_id(fields, owner, kind)
    return [owner, root] if fields.tips else [root]


def _write_head(fields: FieldLayout, message: Message, metadata: Mapping[str, Json]) -> bytes:
    """The head of a message that is regular."""
    kind, owner = str(metadata[fields.kind]), metadata[fields.owner]
    owned = fields.tips is not None and owner not in (fields.own, fields.anybody)
    anybody = fields.anybody is not None and owner == fields.anybody
    is_root = metadata[fields.payload_hash] is None
    erased = message[fields.payload] is None and not is_root
    out = bytearray(
        [fields.v | _OWNED * owned | _FEED_ROOT * is_root | _ERASED * erased | _ANYBODY * anybody]
    )
    out += _raw(author_of(fields, message)) + _raw(message["sig"])
    out += encode_varint(len(kind)) + kind.encode()
    if owned:
        out += _raw(owner)
    if is_root:
        return bytes(out)
    if erased:
        out += _raw(metadata[fields.payload_hash]) + encode_varint(cast("int", metadata[fields.payload_size]))
    numbers = {id_: number for number, id_ in enumerate(_known_ids(fields, owner, kind), 1)}
    if fields.tips:
        tips = cast("list[str] | None", metadata[fields.tips])
        out += encode_varint(0 if tips is None else len(tips) + 1)
        out += _write_ids(tips or (), numbers)
    tangles = cast("dict[str, dict[str, Json]]", metadata["tangles"])
    out += encode_varint(len(tangles))
    for root, place in sorted(tangles.items()):
        prev = cast("list[str]", place["prev"])
        out += _write_ids([root], numbers) + encode_varint(cast("int", place["depth"]))
        out += encode_varint(len(prev)) + _write_ids(prev, numbers)
    return bytes(out)


def _raw(text: Json) -> bytes:
    data = decoded(str(text))
    assert data is not None
    return data


def _write_ids(ids: Iterable[str], numbers: dict[str, int]) -> bytes:
    """*ids*, each in full the first time, which gives it a number, and by its number after that."""
    out = bytearray()
    for id_ in ids:
        number = numbers.get(id_)
        if number is None:
            numbers[id_] = len(numbers) + 1
            out += b"\0" + _raw(id_)
        else:
            out += encode_varint(number)
    return bytes(out)


class _Head:
    """Reads a head."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._ids: list[str] = []
        self._hash_size = limits.HASH_SIZE
        self._ids_left = limits.AIR_IDS_MAX

    def message(self, said: Json) -> dict[str, Json]:
        """The message with this head that says *said*. Raises AirFormError."""
        flags = self._bytes(1)[0]
        version = VERSIONS.get(flags & _VERSION_MASK)
        if version is None:
            raise AirFormError("the version", flags & _VERSION_MASK, "one that is read here")
        fields = version.fields
        author, sig = base58.encode(self._bytes(FEED_ID_SIZE)), base58.encode(self._bytes(SIGNATURE_SIZE))
        kind = self._kind()
        self._hash_size = fields.hash_size
        owner: Json = fields.own if fields.tips else author
        if flags & _ANYBODY:
            owner = fields.anybody
        if flags & _OWNED:
            owner = self._hash()
        metadata: dict[str, Json] = {fields.owner: owner, "tangles": {}, fields.kind: kind, "v": fields.v}
        if fields.tips:
            metadata[fields.tips] = None
        found: str | None = None
        size = 0
        if flags & _ERASED:
            found, size = self._hash(), self._number()
        elif not flags & _FEED_ROOT:
            found, size = hash_and_size(fields, said)
        metadata |= {fields.payload_hash: found, fields.payload_size: size}
        if not flags & _FEED_ROOT:
            metadata |= self._links(fields, _known_ids(fields, owner, kind))
        if self._at != len(self._data):
            raise AirFormError("the head", len(self._data), f"{self._at} bytes")
        message: dict[str, Json] = {fields.payload: said, "metadata": metadata, "sig": sig}
        return message if fields.author_signed else {**message, fields.author: author}

    def _links(self, fields: FieldLayout, known: list[str]) -> dict[str, Json]:
        self._ids = known
        links: dict[str, Json] = {}
        if fields.tips:
            count = self._number()
            links[fields.tips] = [*self._read_ids(count - 1)] if count else None
        return {**links, "tangles": self._tangles()}

    def _tangles(self) -> dict[str, Json]:
        tangles: dict[str, Json] = {}
        for _ in range(self._count(self._number())):
            (root,) = self._read_ids(1)
            depth = self._number()
            tangles[root] = {"depth": depth, "prev": [*self._read_ids(self._number())]}
        return tangles

    def _kind(self) -> str:
        try:
            return self._bytes(self._number()).decode("ascii")
        except UnicodeDecodeError as error:
            raise AirFormError("metadata.type", error.object, "ASCII") from None

    def _read_ids(self, count: int) -> list[str]:
        count = self._count(count)
        self._ids_left -= count
        return [self._id() for _ in range(count)]

    def _id(self) -> str:
        number = self._number()
        if number == 0:
            self._ids.append(self._hash())
            return self._ids[-1]
        if number > len(self._ids):
            raise AirFormError("the number of an id", number, f"at most {len(self._ids)}")
        return self._ids[number - 1]

    def _hash(self) -> str:
        return base58.encode(self._bytes(self._hash_size))

    def _count(self, count: int) -> int:
        if count > self._ids_left:
            raise AirFormError("ids", count, f"at most {limits.AIR_IDS_MAX} in all")
        return count

    def _number(self) -> int:
        read_ = read_varint(self._data, self._at, len(self._data), limits.AIR_NUMBER_SIZE_MAX)
        if read_ is None:
            raise AirFormError("a number", self._data[self._at :], "whole")
        number, self._at = read_
        return number

    def _bytes(self, size: int) -> bytes:
        found = self._data[self._at : self._at + size]
        if len(found) != size:
            raise AirFormError("the head", len(self._data), f"at least {self._at + size} bytes")
        self._at += size
        return found
