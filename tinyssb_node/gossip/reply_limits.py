"""Limits of what one face on the air gives, whoever requests it (decision 0064).

Each generation of a feed has a rate limit of its own. New entries, which most neighbours may still lack, have another
one, so that requests for their predecessors do not use it up. And each entry may be given twice, however often others
of its generation were: the search for a fork requests ever earlier ones.

Boards and phones request entry 1 of a feed of dialect ``spec`` for ever, and can't read it. All such feeds together
have one limit for those who name no neighbour, as boards and phones do not, and did not take entry 1 so far.
"""

from collections import OrderedDict
from dataclasses import dataclass
from enum import IntEnum

from tinyssb_node import limits
from tinyssb_node.codec.packets import GENERATION_SIZE
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.replication.coded_entries import generation_of
from tinyssb_node.replication.neighbours import GenerationSum, Gift, Neighbour
from tinyssb_node.replication.replica import Replica
from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter
from tinyssb_node.scheduling.transmit_queue import TransmitQueue


class _Kind(IntEnum):
    """Kinds of limits."""

    GENERATION = 0
    """Sixteen entries, by the number of their generation."""
    NEWS = 1
    """New entries, by the first of them."""
    ENTRY = 2
    """An entry."""
    UNREAD = 3
    """Entry 1 of any feed of dialect ``spec``, to peers that may not read it."""


_Key = tuple[FeedId, _Kind, int]
_UNREAD: _Key = FeedId(bytes(limits.FEED_ID_SIZE)), _Kind.UNREAD, 0


@dataclass(frozen=True, slots=True)
class _News:
    """The new entries of a feed."""

    first: int
    """The first of them."""
    own: bool
    """True if we published them."""
    at_us: int
    """When the last one came."""


class ReplyLimits:
    """Limits of one face, by the packets given there."""

    def __init__(self, replica: Replica, queue: TransmitQueue) -> None:
        self._replica = replica
        self._queue = queue
        self._given: RepeatLimiter[_Key] = RepeatLimiter(
            wait_us=limits.REPEAT_PACKETS * queue.profile.airtime_us[limits.PACKET_SIZE],
            wait_max_us=limits.REPEAT_MAX_US,
            most=limits.JUST_GIVEN_MAX,
        )
        self._news: OrderedDict[FeedId, _News] = OrderedDict()

    def note_new(self, feed: FeedId, seq: int, now_us: int, *, own: bool) -> None:
        """Entry *seq* was published, by us if *own*."""
        news = self._news_of(feed, now_us)
        self._news[feed] = _News(seq if news is None else min(seq, news.first), own, now_us)
        self._news.move_to_end(feed)
        if len(self._news) > limits.NEWS_MAX:
            self._news.popitem(last=False)

    def _news_of(self, feed: FeedId, now_us: int) -> _News | None:
        news = self._news.get(feed)
        return None if news is None or now_us - news.at_us >= limits.NEWS_US else news

    def allows(self, gift: Gift, neighbour: Neighbour, now_us: int) -> bool:
        """Return True if *gift* may be given now to a neighbour that requests it."""
        feed, generation = generation_in(gift)
        if not neighbour.speaker and neighbour.next_wanted(feed) == 1 and self._is_spec(feed):
            return gift == (feed, 1) and self._has(_UNREAD, now_us)
        news = self._wanted_news(gift, neighbour, now_us)
        key = (feed, _Kind.GENERATION, generation) if news is None else (feed, _Kind.NEWS, news.first)
        taking, named = neighbour.takes(feed), bool(neighbour.speaker)
        return self._has(key, now_us, taking=taking, named=named) or (
            not isinstance(gift, GenerationSum)
            and self._has((feed, _Kind.ENTRY, gift[1]), now_us, named=named)
        )

    def allows_entry(self, feed: FeedId, seq: int, now_us: int) -> bool:
        """Return True if an entry may be given now to a peer without a name."""
        return self._has((feed, _Kind.GENERATION, generation_of(seq)), now_us)

    def _has(self, key: _Key, now_us: int, *, taking: bool = False, named: bool = False) -> bool:
        length = self._length(key)
        if self._given.allows(key, length, now_us, taking=taking):
            return True
        # Airtime is looked at only here: most things were given seldom.
        spare = named and self._queue.has_air_for_repeats(now_us)
        return spare and self._given.allows(key, length, now_us, taking=taking, spare=True)

    def allows_own(self, gift: Gift, neighbour: Neighbour, now_us: int) -> bool:
        """The same for what we published of late; False for all else."""
        news = self._wanted_news(gift, neighbour, now_us)
        return news is not None and news.own and self.allows(gift, neighbour, now_us)

    @property
    def has_news(self) -> bool:
        """False if nothing was published of late."""
        return bool(self._news)

    def _wanted_news(self, gift: Gift, neighbour: Neighbour, now_us: int) -> _News | None:
        feed, _ = generation_in(gift)
        news = self._news_of(feed, now_us)
        seq = neighbour.next_wanted(feed) if isinstance(gift, GenerationSum) else gift[1]
        return None if news is None or seq < news.first else news

    def gave(self, gift: Gift, now_us: int) -> None:
        """Record that *gift* is given now."""
        feed, generation = generation_in(gift)
        self._count((feed, _Kind.GENERATION, generation), now_us)
        news = self._news_of(feed, now_us)
        # A sum serves those that lack new entries, too.
        if news is not None and (isinstance(gift, GenerationSum) or gift[1] >= news.first):
            self._count((feed, _Kind.NEWS, news.first), now_us)
        if not isinstance(gift, GenerationSum):
            self._count((feed, _Kind.ENTRY, gift[1]), now_us)
        if gift == (feed, 1) and self._is_spec(feed):
            self._count(_UNREAD, now_us)

    def _is_spec(self, feed: FeedId) -> bool:
        return self._replica.knows(feed) and self._replica.record(feed).dialect is Dialect.SPEC

    def _count(self, key: _Key, now_us: int) -> None:
        self._given.gave(key, self._length(key), now_us)

    def _length(self, key: _Key) -> int:
        feed, kind, number = key
        if kind is _Kind.UNREAD:
            return 0
        if kind is _Kind.ENTRY:
            return -2  # of the four that are given at once beyond the length, two
        first = number if kind is _Kind.NEWS else number * GENERATION_SIZE + 1
        return min(GENERATION_SIZE, self._replica.last_to_give(feed) - first + 1)


def generation_in(gift: Gift) -> tuple[FeedId, int]:
    """Return the feed and generation of *gift*."""
    return (
        (gift.feed, gift.generation) if isinstance(gift, GenerationSum) else (gift[0], generation_of(gift[1]))
    )
