"""Handshake of two gateways: each proves that it knows the key of one network, before anything else is sent.

greeting = Greeting([network], caller=True, nonce=token_bytes(NONCE_SIZE))
while greeting.met is None:
    for packet in greeting.packets():
        send(packet)
    greeting.receive(received)
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from tinyssb_node.codec.dmx import Network
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncHello,
    FeedSyncPacketError,
    FeedSyncProof,
    Packet,
    parse_packet,
    serialize_packet,
)

CONTEXT: Final = b"tinyssb feed sync 1 "
"""Prefix of everything that is hashed."""


@dataclass(frozen=True, slots=True)
class HandshakeDone:
    """Result of a handshake: both sides have proved that they know the key."""

    network: int
    """Index of the network in the list."""
    salt: bytes
    """Both nonces, the caller's first."""


class Handshake:
    """One side of the handshake."""

    def __init__(self, networks: Sequence[Network], *, caller: bool, nonce: bytes) -> None:
        """Shake hands for one of *networks*; the *caller* has a single one. *nonce*: 16 random bytes."""
        assert len(nonce) == limits.NONCE_SIZE
        assert not caller or len(networks) == 1
        self._networks = networks
        self._caller = caller
        self._nonce = nonce
        self._salt = b""
        self._outbox: list[Packet] = [FeedSyncHello(limits.VERSION, nonce)]
        self.met: HandshakeDone | None = None
        """The result, once it is known. There may still be a packet to send."""

    def packets(self) -> list[bytes]:
        """Return the packets to send now."""
        packets, self._outbox = self._outbox, []
        return [serialize_packet(packet) for packet in packets]

    def receive(self, data: bytes) -> None:
        """Handle a packet of the other side. Raises FeedSyncPacketError: close the connection."""
        packet = parse_packet(data)
        if isinstance(packet, FeedSyncHello) and not self._salt:
            self._on_hello(packet)
        elif isinstance(packet, FeedSyncProof) and self._salt and self.met is None:
            self._on_proof(packet)
        else:
            raise FeedSyncPacketError("it sends no handshake")

    def _on_hello(self, hello: FeedSyncHello) -> None:
        if hello.version != limits.VERSION:
            raise FeedSyncPacketError(f"it has version {hello.version}, not {limits.VERSION}")
        if hello.nonce == self._nonce:
            raise FeedSyncPacketError("it repeats our nonce")
        self._salt = self._nonce + hello.nonce if self._caller else hello.nonce + self._nonce
        if self._caller:
            self._outbox.append(FeedSyncProof(self._proof(self._networks[0], caller=True)))

    def _on_proof(self, proof: FeedSyncProof) -> None:
        for number, network in enumerate(self._networks):
            if hmac.compare_digest(proof.proof, self._proof(network, caller=not self._caller)):
                self.met = HandshakeDone(number, self._salt)
                if not self._caller:
                    self._outbox.append(FeedSyncProof(self._proof(network, caller=False)))
                return
        raise FeedSyncPacketError("it is of another network")

    def _proof(self, network: Network, *, caller: bool) -> bytes:
        """Return the proof of knowing the network's key. It differs for each side, against reflection."""
        whose = b"caller" if caller else b"listener"
        return sha256(CONTEXT + whose + self._salt + network.prefix).digest()[: limits.PROOF_SIZE]
