"""Gossip between nodes whose sets differ: requests that name feeds one by one, and how nodes find which to name
(decision 0058).

A WANT names feeds by their place in the set, so only peers with the same set understand it. A *named WANT* is
understood by all nodes of ours. It names the feeds that the sender has reason to name: those in which it and a peer
differ, as a DIFF shows, and those of which a peer has more. Ids that a receiver does not know it asks for, and gets as
FEEDS, or as MORE where they are beyond the sender's set.

This part knows what is to be said on each face. ``gossip.entries`` sends the requests, with the others, and replies.
"""

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import AskSeen, FeedsSeen
from tinyssb_node.codec.packets import (
    Ask,
    Diff,
    Feeds,
    NamedChnk,
    NamedWant,
    named_item_size,
    serialize_ask,
    serialize_diff,
    serialize_feeds,
)
from tinyssb_node.gossip.deployed_peers import DeployedPeers
from tinyssb_node.gossip.named_ids import NamedIds
from tinyssb_node.ids import Direction, FaceName, FeedId, PacketKind
from tinyssb_node.replication.frontiers import (
    FrontiersDiffer,
    FrontiersEqual,
    SaltedFrontiers,
)
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.salted import short_id
from tinyssb_node.replication.want import NOT_WANTED
from tinyssb_node.scheduling.link import LinkMedium, LinkProfile
from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter
from tinyssb_node.scheduling.suppression import RecentSet
from tinyssb_node.scheduling.token_bucket import TokenBucket
from tinyssb_node.scheduling.transmit_queue import GossipPacket, TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource

_NAMED_SIZE = limits.PACKET_SIZE - limits.NAMED_HEAD_SIZE
_TRIES = 2
"""Named WANTs that may name a feed, for more of it, in vain."""
_SETTLED_TRIES = 6
"""How often the same difference is worked on; a packet may be lost, but some differences are to stay."""
_MOVED = 16
"""Entries that come or are given in between, after which neither was in vain: peers do not give all at once."""
_PAUSE_US = 3_600_000_000
"""Time after which it is worked on again, if neither side has changed; twice as long each time."""
_LOSSY_PAUSE_US = 60_000_000
"""The same where packets may be lost."""
_PAUSE_MAX_US = 86_400_000_000
_ASK_PAUSE_MAX_US = 600_000_000
"""Longest time until an id is asked for again that did not come, or was refused."""
_SETTLED_MAX = 64
_DIFFERING_MAX = 64
"""Feeds kept whose marks differed from a peer's."""
_COMPARE_US = 3_600_000_000
"""Time after which stations that agree compare their frontiers on the air: only branches of a fork that are equally
long show there and nowhere else. 22 bytes an hour, in place of a sketch of 16, by one of those in reach."""
_COMPARE_AGAIN_US = 600_000_000
"""The same after marks differed."""
_ANSWER_US = 1_000_000
"""Time for which an answer may be on its way."""
_CALM_US = 300_000_000
"""Longest interval between adverts on wires among nodes of ours: whatever is new is said at once, and four packets in
five minutes find what was missed."""
_LEFT_EVERY_US = 60_000_000
"""Time between two such replies: two nodes that both let it go would never end."""
_LEARNED_US = 3_600_000_000
_LEARNED_MAX = 256
_ASKING_MAX = limits.JUST_GIVEN_MAX
"""Marks and short ids that wait on a face to be asked for."""
_DIFFS_ON_AIR = 3
"""DIFFs replied to at once on the air, where nodes of ours do not begin with them."""
_VAIN_ASKS_MAX = 8
"""ASKs on the air of which no id came, after which peers are taken to make ids up. Packets, not ids: a newcomer to a
group of many epochs lacks more ids than peers may give in an hour."""
_LIE_PACKETS = 64
"""Packets' time between two replies to what peers may make up: 13 s at SF7."""
_PATIENCE_PACKETS = 512
"""Packets' time for which sets may differ on the air before feeds are named: sketches and ids need less, also with
losses. 100 s at SF7."""


