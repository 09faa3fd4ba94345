"""Private texts and other content for one reader, in 50 bytes beside it (docs/formats/short-texts.md, remote.md).

SIV (RFC 5297) with the key that author and reader share: the proof of the clear bytes is the nonce. So neither a random
nonce nor a key is sent, and nothing can be used twice by mistake.
"""

import hmac
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Final

from nacl.bindings import crypto_secretbox, crypto_sign_ed25519_pk_to_curve25519
from nacl.exceptions import RuntimeError as SodiumError

from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.short_text import ShortText, read_short_text
from tinyssb_node.errors import ReaderKeyError
from tinyssb_node.feeds.layout import filling_size
from tinyssb_node.ids import FeedId

_TAG: Final = content_limits.SEAL_TAG_SIZE
_HEAD: Final = _TAG + limits.FEED_ID_SIZE


class PairPurpose(Enum):
    """The kinds of content, each with keys of its own: none can be taken for another. Values are their labels."""

    TEXT = b"tinyssb private text 1"
    REMOTE = b"tinyssb remote 1"


@dataclass(frozen=True, slots=True)
class _PairKeys:
    """The keys from an author to a reader."""

    tag: bytes
    cipher: bytes


def seal_text(short_text: bytes, key: SealKey, reader: FeedId, padding: bytes) -> bytes:
    """Return the content to publish of *short_text*, a serialized one, for *reader*: see ``seal_pair``."""
    return seal_pair(short_text, key, reader, padding, PairPurpose.TEXT)


def open_text(box: bytes, key: SealKey, author: FeedId) -> ShortText | None:
    """Return the text in *box*, in an entry of *author*, with the other person: its author, or of our own its reader.
    None if it is not for *key*, or nothing of this kind. It costs what ``open_pair`` does."""
    opened = open_pair(box, key, author, PairPurpose.TEXT)
    found = None if opened is None else read_short_text(opened[0])
    return None if opened is None or found is None else replace(found[0], other=opened[1])


def seal_pair(clear: bytes, key: SealKey, reader: FeedId, padding: bytes, purpose: PairPurpose) -> bytes:
    """Return the content to publish so that *reader* and the author, whose *key* it is, and nobody else can read
    *clear*, which fills its last packet afterwards: behind it are nothing, or one zero byte and others.

    *padding*: `limits.PAIR_PADDING_SIZE` random bytes; raises ValueError for another number. Raises ReaderKeyError for
    a feed id that is not a valid key.
    """
    if len(padding) != content_limits.PAIR_PADDING_SIZE:
        raise ValueError(f"padding takes {content_limits.PAIR_PADDING_SIZE} bytes, not {len(padding)}")
    keys = _pair_keys(key, reader, key.feed_id, reader, purpose)
    if keys is None:
        raise ReaderKeyError(reader)
    padded = _padded(clear, padding)
    tag = _mac(keys.tag, padded)[:_TAG]
    return bipf.encode(tag + _hidden_reader(key, tag, reader, purpose) + _cipher(keys.cipher, tag, padded))


def open_pair(box: bytes, key: SealKey, author: FeedId, purpose: PairPurpose) -> tuple[bytes, FeedId] | None:
    """Return the clear bytes in *box*, in an entry of *author*, and the other side: its author, or of our own its
    reader. None if it is not for *key* and *purpose*.

    Costs two hashes of all of it, and for each new author a multiplication on the curve.
    """
    if len(box) <= _HEAD:
        return None
    tag, reader, other = box[:_TAG], key.feed_id, author
    if author == key.feed_id:
        reader = other = FeedId(_hidden_reader(key, tag, box[_TAG:_HEAD], purpose))
    keys = _pair_keys(key, other, author, reader, purpose)
    if keys is None:
        return None
    clear = _cipher(keys.cipher, tag, box[_HEAD:])
    return (clear, other) if hmac.compare_digest(_mac(keys.tag, clear)[:_TAG], tag) else None


def _pair_keys(
    key: SealKey, other: FeedId, author: FeedId, reader: FeedId, purpose: PairPurpose
) -> _PairKeys | None:
    root = _root(key, other, purpose)
    if root is None:
        return None
    both = author + reader
    return _PairKeys(_mac(root, b"tag" + both), _mac(root, b"cipher" + both))


@lru_cache(maxsize=limits.SET_MAX)
def _root(key: SealKey, other: FeedId, purpose: PairPurpose) -> bytes | None:
    """Return the secret of two feeds; None if *other* is not a valid key."""
    try:
        shared = key.shared(crypto_sign_ed25519_pk_to_curve25519(other))
    except SodiumError:
        return None
    return None if shared is None else _mac(sha256(purpose.value).digest(), shared)


def _hidden_reader(key: SealKey, tag: bytes, reader: bytes, purpose: PairPurpose) -> bytes:
    """Encrypt the id of the reader for the author alone, or decrypt it."""
    root = _root(key, key.feed_id, purpose)
    assert root is not None, "the feed id was made from a seed"
    mask = _mac(_mac(root, b"reader" + key.feed_id), tag)
    return bytes(one ^ other for one, other in zip(reader, mask, strict=True))


def _cipher(key: bytes, tag: bytes, data: bytes) -> bytes:
    """Encrypt *data*, or decrypt it: the XOR with a keystream, that of a secretbox without its proof."""
    nonce = tag + bytes(content_limits.SEAL_NONCE_SIZE - len(tag))
    return crypto_secretbox(data, nonce, key)[content_limits.SEAL_TAG_SIZE :]


def _padded(text: bytes, padding: bytes) -> bytes:
    """Return *text* with as many bytes behind it as fill its last packet, and its BIPF tag."""
    size = _HEAD + len(text)
    whole = filling_size(size + len(encode_varint(size << 3)))
    tag = next(number for number in (2, 3) if len(encode_varint((whole - number) << 3)) == number)
    room = whole - tag - size
    return text if not room else text + b"\0" + padding[: room - 1]


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")
