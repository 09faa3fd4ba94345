"""The search for feeds: which, when, and the islands to connect to."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import feed_of
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.feed_search import ConnectionCandidate, FeedSearch
from tinyssb_node.islands.locator.addresses import ContactAddress, node_of, port_of
from tinyssb_node.islands.locator.values import Location, ResourceParameters

ANA, BOB = feed_of(1), feed_of(2)
S = 1_000_000


def place(number: int) -> ContactAddress:
    return ContactAddress(node_of(f"192.0.2.{number}"), port_of(1), port_of(1))


def at(number: int, seq: int, whole: int = 255) -> Location:
    return Location(place(number), ResourceParameters(seq, whole))


@pytest.fixture
def seeking() -> FeedSearch:
    # In the middle of what chance may say.
    return FeedSearch(lambda: 0.5)


def begun(seeking: FeedSearch, *held: tuple[FeedId, int]) -> FeedSearch:
    seeking.want({feed: (seq, 255) for feed, seq in held})
    assert sorted(seeking.due(0, ())) == sorted(feed for feed, _ in held)
    return seeking


def test_what_is_wanted_is_looked_for_at_once_and_once(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3), (BOB, 0))
    assert seeking.due(1, ()) == []
    assert seeking.finished_lookups(1, ()) == []
    assert list(seeking.feeds) == [ANA, BOB]


def test_there_are_only_so_many_lookups(seeking: FeedSearch) -> None:
    seeking.want({feed_of(number): (0, 0) for number in range(20)})
    first = seeking.due(0, ())
    assert len(first) == limits.LOOKUPS_MAX
    assert seeking.due(0, ()) == []
    seeking.ended(first[0], 0)
    (next_,) = seeking.due(0, ())
    assert next_ not in first


def test_what_is_not_found_is_looked_for_ever_more_seldom(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 0))
    now_us, waits = 0, []
    for _ in range(13):
        for _ in range(limits.LOOKUP_DENIALS_MAX):
            assert seeking.finished_lookups(now_us, ()) == []
            seeking.denied(ANA)
        assert seeking.finished_lookups(now_us, ()) == [ANA]
        seeking.ended(ANA, now_us)
        ended_us = now_us
        while not seeking.due(now_us, ()):
            now_us += S
        waits.append(now_us - ended_us)
    assert waits[:3] == [2 * S, 4 * S, 8 * S]
    assert waits[-1] == limits.LOOKUP_RETRY_MAX_US
    seeking.ended(ANA, now_us)
    seeking.hurry(now_us)
    assert seeking.due(now_us, ()) == [ANA]


def test_a_lookup_that_found_goes_on_a_little_for_others(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3))
    assert seeking.lacking() == [ANA]
    seeking.found(ANA, [at(1, 3)], S)
    assert seeking.lacking() == []
    assert seeking.finished_lookups(S, ()) == []
    assert seeking.finished_lookups(S + limits.LOOKUP_SETTLE_US, ()) == [ANA]
    seeking.ended(ANA, 10 * S)
    assert seeking.due(10 * S + limits.LOOKUP_AGAIN_US - 1, ()) == []
    assert seeking.due(10 * S + limits.LOOKUP_AGAIN_US, ()) == [ANA]


def test_what_was_connected_is_looked_for_soon_when_it_is_lost(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3), (BOB, 3))
    for feed, number in ((ANA, 1), (BOB, 2)):
        seeking.found(feed, [at(number, 3)], 0)
        seeking.ended(feed, 0)
    late_us = limits.PLACES_AGE_US + 1
    # A place is not forgotten while it is connected.
    seeking.calls(late_us, [place(1)], 8)
    assert (list(seeking.places(ANA)), list(seeking.places(BOB))) == ([place(1)], [])
    seeking.lost(place(1), late_us)
    assert seeking.due(late_us, ()) == []
    assert seeking.due(late_us + limits.CALL_AGAIN_US, ()) == [ANA]


def test_the_newest_is_called_first_and_each_feed_once(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3), (BOB, 0))
    seeking.found(ANA, [at(1, 4), at(2, 9), at(3, 3), at(4, 9, 100)], 0)
    seeking.found(BOB, [at(5, 1), at(3, 2)], 0)
    assert seeking.calls(0, (), 8) == [
        ConnectionCandidate(place(2), ANA, 9, True),
        ConnectionCandidate(place(3), BOB, 2, True),
    ]
    assert seeking.calls(0, (), 1) == [ConnectionCandidate(place(2), ANA, 9, True)]
    # What is connected is expected to bring it.
    assert seeking.calls(0, [place(2), place(3)], 8) == []
    assert seeking.finished_lookups(0, [place(2), place(3)]) == [ANA, BOB]


def test_one_that_failed_is_not_called_again(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3))
    seeking.found(ANA, [at(1, 2**39 - 1), at(2, 5)], 0)
    assert seeking.calls(0, (), 8)[0].place == place(1)
    seeking.failed(place(1), 0)
    assert seeking.calls(0, (), 8) == [ConnectionCandidate(place(2), ANA, 5, True)]
    seeking.failed(place(2), 0)
    assert seeking.calls(0, (), 8) == []


def test_a_lookup_all_of_whose_places_failed_has_found_nothing(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3))
    seeking.found(ANA, [at(1, 5), at(2, 0)], 0)
    seeking.failed(place(1), S)
    assert seeking.finished_lookups(limits.LOOKUP_SETTLE_US, ()) == []
    assert seeking.lacking() == [ANA]
    for _ in range(limits.LOOKUP_DENIALS_MAX):
        seeking.denied(ANA)
    assert seeking.finished_lookups(3 * S, ()) == [ANA]
    seeking.ended(ANA, 3 * S)
    assert seeking.due(3 * S + limits.LOOKUP_RETRY_US, ()) == [ANA]


def test_where_nothing_is_newer_few_are_called_for_news(seeking: FeedSearch) -> None:
    feeds = [feed_of(number) for number in range(8)]
    begun(seeking, *[(feed, 3) for feed in feeds])
    for number, feed in enumerate(feeds, 1):
        seeking.found(feed, [at(number, 3)], 0)
    calls = seeking.calls(0, (), limits.CALLS_MAX)
    assert [call.newer for call in calls] == [False] * limits.CALLS_LIVE_MAX
    assert seeking.calls(0, [call.place for call in calls], limits.CALLS_MAX - len(calls)) == []


def test_one_that_holds_nothing_is_not_called(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 0))
    seeking.found(ANA, [at(1, 0, 0)], 0)
    assert seeking.calls(0, (), 8) == []
    assert seeking.finished_lookups(limits.LOOKUP_SETTLE_US, ()) == []


def test_side_chains_alone_are_worth_a_call(seeking: FeedSearch) -> None:
    seeking.want({ANA: (3, 100)})
    seeking.due(0, ())
    seeking.found(ANA, [at(1, 3, 99), at(2, 3, 101)], 0)
    assert seeking.calls(0, (), 8) == [ConnectionCandidate(place(2), ANA, 3, True)]


def test_what_is_wanted_no_more_is_forgotten(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 0))
    seeking.found(ANA, [at(1, 1)], 0)
    assert seeking.want({BOB: (0, 0)}) == [ANA]
    assert seeking.calls(0, (), 8) == []
    seeking.found(ANA, [at(1, 1)], 0)
    seeking.denied(ANA)
    seeking.ended(ANA, 0)
    assert (list(seeking.feeds), seeking.places(ANA)) == ([BOB], {})


def test_places_are_few_and_do_not_last(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 0))
    seeking.found(ANA, [at(number, 1) for number in range(1, 40)], 0)
    assert len(seeking.places(ANA)) == limits.PLACES_MAX
    assert seeking.calls(limits.PLACES_AGE_US + 1, (), 8) == []
    assert seeking.places(ANA) == {}


def test_what_is_told_unasked_takes_no_room_of_what_was_found(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3))
    seeking.found(ANA, [at(number, 4) for number in range(1, limits.PLACES_MAX + 1)], 0)
    seeking.location_hinted(ANA, [at(number, 2**31) for number in range(100, 200)], 0)
    seeking.location_hinted(BOB, [at(1, 1)], 0)
    places = list(seeking.places(ANA))
    assert places[: limits.PLACES_MAX] == [place(number) for number in range(1, limits.PLACES_MAX + 1)]
    assert len(places) == limits.PLACES_MAX + limits.NEWS_PLACES_MAX
    # News count as long as nothing else is known of the place.
    seeking.location_hinted(ANA, [at(1, 9)], 0)
    assert seeking.places(ANA)[place(1)].timestamp == 9
    seeking.found(ANA, [at(1, 8)], 0)
    assert seeking.places(ANA)[place(1)].timestamp == 8
    assert seeking.calls(limits.PLACES_AGE_US + 1, (), 8) == []
    assert seeking.places(ANA) == {}


def test_of_one_node_there_is_one_place(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3))
    ports = [
        Location(
            ContactAddress(node_of("192.0.2.9"), port_of(port), port_of(port)), ResourceParameters(4, 255)
        )
        for port in range(1, 30)
    ]
    seeking.found(ANA, ports, 0)
    assert list(seeking.places(ANA)) == [ports[-1].place]
    seeking.location_hinted(ANA, ports[:-1], 0)
    assert list(seeking.places(ANA)) == [ports[-1].place, ports[-2].place]
    # Who claims an address that is known gets half of the chances.
    seeking = begun(FeedSearch(lambda: 0.49), (ANA, 3))
    seeking.found(ANA, ports, 0)
    assert list(seeking.places(ANA)) == [ports[0].place]


def test_news_of_which_nothing_comes_are_looked_into_whoever_is_connected(seeking: FeedSearch) -> None:
    begun(seeking, (ANA, 3))
    seeking.found(ANA, [at(1, 3), at(2, 3)], 0)
    seeking.ended(ANA, 0)
    seeking.location_hinted(ANA, [at(1, 2**31)], S)
    assert seeking.calls(S, (), 8) == [ConnectionCandidate(place(1), ANA, 2**31, True)]
    assert not seeking.failed(place(1), S)
    # What was found there before may still be true.
    assert seeking.places(ANA)[place(1)].timestamp == 3
    assert seeking.due(limits.LOOKUP_DOUBT_US - 1, [place(2)]) == []
    now_us = limits.LOOKUP_DOUBT_US
    assert seeking.due(now_us, [place(2)]) == [ANA]
    assert seeking.finished_lookups(now_us, [place(2)]) == []
    seeking.found(ANA, [at(3, 5)], now_us)
    now_us += limits.LOOKUP_SETTLE_US
    assert seeking.finished_lookups(now_us, [place(2)]) == [ANA]
    seeking.ended(ANA, now_us)
    assert seeking.due(now_us + limits.LOOKUP_DOUBT_US, [place(3)]) == []
    assert seeking.failed(place(3), now_us)


def found_among_liars(seed: int, *, in_lookups: bool) -> int:
    """Somebody makes up news every ten seconds, and answers lookups too if *in_lookups*; each call of a place of his
    takes ten. Returns the second at which the one is called that has what he says."""
    chance, liars = random.Random(seed), 0
    seeking, calls = FeedSearch(chance.random), dict[ContactAddress, int]()
    seeking.want({ANA: (100, 255)})
    for second in range(3_600):
        now_us = second * S

        def lies(count: int, first: int) -> list[Location]:
            return [at(100 + number % 100, 2**31 + number) for number in range(first, first + count)]

        if seeking.due(now_us, calls) and second:
            seeking.found(ANA, [*lies(15 * in_lookups, liars), at(1, 150)], now_us)
        if second % 10 == 0:
            seeking.location_hinted(ANA, lies(16, liars), now_us)
            liars += 16
        for feed in seeking.finished_lookups(now_us, calls):
            seeking.ended(feed, now_us)
        for called in [called for called, until in calls.items() if until <= second]:
            del calls[called]
            seeking.failed(called, now_us)
        for call in seeking.calls(now_us, calls, limits.CALLS_MAX - len(calls)):
            if call.place == place(1):
                return second
            calls[call.place] = second + 10
    raise AssertionError("never")


@pytest.mark.parametrize("in_lookups", [False, True])
def test_who_lies_all_the_time_keeps_nobody_from_whom_a_lookup_finds(in_lookups: bool) -> None:
    assert max(found_among_liars(seed, in_lookups=in_lookups) for seed in range(5)) < 900


@given(st.data())
@settings(max_examples=50)
def test_bounds_hold_whatever_is_told(data: st.DataObject) -> None:
    seeking, now_us, linked = FeedSearch(lambda: 0.5), 0, set[ContactAddress]()
    feeds = [feed_of(number) for number in range(12)]
    under_way = set[FeedId]()
    for _ in range(data.draw(st.integers(1, 30))):
        now_us += data.draw(st.integers(0, 60 * S))
        feed = data.draw(st.sampled_from(feeds))
        match data.draw(st.integers(0, 5)):
            case 0:
                wanted = data.draw(st.sets(st.sampled_from(feeds)))
                under_way -= set(seeking.want(dict.fromkeys(wanted, (2, 255))))
                assert set(seeking.feeds) == wanted
            case 1:
                under_way |= set(seeking.due(now_us, linked))
            case 2:
                learn = data.draw(st.sampled_from([seeking.found, seeking.location_hinted]))
                learn(feed, [at(data.draw(st.integers(1, 9)), data.draw(st.integers(0, 4)))], now_us)
            case 3:
                for over in seeking.finished_lookups(now_us, linked):
                    seeking.ended(over, now_us)
                    under_way.discard(over)
            case 4:
                for call in seeking.calls(now_us, linked, limits.CALLS_MAX - len(linked)):
                    assert call.place not in linked
                    linked.add(call.place)
            case 5 if linked:
                gone = data.draw(st.sampled_from(sorted(linked, key=str)))
                linked.discard(gone)
                seeking.failed(gone, now_us)
        assert under_way <= set(seeking.feeds)
        assert len(under_way) <= limits.LOOKUPS_MAX
        assert len(linked) <= limits.CALLS_MAX
