"""Set reconciliation by SKETCH, ASK and FEEDS packets (decision 0009).

A receiver of a SKETCH computes in which ids the sender's set differs from its own, asks for those that it lacks by
their short ids, and sends those that the sender lacks. One SKETCH is enough for both directions, and all nodes in reach
learn from asks and replies.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.codec.packets import Ask, Claim, Feeds, Novelty, Sketch
from tinyssb_node.ids import FeedId
from tinyssb_node.replication import claim as claims
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.salted import SaltedSet, SaltedSets, checksum_of, short_id
from tinyssb_node.replication.sketch import combine, decode, find_subset


@dataclass(frozen=True, slots=True)
class SetsEqual:
    """The sender has the same set."""


@dataclass(frozen=True, slots=True)
class SetDifference:
    """The exact difference between the sender's set and ours."""

    ours: tuple[FeedId, ...]
    """Ids that they lack, sorted."""
    theirs: tuple[int, ...]
    """Short ids, under the salt of the SKETCH, of those that we lack, sorted."""


@dataclass(frozen=True, slots=True)
class DifferenceTooLarge:
    """Their set differs from ours, by more than can be computed from their SKETCH; perhaps one of ours helps."""

    smaller: bool
    """True if ours is the smaller set (exactly one of two that differ is)."""


Reading = SetsEqual | SetDifference | DifferenceTooLarge
"""The result of comparing a SKETCH with our set."""


def read_sketch(ours: SaltedSet, sketch: Sketch) -> Reading:
    """Compare a received SKETCH with our set under its salt."""
    if ours.ambiguous:
        return DifferenceTooLarge(smaller=len(ours.feeds) < sketch.count)
    if sketch.count == len(ours.feeds) and sketch.checksum == ours.checksum:
        return SetsEqual()
    theirs = _their_shorts(ours, sketch)
    if theirs is None:
        return DifferenceTooLarge(smaller=(len(ours.feeds), ours.checksum) < (sketch.count, sketch.checksum))
    held = ours.feeds.keys()
    return SetDifference(
        ours=tuple(sorted(ours.feeds[short] for short in held - theirs)),
        theirs=tuple(sorted(theirs - held)),
    )


def _their_shorts(ours: SaltedSet, sketch: Sketch) -> frozenset[int] | None:
    """Return the short ids of their set, if they can be computed; a result that contradicts count or checksum is
    discarded."""
    held = frozenset(ours.feeds)
    capacity = len(sketch.sums) // limits.SHORT_ID_SIZE
    found: frozenset[int] | None = None
    if sketch.count <= capacity:
        found = decode(sketch.sums)
    elif abs(sketch.count - len(held)) <= capacity:
        difference = decode(combine(sketch.sums, ours.sums))
        found = None if difference is None else held ^ difference
    if not _fits(sketch, found) and sketch.count < len(held):
        # A set that is a subset of ours can be computed from our ids alone, however many are missing.
        found = find_subset(sketch.sums, held)
    return found if _fits(sketch, found) else None


def _fits(sketch: Sketch, shorts: frozenset[int] | None) -> bool:
    return (
        shorts is not None
        and len(shorts) == sketch.count
        and checksum_of(sketch.salt, shorts) == sketch.checksum
    )


