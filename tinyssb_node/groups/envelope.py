"""Envelopes (box2): sealed for up to 16 recipients, bound to the context of their entry (docs/formats/envelope.md).

An envelope does not name its recipients: `unbox` tries keys. The content it opens is authentic to the last byte. An
envelope that it cannot open is for others or damaged, which cannot be distinguished.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from nacl.bindings import crypto_secretbox, crypto_secretbox_open
from nacl.exceptions import CryptoError

from tinyssb_node.content.limits import SEAL_NONCE_SIZE
from tinyssb_node.errors import LocalError, PeerError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import EnvelopeContext
from tinyssb_node.groups.derive import derive, expand, labels

_NONCE: Final = bytes(SEAL_NONCE_SIZE)
"""A box's key is used once, so its nonce is always the same."""
_READ: Final = labels(b"read_key")
_HEADER: Final = labels(b"header_key")
_BODY: Final = labels(b"body_key")
_FLAGS_AT: Final = group_limits.OFFSET_SIZE


class EnvelopePart(StrEnum):
    """The part of an envelope that is wrong."""

    OFFSET = "offset"
    """The header gives a position at which no body can begin."""
    FLAGS = "flags"
    """The header asks for extensions, of which none is specified."""
    BODY = "body"
    """The body was changed, cut off or extended after it was sealed."""
    TEXT = "text"
    """There is nothing to seal."""
    RECIPIENTS = "recipients"
    """There are none, or more than slots."""
    GROUPS = "groups"
    """There are several, or one that does not come first: readers would not find their slot."""


class MalformedEnvelopeError(PeerError):
    """An envelope that one of our keys opens, and that its author made wrong or somebody changed."""

    def __init__(self, part: EnvelopePart, reason: str) -> None:
        super().__init__(reason)
        self.part = part


class UnwritableEnvelopeError(LocalError):
    """An envelope that the format cannot express. Nothing was published."""

    def __init__(self, part: EnvelopePart, reason: str) -> None:
        super().__init__(reason)
        self.part = part


class SlotScheme(StrEnum):
    """The kind of recipient a key is shared with."""

    GROUP = "envelope-large-symmetric-group"
    OWN = "envelope-symmetric-key-for-self"
    MEMBER = "envelope-id-based-metafeed-announced-curve25519"

    @property
    def depth(self) -> int:
        """The number of slots on which a key of this kind is tried: the group's is the first slot."""
        return 1 if self is SlotScheme.GROUP else group_limits.SLOTS_MAX


_SLOT: Final = {scheme: labels(b"slot_key", scheme.encode()) for scheme in SlotScheme}


@dataclass(frozen=True, slots=True)
class SlotKey:
    """A key that fills or opens a slot. Raises ValueError unless it has 32 bytes."""

    key: bytes = field(repr=False)
    """The secret, 32 bytes."""
    scheme: SlotScheme
    """The kind of recipient it is shared with."""

    def __post_init__(self) -> None:
        _check_secret(self.key)


@dataclass(frozen=True, slots=True)
class OpenedEnvelope:
    """An envelope that one of our keys opened, and that nobody changed."""

    plain: bytes = field(repr=False)
    """The sealed text, at least one byte."""
    read_key: bytes = field(repr=False)
    """The key that opens this one envelope; a group's id is made with that of its first message."""
    key: int
    """Number of the key that opened it, from 0."""
    slot: int
    """Number of the slot that it opened, from 0."""


def slot_of(message_key: bytes, context: EnvelopeContext, recipient: SlotKey) -> bytes:
    """Return the slot that holds *message_key* for *recipient*. Applied to a slot, it returns the message key."""
    mask = derive(recipient.key, context, _SLOT[recipient.scheme])
    return _xor(message_key, int.from_bytes(mask, "big"))


def read_key_of(message_key: bytes, context: EnvelopeContext) -> bytes:
    """Return the key that opens the envelope sealed with *message_key* at this context, 32 bytes."""
    return derive(message_key, context, _READ)


def box(plain: bytes, context: EnvelopeContext, recipients: Sequence[SlotKey], message_key: bytes) -> bytes:
    """Return *plain* sealed for *recipients*: the content of the entry at *context*.

    *message_key* is 32 secret random bytes that are used for nothing else, ever; raises ValueError for an impossible
    one. An envelope that has left the node must not be replaced by another for the same context. Raises
    UnwritableEnvelopeError.
    """
    _check_secret(message_key)
    if not any(message_key):
        raise ValueError("a message key of zeros is not random")
    if not plain:
        raise UnwritableEnvelopeError(
            EnvelopePart.TEXT, "there is nothing to seal. Nothing was published; write something"
        )
    if not 1 <= len(recipients) <= group_limits.SLOTS_MAX:
        raise UnwritableEnvelopeError(
            EnvelopePart.RECIPIENTS,
            f"an envelope is for 1 to {group_limits.SLOTS_MAX} recipients, a group counting as one, and not for "
            f"{len(recipients)}. Nothing was published; use several envelopes",
        )
    groups = [slot for slot, recipient in enumerate(recipients) if recipient.scheme is SlotScheme.GROUP]
    if groups not in ([], [0]):
        raise UnwritableEnvelopeError(
            EnvelopePart.GROUPS,
            "an envelope is for one group at most, which comes first; groups stand at "
            f"{', '.join(str(slot + 1) for slot in groups)}. Nothing was published",
        )
    read_key = read_key_of(message_key, context)
    offset = group_limits.HEADER_BOX_SIZE + group_limits.SLOT_SIZE * len(recipients)
    header = offset.to_bytes(group_limits.OFFSET_SIZE, "little").ljust(group_limits.HEADER_SIZE, b"\x00")
    return b"".join((
        crypto_secretbox(header, _NONCE, derive(read_key, context, _HEADER)),
        *(slot_of(message_key, context, recipient) for recipient in recipients),
        crypto_secretbox(plain, _NONCE, derive(read_key, context, _BODY)),
    ))  # fmt: skip


