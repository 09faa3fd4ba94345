"""Two gateways meet: each shows that it knows the key of one network, before anything else is said.

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
"""In front of whatever is hashed."""


@dataclass(frozen=True, slots=True)
class HandshakeDone:
    """Both have shown what they know."""

    network: int
    """Which of the networks it is, by its place in the list."""
    salt: bytes
    """Both nonces, the caller's first."""


class Handshake:
    """One side's."""

    def __init__(self, networks: Sequence[Network], *, caller: bool, nonce: bytes) -> None:
        """Meet somebody of one of *networks*, of which the *caller* has a single one. *nonce*: 16 random bytes."""
        assert len(nonce) == limits.NONCE_SIZE
        assert not caller or len(networks) == 1
        self._networks = networks
        self._caller = caller
        self._nonce = nonce
        self._salt = b""
        self._outbox: list[Packet] = [FeedSyncHello(limits.VERSION, nonce)]
        self.met: HandshakeDone | None = None
        """Who is there, once that is known. There may still be a packet to be sent."""

    def packets(self) -> list[bytes]:
        """What is to be sent now."""
        packets, self._outbox = self._outbox, []
        return [serialize_packet(packet) for packet in packets]

    def receive(self, data: bytes) -> None:
        """Take what the other side sent. Raises FeedSyncPacketError: hang up."""
        packet = parse_packet(data)
        if isinstance(packet, FeedSyncHello) and not self._salt:
            self._on_hello(packet)
        elif isinstance(packet, FeedSyncProof) and self._salt and self.met is None:
            self._on_proof(packet)
        else:
            raise FeedSyncPacketError("it does not greet")

    def _on_hello(self, hello: FeedSyncHello) -> None:
        if hello.version != limits.VERSION:
            raise FeedSyncPacketError(f"it speaks version {hello.version}, and not {limits.VERSION}")
        if hello.nonce == self._nonce:
            raise FeedSyncPacketError("it says what we say")
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
        """What shows that one knows the network's key: for each side another, so that neither can be sent back."""
        whose = b"caller" if caller else b"listener"
        return sha256(CONTEXT + whose + self._salt + network.prefix).digest()[: limits.PROOF_SIZE]
