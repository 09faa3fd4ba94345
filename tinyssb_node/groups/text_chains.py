"""Forward secrecy of texts: chains of keys, their delivery to prekeys, and boxes (docs/formats/group-secrecy.md).

A chain is a hash ratchet: from a key follow all later ones and no earlier one. It is delivered under X25519 keys that
no seed gives back.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from typing import Final

from nacl.bindings import (
    crypto_scalarmult,
    crypto_scalarmult_base,
    crypto_secretbox,
    crypto_secretbox_open,
)
from nacl.exceptions import CryptoError
from nacl.exceptions import RuntimeError as SodiumError

from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import BipfError, Value
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import slp
from tinyssb_node.groups.derive import expand, hkdf
from tinyssb_node.groups.messages import (
    LEAVE,
    NAME,
    POST,
    GroupContent,
    GroupMessageError,
    body_of,
    checked_fields,
    fields_of,
)
from tinyssb_node.ids import FeedId, MessageId

PREKEY: Final = "group/prekey"
CHAIN: Final = "group/chain"
TEXT: Final = "group/text"
SERVICE: Final = frozenset({PREKEY, CHAIN})
"""Messages between nodes, which tell people nothing."""
UNCOVERED: Final = frozenset({NAME, LEAVE, PREKEY, CHAIN, TEXT})
"""Messages that are not encrypted a second time."""

_OURS: Final = b"tinyssb-group-v1"
_STEP: Final = slp((_OURS, b"step"))
_TEXT: Final = slp((_OURS, b"text"))
_CHECK: Final = slp((_OURS, b"check"))
_SALT: Final = sha256(b"tinyssb-group-v1/chain").digest()
_KEY: Final = group_limits.SECRET_SIZE
_HINT: Final = 4
_TAG: Final = 16
_NAME: Final = 8
_STEP_SIZE: Final = 2
_SALT_SIZE: Final = 8
_AUTHOR_SIZE: Final = 16
_HEAD: Final = _NAME + _STEP_SIZE + _SALT_SIZE


# --- keys


def next_key(key: bytes, steps: int = 1) -> bytes:
    """Return the key that is *steps* behind a key of a chain."""
    for _ in range(steps):
        key = expand(key, _STEP)
    return key


def text_key(key: bytes) -> bytes:
    """Return the key of the texts of a step."""
    return expand(key, _TEXT)


def check_of(key: bytes) -> bytes:
    """Return 16 bytes by which a key of a chain is recognised."""
    return expand(key, _CHECK, _TAG)


def chain_name(begun: MessageId) -> bytes:
    """Return the name, 8 bytes, of the chain that a message begins."""
    return begun[:_NAME]


# --- prekeys


def public_part(secret: bytes) -> bytes:
    """Return the part of a prekey that is published, 32 bytes; *secret* opens what is delivered to it."""
    return crypto_scalarmult_base(secret)


@dataclass(frozen=True, slots=True)
class Prekey:
    """A member's published prekey."""

    public: bytes
    wanted: bool
    """True if its author asks for the key of a chain."""

    @property
    def hint(self) -> bytes:
        """The bytes by which slots name it."""
        return self.public[:_HINT]


def prekey_body(prekey: Prekey) -> bytes:
    """Return the body of a message that publishes a prekey."""
    fields: dict[str, Value] = {"k": prekey.public}
    if prekey.wanted:
        fields["w"] = True
    return body_of(fields)


def parse_prekey(content: GroupContent) -> Prekey | None:
    """Return the prekey that a message publishes; None if it is of another kind, or malformed."""
    fields = _fields(content, PREKEY)
    public = None if fields is None else fields.get("k")
    if fields is None or not isinstance(public, bytes) or len(public) != _KEY:
        return None
    prekey = Prekey(public, "w" in fields)
    return prekey if prekey_body(prekey) == content.body else None


# --- deliveries


@dataclass(frozen=True, slots=True)
class ChainDelivery:
    """The key of a step of a chain, for some prekeys."""

    ephemeral: bytes
    slots: Mapping[bytes, Sequence[bytes]]
    """By the beginning of a prekey."""
    step: int
    check: bytes
    chain: bytes | None
    """Name of the chain; None: the message begins one."""


def delivery_body(
    key: bytes, step: int, chain: bytes | None, prekeys: Sequence[bytes], author: FeedId, secret: bytes
) -> bytes:
    """Return the body of a message by *author* that delivers the *key* of a step to *prekeys*; *secret* is 32 random
    bytes that are used for nothing else, ever."""
    ephemeral = crypto_scalarmult_base(secret)
    slots = b""
    for prekey in prekeys:
        mask = _mask(secret, prekey, ephemeral, prekey, author)
        if mask is not None:
            slots += prekey[:_HINT] + _xor(key, mask)
    fields: dict[str, Value] = {"e": ephemeral, "k": slots, "s": step, "t": check_of(key)}
    if chain is not None:
        fields["c"] = chain
    return body_of(fields)


