import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.islands.locator.test_packets import VECTORS
from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import (
    Peer,
    Scope,
    host_of,
    node_of,
    parse_hostport,
    peer_of,
    port_of,
    reachable,
    scope_of,
)
from tinyssb_node.islands.locator.context import CookieMaker, CookiePurpose
from tinyssb_node.islands.locator.packets import parse_usf, serialize_usf
from tinyssb_node.islands.locator.values import (
    Label,
    group_of_network,
    label_of_address,
    label_of_feed,
    position,
)

FROZEN = json.loads((VECTORS / "values_v1.json").read_text("utf-8"))
labels = st.binary(min_size=20, max_size=20).map(Label)


def test_frozen_values() -> None:
    for row in FROZEN["labels"]:
        known = row.get("feed")
        label = (
            label_of_address(node_of(row["address"]))
            if known is None
            else label_of_feed(FeedId.from_hex(known))
        )
        assert label.hex() == row["label"]
    for row in FROZEN["groups"]:
        assert group_of_network(Network(bytes.fromhex(row["network_key"]))).hex() == row["group"]
    for row in FROZEN["usf"]:
        assert serialize_usf(row["number"]).hex() == row["bytes"]
    for row in FROZEN["cookies"]:
        cookies = CookieMaker(bytes.fromhex(row["secret"]))
        made = cookies.make(CookiePurpose(row["use"].encode()), bytes.fromhex(row["subject"]), row["now_us"])
        assert made.hex() == row["cookie"]


@settings(deadline=None)
@given(st.binary(min_size=2, max_size=2))
def test_a_short_float_is_written_as_it_was_read(data: bytes) -> None:
    assert serialize_usf(parse_usf(data)) == data


@settings(deadline=None)
@given(st.integers(0, 2 * limits.USF_MAX))
def test_a_short_float_loses_less_than_one_in_256(number: int) -> None:
    said = parse_usf(serialize_usf(number))
    number = min(number, limits.USF_MAX)
    assert said <= number < said + max(1, said // 255 + 1)
    with pytest.raises(ValueError, match="negative"):
        serialize_usf(-1)


@settings(deadline=None)
@given(labels, labels)
def test_the_first_bit_that_differs(mine: Label, other: Label) -> None:
    bits = [f"{int.from_bytes(label, 'big'):0160b}" for label in (mine, other)]
    expected = next((at for at in range(160) if bits[0][at] != bits[1][at]), None)
    assert position(mine, other) == expected


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("0.1.2.3", Scope.NOWHERE), ("224.0.0.1", Scope.NOWHERE), ("255.255.255.255", Scope.NOWHERE),
        ("127.0.0.2", Scope.LOOPBACK), ("10.1.2.3", Scope.PRIVATE), ("172.16.0.1", Scope.PRIVATE),
        ("172.32.0.1", Scope.GLOBAL), ("192.168.1.1", Scope.PRIVATE), ("169.254.169.254", Scope.NOWHERE),
        ("192.0.0.8", Scope.PRIVATE), ("198.18.0.1", Scope.PRIVATE), ("198.20.0.1", Scope.GLOBAL),
        ("100.64.0.1", Scope.PRIVATE), ("100.128.0.1", Scope.GLOBAL), ("192.0.2.1", Scope.GLOBAL),
        ("::", Scope.NOWHERE), ("::1", Scope.LOOPBACK), ("fe80::1", Scope.NOWHERE), ("ff02::1", Scope.NOWHERE),
        ("fd00::1", Scope.PRIVATE), ("2001:db8::1", Scope.GLOBAL), ("2606:4700::1", Scope.GLOBAL),
        ("fec0::1", Scope.NOWHERE), ("100::1", Scope.NOWHERE), ("4000::1", Scope.NOWHERE),
        # IPv4 within IPv6: compatible, NAT64, NAT64 for local use, 6to4, Teredo (its client's bits are inverted).
        ("::7f00:1", Scope.NOWHERE), ("::c000:201", Scope.NOWHERE),
        ("64:ff9b::7f00:1", Scope.NOWHERE), ("64:ff9b::a00:1", Scope.NOWHERE), ("64:ff9b::a9fe:a9fe", Scope.NOWHERE),
        ("64:ff9b::c000:201", Scope.GLOBAL), ("64:ff9b:1::c000:201", Scope.NOWHERE),
        ("2002:7f00:1::1", Scope.NOWHERE), ("2002:a00:1::1", Scope.NOWHERE), ("2002:c0a8:101::", Scope.NOWHERE),
        ("2002:c000:201::1", Scope.GLOBAL),
        ("2001:0:c000:201:0:ffff:80ff:fffe", Scope.NOWHERE), ("2001:0:c000:201:0:ffff:f5ff:fffe", Scope.NOWHERE),
        ("2001:0:a00:1:0:ffff:3fff:fdfe", Scope.NOWHERE), ("2001:0:c000:201:0:ffff:3fff:fdfe", Scope.GLOBAL),
    ],
)  # fmt: skip
def test_from_where_an_address_can_be_reached(text: str, scope: Scope) -> None:
    assert scope_of(node_of(text)) is scope
    assert host_of(node_of(text)) == text


