"""Composition of our own feed: content in, signed packets out. Nothing here checks that we do not fork ourselves."""

from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import ContentTooLongError, FeedEndedError, FeedFullError
from tinyssb_node.feeds.chain import Expectation, Extended, Tip, expectations, extended_by
from tinyssb_node.feeds.layout import FIXED_TYPE, packet_count
from tinyssb_node.feeds.sidechain import split


@dataclass(frozen=True, slots=True)
class ComposedEntry:
    """A signed entry of our own feed with its side chain, ready to be stored and sent."""

    packet: bytes
    """The entry, 120 bytes."""
    chunks: tuple[bytes, ...]
    """The packets of its side chain, 120 bytes each, in order."""
    extended: Extended
    """The feed with it."""


def compose(network: Network, key: SigningKey, tip: Tip, content: bytes) -> ComposedEntry:
    """Make the next entry with *content*: type 0 if it has exactly 48 bytes, else type 1, with a side chain if needed.

    Raises ContentTooLongError, FeedFullError and FeedEndedError; ValueError if *tip* is not *key*'s or has no dialect.
    """
    place = _next_place(network, key, tip)
    if len(content) > limits.CONTENT_PUBLISH_MAX:
        raise ContentTooLongError(
            len(content), limits.CONTENT_PUBLISH_MAX, packet_count(len(content), place.dialect)
        )
    return sign_entry(key, place, *split(content, place.dialect))


def compose_fixed(
    network: Network, key: SigningKey, tip: Tip, content: bytes, *, type_: int = FIXED_TYPE
) -> ComposedEntry:
    """Make the next entry with at most 48 bytes as they are, zeros behind them, under the type byte *type_*.

    Raises as ``compose`` does, with 48 bytes as the limit.
    """
    place = _next_place(network, key, tip)
    if len(content) > limits.CONTENT_SIZE:
        raise ContentTooLongError(
            len(content), limits.CONTENT_SIZE, packet_count(len(content), place.dialect)
        )
    return sign_entry(key, place, type_, content.ljust(limits.CONTENT_SIZE, b"\x00"), ())


def _next_place(network: Network, key: SigningKey, tip: Tip) -> Expectation:
    if tip.feed != key.feed_id:
        raise ValueError(f"the key is not that of the feed {tip.feed.hex()}")
    if tip.dialect is None:
        raise ValueError("the dialect of a feed is chosen before its first entry is written")
    if tip.ended:
        raise FeedEndedError(tip.feed, tip.seq)
    candidates = expectations(network, tip)
    if not candidates:
        raise FeedFullError(tip.seq)
    return candidates[0]


def sign_entry(
    key: SigningKey, place: Expectation, type_: int, field: bytes, chunks: tuple[bytes, ...]
) -> ComposedEntry:
    """Sign an entry laid out already (``sidechain.split``): its type byte, its 48 bytes, its side chain."""
    unsigned = place.dmx + bytes((type_,)) + field
    packet = unsigned + key.sign(place.name + unsigned)
    return ComposedEntry(packet, chunks, extended_by(place, packet))
