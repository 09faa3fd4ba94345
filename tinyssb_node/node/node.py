"""The node: bytes and time in, effects out.

It composes three parts: ``replication`` knows which peer lacks what, ``scheduling`` when something may be sent,
``gossip`` what to send. It reads no clock, no entropy, no file and no socket of its own; the daemon and the simulator
drive the very same class.

Any packet of a stranger has an outcome. An exception out of ``receive`` is a bug of ours.
"""

from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey, Verify, verify_signed
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX, Network, chunk_hash
from tinyssb_node.codec.events import (
    ChunkAppended,
    Effect,
    EntryAppended,
    Event,
    FaceDown,
    PacketSent,
    Send,
    SetChanged,
)
from tinyssb_node.codec.packets import (
    Feeds,
    parse_anchor,
    parse_ask,
    parse_chnk,
    parse_claim,
    parse_diff,
    parse_feeds,
    parse_named_chnk,
    parse_named_want,
    parse_newest,
    parse_novelty,
    parse_sketch,
    parse_want,
    parse_zap,
    set_kind,
)
from tinyssb_node.content.acks import ACK_TYPE
from tinyssb_node.errors import (
    FeedEndedError,
    NodeReadOnlyError,
    PacketKindError,
    PeerError,
    SetFullError,
)
from tinyssb_node.gossip.acknowledgements import Acknowledger
from tinyssb_node.gossip.admission import NOT_ADMITTED, Admission
from tinyssb_node.gossip.certainty import TipCertainty, TipUncertainError, TipWait
from tinyssb_node.gossip.deployed_set import DeployedSet
from tinyssb_node.gossip.entries import EntryGossip
from tinyssb_node.gossip.expiry import IdExpiry
from tinyssb_node.gossip.frontier_gossip import FrontierGossip
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.gossip.set_gossip import CROWDED, UNPROVEN, SetGossip
from tinyssb_node.groups.host import GroupHost, MakeGroups
from tinyssb_node.ids import Dialect, FaceName, FeedId, Origin, PacketKind, Verdict
from tinyssb_node.node.reception_log import ReceptionLog
from tinyssb_node.node.shelf_port import BringResult, OpenShelf
from tinyssb_node.node.shelf_transfer import ShelfTransfer
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.replication.asking import FeedAsker, asked
from tinyssb_node.replication.claim import named_feeds
from tinyssb_node.replication.neighbours import Neighbour
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.phone_wants import PhoneRoom, phone_room
from tinyssb_node.replication.quota import UNLIMITED, QuotaLimits
from tinyssb_node.replication.replica import CHILD_DIALECT, Replica
from tinyssb_node.scheduling.budget import UNKNOWN_BOOT, AirBudgets, AirStatus, BootReference
from tinyssb_node.scheduling.link import LinkProfile, Reception, face_up_event
from tinyssb_node.scheduling.refusals import RefusalLog, RefusalTotal
from tinyssb_node.scheduling.transmit_queue import FaceStatus, GossipPacket, TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource
from tinyssb_node.store.port import FeedRecord, Store

if TYPE_CHECKING:
    from tinyssb_node.groups.manager import GroupManager
    from tinyssb_node.groups.writer import GroupWriterPort
    from tinyssb_node.node.further_identities import FurtherIdentity

Result = TypeVar("Result")
_UNKNOWN = PacketKind.UNKNOWN
_PEER = Origin.PEER
"""Module-level aliases: a global lookup is ten times faster than `Enum.member`, and this is the hot path."""
_CODED = frozenset({PacketKind.CODED, PacketKind.CODED_CHUNK})
_CONTENT = frozenset({PacketKind.ENTRY, PacketKind.CODED, PacketKind.CHUNK, PacketKind.CODED_CHUNK})


