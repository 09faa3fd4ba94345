"""The node: bytes and time in, effects out.

It composes the machines: ``replication`` knows who lacks what, ``scheduling`` when something may be said, ``gossip``
what to say. It reads no clock, no entropy, no file and no socket of its own; the daemon and the simulator drive the
very same class.

Whatever a stranger sends has an outcome. An exception out of ``receive`` is a bug of ours.
"""

from collections.abc import Callable, Collection, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey, Verify, verify_signed
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.content.acks import ACK_TYPE
from tinyssb_node.effects import Effect, Send
from tinyssb_node.errors import NodeReadOnlyError, PeerError
from tinyssb_node.events import EntryAppended, FaceDown, PacketSent
from tinyssb_node.gossip.acknowledgements import Acknowledger
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.gossip.certainty import TipCertainty, TipUncertainError, TipWait
from tinyssb_node.gossip.entries import EntryGossip
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.gossip.set_gossip import SetGossip
from tinyssb_node.groups.host import GroupHost, MakeGroups
from tinyssb_node.groups.node_group_writer import NodeGroupWriter
from tinyssb_node.ids import Dialect, FaceName, FeedId, Origin, PacketKind, Verdict
from tinyssb_node.node.dispatch import GossipDispatch
from tinyssb_node.node.propagation import Propagation
from tinyssb_node.node.reception_log import ReceptionLog
from tinyssb_node.node.shelf_port import BringResult, OpenShelf
from tinyssb_node.node.shelfhost import ShelfHost
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.budget import UNKNOWN_BOOT, AirBudgets, AirStatus, BootReference
from tinyssb_node.scheduling.line import FaceStatus, Line
from tinyssb_node.scheduling.link import LinkProfile, Reception, face_up_event
from tinyssb_node.scheduling.refusals import RefusalLog
from tinyssb_node.scheduling.trickle import RandomSource
from tinyssb_node.store.port import FeedRecord, Store

if TYPE_CHECKING:
    from tinyssb_node.groups.manager import GroupManager
    from tinyssb_node.groups.writer import GroupWriterPort
    from tinyssb_node.node.further_identities import FurtherIdentity