@dataclass(slots=True)
class _Open:
    """A feed of which a peer has more."""

    asked: int = 0
    """The number that was asked for last."""
    tries: int = 0
    """How often it was, in vain."""
    moved: int = 0
    """How many entries had come or been given here then."""
    due: bool = True
    """True if it is to be asked for."""


class _Settled(NamedTuple):
    """A difference that was worked on."""

    tries: int
    """How often, in vain."""
    next_us: int
    """When it may be done again."""
    moved: int
    """How many entries had come or been given then."""


@dataclass(slots=True)
class _Compared:
    """The last comparison of marks with peers on a face."""

    now_us: int
    """When frontiers were compared on the air."""
    equal: bool = False
    """True while a peer's last DIFF was the same as ours."""
    doubtful: bool = False
    """True if marks have differed since then."""
    differing: OrderedDict[FeedId, int] = field(default_factory=OrderedDict)
    """Feeds whose marks differed from a peer's, and up to which entry they were held here then."""

    def note(self, feed: FeedId, seq: int) -> None:
        """The mark of *feed*, held up to entry *seq*, differs from a peer's."""
        self.doubtful = True
        self.differing[feed] = seq
        if len(self.differing) > _DIFFERING_MAX:
            self.differing.popitem(last=False)


class _Exchange:
    """The state of one face: what is to be said there, and what was."""

    def __init__(self, now_us: int, profile: LinkProfile) -> None:
        self.on_air = profile.medium is LinkMedium.AIR
        self.named_ids = NamedIds(profile.airtime_us[limits.PACKET_SIZE]) if self.on_air else None
        """Ids that were named here of late; None where naming them costs no airtime."""
        self.heard = False
        """True once a peer spoke of its frontiers: it is a node of ours."""
        self.salt = b""
        """The salt in use."""
        self.lie_us = _LIE_PACKETS * profile.airtime_us[limits.PACKET_SIZE]
        """Time between two replies on the air to what peers may make up."""
        self.diffs_taken = TokenBucket(_DIFFS_ON_AIR, 1, self.lie_us, now_us) if self.on_air else None
        """Packets of replies to DIFFs on the air; None on wires."""
        self.vain_asks = 0
        """ASKs sent on the air, less the ids that came."""
        self.asked_us = now_us
        """When the last one was."""
        self.salts = TokenBucket(8, 1, 10_000_000, now_us)
        """New salts that peers may bring: each costs 12 µs a feed on a PC."""
        self.pulls = TokenBucket(64, 32, 3_600_000_000, now_us)
        """Feeds that peers want and nobody here knows, and that are asked for elsewhere."""
        self.pulled: OrderedDict[tuple[bytes, int], None] = OrderedDict()
        """Salts and short ids of such feeds, whose ids were asked for."""
        self.carried: OrderedDict[FeedId, None] = OrderedDict()
        """These feeds, as soon as their ids were given: what a peer on a wire wants of them may be on the air."""
        self.tell: dict[FeedId, None] = {}
        """Feeds to name once, so that peers see how much of them is here."""
        self.open: OrderedDict[FeedId, _Open] = OrderedDict()
        """Feeds of which a peer has more; those that are due to be asked for come first."""
        self.asking: dict[tuple[bytes, int], None] = {}
        """Marks and short ids to ask for, each with its salt."""
        self.asked: RecentSet[tuple[bytes, int]] = RecentSet(limits.JUST_GIVEN_MAX)
        """Those that were asked for."""
        self.asks: RepeatLimiter[tuple[bytes, int]] = RepeatLimiter(
            wait_us=_LOSSY_PAUSE_US, wait_max_us=_ASK_PAUSE_MAX_US, most=limits.JUST_GIVEN_MAX
        )
        """How often they were: what is named again and again and refused here is asked for ever more rarely."""
        self.left: RecentSet[FeedId] = RecentSet(limits.JUST_GIVEN_MAX)
        """Feeds of which a peer was told that they have left here."""
        self.giving: dict[FeedId, None] = {}
        """Feeds whose ids to give."""
        self.diffs: dict[tuple[bytes, int, int], Diff] = {}
        """Ranges to show, by salt, depth and prefix."""
        self.settled: OrderedDict[tuple[bytes, int], _Settled] = OrderedDict()
        """Differences that were worked on, by the first sums of both and the peer's count."""
        self.compared = _Compared(now_us)
        """The last comparison of marks."""
        self.moved = 0
        """Entries that came here, or were given."""
        self.differs_us: int | None = None
        """Since when sets differ here; None: they do not, as far as is known."""
        self.learned: OrderedDict[FeedId, int] = OrderedDict()
        """Feeds beyond the set that a peer named here, and when."""

    def is_lied_to(self, now_us: int) -> bool:
        """Return True on the air if no id came of those that were asked for, the last of them a moment ago: peers may
        name what does not exist."""
        just = now_us - self.asked_us < self.lie_us
        return self.on_air and just and self.vain_asks >= _VAIN_ASKS_MAX

    def ask_for(self, key: tuple[bytes, int]) -> bool:
        """Ask for a mark or short id; return False while too many wait: peers name it again."""
        if len(self.asking) >= _ASKING_MAX and key not in self.asking:
            return False
        self.asking[key] = None
        return True

    def expect_more(self, feed: FeedId) -> None:
        """A peer has more of *feed*: ask for it."""
        self.open.setdefault(feed, _Open()).due = True
        self.open.move_to_end(feed, last=False)


