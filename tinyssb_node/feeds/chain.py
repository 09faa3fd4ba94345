"""The main chain: which packet may come next in a feed, and how a received packet is judged (spec 4.1 to 4.3).

``expectations`` returns what to look for, ``accept`` takes a packet found by its DMX, ``extend`` judges a packet that
is claimed to have a given sequence number. Everything a stranger may send has an outcome; only a size or a number that
no entry can have is an error.
"""

from dataclasses import dataclass, replace
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.crypto import Verify, verify_signed
from tinyssb_node.codec.dmx import Network, dmx_of, entry_name, first_prev, message_id
from tinyssb_node.codec.packets import Entry, parse_entry
from tinyssb_node.codec.values import quick_dataclass
from tinyssb_node.errors import PacketSizeError, SeqRangeError
from tinyssb_node.feeds.children import ends_feed
from tinyssb_node.feeds.fork import ForkProof, possible_predecessors, signed_at
from tinyssb_node.feeds.layout import Layout, layout_of
from tinyssb_node.ids import Dialect, Dmx, FeedId, MessageId

_DIALECTS: Final = (Dialect.SPEC, Dialect.DEPLOYED)
_CONTENT_AT: Final = limits.DMX_SIZE + limits.TYPE_SIZE
_SIGNATURE_AT: Final = _CONTENT_AT + limits.CONTENT_SIZE


@quick_dataclass(frozen=True, slots=True)
class Tip:
    """The last stored entry of a feed."""

    feed: FeedId
    """The feed."""
    dialect: Dialect | None
    """Its dialect; None while nothing of it is known."""
    seq: int
    """Sequence number of its last known entry, 0 for none."""
    id: MessageId | None
    """Message id of that entry, None for none."""
    ended: bool = False
    """True if that entry is END: no other one may follow."""


@quick_dataclass(frozen=True, slots=True)
class Expectation:
    """A position where an entry may come next."""

    feed: FeedId
    """The feed."""
    seq: int
    """The entry's sequence number."""
    dialect: Dialect
    """The feed's dialect if an entry comes here."""
    prev: MessageId
    """Id of the entry before; for entry 1 the value in its place."""
    network: Network
    """The network whose key the name contains."""
    dmx: Dmx
    """The first bytes of the entry."""
    behind_end: bool = False
    """True if the feed has ended: any packet for this position is invalid."""

    @property
    def name(self) -> bytes:
        """The bytes that are hashed and signed in place of a header: 66 and the network's key. They are made when a
        packet comes: kept, they would be a third of what each feed takes here."""
        return entry_name(self.network, self.feed, self.seq, self.prev)


@quick_dataclass(frozen=True, slots=True)
class Extended:
    """The packet is the next entry."""

    tip: Tip
    """The feed with it: its sequence number, its message id, the dialect that is now fixed."""
    prev: MessageId
    """Id of the entry before; for entry 1 the value in its place."""
    packet: bytes
    """The packet, 120 bytes."""
    type: int
    """Its type byte."""
    layout: Layout
    """The layout of its content; a side chain begins with ``sidechain.begin``."""

    @property
    def entry(self) -> Entry:
        """The packet, taken apart."""
        return parse_entry(self.packet)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The packet is the entry stored at this position."""

    feed: FeedId
    """The feed."""
    seq: int
    """Its sequence number."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Entries are missing before the packet, so that it cannot be judged yet."""

    feed: FeedId
    """The feed."""
    seq: int
    """The sequence number that it is claimed to have."""
    expected: int
    """The sequence number that comes next."""


@dataclass(frozen=True, slots=True)
class Forked:
    """The packet is a validly signed entry, and another one is stored at its position."""

    proof: ForkProof
    """Both."""


@dataclass(frozen=True, slots=True)
class WrongDmx:
    """The packet does not begin like an entry for this position: it belongs to another one, or behind another entry."""

    feed: FeedId
    """The feed."""
    seq: int
    """The sequence number of the place."""
    found: bytes
    """The packet's first 7 bytes."""


@dataclass(frozen=True, slots=True)
class WrongSignature:
    """The packet begins like an entry for this position and is not signed by the feed."""

    feed: FeedId
    """The feed."""
    seq: int
    """The sequence number of the place."""


@dataclass(frozen=True, slots=True)
class BehindEnd:
    """The packet is signed for a position behind the entry that ended the feed."""

    feed: FeedId
    """The feed."""
    seq: int
    """The sequence number of the place."""


@dataclass(frozen=True, slots=True)
class HeldEntry:
    """A stored entry, with what is needed to compare another one."""

    prev: MessageId
    """Id of the entry before; for entry 1 the value in its place (``codec.dmx.first_prev``)."""
    packet: bytes
    """120 bytes."""


