"""Bringing two sets together by SKETCH, ASK and FEEDS packets (decision 0009).

Who hears a SKETCH works out in which ids the sender's set differs from ours, asks for those that we lack by their short
ids, and gives those that the sender lacks. One SKETCH is enough for both directions, and what is asked and given is
heard by all.
"""

from bisect import bisect_right
from collections.abc import Iterable
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
    """Somebody has our very set."""


@dataclass(frozen=True, slots=True)
class SetDifference:
    """In what somebody's set differs from ours, exactly."""

    ours: tuple[FeedId, ...]
    """Ids that they lack, sorted."""
    theirs: tuple[int, ...]
    """Short ids, under the salt of the SKETCH, of those that we lack, sorted."""


@dataclass(frozen=True, slots=True)
class DifferenceTooLarge:
    """Their set is another one than ours, and more cannot be told from their SKETCH; perhaps from one of ours."""

    smaller: bool
    """True if ours is the smaller set (exactly one of two that differ is)."""


Reading = SetsEqual | SetDifference | DifferenceTooLarge
"""What a SKETCH means to us."""


def read_sketch(ours: SaltedSet, sketch: Sketch) -> Reading:
    """Compare somebody's SKETCH with our set under its salt."""
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
    """The short ids of their set, if it can be told; what does not fit count and checksum is not believed."""
    held = frozenset(ours.feeds)
    capacity = len(sketch.sums) // limits.SHORT_ID_SIZE
    found: frozenset[int] | None = None
    if sketch.count <= capacity:
        found = decode(sketch.sums)
    elif abs(sketch.count - len(held)) <= capacity:
        difference = decode(combine(sketch.sums, ours.sums))
        found = None if difference is None else held ^ difference
    if not _fits(sketch, found) and sketch.count < len(held):
        # Whoever has nothing that we lack can be told from our ids alone, however many are missing.
        found = find_subset(sketch.sums, held)
    return found if _fits(sketch, found) else None


def _fits(sketch: Sketch, shorts: frozenset[int] | None) -> bool:
    return (
        shorts is not None
        and len(shorts) == sketch.count
        and checksum_of(sketch.salt, shorts) == sketch.checksum
    )


