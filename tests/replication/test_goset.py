"""The set."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec import vectors
from tests.nodes import feed_of
from tinyssb_node import limits
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset, subset_of, xor_of

feed_ids = st.binary(min_size=32, max_size=32).filter(any).map(FeedId)


@pytest.mark.parametrize("number", range(6))
def test_state_and_order_are_those_of_other_programs(number: int) -> None:
    vector = vectors.load("goset.json")["sets"][number]
    ids = [FeedId.from_hex(text) for text in vector["feed_ids"]]
    goset = Goset(reversed(ids))
    assert list(goset.feeds) == ids
    assert goset.state.hex() == vector["state"]
    assert xor_of(ids) == goset.state


@given(st.lists(feed_ids, max_size=20), st.lists(feed_ids, max_size=20))
def test_a_set_is_the_same_however_it_grew(early: list[FeedId], late: list[FeedId]) -> None:
    grown = Goset(early)
    for feed in late:
        is_new = feed not in grown
        assert grown.add(feed) == is_new
    made = Goset([*late, *early])
    assert (grown.feeds, grown.state) == (made.feeds, made.state)
    assert [grown.index(feed) for feed in grown.feeds] == list(range(len(grown)))
    assert all(grown[grown.index(feed)] == feed and feed in grown for feed in (*early, *late))


@given(st.sets(feed_ids, max_size=20), st.data())
def test_what_left_is_as_if_it_had_never_been_there(feeds: set[FeedId], data: st.DataObject) -> None:
    goset = Goset(feeds)
    gone = data.draw(st.sets(st.sampled_from(sorted(feeds)))) if feeds else set()
    for feed in gone:
        goset.remove(feed)
        assert feed not in goset
    made = Goset(feeds - gone)
    assert (goset.feeds, goset.state) == (made.feeds, made.state)
    assert [goset.index(feed) for feed in goset.feeds] == list(range(len(goset)))
    for feed in gone:
        assert goset.add(feed)
    assert goset.feeds == Goset(feeds).feeds


def test_what_is_not_in_the_set_cannot_leave() -> None:
    with pytest.raises(KeyError):
        Goset([feed_of(1)]).remove(feed_of(2))


small_ids = st.integers(1, 255).map(lambda number: FeedId(bytes(31) + bytes((number,))))


@given(st.lists(small_ids, unique=True, max_size=8), st.integers(0, 255), st.integers(0, 8))
def test_a_selection_by_its_xor_is_right(feeds: list[FeedId], xor: int, count: int) -> None:
    """Of ids of 8 bits there are often several; what is found is one of them, and of independent ones each is."""
    wanted = bytes(31) + bytes((xor,))
    fitting = [
        chosen for chosen in combinations(feeds, count) if xor_of(chosen) == wanted
    ]  # fmt: skip
    found = subset_of(feeds, wanted, count)
    assert found is None or found in fitting
    everything = [chosen for size in range(len(feeds) + 1) for chosen in combinations(feeds, size)]
    if len({xor_of(chosen) for chosen in everything}) == len(everything):
        assert found == (fitting[0] if fitting else None)


@given(st.data())
def test_any_selection_of_keys_is_found(data: st.DataObject) -> None:
    feeds = [feed_of(number) for number in range(data.draw(st.integers(0, 200)))]
    chosen = [feed for feed in feeds if data.draw(st.booleans())]
    assert subset_of(feeds, xor_of(chosen), len(chosen)) == tuple(chosen)
    assert subset_of(feeds, xor_of(chosen), len(chosen) + 1) is None
    assert subset_of(feeds, xor_of([*chosen, feed_of(999)]), len(chosen) + 1) is None


def test_a_feed_is_added_once() -> None:
    goset = Goset()
    assert goset.add(feed_of(1))
    assert not goset.add(feed_of(1))
    assert (len(goset), goset.state) == (1, feed_of(1))


def test_a_full_set_takes_no_more() -> None:
    goset = Goset(feed_of(number) for number in range(limits.SET_MAX - 1))
    before = goset.full
    assert goset.add(feed_of(1_000))
    assert (before, goset.full) == (False, True)
    state = goset.state
    assert not goset.add(feed_of(1_001))
    assert (len(goset), goset.state) == (limits.SET_MAX, state)


def test_a_set_with_few_places_takes_more_only_of_deployed_peers() -> None:
    goset = Goset([feed_of(0), feed_of(1)], places=2)
    assert goset.full
    assert not goset.add(feed_of(2))
    assert goset.add(feed_of(2), seen=True)
    assert len(goset) == 3


def test_the_id_that_names_nobody_is_refused() -> None:
    goset = Goset()
    assert not goset.add(FeedId(bytes(32)))
    assert len(goset) == 0


def test_a_region_has_its_bounds_where_they_are_held() -> None:
    feeds = sorted(feed_of(number) for number in range(5))
    goset = Goset([feeds[0], feeds[2], feeds[4]])
    assert list(goset.region(feeds[0], feeds[4])) == [feeds[0], feeds[2], feeds[4]]
    assert list(goset.region(feeds[1], feeds[3])) == [feeds[2]]
    assert list(goset.region(feeds[3], feeds[3])) == []


def test_an_index_of_a_stranger_is_an_error() -> None:
    with pytest.raises(KeyError):
        Goset([feed_of(1)]).index(feed_of(2))


def test_the_xor_of_nothing_is_zero() -> None:
    assert xor_of(()) == bytes(32) == Goset().state
