"""Networks find each other's feeds, tell of news, and stay apart from other networks."""

import random

import pytest

from tests.islands.gateway.wires import S, Shelf, Wires, holding, place, settings
from tests.nodes import feed_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import FeedSelection
from tinyssb_node.islands.gateway.network import GatewayNetwork
from tinyssb_node.islands.gateway.peersfile import KnownPeers
from tinyssb_node.islands.gateway.reachability import NOWHERE
from tinyssb_node.islands.locator.addresses import ContactAddress, node_of, relayed
from tinyssb_node.islands.locator.packets import LocatorPing, LocatorPong, LocatorReport, parse, serialize
from tinyssb_node.islands.locator.values import Location, ResourceParameters, group_of_network, label_of_feed

ANA, BOB = feed_of(1), feed_of(2)


def three() -> Wires:
    """Two that know a third."""
    wires = Wires()
    for number in (1, 2, 3):
        wires.add(number, *(() if number == 3 else (3,)))
    return wires


def test_what_one_holds_the_other_finds_through_a_third() -> None:
    wires = three()
    _, other, _ = wires.islands.values()
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.go_on(60)
    wires.shelves[2].feeds = [holding(ANA, 3), holding(BOB, 0)]
    wires.go_on(30)
    assert other.seeking.places(ANA) == {place(1): ResourceParameters(7, 255)}
    (call,) = other.calls((), 8, wires.now_us)
    assert (call.place, call.feed, call.seq, call.newer) == (place(1), ANA, 7, True)
    assert other.offers == {ANA: ResourceParameters(3, 255), BOB: ResourceParameters(0, 0)}
    counts = other.counts()
    assert counts is not None
    assert counts.confirmed == 2


def test_who_is_behind_is_told() -> None:
    wires = three()
    other = wires.islands[place(2).peer]
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.shelves[2].feeds = [holding(ANA, 7)]
    wires.go_on(1_800)
    assert [other.newer] == [0]
    wires.shelves[1].feeds = [holding(ANA, 8, ours=True)]
    wires.go_on(1_200)
    assert other.newer
    assert other.seeking.places(ANA)[place(1)].timestamp == 8


def test_who_has_nothing_of_a_feed_is_told_when_it_is_somewhere() -> None:
    wires = three()
    other = wires.islands[place(2).peer]
    wires.shelves[2].feeds = [holding(ANA, 0)]
    wires.go_on(7_200)
    assert other.calls((), 8, wires.now_us) == []
    asked = other.lookups
    wires.shelves[1].feeds = [holding(ANA, 1, ours=True)]
    wires.go_on(1_200)
    assert other.newer
    assert other.lookups <= asked + 1
    assert [call.place for call in other.calls((), 8, wires.now_us)] == [place(1)]


def test_made_up_news_keep_nobody_from_a_place_that_was_found() -> None:
    wires = three()
    other = wires.islands[place(2).peer]
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.shelves[2].feeds = [holding(ANA, 7)]
    wires.go_on(60)
    lies = [Location(place(number), ResourceParameters(2**31, 255)) for number in range(1, 100)]
    for some in (lies[:9], lies[9:18]):
        report = LocatorReport(None, None, label_of_feed(ANA), tuple(some), exact=False)
        other.receive(serialize(report, group_of_network(Network())), place(50).peer, wires.now_us)
        wires.go_on(11)
    assert other.newer == 2
    assert other.seeking.places(ANA)[place(1)].timestamp == 7
    other.seeking.location_hinted(ANA, lies[:1], wires.now_us)
    other.failed(place(1), wires.now_us)
    assert other.seeking.places(ANA)[place(1)].timestamp == 7
    # It is not shunned: a lookup finds what it has now.
    wires.shelves[1].feeds = [holding(ANA, 8, ours=True)]
    wires.go_on(330)
    assert other.seeking.places(ANA)[place(1)].timestamp == 8


def test_another_network_is_not_heard() -> None:
    wires = three()
    stranger = wires.add(4, 3, key=b"other")
    wires.shelves[4].feeds = [holding(ANA, 0)]
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.go_on(120)
    assert stranger.seeking.places(ANA) == {}
    counts, third = stranger.counts(), wires.islands[place(3).peer].counts()
    assert counts is not None
    assert third is not None
    assert (counts.confirmed, counts.received) == (0, {})
    assert third.drops["ForeignGroup"] > 0
    assert third.confirmed == 2
    assert stranger.ending != wires.islands[place(3).peer].ending


def test_a_place_that_failed_is_not_handed_up_again() -> None:
    wires = three()
    other = wires.islands[place(2).peer]
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.shelves[2].feeds = [holding(ANA, 3)]
    wires.go_on(60)
    assert other.calls((), 8, wires.now_us)
    other.failed(place(1), wires.now_us)
    wires.go_on(600)
    assert other.calls((), 8, wires.now_us) == []