class SetReconciliation:
    """What a node still has to say on one face to bring its neighbours' sets and its own together.

    It says nothing by itself and knows no time: its user asks for the next packet when a packet may be sent. Everything
    that is heard goes in here, so that nobody says what somebody else said already.
    """

    def __init__(self, sets: SaltedSets, start: FeedId) -> None:
        """*start* is one's own feed id: helpers begin at different places of the set, and repeat each other less."""
        self._sets = sets
        self._cursor = start
        self._giving: set[FeedId] = set()
        self._salt = b""
        self._lacking: set[int] = set()
        self._asking: set[int] = set()
        self._answering: bytes | None = None
        self._sketched: bytes | None = None

    # --- what is heard

    def heard_sketch(self, sketch: Sketch, *, can_learn: bool, left: Iterable[FeedId] = ()) -> Reading:
        """Somebody's SKETCH: note what they lack, and what we lack if we *can_learn*, but for what has *left* our set:
        whoever wants that back gives it by name."""
        reading = read_sketch(self._sets.under(sketch.salt), sketch)
        if isinstance(reading, SetsEqual):
            self._said(sketch)
        elif isinstance(reading, SetDifference):
            # To a set that will be full, no more than it can take.
            self._giving.update(reading.ours[: limits.SET_MAX - sketch.count])
            # What was asked for may be on its way: the same again is no reason to ask again.
            theirs = set(reading.theirs)
            if theirs:
                theirs.difference_update(short_id(sketch.salt, feed) for feed in left)
            if can_learn and len(theirs) > len(self._lacking):
                self._salt = sketch.salt
                self._lacking = set(theirs)
                self._asking = theirs
        elif can_learn or sketch.count < limits.SET_MAX:
            if reading.smaller and self._sketched == sketch.salt:
                # They could not tell from ours either. With all of our ids theirs is the larger set, and they can.
                self._giving.update(self._sets.under(sketch.salt).feeds.values())
            else:
                self._answering = sketch.salt
        return reading

    def _said(self, sketch: Sketch) -> None:
        """A SKETCH of our very set was sent, by us or by another."""
        if len(sketch.sums) == limits.SKETCH_CAPACITY * limits.SHORT_ID_SIZE:
            self._sketched = sketch.salt
            if self._answering == sketch.salt:
                self._answering = None

    def heard_ask(self, ask: Ask) -> None:
        """Somebody asks: note what we have of it, and do not ask for the same."""
        held = self._sets.under(ask.salt).feeds
        self._giving.update(held[short] for short in ask.shorts if short in held)
        if ask.salt == self._salt:
            self._asking.difference_update(ask.shorts)

    def heard_feeds(self, feeds: Feeds) -> None:
        """Somebody gives, whether it is new to us or not: who gives what we would have given is left to give the rest.

        What we missed of that may well have been heard where it was lacking; if not, it is asked for again.
        """
        if not self._giving.isdisjoint(feeds.feeds):
            self._giving.clear()

    def tell(self, feed: FeedId) -> None:
        """*feed* is new in our set, and nobody asked for it: give it with others."""
        self._giving.add(feed)

    def learned(self, feed: FeedId) -> None:
        """*feed* was added to our set: what was to be said of the set as it was need not be said."""
        self._answering = None
        if self._lacking:
            short = short_id(self._salt, feed)
            self._lacking.discard(short)
            self._asking.discard(short)

    def unlearned(self, feed: FeedId) -> None:
        """*feed* left our set: it is not ours to give."""
        self._giving.discard(feed)
        self._answering = self._sketched = None

    # --- what to say

    @property
    def lacking(self) -> int:
        """Ids that we know we lack."""
        return len(self._lacking)

    def awaits(self, feed: FeedId) -> bool:
        """True if we know that we lack *feed*, by what a neighbour showed."""
        return bool(self._lacking) and short_id(self._salt, feed) in self._lacking

    def ask_again(self) -> None:
        """Nothing was heard for a while: ask anew for what is still lacking."""
        self._asking = set(self._lacking)

    def give_up(self) -> None:
        """Nobody answers: forget what was lacking; the next SKETCH tells anew."""
        self._lacking.clear()
        self._asking.clear()

    def next_ask(self) -> Ask | None:
        """The next ASK; it counts as said."""
        if not self._asking:
            return None
        shorts = sorted(self._asking)[: limits.ASK_MAX]
        self._asking.difference_update(shorts)
        return Ask(self._salt, tuple(shorts))

    def advert(self, salt: bytes, capacity: int) -> Sketch:
        """A SKETCH that begins an exchange; it counts as said.

        *salt* is 4 new random bytes; the next salt is taken if two of our ids look alike under it. With *capacity* 0 it
        only asks whether all agree, in 16 bytes; 26 is all that fits.
        """
        sketch = self._sets.under_fresh(salt).sketch(capacity)
        self._said(sketch)
        return sketch

    def next_sketch(self, salt: bytes) -> Sketch | None:
        """The SKETCH to answer one with that told us too little; it counts as said.

        It has the salt of that one; if two of our ids look alike under that, *salt*, 4 new random bytes.
        """
        if self._answering is None:
            return None
        ours = self._sets.under(self._answering)
        self._answering = None
        return self.advert(salt if ours.ambiguous else ours.salt, limits.SKETCH_CAPACITY)

    def next_feeds(self) -> Feeds | None:
        """The next ids to give; they count as given."""
        if not self._giving:
            return None
        waiting = sorted(self._giving)
        at = bisect_right(waiting, self._cursor)
        feeds = tuple((waiting[at:] + waiting[:at])[: limits.FEEDS_MAX])
        self._cursor = feeds[-1]
        self._giving.difference_update(feeds)
        return Feeds(feeds)


def answer_classic(goset: Goset, said: Claim | Novelty, *, can_learn: bool) -> list[Claim]:
    """What to say to a peer that knows CLAIM and NOVELTY only, in reply to what it *said*, its ids being in ours.

    Nodes that know SKETCH never begin with a CLAIM and never send a NOVELTY. So nobody has to be told apart: whoever
    begins that way is answered that way. Its claims, of its whole set or of a region, name nothing beyond their bounds;
    what we hold there it learns from a claim of our whole set, which comes first and need not be said often.
    """
    claim = claims.claim_of([said.feed]) if isinstance(said, Novelty) else said
    answer = [] if claims.covers(goset, claim) or not len(goset) else [claims.claim_of(goset.feeds)]
    if isinstance(said, Novelty) or claims.agrees(goset, claim):
        return answer
    for repair in claims.reconciling_claims(goset, claim, can_learn=can_learn):
        repair_claim = claims.claim_of([repair.feed]) if isinstance(repair, Novelty) else repair
        if repair_claim not in answer:
            answer.append(repair_claim)
    return answer
