"""Per-face transmit queue and pacing: what waits to be sent on one face, and when it may go.

Replies wait in order of their due time, packets to relay in their relay, and adverts (CLAIM, WANT, CHNK) by kind: they
are built when they go, to be up to date. The pacer says when the face may be handed a packet of which urgency, the
airtime budget whether the law allows it, and three Trickle timers when an advert is due.
"""

from collections import deque
from dataclasses import dataclass, replace
from typing import NamedTuple

from tinyssb_node import limits
from tinyssb_node.codec.events import Event
from tinyssb_node.ids import FaceName, PacketKind, Verdict
from tinyssb_node.scheduling.budget import AirBudget, AirUse
from tinyssb_node.scheduling.due_queue import DueQueue
from tinyssb_node.scheduling.link import LinkMedium, LinkProfile
from tinyssb_node.scheduling.pacer import Urgency, make_pacer
from tinyssb_node.scheduling.relay import EntryRelay
from tinyssb_node.scheduling.suppression import RecentSet
from tinyssb_node.scheduling.trickle import RandomSource, Trickle


@dataclass(slots=True)
class Counters:
    """Totals of a face since it came up."""

    sent: int = 0
    """Packets that left."""
    received: int = 0
    """Packets that came in, whatever they were."""
    new: int = 0
    """Received packets that brought something new."""
    invalid: int = 0
    """Received packets and frames that broke a rule."""
    refused: int = 0
    """Packets of ours that found the queue full."""
    held_back: int = 0
    """Times that something had to wait because the law allowed no more airtime."""
    spared: int = 0
    """Replies we were about to send, and heard from a peer first."""
    airtime_us: int = 0
    """Airtime of what left."""
    last_heard_us: int | None = None
    """When something was received last, on the node's clock."""


class GossipPacket(NamedTuple):
    """A packet that was built just now, to be handed to the face at once."""

    packet: bytes
    kind: PacketKind
    event: Event | None
    """The record of what it says, written when it has left: CLAIM, WANT and the like."""
    addressed: bool = False
    """True for a WANT that names the neighbour that should reply."""


