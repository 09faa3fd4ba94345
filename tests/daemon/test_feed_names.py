"""Any beginning of a feed id that is enough names the feed."""

import pytest

from tinyssb_node.daemon.feed_names import find_feed
from tinyssb_node.errors import ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord


def record(first: str) -> FeedRecord:
    feed = FeedId(bytes.fromhex(first.ljust(64, "0")))
    return FeedRecord(feed=feed, dialect=None, seq=0, tip=None, own=False, wanted=True, forked_at=None)


RECORDS = [record("abc1"), record("abc2"), record("ff")]


def test_a_unique_beginning_is_enough_in_either_case() -> None:
    assert find_feed(RECORDS, "f", None) is RECORDS[2]
    assert find_feed(RECORDS, "ABC2", None) is RECORDS[1]
    assert find_feed(RECORDS, RECORDS[0].feed.hex(), None) is RECORDS[0]


def test_me_is_the_nodes_own() -> None:
    assert find_feed(RECORDS, "me", RECORDS[1].feed) is RECORDS[1]
    with pytest.raises(ProblemError, match="No feed of this node") as caught:
        find_feed(RECORDS, "me", None)
    assert caught.value.code == "unknown_feed"


def test_what_names_none_or_several_is_told() -> None:
    with pytest.raises(ProblemError, match="2 feeds begin with 'abc'") as caught:
        find_feed(RECORDS, "abc", None)
    assert caught.value.code == "ambiguous_feed"
    for name in ("", "e", "abc11", "f" * 65, "nonsense"):
        with pytest.raises(ProblemError, match="No feed of this node") as caught:
            find_feed(RECORDS, name, None)
        assert caught.value.code == "unknown_feed"
