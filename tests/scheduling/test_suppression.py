"""The memory of a face: packets just given, latest known, recently seen. All of it is bounded."""

import pytest

from tinyssb_node import limits
from tinyssb_node.scheduling.suppression import LatestByKey, RecentReplies, RecentSet

HOLD_US = 1_000


@pytest.fixture
def given() -> RecentReplies[str]:
    return RecentReplies(hold_us=HOLD_US, most=3)


def test_what_was_never_given_is_given_as_asked(given: RecentReplies[str]) -> None:
    assert given.first_to_give("feed", 7, 0) == 7


def test_an_answer_begins_behind_what_was_just_given(given: RecentReplies[str]) -> None:
    given.give("feed", 3, 6, 0)
    assert [given.first_to_give("feed", asked, HOLD_US - 1) for asked in (3, 6, 7, 8)] == [7, 7, 7, 8]
    assert given.first_to_give("another", 3, 1) == 3


def test_the_hold_ends(given: RecentReplies[str]) -> None:
    given.give("feed", 3, 6, 0)
    assert given.first_to_give("feed", 3, HOLD_US) == 3


def test_who_asks_for_what_came_before_is_answered_from_there(given: RecentReplies[str]) -> None:
    given.give("feed", 80, 83, 0)
    assert given.first_to_give("feed", 3, 1) == 3


def test_ranges_that_meet_are_passed_over_together(given: RecentReplies[str]) -> None:
    given.give("feed", 5, 6, 0)
    given.give("feed", 1, 4, 1)
    given.give("feed", 9, 9, 2)
    assert given.first_to_give("feed", 2, 3) == 7
    assert given.first_to_give("feed", 9, 3) == 10


def test_continued_giving_keeps_the_newest_held_and_lets_the_oldest_go(given: RecentReplies[str]) -> None:
    for turn in range(10):
        given.give("feed", turn, turn, turn * HOLD_US // 2)
    now_us = 9 * HOLD_US // 2
    assert given.first_to_give("feed", 9, now_us) == 10
    assert given.first_to_give("feed", 2, now_us) == 2


def test_a_part_given_again_does_not_shorten_a_range(given: RecentReplies[str]) -> None:
    given.give("feed", 1, 9, 0)
    given.give("feed", 4, 5, 1)
    assert given.first_to_give("feed", 2, 2) == 10


def test_the_oldest_range_of_a_chain_is_forgotten_first(given: RecentReplies[str]) -> None:
    for place in range(limits.GIVEN_RANGES_MAX + 1):
        given.give("feed", 10 * place, 10 * place, 0)
    asked = [10 * place for place in range(limits.GIVEN_RANGES_MAX + 1)]
    assert [given.first_to_give("feed", number, 1) - number for number in asked] == [0, 1, 1, 1, 1]


def test_the_longest_untouched_chain_is_forgotten_first(given: RecentReplies[str]) -> None:
    for chain in ("a", "b", "c"):
        given.give(chain, 1, 1, 0)
    given.give("a", 2, 2, 0)
    given.give("d", 1, 1, 0)
    assert [given.first_to_give(chain, 1, 1) for chain in ("a", "b", "c", "d")] == [3, 1, 2, 2]


def test_latest_keeps_the_latest_number_of_a_bounded_many() -> None:
    latest: LatestByKey[str, int] = LatestByKey(2)
    latest["a"] = 1
    latest["b"] = 2
    latest["a"] = 3
    latest["c"] = 4
    assert [latest[key] for key in ("a", "b", "c")] == [3, None, 4]


def test_recent_remembers_for_a_span() -> None:
    recent: RecentSet[bytes] = RecentSet(2)
    recent.add(b"a", 100)
    assert recent.within(b"a", 10, 109)
    assert not recent.within(b"a", 10, 110)
    assert not recent.within(b"b", 10, 100)


def test_recent_forgets_the_longest_unseen_first() -> None:
    recent: RecentSet[bytes] = RecentSet(2)
    recent.add(b"a", 0)
    recent.add(b"b", 1)
    recent.add(b"a", 2)
    recent.add(b"c", 3)
    assert [recent.within(key, 10, 3) for key in (b"a", b"b", b"c")] == [True, False, True]
