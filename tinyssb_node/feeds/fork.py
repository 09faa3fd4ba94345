"""Forks: two entries signed for one position of a feed. Both are kept, as proof that anyone can check.

A proof is self-contained. Entries are compared as packets: two signatures over the same content make two ids, and so
two histories. Entry 1 has two positions, one in each dialect; a feed with entries at both is forked too.
"""

from dataclasses import dataclass
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.crypto import verify_signed
from tinyssb_node.codec.dmx import Network, dmx_of, entry_name, first_prev, message_id
from tinyssb_node.errors import ForkProofFormatError
from tinyssb_node.ids import Dialect, FeedId, MessageId

FORK_PROOF_MAGIC: Final = b"tinyfork"
"""First 8 bytes of a serialized proof."""
FORK_PROOF_VERSION: Final = 1
"""The version written, and the only one read."""

_DIALECTS: Final = (Dialect.SPEC, Dialect.DEPLOYED)
_BODY_AT: Final = limits.DMX_SIZE + limits.TYPE_SIZE + limits.CONTENT_SIZE


@dataclass(frozen=True, slots=True)
class ForkProof:
    """Two entries for one position."""

    feed: FeedId
    """The feed."""
    seq: int
    """The sequence number both claim."""
    dialect: Dialect
    """The feed's dialect where the proof was made."""
    prev: MessageId
    """Id of the entry before; for entry 1 the value in its place."""
    held: bytes
    """The entry that was there first, where the proof was made: 120 bytes."""
    other: bytes
    """The entry that came later: 120 bytes."""


def signed_at(network: Network, feed: FeedId, seq: int, prev: bytes, packet: bytes) -> bool:
    """Return True if *packet* is an entry that *feed* signed for the position *seq* behind *prev*."""
    name = entry_name(network, feed, seq, prev)
    if len(packet) != limits.PACKET_SIZE or packet[: limits.DMX_SIZE] != dmx_of(name):
        return False
    return verify_signed(feed, packet[_BODY_AT:] + name + packet[:_BODY_AT])


def possible_predecessors(feed: FeedId, seq: int, prev: MessageId) -> tuple[MessageId, ...]:
    """Return the possible predecessors of another entry *seq*: *prev*, and for entry 1 the value of either dialect."""
    return (prev,) if seq > 1 else tuple(first_prev(feed, dialect) for dialect in _DIALECTS)


def verify_proof(network: Network, proof: ForkProof) -> bool:
    """Return True if *proof* holds: two different entries, both signed for the same position."""
    if proof.held == proof.other or proof.prev not in possible_predecessors(
        proof.feed, proof.seq, proof.prev
    ):
        return False
    held = signed_at(network, proof.feed, proof.seq, proof.prev, proof.held)
    return held and other_prev(network, proof) is not None


def other_prev(network: Network, proof: ForkProof) -> MessageId | None:
    """Return the predecessor of the other entry; None if it is not signed for this position at all."""
    for prev in possible_predecessors(proof.feed, proof.seq, proof.prev):
        if signed_at(network, proof.feed, proof.seq, prev, proof.other):
            return prev
    return None


def fork_ids(network: Network, proof: ForkProof) -> tuple[MessageId, MessageId]:
    """Message ids of the held and the other entry of a proof that holds. Raises ValueError for one that does not."""
    prev = other_prev(network, proof)
    if prev is None:
        raise ValueError("this proof does not hold")
    held_name = entry_name(network, proof.feed, proof.seq, proof.prev)
    other_name = entry_name(network, proof.feed, proof.seq, prev)
    return message_id(held_name, proof.held), message_id(other_name, proof.other)


def serialize_proof(proof: ForkProof) -> bytes:
    """Write a proof: 306 bytes (docs/formats/packets.md)."""
    head = FORK_PROOF_MAGIC + bytes((FORK_PROOF_VERSION, _DIALECTS.index(proof.dialect)))
    place = proof.feed + proof.seq.to_bytes(limits.SEQ_SIZE, "big") + proof.prev
    return head + place + proof.held + proof.other


def parse_proof(data: bytes) -> ForkProof:
    """Read a proof; whether it holds is ``verify_proof``'s question. Raises ForkProofFormatError."""
    if len(data) != limits.FORK_PROOF_SIZE:
        raise ForkProofFormatError(f"{len(data)} bytes, not {limits.FORK_PROOF_SIZE}")
    if data[:8] != FORK_PROOF_MAGIC or data[8] != FORK_PROOF_VERSION:
        raise ForkProofFormatError("another kind or version")
    if data[9] >= len(_DIALECTS):
        raise ForkProofFormatError(f"dialect {data[9]}")
    seq = int.from_bytes(data[42:46], "big")
    if seq < 1:
        raise ForkProofFormatError("sequence number 0")
    return ForkProof(
        feed=FeedId(data[10:42]),
        seq=seq,
        dialect=_DIALECTS[data[9]],
        prev=MessageId(data[46:66]),
        held=data[66:186],
        other=data[186:306],
    )