def parse_delivery(content: GroupContent) -> ChainDelivery | None:
    """Return the delivery in a message; None if it is of another kind, or malformed."""
    fields = _fields(content, CHAIN)
    if fields is None or fields.keys() - {"c"} != {"e", "k", "s", "t"}:
        return None
    ephemeral, slots, step, check, chain = (fields.get(name) for name in "ekstc")
    if not (
        isinstance(ephemeral, bytes)
        and len(ephemeral) == _KEY
        and isinstance(slots, bytes)
        and len(slots) % (_HINT + _KEY) == 0
        and isinstance(step, int)
        and not isinstance(step, bool)
        and 0 <= step <= group_limits.STEP_MAX
        and isinstance(check, bytes)
        and len(check) == _TAG
    ):
        return None
    if "c" in fields:
        if not isinstance(chain, bytes) or len(chain) != _NAME:
            return None
    elif step:
        return None
    named: dict[bytes, list[bytes]] = {}
    for at in range(0, len(slots), _HINT + _KEY):
        one = slots[at : at + _HINT + _KEY]
        named.setdefault(one[:_HINT], []).append(one[_HINT:])
    return ChainDelivery(ephemeral, named, step, check, chain if isinstance(chain, bytes) else None)


def open_delivery(delivery: ChainDelivery, secret: bytes, prekey: bytes, author: FeedId) -> bytes | None:
    """Return the key that a message of *author* delivers to the *prekey* with that *secret*; None if there is none that
    fits."""
    slots = delivery.slots.get(prekey[:_HINT], ())
    mask = _mask(secret, delivery.ephemeral, delivery.ephemeral, prekey, author) if slots else None
    if mask is not None:
        for slot in slots:
            key = _xor(slot, mask)
            if compare_digest(check_of(key), delivery.check):
                return key
    return None


def _mask(secret: bytes, other: bytes, ephemeral: bytes, prekey: bytes, author: FeedId) -> bytes | None:
    """Return the mask of a slot; None if everybody could compute it."""
    try:
        shared = crypto_scalarmult(secret, other)
    except SodiumError:
        return None
    if not any(shared):
        return None
    return hkdf(shared, _SALT, slp((_OURS, b"slot", ephemeral, prekey, author)))


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left, "big") ^ int.from_bytes(right, "big")).to_bytes(len(left), "big")


# --- texts


@dataclass(frozen=True, slots=True)
class CoveredText:
    """A message that the key of a step opens."""

    chain: bytes
    """Name of its chain."""
    step: int
    nonce: bytes
    box: bytes


def cover(
    kind: str, body: bytes, key: bytes, chain: bytes, step: int, author: FeedId, salt: bytes
) -> tuple[str, bytes]:
    """Return kind and body of the message that covers a message of *kind* and *body*, with the *key* of texts of a
    step; *salt* is 8 random bytes."""
    fields = fields_of(body)
    text = fields.get("text")
    inner: list[Value] = (
        [text] if kind == POST and fields.keys() == {"text"} else [kind, dict(fields.items())]
    )
    box = crypto_secretbox(bipf.encode(inner), _nonce(salt, author), key)
    return TEXT, body_of({"t": chain + step.to_bytes(_STEP_SIZE, "big") + salt + box})


def parse_text(content: GroupContent) -> CoveredText | None:
    """Return the covered text of a message; None if it is of another kind, or malformed."""
    fields = _fields(content, TEXT)
    data = None if fields is None or fields.keys() != {"t"} else fields["t"]
    if not isinstance(data, bytes) or len(data) <= _HEAD + _TAG:
        return None
    step = int.from_bytes(data[_NAME : _NAME + _STEP_SIZE], "big")
    if step > group_limits.STEP_MAX:
        return None
    return CoveredText(data[:_NAME], step, data[_NAME + _STEP_SIZE : _HEAD], data[_HEAD:])


def uncover(text: CoveredText, content: GroupContent, key: bytes, author: FeedId) -> GroupContent | None:
    """Return the message in *text*, which *author* covered in *content*; None if *key* is wrong, or it is malformed."""
    try:
        inner = bipf.decode(crypto_secretbox_open(text.box, _nonce(text.nonce, author), key))
        match inner:
            case [str() as said]:
                kind, body = POST, body_of({"text": said})
            case [str() as kind, dict() as fields] if kind not in UNCOVERED:
                body = body_of(checked_fields(fields))
            case _:
                return None
        return GroupContent(kind, body, content.group, content.group_tangle)
    except (CryptoError, BipfError, GroupMessageError):
        return None


def _nonce(salt: bytes, author: FeedId) -> bytes:
    return salt + author[:_AUTHOR_SIZE]


def _fields(content: GroupContent, kind: str) -> dict[str, Value] | None:
    if content.kind != kind:
        return None
    try:
        return fields_of(content.body)
    except GroupMessageError:
        return None


def draw_salt(draw: Callable[[int], bytes]) -> bytes:
    """Return the random part of a text's nonce."""
    return draw(_SALT_SIZE)
