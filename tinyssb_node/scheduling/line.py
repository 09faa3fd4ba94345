"""The sending side of one face: its queue, its pace, its timers, and what it remembers of the other end."""

from collections import deque
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.ids import FaceName, FeedId, PacketKind
from tinyssb_node.scheduling.link import LinkProfile, Medium
from tinyssb_node.scheduling.pacing import Pacer
from tinyssb_node.scheduling.queue import Outbox
from tinyssb_node.scheduling.requester import Credit, Requester
from tinyssb_node.scheduling.suppression import Given, Latest, Recent
from tinyssb_node.scheduling.trickle import Entropy, Trickle


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
    airtime_us: int = 0
    """Airtime of what left."""
    last_heard_us: int | None = None
    """When something was received last, on the node's clock."""


class Line:
    """Everything the scheduler keeps of one face. It decides when; the node decides what."""

    def __init__(
        self, name: FaceName, profile: LinkProfile, spec: str, entropy: Entropy, now_us: int
    ) -> None:
        self.name = name
        self.profile = profile
        self.spec = spec
        self.outbox = Outbox()
        self.counters = Counters()
        self.given_entries: Given[FeedId] = Given(hold_us=profile.hold_us, most=limits.SET_MAX)
        self.given_chunks: Given[tuple[FeedId, int]] = Given(hold_us=profile.hold_us, most=limits.RECENT_MAX)
        self._vectors: Recent[bytes] = Recent(limits.RECENT_MAX)
        self.peer_next: Latest[FeedId] = Latest(limits.SET_MAX)
        """Next sequence number the peer of a stream takes, as far as its WANTs and what was given tell."""
        self.peer_next_chunk: Latest[tuple[FeedId, int]] = Latest(limits.RECENT_MAX)
        """Next chunk the peer of a stream takes, likewise."""
        self.entry_credit: Credit[FeedId] = Credit(profile.burst, profile.burst_max)
        self.chunk_credit: Credit[tuple[FeedId, int]] = Credit(profile.burst, profile.burst_max)
        self.named: set[FeedId] = set()
        """Ids of our set that were said by name here: once is enough for whoever takes them."""
        self.larger_set: object = None
        """What the peer of a stream last said of a set larger than ours, with ours at that time."""
        self.refused_told = 0
        """Of ``counters.refused``, how many were reported."""
        self.give_start = 0
        self.want_start = 0
        self.chnk_start = 0
        self._on_air = profile.medium is Medium.AIR
        self._shared = profile.medium is not Medium.STREAM
        self._entropy = entropy
        self._pacer = Pacer(profile, entropy, now_us)
        self._said: Recent[bytes] = Recent(limits.RECENT_MAX)
        self._with_face: deque[tuple[bytes, PacketKind]] = deque()
        self._entries_requester = Requester()
        self._chunks_requester = Requester()
        self.claim_timer = self._timer(now_us)
        self.want_timer = self._timer(now_us)
        self.chnk_timer = self._timer(now_us)

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
        cancelled = self.outbox.cancel(packet)
        self._pacer.heard(now_us, answered_for_us=cancelled)

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
        if chained:
            self.chnk_timer.disagree(now_us)
        # On the air the timer asks: a request after every few packets would cost more than it gains.
        return not self._on_air and self._entries_requester.got()

    def took_chunk(self, feed: FeedId, seq: int, chunk: int, now_us: int) -> bool:
        """A new chunk came from here. True if it is time to ask for more chunks at once."""
        self.chunk_given(feed, seq, chunk, now_us)
        self._ask_when_quiet(self.chnk_timer, now_us)
        return not self._on_air and self._chunks_requester.got()

    def _ask_when_quiet(self, timer: Trickle, now_us: int) -> None:
        """Something asked for came: let *timer* ask for more when no more comes."""
        if self.profile.quiet_us is None:
            timer.disagree(now_us)
        else:
            timer.speak_at(now_us + self.profile.quiet_us, now_us)

    def entry_given(self, feed: FeedId, seq: int, now_us: int) -> None:
        """An entry was heard from here, new or not: on a shared medium whoever lacks it heard it too."""
        if self._shared:
            self.given_entries.give(feed, seq, seq, now_us)

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

    def put(self, packet: bytes, kind: PacketKind, due_us: int) -> None:
        """Queue *packet*; a full queue refuses it and counts."""
        if not self.outbox.put(packet, kind, due_us):
            self.counters.refused += 1

    def put_once(self, packet: bytes, kind: PacketKind, due_us: int, now_us: int) -> bool:
        """Queue *packet* unless the same was said here a moment ago. Two nodes that answer each other end here."""
        if self._said.within(packet, self.profile.hold_us, now_us):
            return False
        self._said.add(packet, now_us)
        self.put(packet, kind, due_us)
        return True

    def timer_asked_entries(self) -> None:
        """The WANT timer fired."""
        self._entries_requester.timer_asked()

    def timer_asked_chunks(self) -> None:
        """The CHNK timer fired."""
        self._chunks_requester.timer_asked()

    # --- sending

    def pop(self, now_us: int) -> tuple[bytes, PacketKind] | None:
        """The next packet to hand to the face now, if any."""
        if not self._pacer.may_send(now_us):
            return None
        first = self.outbox.pop(now_us)
        if first is not None:
            self._pacer.handed()
            self._with_face.append(first)
        return first

    def sent(self, count: int, now_us: int) -> list[tuple[bytes, PacketKind, int]]:
        """The face reports *count* packets as sent: which they were, and the airtime of each in microseconds."""
        self._pacer.sent(count, now_us)
        gone = [self._with_face.popleft() for _ in range(count)]
        self.counters.sent += count
        airtimes_us = self.profile.airtime_us
        self.counters.airtime_us += sum(airtimes_us[len(packet)] for packet, _ in gone)
        return [(packet, kind, airtimes_us[len(packet)]) for packet, kind in gone]

    @property
    def outstanding(self) -> int:
        """Packets handed to the face and not yet reported as sent."""
        return len(self._with_face)

    @property
    def next_us(self) -> int:
        """When something is due here."""
        due = [self.claim_timer.next_us, self.want_timer.next_us, self.chnk_timer.next_us]
        free_us, first_us = self._pacer.next_us, self.outbox.next_us
        if free_us is not None and first_us is not None:
            due.append(max(free_us, first_us))
        return min(due)
