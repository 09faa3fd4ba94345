"""How members find each other's feeds of a group: the hidden announcement of an epoch feed (docs/formats/envelope.md).

It is an entry of the main feed, all 48 bytes of it, and looks random to whoever has not the epoch's key. Feeds of
additions are announced to everybody, as children of the main feed (docs/formats/children.md).
"""

from typing import Final

from nacl.bindings import crypto_secretbox, crypto_secretbox_open
from nacl.exceptions import CryptoError

from tinyssb_node.content.limits import SEAL_NONCE_SIZE, SEAL_TAG_SIZE
from tinyssb_node.groups.bfe import EnvelopeContext, context_of
from tinyssb_node.groups.derive import derive, labels
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.limits import CONTENT_SIZE, FEED_ID_SIZE

ADDITIONS_NOTE: Final = b"grp/add"
"""What a main feed says its feed of additions is for."""
_NONCE: Final = bytes(SEAL_NONCE_SIZE)
"""The key is bound to the place, which has one entry."""
_ANNOUNCE: Final = labels(b"announce")
assert FEED_ID_SIZE + SEAL_TAG_SIZE == CONTENT_SIZE


def seal_announcement(feed: FeedId, epoch_key: EpochKey, main: FeedId, previous: MessageId) -> bytes:
    """The content, 48 bytes, of the entry of *main* behind *previous* that tells an epoch's members of *feed*."""
    return crypto_secretbox(feed, _NONCE, derive(epoch_key, context_of(main, previous), _ANNOUNCE))


def open_announcement(content: bytes, epoch_key: EpochKey, context: EnvelopeContext) -> FeedId | None:
    """The feed that an entry at *context* announces to the epoch with that key; None if it does no such thing."""
    if len(content) != CONTENT_SIZE:
        return None
    try:
        return FeedId(crypto_secretbox_open(content, _NONCE, derive(epoch_key, context, _ANNOUNCE)))
    except CryptoError:
        return None
