"""Which relays a node registers at, and when."""

import random

from tests.islands.locator.villages import place
from tinyssb_node.islands.locator.addresses import ContactAddress, relayed
from tinyssb_node.islands.relay import limits
from tinyssb_node.islands.relay.registrations import RelayRegistrations

HANDLE = b"handle.."


def chosen(registrations: RelayRegistrations, *numbers: int, now_us: int = 0) -> list[ContactAddress]:
    return registrations.choose([place(number) for number in numbers], now_us)


def test_two_relays_at_different_addresses() -> None:
    registrations = RelayRegistrations(random.Random(1).random)
    twin = ContactAddress(place(1).node, b"\0\7", b"\0\7")
    assert len(registrations.choose([place(1), twin], 0)) == 1
    assert not registrations.places
    (first,) = registrations.relays
    assert chosen(registrations, 1, 2) == [place(2)]
    assert chosen(registrations, 1, 2, 3) == []
    registrations.registered(first, HANDLE)
    registrations.registered(place(9), HANDLE)
    assert list(registrations.places) == [relayed(first, HANDLE)]


def test_nodes_do_not_all_choose_the_same() -> None:
    numbers = {
        relay
        for seed in range(40)
        for relay in chosen(RelayRegistrations(random.Random(seed).random), *range(9))
    }
    assert len(numbers) == 9


def test_one_that_ended_rests_a_minute_and_one_that_refuses_an_hour() -> None:
    registrations = RelayRegistrations(random.Random(1).random)
    assert set(chosen(registrations, 1, 2)) == {place(1), place(2)}
    registrations.registered(place(1), HANDLE)
    for relay in (place(1), place(2)):
        registrations.lost(relay, 0)
    assert registrations.places == ()
    assert chosen(registrations, 1, 2, now_us=limits.REST_US - 1) == []
    assert chosen(registrations, 1, 2, now_us=limits.REST_US) == [place(1)]
    assert chosen(registrations, 1, 2, now_us=limits.REFUSED_REST_US) == [place(2)]
