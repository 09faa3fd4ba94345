"""ed25519 (RFC 8032) by libsodium, called as directly as PyNaCl allows: verification is most of a node's work."""

from collections.abc import Callable
from typing import Final

from nacl.bindings import crypto_sign, crypto_sign_open, crypto_sign_seed_keypair
from nacl.exceptions import BadSignatureError

from tinyssb_node import limits
from tinyssb_node.ids import FeedId

Verify = Callable[[FeedId, bytes], bool]
"""``verify_signed``, or something that answers as it does. The simulator's remembers answers: the same entry reaches
hundreds of its nodes, and an answer depends on nothing but the bytes."""


def verify_signed(feed: FeedId, signed: bytes) -> bool:
    """Return True if *signed*, a signature of 64 bytes and the signed bytes, is by *feed*."""
    try:
        crypto_sign_open(signed, feed)
    except BadSignatureError:
        return False
    return True


def verify(feed: FeedId, signature: bytes, message: bytes) -> bool:
    """Return True if *signature*, 64 bytes, is *feed*'s over *message*."""
    return len(signature) == limits.SIGNATURE_SIZE and verify_signed(feed, signature + message)


class SigningKey:
    """The secret half of a feed. ``repr`` shows the feed only."""

    __slots__ = ("_secret", "feed_id")

    def __init__(self, seed: bytes) -> None:
        """Derive the key pair from *seed*. Raises ValueError unless it has 32 bytes."""
        if len(seed) != limits.SEED_SIZE:
            raise ValueError(f"a seed has {limits.SEED_SIZE} bytes, not {len(seed)}")
        public, self._secret = crypto_sign_seed_keypair(seed)
        self.feed_id: Final = FeedId(public)

    def sign(self, message: bytes) -> bytes:
        """Return the signature over *message*, 64 bytes, always the same for the same message."""
        return crypto_sign(message, self._secret)[: limits.SIGNATURE_SIZE]

    def __repr__(self) -> str:
        return f"SigningKey(feed_id={self.feed_id.hex()})"
