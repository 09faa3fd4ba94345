"""The choice of feeds to offer and to seek."""

import pytest

from tests.nodes import feed_of
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import FeedSelection
from tinyssb_node.islands.gateway.holdings import FeedHolding, adverts, offered_feeds, wanted_feeds
from tinyssb_node.islands.locator.values import ResourceParameters

PLAIN = FeedHolding(feed_of(1), 3, 200, ours=False, wanted=True, in_set=True, forked=False)
OURS = PLAIN._replace(feed=feed_of(2), ours=True)
LEFT = PLAIN._replace(feed=feed_of(3), in_set=False)
NOT_WANTED = PLAIN._replace(feed=feed_of(4), wanted=False)
FORKED = PLAIN._replace(feed=feed_of(5), forked=True)
NEW = PLAIN._replace(feed=feed_of(6), seq=0, whole=255)
ALL = [PLAIN, OURS, LEFT, NOT_WANTED, FORKED, NEW]


@pytest.mark.parametrize(
    ("which", "expected"),
    [(FeedSelection.SET, [OURS, PLAIN, FORKED, LEFT]), (FeedSelection.OWN, [OURS]), (FeedSelection.NONE, [])],
)
def test_others_get_what_is_held_and_wanted(which: FeedSelection, expected: list[FeedHolding]) -> None:
    found = offered_feeds(ALL, which)
    assert sorted(found) == sorted(expected)
    assert found[:1] == expected[:1]
    assert found[-1:] == expected[-1:]


@pytest.mark.parametrize(
    ("which", "expected"),
    [(FeedSelection.SET, [PLAIN, OURS, NEW]), (FeedSelection.OWN, [OURS]), (FeedSelection.NONE, [])],
)
def test_what_may_still_grow_is_sought(which: FeedSelection, expected: list[FeedHolding]) -> None:
    assert wanted_feeds(ALL, which) == {one.feed: (one.seq, one.whole) for one in expected}


@pytest.mark.parametrize("which", [FeedSelection.SET, FeedSelection.OWN])
def test_what_is_carried_is_sought_though_it_is_in_no_set(which: FeedSelection) -> None:
    assert set(wanted_feeds([LEFT, NEW], which, [LEFT.feed])) - {NEW.feed} == {LEFT.feed}
    assert wanted_feeds([LEFT], FeedSelection.NONE, [LEFT.feed]) == {}
    assert wanted_feeds([FORKED], which, [FORKED.feed]) == {}


def test_who_follows_a_feed_is_told_of_it() -> None:
    told = adverts(ALL, FeedSelection.SET, [PLAIN.feed, NEW.feed])
    assert told[NEW.feed] == ResourceParameters(0, 0)
    assert told[PLAIN.feed] == ResourceParameters(3, 200)
    assert NEW.feed not in adverts(ALL, FeedSelection.SET, [])
    assert set(adverts(ALL, FeedSelection.OWN, [NEW.feed])) == {OURS.feed}


def test_there_are_only_so_many_offers() -> None:
    many = [PLAIN._replace(feed=feed_of(number)) for number in range(10, limits.OFFERS_MAX + 10)]
    assert len(adverts([*many, OURS, NEW], FeedSelection.SET, [NEW.feed])) == limits.OFFERS_MAX
    assert OURS in offered_feeds([*many, OURS], FeedSelection.SET)
