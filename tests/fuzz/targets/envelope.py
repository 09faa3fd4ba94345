"""Envelopes: any bytes, and headers and bodies that somebody with the key wrote wrongly."""

from collections.abc import Iterable
from contextlib import suppress

from nacl.bindings import crypto_secretbox

from tests.fuzz.seeds import in_vectors
from tests.nodes import key_of
from tinyssb_node.groups import envelope
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.derive import derive, labels
from tinyssb_node.groups.feeds import open_announcement
from tinyssb_node.groups.keys import epoch_slot, own_slot
from tinyssb_node.ids import EpochKey, MessageId

KEY = EpochKey(b"k" * 32)
MESSAGE_KEY = b"m" * 32
CONTEXT = context_of(key_of("ana").feed_id, MessageId(b"p" * 20))
KEYS = (own_slot(b"s" * 32), epoch_slot(KEY))


def run(data: bytes) -> None:
    with suppress(envelope.MalformedEnvelopeError):
        envelope.unbox(data, CONTEXT, KEYS)
    if len(data) >= group_limits.ENVELOPE_HEAD_SIZE:
        envelope.opens_first(data[: group_limits.ENVELOPE_HEAD_SIZE], CONTEXT, KEYS[1])
    open_announcement(data, KEY, CONTEXT)
    if len(data) > 1 + group_limits.HEADER_SIZE:
        _insider(data[0], data[1 : 1 + group_limits.HEADER_SIZE], data[1 + group_limits.HEADER_SIZE :])


def _insider(slots: int, header: bytes, rest: bytes) -> None:
    """An envelope with a header as we never write it, by somebody who has the key."""
    read_key = envelope.read_key_of(MESSAGE_KEY, CONTEXT)
    boxed = crypto_secretbox(header, bytes(24), derive(read_key, CONTEXT, labels(b"header_key")))
    slot = envelope.slot_of(MESSAGE_KEY, CONTEXT, KEYS[1])
    with suppress(envelope.MalformedEnvelopeError):
        opened = envelope.unbox(boxed + slot * (1 + slots % 3) + rest, CONTEXT, KEYS)
        assert opened is None or opened.key == 1


def seeds() -> Iterable[bytes]:
    return in_vectors("groups/envelope/unbox.json", "groups/envelope/tinyssb_announce.json")