def unbox(envelope: bytes, context: EnvelopeContext, keys: Sequence[SlotKey]) -> OpenedEnvelope | None:
    """Return the content that *keys* open of *envelope*, the content of the entry at *context*. None: it is for others.

    Each key is tried on as many slots as its scheme says, which costs as much for an envelope of any length. Raises
    MalformedEnvelopeError, which is the author's fault, and ValueError for more keys than `limits.ENVELOPE_KEYS_MAX`.
    """
    if len(keys) > group_limits.ENVELOPE_KEYS_MAX:
        raise ValueError(f"{len(keys)} keys for one envelope, the most is {group_limits.ENVELOPE_KEYS_MAX}")
    room = len(envelope) - group_limits.HEADER_BOX_SIZE - group_limits.BODY_BOX_MIN_SIZE
    count = min(room // group_limits.SLOT_SIZE, group_limits.SLOTS_MAX)
    if count < 1:
        return None
    header_box = envelope[: group_limits.HEADER_BOX_SIZE]
    slots_end = group_limits.HEADER_BOX_SIZE + count * group_limits.SLOT_SIZE
    slots = [
        envelope[at : at + group_limits.SLOT_SIZE]
        for at in range(group_limits.HEADER_BOX_SIZE, slots_end, group_limits.SLOT_SIZE)
    ]
    read_info, header_info = context.info + _READ, context.info + _HEADER
    for number, recipient in enumerate(keys):
        mask = int.from_bytes(derive(recipient.key, context, _SLOT[recipient.scheme]), "big")
        for place, slot in enumerate(slots[: recipient.scheme.depth]):
            read_key = expand(_xor(slot, mask), read_info)
            header = _open(header_box, expand(read_key, header_info))
            if header is not None:
                plain = _body(envelope, context, header, read_key, place)
                return OpenedEnvelope(plain, read_key, number, place)
    return None


def opens_first(head: bytes, context: EnvelopeContext, key: SlotKey) -> bool:
    """Return whether *key* opens the first slot of an envelope, of which *head* has `limits.ENVELOPE_HEAD_SIZE`
    bytes."""
    mask = int.from_bytes(derive(key.key, context, _SLOT[key.scheme]), "big")
    read_key = read_key_of(_xor(head[group_limits.HEADER_BOX_SIZE :], mask), context)
    return _open(head[: group_limits.HEADER_BOX_SIZE], derive(read_key, context, _HEADER)) is not None


def _body(envelope: bytes, context: EnvelopeContext, header: bytes, read_key: bytes, place: int) -> bytes:
    """Return the body of an envelope whose header the slot *place* opened. Raises as `unbox` does."""
    offset = int.from_bytes(header[: group_limits.OFFSET_SIZE], "little")
    low = group_limits.HEADER_BOX_SIZE + (place + 1) * group_limits.SLOT_SIZE
    high = len(envelope) - group_limits.BODY_BOX_MIN_SIZE
    if not low <= offset <= high:
        raise MalformedEnvelopeError(
            EnvelopePart.OFFSET, f"the body of an envelope begins at byte {low} to {high}, not at {offset}"
        )
    if header[_FLAGS_AT]:
        raise MalformedEnvelopeError(
            EnvelopePart.FLAGS,
            f"an envelope has extensions that nobody has specified: flags {header[_FLAGS_AT]:#04x}",
        )
    plain = _open(envelope[offset:], derive(read_key, context, _BODY))
    if plain is None:
        raise MalformedEnvelopeError(
            EnvelopePart.BODY, "the body of an envelope was changed after it was sealed"
        )
    return plain


def _open(boxed: bytes, key: bytes) -> bytes | None:
    try:
        return crypto_secretbox_open(boxed, _NONCE, key)
    except CryptoError:
        return None


def _xor(left: bytes, right: int) -> bytes:
    return (int.from_bytes(left, "big") ^ right).to_bytes(len(left), "big")


def _check_secret(key: bytes) -> None:
    if len(key) != group_limits.SECRET_SIZE:
        raise ValueError(f"a key of an envelope has {group_limits.SECRET_SIZE} bytes, not {len(key)}")
