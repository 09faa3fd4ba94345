"""Private messages as the phone app seals them (docs/formats/messages.md).

A nonce of 24 bytes, an ephemeral curve25519 key of 32, for each reader 49 bytes (the number of readers and the data
key), then the message. The readers are not named outside: a reader tries to open it.

The box does not prove its author; the entry that carries it does. Any reader could put it into a feed of their own, so
a conversation is of the people that the message names *and* of the author of its entry (`chat.members`).
"""

from collections.abc import Sequence
from typing import Final

from nacl.bindings import (
    crypto_scalarmult,
    crypto_scalarmult_base,
    crypto_secretbox,
    crypto_secretbox_open,
    crypto_sign_ed25519_pk_to_curve25519,
    crypto_sign_ed25519_sk_to_curve25519,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import CryptoError
from nacl.exceptions import RuntimeError as SodiumError

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.varint import read_varint
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.chat import Message, SealedMessage, parse
from tinyssb_node.errors import ReaderKeyError, RecipientCountError
from tinyssb_node.ids import FeedId

_SMALLEST: Final = (
    content_limits.SEAL_HEAD_SIZE + content_limits.SEAL_SLOT_SIZE + content_limits.SEAL_TAG_SIZE
)
"""Bytes of an empty private message for one reader."""
_BYTES: Final = 1
"""Kind of a BIPF value."""


class SealKey:
    """The half of a feed's key that opens content sealed for it. It is never shown: ``repr`` names the feed only."""

    __slots__ = ("_secret", "feed_id")

    def __init__(self, seed: bytes) -> None:
        """Derive it from the ed25519 *seed* of the identity. Raises ValueError unless it has 32 bytes."""
        if len(seed) != limits.SEED_SIZE:
            raise ValueError(f"a seed has {limits.SEED_SIZE} bytes, not {len(seed)}")
        public, secret = crypto_sign_seed_keypair(seed)
        self.feed_id: Final = FeedId(public)
        self._secret = crypto_sign_ed25519_sk_to_curve25519(secret)

    def shared(self, public: bytes) -> bytes | None:
        """Return the shared secret of this key and the curve25519 key *public*, 32 bytes; None if everybody can compute
        it."""
        return _shared(self._secret, public)

    def __repr__(self) -> str:
        return f"SealKey(feed_id={self.feed_id.hex()})"


def circle(author: FeedId, others: Sequence[FeedId]) -> tuple[FeedId, ...]:
    """Return the readers to seal for, as the app orders them: *others*, each once, and *author* last. They are
    `ChatPost.recipients`.

    Raises RecipientCountError (ours) for more than `limits.CIRCLE_MAX`, the author counted.
    """
    readers = (*(feed for feed in dict.fromkeys(others) if feed != author), author)
    if len(readers) > content_limits.CIRCLE_MAX:
        raise RecipientCountError(len(readers), content_limits.CIRCLE_MAX)
    return readers


def seal(clear: bytes, readers: Sequence[FeedId], entropy: bytes) -> bytes:
    """Return the content to publish so that *readers*, and nobody else, can read *clear*, a serialized message.

    *entropy* is `limits.SEAL_ENTROPY_SIZE` secret bytes that are used for nothing else, ever; raises ValueError for
    another number. Raises RecipientCountError for none or too many readers, ReaderKeyError for a feed id that is not a
    valid key.
    """
    if not 1 <= len(readers) <= content_limits.CIRCLE_MAX:
        raise RecipientCountError(len(readers), content_limits.CIRCLE_MAX)
    if len(entropy) != content_limits.SEAL_ENTROPY_SIZE:
        raise ValueError(f"sealing takes {content_limits.SEAL_ENTROPY_SIZE} random bytes, not {len(entropy)}")
    nonce, rest = entropy[: content_limits.SEAL_NONCE_SIZE], entropy[content_limits.SEAL_NONCE_SIZE :]
    passing, data_key = rest[: content_limits.SEAL_KEY_SIZE], rest[content_limits.SEAL_KEY_SIZE :]
    slot = bytes([len(readers)]) + data_key
    slots = [crypto_secretbox(slot, nonce, _key_for(feed, passing)) for feed in readers]
    box = crypto_secretbox(clear, nonce, data_key)
    return bipf.encode(nonce + crypto_scalarmult_base(passing) + b"".join(slots) + box)


def sealed_extra(readers: int) -> int:
    """Return how many bytes the content of a private message for so many readers has beside the message, at most."""
    slots = readers * content_limits.SEAL_SLOT_SIZE
    return content_limits.SEAL_HEAD_SIZE + slots + content_limits.SEAL_TAG_SIZE + limits.BIPF_TAG_SIZE_MAX


def may_be_sealed(beginning: bytes) -> bool:
    """Return whether content that begins so may be a private message."""
    tag = read_varint(beginning, 0, len(beginning), limits.BIPF_TAG_SIZE_MAX)
    return tag is not None and tag[0] & 7 == _BYTES and tag[0] >> 3 >= _SMALLEST


def unseal(sealed: SealedMessage, key: SealKey) -> bytes | None:
    """Return the text in *sealed*; None if it was not sealed for *key*, or is not a private message.

    Costs one multiplication on the curve and at most `limits.CIRCLE_MAX` trials of 33 bytes, whatever its length.
    """
    box = sealed.box
    if len(box) < _SMALLEST:
        return None
    nonce = box[: content_limits.SEAL_NONCE_SIZE]
    shared = key.shared(box[content_limits.SEAL_NONCE_SIZE : content_limits.SEAL_HEAD_SIZE])
    if shared is None:
        return None
    for number in range(content_limits.CIRCLE_MAX):
        start = content_limits.SEAL_HEAD_SIZE + number * content_limits.SEAL_SLOT_SIZE
        slot = _open(box[start : start + content_limits.SEAL_SLOT_SIZE], nonce, shared)
        if slot is not None:
            data = content_limits.SEAL_HEAD_SIZE + slot[0] * content_limits.SEAL_SLOT_SIZE
            return _open(box[data:], nonce, slot[1:])
    return None


def unsealed_message(sealed: SealedMessage, key: SealKey) -> Message | None:
    """Return the message in *sealed*; None as above. A message that is sealed twice stays `SealedMessage`: no program
    writes one."""
    clear = unseal(sealed, key)
    return None if clear is None else parse(clear)


def _key_for(feed: FeedId, passing: bytes) -> bytes:
    try:
        public = crypto_sign_ed25519_pk_to_curve25519(feed)
    except SodiumError as error:
        raise ReaderKeyError(feed) from error
    shared = _shared(passing, public)
    if shared is None:
        raise ReaderKeyError(feed)
    return shared


def _shared(secret: bytes, public: bytes) -> bytes | None:
    try:
        return crypto_scalarmult(secret, public)
    except SodiumError:  # a point of small order: the result would be zeros whatever the secret
        return None


def _open(box: bytes, nonce: bytes, key: bytes) -> bytes | None:
    if len(box) < content_limits.SEAL_TAG_SIZE:
        return None
    try:
        return crypto_secretbox_open(box, nonce, key)
    except CryptoError:
        return None