def test_what_is_connected_is_not_looked_for() -> None:
    wires = three()
    other = wires.islands[place(2).peer]
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.shelves[2].feeds = [holding(ANA, 3)]
    wires.go_on(60)
    wires.linked[2].add(place(1))
    wires.go_on(2)
    asked = other.lookups
    wires.go_on(24 * 3_600)
    assert other.lookups == asked
    assert other.calls(wires.linked[2], 8, wires.now_us) == []


def test_who_cannot_be_reached_finds_others_and_looks_more_often() -> None:
    wires = three()
    hidden = wires.islands[place(2).peer]
    hidden.begin(NOWHERE, KnownPeers((place(3).peer,)), 0)
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.shelves[2].feeds = [holding(ANA, 3)]
    wires.go_on(120)
    assert [call.place for call in hidden.calls((), 8, wires.now_us)] == [place(1)]
    asked = hidden.lookups
    wires.go_on(2 * 3_600)
    assert hidden.lookups > asked
    assert place(2) not in wires.islands[place(3).peer].seeking.places(ANA)


def test_nothing_is_told_or_sought_against_the_policy() -> None:
    wires = Wires()
    quiet = wires.add(1, offer=FeedSelection.OWN, seek=FeedSelection.NONE)
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True), holding(BOB, 5)]
    wires.go_on(60)
    assert quiet.offers == {ANA: ResourceParameters(7, 255)}
    assert (list(quiet.seeking.feeds), quiet.lookups) == ([], 0)
    wires.shelves[1].feeds = []
    wires.go_on(5)
    assert quiet.offers == {}


def test_who_begins_anew_keeps_whom_it_knew_and_looks_at_once() -> None:
    wires = three()
    other = wires.islands[place(2).peer]
    wires.shelves[2].feeds = [holding(ANA, 3)]
    wires.go_on(60)
    known, asked = other.known(), other.lookups
    assert set(known.recent) == {place(1).peer, place(3).peer}
    other.begin(place(2), KnownPeers(), wires.now_us)
    assert other.offers == {ANA: ResourceParameters(3, 255)}
    wires.go_on(10)
    assert set(other.known().recent) == set(known.recent)
    assert other.lookups > asked


def test_as_long_as_nobody_answers_those_who_did_are_remembered() -> None:
    alone = Wires().add(1, 7, 8)
    assert set(alone.known().recent) == {place(7).peer, place(8).peer}
    assert set(alone.known().historic) == {place(7).peer, place(8).peer}


@pytest.mark.parametrize("minutes", [60, 450])
def test_when_others_answer_again_everything_is_looked_for(minutes: int) -> None:
    wires = three()
    hidden = wires.islands[place(2).peer]
    hidden.begin(NOWHERE, KnownPeers((place(3).peer,), (place(3).peer,)), 0)
    # Carried nowhere: each search for it in vain makes the next one wait longer.
    wires.shelves[2].feeds = [holding(ANA, 3)]
    wires.go_on(600)
    wires.cut.add(place(2).peer)
    wires.go_on(minutes * 60)
    counts = hidden.counts()
    assert counts is not None
    assert counts.confirmed == 0
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.go_on(600)
    asked = hidden.lookups
    wires.cut.clear()
    wires.go_on(100)
    assert hidden.seeking.places(ANA) == {place(1): ResourceParameters(7, 255)}
    assert hidden.lookups <= asked + 2


def test_somebody_may_watch_a_lookup_of_any_feed() -> None:
    wires = three()
    third = wires.islands[place(3).peer]
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.go_on(60)
    seen: list[tuple[tuple[Location, ...], bool]] = []

    def watch(locations: tuple[Location, ...], over: bool) -> None:
        seen.append((locations, over))

    third.watch(ANA, watch, wires.now_us)
    wires.go_on(5)
    assert (Location(place(1), ResourceParameters(7, 255)),) in [locations for locations, _ in seen]
    third.unwatch(ANA, watch)
    count = len(seen)
    wires.go_on(60)
    assert len(seen) == count
    counts = third.counts()
    assert counts is not None
    assert counts.seeks == 0


def test_a_watch_hears_of_the_end() -> None:
    wires = Wires()
    alone = wires.add(1)
    seen: list[bool] = []
    alone.watch(ANA, lambda _locations, over: seen.append(over), 0)
    wires.go_on(600)
    assert seen[-1:] == [True]
    assert wires.now_us == 600 * S


