"""A hostile station's packets: each kind is one that nodes read, and each field can be a lie."""

import random

import pytest

from tinyssb_node.codec import packets
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.replication.salted import short_id
from tinyssb_node.sim.hostile_packets import (
    CHOICES,
    FIELDS,
    MAKERS,
    MANGLES,
    Lie,
    View,
    make_packet,
    own_packets,
)
from tinyssb_node.store.port import FeedRecord

NETWORK = Network()
FEEDS = [FeedId(bytes([number]) * 32) for number in range(1, 4)]


def view() -> View:
    keys = [SigningKey(bytes([9]) * 32)]
    seen = View(NETWORK, random.Random("view"), keys, own=own_packets(NETWORK, keys))
    seen.records = [
        FeedRecord(feed=feed, dialect=Dialect.SPEC, seq=7, tip=None, own=False, wanted=True, forked_at=None)
        for feed in FEEDS
    ]
    return seen


@pytest.mark.parametrize("kind", MAKERS)
def test_any_choice_of_fields_makes_a_packet_of_the_air(kind: str) -> None:
    chance, seen = random.Random(kind), view()
    seen.hear(b"something heard")
    for _ in range(60):
        chosen = {key: chance.choice(CHOICES[key]) for key in FIELDS[kind]}
        made = make_packet(seen, Lie(kind=kind, mangle=chance.choice(MANGLES), **chosen))
        assert made is not None
        packet, counted_as = made
        assert 0 < len(packet) <= 120
        assert counted_as is MAKERS[kind][0]


def test_a_want_that_tells_the_truth_is_the_one_of_the_node_in_reach() -> None:
    seen = view()
    made = make_packet(seen, Lie(kind="want", speaker="fixed"))
    assert made is not None
    assert made[0].startswith(want_dmx(NETWORK, seen.state))
    want = packets.parse_want(made[0])
    assert (want.seqs, want.speaker, want.asks) == ((8, 8, 8), b"ww", b"")


def test_numbers_lie_as_they_are_told() -> None:
    for how, seqs in (("first", {1}), ("far", {2**31}), ("none", {0}), ("ahead", set(range(9, 17)))):
        made = make_packet(view(), Lie(kind="named-want", seq=how, salt="fixed", whose="all"))
        assert made is not None
        want = packets.parse_named_want(made[0])
        assert {short for short, _ in want.wanted} == {short_id(want.salt, feed) for feed in FEEDS}
        assert {seq for _, seq in want.wanted} <= seqs


def test_a_chnk_names_side_chains_of_the_set() -> None:
    seen = view()
    made = make_packet(seen, Lie(kind="chnk", whose="one"))
    assert made is not None
    assert made[0].startswith(chnk_dmx(NETWORK, seen.state))
    assert packets.parse_chnk(made[0]).wanted[0][1] == 7


def test_it_speaks_with_names_and_salts_that_it_heard() -> None:
    seen = view()
    want = packets.Want(0, (1,), b"ab", b"")
    seen.hear(packets.serialize_want(want_dmx(NETWORK, seen.state), want))
    seen.hear(packets.serialize_ask(NETWORK.goset_dmx, packets.Ask(b"salt", (5,))))
    made = make_packet(seen, Lie(kind="named-want", speaker="heard", asks="heard", salt="heard"))
    assert made is not None
    named = packets.parse_named_want(made[0])
    assert (named.salt, named.speaker, named.asks) == (b"salt", b"ab", b"ab")


def test_it_replays_what_it_heard() -> None:
    seen = view()
    assert make_packet(seen, Lie(kind="replay")) is None
    seen.hear(b"first")
    seen.hear(b"second")
    made = make_packet(seen, Lie(kind="replay", whose="one"))
    assert made is not None
    assert made[0] == b"second"


def test_nothing_is_sent_while_no_set_is_known() -> None:
    seen = view()
    seen.look(())
    assert make_packet(seen, Lie(kind="junk")) is None