Result = TypeVar("Result")


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
    ) -> None:
        """Load what *store* holds. *key* signs our main feed, written in *dialect*; *read_only* while the disk is full.

        *boot* states how long the node was down, for the legal limits on airtime; *budgets* are the airtime accounts,
        if other networks share them. *verify* checks signatures of received entries. *acknowledge_permille* is the
        share of airtime for all acknowledgements in the mesh; 0: write none. *groups* opens private groups; None: take
        part in none. *certainty* is what is known of our feed's tip; None: nothing is missing. *admission* decides
        which ids that peers name enter the set; None: all. *shelf* opens the shelf; None: there is none.

        May write to the store (our own feed, at first): commit before anything else. Raises SetFullError, without room.
        """
        self._store, self._key = store, key
        self._entropy, self._network = entropy, network
        self._replica = Replica(store, network, read_only=read_only, verify=verify)
        own = None if key is None else key.feed_id
        if own is not None and not read_only:
            self._replica.own_feed(own, dialect)
        self._certainty = certainty or TipCertainty(watch=False)
        self._certainties = {} if own is None else {own: self._certainty}
        self._receipts = ReceiptTracker(self._replica, store, own, self._certainties)
        self._gossip = EntryGossip(self._replica, store, network, entropy, self._receipts)
        self._sets = SetGossip(self._replica, network, entropy, own)
        self._lines: dict[FaceName, Line] = {}
        self._refusals = RefusalLog()
        self._taken = ReceptionLog(self._refusals)
        self._acknowledging = Acknowledger(
            self._replica, store, self._receipts, self._lines, entropy, own=own, permille=acknowledge_permille
        )
        self._groups = GroupHost(groups, self._replica, store)
        self._leaving = FeedRetirement(self._replica, entropy)
        self._admission = admission
        if admission is not None:
            admission.begin(store)
        self._shelf = ShelfHost(shelf, self._replica)
        self._news = Propagation(
            self._replica,
            self._gossip,
            self._sets,
            self._receipts,
            self._acknowledging,
            self._leaving,
            self._groups,
            self._refusals,
            self._lines,
            admission,
            self._shelf,
        )
        self._vectors = GossipDispatch(
            network, self._replica, self._gossip, self._sets, self._leaving, self._news
        )
        self._budgets = budgets or AirBudgets(store, boot, read_only=read_only)

    def adopt(self, author: "FurtherIdentity") -> None:
        """Write for a further identity of ours, too. Before any face is up; as above, commit before anything else."""
        self._certainties[author.feed] = author.certainty
        if not self.read_only:
            author.enter(self._replica)

    # --- faces

    def face_up(self, face: FaceName, profile: LinkProfile, spec: str, now_us: int) -> list[Effect]:
        """A face can be used; with too many, this one is not."""
        assert face not in self._lines
        if len(self._lines) >= limits.FACES_MAX:
            self._refusals.refuse("faces", None)
            return list(self._refusals.due(now_us))
        budget = None
        if profile.allowance is not None:
            budget = self._budgets.open(profile.allowance, profile.airtime_us[limits.PACKET_SIZE], now_us)
        self._lines[face] = Line(face, profile, spec, self._entropy, now_us, budget)
        self._gossip.face_up(self._lines[face])
        self._sets.face_up(self._lines[face])
        self._taken.face_up(face, now_us)
        self._acknowledging.begin(now_us)
        for certainty in self._certainties.values():
            certainty.face_up(face, profile, now_us)
        self._leaving.begin(now_us)
        return [face_up_event(face, spec, profile)]

    def face_down(self, face: FaceName, reason: str, now_us: int) -> list[Effect]:
        """A face is gone, and with it what waited for it."""
        line = self._lines.pop(face, None)
        if line is None:
            return []
        line.close(now_us)
        self._gossip.face_down(face)
        self._sets.face_down(face)
        if self._admission is not None:
            self._admission.face_down(face)
        self._taken.face_down(face)
        for certainty in self._certainties.values():
            certainty.face_down(face)
        effects: list[Effect] = [*self._refusals.due(now_us), FaceDown(face=face, reason=reason)]
        self._refusals.forget(face)
        return effects

    # --- the world

    def receive(self, packet: bytes, face: FaceName, reception: Reception, now_us: int) -> list[Effect]:
        """A packet came in, framing removed. Never raises, whatever it is."""
        line = self._lines.get(face)
        if line is None:
            return []
        line.heard(packet, now_us)
        digest = sha256(packet).digest()
        effects: list[Effect] = []
        finding = self._find(line, packet, digest, reception, now_us, effects)
        if finding.kind is PacketKind.ENTRY or finding.kind is PacketKind.CHUNK:
            self._gossip.heard_content(line, packet, finding, now_us)
        elif finding.kind is PacketKind.UNKNOWN:
            line.heard_in_vain(stray=True)
        received = self._taken.record(line, len(packet), digest, finding, reception, now_us)
        if finding.events:
            effects += finding.events
            self._news.note(finding.events, packet, now_us)
            self._news.spread(line, finding.events, now_us)
        self._pump_all(now_us, effects)
        return [received, *effects] if received is not None else effects

    def junk(self, face: FaceName, reason: str, length: int, now_us: int) -> list[Effect]:
        """Something of *length* bytes came in that was no frame; *reason* names the rule it broke."""
        line = self._lines.get(face)
        if line is None:
            return []
        line.counters.received += 1
        finding = PacketOutcome(PacketKind.UNKNOWN, Verdict.INVALID, reason)
        received = self._taken.record(line, length, b"", finding, Reception(), now_us)
        return [received] if received is not None else []

    def sent(self, face: FaceName, count: int, now_us: int) -> list[Effect]:
        """*count* packets handed to *face* have left."""
        line = self._lines.get(face)
        if line is None:
            return []
        effects: list[Effect] = []
        for sent in line.sent(count, now_us):
            self._sets.sent(face, sent.kind, sent.airtime_us, now_us)
            if sent.said is not None:
                effects.append(sent.said)
            effects.append(
                PacketSent(
                    face=face,
                    packet=sent.kind,
                    length=len(sent.packet),
                    hash=sha256(sent.packet).digest()[: limits.PACKET_HASH_SIZE],
                    airtime_us=sent.airtime_us,
                )
            )
        self._pump(line, now_us, effects)
        return effects

    def busy(self, face: FaceName, now_us: int) -> list[Effect]:
        """*face* did not send what it was handed: somebody else is on the air. One packet; it comes again later."""
        line = self._lines.get(face)
        if line is not None:
            line.give_back(now_us)
        return []

    def wake(self, now_us: int) -> list[Effect]:
        """Time has come to ``next_wake_us``, or beyond."""
        effects: list[Effect] = []
        self._budgets.wake(now_us)
        for line in self._lines.values():
            line.wake(now_us)
        may_write = self.waiting(now_us) is None
        if may_write and (acknowledgement := self._acknowledging.take(now_us)) is not None:
            self._publish(self._key, acknowledgement, ACK_TYPE, now_us, effects)
        self._news.leave(self._leaving.take(now_us), now_us, effects)
        self._news.unshelve(now_us, effects)
        if may_write:
            self._groups.wake(
                lambda: NodeGroupWriter(self, self._replica, self._key, now_us, effects), now_us
            )
        self._pump_all(now_us, effects)
        return effects

    def next_wake_us(self) -> int | None:
        """When ``wake`` is due next; None: not before something happens."""
        if self._shelf.due:
            return 0
        due = [line.next_us for line in self._lines.values()]
        if (keep_us := self._budgets.next_us) is not None:
            due.append(keep_us)
        may_write = self._certainty.doubt is None
        if due and may_write and (owed_us := self._acknowledging.next_us) is not None:
            due.append(owed_us)
        if due and (leave_us := self._leaving.next_us) is not None:
            due.append(leave_us)
        if may_write and (groups_us := self._groups.next_us) is not None:
            due.append(groups_us)
        return min(due, default=None)

    # --- other networks in the same program (``networks``)

    def knows(self, packet: bytes) -> bool:
        """True if *packet* is of this network: speaks of its set, or is an entry or chunk that it expects or holds."""
        dmx = packet[: limits.DMX_SIZE]
        kind = self._vectors.kind(dmx, packet)
        if kind is not None and kind is not PacketKind.PING and kind is not PacketKind.PONG:
            return True
        if len(packet) != limits.PACKET_SIZE:
            return False
        hash_, expected = chunk_hash(packet), self._replica.expectations
        return bool(
            expected.entries(dmx)
            or expected.chunks(hash_)
            or self._store.find_entries(dmx)
            or self._store.find_chunks(hash_)
        )

    def offer_stray(self, packet: bytes, face: FaceName) -> list[Effect]:
        """Keep a packet that no network knows: it may be an entry or chunk of this one that came too early."""
        if len(packet) != limits.PACKET_SIZE:
            return []
        return [*self._replica.offer(packet, chunk_hash(packet), Origin.PEER, face).events]

    def line(self, face: FaceName) -> Line | None:
        """The sending side of a face, for whoever shares it out among networks."""
        return self._lines.get(face)

    # --- what a packet is

    def _find(
        self,
        line: Line,
        packet: bytes,
        digest: bytes,
        reception: Reception,
        now_us: int,
        effects: list[Effect],
    ) -> PacketOutcome:
        if not limits.PACKET_MIN_SIZE <= len(packet) <= limits.PACKET_SIZE:
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.INVALID, "PacketSizeError")
        dmx = packet[: limits.DMX_SIZE]
        hash_ = digest[: limits.MESSAGE_ID_SIZE]
        kind = self._vectors.kind(dmx, packet)
        if len(packet) == limits.PACKET_SIZE:
            if kind is None or self._replica.expectations.chunks(hash_):
                return self._replica.offer(packet, hash_, Origin.PEER, line.name)
        elif kind is None:
            return PacketOutcome(PacketKind.UNKNOWN, Verdict.NOT_OURS)
        finding = PacketOutcome(kind, Verdict.DUPLICATE if line.heard_vector(hash_, now_us) else Verdict.NEW)
        try:
            self._vectors.take(line, kind, packet, finding, reception, now_us, effects)
        except PeerError as error:
            return PacketOutcome(kind, Verdict.INVALID, type(error).__name__)
        return finding

    # --- sending

    def _pump_all(self, now_us: int, effects: list[Effect]) -> None:
        for line in self._lines.values():
            if line.outbox or line.asks or line.on_air:
                self._pump(line, now_us, effects)
        if self._refusals.may_tell(now_us):
            effects += self._refusals.due(now_us)

    def _pump(self, line: Line, now_us: int, effects: list[Effect]) -> None:
        """Hand over what may go now."""
        if not line.outbox and (next_set := self._sets.next_packet(line)) is not None:
            # One at a time: what others say meanwhile may make the rest needless.
            packet, set_kind, said = next_set
            line.put(packet, set_kind, now_us)
            effects.append(said)
        while (first := line.pop(now_us)) is not None:
            effects.append(Send(line.name, *first))
        effects += self._gossip.give(line, now_us)
        while (kind := line.pop_ask(now_us)) is not None:
            advertises_set = kind is PacketKind.CLAIM
            built = self._sets.build(line) if advertises_set else self._gossip.build(line, kind, now_us)
            if built is not None:
                line.hand(*built)
                effects.append(Send(line.name, *built[:2]))
        self._refusals.note(line.name, line.counters)

    # --- the user

    def publish(self, content: bytes, now_us: int) -> tuple[EntryAppended, list[Effect]]:
        """Append *content*, 0 to 65,536 bytes, to our own feed and say so on every face.

        Raises ContentTooLongError, FeedFullError, FeedForkedError, FeedEndedError, NodeReadOnlyError,
        TipUncertainError.
        """
        effects: list[Effect] = []
        first = self._publish(self._key, content, None, now_us, effects)
        self._pump_all(now_us, effects)
        return first, effects

    def publish_as(
        self, key: SigningKey, content: bytes, now_us: int, effects: list[Effect], type_: int | None = None
    ) -> EntryAppended:
        """Append *content* to the feed of *key*, a further one of ours from then on, and say so on every face. With a
        *type_* of its own content has at most 48 bytes.

        Raises ContentTooLongError, FeedFullError, FeedForkedError, FeedEndedError, SetFullError, NodeReadOnlyError,
        TipUncertainError.
        """
        first = self._publish(key, content, type_, now_us, effects)
        self._pump_all(now_us, effects)
        return first

    def _publish(
        self, key: SigningKey | None, content: bytes, type_: int | None, now_us: int, effects: list[Effect]
    ) -> EntryAppended:
        if key is None:
            raise NodeReadOnlyError
        if (waiting := self.waiting(now_us, key.feed_id)) is not None:
            raise TipUncertainError(waiting)
        return self._news.publish(key, content, type_, now_us, effects)

    def be_sure(self, feed: FeedId | None = None) -> None:
        """Our user says that nothing is missing of *feed*, that of an identity of ours; None: the main one."""
        (self._certainty if feed is None else self._certainties[feed]).be_sure()

    def follow(self, feed: FeedId, now_us: int) -> list[Effect]:
        """Take *feed* into the set, if it is not there, and want it. Raises SetFullError, NodeReadOnlyError."""
        effects: list[Effect] = []
        self._news.follow(feed, now_us, effects)
        self._ask_anew(now_us, effects)
        return effects

    def unfollow(self, feed: FeedId, now_us: int) -> list[Effect]:
        """Ask no more for *feed*; it stays in the set, and what is held is kept.

        Raises KeyError if it is not in the set, NodeReadOnlyError.
        """
        if self._replica.read_only:
            raise NodeReadOnlyError
        self._replica.set_wanted(feed, wanted=False)
        effects: list[Effect] = []
        self._ask_anew(now_us, effects)
        return effects

    def block(self, shorts: Collection[bytes], now_us: int) -> list[Effect]:
        """Take nothing more of feeds whose ids begin with one of *shorts* (``content.blocklist``), but for ours, and of
        all others again. What is held stays."""
        effects: list[Effect] = []
        if self._replica.set_blocked(shorts):
            self._ask_anew(now_us, effects)
        return effects

    def _ask_anew(self, now_us: int, effects: list[Effect]) -> None:
        for line in self._lines.values():
            line.want_timer.disagree(now_us)
        self._pump_all(now_us, effects)

    def in_groups(
        self, deed: Callable[["GroupManager", "GroupWriterPort"], Result], now_us: int
    ) -> tuple[Result, list[Effect]]:
        """Do something with private groups. Raises what *deed* does, and NodeReadOnlyError if we have no feed."""
        groups = self.groups
        if groups is None:
            raise NodeReadOnlyError
        effects: list[Effect] = []
        result = deed(groups, NodeGroupWriter(self, self._replica, self._key, now_us, effects))
        return result, effects

    def import_packet(self, packet: bytes, now_us: int) -> tuple[PacketOutcome, list[Effect]]:
        """Take an entry or chunk, 120 bytes, from a file. Entries in order, each followed by its chunks."""
        effects: list[Effect] = []
        finding = self._news.take(packet, now_us, effects)
        self._pump_all(now_us, effects)
        return finding, effects

    def bring(self, feed: FeedId, packets: Sequence[bytes], now_us: int) -> tuple[BringResult, list[Effect]]:
        """Take entries and chunks of *feed*, 120 bytes each, from another island: into the set's feed, or onto the
        shelf. Entries in order, each before its chunks. Raises NodeReadOnlyError, and LocalErrors of the shelf."""
        effects: list[Effect] = []
        brought = self._news.bring(feed, packets, now_us, effects)
        self._pump_all(now_us, effects)
        return brought, effects

    # --- looking

    @property
    def groups(self) -> "GroupManager | None":
        """Our private groups; None if we take part in none."""
        return self._groups.open()

    def waiting(self, now_us: int, feed: FeedId | None = None) -> TipWait | None:
        """What is waited for before *feed*, one of ours, is written, None: the main one; None: nothing, or it is frozen
        anyway. Feeds of groups wait with the main one."""
        identity = feed if feed in self._certainties else None
        certainty = self._certainty if identity is None else self._certainties[identity]
        own = None if certainty.doubt is None else self.own(identity)
        if certainty.doubt is None or (own is not None and own.forked_at is not None):
            return None
        return certainty.waiting(0 if own is None else own.seq, now_us)

    def own(self, feed: FeedId | None = None) -> FeedRecord | None:
        """Our *feed*, None: the main one; None if we have none, or could not keep that we have."""
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
        """All feeds with their frontiers, those that have left the set among them, sorted by feed id."""
        return self._replica.records()

    def is_blocked(self, feed: FeedId) -> bool:
        """True if nothing is taken of a feed that is known."""
        return feed in self._replica.blocked

    @property
    def set_state(self) -> bytes:
        """XOR of the set's feed ids, 32 bytes."""
        return self._replica.goset.state

    def side_chains_open(self) -> int:
        """Side chains that are not whole yet."""
        return len(self._replica.expectations.side_chains)

    def air(self, now_us: int) -> list[AirStatus]:
        """The accounts of airtime, sorted by sub-band; none where no face has a limit."""
        return self._budgets.status(now_us)

    def faces(self) -> list[FaceStatus]:
        """The faces that are up, in the order they came up."""
        return [line.status() for line in self._lines.values()]
