"""Turn-taking on the air: which neighbour to ask, and what to give to which neighbour first (decision 0019).

A request names its sender and, if a neighbour is known to have what is lacking, that neighbour. The named one then has
the turn: it replies at once and in a row, while all other nodes that heard the request are silent. Nobody else replies,
so that stations that do not hear each other neither collide at the asker nor give it the same. A request that names
nobody is answered by the first node to reply.
"""

from tinyssb_node import limits
from tinyssb_node.codec.packets import GENERATION_SIZE, NamedWant, Want
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.neighbours import GenerationSum, Gift, Neighbour, Neighbours
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import WantReading
from tinyssb_node.scheduling.link import Reception
from tinyssb_node.scheduling.transmit_queue import TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource


class TurnTaking:
    """The neighbours of one face on the air, and its turn."""

    def __init__(self, replica: Replica, queue: TransmitQueue, entropy: RandomSource) -> None:
        self._replica = replica
        self._queue = queue
        self._entropy = entropy
        self._packet_us = queue.profile.airtime_us[limits.PACKET_SIZE]
        self.speaker = (1 + int(entropy.random() * (256**limits.SPEAKER_SIZE - 1))).to_bytes(
            limits.SPEAKER_SIZE
        )
        self._neighbours = Neighbours()
        self._asked: Neighbour | None = None
        self._asked_after = 0
        self._asker: Neighbour | None = None
        self._offered = 0
        self._turn_of_beyond = False
        """True if an entry of a feed beyond the set is given next, if one is requested: of two every second one. They
        are requested by name, as somebody needs them, and would never have their turn beside hundreds of others."""
        self._order: dict[FeedId, float] = {}
        self._wants_sent = 0

    # --- asking

    def first_index(self, start: int, now_us: int) -> int:
        """Return where in the set a WANT begins that would begin at *start*.

        If the set takes several WANTs, every second one jumps ahead to where a neighbour has something for us. The
        others go round, so that all of the set is advertised in bounded time.
        """
        feeds = self._replica.goset.feeds
        if 2 * len(feeds) <= limits.WANT_VECTOR_SIZE or self._wants_sent % 2 == 0:
            return start
        offered: set[FeedId] = set()
        for neighbour in self._known(now_us):
            offered |= neighbour.offers_of(self._replica.next_wanted)
        ahead = (number % len(feeds) for number in range(start, start + len(feeds)))
        return next((number for number in ahead if feeds[number] in offered), start)

    def address(self, now_us: int) -> tuple[bytes, bytes]:
        """Return for the next request our name, and that of the neighbour it asks."""
        asked = self._asked
        if asked is not None and self._wants_sent > self._asked_after:
            # It was asked, and nothing came since.
            self._neighbours.forget(asked)
        self._asked = self._whom_to_ask(now_us)
        self._asked_after = self._wants_sent
        asks = b"" if self._asked is None else self._asked.speaker
        return self.speaker, asks

    def want_sent(self) -> None:
        """A WANT has left."""
        self._wants_sent += 1

    def _whom_to_ask(self, now_us: int) -> Neighbour | None:
        """Return the neighbour that has most for us, as far as one that is hardly heard can give it."""
        best, most = None, 0.0
        for neighbour in self._known(now_us):
            if not neighbour.speaker:
                continue
            worth = neighbour.signal * min(
                neighbour.count_offers(self._replica.next_wanted, self._replica.rows_lacking),
                2 * limits.FLOOR_PACKETS,
            )
            if worth > most:
                best, most = neighbour, worth
        return best

    # --- what is heard

    def speaks_for_us(self, want: Want | NamedWant) -> bool:
        """Return True if replies to *want*, which requests what we would request, may be heard here, and no known
        neighbour would have to be asked by us."""
        if want.asks:
            return want.asks == self.speaker or want.asks in self._neighbours
        return not self._offered

    def heard_want(
        self, want: Want | NamedWant, reading: WantReading, reception: Reception, now_us: int
    ) -> None:
        """Handle the request of a neighbour."""
        neighbour = self._neighbours.get_or_add(want.speaker)
        neighbour.record_want(reading, self._signal(reception), now_us)
        neighbour.count_offers(self._replica.next_wanted, self._replica.rows_lacking)
        self._asker = None
        credit = 0
        if not want.asks:
            credit = self._queue.profile.burst_max if want.speaker else self._queue.profile.burst
        elif want.asks == self.speaker:
            credit = self._queue.turn_packets
            self._asker = neighbour
            self._queue.take_turn(now_us)
        else:
            in_reach = want.asks in self._neighbours
            self._queue.note_exchange(hidden=not in_reach)
            self._queue.leave_turn(now_us, in_reach=in_reach)
        neighbour.grant(credit)
        self.update_urgency(now_us)

    def _signal(self, reception: Reception) -> float:
        limit_db = self._queue.profile.snr_limit_db
        if limit_db is None or reception.snr_db is None:
            return 1.0
        # From 12 dB above the weakest readable signal on, a link is as good as any: fading takes 10. A neighbour with
        # the weakest signal counts a little, too.
        return max(0.02, min(1.0, (reception.snr_db - limit_db) / 12.0))

    def heard_entry(self, feed: FeedId, seq: int, now_us: int, *, new: bool) -> None:
        """An entry was heard, *new* or not."""
        self._asked = None
        if not new and any(asker.awaits(feed, seq) for asker in self._askers(now_us)):
            self._queue.count_spared()
        if new:
            for neighbour in self._known(now_us):
                neighbour.record_received(feed, seq)
        self._neighbours.heard(feed, seq, now_us)
        self.update_urgency(now_us)

    def heard_sum(self, feed: FeedId, generation: int, last: int, now_us: int) -> None:
        """A sum of entries of a generation, up to entry *last*, was heard."""
        self._asked = None
        self._neighbours.heard_sum(feed, generation, last, now_us)
        self.update_urgency(now_us)

    def heard_lie(self) -> None:
        """A coded entry was a lie: who was asked for it may have told it."""
        if self._asked is not None:
            self._neighbours.forget(self._asked)
            self._asked = None

    def is_unheard(self, feed: FeedId, seq: int) -> bool:
        """Return True if no neighbour is known to have an entry: those that have it give it when asked."""
        return not self._neighbours.any_has(feed, seq)

    # --- giving

    def update_urgency(self, now_us: int) -> None:
        """Compute anew how urgent it is to reply, and to request."""
        reply_patience = self._give_patience(now_us)
        known = self._known(now_us)
        self._offered = max((each.offered for each in known), default=0)
        want_patience = _patience(limits.ASK_FULL, self._offered, limits.ASK_PATIENCE_MAX)
        self._queue.set_patience(reply=reply_patience, want=want_patience)
        self._queue.crowd(len(known))

    def _give_patience(self, now_us: int) -> float | None:
        best = self._best(now_us)
        if best is None:
            return None
        if not all(asker.speaker for asker in self._askers(now_us)):
            # Deployed stations ask by the clock: a late answer meets their next request.
            return 1.0
        # The node that serves most, and has airtime left, goes first.
        thrift = 1.0 + limits.THRIFT * self._queue.spent(now_us)
        # Where all hear each other, it serves all if it serves those that are known.
        full = (
            limits.GIVE_FULL if self._queue.hidden == 1 else min(limits.GIVE_FULL, len(self._known(now_us)))
        )
        return thrift * _patience(full, best[0], limits.GIVE_PATIENCE_MAX)

    def next_to_give(self, now_us: int) -> Gift | None:
        """Return what to give now; it counts as given."""
        best = self._best(now_us)
        if best is not None:
            self._gave(best[1], now_us)
        self.update_urgency(now_us)
        return None if best is None else best[1]

    def record_given(self, feed: FeedId, seq: int, now_us: int) -> None:
        """An entry is given unrequested."""
        self._gave((feed, seq), now_us)
        self.update_urgency(now_us)

    def all_read_coded(self, feed: FeedId, seq: int, now_us: int) -> bool:
        """Return True if all neighbours that lack an entry read coded ones."""
        return all(each.coded or each.has(feed, seq) for each in self._known(now_us))

    def _gave(self, gift: Gift, now_us: int) -> None:
        feed = feed_of(gift)
        if isinstance(gift, GenerationSum):
            last = min(self._replica.last_to_give(feed), (gift.generation + 1) * GENERATION_SIZE)
            self._neighbours.heard_sum(feed, gift.generation, last, now_us)
        else:
            self._neighbours.heard(*gift, now_us)
        for neighbour in self._askers(now_us):
            neighbour.spend()
        self._turn_of_beyond = feed in self._replica.goset
        # Each station gives in an order of its own: two that serve the same request do not give the same first.
        self._order[feed] = self._entropy.random()

    def _askers(self, now_us: int) -> list[Neighbour]:
        """Return the neighbours to reply to: the one that asked us by name, or else all that just asked everybody."""
        if self._asker is not None and self._asker.credit > 0:
            return [self._asker]
        just_us = self._since_us(limits.REQUEST_PACKETS, now_us)
        return [neighbour for neighbour in self._neighbours.since(just_us) if neighbour.credit > 0]

    def _known(self, now_us: int) -> list[Neighbour]:
        """Return the neighbours heard recently enough."""
        return self._neighbours.since(self._since_us(limits.KNOWN_PACKETS, now_us))

    def _since_us(self, packets: int, now_us: int) -> int:
        return now_us - packets * self._packet_us

    def _best(self, now_us: int) -> tuple[float, Gift] | None:
        """Return the requested entry, or the generation that lacks rows, that serves most neighbours, and how many it
        serves."""
        heard_us = self._since_us(limits.MARK_PACKETS, now_us)
        frontier = self._replica.last_to_give
        asked: dict[Gift, float] = {}
        askers = self._askers(now_us)
        for neighbour in askers:
            for place in neighbour.lacks(frontier, heard_us):
                asked[place] = asked.get(place, 0.0) + 1.0
        if not asked:
            return None
        for neighbour in self._known(now_us):
            if neighbour not in askers:
                for place in neighbour.lacks(frontier, heard_us):
                    if place in asked:
                        asked[place] += 0.9  # less than one that has just sent a request
        # A feed of which nothing was given yet has an even chance: with none, on a busy channel, its turn never comes.
        place = max(asked, key=lambda each: (asked[each], self._order.get(feed_of(each), 0.5)))
        if self._turn_of_beyond:
            beyond = [each for each in asked if feed_of(each) not in self._replica.goset]
            place = max(
                beyond, key=lambda each: (asked[each], self._order.get(feed_of(each), 0.5)), default=place
            )
        return asked[place], place


def feed_of(gift: Gift) -> FeedId:
    """Return the feed of what a neighbour can be given."""
    return gift.feed if isinstance(gift, GenerationSum) else gift[0]


def _patience(full: float, have: float, most: float) -> float:
    """Return how much longer to wait with *have* of something that is worth no wait in *full*."""
    return most if have <= 0 else min(most, max(1.0, full / have))