@given(st.integers(2, 2**32 - 1))
def test_no_form_of_an_ipv4_address_reaches_further_than_itself(number: int) -> None:
    """Of no form of it a stranger makes us send where the address itself would not."""
    four = number.to_bytes(4, "big")
    inverted = (number ^ 0xFFFFFFFF).to_bytes(4, "big")
    for form in (
        bytes(10) + b"\xff\xff" + four,
        bytes(12) + four,
        node_of("64:ff9b::")[:12] + four,
        b"\x20\x02" + four + bytes(9) + b"\1",
        node_of("2001:0:c000:201::")[:12] + inverted,
        node_of("2001::")[:4] + four + node_of("::ffff:3fff:fdfe")[8:],
    ):
        assert scope_of(form) in (
            {Scope.GLOBAL, Scope.NOWHERE} if scope_of(four) is Scope.GLOBAL else {Scope.NOWHERE}
        )


def test_nobody_is_sent_into_a_network_that_others_cannot_see() -> None:
    port = port_of(1)
    loopback, private, public = (node_of(one) for one in ("127.0.0.1", "10.0.0.1", "192.0.2.1"))
    seen = {
        mine: [node for node in (loopback, private, public) if reachable(mine, node, port)]
        for mine in (loopback, private, public, b"")
    }
    assert seen == {
        loopback: [loopback, private, public],
        private: [private, public],
        public: [public],
        b"": [private, public],
    }
    assert not reachable(public, public, b"\0\0")
    assert not reachable(public, public, b"\1")
    assert not reachable(public, bytes(10) + b"\xff\xff" + public, port)
    assert not reachable(public, b"abc", port)


def test_addresses_as_people_write_them() -> None:
    assert str(peer_of("192.0.2.1", 4242)) == "192.0.2.1:4242"
    assert str(peer_of("::ffff:192.0.2.1", 4242)) == "192.0.2.1:4242"
    assert str(peer_of("2001:db8::1%eth0", 1)) == "[2001:db8::1]:1"
    assert str(Peer(b"abc", b"\1")) == "616263:01"
    assert parse_hostport("[2001:db8::1]:4242") == ("2001:db8::1", 4242)
    assert parse_hostport("gate.example:80") == ("gate.example", 80)
    for wrong in ("192.0.2.1", "2001:db8::1:1", ":1", "a:0", "a:65536", "a:x", "[a:1", "a:+1", "a:\u0661"):
        with pytest.raises(ValueError, match="port"):
            parse_hostport(wrong)


@settings(deadline=None)
@given(
    st.binary(min_size=32, max_size=32), st.binary(max_size=30), st.integers(0, 2**60), st.integers(0, 10**8)
)
def test_a_cookie_is_known_again_for_what_it_was_made(
    secret: bytes, subject: bytes, now_us: int, later: int
) -> None:
    cookies = CookieMaker(secret)
    cookie = cookies.make(CookiePurpose.PONG, subject, now_us)
    assert len(cookie) == limits.COOKIE_SIZE
    age_us = cookies.age_us(cookie, CookiePurpose.PONG, subject, now_us + later, 10**9)
    assert age_us is not None
    assert abs(age_us - later) < 1_000
    assert cookies.age_us(cookie, CookiePurpose.REPORT, subject, now_us, 10**9) is None
    assert cookies.age_us(cookie, CookiePurpose.PONG, subject + b"x", now_us, 10**9) is None
    assert cookies.age_us(cookie, CookiePurpose.PONG, subject, now_us + 2_000_000, 1_000_000) is None
    assert CookieMaker(secret[::-1] + b"x").age_us(cookie, CookiePurpose.PONG, subject, now_us, 10**9) is None
    for at in range(len(cookie)):
        changed = cookie[:at] + bytes((cookie[at] ^ 1,)) + cookie[at + 1 :]
        assert cookies.age_us(changed, CookiePurpose.PONG, subject, now_us, 10**9) is None
    assert cookies.age_us(cookie[:-1], CookiePurpose.PONG, subject, now_us, 10**9) is None
