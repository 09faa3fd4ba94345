"""The sending side of one face: its queue, its pace, its timers, and what it remembers of the other end."""

from collections import deque
from dataclasses import dataclass, replace

from tinyssb_node import limits
from tinyssb_node.events import Event
from tinyssb_node.ids import FaceName, FeedId, PacketKind
from tinyssb_node.scheduling.budget import AirBudget
from tinyssb_node.scheduling.link import LinkMedium, LinkProfile
from tinyssb_node.scheduling.pacer import TurnState, Urgency, make_pacer
from tinyssb_node.scheduling.queue import Outbox
from tinyssb_node.scheduling.relay import EntryRelay
from tinyssb_node.scheduling.requester import ReplyCredit, RequestPacer
from tinyssb_node.scheduling.suppression import LatestByKey, RecentReplies, RecentSet
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
    """Packets we were about to give, and heard from somebody else first."""
    airtime_us: int = 0
    """Airtime of what left."""
    last_heard_us: int | None = None
    """When something was received last, on the node's clock."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet that has left."""

    packet: bytes
    kind: PacketKind
    airtime_us: int
    """Microseconds on the air."""
    said: Event | None
    """What it said, for the record: CLAIM, WANT and the like."""


@dataclass(frozen=True, slots=True)
class _Handed:
    """A packet that the face holds."""

    packet: bytes
    kind: PacketKind
    said: Event | None
    urgency: Urgency
    """As what it waited, and waits again if the face gives it back."""
    charge: int | None = None
    """What its airtime was charged under; None where air has no account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceStatus:
    """What a user may know of a face."""

    name: FaceName
    spec: str
    profile: LinkProfile
    queued: int
    """Packets that wait."""
    outstanding: int
    """Packets handed to the face and not yet reported as sent."""
    counters: Counters


_NEVER_US = -(2**62)
"""Before any time a node has."""
_REQUESTS = frozenset({PacketKind.WANT, PacketKind.CHNK})
"""What answers follow."""
_SAID_AGAIN = _REQUESTS | {PacketKind.PONG}
"""What is said again as what it was if a face gives it back."""


class Line:
    """Everything the scheduler keeps of one face. It decides when; the node decides what."""

    def __init__(
        self,
        name: FaceName,
        profile: LinkProfile,
        spec: str,
        entropy: RandomSource,
        now_us: int,
        budget: AirBudget | None = None,
    ) -> None:
        """*budget* is the account of the sub-band it sends in; None where the law sets no limit."""
        self.name = name
        self.profile = profile
        self.spec = spec
        self.outbox = Outbox()
        self.counters = Counters()
        self.given_entries: RecentReplies[FeedId] = RecentReplies(
            hold_us=profile.hold_us, most=limits.SET_MAX
        )
        self.given_chunks: RecentReplies[tuple[FeedId, int]] = RecentReplies(
            hold_us=profile.hold_us, most=limits.RECENT_MAX
        )
        self._vectors: RecentSet[bytes] = RecentSet(limits.RECENT_MAX)
        self.peer_next: LatestByKey[FeedId] = LatestByKey(limits.SET_MAX)
        """Next sequence number the peer of a stream takes, as far as its WANTs and what was given tell."""
        self.peer_next_chunk: LatestByKey[tuple[FeedId, int]] = LatestByKey(limits.RECENT_MAX)
        """Next chunk the peer of a stream takes, likewise."""
        self.entry_credit: ReplyCredit[FeedId] = ReplyCredit(profile.burst, profile.burst_max)
        self.chunk_credit: ReplyCredit[tuple[FeedId, int]] = ReplyCredit(profile.burst, profile.burst_max)
        self.named: set[FeedId] = set()
        """Ids of our set that were said by name here: once is enough for whoever takes them."""
        self.named_us = now_us
        """When the last of them were."""
        self._asked_us = now_us
        """When ``pop_ask`` gave something last."""
        self._budget = budget
        self._held_back: set[bool] = set()
        """Which of adverts (True) and content (False) wait for airtime."""
        self.larger_set: object = None
        """What the peer of a stream last said of a set larger than ours, with ours at that time."""
        # Where the next answer, WANT and CHNK begin, and where the vectors after those that are under way.
        self.give_start = self.want_start = self.want_next = self.chnk_start = self.chnk_next = 0
        self.asks: dict[PacketKind, None] = {}
        """What is to be asked or claimed when it may be, first come first; built when it goes, to be up to date."""
        self._pong = b"", now_us
        """An answer to a board's ping, and until when it is worth saying."""
        self.carrier = EntryRelay(entropy)
        self.turn = TurnState()
        self._answers_us = _NEVER_US
        self.on_air = profile.medium is LinkMedium.AIR
        self._shared = profile.medium is not LinkMedium.STREAM
        self._entropy = entropy
        self._pacer = make_pacer(profile, entropy, now_us)
        self._said: RecentSet[bytes] = RecentSet(limits.RECENT_MAX)
        self._with_face: deque[_Handed] = deque()
        self._entries_requester = RequestPacer()
        self._chunks_requester = RequestPacer()
        self.claim_timer = self._timer(now_us)
        self.want_timer = self._timer(now_us)
        self.chnk_timer = self._timer(now_us)
        self._timers = {
            PacketKind.CLAIM: self.claim_timer,
            PacketKind.WANT: self.want_timer,
            PacketKind.CHNK: self.chnk_timer,
        }

    def _timer(self, now_us: int) -> Trickle:
        return Trickle(
            shortest_us=self.profile.advert_min_us,
            longest_us=self.profile.advert_max_us,
            entropy=self._entropy,
            now_us=now_us,
        )

    # --- hearing

    def heard(self, packet: bytes, now_us: int) -> None:
        """A packet was heard: do not say it too."""
        self.counters.received += 1
        self.counters.last_heard_us = now_us
        self.counters.spared += self.outbox.cancel(packet)
        self.carrier.heard(packet, now_us)
        self._pacer.heard(now_us, data=len(packet) == limits.PACKET_SIZE)

    def heard_in_vain(self, *, stray: bool = False) -> None:
        """What was heard last was of no use to us; *stray*: it is of nobody we know."""
        self._pacer.heard_in_vain(stray=stray)

    def expect_answers(self, now_us: int) -> None:
        """Somebody asked: new entries that come in the next moments are answers."""
        self._answers_us = now_us

    def heard_news(self, packet: bytes, now_us: int, *, new: bool) -> None:
        """An entry or chunk was heard on the air. *new*, out of silence and unasked for: news, to be carried on."""
        answers_for_us = limits.ANSWERS_PACKETS * self.profile.airtime_us[limits.PACKET_SIZE]
        if new and now_us - self._answers_us >= answers_for_us:
            self.carrier.take(packet)
        # More may follow: news come by themselves, what comes in a row is given to somebody.
        self._answers_us = now_us

    def heard_vector(self, hash_: bytes, now_us: int) -> bool:
        """A CLAIM, WANT or the like was heard. True if the very same was heard here a moment ago."""
        again = self._vectors.within(hash_, self.profile.hold_us, now_us)
        self._vectors.add(hash_, now_us)
        return again

    def took_entry(self, feed: FeedId, seq: int, now_us: int, *, chained: bool) -> bool:
        """A new entry came from here. True if it is time to WANT more at once."""
        self.entry_given(feed, seq, now_us)
        self.peer_next[feed] = seq + 1
        self._ask_when_quiet(self.want_timer, now_us)
        if self.on_air:
            # Not to ask for more, but to tell those who did not hear it: it waits for silence, and for others' word.
            self.ask(PacketKind.WANT, now_us)
        if chained:
            self.chnk_timer.disagree(now_us)
        # On the air the timer asks: a request after every few packets would cost more than it gains.
        return not self.on_air and self._entries_requester.got()

    def took_chunk(self, feed: FeedId, seq: int, chunk: int, now_us: int) -> bool:
        """A new chunk came from here. True if it is time to ask for more chunks at once."""
        self.chunk_given(feed, seq, chunk, now_us)
        self._ask_when_quiet(self.chnk_timer, now_us)
        return not self.on_air and self._chunks_requester.got()

    def _ask_when_quiet(self, timer: Trickle, now_us: int) -> None:
        """Something asked for came: let *timer* ask for more when no more comes."""
        if self.profile.quiet_us is None:
            timer.disagree(now_us)
        else:
            timer.speak_at(now_us + self.profile.quiet_us, now_us)

    def entry_given(self, feed: FeedId, seq: int, now_us: int) -> None:
        """An entry was heard from here, new or not: on a shared medium whoever lacks it heard it too."""
        if self._shared:
            self.entries_given(feed, seq, seq, now_us)

    def entries_given(self, feed: FeedId, first: int, last: int, now_us: int) -> None:
        """Entries *first* to *last* were given here, by us or by somebody who was heard."""
        self.given_entries.give(feed, first, last, now_us)

    def chunk_given(self, feed: FeedId, seq: int, chunk: int, now_us: int) -> None:
        """A chunk was heard from here, likewise."""
        if self._shared:
            self.given_chunks.give((feed, seq), chunk, chunk, now_us)

    # --- saying

    def answer_due_us(self, now_us: int) -> int:
        """When an answer to what was just heard should go: at random where others may give it too."""
        return now_us + int(self._entropy.random() * self.profile.answer_delay_us)

    def room(self, credit: int) -> int:
        """How many packets may be queued now in answer to a request that was granted *credit*."""
        return max(0, min(self.outbox.room, credit - len(self.outbox)))

    def _wanted(self, now_us: int) -> None:
        if not (self.outbox or self.asks or self.carrier or self.turn.giving is not None):
            self._pacer.wanted(now_us)

    def ask(self, kind: PacketKind, now_us: int) -> None:
        """Say *kind* when it may be said."""
        self._wanted(now_us)
        self.asks[kind] = None

    def answer_ping(self, pong: bytes, now_us: int) -> None:
        """Say *pong* when an advert may be said."""
        self._pong = pong, now_us + limits.PONG_STALE_US
        self.ask(PacketKind.PONG, now_us)

    def build_pong(self) -> tuple[bytes, PacketKind, None] | None:
        """The pong that ``pop_ask`` gave; None if it waited for too long."""
        pong, until_us = self._pong
        return (pong, PacketKind.PONG, None) if self._asked_us < until_us else None

    def agreed(self, kind: PacketKind) -> None:
        """Somebody said what our *kind* would say."""
        if kind in self.asks:
            del self.asks[kind]
            self._timers[kind].left_unsaid()
        self._timers[kind].agree()

    def served(self, kind: PacketKind, *, same: bool) -> None:
        """Somebody asked for what our *kind* would ask for, or said the *same*. Who asks for more leaves it to others a
        few times only: whoever has it may hear us, and not them."""
        if same or not self.on_air or self._timers[kind].silenced < limits.YIELDS_MAX:
            self.agreed(kind)

    def spent(self, now_us: int) -> float:
        """Which part of our airtime for entries is used up, 0 to 1; 0 where the law sets no limit."""
        return 0.0 if self._budget is None else self._budget.spent(now_us)

    def crowd(self, neighbours: int) -> None:
        """So many stations are known to be in reach."""
        self._pacer.crowd(neighbours)

    def take_floor(self, now_us: int) -> None:
        """We are asked by name, and may answer with several packets in a row."""
        self._pacer.take_floor(now_us)

    def keep_silent(self, now_us: int) -> None:
        """Somebody else is."""
        self._pacer.leave_floor(now_us)

    def put(self, packet: bytes, kind: PacketKind, due_us: int) -> None:
        """Queue *packet*; a full queue refuses it and counts."""
        self._wanted(due_us)
        if not self.outbox.put(packet, kind, due_us):
            self.counters.refused += 1

    def put_once(self, packet: bytes, kind: PacketKind, due_us: int, now_us: int) -> bool:
        """Queue *packet* unless the same was said here a moment ago. Two nodes that answer each other end here."""
        if self._said.within(packet, self.profile.hold_us, now_us):
            return False
        self._said.add(packet, now_us)
        self.put(packet, kind, due_us)
        return True

    def wake(self, now_us: int) -> None:
        """Move the timers on to *now_us*; what they say is due is to be asked."""
        for kind, timer in self._timers.items():
            if timer.wake(now_us):
                self.ask(kind, now_us)
                if kind is PacketKind.WANT:
                    self._entries_requester.timer_asked()
                elif kind is PacketKind.CHNK:
                    self._chunks_requester.timer_asked()

    # --- sending

    def _may(self, urgency: Urgency, now_us: int, patience: float = 1.0) -> bool:
        due_us = self._pacer.due_us(urgency, patience)
        return due_us is not None and due_us <= now_us and self._affords(urgency, now_us)

    def _affords(self, urgency: Urgency, now_us: int) -> bool:
        """True if the law allows a packet now."""
        advert = urgency is Urgency.ASK
        if self._budget is None or self._budget.may_send(now_us, advert=advert):
            self._held_back.discard(advert)
            return True
        if advert not in self._held_back and self._waits(urgency, now_us):
            self._held_back.add(advert)
            self.counters.held_back += 1
        return False

    def _waits(self, urgency: Urgency, now_us: int) -> bool:
        """True if there is something of this urgency to send."""
        if urgency is Urgency.ANSWER:
            return self.turn.giving is not None or (
                (first_us := self.outbox.next_us) is not None and first_us <= now_us
            )
        return bool(self.carrier if urgency is Urgency.CARRY else self.asks)

    def pop(self, now_us: int) -> tuple[bytes, PacketKind] | None:
        """The next packet to hand to the face now, if any, of those that wait."""
        first = self.outbox.pop(now_us) if self._may(Urgency.ANSWER, now_us) else None
        if first is not None:
            self._hand(_Handed(*first, None, Urgency.ANSWER), now_us)
        return first

    def may_give(self, now_us: int) -> bool:
        """True if an answer may be chosen now, to be handed over by ``give``."""
        return self.turn.giving is not None and self._may(Urgency.ANSWER, now_us, self.turn.giving)

    def give(self, packet: bytes, now_us: int) -> None:
        """An entry, chosen at once when ``may_give`` said so, goes to the face."""
        self._hand(_Handed(packet, PacketKind.ENTRY, None, Urgency.ANSWER), now_us)

    def pop_news(self, now_us: int) -> bytes | None:
        """The next packet to carry on now, if any."""
        news = self.carrier.pop() if self._may(Urgency.CARRY, now_us) else None
        if news is not None:
            self._hand(_Handed(news, PacketKind.ENTRY, None, Urgency.CARRY), now_us)
        return news

    @property
    def _next_ask(self) -> PacketKind:
        """What is asked next: WANTs last, as of them alone it is known how long they may wait."""
        return next((kind for kind in self.asks if kind is not PacketKind.WANT), PacketKind.WANT)

    @property
    def _patience(self) -> float:
        return self.turn.patience if self._next_ask is PacketKind.WANT else 1.0

    def pop_ask(self, now_us: int) -> PacketKind | None:
        """What is to be asked now, if anything: whoever takes this builds it and hands it over by ``hand``."""
        if not self.asks or not self._may(Urgency.ASK, now_us, self._patience):
            return None
        self._asked_us = now_us
        kind = self._next_ask
        del self.asks[kind]
        return kind

    def hand(self, packet: bytes, kind: PacketKind, said: Event | None) -> None:
        """*packet*, built at once for what ``pop_ask`` gave, goes to the face; *said* is recorded when it has left."""
        self._hand(_Handed(packet, kind, said, Urgency.ASK), self._asked_us)

    def _hand(self, handed: _Handed, now_us: int) -> None:
        if self._budget is not None:
            airtime_us = self.profile.airtime_us[len(handed.packet)]
            advert = handed.urgency is Urgency.ASK
            handed = replace(handed, charge=self._budget.charge(airtime_us, now_us, advert=advert))
        self._pacer.handed()
        self.carrier.forget(handed.packet)
        self._with_face.append(handed)

    def sent(self, count: int, now_us: int) -> list[Sent]:
        """The face reports *count* packets as sent: which they were."""
        self._pacer.sent(count, now_us)
        return [self._left(self._with_face.popleft(), now_us) for _ in range(count)]

    def _left(self, handed: _Handed, now_us: int) -> Sent:
        self._settle(handed, now_us)
        airtime_us = self.profile.airtime_us[len(handed.packet)]
        self.counters.sent += 1
        self.counters.airtime_us += airtime_us
        if handed.kind in _REQUESTS:
            self._asked(handed.kind, now_us)
        elif handed.urgency is Urgency.CARRY:
            self.carrier.sent(handed.packet, now_us)
        return Sent(handed.packet, handed.kind, airtime_us, handed.said)

    def _asked(self, kind: PacketKind, now_us: int) -> None:
        self._timers[kind].spoke()
        if kind is PacketKind.WANT:
            self.want_start = self.want_next
            self.turn.wants_sent += 1
        else:
            self.chnk_start = self.chnk_next
        if kind is PacketKind.WANT and self.turn.addressed:
            self.expect_answers(now_us)
            self._pacer.leave_floor(now_us)
        else:
            self._pacer.asked(now_us)

    def _settle(self, handed: _Handed, now_us: int) -> None:
        if self._budget is not None and handed.charge is not None:
            self._budget.settle(handed.charge, now_us)

    def close(self, now_us: int) -> None:
        """The face is gone. What it held may have left, or never will."""
        for handed in self._with_face:
            # One that is on the air at this moment is over by then.
            self._settle(handed, now_us + self.profile.airtime_us[len(handed.packet)])

    def give_back(self, now_us: int) -> None:
        """The face could not send what it holds: somebody else is on the air. It waits for another turn, and what was
        to be asked is built anew then."""
        handed = self._with_face.popleft()
        self._pacer.busy(now_us)
        if self._budget is not None and handed.charge is not None:
            self._budget.take_back(handed.charge, now_us)
        if handed.urgency is Urgency.CARRY:
            self.carrier.give_back(handed.packet)
        elif handed.urgency is Urgency.ASK:
            # Whatever says something of the set was said instead of a CLAIM.
            self.asks[handed.kind if handed.kind in _SAID_AGAIN else PacketKind.CLAIM] = None
        else:
            self.put(handed.packet, handed.kind, now_us)

    def taken(self) -> None:
        """Another network of this node handed a packet to the same face, which has room for one less."""
        self._pacer.handed()

    def freed(self, now_us: int) -> None:
        """That packet has left, or was given back: whoever waited waits a random time, like any station that heard
        it."""
        self._pacer.busy(now_us)

    def status(self) -> FaceStatus:
        """How this face is."""
        return FaceStatus(
            name=self.name,
            spec=self.spec,
            profile=self.profile,
            queued=len(self.outbox),
            outstanding=self.outstanding,
            counters=self.counters,
        )

    @property
    def outstanding(self) -> int:
        """Packets handed to the face and not yet reported as sent."""
        return len(self._with_face)

    @property
    def next_us(self) -> int:
        """When something is due here."""
        due_us = min(self.claim_timer.next_us, self.want_timer.next_us, self.chnk_timer.next_us)
        if (waiting_us := self.outbox.next_us) is not None:
            due_us = self._sooner_us(due_us, Urgency.ANSWER, waiting_us)
        if self.carrier:
            due_us = self._sooner_us(due_us, Urgency.CARRY, 0)
        if self.turn.giving is not None:
            due_us = self._sooner_us(due_us, Urgency.ANSWER, 0, self.turn.giving)
        return self._sooner_us(due_us, Urgency.ASK, 0, self._patience) if self.asks else due_us

    def _sooner_us(self, due_us: int, urgency: Urgency, since_us: int, patience: float = 1.0) -> int:
        """*due_us*, or when a packet that waits since *since_us* may go, if that is sooner."""
        paced_us = self._pacer.due_us(urgency, patience)
        if paced_us is None or paced_us >= due_us:
            return due_us  # whatever the law says, it is not sooner
        may_us = self._may_from_us(urgency, paced_us)
        return due_us if may_us is None else min(due_us, max(since_us, may_us))

    def _may_from_us(self, urgency: Urgency, may_us: int) -> int | None:
        """When a packet that may go at *may_us* is also afforded, as far as is known now; None: only after something
        else happened."""
        if self._budget is None:
            return may_us
        afford_us = self._budget.next_us(advert=urgency is Urgency.ASK)
        return None if afford_us is None else max(may_us, afford_us)