def expectations(network: Network, tip: Tip) -> tuple[Expectation, ...]:
    """Return the positions where the next entry may come: one; two for an empty feed of unknown dialect; none behind
    the largest sequence number. For a feed that has ended, the position where none may come."""
    if tip.seq >= limits.SEQ_MAX:
        return ()
    if tip.id is None:
        dialects = _DIALECTS if tip.dialect is None else (tip.dialect,)
        return tuple(
            expectation_behind(network, tip.feed, 1, dialect, first_prev(tip.feed, dialect))
            for dialect in dialects
        )
    assert tip.dialect is not None, "the first entry fixed it"
    place = expectation_behind(network, tip.feed, tip.seq + 1, tip.dialect, tip.id)
    return (replace(place, behind_end=True) if tip.ended else place,)


def expectation_behind(
    network: Network, feed: FeedId, seq: int, dialect: Dialect, prev: MessageId
) -> Expectation:
    """Return the position of entry *seq* of *feed* behind *prev*, the id of the entry before."""
    return Expectation(feed, seq, dialect, prev, network, dmx_of(entry_name(network, feed, seq, prev)))


def accept(
    expectation: Expectation, packet: bytes, verify: Verify = verify_signed
) -> Extended | WrongDmx | WrongSignature | BehindEnd:
    """Judge a packet that came for *expectation*; *verify* checks its signature. Raises PacketSizeError."""
    if len(packet) != limits.PACKET_SIZE:
        raise PacketSizeError("entry", len(packet), str(limits.PACKET_SIZE))
    if packet[: limits.DMX_SIZE] != expectation.dmx:
        return WrongDmx(expectation.feed, expectation.seq, packet[: limits.DMX_SIZE])
    signed = packet[_SIGNATURE_AT:] + expectation.name + packet[:_SIGNATURE_AT]
    if not verify(expectation.feed, signed):
        return WrongSignature(expectation.feed, expectation.seq)
    if expectation.behind_end:
        return BehindEnd(expectation.feed, expectation.seq)
    return extended_by(expectation, packet)


def extended_by(expectation: Expectation, packet: bytes) -> Extended:
    """Return the feed extended by *packet*, whose signature for *expectation* has been checked."""
    type_ = packet[limits.DMX_SIZE]
    content = packet[_CONTENT_AT:_SIGNATURE_AT]
    layout = layout_of(type_, content, expectation.dialect)
    id_ = message_id(expectation.name, packet)
    tip = Tip(expectation.feed, expectation.dialect, expectation.seq, id_, ends_feed(type_, content))
    return Extended(tip, expectation.prev, packet, type_, layout)


def extend(
    network: Network, tip: Tip, seq: int, packet: bytes, held: HeldEntry | None = None
) -> Extended | Duplicate | Gap | Forked | WrongDmx | WrongSignature | BehindEnd:
    """Judge a packet that is claimed to be entry *seq* of *tip*'s feed; *held* is the stored entry of that number, if
    any.

    Raises PacketSizeError and SeqRangeError, and ValueError if *held* is missing where the feed has that entry.
    """
    if not 1 <= seq <= limits.SEQ_MAX:
        raise SeqRangeError(seq)
    if len(packet) != limits.PACKET_SIZE:
        raise PacketSizeError("entry", len(packet), str(limits.PACKET_SIZE))
    if seq > tip.seq + 1:
        return Gap(tip.feed, seq, tip.seq + 1)
    if seq == tip.seq + 1:
        return _accept_any(expectations(network, tip), packet)
    if held is None:
        raise ValueError(f"entry {seq} of {tip.feed.hex()} is held and has to be given")
    return _compare(network, tip, seq, packet, held)


def _accept_any(
    candidates: tuple[Expectation, ...], packet: bytes
) -> Extended | WrongDmx | WrongSignature | BehindEnd:
    """Judge a packet for the place it begins like; it can begin like one of the two places of entry 1 only."""
    dmx = packet[: limits.DMX_SIZE]
    matching = [candidate for candidate in candidates if candidate.dmx == dmx]
    return accept(matching[0] if matching else candidates[0], packet)


def _compare(
    network: Network, tip: Tip, seq: int, packet: bytes, held: HeldEntry
) -> Duplicate | Forked | WrongDmx | WrongSignature:
    """Judge a packet for a place that is taken."""
    if packet == held.packet:
        return Duplicate(tip.feed, seq)
    assert tip.dialect is not None, "the first entry fixed it"
    dmx = packet[: limits.DMX_SIZE]
    for prev in possible_predecessors(tip.feed, seq, held.prev):
        if dmx == dmx_of(entry_name(network, tip.feed, seq, prev)):
            if not signed_at(network, tip.feed, seq, prev, packet):
                return WrongSignature(tip.feed, seq)
            return Forked(ForkProof(tip.feed, seq, tip.dialect, held.prev, held.packet, packet))
    return WrongDmx(tip.feed, seq, dmx)