def test_two_that_begin_together_find_each_other_before_the_first_advert() -> None:
    wires = three()
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.shelves[2].feeds = [holding(ANA, 3)]
    wires.go_on(4)
    (call,) = wires.islands[place(2).peer].calls((), 8, wires.now_us)
    assert (call.place, call.seq) == (place(1), 7)


def test_who_asks_is_told_how_it_is_now() -> None:
    wires = three()
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    wires.go_on(600)
    wires.shelves[1].feeds = [holding(ANA, 8, ours=True)]
    wires.go_on(1)
    wires.shelves[2].feeds = [holding(ANA, 7)]
    wires.go_on(5)
    assert wires.islands[place(2).peer].seeking.places(ANA)[place(1)].timestamp == 8


def test_peers_are_told_the_free_space_as_it_is_now() -> None:
    sent: list[bytes] = []
    free = [2**20]
    island = GatewayNetwork(
        DEFAULT_NETWORK,
        Network(),
        settings(),
        Shelf(),
        lambda _to, datagram: sent.append(datagram),
        chance=random.Random(1),
        free_bytes=lambda: free[0],
    )
    island.begin(place(1), KnownPeers(), 0)
    ping = serialize(LocatorPing(place(2).peer, b"cookie"), island.group)
    for space in (2**20, 2**30, 0):
        free[0] = space
        island.look((), 0)
        island.receive(ping, place(2).peer, 0)
        pong = parse(sent[-1], island.group)
        assert isinstance(pong, LocatorPong)
        assert pong.parameters.free_bytes == space


def test_a_network_that_cannot_be_reached_is_found_at_relays() -> None:
    wires = three()
    hidden, relay = wires.islands[place(1).peer], place(3)
    wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
    hidden.begin(NOWHERE, KnownPeers((relay.peer,), (relay.peer,)), 0)
    assert hidden.needs_relays(0)
    assert not wires.islands[place(2).peer].needs_relays(limits.REACHED_WAIT_US - 1)
    wires.go_on(10)
    assert relay in hidden.reachable_peers()
    hidden.relayed((relayed(relay, b"a handle"),), wires.now_us)
    wires.go_on(150)
    wires.shelves[2].feeds = [holding(ANA, 0)]
    wires.go_on(60)
    places = {relayed(relay, b"a handle"): ResourceParameters(7, 255)}
    assert wires.islands[place(2).peer].seeking.places(ANA) == places
    # It stays so when it begins anew, as after a change of networks.
    hidden.begin(NOWHERE, KnownPeers((relay.peer,), (relay.peer,)), wires.now_us)
    wires.shelves[1].feeds = [holding(ANA, 8, ours=True)]
    wires.go_on(150)
    late = wires.add(4, 3)
    wires.shelves[4].feeds = [holding(ANA, 0)]
    wires.go_on(60)
    assert late.seeking.places(ANA)[relayed(relay, b"a handle")] == ResourceParameters(8, 255)


def test_a_holder_that_can_be_reached_is_called_before_one_behind_a_relay() -> None:
    wires = three()
    island = wires.islands[place(2).peer]
    wires.shelves[2].feeds = [holding(ANA, 0)]
    wires.go_on(2)
    locations = [Location(one, ResourceParameters(7)) for one in (relayed(place(3), b"a handle"), place(9))]
    island.seeking.found(ANA, locations, wires.now_us)
    calls = [island.calls((), 8, wires.now_us)[0].place for _ in range(400)]
    # Half of the time it is any of them, since those that claim most may lie.
    assert 250 < calls.count(place(9)) < 350


def test_an_address_that_nobody_reaches_is_not_enough() -> None:
    wires = Wires()
    lonely = wires.add(1)
    assert not lonely.needs_relays(limits.REACHED_WAIT_US - 1)
    assert lonely.needs_relays(limits.REACHED_WAIT_US)
    ping = serialize(LocatorPing(place(2).peer, b"cookie"), lonely.group)
    lonely.receive(ping, place(2).peer, 0)
    assert not lonely.needs_relays(limits.REACHED_WAIT_US)


def test_without_an_address_of_ipv4_relays_are_used_too() -> None:
    island = three().islands[place(1).peer]
    six = ContactAddress(node_of("2001:db8::1"), place(1).message, place(1).connection)
    island.begin(six, KnownPeers(), 0)
    assert island.needs_relays(0)
    island.begin(six, KnownPeers(), 0, also=place(1))
    assert not island.needs_relays(0)
    # Both sides of two connections choose the same one, since they compare addresses of one family.
    assert island.address_like(place(2).node) == place(1).node
    assert island.address_like(node_of("2001:db8::2")) == six.node
    assert island.is_ours(six.node)
    assert island.is_ours(place(1).node)