class SetReconciliation:
    """Packets that a node still has to send on one face to reconcile its neighbours' sets with its own.

    It sends nothing by itself and knows no time: its user fetches the next packet when a packet may be sent. All
    received packets go in here too, so that no node repeats what another one sent.
    """

    def __init__(self, sets: SaltedSets, own: FeedId) -> None:
        """*own* is the node's feed id. Where ids are given, each node begins behind its own: so they repeat each other
        less."""
        self._sets = sets
        self._own = self._cursor = own
        self._giving: set[FeedId] = set()
        self._salt = b""
        self._lacking: set[int] = set()
        self._asking: set[int] = set()
        self._answering: bytes | None = None
        self._sketched: bytes | None = None

    # --- received packets

    def heard_sketch(
        self,
        sketch: Sketch,
        *,
        can_learn: bool,
        left: Iterable[FeedId] = (),
        worth: Callable[[FeedId], bool] = lambda _: True,
        may_name: Callable[[FeedId], bool] = lambda _: True,
    ) -> Reading:
        """Note what the sender of a SKETCH lacks, and what we lack if we *can_learn*, but for feeds that have *left*
        our set: a node that wants them back names them. Where nobody can compute what it lacks, it is sent those that
        are *worth* it. Only those are sent that we *may_name* now."""
        reading = read_sketch(self._sets.under(sketch.salt), sketch)
        if isinstance(reading, SetsEqual):
            self._said(sketch)
        elif isinstance(reading, SetDifference):
            # To a set that will be full, no more than it can take.
            self._giving.update(filter(may_name, reading.ours[: limits.SET_MAX - sketch.count]))
            # The requested ids may be on their way: the same SKETCH again is no reason to ask again.
            theirs = set(reading.theirs)
            if theirs:
                theirs.difference_update(short_id(sketch.salt, feed) for feed in left)
            if can_learn and len(theirs) > len(self._lacking):
                self._salt = sketch.salt
                self._lacking = set(theirs)
                self._asking = theirs
        elif can_learn or sketch.count < limits.SET_MAX:
            if reading.smaller and self._sketched == sketch.salt:
                # They could not compute it from ours either; with all our ids, theirs is the larger set, and they can.
                ours = self._sets.under(sketch.salt).feeds.values()
                self._giving.update(feed for feed in ours if worth(feed) and may_name(feed))
            else:
                self._answering = sketch.salt
        return reading

    def _said(self, sketch: Sketch) -> None:
        """Note that a SKETCH of our very set was sent, by us or by another node."""
        if len(sketch.sums) == min(limits.SKETCH_CAPACITY, sketch.count) * limits.SHORT_ID_SIZE:
            self._sketched = sketch.salt
            if self._answering == sketch.salt:
                self._answering = None

    def heard_ask(self, ask: Ask, *, may_name: Callable[[FeedId], bool] = lambda _: True) -> list[FeedId]:
        """Note what we have of a received ASK, and *may_name* now, and do not ask for the same. Return what we have of
        it."""
        held = self._sets.under(ask.salt).feeds
        asked = [held[short] for short in ask.shorts if short in held]
        self._giving.update(filter(may_name, asked))
        if ask.salt == self._salt:
            self._asking.difference_update(ask.shorts)
        return asked

    def heard_feeds(self, feeds: Feeds) -> None:
        """Note feed ids that another node sent, known to us or not: it is left to send the rest of what we would have
        sent. But for our own id: while a mesh meets, nobody else may have it.

        Feed ids that we missed were probably received where they lacked; if not, they are asked for again.
        """
        if not self._giving.isdisjoint(feeds.feeds):
            self._giving.intersection_update({self._own}.difference(feeds.feeds))

    def queue_feeds(self, feed: FeedId) -> None:
        """Queue *feed*, which is new in our set and was not asked for, to be sent with others."""
        self._giving.add(feed)

    def learned(self, feed: FeedId) -> None:
        """Note that *feed* was added to our set: packets about the set as it was need not be sent."""
        self._answering = None
        if self._lacking:
            short = short_id(self._salt, feed)
            self._lacking.discard(short)
            self._asking.discard(short)

    def drop(self) -> None:
        """Send nothing of what the last packets called for."""
        self._giving.clear()
        self._answering = None
        self.give_up()

    def unlearned(self, feed: FeedId) -> None:
        """Note that *feed* left our set: it is not sent any more."""
        self._giving.discard(feed)
        self._answering = self._sketched = None

    # --- packets to send

    @property
    def lacking(self) -> int:
        """Ids that we know we lack."""
        return len(self._lacking)

    def awaits(self, feed: FeedId) -> bool:
        """Return True if *feed* is known to be missing from our set, by a neighbour's SKETCH."""
        return bool(self._lacking) and short_id(self._salt, feed) in self._lacking

    def ask_again(self) -> None:
        """Ask again for what is still lacking, after a time of silence."""
        self._asking = set(self._lacking)

    def give_up(self) -> None:
        """Drop what is lacking because no reply came; the next SKETCH shows it again."""
        self._lacking.clear()
        self._asking.clear()

    @property
    def has_packets(self) -> bool:
        """True if there is a packet to send."""
        return bool(self._giving or self._asking or self._answering is not None)

    def next_ask(self) -> Ask | None:
        """Return the next ASK; it counts as sent."""
        if not self._asking:
            return None
        shorts = sorted(self._asking)[: limits.ASK_MAX]
        self._asking.difference_update(shorts)
        return Ask(self._salt, tuple(shorts))

    def advert(self, salt: bytes, capacity: int) -> Sketch:
        """Return a SKETCH that begins an exchange; it counts as sent.

        *salt* is 4 new random bytes; the next salt is taken if two of our short ids are equal under it. With *capacity*
        0 it only asks whether the sets are equal, in 16 bytes; 26 is all that fits.
        """
        sketch = self._sets.under_fresh(salt).sketch(capacity)
        self._said(sketch)
        return sketch

    def next_sketch(self, salt: bytes) -> Sketch | None:
        """Return the SKETCH that answers one of too small a capacity; it counts as sent.

        It has the salt of that one; if two of our short ids are equal under that, *salt*, 4 new random bytes.
        """
        if self._answering is None:
            return None
        ours = self._sets.under(self._answering)
        self._answering = None
        return self.advert(salt if ours.ambiguous else ours.salt, limits.SKETCH_CAPACITY)

    def next_feeds(self) -> Feeds | None:
        """Return the next feed ids to send; they count as sent."""
        if not self._giving:
            return None
        waiting = sorted(self._giving)
        at = bisect_right(waiting, self._cursor)
        feeds = tuple((waiting[at:] + waiting[:at])[: limits.FEEDS_MAX])
        self._cursor = feeds[-1]
        self._giving.difference_update(feeds)
        return Feeds(feeds)


def answer_classic(goset: Goset, said: Claim | Novelty, *, can_learn: bool) -> list[Claim]:
    """Return the answer to a peer that knows CLAIM and NOVELTY only, and sent *said*, whose ids are in our set by now.

    Nodes that know SKETCH never begin with a CLAIM and never send a NOVELTY. So peers need not be distinguished: each
    is answered in the form in which it began. If it lacks a few of our ids, and has no others, they are named at once.
    A claim, of its whole set or of a region, names nothing beyond its bounds. It learns our ids there from a claim of
    our whole set, which comes first and need not be repeated often.
    """
    claim = claims.as_claim(said)
    answer = [] if claims.covers(goset, claim) or not len(goset) else [claims.claim_of(goset.feeds)]
    if isinstance(said, Novelty) or claims.agrees(goset, claim):
        return answer
    named = claims.claims_naming(goset, claims.missing_feeds(goset, claim))
    answer += named or map(claims.as_claim, claims.reconciling_claims(goset, claim, can_learn=can_learn))
    return list(dict.fromkeys(answer))
