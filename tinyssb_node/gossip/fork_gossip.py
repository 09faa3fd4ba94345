"""Forks among peers: how the proof of one is spread, and how an unknown one is found (decision 0042).

Spread: a peer that requests more of a forked feed gets the two entries that prove the fork instead. A node that knows
forks then freezes the feed and requests no more; to one that does not, the proof is repeated more and more rarely.

Found: two nodes on different branches give each other entries that neither can append. If a peer has more of a feed,
and nothing of it fits for a while, earlier and earlier entries are requested, as if they were lacking, until one
arrives that is stored here. The fork is behind it, and the next requests show it, unless a peer on our own branch
replied: then the search begins again, further back. This is done for one feed at a time, on one face, with a limited
number of requests: a liar gains a few repeats.

Branches of the same length make nobody lack anything. Digests of frontiers show them (``gossip.frontier_gossip``): a
peer names the same number of a feed twice although its mark is another one. Then the same search begins.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tinyssb_node.ids import FaceName, FeedId, PacketKind, Verdict
from tinyssb_node.replication import limits
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import NOT_WANTED, WantReading
from tinyssb_node.scheduling.transmit_queue import TransmitQueue

_DOUBT_US: Final = 600_000_000  # ten minutes: longer than most losses and queues last
_ALIKE_TIMES: Final = 2
"""How often a peer has to show other entries of the same number before a fork is searched."""


@dataclass(slots=True)
class _Doubt:
    """A feed of which a peer has more, while nothing that comes fits."""

    wanted: int
    """The sequence number that would."""
    since_us: int
    strays: int
    """Packets that nothing expected, up to then."""
    heard: int = 0
    """How often a peer claimed more since then."""


@dataclass(slots=True)
class _Search:
    """The search for the entry behind which the branches part."""

    feed: FeedId
    face: FaceName
    wanted: int
    """The sequence number that is lacking."""
    asked: int
    """The one that is asked for."""
    back: int = 1
    """How far before *wanted* it began this time."""
    in_vain: int = 0
    """Requests for this number that brought nothing we know."""
    requests: int = 0
    """All requests."""


@dataclass(slots=True)
class _Pause:
    """A time for which something is left alone, longer each time."""

    until_us: int
    next_us: int
    """Length of the next pause."""


class ForkGossip:
    """The spreading and finding of forks, on all faces of one node."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._told: dict[FaceName, dict[FeedId, _Pause]] = {}
        self._doubts: dict[FeedId, _Doubt] = {}
        self._alike: dict[FeedId, tuple[int, int]] = {}
        """Feeds of which a peer holds as many entries and others: the sequence number lacking, and how often that was
        seen."""
        self._rests: dict[FeedId, _Pause] = {}
        self._search: _Search | None = None

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self._told.pop(face, None)
        if self._search is not None and self._search.face == face:
            self._search = None

    # --- telling

    def found(self, queues: Iterable[TransmitQueue], feed: FeedId, now_us: int) -> None:
        """*feed* turned out to be forked, or to be forked further back: send the proof on all *queues*."""
        for told in self._told.values():
            told.pop(feed, None)
        self._doubts.pop(feed, None)
        self._alike.pop(feed, None)
        self._rests.pop(feed, None)
        if self._search is not None and self._search.feed == feed:
            self._search = None
        for queue in queues:
            self._tell(queue, feed, now_us)

    def _tell(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> None:
        """Send both entries, unless they were sent a short while ago."""
        told = self._told.setdefault(queue.name, {})
        pause = told.get(feed)
        if pause is None or now_us - pause.until_us >= limits.FORK_TELL_MAX_US:
            pause = _Pause(now_us, limits.FORK_TELL_US)
        elif now_us < pause.until_us:
            return
        told[feed] = _longer(pause, now_us, limits.FORK_TELL_MAX_US)
        proof = self._replica.forks[feed]
        for packet in (proof.held, proof.other):
            queue.put(packet, PacketKind.ENTRY, queue.reply_due_us(now_us))

    # --- what others ask for

    def heard_want(self, queue: TransmitQueue, reading: WantReading, now_us: int) -> None:
        """Handle the WANT of a peer with the same set."""
        replica = self._replica
        if forks := replica.forks:
            for feed, seq in reading.wanted:
                if feed in forks and seq > replica.last_to_give(feed):
                    self._tell(queue, feed, now_us)
        if reading.behind:
            for feed, seq in reading.wanted:
                if seq > (ours := replica.next_wanted(feed)) != NOT_WANTED:
                    self._doubt(queue, feed, ours, now_us)

    def _doubt(self, queue: TransmitQueue, feed: FeedId, ours: int, now_us: int) -> None:
        """A peer on *queue* has entries of *feed* that we lack, from *ours* on."""
        doubt = self._doubts.get(feed)
        if doubt is None or doubt.wanted != ours:
            self._doubts[feed] = _Doubt(ours, now_us, self._replica.strays)
            return
        doubt.heard += 1
        if (
            doubt.heard >= 8  # WANTs that claim more entries of the feed
            and now_us - doubt.since_us >= _DOUBT_US
            and self._replica.strays > doubt.strays
        ):
            self._begin(queue, feed, ours, now_us)

    def heard_alike(self, queue: TransmitQueue, feeds: Sequence[FeedId], now_us: int) -> None:
        """A peer on *queue* holds as many entries of *feeds* as we do, and its digest showed others."""
        for feed in feeds:
            ours = self._replica.next_wanted(feed)
            before, times = self._alike.get(feed, (ours, 0))
            # Once it may just have grown: the digest was older than the number.
            times = times + 1 if before == ours else 1
            self._alike[feed] = ours, times
            if ours != NOT_WANTED and times >= _ALIKE_TIMES:
                self._begin(queue, feed, ours, now_us)

    def _begin(self, queue: TransmitQueue, feed: FeedId, ours: int, now_us: int) -> None:
        """Begin a search on *queue*, unless there is one, or this feed has to rest."""
        rest = self._rests.get(feed)
        if self._search is None and ours > 1 and (rest is None or now_us >= rest.until_us):
            self._search = _Search(feed, queue.name, ours, ours - 1)
            queue.want_timer.hear_inconsistent(now_us)

    # --- looking for where branches part

    def searched(self, queue: TransmitQueue) -> FeedId | None:
        """Return the feed in which a fork is searched on *queue*; None: there is none."""
        search = self._search
        return None if search is None or search.face != queue.name else search.feed

    def next_wanted(self, queue: TransmitQueue) -> Callable[[FeedId], int]:
        """Return the function that tells the sequence number to request on *queue*: the next one lacking, or, of the
        feed in which a fork is searched, one that is stored already."""
        ours, search = self._replica.next_wanted, self._search
        if search is None or search.face != queue.name:
            return ours
        return lambda feed: min(ours(feed), search.asked) if feed == search.feed else ours(feed)

    def asked(self, queue: TransmitQueue, feeds: Collection[FeedId], now_us: int) -> None:
        """A request for entries of *feeds* was built for *queue*."""
        search = self._search
        if search is None or search.face != queue.name:
            return
        if self._replica.next_wanted(search.feed) != search.wanted:
            self._search = None  # The lacking entry came, or is not wanted any more.
            return
        if search.feed not in feeds:
            return
        search.in_vain += 1
        search.requests += 1
        # Three for each of 20 steps back, which is a million entries, and some for those that follow.
        if search.requests > 100:
            self._give_up(search, now_us)
        elif search.in_vain > limits.SEARCH_PATIENCE:
            self._begin_earlier(search, now_us)
        queue.want_timer.hear_inconsistent(now_us)

    def heard_entry(self, queue: TransmitQueue, finding: PacketOutcome, now_us: int) -> None:
        """An entry was heard. If it is stored here, the branches part behind it, or it is of a peer on our branch."""
        search = self._search
        if search is None or finding.feed != search.feed or queue.name != search.face:
            return
        seq = finding.seq
        if finding.verdict is not Verdict.DUPLICATE or seq is None or seq < search.asked:
            return
        search.asked, search.in_vain = seq + 1, 0
        if search.asked >= search.wanted:
            self._begin_earlier(search, now_us)
        queue.want_timer.hear_inconsistent(now_us)

    def _begin_earlier(self, search: _Search, now_us: int) -> None:
        """Begin again, twice as far back."""
        if search.back >= search.wanted:
            self._give_up(search, now_us)
            return
        search.back *= 2
        search.asked, search.in_vain = max(1, search.wanted - search.back), 0

    def _give_up(self, search: _Search, now_us: int) -> None:
        """End the search: it is no fork, or the nodes that could show it are out of reach."""
        self._search = None
        self._doubts.pop(search.feed, None)
        self._alike.pop(search.feed, None)
        rest = self._rests.get(search.feed, _Pause(now_us, _DOUBT_US))
        self._rests[search.feed] = _longer(rest, now_us, 86_400_000_000)  # a day at most


def _longer(pause: _Pause, now_us: int, longest_us: int) -> _Pause:
    """Begin *pause* now, and make the next one twice as long."""
    return _Pause(now_us + pause.next_us, min(2 * pause.next_us, longest_us))