class Node:
    """One node of the mesh."""

    def __init__(
        self,
        *,
        store: Store,
        network: Network,
        entropy: RandomSource,
        key: SigningKey | None,
        dialect: Dialect = Dialect.SPEC,
        read_only: bool = False,
        boot: BootReference = UNKNOWN_BOOT,
        budgets: AirBudgets | None = None,
        verify: Verify = verify_signed,
        acknowledge_permille: int = 0,
        certainty: TipCertainty | None = None,
        groups: MakeGroups | None = None,
        admission: Admission | None = None,
        shelf: OpenShelf | None = None,
        quota: QuotaLimits = UNLIMITED,
        places: int = limits.SET_MAX,
    ) -> None:
        """Load what *store* holds. *key* signs our main feed, written in *dialect*; *read_only* while the disk is full.

        *boot* states how long the node was down, for the legal limits on airtime; *budgets* are the airtime accounts,
        if other networks share them. *verify* checks signatures of received entries. *acknowledge_permille* is the
        share of airtime for all acknowledgements in the mesh; 0: write none. *groups* opens private groups; None: take
        part in none. *certainty* is what is known of our feed's tip; None: nothing is missing. *admission* decides
        which ids that peers name enter the set; None: all. *shelf* opens the shelf. *quota*: room for others' feeds;
        *places*: those of the set.

        May write to the store (our own feed, at first): commit before anything else. Raises SetFullError, without room.
        """
        self._store, self._key, self._entropy = store, key, entropy
        replica = self._replica = Replica(
            store, network, read_only=read_only, verify=verify, quota=quota, places=places
        )
        own = None if key is None else key.feed_id
        if own is not None and not read_only:
            self._replica.own_feed(own, dialect)
        self._certainty = certainty = certainty or TipCertainty(watch=False)
        self._certainties = {} if own is None else {own: certainty}
        self._queues: dict[FaceName, TransmitQueue] = {}
        self._refusals = RefusalLog()
        self._receptions = ReceptionLog(self._refusals)
        self._receipts = ReceiptTracker(self._replica, store, own, self._certainties)
        self._acknowledger = Acknowledger(
            replica, store, self._receipts, self._queues, entropy, own=own, permille=acknowledge_permille
        )
        self._retirement = FeedRetirement(self._replica, entropy)
        self._expiry = IdExpiry(self._replica, own, expires=dialect is Dialect.SPEC)
        frontiers = self._frontiers = FrontierGossip(self._replica, network, entropy)
        deployed = DeployedSet(self._replica)
        self._entries = EntryGossip(
            replica,
            store,
            network,
            entropy,
            self._receipts,
            self._retirement,
            frontiers,
            self._expiry,
            deployed,
        )
        self._admission = admission
        if admission is not None:
            admission.begin(store)
        self._set = self._open_set(network, own, deployed)
        self._groups = GroupHost(groups, self._replica, store)
        self._shelf = ShelfTransfer(shelf, self._replica)
        self._budgets = budgets or AirBudgets(store, boot, read_only=read_only)

    def _open_set(self, network: Network, own: FeedId | None, deployed: DeployedSet) -> SetGossip:
        return SetGossip(
            self._replica,
            network,
            self._entropy,
            own,
            self._queues,
            admission=self._admission,
            retirement=self._retirement,
            expiry=self._expiry,
            frontiers=self._frontiers,
            deployed=deployed,
        )

    def adopt(self, author: "FurtherIdentity") -> None:
        """Write for a further identity of ours, too. Call it before any face is up; as above, commit before anything
        else."""
        self._certainties[author.feed] = author.certainty
        if not self.read_only:
            author.enter(self._replica)

    # --- faces

    def face_up(self, face: FaceName, profile: LinkProfile, spec: str, now_us: int) -> list[Effect]:
        """Use a face that came up; with too many, it is refused."""
        assert face not in self._queues
        if len(self._queues) >= limits.FACES_MAX:
            self._refusals.refuse("faces", None)
            return list(self._refusals.due(now_us))
        budget = None
        if profile.allowance is not None:
            budget = self._budgets.open(profile.allowance, profile.airtime_us[limits.PACKET_SIZE], now_us)
        self._queues[face] = TransmitQueue(face, profile, spec, self._entropy, now_us, budget)
        self._frontiers.face_up(self._queues[face], now_us)
        self._entries.face_up(self._queues[face], now_us)
        self._set.face_up(self._queues[face], now_us)
        self._receptions.face_up(face, now_us)
        self._acknowledger.begin(now_us)
        for certainty in self._certainties.values():
            certainty.face_up(face, profile, now_us)
        self._retirement.begin(now_us)
        self._expiry.face_up(face, profile, now_us)
        return [face_up_event(face, spec, profile)]

    def face_down(self, face: FaceName, reason: str, now_us: int) -> list[Effect]:
        """Drop a face that is gone, and the packets that wait for it."""
        queue = self._queues.pop(face, None)
        if queue is None:
            return []
        queue.close(now_us)
        self._entries.face_down(face)
        self._frontiers.face_down(face)
        self._set.face_down(face)
        if self._admission is not None:
            self._admission.face_down(face)
        self._receptions.face_down(face)
        for certainty in self._certainties.values():
            certainty.face_down(face)
        effects: list[Effect] = [*self._refusals.due(now_us), FaceDown(face=face, reason=reason)]
        self._refusals.forget(face)
        return effects

    # --- the world

    def receive(self, packet: bytes, face: FaceName, reception: Reception, now_us: int) -> list[Effect]:
        """Handle a packet that came in, framing removed. Never raises, whatever it is."""
        queue = self._queues.get(face)
        if queue is None:
            return []
        # Its content is no longer worth sending here, and the channel was busy.
        queue.heard(packet, now_us)
        # Find out what it is: an entry or chunk is verified and stored, gossip is acted on.
        digest = sha256(packet).digest()
        outcome, effects = self._dispatch(queue, packet, digest, reception, now_us)
        # Neighbours that hear the same face have now received it too.
        if outcome.kind in _CONTENT:
            self._entries.heard_content(queue, packet, outcome, now_us)
            queue.heard_useful()
            self._note_waste(queue, outcome, digest, now_us)
        elif outcome.kind is _UNKNOWN:
            queue.heard_useless(stray=True)
            if not queue.on_air:
                # What is due is sent by ``wake``: a flood must cost little.
                received = self._receptions.record(queue, len(packet), digest, outcome, reception, now_us)
                if self._refusals.may_tell(now_us):
                    effects += self._refusals.due(now_us)
                return [received, *effects] if received is not None else effects
        elif not any(isinstance(effect, SetChanged) for effect in effects):
            queue.heard_talk()
        else:
            queue.heard_useful()
        # Record its reception, before anything that follows from it.
        received = self._receptions.record(queue, len(packet), digest, outcome, reception, now_us)
        # Pass on what it added to the store, and send what may go now.
        if outcome.events:
            effects += outcome.events
            coded = outcome.kind in _CODED
            if outcome.feed in self._replica.quota.refused:
                self._refusals.refuse("quota", face)
            effects += self._propagate(outcome.events, None if coded else packet, queue, now_us)
        effects += self._send_due(now_us)
        return [received, *effects] if received is not None else effects

    def junk(self, face: FaceName, reason: str, length: int, now_us: int) -> list[Effect]:
        """Count *length* bytes that came in and were no frame; *reason* names the rule they broke."""
        queue = self._queues.get(face)
        if queue is None:
            return []
        queue.heard_junk()
        outcome = PacketOutcome(PacketKind.UNKNOWN, Verdict.INVALID, reason)
        received = self._receptions.record(queue, length, b"", outcome, Reception(), now_us)
        return [received] if received is not None else []

    def sent(self, face: FaceName, count: int, now_us: int) -> list[Effect]:
        """Record that *count* packets handed to *face* have left, and send more."""
        queue = self._queues.get(face)
        if queue is None:
            return []
        effects: list[Effect] = []
        for sent in queue.sent(count, now_us):
            airtime_us = queue.profile.airtime_us[len(sent.packet)]
            self._set.sent(face, sent.kind, airtime_us, now_us)
            self._entries.sent(queue, sent, now_us)
            if sent.event is not None:
                effects.append(sent.event)
            effects.append(
                PacketSent(
                    face=face,
                    packet=sent.kind,
                    length=len(sent.packet),
                    hash=sha256(sent.packet).digest()[: limits.PACKET_HASH_SIZE],
                    airtime_us=airtime_us,
                )
            )
        return effects + self._send(queue, now_us)

    def busy(self, face: FaceName, now_us: int) -> list[Effect]:
        """*face* did not send a packet: somebody else is on the air. It is sent again later."""
        queue = self._queues.get(face)
        if queue is not None:
            queue.give_back(now_us)
        return []

    def wake(self, now_us: int) -> list[Effect]:
        """Do what is due at ``next_wake_us``."""
        effects: list[Effect] = []
        self._budgets.wake(now_us)
        for queue in self._queues.values():
            self._entries.wake(queue, now_us)
        may_write = self.waiting(now_us) is None
        if may_write and (acknowledgement := self._acknowledger.take(now_us)) is not None:
            effects += self._append(self._key, acknowledgement, ACK_TYPE, now_us)[1]
        effects += self._set.retire(self._retirement.take_due(now_us), now_us)
        effects += self._set.expire(self._expiry.take_due(now_us), now_us)
        if self._evicts:
            self._evict()
        if self._shelf.due:
            for packet in self._shelf.take(set_limits.SHELF_PIECE):
                effects += self._store_packet(packet, now_us)[1]
        if may_write and self._groups.due(now_us):
            writer = self._group_writer(now_us)
            if stopped := self._groups.wake(writer, now_us):
                self._refusals.refuse("groups", None, stopped)
            effects += writer.effects
        return effects + self._send_due(now_us)

    def next_wake_us(self) -> int | None:
        """Return when ``wake`` is due next; None: not before something happens."""
        if self._shelf.due or self._evicts:
            return 0
        due = [queue.next_us for queue in self._queues.values()]
        if (keep_us := self._budgets.next_us) is not None:
            due.append(keep_us)
        may_write = self._certainty.doubt is None
        if due and may_write and (owed_us := self._acknowledger.next_us) is not None:
            due.append(owed_us)
        if due and (leave_us := self._retirement.next_us) is not None:
            due.append(leave_us)
        if due and (expire_us := self._expiry.next_us) is not None:
            due.append(expire_us)
        if may_write and (groups_us := self._groups.next_us) is not None:
            due.append(groups_us)
        return min(due, default=None)

    def _evict(self) -> None:
        """Make room: delete a piece of a feed that nobody here asked for."""
        quota = self._replica.quota
        chosen = quota.chosen
        if (feed := self._replica.evict(set_limits.EVICTION_PIECE)) is not None:
            self._retirement.left(feed)
        for _ in range(quota.chosen - chosen):
            self._refusals.refuse("evicted", None)

    @property
    def _evicts(self) -> bool:
        """True while feeds that nobody here asked for have to make room."""
        return self._replica.quota.is_due and not self.read_only

    # --- other networks in the same program (``networks``)

    def knows(self, packet: bytes) -> bool:
        """Return True if *packet* is of this network: about its set, or an entry or chunk that it expects or stores."""
        dmx = packet[: limits.DMX_SIZE]
        kind = self._gossip_kind(dmx, packet)
        if kind is not None and kind is not PacketKind.PING and kind is not PacketKind.PONG:
            return True
        if len(packet) != limits.PACKET_SIZE:
            return self._replica.coded_chunks.feed_of(packet) is not None
        hash_, expected = chunk_hash(packet), self._replica.expectations
        return bool(
            expected.entries(dmx)
            or expected.chunks(hash_)
            or self._store.find_entries(dmx)
            or self._store.find_chunks(hash_)
            or self._replica.coded.feed_of(packet) is not None
        )

    def offer_stray(self, packet: bytes, face: FaceName) -> list[Effect]:
        """Keep a packet that no network knows: it may be an entry or chunk of this one that came too early."""
        if len(packet) != limits.PACKET_SIZE:
            return []
        return [*self._replica.offer(packet, chunk_hash(packet), Origin.PEER, face).events]

    def transmit_queue(self, face: FaceName) -> TransmitQueue | None:
        """Return the transmit queue of a face, which several networks may share; None if the face is down."""
        return self._queues.get(face)

    # --- dispatch of received packets

    def _dispatch(
        self, queue: TransmitQueue, packet: bytes, digest: bytes, reception: Reception, now_us: int
    ) -> tuple[PacketOutcome, list[Effect]]:
        """Find out what *packet* is, by its DMX or by its hash, and pass it to the part that handles it."""
        if not limits.PACKET_MIN_SIZE <= len(packet) <= limits.PACKET_SIZE:
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.INVALID, "PacketSizeError"), []
        kind = self._gossip_kind(packet[: limits.DMX_SIZE], packet)
        hash_ = digest[: limits.MESSAGE_ID_SIZE]
        if len(packet) == limits.PACKET_SIZE:
            # A chunk may begin with the DMX of gossip, by chance.
            if kind is None or self._replica.expectations.chunks(hash_):
                return self._replica.offer(packet, hash_, _PEER, queue.name), []
        elif kind is None:
            feed = self._replica.coded_chunks.feed_of(packet)
            if feed is not None:
                return self._replica.offer_coded_chunk(feed, packet, Origin.PEER, queue.name), []
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.NOT_OURS), []
        verdict = Verdict.DUPLICATE if self._receptions.is_repeat(queue, hash_, now_us) else Verdict.NEW
        try:
            if kind is PacketKind.ZAP or kind is PacketKind.PING or kind is PacketKind.PONG:
                verdict = Verdict.NOT_OURS
            effects = self._handle_gossip(queue, kind, packet, reception, now_us)
        except PeerError as error:
            return PacketOutcome(kind, Verdict.INVALID, type(error).__name__), []
        return PacketOutcome(kind, verdict), effects

    def _note_waste(self, queue: TransmitQueue, outcome: PacketOutcome, digest: bytes, now_us: int) -> None:
        """Tell the queue how little an entry or chunk that was heard is worth to us: 0 if it added something, 4 if it
        is wrong, 2 if it cannot help, 1 for a copy, half of that among hidden terminals, and a quarter for a row that
        may complete something. A first copy tells a node that knows of nothing that it lacks only that others lack
        something; a second one, where all stations hear each other, that somebody repeats what all have."""
        if outcome.events or (outcome.verdict is Verdict.NEW and outcome.kind not in _CODED):
            queue.heard_data(0.0)
        elif outcome.verdict is Verdict.DUPLICATE:
            again = self._receptions.is_second_copy(queue, digest, now_us)
            if self._entries.lacks_something(queue.name):
                queue.heard_data(1.0 - 0.5 * queue.hidden)
            elif again and queue.hidden < 1:
                queue.heard_data(1.0 - queue.hidden)
        else:
            block = outcome.chunk_block
            unknown = block is not None and self._replica.coded_chunks.block(block) is None
            wrong = outcome.verdict is not Verdict.NEW
            queue.heard_data(4.0 if wrong else 2.0 if unknown else 0.25)

    def _gossip_kind(self, dmx: bytes, packet: bytes) -> PacketKind | None:
        """Return what a packet is by its DMX; None if it may be an entry or chunk, or nothing."""
        if (kind := self._entries.kind(dmx)) is not None:
            return kind
        if dmx == self._set.dmx:
            return set_kind(packet)
        if dmx == PING_DMX:
            return PacketKind.PING
        return PacketKind.PONG if dmx == PONG_DMX else None

    def _handle_gossip(
        self, queue: TransmitQueue, kind: PacketKind, packet: bytes, reception: Reception, now_us: int
    ) -> list[Effect]:
        """Handle a packet that tells what a peer has or lacks. Raises PeerError, before anything has changed."""
        match kind:
            case PacketKind.WANT:
                goset = self._entries.set_under(packet[: limits.DMX_SIZE])
                return self._entries.heard_want(queue, goset, parse_want(packet), reception, now_us)
            case PacketKind.CHNK:
                goset = self._entries.set_under(packet[: limits.DMX_SIZE])
                return self._entries.heard_chnk(queue, goset, parse_chnk(packet), now_us)
            case PacketKind.NAMED_WANT:
                want = parse_named_want(packet)
                return self._entries.heard_named_want(queue, want, reception, now_us)
            case PacketKind.NAMED_CHNK:
                return self._entries.heard_named_chnk(queue, parse_named_chnk(packet), now_us)
            case PacketKind.NEWEST:
                self._entries.heard_newest(queue, parse_newest(packet), now_us)
                return []
            case PacketKind.ANCHOR:
                self._entries.heard_anchor(queue, parse_anchor(packet))
                return []
            case PacketKind.DIFF:
                self._entries.heard_diff(queue, parse_diff(packet), now_us)
                return []
            case PacketKind.ZAP:
                parse_zap(packet)  # "Wipe yourself": counted, never obeyed (docs/formats/packets.md).
                return []
            case PacketKind.PING | PacketKind.PONG:
                # ``Networks`` replies to pings, where asked to.
                return self._set.heard_ping(queue, now_us) if kind is PacketKind.PING else []
            case _:
                return self._handle_set_gossip(queue, kind, packet, now_us)

    def _handle_set_gossip(
        self, queue: TransmitQueue, kind: PacketKind, packet: bytes, now_us: int
    ) -> list[Effect]:
        """Likewise, of a packet about the set."""
        match kind:
            case PacketKind.CLAIM:
                claim = parse_claim(packet)
                named = named_feeds(claim)
                if claim.count > len(named):
                    # The bounds of a region may be named by a peer that does not know yet that they were retired:
                    # this brings nothing back.
                    named = tuple(feed for feed in named if feed not in self._replica.retired)
                admitted, effects = self._admit(queue, named, now_us, claimed=True)
                effects += self._set.retire_absent(queue, claim, now_us)
                return effects + self._set.heard_claim(queue, claim, now_us, welcome=admitted)
            case PacketKind.NOVELTY:
                novelty = parse_novelty(packet)
                admitted, effects = self._admit(queue, (novelty.feed,), now_us, claimed=True)
                return effects + self._set.heard_novelty(queue, novelty, now_us, welcome=admitted)
            case PacketKind.SKETCH:
                sketch = parse_sketch(packet)
                effects = self._set.retire_absent(queue, sketch, now_us)
                return effects + self._set.heard_sketch(queue, sketch, now_us)
            case PacketKind.ASK:
                ask = parse_ask(packet)
                self._frontiers.heard_ask(queue, ask, now_us)
                return self._set.heard_ask(queue, ask, now_us)
            case PacketKind.FEEDS:
                feeds = parse_feeds(packet)
                effects = self._set.heard_feeds(queue, feeds)
                effects += self._admit(queue, feeds.feeds, now_us)[1]
                return effects + self._admit_beyond(queue, feeds, now_us)
            case PacketKind.MORE:
                return self._admit_beyond(queue, parse_feeds(packet), now_us)
            case _:
                raise PacketKindError("goset", packet[limits.DMX_SIZE : limits.DMX_SIZE + 1])

    # --- propagation: what follows when something new is stored

    def _admit(
        self, queue: TransmitQueue, feeds: Sequence[FeedId], now_us: int, *, claimed: bool = False
    ) -> tuple[bool, list[Effect]]:
        """Add feed ids that a peer on *queue* named to the set, in a claim or not. False if one of them is not admitted
        now."""
        effects: list[Effect] = []
        rules: set[str] = set()
        for feed in feeds:
            if feed in self._replica.goset:
                continue
            rule, more = self._admit_one(queue, feed, now_us, claimed=claimed)
            effects += more
            if rule is not None:
                self._refusals.refuse(rule, queue.name)
                rules.add(rule)
        if rules - {UNPROVEN}:
            queue.heard_useless()
        if rules:
            self._expiry.id_refused(queue.name, now_us)
            effects += self._set.expire_unproven(now_us)
        return not rules, effects

    def _admit_one(
        self, queue: TransmitQueue, feed: FeedId, now_us: int, *, claimed: bool
    ) -> tuple[str | None, list[Effect]]:
        """Add an id that is not in the set. Return the rule by which it, or another one for it, is not admitted now."""
        if claimed and (kept := self._set.keep_beside(queue, feed)) is not None:
            return None if kept else CROWDED, []
        seen = claimed and self._frontiers.deployed.near(queue.name, now_us)
        if (rule := self._set.refusal(queue, feed, now_us, seen=seen)) is not None:
            if rule != NOT_ADMITTED:
                self._expiry.put_off(feed, queue.name, now_us)
            return rule, []
        effects: list[Effect] = []
        if not self._replica.goset.has_room(seen=seen):
            effects += self._set.make_room(feed, now_us)
        events = self._replica.add_feed(feed, queue.name, seen=seen)
        if not events:
            self._refusals.refuse("read_only" if self.read_only else "set", queue.name)
            return None, effects
        return None, effects + self._enter_set(feed, events, queue, now_us)

    def _admit_beyond(self, queue: TransmitQueue, said: Feeds, now_us: int) -> list[Effect]:
        """Take feeds that a peer on *queue* named, and that have no place in the set, beyond it: nodes of ours exchange
        them by name."""
        effects: list[Effect] = []
        for feed in said.feeds:
            if self._replica.is_current(feed) or self._replica.is_blocked(feed):
                continue
            rule = self._set.refusal_beyond(queue, feed, now_us, in_their_set=not said.more)
            if rule is not None:
                self._refusals.refuse(rule, queue.name)
            elif self._replica.add_beyond(feed, keep=False):
                self._shelf.entered(feed)
                self._retirement.returned(feed, now_us)
                if self._frontiers.learned(queue, feed, now_us):
                    self._replica.seek(feed)
                if said.more and queue.on_air and self._replica.has_large_set:
                    queue.want_timer.hear_inconsistent(now_us)  # a neighbour needs it
                adopted = self._replica.adopt_orphans(feed, queue.name)
                effects += [*adopted, *self._propagate(adopted, None, queue, now_us)]
            else:
                self._refusals.refuse("read_only" if self.read_only else "feeds", queue.name)
        self._frontiers.heard_feeds(queue, said.feeds, now_us)
        return effects

    def _enter_set(
        self, feed: FeedId, events: Sequence[Event], origin: TransmitQueue | None, now_us: int
    ) -> list[Effect]:
        """Announce that *feed* is in the set now, and append what is already here of it: orphans; the shelf's later."""
        self._shelf.entered(feed)
        self._retirement.returned(feed, now_us)
        if origin is not None:
            self._expiry.entered(feed, now_us)  # Entries of others follow at once: they are imported.
        effects = [*events, *self._set.grew(feed, origin, now_us)]
        adopted = self._replica.adopt_orphans(feed, None if origin is None else origin.name)
        return [*effects, *adopted, *self._propagate(adopted, None, origin, now_us)]

    def _store_packet(self, packet: bytes, now_us: int) -> tuple[PacketOutcome, list[Effect]]:
        """Offer the replica an entry or chunk that no face brought."""
        outcome = self._replica.offer(packet, chunk_hash(packet), Origin.IMPORT, None)
        effects = self._propagate(outcome.events, packet, None, now_us)
        return outcome, [*outcome.events, *effects]

    def _propagate(
        self, events: Sequence[Event], packet: bytes | None, origin: TransmitQueue | None, now_us: int
    ) -> list[Effect]:
        """Entries and chunks of others were appended, *packet* first if it is given, from *origin*: record them,
        request more where they came from, and offer them on the other faces. A pending feed enters the set by its
        first entry."""
        self._receipts.appended(events, packet, now_us)
        if self._admission is not None:
            self._admission.appended(events)
        self._acknowledger.appended(events, now_us)
        self._retirement.appended(events, now_us)
        self._groups.appended(events, now_us)
        self._entries.propagate(self._queues.values(), origin, events, now_us)
        self._expiry.appended(events)
        effects: list[Effect] = []
        for event in events:
            if isinstance(event, EntryAppended) and event.seq == 1 and self._enters_set(event.feed):
                face = None if origin is None else origin.name
                if entered := self._replica.add_feed(event.feed, face):
                    effects += self._enter_set(event.feed, entered, origin, now_us)
        return effects

    def _enters_set(self, feed: FeedId) -> bool:
        """Return True if *feed*, whose first entry is here, has waited for it to enter the set."""
        return self._is_users(feed) or (self._replica.record(feed).beyond and self._set.awaits_entry(feed))

    def _is_users(self, feed: FeedId) -> bool:
        """Return True if *feed* is beyond the set, and our user follows it, not just a group."""
        record = self._replica.record(feed)
        return record.beyond and record.of_user and not (record.ours or record.retired)

    def is_pending(self, feed: FeedId) -> bool:
        """Return True if our user follows *feed*, and nobody near has it yet: nothing of it came, and no peer named it.
        Only this node asks for it. Raises KeyError if it is not known."""
        return not self._replica.record(feed).seq and self._is_users(feed)

    def is_of_group(self, feed: FeedId) -> bool:
        """Return True if *feed* is beyond the set because a group needs it, or because we write it for one. Raises
        KeyError if it is not known."""
        record = self._replica.record(feed)
        return record.beyond and (record.child or record.for_group)

    # --- sending

    def _send_due(self, now_us: int) -> list[Effect]:
        """Hand over what may go now, on all faces."""
        effects: list[Effect] = []
        for queue in self._queues.values():
            if queue.has_work or self._has_packets(queue.name):
                effects += self._send(queue, now_us)
        if self._refusals.may_tell(now_us):
            effects += self._refusals.due(now_us)
        return effects

    def _has_packets(self, face: FaceName) -> bool:
        # For each packet that comes in: a loop over the three would take a tenth of the time.
        return (
            self._frontiers.has_packets(face)
            or self._set.has_packets(face)
            or self._entries.has_packets(face)
        )

    def _send(self, queue: TransmitQueue, now_us: int) -> list[Effect]:
        """Hand over what may go now on one face."""
        effects: list[Effect] = []
        if not queue.waiting and (advert := self._set.next_packet(queue, now_us)) is not None:
            # One at a time: what peers send meanwhile may make the rest needless.
            queue.put(advert.packet, advert.kind, now_us)
            if advert.event is not None:
                effects.append(advert.event)
        while (advert := self._next_by_name(queue, now_us)) is not None:
            queue.put(advert.packet, advert.kind, now_us)
            if advert.event is not None:
                effects.append(advert.event)
        while (first := queue.pop(now_us)) is not None:
            effects.append(Send(queue.name, *first))
        effects += self._entries.give(queue, now_us)
        while (kind := queue.pop_advert(now_us)) is not None:
            about_set = kind is PacketKind.CLAIM
            built = self._set.build(queue, now_us) if about_set else self._entries.build(queue, kind, now_us)
            if built is not None:
                queue.hand_advert(built)
                effects.append(Send(queue.name, built.packet, built.kind))
        self._refusals.note(queue.name, queue.counters)
        return effects

    def _next_by_name(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        """Return the next packet by which nodes with different sets find what to exchange, if one may wait in *queue*:
        on the air one at a time, since what peers send meanwhile may make the rest needless."""
        if queue.waiting and (queue.on_air or queue.waiting.room < limits.QUEUE_MAX // 2):
            return None
        return self._entries.more_wants(queue, now_us) or self._frontiers.next_packet(queue, now_us)

    # --- the user

    def publish(self, content: bytes, now_us: int) -> tuple[EntryAppended, list[Effect]]:
        """Append *content*, 0 to 65,536 bytes, to our main feed and send it on every face.

        Raises ContentTooLongError, FeedFullError, FeedForkedError, FeedEndedError, NodeReadOnlyError,
        TipUncertainError.
        """
        first, effects = self._append(self._key, content, None, now_us)
        return first, effects + self._send_due(now_us)

    def append_to_feed(
        self,
        key: SigningKey,
        content: bytes,
        now_us: int,
        type_: int | None = None,
        *,
        beyond: bool = False,
    ) -> tuple[EntryAppended, list[Effect]]:
        """Append *content* to the feed of *key*, which becomes a further feed of ours by that, in the set or *beyond*
        it, and send it on every face. With a *type_* of its own content has at most 48 bytes.

        Raises ContentTooLongError, FeedFullError, FeedForkedError, FeedEndedError, SetFullError, NodeReadOnlyError,
        TipUncertainError.
        """
        first, effects = self._append(key, content, type_, now_us, beyond=beyond)
        return first, effects + self._send_due(now_us)

    def _append(
        self,
        key: SigningKey | None,
        content: bytes,
        type_: int | None,
        now_us: int,
        *,
        beyond: bool = False,
    ) -> tuple[EntryAppended, list[Effect]]:
        """Append an entry of ours, and queue it on every face."""
        if key is None:
            raise NodeReadOnlyError
        feed = key.feed_id
        if (waiting := self.waiting(now_us, feed)) is not None:
            raise TipUncertainError(waiting)
        if self.read_only:
            raise NodeReadOnlyError
        if self._replica.ended(feed):
            raise FeedEndedError(feed, self._replica.frontier(feed))
        effects = self._make_ours(feed, now_us, beyond=beyond)
        appended = self._replica.append(key, content, type_)
        effects += appended
        self._retirement.appended(appended, now_us)
        self._expiry.appended(appended)
        if self._admission is not None:
            self._admission.appended(appended)
        first = appended[0]
        assert isinstance(first, EntryAppended)
        for queue in self._queues.values():
            self._entries.push(queue, appended, now_us)
            if first.seq == 1 and feed in self._replica.goset:
                self._set.introduce(queue, feed, now_us)
        self._groups.appended(appended, now_us)
        return first, effects

    def _make_ours(self, feed: FeedId, now_us: int, *, beyond: bool) -> list[Effect]:
        """Begin to write *feed*, unless we do already, and tell peers its id."""
        replica = self._replica
        placed = beyond or feed in replica.goset
        if replica.is_current(feed) and replica.record(feed).ours and (placed or replica.frontier(feed)):
            return []
        effects: list[Effect] = []
        for event in replica.own_feed(feed, CHILD_DIALECT, child=True, beyond=beyond, writes=True):
            effects += [event, *self._set.grew(feed, None, now_us)]
        if feed not in self._replica.goset:
            for queue in self._queues.values():
                self._frontiers.introduce(queue, feed, now_us)
        return effects

    def be_sure(self, feed: FeedId | None = None) -> None:
        """Our user confirms that nothing is missing of *feed*, that of an identity of ours; None: the main one."""
        (self._certainty if feed is None else self._certainties[feed]).be_sure()

    def follow(
        self,
        feed: FeedId,
        now_us: int,
        *,
        beyond: bool = False,
        pending: bool = False,
        newest: int | None = None,
        asker: FeedAsker = FeedAsker.USER,
    ) -> list[Effect]:
        """Add *feed* to the set, or if there is no room, or with *beyond*, beyond the set, and request it: first so
        many of its *newest* entries, 0 to 32; None: as before. *asker* wants it. With *pending*, and while
        made-up ids flood a radio, it enters the set only by its first entry, or if a peer names it: an id may be
        mistyped, and takes a place in the sets of all.

        Raises SetFullError if more feeds are known than can be, NodeReadOnlyError.
        """
        replica = self._replica
        if self.read_only:
            raise NodeReadOnlyError
        pending = pending or self._expiry.proven_only(now_us)
        if pending and feed not in replica.goset and not (replica.has_proof(feed) or self._shelf.has(feed)):
            beyond = True
        events = [] if beyond else replica.add_feed(feed, None)
        effects = self._enter_set(feed, events, None, now_us) if events else []
        if feed not in replica.goset:
            added = replica.add_beyond(feed, keep=True, asker=asker)
            if not added and not replica.is_current(feed):
                raise SetFullError(limits.KNOWN_FEEDS_MAX)
            self._shelf.entered(feed)
            for queue in self._queues.values():
                self._frontiers.news(queue.name, feed)
        replica.set_wanted(feed, wanted=True, asker=asker)
        if newest is not None:
            replica.set_newest(feed, newest)
        return effects + self._request_again(now_us)

    def unfollow(self, feed: FeedId, now_us: int, *, keep: bool = False) -> list[Effect]:
        """Request *feed* no more; it stays in the set. What is stored of it is kept, unless others need the room; with
        *keep*, for a group, in any case. A feed that only our user named, and of which nothing came, is forgotten.

        Raises KeyError if it is not in the set, NodeReadOnlyError.
        """
        if self._replica.read_only:
            raise NodeReadOnlyError
        if keep or not self._replica.forget_pending(feed):
            self._replica.set_wanted(feed, wanted=False, keep=keep)
        return self._request_again(now_us)

    def block(self, shorts: Collection[bytes], now_us: int) -> list[Effect]:
        """Accept nothing more of feeds whose ids begin with one of *shorts* (``content.blocklist``), except ours, and
        accept all others again. Stored entries stay."""
        return self._request_again(now_us) if self._replica.set_blocked(shorts) else []

    def purge(self, feed: FeedId, now_us: int) -> tuple[int, list[Effect]]:
        """Delete, from now on, all that is stored of *feed*, which nobody here follows, and request no more of it.
        Return how many packets that are. Raises KeyError if it is not known, NodeReadOnlyError."""
        if self.read_only:
            raise NodeReadOnlyError
        packets = self._replica.purge(feed)
        return packets, self._request_again(now_us)

    def set_quota(self, quota: QuotaLimits, now_us: int) -> list[Effect]:
        """Set the room for feeds that nobody here asked for."""
        return self._request_again(now_us) if self._replica.set_quota(quota) else []

    def _request_again(self, now_us: int) -> list[Effect]:
        """Send another WANT soon, on every face: the wanted feeds have changed."""
        for queue in self._queues.values():
            queue.want_timer.hear_inconsistent(now_us)
        return self._send_due(now_us)

    def in_groups(
        self, deed: Callable[["GroupManager", "GroupWriterPort"], Result], now_us: int
    ) -> tuple[Result, list[Effect]]:
        """Run *deed* with the private groups and a writer. Raises what *deed* does, and NodeReadOnlyError if we have no
        feed."""
        groups = self.groups
        if groups is None:
            raise NodeReadOnlyError
        writer = self._group_writer(now_us)
        return deed(groups, writer), writer.effects

    def _group_writer(self, now_us: int) -> "NodeGroupWriter":
        assert self._key is not None, "groups are made for those who have a feed"
        return NodeGroupWriter(self, self._replica, self._key, self._queues.values(), now_us)

    def import_packet(self, packet: bytes, now_us: int) -> tuple[PacketOutcome, list[Effect]]:
        """Store an entry or chunk, 120 bytes, from a file. Entries in order, each followed by its chunks."""
        outcome, effects = self._store_packet(packet, now_us)
        return outcome, effects + self._send_due(now_us)

    def bring(self, feed: FeedId, packets: Sequence[bytes], now_us: int) -> tuple[BringResult, list[Effect]]:
        """Store entries and chunks of *feed*, 120 bytes each, from another island: in the set's feed, or on the shelf.
        Entries in order, each before its chunks. Raises NodeReadOnlyError, and LocalErrors of the shelf."""
        brought, effects = self._bring(feed, packets, now_us)
        return brought, effects + self._send_due(now_us)

    def _bring(self, feed: FeedId, packets: Sequence[bytes], now_us: int) -> tuple[BringResult, list[Effect]]:
        replica = self._replica
        if replica.read_only:
            raise NodeReadOnlyError
        if replica.is_blocked(feed) or (replica.is_current(feed) and not replica.record(feed).wanted):
            return BringResult(shelved=False, refused=(0, "not wanted")), []
        if not replica.knows(feed):
            shelved = self._shelf.bring(feed, packets)
            return shelved or BringResult(shelved=False, refused=(0, "no shelf")), []
        effects: list[Effect] = []
        brought: list[Event] = []
        held, refused = 0, None
        while self._shelf.moves(feed):
            for packet in self._shelf.take(set_limits.SHELF_PIECE, feed):
                effects += self._store_packet(packet, now_us)[1]
        for number, packet in enumerate(packets):
            outcome, stored = self._store_packet(packet, now_us)
            effects += stored
            brought += outcome.events
            if outcome.verdict is Verdict.DUPLICATE:
                held += 1
            elif outcome.verdict is not Verdict.NEW:
                gone = "not in the set" if feed in replica.retired else "nothing the node holds leads to it"
                refused = number, outcome.reason or gone
                break
        entries = sum(isinstance(event, EntryAppended) for event in brought)
        chunks = sum(isinstance(event, ChunkAppended) for event in brought)
        return BringResult(shelved=False, entries=entries, chunks=chunks, held=held, refused=refused), effects

    # --- looking

    @property
    def replica(self) -> Replica:
        """The feeds that are stored, and the set."""
        return self._replica

    @property
    def groups(self) -> "GroupManager | None":
        """Our private groups; None if we take part in none."""
        return self._groups.open()

    def waiting(self, now_us: int, feed: FeedId | None = None) -> TipWait | None:
        """Return what is waited for before *feed*, one of ours, is written, None: the main one. None: nothing, or it is
        frozen anyway. Feeds of groups wait with the main one."""
        identity = feed if feed in self._certainties else None
        certainty = self._certainty if identity is None else self._certainties[identity]
        own = None if certainty.doubt is None else self.own(identity)
        if certainty.doubt is None or (own is not None and own.forked_at is not None):
            return None
        return certainty.waiting(0 if own is None else own.seq, now_us)

    def own(self, feed: FeedId | None = None) -> FeedRecord | None:
        """Return the record of *feed*, one of ours, None: the main one; None if we have none, or the disk was full when
        it was made."""
        if self._key is None:
            return None
        try:
            return self._replica.record(feed or self._key.feed_id)
        except KeyError:
            return None  # The disk was full when this node first started.

    @property
    def read_only(self) -> bool:
        """True while nothing can be signed or stored."""
        return self._replica.read_only

    def feeds(self) -> list[FeedRecord]:
        """Return all feeds with their frontiers, retired ones among them, sorted by feed id."""
        return self._replica.records()

    def neighbours(self) -> dict[FaceName, list[Neighbour]]:
        """Return the nodes that were heard to request something, on each face on the air. A name is made anew at each
        start of its node's face, and does not tell which feed is behind it."""
        return self._entries.neighbours()

    def is_blocked(self, feed: FeedId) -> bool:
        """Return True if nothing more is accepted of a feed that is known."""
        return feed in self._replica.blocked

    @property
    def set_state(self) -> bytes:
        """XOR of the set's feed ids, 32 bytes."""
        return self._replica.goset.state

    def side_chains_open(self) -> int:
        """Return the number of side chains that are not complete yet."""
        return len(self._replica.expectations.side_chains)

    def air(self, now_us: int) -> list[AirStatus]:
        """Return the airtime accounts, sorted by sub-band; none where no face has a limit."""
        return self._budgets.status(now_us)

    def deployed_faces(self, now_us: int) -> Sequence[FaceName]:
        """Return the faces on which boards, phones or pubs were heard in the last hour."""
        return self._frontiers.deployed.faces(now_us)

    def phone_room(self) -> PhoneRoom:
        """Return whether phones survive the set."""
        return phone_room([self._replica.last_to_give(feed) + 1 for feed in self._replica.goset.feeds])

    def refusals(self) -> list[RefusalTotal]:
        """Return what was refused at a limit since the start, the latest first."""
        return self._refusals.totals()

    def faces(self) -> list[FaceStatus]:
        """Return the faces that are up, in the order they came up."""
        return [queue.status() for queue in self._queues.values()]


class NodeGroupWriter:
    """A ``groups.writer.GroupWriterPort`` that collects the effects of what is written."""

    def __init__(
        self,
        node: Node,
        replica: Replica,
        key: SigningKey,
        queues: Collection[TransmitQueue],
        now_us: int,
    ) -> None:
        self.main = key
        self._node = node
        self._replica = replica
        self._queues = queues
        self._now_us = now_us
        self.effects: list[Effect] = []
        """The effects of what was written so far."""

    def write(self, key: SigningKey, content: bytes, type_: int | None = None) -> EntryAppended:
        """See ``GroupWriterPort``."""
        # Feeds of groups take no place of the set: its 255 are for those that everybody may read.
        beyond = key is not self.main
        appended, effects = self._node.append_to_feed(key, content, self._now_us, type_, beyond=beyond)
        self.effects += effects
        return appended

    @property
    def on_air_only(self) -> bool:
        """See ``GroupWriterPort``."""
        return all(queue.on_air for queue in self._queues)

    @property
    def has_spare_air(self) -> bool:
        """See ``GroupWriterPort``."""
        return all(queue.spent(self._now_us) < limits.SPARE_AIR_SHARE for queue in self._queues)

    def want(self, feed: FeedId, *, wanted: bool, invited: bool = False, certain: bool = False) -> bool:
        """See ``GroupWriterPort``."""
        if self._replica.is_closed(feed):
            return True  # All of it is here. To follow it would bring it back into everybody's set.
        record = self._replica.record(feed) if self._replica.is_current(feed) else None
        asker = FeedAsker.GROUP_ALONE if certain else FeedAsker.GROUP
        if invited:
            asker = FeedAsker.INVITATION
        if record is not None and record.wanted == wanted and (not wanted or asked(record, asker) == record):
            return True
        if invited and record is not None and not record.wanted:
            return True  # The user unfollowed it: an invitation does not change that.
        if wanted:
            beyond = feed not in self._replica.goset
            self.effects += self._node.follow(feed, self._now_us, beyond=beyond, asker=asker)
        elif record is not None and (record.invited or not invited):
            self.effects += self._node.unfollow(feed, self._now_us, keep=not invited)
        return True
