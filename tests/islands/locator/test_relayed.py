"""Nodes that cannot be reached are found at relays."""

from tests.islands.locator.test_maintenance import LABEL, posts
from tests.islands.locator.test_peers import BY_POSITION
from tests.islands.locator.villages import (
    PORT,
    TCP,
    Village,
    alone,
    befriend,
    located,
    peer,
    place,
    said,
    tell,
)
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import (
    ContactAddress,
    Peer,
    host_of,
    node_of,
    relayed,
    split_relayed,
    text_of,
)
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import LocatorPost, LocatorQuery, LocatorReport
from tinyssb_node.islands.locator.values import Advert, Location, ResourceFound, ResourceParameters

HANDLE, OTHER = bytes(range(8)), bytes(8)
HIDDEN = ContactAddress(b"", PORT, TCP)
AT_RELAY = relayed(place(7), HANDLE)
MINUTE_US = 60_000_000


def test_addresses_behind_relays() -> None:
    assert split_relayed(AT_RELAY.node) == (place(7).node, HANDLE)
    assert split_relayed(place(7).node) == (place(7).node, b"")
    assert split_relayed(node_of("2001:db8::7") + HANDLE) == (node_of("2001:db8::7"), HANDLE)
    assert split_relayed(b"") == (b"", b"")
    assert text_of(AT_RELAY.node, TCP) == f"{host_of(place(7).node)}:8008/0001020304050607"
    assert text_of(node_of("2001:db8::7") + HANDLE, TCP) == "[2001:db8::7]:8008/0001020304050607"


def hidden() -> Locator:
    locator = alone(me=HIDDEN)
    befriend(locator, *(number for numbers in BY_POSITION.values() for number in numbers[:1]))
    return locator


def test_a_hidden_node_advertises_its_relays_and_nothing_without_them() -> None:
    locator = hidden()
    locator.offer(LABEL, ResourceParameters(9), 0)
    assert posts(locator, 10 * MINUTE_US) == []
    places = [relayed(place(number), HANDLE) for number in (7, 8, 9)]
    locator.relayed(places, 10 * MINUTE_US)
    told = [advert for _, post in posts(locator, 12 * MINUTE_US) for advert in post.adverts]
    assert {advert.location for advert in told} == {
        Location(one, ResourceParameters(9)) for one in places[: limits.RELAYS_OF_ONE_MAX]
    }
    assert {one.place for one in locator.context.map.known(LABEL)} == set(places[:2])
    locator.relayed(places[1:2], 12 * MINUTE_US)
    assert [one.place for one in locator.context.map.known(LABEL)] == [places[1]]
    posts(locator, 12 * MINUTE_US + limits.BUFFER_AGE_US)
    later = [advert for _, post in posts(locator, 60 * MINUTE_US) for advert in post.adverts]
    assert {advert.location.place for advert in later} == {places[1]}
    locator.withdraw(LABEL)
    assert locator.context.map.known(LABEL) == ()


def test_its_own_locations_are_not_told_to_it() -> None:
    locator = hidden()
    locator.relayed([AT_RELAY], 0)
    (to, query), *_ = [
        (to, message) for to, message in said(locator.seek(LABEL, 0)) if isinstance(message, LocatorQuery)
    ]
    theirs = Location(relayed(place(7), OTHER), ResourceParameters(3))
    report = LocatorReport(
        None, query.cookie, LABEL, (Location(AT_RELAY, ResourceParameters(5)), theirs), exact=False
    )
    (found,) = [one for one in tell(locator, report, to, 1_000) if isinstance(one, ResourceFound)]
    assert found.locations == (theirs,)


def test_locations_at_relays_in_private_networks_are_not_used() -> None:
    locator = alone()
    befriend(locator, 1)
    inside = relayed(ContactAddress(node_of("192.168.0.1"), PORT, TCP), HANDLE)
    strange = ContactAddress(bytes(11), PORT, TCP)
    adverts = [Advert(LABEL, Location(one, ResourceParameters(1))) for one in (inside, strange, AT_RELAY)]
    tell(locator, LocatorPost(tuple(adverts)), peer(1))
    assert [one.place for one in locator.context.map.known(LABEL)] == [AT_RELAY]
    assert locator.counts().drops == {"address": 2}


def test_nothing_is_sent_to_a_location_at_a_relay() -> None:
    locator = alone()
    befriend(locator, 1)
    old, new = Location(AT_RELAY, ResourceParameters(1)), located(2, 5)
    effects = tell(locator, LocatorPost((Advert(LABEL, old), Advert(LABEL, new))), peer(1))
    effects += tell(locator, LocatorPost((Advert(LABEL, old),)), peer(1), 1_000)
    for relay in (AT_RELAY.peer, place(7).peer):
        assert relay not in {to for to, _ in said(effects)}
        assert relay not in {to for to, _ in posts(locator, 5 * MINUTE_US)}
    assert locator.counts().drops == {}


def test_in_a_village_a_hidden_node_is_found() -> None:
    village = Village(12, hidden=frozenset({10, 11}))
    village.run(2 * MINUTE_US)
    village.node(10).relayed([relayed(place(3), HANDLE), relayed(place(4), HANDLE)], village.now_us)
    village.node(10).offer(LABEL, ResourceParameters(7), village.now_us)
    village.run(10 * MINUTE_US)
    village.do(11, village.node(11).seek(LABEL, village.now_us))
    village.run(MINUTE_US)
    found = [one for one in village.found(11, LABEL) if isinstance(one, ResourceFound)]
    assert {location.place for one in found for location in one.locations} == {
        relayed(place(3), HANDLE),
        relayed(place(4), HANDLE),
    }


def test_a_gateway_knows_which_peers_may_be_relays() -> None:
    locator = hidden()
    assert {one.peer for one in locator.reachable_peers()} == {
        peer(number) for numbers in BY_POSITION.values() for number in numbers[:1]
    }
    assert Peer(b"", PORT) not in {one.peer for one in locator.reachable_peers()}


def test_one_that_may_be_reachable_is_advertised_at_both() -> None:
    locator = alone()
    befriend(locator, *(number for numbers in BY_POSITION.values() for number in numbers[:1]))
    locator.relayed([AT_RELAY], 0)
    locator.offer(LABEL, ResourceParameters(9), 0)
    told = [advert for _, post in posts(locator, 3 * MINUTE_US) for advert in post.adverts]
    assert {advert.location.place for advert in told} == {place(0), AT_RELAY}
    locator.withdraw(LABEL)
    assert locator.context.map.known(LABEL) == ()
