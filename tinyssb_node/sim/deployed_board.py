"""An ESP32 board by the deployed rules, in the place of a ``Node``: the reference for our own gossip.

It follows the timers and credits of the boards' firmware of April 2025: a ring of slots, one packet a slot at most. It
sends a CLAIM of the whole set every 20 s or more, whatever neighbours send, and answers claims that differ every 20
slots between. It sends a WANT and a CHNK every 6 to 8 slots while no node claims more ids, and five entries or chunks
in reply to a request, and a ping every 25 to 27 s. Ten packets wait; further ones are dropped. It never listens before
it sends, and knows no law. Its packets are verified and stored by our own code, but for entries of dialect ``spec``,
which it does not know.

A *repeater* is a board without a feed of its own: until it hears of one, pings are all that it says.
"""

from collections import deque
from collections.abc import Sequence
from hashlib import sha256

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey, Verify, verify_signed
from tinyssb_node.codec.dmx import Network, chnk_dmx, dmx_of, entry_name, first_prev, want_dmx
from tinyssb_node.codec.events import (
    ChunkAppended,
    Effect,
    EntryAppended,
    FaceDown,
    FaceUp,
    PacketReceived,
    PacketSent,
    Send,
)
from tinyssb_node.codec.packets import (
    CLAIM_KIND,
    NOVELTY_KIND,
    Claim,
    Novelty,
    Ping,
    parse_chnk,
    parse_claim,
    parse_novelty,
    parse_want,
    serialize_chnk,
    serialize_claim,
    serialize_novelty,
    serialize_ping,
    serialize_want,
)
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import Dialect, FaceName, FeedId, Origin, PacketKind, Verdict
from tinyssb_node.replication.chnk import build_chnk, read_chnk
from tinyssb_node.replication.claim import agrees, claim_of
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import NOT_WANTED, build_want
from tinyssb_node.scheduling.link import LinkProfile, Reception
from tinyssb_node.scheduling.trickle import RandomSource
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.store.port import FeedRecord, Store

_Packet = tuple[bytes, PacketKind]