class FrontierGossip:
    """The exchange about frontiers, on all faces of one node."""

    def __init__(self, replica: Replica, network: Network, entropy: RandomSource) -> None:
        self._replica = replica
        self._frontiers = replica.frontiers
        self._dmx = network.goset_dmx
        self._entropy = entropy
        self._exchanges: dict[FaceName, _Exchange] = {}
        self.deployed = DeployedPeers()

    def face_up(self, queue: TransmitQueue, now_us: int) -> None:
        """A face can be used. On wires the first packet shows what we hold."""
        self.deployed.face_up(queue.name, now_us)
        self._exchanges[queue.name] = _Exchange(now_us, queue.profile)
        if not queue.on_air:
            queue.put(self.advert(queue).packet, PacketKind.DIFF, now_us)

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self.deployed.face_down(face)
        self._exchanges.pop(face, None)

    def understood(self, face: FaceName) -> bool:
        """Return True if a peer on *face* is known to understand these packets."""
        return self._exchanges[face].heard

    def equal(self, face: FaceName) -> bool:
        """Return True if a peer on *face* held all that we hold, and nothing else, when it said so last."""
        return self._exchanges[face].compared.equal

    def has_requests(self, face: FaceName) -> bool:
        """Return True if feeds are to be named on *face*."""
        exchange = self._exchanges[face]
        return bool(exchange.tell or exchange.open)

    def has_news(self, face: FaceName) -> bool:
        """Return True if feeds are to be named on *face* of which peers there may know nothing yet."""
        exchange = self._exchanges[face]
        return exchange.heard and (
            bool(exchange.tell) or any(each.due for each in islice(exchange.open.values(), 1))
        )

    def beyond(self, queue: TransmitQueue, now_us: int) -> Sequence[FeedId]:
        """Return the feeds beyond the set that are named again and again: those that our user follows or that our
        groups need, on wires only as long as nothing of them is here; and those that a peer named on the air in the
        last hour."""
        exchange = self._exchanges[queue.name]
        while exchange.learned and now_us - next(iter(exchange.learned.values())) > _LEARNED_US:
            exchange.learned.popitem(last=False)
        own: Iterable[FeedId] = self._replica.followed_beyond
        if not queue.on_air:
            # A DIFF shows all others.
            own = [feed for feed in own if not self._replica.frontier(feed)] if exchange.heard else ()
        return sorted({*own, *exchange.learned})

    def set_compared(self, face: FaceName, *, same: bool, now_us: int) -> None:
        """A peer on *face* showed its set, which is the *same* as ours or not."""
        exchange = self._exchanges[face]
        if same:
            exchange.differs_us = None
        elif exchange.differs_us is None:
            exchange.differs_us = now_us

    def sets_differ(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if requests by place in the set are not understood on *queue*: sets differ, on the air for longer
        than it takes to reconcile them."""
        exchange = self._exchanges[queue.name]
        if not queue.on_air:
            return exchange.heard and exchange.differs_us is not None
        patience_us = _PATIENCE_PACKETS * queue.profile.airtime_us[limits.PACKET_SIZE]
        return exchange.differs_us is not None and now_us - exchange.differs_us > patience_us

    def sets_seem_to_differ(self, face: FaceName) -> bool:
        """Return True if the last set that a peer on *face* showed is not ours, for however short a time."""
        return self._exchanges[face].differs_us is not None

    # --- salts

    def knows_salt(self, salt: bytes) -> bool:
        """Return True if feeds were named under *salt*, here or by a peer that was heard."""
        return self._frontiers.knows_salt(salt)

    def _salt(self) -> bytes:
        return int(self._entropy.random() * 2**32).to_bytes(limits.SALT_SIZE, "big")

    def _fresh(self, exchange: _Exchange) -> SaltedFrontiers:
        """Return all feeds under the face's salt, or, if there is none or two feeds look alike under it, under one that
        another face uses already, or a new one."""
        salts = [exchange.salt, *(other.salt for other in self._exchanges.values())]
        for salt in [each for each in salts if each] + [self._salt() for _ in range(3)]:
            found = self._frontiers.under(salt)
            if not found.ambiguous:
                break
        exchange.salt = found.salt
        return found

    def salt_to_name(self, face: FaceName) -> bytes:
        """Return the salt under which feeds are named on *face*."""
        return self._fresh(self._exchanges[face]).salt

    def _admits_salt(self, exchange: _Exchange, salt: bytes, now_us: int) -> bool:
        if self._frontiers.knows_salt(salt):
            return True
        if not exchange.salts.has(now_us):
            return False
        exchange.salts.take()
        return True

    # --- what is heard

    def _heard(self, queue: TransmitQueue) -> _Exchange:
        """A node of ours was heard, on *queue*."""
        exchange = self._exchanges[queue.name]
        if not exchange.heard and not queue.on_air:
            queue.slow_adverts(_CALM_US)
            # No DIFF shows feeds of which nothing is here.
            empty = (feed for feed in self._replica.followed_beyond if not self._replica.frontier(feed))
            exchange.tell.update(dict.fromkeys(empty))
        exchange.heard = True
        return exchange

    def heard_diff(self, queue: TransmitQueue, diff: Diff, now_us: int) -> bool | None:
        """Handle a peer's DIFF. Return True if something follows from it; None if there were too many."""
        exchange = self._heard(queue)
        if not self._admits_salt(exchange, diff.salt, now_us):
            return False
        ours = self._frontiers.under(diff.salt)
        if not ours.ambiguous:
            # Both sides keep the lower one, so that a mesh comes to use few.
            exchange.salt = min(exchange.salt or diff.salt, diff.salt)
        reading = ours.read(diff)
        if diff.depth == 0:
            exchange.compared.equal = isinstance(reading, FrontiersEqual)
            if exchange.compared.equal:
                exchange.compared.now_us, exchange.compared.doubtful = now_us, False
        if isinstance(reading, FrontiersEqual) or self._is_settled(queue, ours, diff, now_us):
            return False
        if exchange.diffs_taken is not None and not exchange.diffs_taken.has(now_us):
            return None
        replies = 1
        if isinstance(reading, FrontiersDiffer):
            self._work_on(queue.name, diff.salt, reading, now_us)
        elif ours.is_small(diff) or len(diff.sums) < limits.DIFF_SUMS_MAX * limits.SHORT_ID_SIZE:
            self._show(exchange, ours, diff.depth, diff.prefix)
        else:
            parts = ours.parts(diff)
            replies = len(parts)
            exchange.diffs.update({(part.salt, part.depth, part.prefix): part for part in parts})
        if exchange.diffs_taken is not None:
            exchange.diffs_taken.take(replies)
        return True

    def _work_on(self, face: FaceName, salt: bytes, reading: FrontiersDiffer, now_us: int) -> None:
        exchange = self._exchanges[face]
        for feed in reading.ours if reading.theirs else ():
            if feed not in self._replica.forks:
                exchange.compared.note(feed, self._replica.frontier(feed))
        # If they hold nothing that we do not, they lack these feeds, and cannot name them; or they have retired them.
        for feed in reading.ours:
            if bool(reading.theirs) or feed in self._replica.closed:
                exchange.tell[feed] = None
            elif self.may_name(face, feed, now_us):
                exchange.giving[feed] = None
        for mark in reading.theirs:
            exchange.ask_for((salt, mark))

    def _is_settled(self, queue: TransmitQueue, ours: SaltedFrontiers, diff: Diff, now_us: int) -> bool:
        """Return True if this very difference was worked on often enough."""
        exchange = self._exchanges[queue.name]
        mine = ours.diff(diff.depth, diff.prefix, 1)
        key = diff.sums[: limits.SHORT_ID_SIZE] + mine.sums, diff.count
        last = exchange.settled.pop(key, _Settled(0, now_us, exchange.moved))
        settled = now_us < last.next_us
        if not settled:
            tries = last.tries + 1 if exchange.moved - last.moved < _MOVED else 1
            doublings = tries - _SETTLED_TRIES
            pause_us = _PAUSE_US if queue.profile.medium is LinkMedium.STREAM else _LOSSY_PAUSE_US
            next_us = now_us if doublings < 0 else now_us + min(pause_us << doublings, _PAUSE_MAX_US)
            last = _Settled(tries, next_us, exchange.moved)
        exchange.settled[key] = last
        if len(exchange.settled) > _SETTLED_MAX:
            exchange.settled.popitem(last=False)
        return settled

    def _show(self, exchange: _Exchange, ours: SaltedFrontiers, depth: int, prefix: int) -> None:
        exchange.diffs[ours.salt, depth, prefix] = ours.diff(depth, prefix)

    def may_name(self, face: FaceName, feed: FeedId, now_us: int) -> bool:
        """Return True if the id of *feed* may be named on *face* in reply to a request: it was not named there too
        often of late."""
        named_ids = self._exchanges[face].named_ids
        return named_ids is None or named_ids.allows(feed, now_us)

    def name_anew(self) -> None:
        """Ids are given behind their first entries from now on: that they were named before counts no more."""
        for exchange in self._exchanges.values():
            if exchange.named_ids is not None:
                exchange.named_ids.forget()

    def ids_named(self, face: FaceName, feeds: Iterable[FeedId], now_us: int) -> None:
        """Ids were named on *face*, by us or by a peer."""
        if (named_ids := self._exchanges[face].named_ids) is not None:
            named_ids.record(feeds, now_us)

    def heard_ask(self, queue: TransmitQueue, ask: Ask, now_us: int) -> None:
        """A peer asked for what short ids, or marks, of its salt stand for."""
        exchange = self._exchanges[queue.name]
        for key in [(ask.salt, short) for short in ask.shorts if exchange.on_air]:
            # The reply is heard here, too.
            if key in exchange.asking:
                del exchange.asking[key]
                exchange.asked.add(key, now_us)
        if not self._frontiers.knows_salt(ask.salt):
            return
        known = self._frontiers.under(ask.salt)
        for short in ask.shorts:
            if (feed := known.find(short)) is not None:
                # Those of the set are given by ``SetGossip``.
                if feed not in self._replica.goset and self.may_name(queue.name, feed, now_us):
                    exchange.giving[feed] = None
            elif (feed := known.find_marked(short)) is not None:
                exchange.tell[feed] = None

    def heard_feeds(self, queue: TransmitQueue, feeds: Sequence[FeedId], now_us: int) -> None:
        """A peer gave ids: it has entries of these feeds. Nobody need repeat them."""
        exchange = self._exchanges[queue.name]
        self.ids_named(queue.name, feeds, now_us)
        exchange.vain_asks = max(0, exchange.vain_asks - len(feeds))
        for feed in feeds:
            exchange.giving.pop(feed, None)
            # Of those in the set a WANT asks, too, with fewer bytes.
            if self._replica.takes(feed) and not (exchange.on_air and feed in self._replica.goset):
                exchange.expect_more(feed)

    def learned(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> bool:
        """A peer on *queue* named a feed beyond the set. If that was on the air, or nobody here knew what it wants, we
        name it, too, from now on, on every radio: others may have it, or need it. Return True if a peer wants it, and
        nobody here knew it."""
        origin = self._exchanges[queue.name]
        pulled = [
            key for key in {(salt, short_id(salt, feed)) for salt, _ in origin.pulled} if key in origin.pulled
        ]
        for key in pulled:
            del origin.pulled[key]
        if pulled:
            origin.carried[feed] = None
            if len(origin.carried) > _LEARNED_MAX:
                origin.carried.popitem(last=False)
        if pulled or queue.on_air:
            for face, exchange in self._exchanges.items():
                if face != queue.name and not exchange.on_air:
                    exchange.tell[feed] = None
        for exchange in self._exchanges.values():
            if not (exchange.on_air and (queue.on_air or feed in origin.carried)):
                continue
            exchange.learned.pop(feed, None)
            exchange.learned[feed] = now_us
            if len(exchange.learned) > _LEARNED_MAX:
                exchange.learned.popitem(last=False)
        return bool(pulled)

    def named(
        self,
        queue: TransmitQueue,
        salt: bytes,
        shorts: Sequence[int],
        now_us: int,
        empty: Collection[int] = (),
    ) -> list[FeedId | None]:
        """A peer named feeds by their short ids: return which those are, None for one that we do not know, and ask for
        those. Of *empty* ones it has nothing: others may."""
        exchange = self._heard(queue)
        if not self._admits_salt(exchange, salt, now_us):
            return [None] * len(shorts)
        known = self._frontiers.under(salt)
        found = [known.find(short) for short in shorts]
        for feed in found:
            if feed is not None:
                self._note_named(queue, feed, now_us)
        unknown = [short for short, feed in zip(shorts, found, strict=True) if feed is None]
        if unknown and not self._replica.read_only:
            self._ask_for(exchange, salt, unknown, empty, now_us)
        return found

    def _note_named(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> None:
        """A peer named a feed that is known here."""
        exchange = self._exchanges[queue.name]
        if feed not in self._replica.goset:
            self.learned(queue, feed, now_us)
        # It has left here: who named it sees that we want nothing of it, and may let it leave, too.
        if feed in self._replica.retired and not exchange.left.within(feed, _LEFT_EVERY_US, now_us):
            exchange.left.add(feed, now_us)
            exchange.tell[feed] = None

    def _ask_for(
        self, exchange: _Exchange, salt: bytes, shorts: Sequence[int], empty: Collection[int], now_us: int
    ) -> None:
        """Ask for the ids behind *shorts*."""
        for short in shorts:
            key = salt, short
            if short in empty and exchange.pulls.has(now_us):
                exchange.pulls.take()
                exchange.pulled[key] = None
                if len(exchange.pulled) > _LEARNED_MAX:
                    exchange.pulled.popitem(last=False)
            recent = exchange.asked.within(key, _ANSWER_US, now_us) or exchange.is_lied_to(now_us)
            if not recent and exchange.asks.allows(key, 0, now_us) and exchange.ask_for(key):
                exchange.asked.add(key, now_us)
                exchange.asks.gave(key, 0, now_us)

    def feed_of(self, salt: bytes, short: int) -> FeedId | None:
        """Return the feed with this short id, if both are known."""
        return self._frontiers.under(salt).find(short) if self._frontiers.knows_salt(salt) else None

    def behind(self, face: FaceName, numbers: Iterable[tuple[FeedId, int]]) -> None:
        """A peer on *face* wants these numbers of feeds, and so has all before: of some that is more than we have."""
        exchange = self._exchanges[face]
        for feed, seq in numbers:
            ours = self._replica.next_wanted(feed)
            if ours != NOT_WANTED and seq > ours:
                exchange.expect_more(feed)

    def alike(self, face: FaceName, numbers: Iterable[tuple[FeedId, int]]) -> Sequence[FeedId]:
        """A peer on *face* wants these numbers of feeds. Return those of which it holds as many entries as we did when
        its mark was another one, and as we do now; each once for each time that marks are compared."""
        differing = self._exchanges[face].compared.differing
        found = []
        for feed, seq in numbers if differing else ():
            if differing.get(feed) == seq - 1 == self._replica.frontier(feed):
                del differing[feed]
                found.append(feed)
        return found

    def took(self, face: FaceName, feed: FeedId) -> None:
        """An entry of *feed* came on *face*: there may be more."""
        exchange = self._exchanges[face]
        exchange.moved += 1
        if feed not in exchange.open and self._replica.takes(feed):
            exchange.expect_more(feed)

    def gave(self, face: FaceName, count: int) -> None:
        """So many entries were given on *face*."""
        self._exchanges[face].moved += count

    def news(self, face: FaceName, feed: FeedId) -> None:
        """More of *feed* is here than peers on *face* may know."""
        exchange = self._exchanges[face]
        if not exchange.on_air or feed in exchange.learned or feed in self._replica.followed_beyond:
            exchange.tell[feed] = None

    def introduce(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> None:
        """*feed* is new, and beyond the set: give its id, before the first entry."""
        queue.put(serialize_feeds(self._dmx, Feeds((feed,), more=True)), PacketKind.MORE, now_us)

    # --- requests

    def ask_again(self, face: FaceName) -> None:
        """Time has passed: ask again for all of which there is more."""
        for each in self._exchanges[face].open.values():
            each.due = True

    def build_want(
        self,
        queue: TransmitQueue,
        first: Sequence[FeedId],
        rest: Sequence[FeedId],
        next_wanted: Callable[[FeedId], int],
    ) -> NamedWant | None:
        """Return the next named WANT: of feeds that come *first*, of feeds of which peers have more, of feeds to tell
        of, and, as far as there is room, of the *rest*. It counts as sent. None: there is nothing to name."""
        exchange = self._exchanges[queue.name]
        salted = self._fresh(exchange)
        items: dict[FeedId, tuple[int, int]] = {}
        room = _NAMED_SIZE - 2 * limits.SPEAKER_SIZE
        for feed in (*first, *exchange.open, *exchange.tell, *rest):
            if not self._replica.knows(feed):
                exchange.open.pop(feed, None)
                exchange.tell.pop(feed, None)
            if feed in items or not self._replica.knows(feed):
                continue
            seq = next_wanted(feed)
            size = named_item_size(seq)
            if size > room:
                break
            if self._is_due(exchange, feed, seq):
                room -= size
                items[feed] = short_id(salted.salt, feed), seq
        for feed in items:
            exchange.tell.pop(feed, None)
        return NamedWant(salted.salt, tuple(items.values())) if items else None

    def _is_due(self, exchange: _Exchange, feed: FeedId, seq: int) -> bool:
        """Return False for a feed of which a peer was said to have more, and that was asked for in vain or just now."""
        each = exchange.open.get(feed)
        if each is None:
            return True
        if not each.due:
            return feed in exchange.tell
        each.tries = each.tries + 1 if each.asked == seq and exchange.moved - each.moved < _MOVED else 1
        if seq == NOT_WANTED or each.tries > _TRIES:
            del exchange.open[feed]
            return feed in exchange.tell
        each.asked, each.moved, each.due = seq, exchange.moved, False
        exchange.open.move_to_end(feed)
        return True

    def build_chnk(self, queue: TransmitQueue, chains: Sequence[tuple[FeedId, int, int]]) -> NamedChnk:
        """Return the named CHNK for *chains*, each a feed, a sequence number and the first chunk missing: as many as
        fit a packet."""
        salted = self._fresh(self._exchanges[queue.name])
        items: list[tuple[int, int, int]] = []
        room = _NAMED_SIZE
        for feed, seq, chunk in chains:
            room -= named_item_size(seq, chunk)
            if room < 0:
                break
            items.append((short_id(salted.salt, feed), seq, chunk))
        return NamedChnk(salted.salt, tuple(items))

    # --- packets to send

    def advert(self, queue: TransmitQueue) -> GossipPacket:
        """Build the DIFF that begins an exchange: a short one, while peers hold the same as far as is known."""
        exchange = self._exchanges[queue.name]
        sums = 1 if exchange.compared.equal or exchange.on_air else limits.DIFF_SUMS_MAX
        return self._diff_packet(self._fresh(exchange).diff(0, 0, sums))

    def compare_on_air(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        """Return the DIFF with which stations that agree compare their frontiers, if that is due; it counts as sent."""
        compared = self._exchanges[queue.name].compared
        every_us = _COMPARE_AGAIN_US if compared.doubtful else _COMPARE_US
        if now_us - compared.now_us < every_us:
            return None
        compared.now_us, compared.doubtful = now_us, False  # peers that hold the same do not reply
        return self.advert(queue)

    def has_packets(self, face: FaceName) -> bool:
        """Return True if ``next_packet`` has one for *face*, or feeds are to be named there."""
        exchange = self._exchanges[face]
        return bool(exchange.giving or exchange.diffs or exchange.asking) or self.has_news(face)

    def next_packet(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        """Return the next packet of an exchange on *queue*; it counts as sent."""
        exchange = self._exchanges[queue.name]
        if exchange.giving:
            beyond = next(iter(exchange.giving)) not in self._replica.goset
            alike = [feed for feed in exchange.giving if (feed not in self._replica.goset) == beyond]
            feeds = Feeds(tuple(alike[: limits.FEEDS_MAX]), more=beyond)
            for feed in feeds.feeds:
                del exchange.giving[feed]
            self.ids_named(queue.name, feeds.feeds, now_us)
            if beyond:
                return GossipPacket(serialize_feeds(self._dmx, feeds), PacketKind.MORE, None)
            given = FeedsSeen(direction=Direction.TX, face=queue.name, count=len(feeds.feeds))
            return GossipPacket(serialize_feeds(self._dmx, feeds), PacketKind.FEEDS, given)
        if exchange.diffs:
            return self._diff_packet(exchange.diffs.pop(next(iter(exchange.diffs))))
        if exchange.asking and not exchange.tell:
            salt = next(iter(exchange.asking))[0]
            shorts = [short for each, short in exchange.asking if each == salt][: limits.ASK_MAX]
            for short in shorts:
                del exchange.asking[salt, short]
            exchange.vain_asks = min(exchange.vain_asks + 1, _VAIN_ASKS_MAX)
            exchange.asked_us = now_us
            asked = AskSeen(direction=Direction.TX, face=queue.name, salt=salt, count=len(shorts))
            return GossipPacket(serialize_ask(self._dmx, Ask(salt, tuple(shorts))), PacketKind.ASK, asked)
        return None

    def _diff_packet(self, diff: Diff) -> GossipPacket:
        return GossipPacket(serialize_diff(self._dmx, diff), PacketKind.DIFF, None)