@dataclass(frozen=True, slots=True)
class HandedPacket:
    """A packet that the face holds, or that has left."""

    packet: bytes
    kind: PacketKind
    use: AirUse
    """Purpose of its airtime; this decides where it waits again if the face gives it back."""
    event: Event | None = None
    """As in its ``GossipPacket``, like the next."""
    addressed: bool = False
    chosen: bool = False
    """True for a reply that was chosen when it was handed over: if the face gives it back, another one is chosen."""
    charge: int | None = None
    """The number of its charge; None where airtime has no budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceStatus:
    """The status of a face, for users."""

    name: FaceName
    spec: str
    profile: LinkProfile
    queued: int
    """Packets that wait."""
    outstanding: int
    """Packets handed to the face and not yet reported as sent."""
    counters: Counters


_URGENCIES = {
    AirUse.ADVERT: Urgency.ADVERT,
    AirUse.REPLY: Urgency.REPLY,
    AirUse.RELAY: Urgency.RELAY,
    AirUse.OWN: Urgency.REPLY,
}
_NEW = Verdict.NEW
_INVALID = Verdict.INVALID
"""Module-level aliases: a global lookup is ten times faster than `Enum.member`, and this is the hot path."""
_REQUESTS = {
    PacketKind.WANT: PacketKind.WANT,
    PacketKind.NAMED_WANT: PacketKind.WANT,
    PacketKind.CHNK: PacketKind.CHNK,
    PacketKind.NAMED_CHNK: PacketKind.CHNK,
}
"""Requests that replies follow, and as which advert each is built."""
_CLAIMS = {PacketKind.CLAIM, PacketKind.SKETCH}
"""Adverts of the set."""
_DATA_SIZES = {limits.PACKET_SIZE, limits.CODED_CHUNK_SIZE}
"""Sizes of entries and chunks. A request of just that size is taken for one: the next reply waits a little less."""
_REBUILT = _REQUESTS | {PacketKind.PONG: PacketKind.PONG}
"""As which adverts those are built again that a face gives back; all others instead of a CLAIM."""


class TransmitQueue:
    """The transmit queue of one face. It decides when to send; gossip decides what."""

    def __init__(
        self,
        name: FaceName,
        profile: LinkProfile,
        spec: str,
        entropy: RandomSource,
        now_us: int,
        budget: AirBudget | None = None,
    ) -> None:
        """*budget* is the airtime account of the face's sub-band; None where the law sets no limit."""
        self.name = name
        self.profile = profile
        self.spec = spec
        self.on_air = profile.medium is LinkMedium.AIR
        self.counters = Counters()
        self.waiting = DueQueue()
        self._own = DueQueue()
        """New entries of ours, where replies that wait for airtime must not hold them up."""
        self.adverts: dict[PacketKind, None] = {}
        """Kinds of adverts to send when they may go, first come first."""
        self.relay = EntryRelay(entropy)
        self._pong = b"", now_us
        """A reply to a board's ping, and until when it is worth sending."""
        self.reply_patience: float | None = None
        """How patiently the next reply waits that is chosen when it goes; None: there is none to choose."""
        self._reply_uses: tuple[AirUse, ...] = (AirUse.REPLY,)
        """Of what airtime that reply may be paid."""
        self.want_patience = 1.0
        """How patiently WANTs wait."""
        self._heard_us = now_us
        """When something was heard last, or the face came up."""
        self._advert_us = now_us
        """When ``pop_advert`` returned a kind last."""
        self._sent_once: RecentSet[bytes] = RecentSet(limits.RECENT_MAX)
        self._with_face: deque[HandedPacket] = deque()
        self._entropy = entropy
        self._pacer = make_pacer(profile, entropy, now_us)
        self._budget = budget
        self._kept_until_us = now_us
        """Until when airtime is kept for named feeds."""
        self._held_back: set[AirUse] = set()
        """Purposes that wait for airtime."""
        self.claim_timer = self._timer(now_us)
        self.want_timer = self._timer(now_us)
        self.chnk_timer = self._timer(now_us, grows_unsent=False)
        self._timers = {
            PacketKind.CLAIM: self.claim_timer,
            PacketKind.WANT: self.want_timer,
            PacketKind.CHNK: self.chnk_timer,
        }

    def _timer(self, now_us: int, *, grows_unsent: bool = True) -> Trickle:
        return Trickle(
            shortest_us=self.profile.advert_min_us,
            longest_us=self.profile.advert_max_us,
            entropy=self._entropy,
            now_us=now_us,
            grows_unsent=grows_unsent,
        )

    def slow_adverts(self, longest_us: int) -> None:
        """Let adverts that nobody contradicts become as rare as once in *longest_us*."""
        for timer in self._timers.values():
            timer.lengthen(longest_us)

    # --- what is heard on the face

    def heard(self, packet: bytes, now_us: int) -> None:
        """A packet was heard: drop it where it waits, and leave the channel to others for a while."""
        counters = self.counters
        counters.received += 1
        if self.on_air:
            if now_us - self._heard_us > limits.ALONE_ADVERTS * self.profile.advert_max_us:
                # A node came into reach, perhaps not for long.
                self.advertise(PacketKind.CLAIM, now_us)
                self.advertise(PacketKind.WANT, now_us)
            counters.spared += self._own.cancel(packet)
            self.relay.heard(packet, now_us)
            self._pacer.heard(now_us, data=len(packet) in _DATA_SIZES)
        self._heard_us = counters.last_heard_us = now_us
        counters.spared += self.waiting.cancel(packet)

    def heard_junk(self) -> None:
        """Something came in that was no frame."""
        self.counters.received += 1

    def heard_useless(self, *, stray: bool = False) -> None:
        """The packet heard last was of no use to us; *stray*: it belongs to nobody we know."""
        if self.on_air:
            self._pacer.heard_useless(stray=stray)

    def heard_talk(self) -> None:
        """The packet heard last, about a set or a request, told us nothing new."""
        self._pacer.heard_talk()

    def heard_useful(self) -> None:
        """See Pacer."""
        self._pacer.heard_useful()

    def heard_data(self, waste: float) -> None:
        """The packet heard last was an entry or chunk, coded or not; *waste* tells how little it is worth, 0 if it
        added something to the store."""
        self._pacer.heard_data(waste)

    def count_verdict(self, verdict: Verdict) -> None:
        """Count what the packet heard last was to us."""
        if verdict is _NEW:
            self.counters.new += 1
        elif verdict is _INVALID:
            self.counters.invalid += 1

    def count_spared(self) -> None:
        """A neighbour gave an entry that we would have given."""
        self.counters.spared += 1

    def suppress(self, kind: PacketKind) -> None:
        """A neighbour sent what our advert of *kind* would say."""
        if kind in self.adverts:
            del self.adverts[kind]
            self._timers[kind].suppressed()
        self._timers[kind].hear_consistent()

    def suppress_served(self, kind: PacketKind, *, same: bool) -> None:
        """A neighbour requested all that our *kind* would request, or the *same*. A request that asks for more replaces
        ours a few times only: the node that could reply may hear us, and not that neighbour."""
        if same or not self.on_air or self._timers[kind].silenced < limits.YIELDS_MAX:
            self.suppress(kind)

    def suppress_claim(self) -> None:
        """A WANT showed that a peer has the same set as we: it stands for our advert of the set. On the air it does so
        a few times only, until adverts are rare: a node with another set learns nothing from it, but from our advert.
        """
        timer = self.claim_timer
        if not self.on_air or timer.is_calm or timer.silenced < limits.CLAIM_YIELDS_MAX:
            self.suppress(PacketKind.CLAIM)

    def crowd(self, neighbours: int) -> None:
        """So many stations are known to be in reach."""
        self._pacer.crowd(neighbours)

    def take_turn(self, now_us: int) -> None:
        """We are asked by name, and may send several packets in a row."""
        self._pacer.take_turn(now_us)

    def leave_turn(self, now_us: int, *, in_reach: bool) -> None:
        """A node is asked by name: keep silent meanwhile. *in_reach*: it is a neighbour of ours."""
        self._pacer.leave_turn(now_us, in_reach=in_reach)

    def note_exchange(self, *, hidden: bool, named: bool = True) -> None:
        """A packet for another node was heard; *hidden* if that node is out of our reach. *named*: a neighbour that has
        proved itself named it; others may have made it up."""
        self._pacer.note_exchange(hidden=hidden, named=named)

    @property
    def turn_packets(self) -> int:
        """Packets in a row that we may send when we are asked by name."""
        return self._pacer.turn_packets

    @property
    def hidden(self) -> float:
        """How far to take account of hidden terminals, 0 to 1."""
        return self._pacer.hidden

    # --- queueing

    def reply_due_us(self, now_us: int) -> int:
        """Return when a reply to the packet just heard should go: at random where others may reply too."""
        return now_us + int(self._entropy.random() * self.profile.answer_delay_us)

    def room(self, credit: int) -> int:
        """Return how many packets may be queued now in reply to a request that was granted *credit*."""
        return max(0, min(self.waiting.room, credit - len(self.waiting)))

    def spent(self, now_us: int) -> float:
        """Return which part of our airtime for entries is used up, 0 to 1; 0 where the law sets no limit."""
        return 0.0 if self._budget is None else self._budget.spent(now_us)

    def has_air_for_repeats(self, now_us: int) -> bool:
        """Return True if more than half of the airtime for entries that the law allows is left; False where it sets no
        limit: there, only ours keep the channel free."""
        return self._budget is not None and self.spent(now_us) < limits.SPARE_AIR_SHARE

    def keep_for_named(self, until_us: int) -> None:
        """Keep the rest of the airtime for replies for named feeds until *until_us*, once some of it is used up."""
        self._kept_until_us = until_us

    def keeps_airtime(self, now_us: int) -> bool:
        """Return True if the rest of the airtime for replies is kept for named feeds now."""
        if self._budget is None or now_us >= self._kept_until_us:
            return False
        return self._budget.asked_spent(now_us) >= limits.NAMED_RESERVE_FROM

    @property
    def has_work(self) -> bool:
        """True if something may have to be sent now: on the air, replies are chosen when they go."""
        return self.on_air or bool(self.adverts or self.waiting)

    def put(self, packet: bytes, kind: PacketKind, due_us: int) -> None:
        """Queue *packet*; a full queue refuses it and counts."""
        self._wanted(due_us)
        if not self.waiting.put(packet, kind, due_us):
            self.counters.refused += 1

    def put_own(self, packet: bytes, kind: PacketKind, now_us: int) -> None:
        """Queue an entry or chunk of ours that was just published: before replies, and from airtime of its own."""
        if not self.on_air:
            self.put(packet, kind, now_us)
            return
        if AirUse.REPLY in self._held_back and not self._own:
            # That replies wait for airtime makes it no less likely that others publish in the same moment.
            self._pacer.wanted(now_us)
        else:
            self._wanted(now_us)
        self.waiting.cancel(packet)
        # A chunk that two entries share goes behind the later one.
        self._own.cancel(packet)
        if not self._own.put(packet, kind, now_us):
            self.counters.refused += 1

    def put_once(self, packet: bytes, kind: PacketKind, due_us: int, now_us: int) -> bool:
        """Queue *packet* unless the same was queued here a moment ago. This ends two nodes' replies to each other."""
        if self._sent_once.within(packet, self.profile.hold_us, now_us):
            return False
        self._sent_once.add(packet, now_us)
        self.put(packet, kind, due_us)
        return True

    def put_last(self, packet: bytes, kind: PacketKind, due_us: int) -> None:
        """Queue *packet* behind all that is due until then, even if it waits already."""
        self.waiting.cancel(packet)
        self.put(packet, kind, due_us)

    def advertise(self, kind: PacketKind, now_us: int) -> None:
        """Send an advert of *kind* when it may go."""
        self._wanted(now_us)
        self.adverts[kind] = None

    def _wanted(self, now_us: int) -> None:
        if not (self.waiting or self._own or self.adverts or self.relay or self.reply_patience is not None):
            self._pacer.wanted(now_us)

    def set_patience(self, *, reply: float | None, want: float, own: bool = False) -> None:
        """Set how many times longer than they must replies that are chosen when they go wait, and WANTs; *reply* None:
        there is none to choose. *own*: a new entry of ours is among them."""
        self.reply_patience = reply
        self._reply_uses = (AirUse.REPLY, AirUse.OWN) if own else (AirUse.REPLY,)
        self.want_patience = want

    def answer_ping(self, pong: bytes, now_us: int) -> None:
        """Send *pong* when an advert may go."""
        # It is dropped when the next ping has come.
        self._pong = pong, now_us + 30_000_000
        self.advertise(PacketKind.PONG, now_us)

    def build_pong(self) -> GossipPacket | None:
        """Return the pong for which ``pop_advert`` returned its kind; None if it waited for too long."""
        pong, until_us = self._pong
        return GossipPacket(pong, PacketKind.PONG, None) if self._advert_us < until_us else None

    def wake(self, now_us: int) -> list[PacketKind]:
        """Move the timers on to *now_us*. Return the kinds of adverts that are due by them, which are queued."""
        due = []
        for kind, timer in self._timers.items():
            if timer.wake(now_us):
                self.advertise(kind, now_us)
                due.append(kind)
        return due

    def request_when_quiet(self, kind: PacketKind, now_us: int) -> None:
        """Something requested came: let the timer of *kind* request more when no more comes."""
        quiet_us = self.profile.quiet_us
        if quiet_us is None:
            self._timers[kind].hear_inconsistent(now_us)
            return
        if self.profile.medium is not LinkMedium.STREAM:
            # Others heard the same: the first of them to request speaks for all that lack no more.
            quiet_us += int(2 * quiet_us * self._entropy.random())
        self._timers[kind].speak_at(now_us + quiet_us, now_us)

    # --- handing packets to the face

    def pop(self, now_us: int) -> tuple[bytes, PacketKind] | None:
        """Hand the next packet that waits to the face, if it may go now: new entries of ours, then replies."""
        for waiting, use in ((self._own, AirUse.OWN), (self.waiting, AirUse.REPLY)):
            first = waiting.pop(now_us) if self._may(use, now_us, self._waiting_patience(use)) else None
            if first is not None:
                self._hand(HandedPacket(*first, use), now_us)
                return first
        return None

    def may_reply(self, now_us: int) -> AirUse | None:
        """Return of what airtime a reply may be chosen now, to be handed over by ``hand_reply``; None: not now."""
        if self.reply_patience is None:
            return None
        return next((use for use in self._reply_uses if self._may(use, now_us, self.reply_patience)), None)

    def hand_reply(self, packet: bytes, kind: PacketKind, now_us: int, use: AirUse = AirUse.REPLY) -> None:
        """Hand an entry, coded or not, chosen at once when ``may_reply`` returned *use*, to the face."""
        self._hand(HandedPacket(packet, kind, use, chosen=True), now_us)

    def pop_relayed(self, now_us: int) -> bytes | None:
        """Hand the next entry to relay to the face, if it may go now."""
        packet = self.relay.pop() if self._may(AirUse.RELAY, now_us) else None
        if packet is not None:
            self._hand(HandedPacket(packet, PacketKind.ENTRY, AirUse.RELAY), now_us)
        return packet

    def pop_advert(self, now_us: int) -> PacketKind | None:
        """Return the kind of advert to send now, if any: the caller builds it and hands it over by ``hand_advert``."""
        if not self.adverts or not self._may(AirUse.ADVERT, now_us, self._advert_patience):
            return None
        self._advert_us = now_us
        kind = self._next_advert
        del self.adverts[kind]
        return kind

    def hand_advert(self, advert: GossipPacket) -> None:
        """Hand *advert*, built at once for the kind that ``pop_advert`` returned, to the face."""
        handed = HandedPacket(advert.packet, advert.kind, AirUse.ADVERT, advert.event, advert.addressed)
        self._hand(handed, self._advert_us)

    @property
    def _next_advert(self) -> PacketKind:
        """The kind to send next: WANTs last, as only of them it is known how long they may wait."""
        return next((kind for kind in self.adverts if kind is not PacketKind.WANT), PacketKind.WANT)

    @property
    def _advert_patience(self) -> float:
        kind = self._next_advert
        if kind is PacketKind.CLAIM and self.claim_timer.is_calm:
            # All have the same set, so that there is time to hear whether a neighbour sends the same.
            return limits.CALM_PATIENCE
        return self.want_patience if kind is PacketKind.WANT else 1.0

    def _hand(self, handed: HandedPacket, now_us: int) -> None:
        if self._budget is not None:
            airtime_us = self.profile.airtime_us[len(handed.packet)]
            handed = replace(handed, charge=self._budget.charge(airtime_us, now_us, handed.use))
        self._pacer.handed()
        self.relay.forget(handed.packet)
        self._with_face.append(handed)

    # --- what the face reports

    def sent(self, count: int, now_us: int) -> list[HandedPacket]:
        """The face reports *count* packets as sent. Return them."""
        self._pacer.sent(count, now_us)
        return [self._left(self._with_face.popleft(), now_us) for _ in range(count)]

    def _left(self, handed: HandedPacket, now_us: int) -> HandedPacket:
        self._settle(handed, now_us)
        self.counters.sent += 1
        self.counters.airtime_us += self.profile.airtime_us[len(handed.packet)]
        if handed.kind in _CLAIMS:
            self.claim_timer.sent()
        if (request := _REQUESTS.get(handed.kind)) is not None:
            self._timers[request].sent()
            if handed.addressed:
                self._pacer.leave_turn(now_us, in_reach=True)
            else:
                self._pacer.asked(now_us)
        elif handed.use is AirUse.RELAY:
            self.relay.sent(handed.packet, now_us)
        return handed

    def give_back(self, now_us: int) -> None:
        """The face could not send a packet: somebody else is on the air. It waits for another turn, an advert is built
        anew then, and a reply chosen anew: the packet on the air may be the same."""
        handed = self._with_face.popleft()
        self._pacer.busy(now_us)
        if self._budget is not None and handed.charge is not None:
            self._budget.take_back(handed.charge, now_us)
        if handed.chosen:
            return
        if handed.use is AirUse.RELAY:
            self.relay.give_back(handed.packet)
        elif handed.use is AirUse.ADVERT:
            self.adverts[_REBUILT.get(handed.kind, PacketKind.CLAIM)] = None
        elif handed.use is AirUse.OWN:
            self._own.put(handed.packet, handed.kind, now_us)
        else:
            self.put(handed.packet, handed.kind, now_us)

    def close(self, now_us: int) -> None:
        """The face is gone. The packets it held may have left, or never will."""
        for handed in self._with_face:
            # One that is on the air at this moment is over by then.
            self._settle(handed, now_us + self.profile.airtime_us[len(handed.packet)])

    def _settle(self, handed: HandedPacket, now_us: int) -> None:
        if self._budget is not None and handed.charge is not None:
            self._budget.settle(handed.charge, now_us)

    def other_handed(self) -> None:
        """Another network of this node handed a packet to the same face, which has room for one less."""
        self._pacer.handed()

    def other_left(self, now_us: int) -> None:
        """That packet has left, or was given back: wait a random time, like any station that heard it."""
        self._pacer.busy(now_us)

    # --- when

    @property
    def next_us(self) -> int:
        """When something is due here."""
        due_us = min(self.claim_timer.next_us, self.want_timer.next_us, self.chnk_timer.next_us)
        for waiting, use in ((self._own, AirUse.OWN), (self.waiting, AirUse.REPLY)):
            if (waiting_us := waiting.next_us) is not None:
                due_us = self._sooner_us(due_us, use, waiting_us, self._waiting_patience(use))
        if self.relay:
            due_us = self._sooner_us(due_us, AirUse.RELAY, 0)
        if self.reply_patience is not None:
            for use in self._reply_uses:
                due_us = self._sooner_us(due_us, use, 0, self.reply_patience)
        return self._sooner_us(due_us, AirUse.ADVERT, 0, self._advert_patience) if self.adverts else due_us

    def _waiting_patience(self, use: AirUse) -> float:
        """Return how patiently a packet that waits goes."""
        return self._pacer.shared_patience if use is AirUse.REPLY else 1.0

    def _sooner_us(self, due_us: int, use: AirUse, since_us: int, patience: float = 1.0) -> int:
        """Return *due_us*, or when a packet that waits since *since_us* may go, if that is sooner."""
        paced_us = self._pacer.due_us(_URGENCIES[use], patience)
        if paced_us is None or paced_us >= due_us:
            return due_us  # whatever the law says, it is not sooner
        may_us = self._may_from_us(use, paced_us)
        return due_us if may_us is None else min(due_us, max(since_us, may_us))

    def _may_from_us(self, use: AirUse, may_us: int) -> int | None:
        """Return when a packet that may go at *may_us* also has airtime, as far as is known now; None: only after
        something else happened."""
        if self._budget is None:
            return may_us
        afford_us = self._budget.next_us(use)
        return None if afford_us is None else max(may_us, afford_us)

    def _may(self, use: AirUse, now_us: int, patience: float = 1.0) -> bool:
        due_us = self._pacer.due_us(_URGENCIES[use], patience)
        return due_us is not None and due_us <= now_us and self._affords(use, now_us)

    def _affords(self, use: AirUse, now_us: int) -> bool:
        """True if the law, and the share of this use, allow a packet now."""
        if self._budget is None or self._budget.may_send(now_us, use):
            self._held_back.discard(use)
            return True
        if use not in self._held_back and self._waits(use, now_us):
            self._held_back.add(use)
            self.counters.held_back += 1
        return False

    def _waits(self, use: AirUse, now_us: int) -> bool:
        if use is AirUse.OWN:
            return bool(self._own) or use in self._reply_uses
        if use is AirUse.REPLY:
            return self.reply_patience is not None or (
                (first_us := self.waiting.next_us) is not None and first_us <= now_us
            )
        return bool(self.relay if use is AirUse.RELAY else self.adverts)

    # --- looking

    @property
    def outstanding(self) -> int:
        """Packets handed to the face and not yet reported as sent."""
        return len(self._with_face)

    def status(self) -> FaceStatus:
        """Return the status of this face."""
        return FaceStatus(
            name=self.name,
            spec=self.spec,
            profile=self.profile,
            queued=len(self.waiting) + len(self._own),
            outstanding=self.outstanding,
            counters=self.counters,
        )
