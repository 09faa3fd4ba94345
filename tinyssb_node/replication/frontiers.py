"""Frontiers under a salt: how much a node holds of each feed, compared with a peer at a cost that grows with the
difference (decision 0058).

Each feed whose entries are given has a *mark*, a hash of salt, feed id, the last sequence number to give and the id of
that entry. Two nodes hold the same of a feed exactly if their marks are equal: two branches of a fork that are equally
long have different marks. A DIFF is the sketch (PinSketch, as in minisketch) of the
marks of a range of feeds; from two of them the marks in which they differ are computed. Ranges are divided by the first
bits of the feeds' short ids, as in range-based set reconciliation (A. Meyer, arXiv 2212.13567; Negentropy), until a
packet is enough for each.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from tinyssb_node import limits
from tinyssb_node.codec.packets import Diff
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.salted import short_id
from tinyssb_node.replication.sketch import combine, decode, sketch_of

_SHORT_BITS = 8 * limits.SHORT_ID_SIZE
_SPLIT_BITS = 3
"""Bits by which a range is divided that differs by more than a DIFF can tell: eight packets."""
_SALTS_MAX = 4
"""Salts in use: neighbours come to use the same, and an attacker's last ones matter to nobody."""
_LATE_MAX = 1_000
"""Changes that a salt waits for: beyond it, it is as costly to begin anew."""
_SUMS_KEPT = 64
"""Ranges of which the sums are kept under one salt: 100 bytes each."""


def mark_of(salt: bytes, feed: FeedId, seq: int, tip: bytes = b"") -> int:
    """Return the mark of a feed held up to entry *seq*: the first 4 bytes of the SHA-256 over salt, feed id, number
    (4 bytes, big-endian) and *tip*, the id of that entry, empty for a forked feed; 1 in place of 0, which no sketch can
    represent."""
    return int.from_bytes(sha256(salt + feed + seq.to_bytes(4) + tip).digest()[: limits.SHORT_ID_SIZE]) or 1


@dataclass(frozen=True, slots=True)
class FrontiersEqual:
    """Both hold the same in the range."""


@dataclass(frozen=True, slots=True)
class FrontiersDiffer:
    """The exact difference in the range."""

    ours: tuple[FeedId, ...]
    """Feeds of which we hold another number of entries than they, or which they lack."""
    theirs: tuple[int, ...]
    """Marks of those of which they hold another number than we, or which we lack."""


@dataclass(frozen=True, slots=True)
class FrontiersTooFarApart:
    """More differs in the range than can be computed from the packet."""


FrontierReading = FrontiersEqual | FrontiersDiffer | FrontiersTooFarApart
"""The result of comparing a DIFF with what we hold."""

_Range = tuple[int, int]
"""Depth and prefix."""


class _Shelf:
    """Feeds in order of their short ids: 12 bytes each, of which a dictionary takes ten times as many."""

    __slots__ = ("feeds", "shorts")

    def __init__(self, rows: Iterable[tuple[int, FeedId]]) -> None:
        """*rows* are short ids with their feeds, in order."""
        self.shorts = array("I")
        self.feeds: list[FeedId] = []
        for short, feed in rows:
            self.shorts.append(short)
            self.feeds.append(feed)

    def place_of(self, short: int, feed: FeedId) -> int:
        """Return where *feed* is, or belongs."""
        at = bisect_left(self.shorts, short)
        while at < len(self.shorts) and self.shorts[at] == short and self.feeds[at] != feed:
            at += 1
        return at

    def has(self, at: int, feed: FeedId) -> bool:
        """Return True if *feed* is at this place."""
        return at < len(self.feeds) and self.feeds[at] == feed

    def insert(self, at: int, short: int, feed: FeedId) -> None:
        """Put *feed* at its place."""
        self.shorts.insert(at, short)
        self.feeds.insert(at, feed)

    def remove(self, at: int) -> None:
        """Take away the feed at this place."""
        del self.shorts[at], self.feeds[at]

    def named(self, short: int) -> list[FeedId]:
        """Return the feeds with this short id: one, as a rule."""
        return self.feeds[bisect_left(self.shorts, short) : bisect_right(self.shorts, short)]


