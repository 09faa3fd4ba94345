"""Invariants that must hold in every simulation, in any scenario: checked at each event.

The checkers share no code with what they check. Names, signatures and hash chains are computed here from the
specification's text; airtime is summed here from the sent packets. A broken invariant is an InvariantError.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256

from nacl.bindings import crypto_sign_open
from nacl.exceptions import BadSignatureError

from tinyssb_node import limits
from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Event, Send
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.disk import DiskLoss
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher

_CONTENT_END = limits.PACKET_SIZE - limits.SIGNATURE_SIZE
_POINTER_AT = _CONTENT_END - limits.MESSAGE_ID_SIZE
_ZEROS = bytes(limits.MESSAGE_ID_SIZE)


class InvariantError(LocalError):
    """A broken invariant: its rule, and what happened."""

    def __init__(self, rule: str, what: str) -> None:
        super().__init__(f"{rule}: {what}")
        self.rule = rule
        self.what = what


class FeedChecker(SimulationWatcher):
    """Nothing unverified is stored, frontiers never shrink, all nodes store the same, nothing acknowledged is lost."""

    def __init__(self) -> None:
        self._entries: dict[tuple[FeedId, int], tuple[bytes, bytes]] = {}
        """Packet and message id of every entry there is: verified once."""
        self._chunks: dict[tuple[FeedId, int, int], bytes] = {}
        self._frontiers: dict[tuple[str, FeedId], int] = {}
        self._chains: dict[tuple[str, FeedId, int], int] = {}
        """Chunks that a node holds of a side chain."""
        self._acknowledged: dict[str, EntryAppended] = {}
        """The last entry of each user that was acknowledged as committed."""

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """Check that a node that was switched on still stores all that it stored."""
        del now_us
        held = {record.feed: record.seq for record in inhabitant.store.feeds()}
        for (name, feed), seq in self._frontiers.items():
            if name == inhabitant.name and held.get(feed, 0) != seq:
                raise InvariantError(
                    "frontiers never shrink",
                    f"{name} held {feed.hex()[:12]} up to {seq} and comes back with {held.get(feed, 0)}",
                )
        published = self._acknowledged.get(inhabitant.name)
        if published is not None:
            self._check_whole(inhabitant, published)

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        """Check that what a disk still stores after a loss is the beginning of what it stored."""
        del loss, now_us
        name, store = inhabitant.name, inhabitant.store
        held = {record.feed: record.seq for record in store.feeds()}
        for holder, feed in [key for key in self._frontiers if key[0] == name]:
            if held.get(feed, 0) > self._frontiers[holder, feed]:
                raise InvariantError(
                    "frontiers grow one by one", f"{name} gained {feed.hex()[:12]} by a crash"
                )
            self._frontiers[holder, feed] = held.get(feed, 0)
        for holder, feed, seq in [key for key in self._chains if key[0] == name]:
            chunks = self._chains[holder, feed, seq]
            self._chains[holder, feed, seq] = len(store.chunks(feed, seq, 0, chunks))

    def _check_whole(self, inhabitant: SimulatedNode, entry: EntryAppended) -> None:
        chunks = inhabitant.store.chunks(entry.feed, entry.seq, 0, entry.chunks)
        if inhabitant.store.entry(entry.feed, entry.seq) is None or len(chunks) != entry.chunks:
            raise InvariantError(
                "nothing acknowledged is lost",
                f"{inhabitant.name} published entry {entry.seq} and has it no more",
            )

    def acknowledged(self, inhabitant: SimulatedNode, entry: EntryAppended, now_us: int) -> None:
        """Record an entry that was acknowledged to its user as committed."""
        del now_us
        self._acknowledged[inhabitant.name] = entry

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """Check an entry or chunk that a node stored."""
        del now_us
        if isinstance(event, EntryAppended):
            self._took_entry(inhabitant, event)
        elif isinstance(event, ChunkAppended):
            self._took_chunk(inhabitant, event)

    def _took_entry(self, inhabitant: SimulatedNode, event: EntryAppended) -> None:
        feed, seq, name = event.feed, event.seq, inhabitant.name
        before = self._frontiers.get((name, feed), 0)
        if seq != before + 1:
            raise InvariantError(
                "frontiers grow one by one", f"{name} went from {before} to {seq} in {feed.hex()[:12]}"
            )
        self._frontiers[name, feed] = seq
        stored = inhabitant.store.entry(feed, seq)
        packet = b"" if stored is None else stored.packet
        known = self._entries.get((feed, seq))
        if known is None:
            self._entries[feed, seq] = packet, self._verified_id(event, packet, name)
        elif known != (packet, event.id):
            raise InvariantError(
                "prefixes agree", f"{name} holds another entry {seq} of {feed.hex()[:12]} than another node"
            )

    def _verified_id(self, event: EntryAppended, packet: bytes, name: str) -> bytes:
        """Return the message id, after checking the signature: name | DMX | type | content is signed (spec 4.3)."""
        feed, seq = event.feed, event.seq
        first = [_ZEROS, feed[: limits.MESSAGE_ID_SIZE]]
        starts = [self._entries[feed, seq - 1][1]] if seq > 1 else first
        for prev in starts:
            entry_name = b"tinyssb-v0" + feed + seq.to_bytes(limits.SEQ_SIZE, "big") + prev
            id_ = sha256(entry_name + packet).digest()[: limits.MESSAGE_ID_SIZE]
            if id_ == event.id and _signed(feed, entry_name, packet):
                return id_
        raise InvariantError(
            "no unverified entry is accepted",
            f"{name} took an entry {seq} that {feed.hex()[:12]} did not sign",
        )

    def _took_chunk(self, inhabitant: SimulatedNode, event: ChunkAppended) -> None:
        feed, seq, chunk, name = event.feed, event.seq, event.chunk, inhabitant.name
        held = self._chains.get((name, feed, seq), 0)
        if chunk != held or seq > self._frontiers.get((name, feed), 0):
            raise InvariantError(
                "side chains grow one by one",
                f"{name} took chunk {chunk} of entry {seq}, where {held} comes next",
            )
        self._chains[name, feed, seq] = chunk + 1
        packet = inhabitant.store.chunk(feed, seq, chunk) or b""
        if self._chunks.setdefault((feed, seq, chunk), packet) != packet:
            raise InvariantError("prefixes agree", f"{name} holds another chunk {chunk} of entry {seq}")
        before = self._chunks[feed, seq, chunk - 1] if chunk else self._entries[feed, seq][0][:_CONTENT_END]
        if sha256(packet).digest()[: limits.MESSAGE_ID_SIZE] != before[-limits.MESSAGE_ID_SIZE :]:
            raise InvariantError(
                "no unverified entry is accepted",
                f"{name} took a chunk {chunk} that entry {seq} does not name",
            )


def _signed(feed: FeedId, name: bytes, packet: bytes) -> bool:
    if packet[: limits.DMX_SIZE] != sha256(name).digest()[: limits.DMX_SIZE]:
        return False
    try:
        crypto_sign_open(packet[_CONTENT_END:] + name + packet[:_CONTENT_END], feed)
    except BadSignatureError:
        return False
    return True


class BoundsChecker(SimulationWatcher):
    """Queues are bounded, and no face gets more than it asked for."""

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """Check the queues of a node that sends."""
        del send, begin_us, end_us
        if isinstance(inhabitant.node, DeployedBoard):
            return
        for face in inhabitant.node.faces():
            if face.queued > limits.QUEUE_MAX or face.outstanding > face.profile.window:
                raise InvariantError(
                    "queues are bounded",
                    f"{inhabitant.name} has {face.queued} packets queued and {face.outstanding} handed over on "
                    f"{face.name}",
                )


@dataclass(frozen=True, slots=True)
class AirtimeLaw:
    """The limits of the law of a region."""

    most_us: int | None = None
    """Most airtime in any hour; None for no limit."""
    dwell_us: int | None = None
    """And in one go."""


class DutyCycleChecker(SimulationWatcher):
    """No node uses more airtime than the law's share of any hour, nor sends longer in one go than it allows. Deployed
    boards, which know no law, are exempt."""

    def __init__(self, laws: Mapping[str, AirtimeLaw]) -> None:
        """*laws* has the limits of each node."""
        self._laws = laws
        self._windows: dict[str, deque[tuple[int, int]]] = {}
        self._used_us: dict[str, int] = {}
        self.peak_us: dict[str, int] = {}
        """The most that each node was on the air in any hour."""

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        """Check the hour that ends with this packet: the fullest hour of all ends with the end of a packet."""
        del send
        name = inhabitant.name
        window = self._windows.setdefault(name, deque())
        window.append((begin_us, end_us))
        used_us = self._used_us.get(name, 0) + end_us - begin_us
        since_us = end_us - sim_limits.LAW_WINDOW_US
        while window[0][1] <= since_us:
            begun_us, ended_us = window.popleft()
            used_us -= ended_us - begun_us
        self._used_us[name] = used_us
        within_us = used_us - max(0, since_us - window[0][0])
        self.peak_us[name] = max(self.peak_us.get(name, 0), within_us)
        if inhabitant.board:
            return
        law = self._laws[name]
        if law.most_us is not None and within_us > law.most_us:
            raise InvariantError(
                "nobody exceeds the legal duty",
                f"{name} was on the air for {within_us} us of an hour, {law.most_us} are allowed",
            )
        if law.dwell_us is not None and end_us - begin_us > law.dwell_us:
            raise InvariantError(
                "nobody exceeds the legal dwell time",
                f"{name} sends for {end_us - begin_us} us, {law.dwell_us} are allowed",
            )

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        """Drop what a node sent if its disk lost the record of it: the node cannot account for it."""
        del now_us
        window = self._windows.get(inhabitant.name, deque())
        while window and window[-1][0] >= loss.since_us:
            begun_us, ended_us = window.pop()
            self._used_us[inhabitant.name] -= ended_us - begun_us
