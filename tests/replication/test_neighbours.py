"""Neighbours and what they lack by their WANTs, and the bounds on what is remembered of it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.nodes import feed_of
from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.neighbours import GenerationSum, Neighbour, Neighbours
from tinyssb_node.replication.want import NOT_WANTED, WantReading

ONE, TWO, THREE = (feed_of(number) for number in (1, 2, 3))
FEEDS = [feed_of(number) for number in range(4)]
NOTHING = WantReading(wanted=(), unwanted=(), serves=False, behind=False, same=False)
NEVER_US = -1


def lacking(wanted: Mapping[FeedId, int], *unwanted: FeedId) -> WantReading:
    """A WANT that asks for these numbers, and says that it does not want some feeds."""
    return replace(NOTHING, wanted=tuple(wanted.items()), unwanted=unwanted)


def up_to(last: int):
    """We hold so many entries of every feed."""
    return lambda _: last


@pytest.fixture
def neighbour() -> Neighbour:
    return Neighbour(b"it")


# --- one of them


def test_what_it_lacks_first_is_what_it_said(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3, TWO: 9}), 1.0, 0)
    assert list(neighbour.lacks(up_to(8), NEVER_US)) == [(ONE, 3)]
    assert list(neighbour.lacks(up_to(9), NEVER_US)) == [(ONE, 3), (TWO, 9)]


def test_who_said_nothing_lacks_nothing_and_has_nothing(neighbour: Neighbour) -> None:
    neighbour.heard(ONE, 1, 0)
    assert list(neighbour.lacks(up_to(9), NEVER_US)) == []
    assert not neighbour.has(ONE, 1)
    assert neighbour.count_offers(up_to(1)) == 0


def test_what_was_sent_in_reach_it_is_believed_to_have_heard(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3}), 1.0, 0)
    for seq in (3, 4, 6):
        neighbour.heard(ONE, seq, 10)
    assert list(neighbour.lacks(up_to(9), 9)) == [(ONE, 5)]
    assert list(neighbour.lacks(up_to(4), 9)) == []


def test_that_belief_ends(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3}), 1.0, 0)
    neighbour.heard(ONE, 3, 10)
    assert list(neighbour.lacks(up_to(9), 10)) == [(ONE, 3)]


def test_its_own_word_is_better_than_our_belief(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3}), 1.0, 0)
    for seq in (3, 4, 5, 6):
        neighbour.heard(ONE, seq, 10)
    neighbour.record_want(lacking({ONE: 4}), 1.0, 20)
    assert list(neighbour.lacks(up_to(9), NEVER_US)) == [(ONE, 4)]
    neighbour.heard(ONE, 4, 30)
    # Of what is behind the one it lost it said nothing.
    assert list(neighbour.lacks(up_to(9), NEVER_US)) == [(ONE, 7)]


@pytest.mark.parametrize(("name", "following"), [(b"it", 7), (b"", 5)])
def test_only_a_neighbour_with_a_name_keeps_what_came_behind_a_gap(name: bytes, following: int) -> None:
    neighbour = Neighbour(name)
    neighbour.record_want(lacking({ONE: 3}), 1.0, 0)
    for seq in (3, 4, 5, 6):
        neighbour.heard(ONE, seq, 10)
    neighbour.record_want(lacking({ONE: 4}), 1.0, 20)
    assert list(neighbour.lacks(up_to(9), 9)) == [(ONE, 4)]
    neighbour.heard(ONE, 4, 30)
    assert list(neighbour.lacks(up_to(9), 9)) == [(ONE, following)]


def test_what_it_wants_no_more_it_lacks_no_more(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3, TWO: 1}), 1.0, 0)
    neighbour.record_want(lacking({}, ONE), 1.0, 10)
    assert list(neighbour.lacks(up_to(9), NEVER_US)) == [(TWO, 1)]
    assert not neighbour.has(ONE, 1)
    assert neighbour.said_us == 10


def test_what_it_may_have_heard_of_what_it_did_not_want_is_forgotten(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3}), 1.0, 0)
    neighbour.heard(ONE, 4, 10)
    neighbour.record_want(lacking({}, ONE), 1.0, 20)
    neighbour.record_want(lacking({ONE: 3}), 1.0, 30)
    neighbour.heard(ONE, 3, 40)
    assert list(neighbour.lacks(up_to(9), NEVER_US)) == [(ONE, 4)]


def test_what_it_has_anyway_is_not_kept_in_mind(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 100}), 1.0, 0)
    for seq in (100, *range(1, 1 + limits.MARKS_MAX)):
        neighbour.heard(ONE, seq, 10)
    assert list(neighbour.lacks(up_to(101), NEVER_US)) == [(ONE, 101)]


def test_it_has_what_comes_before_what_it_lacks(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 3}), 1.0, 0)
    assert [neighbour.has(ONE, seq) for seq in (1, 2, 3)] == [True, True, False]
    assert not neighbour.has(TWO, 1)


def test_it_offers_what_it_has_and_we_want_and_lack(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 9, TWO: 4, THREE: 100}), 1.0, 0)
    ours = {ONE: 5, TWO: 6, THREE: NOT_WANTED}
    assert neighbour.count_offers(ours.__getitem__) == neighbour.offered == 4
    assert neighbour.offers_of(ours.__getitem__) == {ONE}


def test_it_offers_the_less_the_more_we_got(neighbour: Neighbour) -> None:
    neighbour.record_want(lacking({ONE: 5}), 1.0, 0)
    neighbour.count_offers(up_to(3))
    for feed, seq in ((ONE, 3), (ONE, 5), (TWO, 1)):
        neighbour.record_received(feed, seq)
    assert neighbour.offered == 1
    for _ in range(3):
        neighbour.record_received(ONE, 4)
    assert neighbour.offered == 0


@given(st.lists(st.integers(1, 200), max_size=200))
def test_of_a_feed_only_so_much_is_believed(seqs: list[int]) -> None:
    neighbour = Neighbour(b"it")
    neighbour.record_want(lacking({ONE: 1}), 1.0, 0)
    for seq in seqs:
        neighbour.heard(ONE, seq, 10)
    believed = {seq for seq in range(1, 201) if not neighbour.awaits(ONE, seq)}
    assert believed <= set(seqs)
    assert len(believed) <= limits.MARKS_MAX
    if len(set(seqs)) <= limits.MARKS_MAX:
        assert believed == set(seqs)


# --- all of them


def test_the_same_name_is_the_same_neighbour() -> None:
    neighbours = Neighbours()
    first = neighbours.get_or_add(b"ab")
    assert neighbours.get_or_add(b"cd") is not first
    assert neighbours.get_or_add(b"ab") is first
    assert neighbours.get(b"ab") is first
    assert neighbours.get(b"xy") is None


def test_who_spoke_lately_is_in_reach() -> None:
    neighbours = Neighbours()
    for name, now_us in ((b"ab", 10), (b"cd", 20)):
        neighbours.get_or_add(name).record_want(NOTHING, 1.0, now_us)
    assert [each.speaker for each in neighbours.since(9)] == [b"ab", b"cd"]
    assert [each.speaker for each in neighbours.since(10)] == [b"cd"]


def test_who_was_silent_for_longest_makes_room() -> None:
    neighbours = Neighbours()
    names = [number.to_bytes(2) for number in range(1, limits.NEIGHBOURS_MAX + 2)]
    for name in names[:-1]:
        neighbours.get_or_add(name)
    neighbours.get_or_add(names[0])
    neighbours.get_or_add(names[-1])
    there = [neighbours.get(name) is not None for name in names]
    assert there == [True, False, *[True] * (limits.NEIGHBOURS_MAX - 1)]


def test_made_up_names_evict_no_neighbour_that_gave_something() -> None:
    neighbours = Neighbours()
    neighbours.get_or_add(b"ab").record_delivery()
    for number in range(1, 3 * limits.NEIGHBOURS_MAX):
        neighbours.get_or_add(b"%d" % number)
    assert neighbours.get(b"ab") is not None
    assert neighbours.get(b"1") is None


def test_a_neighbour_takes_a_feed_while_its_wants_move_on() -> None:
    neighbour = Neighbour(b"ab")
    for seq, takes in ((3, False), (3, False), (4, True), (4, True), (2, False)):
        neighbour.record_want(lacking({ONE: seq}), 1.0, 5)
        assert neighbour.takes(ONE) == takes


def test_what_is_sent_is_heard_by_all_and_had_by_any() -> None:
    neighbours = Neighbours()
    for name, seq in ((b"ab", 1), (b"cd", 3)):
        neighbours.get_or_add(name).record_want(lacking({ONE: seq}), 1.0, 5)
    assert [bool(neighbours.that_have(ONE, seq)) for seq in (2, 3)] == [True, False]
    neighbours.heard(ONE, 1, 10)
    neighbours.heard(ONE, 3, 10)
    assert [list(each.lacks(up_to(9), 9)) for each in neighbours.since(0)] == [[(ONE, 2)], [(ONE, 4)]]


class Talk(RuleBasedStateMachine):
    """Anybody says anything, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.neighbours = Neighbours()
        self.now_us = 1
        self.sent: set[tuple[FeedId, int]] = set()

    @rule(
        name=st.integers(0, 3 * limits.NEIGHBOURS_MAX),
        wanted=st.dictionaries(st.sampled_from(FEEDS), st.integers(1, limits.SEQ_MAX)),
        unwanted=st.lists(st.sampled_from(FEEDS)),
    )
    def say(self, name: int, wanted: dict[FeedId, int], unwanted: list[FeedId]) -> None:
        self.now_us += 1
        said = lacking({feed: seq for feed, seq in wanted.items() if feed not in unwanted}, *unwanted)
        neighbour = self.neighbours.get_or_add(name.to_bytes(2))
        neighbour.record_want(said, 1.0, self.now_us)
        lacks = dict(
            gift
            for gift in neighbour.lacks(up_to(limits.SEQ_MAX), NEVER_US)
            if not isinstance(gift, GenerationSum)
        )
        assert {feed: lacks.get(feed) for feed in (*wanted, *unwanted)} == {
            **dict.fromkeys(unwanted),
            **dict(said.wanted),
        }

    @rule(feed=st.sampled_from(FEEDS), first=st.integers(1, limits.SEQ_MAX), count=st.integers(1, 40))
    def send(self, feed: FeedId, first: int, count: int) -> None:
        self.now_us += 1
        for seq in range(first, first + count):
            self.neighbours.heard(feed, seq, self.now_us)
            self.sent.add((feed, seq))

    @invariant()
    def is_bounded(self) -> None:
        known = self.neighbours.since(0)
        assert len(known) <= limits.NEIGHBOURS_MAX
        for each in known:
            believed = Counter(
                feed
                for feed, seq in self.sent
                if each.has(feed, 0) and not each.has(feed, seq) and not each.awaits(feed, seq)
            )
            assert all(count <= limits.MARKS_MAX for count in believed.values())


TestTalk = Talk.TestCase
TestTalk.settings = settings(max_examples=30, stateful_step_count=100)
