"""Room for feeds that nobody here asked for."""

from tests.nodes import feed_of
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.quota import FeedQuota, QuotaLimits
from tinyssb_node.store.port import FeedUsage

A, B, C, D = (feed_of(number) for number in range(4))


def quota_of(packets: dict[FeedId, int], feed_packets: int = 999, total_packets: int = 999) -> FeedQuota:
    """A quota over feeds that began in this order, and that nobody asked for."""
    usage = [FeedUsage(feed=feed, packets=held, begun=at) for at, (feed, held) in enumerate(packets.items())]
    quota = FeedQuota(usage, QuotaLimits(feed_packets=feed_packets, total_packets=total_packets))
    for feed in packets:
        quota.note(feed, asked_for=False, evicted=False)
    return quota


def evicted(quota: FeedQuota) -> list[FeedId]:
    """Delete all that has to go, a packet at a time; which feeds that were, in order."""
    gone: list[FeedId] = []
    while (chosen := quota.choose()) is not None:
        quota.removed(chosen[0], 1)
        if chosen[0] not in gone:
            gone.append(chosen[0])
    return gone


def test_a_feed_that_has_its_room_is_refused_from_then_on() -> None:
    quota = quota_of({A: 1}, feed_packets=3)
    quota.added(A)
    assert A not in quota.refused
    quota.added(A)
    assert A in quota.refused
    quota.note(A, asked_for=True, evicted=False)
    assert A not in quota.refused
    assert quota.others_packets == 0


def test_one_that_somebody_asked_for_is_counted_and_never_refused() -> None:
    quota = FeedQuota([], QuotaLimits(feed_packets=2, total_packets=2, closed=True))
    quota.note(A, asked_for=True, evicted=False)
    for _ in range(9):
        quota.added(A)
    assert quota.packets == {A: 9}
    assert not quota.refused
    assert not quota.is_due


def test_the_largest_of_the_young_feeds_goes_whole() -> None:
    assert evicted(quota_of({A: 60, B: 10, C: 30, D: 20}, total_packets=119)) == [C]


def test_feeds_that_have_long_been_here_stay_whatever_comes() -> None:
    many = {feed_of(number): 1 for number in range(10, 90)}
    gone = evicted(quota_of({A: 30, **many}, total_packets=70))
    assert A not in gone
    assert len(gone) == 40


def test_of_new_feeds_a_flood_goes_before_a_feed_of_a_few_entries() -> None:
    assert evicted(quota_of({A: 10, B: 40, C: 3, D: 50}, total_packets=60)) == [D]


def test_more_than_the_excess_is_named_to_be_deleted_at_once() -> None:
    quota = quota_of({A: 10, B: 90}, total_packets=70)
    assert quota.choose() == (B, 30)
    quota.removed(B, 30)
    assert quota.choose() == (B, 0)


def test_followed_meanwhile_it_stays() -> None:
    quota = quota_of({A: 10, B: 90}, total_packets=70)
    assert quota.choose() is not None
    quota.removed(B, 40)
    quota.note(B, asked_for=True, evicted=False)
    assert quota.choose() is None
    assert B not in quota.refused


def test_while_the_disk_has_too_little_left_nothing_of_them_is_taken() -> None:
    quota = quota_of({A: 1, B: 1})
    assert quota.set_limits(QuotaLimits(closed=True)) == {A, B}
    quota.note(C, asked_for=False, evicted=False)
    assert quota.refused == {A, B, C}
    assert quota.set_limits(QuotaLimits()) == {A, B, C}
    assert not quota.is_due


def test_an_evicted_feed_is_refused_until_somebody_asks_for_it() -> None:
    quota = quota_of({A: 1})
    quota.removed(A, 1)
    quota.note(A, asked_for=False, evicted=True)
    assert quota.refused == quota.evicted == {A}
    quota.note(A, asked_for=True, evicted=False)
    assert not quota.refused
    assert not quota.evicted
