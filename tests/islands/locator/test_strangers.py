"""Attacks by strangers: nothing breaks, tables keep their bounds, no amplification beyond three times the bytes
received."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.targets.locator import Story
from tests.islands.locator.villages import GROUP, PORT, SETTINGS, TCP, Village, address, peer, place
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPing,
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    parse,
    serialize,
)
from tinyssb_node.islands.locator.values import (
    Advert,
    Label,
    Location,
    ResourceParameters,
    SendDatagram,
    label_of_address,
)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_whatever_happens_nothing_breaks(data: bytes) -> None:
    Story(data).run()


@pytest.mark.parametrize("seed", range(20))
def test_long_stories(seed: int) -> None:
    Story(random.Random(seed).randbytes(2_000)).run()


def made() -> Locator:
    return Locator(SETTINGS, place(0), random.Random(1), bytes(32), 0)


def test_a_flood_of_pings_leaves_nothing_behind() -> None:
    locator = made()
    for number in range(1, 3_000):
        source = peer(number)
        ping = serialize(LocatorPing(source, b"c"), GROUP)
        (effect,) = locator.receive(ping, source, number)
        assert isinstance(effect, SendDatagram)
        assert effect.to == source
        assert len(effect.datagram) <= 3 * len(ping)
    context = locator.context
    assert (len(context.proved), len(context.confirmed), len(context.unconfirmed), len(context.map)) == (
        0,
        0,
        0,
        0,
    )


def town() -> tuple[Village, Label]:
    """Forty nodes that know each other, and a label with as many locations as a node keeps."""
    village = Village(40)
    label = label_of_address(b"sought")
    for number in range(5, 25):
        village.node(number).offer(label, ResourceParameters(5), 0)
    village.run(3_600_000_000)
    return village, label


def reports_to(village: Village, victim: Peer, query: bytes, claimed: Peer) -> tuple[int, int]:
    """Send every other node *query*, which claims to come from *claimed*. Return the bytes of reports that arrive at
    *victim*, and of all messages that are sent in a quarter of a minute."""
    arrived = 0
    before = village.bytes_sent
    carry = village.carry

    def watched(source: Peer, to: Peer, datagram: bytes) -> int | None:
        nonlocal arrived
        if to == victim and isinstance(parse(datagram, GROUP), LocatorReport):
            arrived += len(datagram)
        return carry(source, to, datagram)

    village.carry = watched  # type: ignore[method-assign] # a tap on the wire
    for number, (one, node) in enumerate(village.nodes.items()):
        if one != victim:
            village.do(number, node.receive(query, claimed, village.now_us))
    village.run(15_000_000)
    return arrived, village.bytes_sent - before


def test_a_query_that_names_another_node_brings_it_nothing() -> None:
    """Reflection: the victim is a gateway that all others know and trust."""
    village, label = town()
    victim, attacker = peer(33), peer(1_000)
    query = serialize(LocatorQuery(victim, label, b"cookie"), GROUP)
    arrived, _ = reports_to(village, victim, query, attacker)
    assert arrived == 0


def test_a_query_in_the_name_of_another_node_brings_it_three_times_the_bytes() -> None:
    """An attacker who can forge the source of a datagram: as with any protocol over UDP, and no more."""
    village, label = town()
    victim = peer(33)
    query = serialize(LocatorQuery(Peer(b"", PORT), label, b"cookie"), GROUP)
    arrived, total = reports_to(village, victim, query, victim)
    assert 0 < arrived <= 3 * 39 * len(query)
    assert total <= 12 * 39 * len(query)


def test_tables_that_strangers_fill_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOCATIONS_UNPROVED_MAX", 100)
    locator = made()
    locator.relay.relays.most = 10
    locator.context.credit.most = 10
    for number in range(1, 400):
        source, label = peer(number), Label(number.to_bytes(20, "big"))
        advert = Advert(label, Location(place(number), ResourceParameters(number)))
        locator.receive(serialize(LocatorPost((advert,)), GROUP), source, number)
        locator.receive(serialize(LocatorQuery(Peer(b"", PORT), label, b"c"), GROUP), source, number)
        locator.receive(
            serialize(LocatorReport(peer(1_000 + number), None, label, ()), GROUP), source, number
        )
        locator.failed(place(number), number)
    assert locator.counts().locations <= 100
    assert len(locator.relay.relays) <= 10
    assert len(locator.context.credit) <= 10
    assert len(locator.context.shunned) <= limits.SHUNNED_MAX
    assert len(locator.maintenance.buffers) <= SETTINGS.buffer_count_max * limits.LABEL_BITS


def test_drops_are_counted_by_reason() -> None:
    locator = made()
    source = peer(1)
    end = GROUP + b"\x08"
    for datagram in (b"", bytes(1_201), b"\x01another!\x08", b"\x09" + end, b"\x02" * 9 + b"\x04" + end):
        assert locator.receive(datagram, source, 0) == []
    for nobody in (
        peer(0),
        Peer(address(0), TCP),
        Peer(b"", PORT),
        Peer(b"\xff" * 4, PORT),
        Peer(address(1), b""),
    ):
        assert locator.receive(serialize(LocatorPing(nobody, b""), GROUP), nobody, 0) == []
    where = ContactAddress(address(5), PORT, b"\0\0")
    advert = Advert(Label(bytes(20)), Location(where, ResourceParameters(1)))
    locator.receive(serialize(LocatorPost((advert,)), GROUP), source, 0)
    locator.receive(serialize(LocatorQuery(Peer(b"\xff" * 4, TCP), Label(bytes(20)), b""), GROUP), source, 0)
    counts = locator.counts()
    assert counts.drops == {
        "Truncated": 1, "DatagramSize": 1, "ForeignGroup": 1, "MessageType": 1, "Destination": 1, "address": 2,
        "source": 5,
    }  # fmt: skip
    assert counts.received == {"post": 1, "query": 1}
    assert counts.received_bytes > 1_201