class DeployedBoard:
    """One board. It has the methods of ``Node`` that the world calls."""

    def __init__(
        self,
        *,
        store: Store,
        network: Network,
        entropy: RandomSource,
        key: SigningKey,
        verify: Verify = verify_signed,
        repeater: bool = False,
    ) -> None:
        """Load what *store* holds. A *repeater* writes nothing."""
        self._store = store
        self._network = network
        self._entropy = entropy
        self._key = key
        self._replica = Replica(store, network, read_only=False, verify=verify)
        if not repeater:
            self._replica.own_feed(key.feed_id, Dialect.DEPLOYED)
        self._faces: dict[FaceName, LinkProfile] = {}
        self._waiting: deque[_Packet] = deque()
        self._sending: dict[FaceName, _Packet] = {}
        self._claims: list[Claim] = []
        self._largest_claim = 0
        self._claimed_us: int | None = None
        self._spec_first: set[bytes] = set()
        """DMX of the first entries of feeds of dialect ``spec``."""
        self._set_changed()
        self._want_start = self._chnk_start = 0
        self._slot_us: int | None = None
        self._slot = 0
        self._ping_us = 0
        self._claim_slot = int(entropy.random() * sim_limits.BOARD_CLAIM_SLOTS)
        self._want_slot = int(entropy.random() * sim_limits.BOARD_ASK_SLOTS)
        self._chnk_slot = int(entropy.random() * sim_limits.BOARD_ASK_SLOTS)

    # --- faces

    def face_up(self, face: FaceName, profile: LinkProfile, spec: str, now_us: int) -> list[Effect]:
        """Add a face that can be used."""
        self._faces[face] = profile
        if self._slot_us is None:
            self._slot_us = now_us + int(self._entropy.random() * sim_limits.BOARD_SLOT_US)
        return [FaceUp(face=face, spec=spec)]

    def face_down(self, face: FaceName, reason: str, now_us: int) -> list[Effect]:
        """Remove a face that is gone."""
        del now_us
        self._sending.pop(face, None)
        return [FaceDown(face=face, reason=reason)] if self._faces.pop(face, None) is not None else []

    def sent(self, face: FaceName, count: int, now_us: int) -> list[Effect]:
        """Note that packets given to *face* have left."""
        del count, now_us
        packet, kind = self._sending.pop(face)
        return [
            PacketSent(
                face=face,
                packet=kind,
                length=len(packet),
                hash=sha256(packet).digest()[: limits.PACKET_HASH_SIZE],
                airtime_us=self._faces[face].airtime_us[len(packet)],
            )
        ]

    def busy(self, face: FaceName, now_us: int) -> list[Effect]:
        """Never called: it does not listen."""
        del face, now_us
        return []

    # --- time

    def next_wake_us(self) -> int | None:
        """Return the beginning of its next slot; None while it has no face."""
        return self._slot_us if self._faces else None

    def wake(self, now_us: int) -> list[Effect]:
        """Begin a slot: queue what is due, send what waited longest."""
        assert self._slot_us is not None
        assert now_us >= self._slot_us
        self._slot_us = (
            now_us + sim_limits.BOARD_SLOT_US + int(self._entropy.random() * sim_limits.BOARD_SLOT_SPREAD_US)
        )
        self._slot += 1
        if self._slot >= self._claim_slot:
            self._claim_slot = (
                self._slot + sim_limits.BOARD_CLAIM_SLOTS + self._draw(sim_limits.BOARD_SLOTS_SPREAD)
            )
            self._probe_set(now_us)
        if self._slot >= self._want_slot:
            self._want_slot = (
                self._slot + sim_limits.BOARD_ASK_SLOTS + self._draw(sim_limits.BOARD_SLOTS_SPREAD)
            )
            self._make_want()
        if self._slot >= self._chnk_slot:
            self._chnk_slot = (
                self._slot + sim_limits.BOARD_ASK_SLOTS + self._draw(sim_limits.BOARD_SLOTS_SPREAD)
            )
            self._make_chnk()
        if now_us >= self._ping_us:
            self._ping_us = now_us + sim_limits.BOARD_PING_US + self._draw(sim_limits.BOARD_PING_SPREAD_US)
            seconds = str(now_us // 1_000_000)
            self._queue(serialize_ping(Ping(self._key.feed_id[:2].hex(), (("t", seconds),))), PacketKind.PING)
        if not self._waiting or self._sending:
            return []
        packet, kind = self._waiting.popleft()
        self._sending = dict.fromkeys(self._faces, (packet, kind))
        return [Send(face, packet, kind) for face in self._faces]

    def _draw(self, below: int) -> int:
        return int(self._entropy.random() * below)

    def _queue(self, packet: bytes, kind: PacketKind) -> None:
        if len(self._waiting) < sim_limits.BOARD_WAITING_MAX and (packet, kind) not in self._waiting:
            self._waiting.append((packet, kind))

    # --- saying

    def _set_changed(self) -> None:
        """WANT and CHNK are recognised by the set (spec 3.4.2)."""
        state = self._replica.goset.state
        self._want_dmx = want_dmx(self._network, state)
        self._chnk_dmx = chnk_dmx(self._network, state)
        self._spec_first = {
            dmx_of(entry_name(self._network, feed, 1, first_prev(feed, Dialect.SPEC)))
            for feed in self._replica.goset.feeds
        }

    @property
    def _in_sync(self) -> bool:
        """True if no node claimed more ids than it has."""
        return len(self._replica.goset) >= self._largest_claim

    def _probe_set(self, now_us: int) -> None:
        """Claim the whole set once in a round; between, answer claims of others that differ."""
        if not len(self._replica.goset):
            return
        if self._claimed_us is None or now_us - self._claimed_us > sim_limits.BOARD_ROUND_US:
            self._claimed_us = now_us
            self._say(claim_of(self._replica.goset.feeds))
        else:
            self._work_on_claims()

    def _work_on_claims(self) -> None:
        """Ask nodes that know more of a region, help those that know less; both for equal counts of different ids."""
        goset = self._replica.goset
        kept: list[Claim] = []
        asked = helped = 0
        for claim in sorted(self._claims, key=lambda claim: claim.count):
            region = goset.region(claim.low, claim.high)
            if not region or agrees(goset, claim):
                continue
            if len(region) <= claim.count and asked < 1:
                asked += 1
                self._say(claim_of(region))
            if len(region) >= claim.count and helped < 2:
                helped += 1
                self._help(region[1:-1])
            else:
                kept.append(claim)
        self._claims = kept[: sim_limits.BOARD_CLAIMS_KEPT]

    def _help(self, between: Sequence[FeedId]) -> None:
        if len(between) == 1:
            self._say(Novelty(feed=between[0]))
        elif len(between) <= 3:
            if between:
                self._say(claim_of(between))
        else:
            half = len(between) // 2
            self._say(claim_of(between[:half]))
            self._say(claim_of(between[half:]))

    def _say(self, said: Claim | Novelty) -> None:
        dmx = self._network.goset_dmx
        if isinstance(said, Novelty):
            self._queue(serialize_novelty(dmx, said), PacketKind.NOVELTY)
        else:
            self._queue(serialize_claim(dmx, said), PacketKind.CLAIM)

    def _make_want(self) -> None:
        replica = self._replica
        built = build_want(replica.goset, replica.next_wanted, self._want_start) if self._in_sync else None
        if built is not None:
            want, self._want_start = built
            self._queue(serialize_want(self._want_dmx, want), PacketKind.WANT)

    def _make_chnk(self) -> None:
        replica = self._replica
        chains = replica.expectations.side_chains
        built = build_chnk(replica.goset, chains, self._chnk_start) if self._in_sync else None
        if built is not None:
            chnk, self._chnk_start = built
            self._queue(serialize_chnk(self._chnk_dmx, chnk), PacketKind.CHNK)

    # --- hearing

    def receive(self, packet: bytes, face: FaceName, reception: Reception, now_us: int) -> list[Effect]:
        """Process a received packet. Never raises, whatever it is."""
        del now_us
        if face not in self._faces:
            return []
        finding = self._find(packet, face)
        received = PacketReceived(
            face=face,
            packet=finding.kind,
            length=len(packet),
            hash=sha256(packet).digest()[: limits.PACKET_HASH_SIZE],
            verdict=finding.verdict,
            reason=finding.reason if finding.verdict is Verdict.INVALID else None,
            rssi_dbm=reception.rssi_dbm,
            snr_db=reception.snr_db,
            airtime_us=reception.airtime_us,
            feed=finding.feed,
            seq=finding.seq,
            chunk=finding.chunk,
        )
        return [received, *finding.events]

    def _find(self, packet: bytes, face: FaceName) -> PacketOutcome:
        dmx = packet[: limits.DMX_SIZE]
        try:
            if dmx == self._network.goset_dmx:
                return self._hear_set(packet, face)
            if dmx == self._want_dmx:
                return self._hear_want(packet)
            if dmx == self._chnk_dmx:
                return self._hear_chnk(packet)
        except PeerError as error:
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.INVALID, type(error).__name__)
        if len(packet) != limits.PACKET_SIZE or dmx in self._spec_first:
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.NOT_OURS)
        hash_ = sha256(packet).digest()[: limits.MESSAGE_ID_SIZE]
        finding = self._replica.offer(packet, hash_, Origin.PEER, face)
        if len(self._replica.orphans):
            self._replica.forget_orphans()  # a board drops what it does not expect
        return finding

    def _hear_set(self, packet: bytes, face: FaceName) -> PacketOutcome:
        """Raises PeerError."""
        letter = packet[limits.DMX_SIZE : limits.DMX_SIZE + 1]
        if letter == NOVELTY_KIND:
            novelty = parse_novelty(packet)
            finding = PacketOutcome(PacketKind.NOVELTY, Verdict.NEW)
            if self._learn(novelty.feed, face, finding):
                self._say(novelty)
            return finding
        if letter != CLAIM_KIND:
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.NOT_OURS)
        claim = parse_claim(packet)
        finding = PacketOutcome(PacketKind.CLAIM, Verdict.NEW)
        self._largest_claim = max(self._largest_claim, claim.count)
        for feed in (claim.low, claim.high):
            self._learn(feed, face, finding)
        if (
            not agrees(self._replica.goset, claim)
            and claim not in self._claims
            and len(self._claims) < sim_limits.BOARD_CLAIMS_MAX
        ):
            self._claims.append(claim)
        return finding

    def _learn(self, feed: FeedId, face: FaceName, finding: PacketOutcome) -> bool:
        if feed in self._replica.goset or len(self._replica.goset) >= 100:
            return False
        finding.events.extend(self._replica.add_feed(feed, face))
        self._set_changed()
        return True

    def _hear_want(self, packet: bytes) -> PacketOutcome:
        """Give up to five entries, of each feed one before the second of any. Raises PeerError."""
        want, goset = parse_want(packet), self._replica.goset
        asked = [
            (goset[(want.offset + number) % len(goset)], seq)
            for number, seq in enumerate(want.seqs[: len(goset)])
            if seq != NOT_WANTED
        ]
        lists = [self._store.entries(feed, seq, sim_limits.BOARD_ANSWERS_MAX) for feed, seq in asked]
        ranked = [(turn, entry.packet) for entries in lists for turn, entry in enumerate(entries)]
        for _, answer in sorted(ranked, key=lambda item: item[0])[: sim_limits.BOARD_ANSWERS_MAX]:
            self._queue(answer, PacketKind.ENTRY)
        return PacketOutcome(PacketKind.WANT, Verdict.NEW)

    def _hear_chnk(self, packet: bytes) -> PacketOutcome:
        """Give up to five chunks. Raises PeerError."""
        answers: list[bytes] = []
        for place in read_chnk(self._replica.goset, parse_chnk(packet)):
            answers += self._store.chunks(*place, sim_limits.BOARD_ANSWERS_MAX)
        for answer in answers[: sim_limits.BOARD_ANSWERS_MAX]:
            self._queue(answer, PacketKind.CHUNK)
        return PacketOutcome(PacketKind.CHNK, Verdict.NEW)

    # --- the user

    def publish(self, content: bytes, now_us: int) -> tuple[EntryAppended, list[Effect]]:
        """Append to its feed; neighbours ask for it. Raises as ``Node.publish`` does."""
        del now_us
        published: list[EntryAppended | ChunkAppended] = self._replica.append(self._key, content)
        first = published[0]
        assert isinstance(first, EntryAppended)
        return first, list(published)

    def follow(self, feed: FeedId, now_us: int) -> list[Effect]:
        """Take *feed* into the set."""
        del now_us
        events: list[Effect] = [*self._replica.add_feed(feed, None)]
        self._set_changed()
        return events

    # --- looking

    def feeds(self) -> list[FeedRecord]:
        """Return the feeds of the set with their frontiers, sorted by feed id."""
        return self._replica.records()

    def side_chains_open(self) -> int:
        """Side chains that are not whole yet."""
        return len(self._replica.expectations.side_chains)


def make_repeater(store: Store, key: SigningKey, chance: RandomSource) -> DeployedBoard:
    """Return a board without a feed of its own."""
    return DeployedBoard(store=store, network=Network(), entropy=chance, key=key, repeater=True)
