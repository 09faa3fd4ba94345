"""Memory of the peers on one face: what they were given, what they take next, and where the next request begins.

On a shared medium this is one memory for all that hear it; at the end of a stream there is one peer.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from tinyssb_node import limits
from tinyssb_node.codec.packets import GENERATION_SIZE
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.scheduling.link import LinkMedium
from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter
from tinyssb_node.scheduling.requester import ReplyCredit, RequestPacer
from tinyssb_node.scheduling.suppression import LatestByKey, RecentReplies
from tinyssb_node.scheduling.transmit_queue import TransmitQueue

K = TypeVar("K", FeedId, tuple[FeedId, int])

_WIRE_REPEAT_MAX_US = 60_000_000
"""Longest wait on wires before the same request is answered again: a minute, so that others on a local network
get what they lack."""
_NEVER_US = -(2**62)
"""Before any time a node has."""


class RequestCursor:
    """The place in the set where the next WANT or CHNK begins: behind the last one that has left."""

    def __init__(self) -> None:
        self.start = 0
        self._following = 0

    def built(self, following: int) -> None:
        """A request was built; the next one begins at *following* once this one has left."""
        self._following = following

    def sent(self) -> None:
        """The request built last has left."""
        self.start = self._following


class FeedTurn:
    """The turn of feeds of which requests name some each."""

    def __init__(self) -> None:
        self._taken = 0

    def take(self, feeds: Sequence[FeedId], most: int) -> Sequence[FeedId]:
        """Return up to *most* of *feeds*, each time those behind the last ones."""
        start = self._taken % max(1, len(feeds))
        self._taken += most
        return (*feeds[start:], *feeds[:start])[:most]


class PeerMemory:
    """The memory of one face."""

    def __init__(self, queue: TransmitQueue) -> None:
        profile = queue.profile
        self._queue = queue
        self._shared = profile.medium is not LinkMedium.STREAM
        self.given_entries: RecentReplies[FeedId] = RecentReplies(
            hold_us=profile.hold_us, most=limits.JUST_GIVEN_MAX
        )
        self.given_chunks: RecentReplies[tuple[FeedId, int]] = RecentReplies(
            hold_us=profile.hold_us, most=limits.JUST_GIVEN_MAX
        )
        self.next_entry: LatestByKey[FeedId, int] = LatestByKey(limits.KNOWN_FEEDS_MAX)
        """Next sequence number the peer of a stream takes, by its WANTs and what it was given."""
        self.next_chunk: LatestByKey[tuple[FeedId, int], int] = LatestByKey(limits.JUST_GIVEN_MAX)
        """Next chunk the peer of a stream takes, likewise."""
        self.entry_credit: ReplyCredit[FeedId] = ReplyCredit(profile.burst, profile.burst_max)
        self.chunk_credit: ReplyCredit[tuple[FeedId, int]] = ReplyCredit(profile.burst, profile.burst_max)
        self._repeats: RepeatLimiter[tuple[FeedId | tuple[FeedId, int], int]] = RepeatLimiter(
            wait_us=limits.REPEAT_PACKETS * profile.airtime_us[limits.PACKET_SIZE] or profile.hold_us,
            wait_max_us=limits.REPEAT_MAX_US if queue.on_air else _WIRE_REPEAT_MAX_US,
            most=limits.JUST_GIVEN_MAX,
        )
        """Requests that were answered on a wire, and blocks of chunks that were given on the air."""
        self._chunk_asked: LatestByKey[tuple[FeedId, int], int] = LatestByKey(limits.JUST_GIVEN_MAX)
        self.want_cursor = RequestCursor()
        self._named = 0
        self.neighbours_turn = FeedTurn()
        self.followed_turn = FeedTurn()
        self.chnk_cursor = RequestCursor()
        self._entries_requester = RequestPacer(profile.burst_max)
        self._chunks_requester = RequestPacer(profile.burst_max)
        self._first_feed = 0
        self._answers_us = _NEVER_US

    def named_from(self, feeds: Sequence[FeedId]) -> Sequence[FeedId]:
        """Return *feeds*, of which named WANTs name some each, so that each begins behind the last one."""
        start = self._named % max(1, len(feeds))
        return (*feeds[start:], *feeds[:start])

    def named(self, count: int) -> None:
        """A named WANT named so many feeds."""
        self._named += count

    # --- what came from here

    def took_entry(self, feed: FeedId, seq: int, now_us: int, *, chained: bool) -> bool:
        """A new entry came from here. Return True if it is time to send another WANT at once."""
        queue = self._queue
        self.entry_given(feed, seq, now_us)
        self.next_entry[feed] = seq + 1
        queue.request_when_quiet(PacketKind.WANT, now_us)
        if queue.on_air:
            # Not to request more, but to tell those who did not hear it: it waits for silence, and for others' WANTs.
            queue.advertise(PacketKind.WANT, now_us)
        if chained:
            queue.chnk_timer.hear_inconsistent(now_us)
        # On the air the timer requests: a request after every few packets would cost more than it gains.
        return not queue.on_air and self._entries_requester.got()

    def took_chunk(self, feed: FeedId, seq: int, chunk: int, now_us: int) -> bool:
        """A new chunk came from here. Return True if it is time to send another CHNK at once."""
        self.chunk_given(feed, seq, chunk, now_us)
        self._queue.request_when_quiet(PacketKind.CHNK, now_us)
        return not self._queue.on_air and self._chunks_requester.got()

    def timer_requested(self, kind: PacketKind) -> None:
        """The timer of *kind* sent a request: what came since the last one was a whole answer."""
        if kind is PacketKind.WANT:
            self._entries_requester.timer_asked()
        elif kind is PacketKind.CHNK:
            self._chunks_requester.timer_asked()

    # --- what was given here

    def entry_given(self, feed: FeedId, seq: int, now_us: int) -> None:
        """An entry was heard from here, new or not: on a shared medium others that lack it heard it too."""
        if self._shared:
            self.given_entries.give(feed, seq, seq, now_us)

    def chunk_given(self, feed: FeedId, seq: int, chunk: int, now_us: int) -> None:
        """A chunk was heard from here, likewise."""
        if self._shared:
            self.given_chunks.give((feed, seq), chunk, chunk, now_us)

    def not_repeated(self, asked: Mapping[K, int], now_us: int) -> dict[K, int]:
        """Return those requests on a wire that were not answered too often of late. A peer that reads another dialect
        requests the same entry for ever."""
        return {
            chain: number
            for chain, number in asked.items()
            if self._repeats.allows((chain, number), 0, now_us)
        }

    def answered(self, requests: Iterable[tuple[K, int]], now_us: int) -> None:
        """Record that requests on a wire are answered now."""
        for request in requests:
            self._repeats.gave(request, 0, now_us)

    def may_give_chunks(
        self, chain: tuple[FeedId, int], first: int, length: int, asked: int, now_us: int
    ) -> bool:
        """Return True if chunks of a side chain from *first* on may be given on the air, where their block has so many,
        and chunk *asked* was requested: a peer that takes what it gets requests ever later ones."""
        taking = (self._chunk_asked[chain] or 0) < asked
        self._chunk_asked[chain] = asked
        return self._repeats.allows((chain, first // GENERATION_SIZE), length, now_us, taking=taking)

    def count_chunks(
        self, chain: tuple[FeedId, int], first: int, length: int, count: int, now_us: int
    ) -> None:
        """Record that so many chunks are given on the air, likewise."""
        self._repeats.gave((chain, first // GENERATION_SIZE), length, now_us, count)

    def gave_entries(self, feed: FeedId, first: int, last: int, now_us: int) -> None:
        """We gave entries *first* to *last*."""
        self.given_entries.give(feed, first, last, now_us)
        self.next_entry[feed] = last + 1

    def gave_chunks(self, chain: tuple[FeedId, int], first: int, count: int, now_us: int) -> None:
        """We gave so many chunks of a side chain, from *first* on."""
        if count:
            self.given_chunks.give(chain, first, first + count - 1, now_us)
        self.next_chunk[chain] = first + count

    def rotate(self, feeds: list[FeedId], packets: int) -> list[FeedId]:
        """Return *feeds* so that each reply, of so many *packets*, begins with another feed.

        A peer that reads another dialect only, or holds another branch of a fork, requests entries for ever that it
        cannot use: they must not be all it ever gets.
        """
        turn = self._first_feed % len(feeds)
        self._first_feed += packets
        return feeds[turn:] + feeds[:turn]

    # --- entries to relay

    def expect_answers(self, now_us: int) -> None:
        """A request was heard or sent: new entries that come in the next moments are answers."""
        self._answers_us = now_us

    def heard_content(self, packet: bytes, now_us: int, *, new: bool) -> None:
        """An entry or chunk was heard on the air. *new*, out of silence and not requested: relay it."""
        answers_for_us = limits.ANSWERS_PACKETS * self._queue.profile.airtime_us[limits.PACKET_SIZE]
        if new and now_us - self._answers_us >= answers_for_us:
            self._queue.relay.take(packet)
        # More may follow: a single entry was published just now, but entries in a row are an answer to a request.
        self._answers_us = now_us