class SaltedFrontiers:
    """All feeds under one salt."""

    def __init__(
        self, salt: bytes, seqs: Iterable[tuple[FeedId, int]], tips: Mapping[FeedId, bytes] | None = None
    ) -> None:
        """*seqs* are the known feeds, and up to which entry each is given, 0 for nothing; *tips* the ids of these
        entries, except of forked feeds."""
        self.salt = salt
        self.ambiguous = False
        """True if two feeds have the same short id or mark: the next salt is better."""
        self._sums: OrderedDict[_Range, bytes] = OrderedDict()
        self._late: dict[FeedId, tuple[int, bytes] | None] = {}
        """Changes since this was used last: hashes are made when they are needed. None: known no more."""
        marked: dict[int, tuple[int, FeedId]] = {}
        unmarked: list[tuple[int, FeedId]] = []
        shorts: set[int] = set()
        for feed, seq in seqs:
            short = short_id(salt, feed)
            mark = mark_of(salt, feed, seq, b"" if tips is None else tips.get(feed, b"")) if seq else None
            self.ambiguous = self.ambiguous or short in shorts or mark in marked
            shorts.add(short)
            if mark is None or mark in marked:
                unmarked.append((short, feed))
            else:
                marked[mark] = short, feed
        in_order = sorted(marked, key=marked.__getitem__)
        self._marked = _Shelf(marked[mark] for mark in in_order)
        """The feeds that have a mark."""
        self._marks = array("I", in_order)
        """Their marks, in the same order."""
        self._unmarked = _Shelf(sorted(unmarked))
        """The other known feeds."""

    @property
    def late(self) -> int:
        """The number of changes since this was used last."""
        return len(self._late)

    def set(self, feed: FeedId, seq: int, tip: bytes = b"") -> None:
        """Note up to which entry *feed* is given, 0 for nothing, and the id of this entry, empty for a forked feed."""
        self._late[feed] = seq, tip

    def forget(self, feed: FeedId) -> None:
        """Forget a feed that is known no more."""
        self._late[feed] = None

    def catch_up(self) -> None:
        """Work in what changed."""
        late, self._late = self._late, {}
        for feed, held in late.items():
            short = short_id(self.salt, feed)
            changed = [self._take_out(feed, short)]
            if held is not None:
                changed.append(self._put_in(feed, short, *held))
            if marks := [mark for mark in changed if mark is not None]:
                for (depth, prefix), sums in self._sums.items():
                    if short >> _SHORT_BITS - depth == prefix:
                        self._sums[depth, prefix] = combine(sums, sketch_of(marks))

    def _take_out(self, feed: FeedId, short: int) -> int | None:
        """Remove *feed* if it is known; return its mark."""
        if self._marked.has(at := self._marked.place_of(short, feed), feed):
            self._marked.remove(at)
            return self._marks.pop(at)
        if self._unmarked.has(at := self._unmarked.place_of(short, feed), feed):
            self._unmarked.remove(at)
        return None

    def _put_in(self, feed: FeedId, short: int, seq: int, tip: bytes) -> int | None:
        """Add *feed*; return its mark."""
        mark = mark_of(self.salt, feed, seq, tip) if seq else None
        taken = mark is not None and mark in self._marks
        self.ambiguous = (
            self.ambiguous or taken or bool(self._marked.named(short) or self._unmarked.named(short))
        )
        if mark is None or taken:
            self._unmarked.insert(self._unmarked.place_of(short, feed), short, feed)
            return None
        at = self._marked.place_of(short, feed)
        self._marked.insert(at, short, feed)
        self._marks.insert(at, mark)
        return mark

    def find(self, short: int) -> FeedId | None:
        """Return the known feed with this short id; None if there is none, or more than one."""
        found = self._marked.named(short) + self._unmarked.named(short)
        return found[0] if len(found) == 1 else None

    def find_marked(self, mark: int) -> FeedId | None:
        """Return the feed that has this mark now. It takes 10 ns a feed on a PC."""
        return self._marked.feeds[self._marks.index(mark)] if mark in self._marks else None

    # --- ranges

    def diff(self, depth: int, prefix: int, sums: int = limits.DIFF_SUMS_MAX) -> Diff:
        """Return the summary of a range, from which others can compute *sums* - 1 differences."""
        counted = self._count(depth, prefix)
        return Diff(
            self.salt,
            depth,
            prefix,
            min(counted, 0xFFFFFF),
            self._sums_of(depth, prefix)[: sums * limits.SHORT_ID_SIZE],
        )

    def parts(self, diff: Diff) -> Sequence[Diff]:
        """Return the summaries of the parts of a range that differs by too much."""
        depth = diff.depth + _SPLIT_BITS
        if depth > 16:
            return ()
        # As many sums as the parts are likely to differ by at most: all of theirs, and all of ours.
        likely = -(-diff.count // 2**_SPLIT_BITS)
        parts = []
        for number in range(2**_SPLIT_BITS):
            prefix = diff.prefix << _SPLIT_BITS | number
            sums = min(limits.DIFF_SUMS_MAX, self._count(depth, prefix) + 2 * likely + 2)
            parts.append(self.diff(depth, prefix, sums))
        return parts

    def read(self, diff: Diff) -> FrontierReading:
        """Compare a received DIFF with what we hold under its salt."""
        count, ours = self._count(diff.depth, diff.prefix), self._sums_of(diff.depth, diff.prefix)
        difference = combine(diff.sums, ours)
        size = limits.SHORT_ID_SIZE
        if count == diff.count and not any(difference):
            return FrontiersEqual()
        capacity = len(diff.sums) // size - 1
        if diff.count <= capacity and (theirs := decode(diff.sums)) is not None and len(theirs) == diff.count:
            first, end = self._bounds(diff.depth, diff.prefix)
            inside = dict(zip(self._marks[first:end], self._marked.feeds[first:end], strict=True))
            return FrontiersDiffer(
                tuple(sorted(feed for mark, feed in inside.items() if mark not in theirs)),
                tuple(sorted(theirs - inside.keys())),
            )
        if abs(count - diff.count) > capacity:
            return FrontiersTooFarApart()
        apart = decode(difference)
        if apart is None or len(apart) > capacity:
            return FrontiersTooFarApart()
        held = {mark: feed for mark in apart if (feed := self.find_marked(mark)) is not None}
        feeds = tuple(sorted(held.values()))
        marks = tuple(sorted(apart - held.keys()))
        if count - len(feeds) + len(marks) != diff.count:
            return FrontiersTooFarApart()
        return FrontiersDiffer(feeds, marks)

    def is_small(self, diff: Diff) -> bool:
        """Return True if a DIFF of ours for the same range tells all that we hold there."""
        return self._count(diff.depth, diff.prefix) < limits.DIFF_SUMS_MAX

    def _bounds(self, depth: int, prefix: int) -> tuple[int, int]:
        low, high = prefix << _SHORT_BITS - depth, prefix + 1 << _SHORT_BITS - depth
        return bisect_left(self._marked.shorts, low), bisect_left(self._marked.shorts, high)

    def _count(self, depth: int, prefix: int) -> int:
        first, end = self._bounds(depth, prefix)
        return end - first

    def _sums_of(self, depth: int, prefix: int) -> bytes:
        sums = self._sums.pop((depth, prefix), None)
        if sums is None:
            first, end = self._bounds(depth, prefix)
            sums = sketch_of(self._marks[first:end], limits.DIFF_SUMS_MAX)
        self._sums[depth, prefix] = sums
        if len(self._sums) > _SUMS_KEPT:
            self._sums.popitem(last=False)
        return sums


class Frontiers:
    """How much a node holds of each feed it knows, under the few salts that are in use."""

    def __init__(self) -> None:
        self._seqs: dict[FeedId, int] = {}
        self._tips: dict[FeedId, bytes] = {}
        self._salted: OrderedDict[bytes, SaltedFrontiers] = OrderedDict()

    def __len__(self) -> int:
        return len(self._seqs)

    def set(self, feed: FeedId, seq: int, tip: bytes = b"") -> None:
        """Note up to which entry *feed* is given, 0 for nothing, and the id of this entry, empty for a forked feed."""
        self._seqs[feed] = seq
        self._tips[feed] = tip
        for salted in self._salted.values():
            salted.set(feed, seq, tip)
        self._forget_late()

    def forget(self, feed: FeedId) -> None:
        """Forget a feed that is known no more."""
        del self._seqs[feed]
        del self._tips[feed]
        for salted in self._salted.values():
            salted.forget(feed)
        self._forget_late()

    def _forget_late(self) -> None:
        for salt in [salt for salt, salted in self._salted.items() if salted.late > _LATE_MAX]:
            del self._salted[salt]

    def knows_salt(self, salt: bytes) -> bool:
        """Return True if *salt* is in use: a further one costs 12 µs a feed on a PC."""
        return salt in self._salted

    def under(self, salt: bytes) -> SaltedFrontiers:
        """Return all feeds under *salt*; the salt unused for longest is evicted."""
        found = self._salted.pop(salt, None) or SaltedFrontiers(salt, self._seqs.items(), self._tips)
        found.catch_up()
        self._salted[salt] = found
        if len(self._salted) > _SALTS_MAX:
            self._salted.popitem(last=False)
        return found
