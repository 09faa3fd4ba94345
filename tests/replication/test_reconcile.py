"""Set reconciliation: the differences that a SKETCH shows, and the reply to it."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import feed_of
from tests.replication.test_goset import feed_ids
from tinyssb_node import limits
from tinyssb_node.codec.packets import Ask, Feeds, Novelty, Sketch
from tinyssb_node.ids import FeedId
from tinyssb_node.replication import salted
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.reconcile import (
    DifferenceTooLarge,
    Reading,
    SetDifference,
    SetReconciliation,
    SetsEqual,
    answer_classic,
    read_sketch,
)
from tinyssb_node.replication.salted import SaltedSet, SaltedSets, short_id

SALT, OTHER = b"salt", b"more"
FULL = limits.SKETCH_CAPACITY
FEEDS = sorted(feed_of(number) for number in range(2 * limits.SET_MAX))


def read(ours, theirs, capacity: int = FULL) -> Reading:
    return read_sketch(SaltedSet(SALT, ours), SaltedSet(SALT, theirs).sketch(capacity))


def difference(ours, theirs) -> SetDifference:
    ours, theirs = set(ours), set(theirs)
    return SetDifference(
        ours=tuple(sorted(ours - theirs)),
        theirs=tuple(sorted(short_id(SALT, feed) for feed in theirs - ours)),
    )


def exchange(feeds, own: FeedId = FEEDS[0]) -> SetReconciliation:
    return SetReconciliation(SaltedSets(Goset(feeds)), own)


def sketch(feeds, salt: bytes = SALT, capacity: int = FULL) -> Sketch:
    return SaltedSet(salt, feeds).sketch(capacity)


def given_by(talk: SetReconciliation) -> list[FeedId]:
    said: list[FeedId] = []
    while (feeds := talk.next_feeds()) is not None:
        said.extend(feeds.feeds)
    return said


# --- reading


@pytest.mark.parametrize("capacity", [0, 1, FULL])
@pytest.mark.parametrize("count", [0, 1, 255])
def test_the_same_set_agrees(count: int, capacity: int) -> None:
    assert read(FEEDS[:count], FEEDS[:count], capacity) == SetsEqual()


@settings(deadline=None)
@given(
    st.sets(feed_ids, max_size=30),
    st.sets(feed_ids, max_size=13),
    st.sets(feed_ids, max_size=13),
)
def test_a_difference_is_told_exactly_on_both_sides(
    both: set[FeedId], mine: set[FeedId], theirs: set[FeedId]
) -> None:
    ours, others = both | mine, both | theirs
    assert read(ours, others) == (SetsEqual() if ours == others else difference(ours, others))


@pytest.mark.parametrize("held", [0, 1, 26, 27, 100, 254])
def test_whoever_has_a_part_of_ours_is_told_all_it_lacks(held: int) -> None:
    theirs = random.Random(held).sample(FEEDS[:255], held)
    assert read(FEEDS[:255], theirs) == difference(FEEDS[:255], theirs)


@pytest.mark.parametrize("held", [1, 26])
def test_a_small_set_is_told_even_if_nothing_is_common(held: int) -> None:
    assert read(FEEDS[:100], FEEDS[300 : 300 + held]) == difference(FEEDS[:100], FEEDS[300 : 300 + held])


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(FEEDS[:100], FEEDS[50:150]), (FEEDS[:60], FEEDS[40:140]), (FEEDS[:255], FEEDS[255:510])],
)
def test_of_two_that_cannot_tell_one_is_the_smaller(ours: list[FeedId], theirs: list[FeedId]) -> None:
    here, there = read(ours, theirs), read(theirs, ours)
    assert isinstance(here, DifferenceTooLarge)
    assert isinstance(there, DifferenceTooLarge)
    assert here.smaller != there.smaller
    if len(ours) < len(theirs):
        assert here.smaller


@settings(deadline=None)
@given(st.binary(min_size=104, max_size=104), st.integers(0, 255), st.binary(min_size=3, max_size=3))
def test_any_bytes_have_a_reading_that_fits_their_checksum(sums: bytes, count: int, checksum: bytes) -> None:
    said = Sketch(salt=SALT, count=count, sums=sums, checksum=checksum)
    assert isinstance(read_sketch(SaltedSet(SALT, FEEDS[:50]), said), DifferenceTooLarge)


@settings(deadline=None)
@given(st.integers(0, 3), st.integers(0, 40), st.integers(0, 40))
def test_what_small_sketches_get_wrong_is_not_believed(capacity: int, mine: int, theirs: int) -> None:
    ours, others = FEEDS[40 - mine : 100], FEEDS[40 : 100 + theirs]
    reading = read(ours, others, capacity)
    assert isinstance(reading, DifferenceTooLarge) or reading == (
        SetsEqual() if set(ours) == set(others) else difference(ours, others)
    )


@pytest.mark.parametrize("change", [{"count": 41}, {"checksum": b"abc"}, {"sums": bytes(104)}])
def test_a_sketch_that_contradicts_itself_is_not_believed(change: dict[str, object]) -> None:
    said = replace(sketch(FEEDS[:40]), **change)  # type: ignore[arg-type]  # the table is of right ones
    assert isinstance(read_sketch(SaltedSet(SALT, FEEDS[:45]), said), DifferenceTooLarge)


def test_a_set_with_ids_that_look_alike_cannot_be_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    said = sketch(FEEDS[:3])
    monkeypatch.setattr(salted, "short_id", lambda _salt, _feed: 7)
    assert read_sketch(SaltedSet(SALT, FEEDS[:2]), said) == DifferenceTooLarge(smaller=True)


# --- what is said then


def test_who_hears_of_a_difference_asks_and_gives() -> None:
    talk = exchange(FEEDS[:20])
    talk.heard_sketch(sketch(FEEDS[5:22]), can_learn=True)
    assert talk.lacking == 2
    assert talk.next_ask() == Ask(SALT, difference(FEEDS[:20], FEEDS[5:22]).theirs)
    assert talk.next_ask() is None
    assert sorted(given_by(talk)) == FEEDS[:5]
    assert talk.next_sketch(OTHER) is None


def test_who_cannot_learn_does_not_ask() -> None:
    talk = exchange(FEEDS[:20])
    talk.heard_sketch(sketch(FEEDS[5:22]), can_learn=False)
    assert (talk.lacking, talk.next_ask()) == (0, None)
    assert sorted(given_by(talk)) == FEEDS[:5]


def test_ids_are_given_three_at_a_time_from_ones_own_on() -> None:
    talk = exchange(FEEDS[:8], own=FEEDS[5])
    talk.heard_sketch(sketch([]), can_learn=True)
    assert [talk.next_feeds() for _ in range(4)] == [
        Feeds((FEEDS[6], FEEDS[7], FEEDS[0])),
        Feeds(tuple(FEEDS[1:4])),
        Feeds(tuple(FEEDS[4:6])),
        None,
    ]


def test_who_is_asked_gives_what_it_has_and_asks_no_more_for_the_same() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13]), can_learn=True)
    lacked = difference(FEEDS[:10], FEEDS[:13]).theirs
    talk.heard_ask(Ask(SALT, (short_id(SALT, FEEDS[4]), lacked[0])))
    assert talk.next_ask() == Ask(SALT, lacked[1:])
    assert given_by(talk) == [FEEDS[4]]


def test_another_salts_ask_is_another_matter() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13]), can_learn=True)
    lacked = difference(FEEDS[:10], FEEDS[:13]).theirs
    talk.heard_ask(Ask(OTHER, lacked))
    assert talk.next_ask() == Ask(SALT, lacked)


def test_what_somebody_else_gives_is_left_to_it() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:5]), can_learn=True)
    talk.heard_feeds(Feeds((FEEDS[0],)))
    talk.heard_feeds(Feeds((FEEDS[7], FEEDS[8])))
    assert talk.next_feeds() is None


def test_our_own_id_is_left_to_nobody_who_did_not_give_it() -> None:
    talk = exchange(FEEDS[:10], own=FEEDS[9])
    talk.heard_sketch(sketch(FEEDS[:5]), can_learn=True)
    talk.heard_feeds(Feeds((FEEDS[7], FEEDS[8])))
    assert talk.next_feeds() == Feeds((FEEDS[9],))
    talk.heard_sketch(sketch(FEEDS[:5]), can_learn=True)
    talk.heard_feeds(Feeds((FEEDS[8], FEEDS[9])))
    assert talk.next_feeds() is None


def test_the_same_difference_again_is_no_reason_to_ask_again() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13]), can_learn=True)
    assert talk.next_ask() is not None
    talk.heard_sketch(sketch(FEEDS[:13], OTHER), can_learn=True)
    assert talk.next_ask() is None
    talk.heard_sketch(sketch(FEEDS[:14], OTHER), can_learn=True)
    assert talk.next_ask() == Ask(OTHER, tuple(sorted(short_id(OTHER, feed) for feed in FEEDS[10:14])))


def test_only_what_is_still_lacking_is_asked_for_again() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13]), can_learn=True)
    talk.next_ask()
    talk.learned(FEEDS[11])
    assert talk.lacking == 2
    talk.ask_again()
    assert talk.next_ask() == Ask(
        SALT, tuple(sorted(short_id(SALT, feed) for feed in (FEEDS[10], FEEDS[12])))
    )
    talk.give_up()
    talk.ask_again()
    assert (talk.lacking, talk.next_ask()) == (0, None)


def test_an_ask_names_no_more_than_fit() -> None:
    talk = exchange(FEEDS[:100])
    theirs = FEEDS[:100] + FEEDS[200:226]
    talk.heard_sketch(sketch(theirs), can_learn=True)
    ask = talk.next_ask()
    assert ask is not None
    assert len(ask.shorts) == FULL <= limits.ASK_MAX


def test_a_set_is_given_no_more_than_it_can_take() -> None:
    talk = exchange(FEEDS[:250])
    talk.heard_sketch(sketch(FEEDS[5:258]), can_learn=True)
    assert len(given_by(talk)) == 2


def test_two_full_sets_that_differ_have_nothing_to_say() -> None:
    talk = exchange(FEEDS[:255])
    for theirs in (FEEDS[1:256], FEEDS[255:510]):
        talk.heard_sketch(sketch(theirs), can_learn=False)
        assert (talk.next_ask(), talk.next_sketch(OTHER), talk.next_feeds()) == (None, None, None)


# --- too far


def test_a_sketch_that_only_asks_whether_all_agree_is_answered_by_one_that_tells() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13], capacity=0), can_learn=True)
    assert talk.next_sketch(OTHER) == sketch(FEEDS[:10])
    assert talk.next_sketch(OTHER) is None


def test_one_answer_is_enough() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13], capacity=0), can_learn=True)
    talk.heard_sketch(sketch(FEEDS[:10], capacity=0), can_learn=True)
    assert talk.next_sketch(OTHER) is not None
    talk.heard_sketch(sketch(FEEDS[:13], capacity=0), can_learn=True)
    talk.heard_sketch(sketch(FEEDS[:10]), can_learn=True)
    assert talk.next_sketch(OTHER) is None


def test_what_was_learned_meanwhile_makes_the_answer_old() -> None:
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:13], capacity=0), can_learn=True)
    talk.learned(FEEDS[11])
    assert talk.next_sketch(OTHER) is None


def test_the_smaller_of_two_sets_that_cannot_tell_is_given_whole() -> None:
    small, large = exchange(FEEDS[:60]), exchange(FEEDS[40:140])
    large.heard_sketch(small.advert(SALT, FULL), can_learn=True)
    answer = large.next_sketch(OTHER)
    assert answer == sketch(FEEDS[40:140])
    small.heard_sketch(answer, can_learn=True)
    assert small.next_sketch(OTHER) is None
    assert sorted(given_by(small)) == FEEDS[:60]


def test_it_is_not_given_whole_before_the_other_side_had_its_sketch() -> None:
    small = exchange(FEEDS[:60])
    small.heard_sketch(sketch(FEEDS[40:140]), can_learn=True)
    assert small.next_feeds() is None
    assert small.next_sketch(OTHER) == sketch(FEEDS[:60])
    small.heard_sketch(sketch(FEEDS[40:140]), can_learn=True)
    assert sorted(given_by(small)) == FEEDS[:60]


def test_ids_that_look_alike_under_their_salt_are_told_under_another(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = short_id
    monkeypatch.setattr(salted, "short_id", lambda salt, feed: 7 if salt == SALT else plain(salt, feed))
    talk = exchange(FEEDS[:10])
    talk.heard_sketch(sketch(FEEDS[:1]), can_learn=True)
    answer = talk.next_sketch(OTHER)
    assert answer == sketch(FEEDS[:10], OTHER)


# --- deployed peers


def test_a_claim_of_more_than_ours_is_answered_by_claims_of_its_parts() -> None:
    goset = Goset(FEEDS[:12])
    assert answer_classic(goset, claim_of(FEEDS[:12]), can_learn=True) == []
    assert answer_classic(goset, claim_of([FEEDS[0], FEEDS[11]]), can_learn=True) == [
        claim_of(FEEDS[1:6]),
        claim_of(FEEDS[6:11]),
    ]


def test_what_lies_beyond_a_claim_is_told_by_one_of_the_whole_set() -> None:
    goset = Goset(FEEDS[:12])
    assert answer_classic(goset, claim_of(FEEDS[2:9]), can_learn=True) == [claim_of(FEEDS[:12])]
    assert answer_classic(goset, claim_of([FEEDS[2], FEEDS[4]]), can_learn=True) == [
        claim_of(FEEDS[:12]),
        claim_of([FEEDS[3]]),
    ]


def test_a_few_ids_that_a_claim_lacks_are_named_at_once() -> None:
    lacking = [feed for place, feed in enumerate(FEEDS[:12]) if place not in {3, 6, 7}]
    assert answer_classic(Goset(FEEDS[:12]), claim_of(lacking), can_learn=True) == [
        claim_of(FEEDS[3:7]),
        claim_of([FEEDS[7]]),
    ]


def test_the_same_claim_is_not_said_for_two_reasons() -> None:
    ours = claim_of(FEEDS[2:4])
    assert answer_classic(Goset(FEEDS[2:4]), claim_of(FEEDS[:6]), can_learn=True) == [ours]
    assert answer_classic(Goset([FEEDS[2]]), claim_of([FEEDS[1], FEEDS[2]]), can_learn=True) == [
        claim_of([FEEDS[2]])
    ]


def test_a_novelty_is_answered_as_a_set_of_one() -> None:
    assert answer_classic(Goset(FEEDS[:3]), Novelty(FEEDS[1]), can_learn=True) == [claim_of(FEEDS[:3])]
    assert answer_classic(Goset(FEEDS[:1]), Novelty(FEEDS[0]), can_learn=True) == []


def test_who_holds_nothing_has_no_answer() -> None:
    assert answer_classic(Goset(), Novelty(FEEDS[0]), can_learn=False) == []
    assert answer_classic(Goset(), claim_of(FEEDS[:3]), can_learn=False) == []


# --- what has left


def test_what_has_left_is_not_asked_for_again() -> None:
    talk = exchange(FEEDS[:5])
    talk.heard_sketch(sketch(FEEDS[:7]), can_learn=True, left=FEEDS[5:6])
    assert talk.next_ask() == Ask(SALT, (short_id(SALT, FEEDS[6]),))
    assert talk.next_ask() is None
    alone = exchange(FEEDS[:5])
    alone.heard_sketch(sketch(FEEDS[:6]), can_learn=True, left=FEEDS[5:6])
    assert (alone.lacking, alone.next_ask()) == (0, None)


def test_what_has_left_is_not_given() -> None:
    goset = Goset(FEEDS[:5])
    sets = SaltedSets(goset)
    talk = SetReconciliation(sets, FEEDS[0])
    talk.heard_sketch(sketch(FEEDS[:3]), can_learn=True)
    goset.remove(FEEDS[4])
    sets.shrank()
    talk.unlearned(FEEDS[4])
    assert given_by(talk) == [FEEDS[3]]
    assert sets.under(SALT).sketch(FULL) == sketch(FEEDS[:4])
