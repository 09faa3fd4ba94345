"""Turn-taking on the air: which neighbour to ask, and what to give to which neighbour first (decision 0019).

A request names its sender and, if a neighbour is known to have what is lacking, that neighbour. The named one then has
the turn: it replies at once and in a row, while all other nodes that heard the request are silent. Nobody else replies,
so that stations that do not hear each other neither collide at the asker nor give it the same. A request that names
nobody is answered by the first node to reply.
"""

from collections import Counter, OrderedDict

from tinyssb_node import limits
from tinyssb_node.codec.packets import GENERATION_SIZE, NamedWant, Want, parse_entry
from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.children import EntryType, parse_child_of
from tinyssb_node.gossip.reply_limits import ReplyLimits
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
        """The neighbour asked last, until it gave something."""
        self._asked_us: int | None = None
        """When that request left; None: not yet."""
        self._gave_last: Neighbour | None = None
        """The neighbour that gave something last when it was asked."""
        self._in_vain = 0
        """Requests to names that never gave anything, and gave nothing, less those to such names that gave."""
        self._heeded_us = -limits.DOUBT_PACKETS * self._packet_us
        """When the claim of a name that is believed little had consequences."""
        self._since_trial = 0
        """Requests since the last one to such a name."""
        self._replied_us = -limits.SHARED_REQUEST_PACKETS * self._packet_us
        """When another node was heard that gave something."""
        self._turn_of: bytes | None = None
        """The name that a turn was left to last, until something is heard; "" for names that are not heard here."""
        self._turn_us = 0
        """When that was."""
        self._void_turns = Counter[bytes]()
        """Turns in a row that were left to each name while nothing was heard."""
        self._limits = ReplyLimits(replica, queue)
        self._asker: Neighbour | None = None
        self._offered = 0
        self._turn_of_named = False
        """True if an entry of a *named* feed is given next, if one is requested: of two every second one. Named feeds
        are those beyond the set, and those that requests name first: somebody needs them, and they would never have
        their turn beside hundreds of others."""
        self._named: OrderedDict[FeedId, int] = OrderedDict()
        """Feeds that requests named first, or that feeds beyond the set name as their parents, and when."""
        self._parents: OrderedDict[FeedId, FeedId | None] = OrderedDict()
        """Parents of feeds beyond the set, by what their first entries say."""
        self._chosen: Gift | None = None
        """The gift that the face was handed last, until it has left."""
        self._order: dict[FeedId, float] = {}
        self._wants_sent = 0

    # --- asking

    def first_index(self, start: int, now_us: int) -> int:
        """Return where in the set a WANT begins that would begin at *start*.

        If the set takes several WANTs, every second one jumps ahead to where a neighbour has something for us. The
        others go round, so that all of the set is advertised in bounded time.
        """
        feeds = self._replica.goset.feeds
        if not self._replica.has_large_set or self._wants_sent % 2 == 0:
            return start
        offered: set[FeedId] = set()
        for neighbour in self._known(now_us):
            offered |= neighbour.offers_of(self._replica.next_wanted)
        ahead = (number % len(feeds) for number in range(start, start + len(feeds)))
        return next((number for number in ahead if feeds[number] in offered), start)

    def address(self, now_us: int) -> tuple[bytes, bytes]:
        """Return for the next request our name, and that of the neighbour it asks."""
        if self._asked is not None and self._asked_us is not None:
            self._disappointed(self._asked)
        self._asked, self._asked_us = self._whom_to_ask(now_us), None
        return self.speaker, b"" if self._asked is None else self._asked.speaker

    def want_sent(self, now_us: int) -> None:
        """A WANT has left."""
        self._wants_sent += 1
        asked, self._asked_us = self._asked, now_us
        if asked is None or asked.proved:
            self._since_trial += 1
        else:
            self._since_trial = 0
        if asked is not None:
            # If nothing comes, ask another one soon.
            wait_us = int((limits.DELIVERY_PACKETS + 4.0 * self._entropy.random()) * self._packet_us)
            self._queue.want_timer.speak_at(now_us + wait_us, now_us)

    def _whom_to_ask(self, now_us: int) -> Neighbour | None:
        """Return the neighbour that has most for us, as far as one that is hardly heard can give it. Of neighbours that
        never gave anything one is tried the more rarely, the more of them were in vain; None: ask all."""
        tries = not self._doubtful or self._since_trial + 1 >= min(
            1 << (self._in_vain - limits.VAIN_ASKS), limits.TRIAL_EVERY_MAX
        )
        best, most = None, 0.0
        for neighbour in self._known(now_us):
            if not neighbour.speaker or neighbour.passed or not (neighbour.proved or tries):
                continue
            worth = neighbour.signal * min(
                neighbour.count_offers(self._replica.next_wanted, self._replica.rows_lacking),
                2 * limits.FLOOR_PACKETS,
            )
            if worth > most:
                best, most = neighbour, worth
        return best

    @property
    def _doubtful(self) -> bool:
        """True if too many names gave nothing: those that never did are believed little."""
        return self._in_vain >= limits.VAIN_ASKS

    def _disappointed(self, asked: Neighbour) -> None:
        """A neighbour that was asked gave nothing: it is not asked again before it is heard."""
        if not asked.proved:
            self._in_vain = min(self._in_vain + 1, limits.VAIN_ASKS_MAX)
        asked.record_silence()
        self._asked = None

    def _delivered(self, feed: FeedId, seq: int, now_us: int) -> None:
        """Something new was heard: the neighbour that was just asked gave it, if it has it. Others begin later."""
        asked, asked_us = self._asked, self._asked_us
        if asked is None or asked_us is None:
            return
        if now_us - asked_us <= limits.DELIVERY_PACKETS * self._packet_us and asked.has(feed, seq):
            if not asked.proved:
                self._in_vain = max(0, self._in_vain - 1)
            asked.record_delivery()
            self._gave_last, self._asked = asked, None

    def believes(self, speaker: bytes) -> bool:
        """Return True if what the neighbour of this name claims has consequences."""
        neighbour = self._neighbours.get(speaker)
        return not self._doubtful or (neighbour is not None and neighbour.proved)

    def heeds(self, speaker: bytes, now_us: int) -> bool:
        """Return True if we request anew because the neighbour of this name claims to have what we lack: always if it
        is believed, else now and then. Names are forged, and their owners are among those that are believed little."""
        if self.believes(speaker):
            return True
        heeds = self._heeded_us <= self._since_us(limits.DOUBT_PACKETS, now_us)
        if heeds:
            self._heeded_us = now_us
        return heeds

    # --- what is heard

    def neighbours(self) -> list[Neighbour]:
        """Return the neighbours that sent a WANT, as far as they are remembered."""
        return self._neighbours.all()

    def speaks_for_us(self, want: Want | NamedWant) -> bool:
        """Return True if replies to *want*, which requests what we would request, may be heard here, and no known
        neighbour would have to be asked by us."""
        if want.asks:
            asked = self._neighbours.get(want.asks)
            heard = asked is not None and not asked.passed
            return want.asks == self.speaker or (heard and self.believes(want.asks))
        return not self._offered

    def heard_want(
        self, want: Want | NamedWant, reading: WantReading, reception: Reception, now_us: int
    ) -> None:
        """Handle the request of a neighbour."""
        if self._replica.has_large_set:
            if self._neighbours.get(want.speaker) is None:
                # What it follows it may say later, while hundreds of other feeds would use up the hour.
                self._queue.keep_for_named(now_us + limits.NAMED_RESERVE_US)
            if isinstance(want, NamedWant):
                self._note_named(reading, now_us)
        neighbour = self._neighbours.get_or_add(want.speaker)
        neighbour.record_want(reading, self._signal(reception), now_us)
        neighbour.record_signal(reception.rssi_dbm, reception.snr_db)
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
            self._leave_turn(neighbour, want, now_us)
        neighbour.grant(credit)
        self.update_urgency(now_us)

    def _leave_turn(self, neighbour: Neighbour, want: Want | NamedWant, now_us: int) -> None:
        """A neighbour asked another node by name: leave it the turn, unless such names were silent too often."""
        asks, asked = want.asks, self._neighbours.get(want.asks)
        if asked is not None or neighbour.is_known:
            # Requests by name count little: honest nodes send few, and a stranger forges them without knowing our set.
            self._queue.note_exchange(hidden=asked is None, named=isinstance(want, Want))
        if asked is None and neighbour.is_known:
            self._queue.leave_turn(now_us, in_reach=False)
            return
        self._count_void_turn()
        # A name that we do not hear may be made up, and all such names share one count.
        key = b"" if asked is None else asks
        self._turn_of, self._turn_us = key, now_us
        if key != neighbour.speaker and self._void_turns[key] < limits.VOID_TURNS_MAX:
            self._queue.leave_turn(now_us, in_reach=True)

    def _count_void_turn(self) -> None:
        """Nothing was heard since a turn was left to a name."""
        if self._turn_of is not None:
            self._void_turns[self._turn_of] = min(self._void_turns[self._turn_of] + 1, limits.VOID_TURNS_MAX)
            self._turn_of = None
            if len(self._void_turns) > limits.NEIGHBOURS_MAX:
                self._void_turns = Counter()

    def _count_turn(self, now_us: int) -> None:
        """Something was heard: the name that the turn was left to gave it, if it did not come much later."""
        if self._turn_of is not None and now_us - self._turn_us <= limits.DELIVERY_PACKETS * self._packet_us:
            self._void_turns.pop(self._turn_of, None)
            self._turn_of = None

    def _signal(self, reception: Reception) -> float:
        limit_db = self._queue.profile.snr_limit_db
        if limit_db is None or reception.snr_db is None:
            return 1.0
        # From 12 dB above the weakest readable signal on, a link is as good as any: fading takes 10. A neighbour with
        # the weakest signal counts a little, too.
        return max(0.02, min(1.0, (reception.snr_db - limit_db) / 12.0))

    def heard_entry(self, feed: FeedId, seq: int, now_us: int, *, new: bool) -> None:
        """An entry was heard, *new* or not."""
        self._replied_us = now_us
        self._count_turn(now_us)
        if not new and any(asker.awaits(feed, seq) for asker in self._askers(now_us)):
            self._queue.count_spared()
        if new:
            self._note_carried(feed, now_us)
            self._delivered(feed, seq, now_us)
            for neighbour in self._known(now_us):
                neighbour.record_received(feed, seq)
        self._neighbours.heard(feed, seq, now_us)
        self.update_urgency(now_us)

    def heard_sum(self, feed: FeedId, generation: int, last: int, now_us: int, *, new: bool) -> None:
        """A sum of entries of a generation, up to entry *last*, was heard, *new* or not."""
        self._replied_us = now_us
        self._count_turn(now_us)
        if new:
            self._delivered(feed, last, now_us)
        self._neighbours.heard_sum(feed, generation, last, now_us)
        self.update_urgency(now_us)

    def heard_lie(self) -> None:
        """A coded entry was a lie: the neighbour that was asked for it may have sent it."""
        if (gave := self._gave_last) is not None:
            self._gave_last = None
            self._in_vain = min(self._in_vain + 1, limits.VAIN_ASKS_MAX)
            self._disappointed(gave)

    def _note_named(self, reading: WantReading, now_us: int) -> None:
        """Note the feeds that a named request names first, and whether its sender, or we, lack something of one beyond
        the set."""
        for feed, seq in reading.wanted[: limits.NAMED_TRUSTED]:
            self._note(feed, now_us)
            if seq != self._replica.last_to_give(feed) + 1:
                self._note_carried(feed, now_us)

    def _note_carried(self, feed: FeedId, now_us: int) -> None:
        """Note that something of *feed* came, was given or is lacking: of one beyond the set more may follow. Beside a
        small set no airtime is kept for it: what neighbours follow is all of that set."""
        if feed not in self._replica.goset and self._replica.has_large_set:
            self._queue.keep_for_named(now_us + limits.NAMED_RESERVE_US)
            if (parent := self._parent_of(feed)) is not None:
                self._note(parent, now_us)

    def _parent_of(self, feed: FeedId) -> FeedId | None:
        """Return the feed that a feed of a group names as its parent: it announces to members what they need next."""
        if feed not in self._parents:
            packet = self._replica.first_entry(feed)
            if packet is None:
                return None
            entry = parse_entry(packet)
            try:
                named = parse_child_of(entry.content).feed if entry.type == EntryType.CHILD_OF else None
            except PeerError:
                named = None
            self._parents[feed] = named
            if len(self._parents) > limits.NAMED_KEPT_MAX:
                self._parents.popitem(last=False)
        return self._parents[feed]

    def _note(self, feed: FeedId, now_us: int) -> None:
        self._named.pop(feed, None)
        self._named[feed] = now_us
        if len(self._named) > limits.NAMED_KEPT_MAX:
            self._named.popitem(last=False)

    def named_in_set(self, now_us: int) -> list[FeedId]:
        """Return the named feeds of the set: neighbours follow them."""
        goset = self._replica.goset
        return [feed for feed in self._named if feed in goset and self._is_named(feed, now_us)]

    def _is_named(self, feed: FeedId, now_us: int) -> bool:
        named_us = self._named.get(feed)
        return feed not in self._replica.goset or (
            named_us is not None and now_us - named_us < limits.NAMED_RESERVE_US
        )

    def may_give_chunks(self, feed: FeedId, now_us: int) -> bool:
        """Return True if chunks of *feed* may be given now."""
        return not self._queue.keeps_airtime(now_us) or self._is_named(feed, now_us)

    def may_give(self, feed: FeedId, seq: int, now_us: int) -> bool:
        """Return True if an entry may be given that was not requested by its place. It counts as given."""
        allowed = self._limits.allows_entry(feed, seq, now_us)
        if allowed:
            self._limits.gave((feed, seq), now_us)
        return allowed

    @property
    def is_offered(self) -> bool:
        """True if a neighbour that is believed has entries that we lack."""
        return self._offered > 0

    def is_unheard(self, feed: FeedId, seq: int) -> bool:
        """Return True if no neighbour is known to have an entry: those that have it give it when asked."""
        return not any(self.believes(each.speaker) for each in self._neighbours.that_have(feed, seq))

    # --- giving

    def update_urgency(self, now_us: int) -> None:
        """Compute anew how urgent it is to reply, and to request."""
        reply_patience = self._give_patience(now_us)
        known = self._known(now_us)
        self._offered = max((each.offered for each in known if self.believes(each.speaker)), default=0)
        want_patience = _patience(limits.ASK_FULL, self._offered, limits.ASK_PATIENCE_MAX)
        own = reply_patience is not None and self._best(now_us, own=True) is not None
        self._queue.set_patience(reply=reply_patience, want=want_patience, own=own)
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
        # It serves all if it serves those that are known. A node that knows few is near leaves, whose request nobody
        # else may reply to.
        full = min(limits.GIVE_FULL, len(self._known(now_us)))
        return thrift * _patience(full, best[0], limits.GIVE_PATIENCE_MAX)

    def next_to_give(self, now_us: int, *, own: bool = False) -> Gift | None:
        """Return what to give now, new entries of our *own* only or anything. It counts as given once ``gave_chosen``
        says that it left."""
        best = self._best(now_us, own=own)
        self._chosen = None if best is None else best[1]
        if best is None:
            self.update_urgency(now_us)
        return self._chosen

    def gave_chosen(self, now_us: int) -> None:
        """The gift that ``next_to_give`` returned has left."""
        chosen, self._chosen = self._chosen, None
        if chosen is not None:
            self._gave(chosen, now_us)
            self.update_urgency(now_us)

    def record_given(self, feed: FeedId, seq: int, now_us: int, *, own: bool = False) -> None:
        """An entry is given unrequested, as it is new; *own*: we published it."""
        self._limits.note_new(feed, seq, now_us, own=own)
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
        self._limits.gave(gift, now_us)
        for neighbour in self._askers(now_us):
            neighbour.spend()
        self._turn_of_named = not self._is_named(feed, now_us)
        self._note_carried(feed, now_us)
        # Each station gives in an order of its own: two that serve the same request do not give the same first.
        self._order[feed] = self._entropy.random()

    def _askers(self, now_us: int) -> list[Neighbour]:
        """Return the neighbours to reply to: the one that asked us by name, or else all that just asked everybody."""
        if self._asker is not None and self._asker.credit > 0:
            return [self._asker]
        # Stations that do not hear each other would reply all that time, and collide.
        shared = self._replied_us > self._since_us(limits.REQUEST_PACKETS, now_us)
        packets = limits.SHARED_REQUEST_PACKETS if shared else limits.REQUEST_PACKETS
        just_us = self._since_us(packets, now_us)
        return [neighbour for neighbour in self._neighbours.since(just_us) if neighbour.credit > 0]

    def _known(self, now_us: int) -> list[Neighbour]:
        """Return the neighbours heard recently enough."""
        return self._neighbours.since(self._since_us(limits.KNOWN_PACKETS, now_us))

    def _since_us(self, packets: int, now_us: int) -> int:
        return now_us - packets * self._packet_us

    def _best(self, now_us: int, *, own: bool = False) -> tuple[float, Gift] | None:
        """Return the requested entry, or the generation that lacks rows, that serves most neighbours, and how many it
        serves. *own*: only of what we published of late."""
        if own and not self._limits.has_news:
            return None
        heard_us = self._since_us(limits.MARK_PACKETS, now_us)
        frontier = self._replica.last_to_give
        askers = self._askers(now_us)
        may_give = self._limits.allows_own if own else self._limits.allows
        asked = Counter[Gift]()
        for neighbour in askers:
            asked.update(
                each for each in neighbour.lacks(frontier, heard_us) if may_give(each, neighbour, now_us)
            )
        if not own and self._queue.keeps_airtime(now_us):
            asked = Counter(
                {each: count for each, count in asked.items() if self._is_named(feed_of(each), now_us)}
            )
        if not asked:
            return None
        worth: dict[Gift, float] = dict(asked)
        for neighbour in self._known(now_us):
            if neighbour not in askers:
                for place in neighbour.lacks(frontier, heard_us):
                    if place in worth:
                        worth[place] += 0.9  # less than one that has just sent a request
        # A feed of which nothing was given yet has an even chance: with none, on a busy channel, its turn never comes.
        place = max(worth, key=lambda each: (worth[each], self._order.get(feed_of(each), 0.5)))
        if self._turn_of_named:
            named = [each for each in worth if self._is_named(feed_of(each), now_us)]
            place = max(
                named, key=lambda each: (worth[each], self._order.get(feed_of(each), 0.5)), default=place
            )
        return worth[place], place


def feed_of(gift: Gift) -> FeedId:
    """Return the feed of what a neighbour can be given."""
    return gift.feed if isinstance(gift, GenerationSum) else gift[0]


def _patience(full: float, have: float, most: float) -> float:
    """Return how much longer to wait with *have* of something that is worth no wait in *full*."""
    return most if have <= 0 else min(most, max(1.0, full / have))
