from hashlib import sha256

import pytest

from tests.codec.vectors import load
from tinyssb_node.codec import dmx
from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import Dialect, FeedId, MessageId

OPEN = Network()
FEED = FeedId(bytes(range(32)))


@pytest.mark.parametrize("dialect", list(Dialect))
def test_names_dmx_and_ids_of_feeds(dialect: Dialect) -> None:
    vectors = load(f"feed_{dialect}.json")
    feed = FeedId.from_hex(vectors["feed_id"])
    prev = dmx.first_prev(feed, dialect)
    for message in vectors["messages"]:
        assert prev.hex() == message["prev"]
        name = dmx.entry_name(OPEN, feed, message["seq"], prev)
        assert dmx.dmx_of(name).hex() == message["dmx"]
        prev = dmx.message_id(name, bytes.fromhex(message["packet"]))
        assert prev.hex() == message["msg_id"]


def test_dmx_of_sets() -> None:
    vectors = load("goset.json")
    assert OPEN.goset_dmx.hex() == vectors["goset_dmx"]
    for entry in vectors["sets"]:
        state = bytes.fromhex(entry["state"])
        assert dmx.want_dmx(OPEN, state).hex() == entry["want_dmx"]
        assert dmx.chnk_dmx(OPEN, state).hex() == entry["chnk_dmx"]


def test_a_key_makes_another_network() -> None:
    closed = Network(b"valley")
    assert closed.prefix == b"valleytinyssb-v0"
    assert closed.goset_dmx == sha256(b"valleytinySSB-0.1 GOset 1").digest()[:7]
    assert dmx.want_dmx(closed, bytes(32)) == sha256(b"valleytinyssb-v0want" + bytes(32)).digest()[:7]
    assert dmx.entry_name(closed, FEED, 1, bytes(20)) == b"valley" + dmx.entry_name(OPEN, FEED, 1, bytes(20))


def test_networks_are_compared_by_key() -> None:
    assert Network(b"a") == Network(b"a")
    assert Network(b"a") != Network(b"b")
    assert Network(b"a") != Network(b"a", b"b")
    assert repr(Network(b"a", b"b")) == "Network(key=b'a', set_key=b'b')"


def test_a_set_key_makes_another_set_of_the_same_feeds() -> None:
    fresh, state = Network(b"valley", b"hill"), bytes(32)
    assert fresh.prefix == Network(b"valley").prefix, "entries are the same"
    assert fresh.goset_dmx == Network(b"hill").goset_dmx == sha256(b"hilltinySSB-0.1 GOset 1").digest()[:7]
    assert dmx.want_dmx(fresh, state) == sha256(b"hilltinyssb-v0want" + state).digest()[:7]
    assert dmx.chnk_dmx(fresh, state) == sha256(b"hilltinyssb-v0blob" + state).digest()[:7]


def test_entry_name_is_prefix_feed_seq_prev() -> None:
    assert (
        dmx.entry_name(OPEN, FEED, 258, b"p" * 20) == b"tinyssb-v0" + FEED + b"\x00\x00\x01\x02" + b"p" * 20
    )


def test_ping_and_pong() -> None:
    assert dmx.PING_DMX.hex() == "a524645014d834"
    assert dmx.PONG_DMX.hex() == "2e47e0fd8339ce"


def test_what_stands_before_entry_one() -> None:
    assert dmx.first_prev(FEED, Dialect.SPEC) == MessageId(bytes(20))
    assert dmx.first_prev(FEED, Dialect.DEPLOYED) == MessageId(FEED[:20])


def test_hashes_of_packets() -> None:
    digest = sha256(b"packet").digest()
    assert dmx.chunk_hash(b"packet") == digest[:20]
    assert dmx.packet_hash(b"packet") == digest[:8]
