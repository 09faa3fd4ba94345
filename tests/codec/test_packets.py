from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load, load_lines
from tinyssb_node import limits
from tinyssb_node.codec import packets
from tinyssb_node.codec.bipf import BipfError, Value, encode
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX, Network, chnk_dmx, want_dmx
from tinyssb_node.codec.packets import (
    Anchor,
    Ask,
    Chnk,
    Claim,
    Coded,
    CodedChunk,
    Diff,
    Entry,
    Feeds,
    NamedChnk,
    NamedWant,
    Newest,
    Novelty,
    Ping,
    Pong,
    Sketch,
    Want,
    Zap,
)
from tinyssb_node.errors import (
    NobodyError,
    PacketKindError,
    PacketSizeError,
    PaddingError,
    PeerError,
    PingTextError,
    RegionError,
    VectorNumberError,
    VectorShapeError,
)
from tinyssb_node.ids import Dialect, Dmx, FeedId, MessageId

OPEN = Network()
DMX = Dmx(b"\x01\x02\x03\x04\x05\x06\x07")
PARSERS: list[Callable[[bytes], Any]] = [
    packets.parse_entry,
    packets.parse_claim,
    packets.parse_novelty,
    packets.parse_zap,
    packets.parse_sketch,
    packets.parse_ask,
    packets.parse_feeds,
    packets.parse_diff,
    packets.parse_named_want,
    packets.parse_named_chnk,
    packets.parse_newest,
    packets.parse_anchor,
    packets.parse_want,
    packets.parse_chnk,
    packets.parse_ping,
    packets.parse_pong,
]
FEEDS = st.binary(min_size=32, max_size=32).filter(any).map(FeedId)
NUMBERS = st.integers(0, limits.SEQ_MAX)
SPEAKERS = st.binary(min_size=2, max_size=2).filter(any)
WORDS = st.text("abcdef0123456789.,-", min_size=1, max_size=6)
FIELDS = st.lists(st.tuples(st.sampled_from(["t", "gps", "rssi"]), WORDS), max_size=3).map(tuple)


# --- entries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", list(Dialect))
def test_entries_of_the_vectors(dialect: Dialect) -> None:
    for message in load(f"feed_{dialect}.json")["messages"]:
        packet = bytes.fromhex(message["packet"])
        entry = packets.parse_entry(packet)
        assert (entry.dmx.hex(), entry.type) == (message["dmx"], message["type"])
        assert packets.serialize_entry(entry) == packet


@given(st.binary(min_size=120, max_size=120))
def test_entries_round_trip(packet: bytes) -> None:
    assert packets.serialize_entry(packets.parse_entry(packet)) == packet


def test_parts_of_entries() -> None:
    packet = b"d" * 7 + b"\x01" + b"c" * 48 + b"s" * 64
    assert packets.parse_entry(packet) == Entry(Dmx(b"d" * 7), 1, b"c" * 48, b"s" * 64)


# --- the set of feeds ----------------------------------------------------------------------------------------------


def test_claims_and_novelties_of_the_vectors() -> None:
    for known in load("goset.json")["sets"]:
        feeds = [FeedId.from_hex(feed) for feed in known["feed_ids"]]
        for vector in known["claims"]:
            low, high = vector["lo"], vector["hi"]
            packet = bytes.fromhex(vector["packet"])
            claim = packets.parse_claim(packet)
            assert (claim.low, claim.high, claim.count) == (feeds[low], feeds[high], high - low + 1)
            assert packets.serialize_claim(OPEN.goset_dmx, claim) == packet
        packet = bytes.fromhex(known["novelty_of_first"])
        assert packets.parse_novelty(packet) == Novelty(feeds[0])
        assert packets.serialize_novelty(OPEN.goset_dmx, Novelty(feeds[0])) == packet


@given(st.tuples(FEEDS, FEEDS).map(sorted), FEEDS, st.integers(1, 255))
def test_claim_round_trip(ends: list[FeedId], xor: FeedId, count: int) -> None:
    claim = Claim(ends[0], ends[1], bytes(xor), count)
    packet = packets.serialize_claim(DMX, claim)
    assert len(packet) == limits.CLAIM_SIZE
    assert packets.parse_claim(packet) == claim


@given(FEEDS)
def test_novelty_and_zap_round_trip(feed: FeedId) -> None:
    assert packets.parse_novelty(packets.serialize_novelty(DMX, Novelty(feed))) == Novelty(feed)
    assert packets.parse_zap(packets.serialize_zap(DMX, Zap(bytes(feed)))) == Zap(bytes(feed))


def test_a_region_has_its_ends_in_order_and_somebody_in_it() -> None:
    low, high = FeedId(b"\x01" * 32), FeedId(b"\x02" * 32)
    with pytest.raises(RegionError) as caught:
        packets.parse_claim(packets.serialize_claim(DMX, Claim(high, low, bytes(32), 2)))
    assert (caught.value.low, caught.value.high, caught.value.count) == (high, low, 2)
    with pytest.raises(RegionError):
        packets.parse_claim(packets.serialize_claim(DMX, Claim(low, high, bytes(32), 0)))


@pytest.mark.parametrize(
    ("parse", "packet"),
    [
        (packets.parse_claim, DMX + b"c" + bytes(32) + b"\x02" * 32 + bytes(32) + b"\x02"),
        (packets.parse_claim, DMX + b"c" + bytes(32) + bytes(32) + bytes(32) + b"\x01"),
        (packets.parse_novelty, DMX + b"n" + bytes(32)),
        (packets.parse_feeds, DMX + b"f" + b"1" * 32 + bytes(32)),
        (packets.parse_feeds, DMX + b"g" + bytes(32)),
    ],
)
def test_the_feed_of_zeros_is_nobody(parse: Callable[[bytes], object], packet: bytes) -> None:
    with pytest.raises(NobodyError, match="names the feed of 32 zeros"):
        parse(packet)


@pytest.mark.parametrize(
    ("parse", "packet"),
    [
        (packets.parse_claim, DMX + b"x" + bytes(97)),
        (packets.parse_novelty, DMX + b"z" + bytes(32)),
        (packets.parse_zap, DMX + b"n" + bytes(32)),
        (packets.parse_sketch, DMX + b"a" + bytes(8)),
        (packets.parse_ask, DMX + b"f" + bytes(32)),
        (packets.parse_feeds, DMX + b"n" + bytes(32)),
        (packets.parse_diff, DMX + b"s" + bytes(14)),
        (packets.parse_named_want, DMX + b"k" + bytes(4) + b"\x01" + bytes(5)),
        (packets.parse_named_chnk, DMX + b"w" + bytes(4) + b"\x01" + bytes(6)),
    ],
)
def test_the_byte_behind_the_dmx_tells_the_kind(parse: Callable[[bytes], Any], packet: bytes) -> None:
    with pytest.raises(PacketKindError) as caught:
        parse(packet)
    assert caught.value.found == packet[7:8]


def test_parts_of_what_repairs_a_set() -> None:
    sketch = DMX + b"s" + b"salt" + b"\x03" + b"sums" * 26 + b"sum"
    assert len(sketch) == limits.PACKET_SIZE
    assert packets.parse_sketch(sketch) == Sketch(b"salt", 3, b"sums" * 26, b"sum")
    assert packets.parse_sketch(DMX + b"ssalt\x00sum") == Sketch(b"salt", 0, b"", b"sum")
    assert packets.parse_ask(DMX + b"asalt\x00\x00\x01\x02\xff\xff\xff\xff") == Ask(b"salt", (258, 2**32 - 1))
    assert packets.parse_feeds(DMX + b"f" + b"1" * 32 + b"2" * 32) == Feeds(
        (FeedId(b"1" * 32), FeedId(b"2" * 32))
    )


@given(st.binary(min_size=4, max_size=4), st.integers(0, 255), st.integers(0, 26), st.data())
def test_sketch_round_trip(salt: bytes, count: int, capacity: int, data: st.DataObject) -> None:
    sums = data.draw(st.binary(min_size=4 * capacity, max_size=4 * capacity))
    sketch = Sketch(salt, count, sums, data.draw(st.binary(min_size=3, max_size=3)))
    packet = packets.serialize_sketch(DMX, sketch)
    assert len(packet) == limits.SKETCH_MIN_SIZE + 4 * capacity
    assert packets.parse_sketch(packet) == sketch


@given(st.binary(min_size=4, max_size=4), st.lists(NUMBERS, min_size=1, max_size=limits.ASK_MAX))
def test_ask_round_trip(salt: bytes, shorts: list[int]) -> None:
    packet = packets.serialize_ask(DMX, Ask(salt, tuple(shorts)))
    assert len(packet) <= limits.PACKET_SIZE
    assert packets.parse_ask(packet) == Ask(salt, tuple(shorts))


@given(st.lists(FEEDS, min_size=1, max_size=limits.FEEDS_MAX), st.booleans())
def test_feeds_round_trip(feeds: list[FeedId], more: bool) -> None:
    packet = packets.serialize_feeds(DMX, Feeds(tuple(feeds), more))
    assert len(packet) == 8 + 32 * len(feeds)
    assert packet[7:8] == (b"g" if more else b"f")
    assert packets.parse_feeds(packet) == Feeds(tuple(feeds), more)


@pytest.mark.parametrize(
    ("parse", "packet", "allowed"),
    [
        (packets.parse_sketch, DMX + b"s" + bytes(7), "16, 20, … 120"),
        (packets.parse_sketch, DMX + b"s" + bytes(9), "16, 20, … 120"),
        (packets.parse_sketch, DMX + b"s" + bytes(116), "16, 20, … 120"),
        (packets.parse_ask, DMX + b"a" + bytes(4), "16, 20, … 120"),
        (packets.parse_ask, DMX + b"a" + bytes(10), "16, 20, … 120"),
        (packets.parse_feeds, DMX + b"f", "40, 72 or 104"),
        (packets.parse_feeds, DMX + b"f" + bytes(33), "40, 72 or 104"),
        (packets.parse_feeds, DMX + b"f" + bytes(128), "40, 72 or 104"),
        (packets.parse_feeds, DMX + b"g" + bytes(31), "40, 72 or 104"),
        (packets.parse_diff, DMX + b"d" + bytes(10), "22, 26, … 120"),
        (packets.parse_diff, DMX + b"d" + bytes(15), "22, 26, … 120"),
        (packets.parse_diff, DMX + b"d" + bytes(114), "22, 26, … 120"),
        (packets.parse_named_want, DMX + b"w" + bytes(4) + b"\x01" + bytes(4), "at most 120"),
        (packets.parse_named_want, DMX + b"w" + bytes(4) + b"\x01" + bytes(108), "at most 120"),
        (packets.parse_named_chnk, DMX + b"k" + bytes(4) + b"\x01" + bytes(5), "at most 120"),
        (packets.parse_named_chnk, DMX + b"k" + bytes(4) + b"\x01" + bytes(108), "at most 120"),
    ],
)
def test_what_repairs_a_set_has_certain_sizes(
    parse: Callable[[bytes], Any], packet: bytes, allowed: str
) -> None:
    with pytest.raises(PacketSizeError) as caught:
        parse(packet)
    assert (caught.value.size, caught.value.allowed) == (len(packet), allowed)


# --- packets that compare and name feeds -----------------------------------------------------------------------------


SALTS = st.binary(min_size=4, max_size=4)
SHORTS = st.integers(0, 2**32 - 1)


@st.composite
def diffs(draw: st.DrawFn) -> Diff:
    depth = draw(st.integers(0, 16))
    prefix = draw(st.integers(0, 2**depth - 1))
    count = draw(st.integers(0, 2**24 - 1))
    sums = draw(
        st.integers(1, limits.DIFF_SUMS_MAX).flatmap(lambda n: st.binary(min_size=4 * n, max_size=4 * n))
    )
    return Diff(draw(SALTS), depth, prefix, count, sums)


@given(diffs())
def test_diff_round_trip(diff: Diff) -> None:
    packet = packets.serialize_diff(DMX, diff)
    assert len(packet) == limits.DIFF_HEAD_SIZE + len(diff.sums) <= limits.PACKET_SIZE
    assert packets.parse_diff(packet) == diff


def test_parts_of_a_diff() -> None:
    packet = DMX + b"dsalt\x0a\x03\xff\x01\x02\x03sums"
    assert packets.parse_diff(packet) == Diff(b"salt", 10, 1023, 66051, b"sums")
    full = DMX + b"dsalt" + bytes(6) + b"sums" * 25
    assert (len(full), packets.parse_diff(full).sums) == (118, b"sums" * 25)


@pytest.mark.parametrize("place", ["11 0000", "00 0001", "03 0008", "0f 8000", "ff 0000"])
def test_a_prefix_has_as_many_bits_as_the_depth_says(place: str) -> None:
    packet = DMX + b"dsalt" + bytes.fromhex(place) + b"\x00\x00\x01sums"
    with pytest.raises(VectorShapeError) as caught:
        packets.parse_diff(packet)
    assert caught.value.kind == "diff"


@given(
    SALTS,
    st.lists(st.tuples(SHORTS, NUMBERS), min_size=1, max_size=11),
    st.one_of(st.just((b"", b"")), st.tuples(SPEAKERS, st.one_of(st.just(b""), SPEAKERS))),
)
def test_named_want_round_trip(
    salt: bytes, wanted: list[tuple[int, int]], names: tuple[bytes, bytes]
) -> None:
    want = NamedWant(salt, tuple(wanted), *names)
    packet = packets.serialize_named_want(DMX, want)
    size = sum(packets.named_item_size(seq) for _, seq in wanted)
    assert len(packet) == limits.NAMED_HEAD_SIZE + size + len(b"".join(names))
    assert packets.parse_named_want(packet) == want
    if names == (b"", b""):
        assert packets.parse_named_want(packet.ljust(limits.PACKET_SIZE, b"\x00")) == want


@given(st.binary(min_size=4, max_size=4), st.integers(0, 4095), st.integers(1, 16), st.data())
def test_coded_round_trip(tag: bytes, generation: int, length: int, data: st.DataObject) -> None:
    row = data.draw(st.sampled_from([*range(length), *range(16, 256)]))
    coded = Coded(tag, generation, length, row, data.draw(st.binary(min_size=113, max_size=113)))
    packet = packets.serialize_coded(coded)
    assert len(packet) == limits.PACKET_SIZE
    assert packets.parse_coded(packet) == coded


@pytest.mark.parametrize("head", ["00 02 03", "00 02 0f", "ff f0 01"])
def test_what_can_be_no_coded_entry(head: str) -> None:
    assert packets.parse_coded(b"tags" + bytes.fromhex(head) + bytes(113)) is None
    assert packets.parse_coded(b"tags\x00\x02\x02" + bytes(112)) is None


@given(
    st.binary(min_size=4, max_size=4),
    st.integers(0, 65_535),
    st.integers(0, 15),
    st.integers(1, 16),
    st.data(),
)
def test_coded_chunk_round_trip(
    tag: bytes, generation: int, part: int, length: int, data: st.DataObject
) -> None:
    row = data.draw(st.sampled_from([*range(length), *range(16, 256)]))
    body = data.draw(st.binary(min_size=100, max_size=100))
    coded = CodedChunk(tag, generation, part, length, row, body)
    packet = packets.serialize_coded_chunk(coded)
    assert len(packet) == limits.CODED_CHUNK_SIZE
    assert packets.parse_coded_chunk(packet) == coded


def test_bytes_of_a_coded_chunk() -> None:
    packet = b"tags" + bytes.fromhex("0102 5e ff") + bytes(range(100))
    assert packets.parse_coded_chunk(packet) == CodedChunk(b"tags", 258, 5, 15, 255, bytes(range(100)))


@pytest.mark.parametrize("head", ["0000 00 01", "0000 1d 0e", "0000 02 0f"])
def test_what_can_be_no_coded_chunk(head: str) -> None:
    packet = b"tags" + bytes.fromhex(head) + bytes(100)
    assert packets.parse_coded_chunk(packet) is None
    assert packets.parse_coded_chunk(b"tags" + bytes(103)) is None
    assert packets.parse_coded_chunk(b"tags" + bytes(105)) is None


@given(
    st.lists(st.tuples(st.integers(0, 254), st.integers(1, 300), st.integers(0, 9)), min_size=1, max_size=12),
    st.data(),
)
def test_what_a_chnk_lacks_round_trip(wanted: list[tuple[int, int, int]], data: st.DataObject) -> None:
    rows = data.draw(st.lists(st.integers(0, 15), min_size=len(wanted), max_size=len(wanted)))
    packet = packets.serialize_chnk(DMX, Chnk(tuple(wanted), tuple(rows)))
    for read in (packets.parse_chnk(packet), packets.parse_chnk(packet.ljust(limits.PACKET_SIZE, b"\x00"))):
        assert read.wanted == tuple(wanted)
        assert read.lacking is not None
        assert [*read.lacking, *([0] * len(rows))][: len(rows)] == rows
        assert not any(read.lacking[len(rows) :])


def test_bytes_of_what_a_chnk_lacks() -> None:
    plain = packets.serialize_chnk(DMX, Chnk(((0, 1, 0), (0, 17, 2), (3, 1, 0))))
    chnk = Chnk(((0, 1, 0), (0, 17, 2), (3, 1, 0)), (0, 10, 5, 0))
    assert packets.serialize_chnk(DMX, chnk) == plain + bytes.fromhex("01 0a50")
    assert packets.parse_chnk(plain + bytes.fromhex("01 0a50")) == chnk
    assert packets.parse_chnk(plain + b"\x01").lacking == ()
    for behind in ("02", "010a5000a0", "0001"):
        with pytest.raises(PaddingError):
            packets.parse_chnk(plain + bytes.fromhex(behind))


@given(
    st.integers(0, 254),
    st.lists(st.integers(0, 2**16), min_size=1, max_size=20),
    SPEAKERS,
    st.one_of(st.just(b""), SPEAKERS),
    st.data(),
)
def test_what_a_want_lacks_round_trip(
    offset: int, seqs: list[int], speaker: bytes, asks: bytes, data: st.DataObject
) -> None:
    rows = data.draw(st.lists(st.integers(0, 15), min_size=len(seqs), max_size=len(seqs)))
    want = Want(offset, tuple(seqs), speaker, asks, tuple(rows))
    read = packets.parse_want(packets.serialize_want(DMX, want))
    assert replace(read, lacking=None) == replace(want, lacking=None)
    assert read.lacking is not None
    assert [*read.lacking, *([0] * len(rows))][: len(rows)] == rows
    assert not any(read.lacking[len(rows) :])


def test_bytes_of_what_a_want_lacks() -> None:
    everybody = DMX + bytes.fromhex("64 0a00 0a05 0a01 0a09 0a03 0a07 9e01 0000 0a50")
    want = Want(0, (5, 1, 9, 3, 7), b"\x9e\x01", b"", (0, 10, 5, 0))
    assert packets.parse_want(everybody) == want
    assert packets.serialize_want(DMX, want) == everybody


@given(SALTS, st.lists(st.tuples(SHORTS, NUMBERS, NUMBERS), min_size=1, max_size=7))
def test_named_chnk_round_trip_padded_or_not(salt: bytes, wanted: list[tuple[int, int, int]]) -> None:
    chnk = NamedChnk(salt, tuple(wanted))
    packet = packets.serialize_named_chnk(DMX, chnk)
    size = sum(packets.named_item_size(seq, chunk) for _, seq, chunk in wanted)
    assert len(packet) == limits.NAMED_HEAD_SIZE + size
    assert packets.parse_named_chnk(packet) == chnk
    assert packets.parse_named_chnk(packet.ljust(limits.PACKET_SIZE, b"\x00")) == chnk


@pytest.mark.parametrize(
    ("parse", "serialize", "body", "value"),
    [
        pytest.param(
            packets.parse_diff,
            packets.serialize_diff,
            "64 73616c74 03 0005 00012c 0badcafe 00112233",
            Diff(b"salt", 3, 5, 300, bytes.fromhex("0badcafe00112233")),
            id="diff",
        ),
        pytest.param(
            packets.parse_named_want,
            packets.serialize_named_want,
            "77 73616c74 03 00000001 01 0badcafe ac02 ffffffff ffffffff0f 9e01 0001",
            NamedWant(b"salt", ((1, 1), (0x0BADCAFE, 300), (2**32 - 1, 2**32 - 1)), b"\x9e\x01", b"\x00\x01"),
            id="named want",
        ),
        pytest.param(
            packets.parse_named_chnk,
            packets.serialize_named_chnk,
            "6b 73616c74 02 00000001 01 00 0badcafe ac02 8001",
            NamedChnk(b"salt", ((1, 1, 0), (0x0BADCAFE, 300, 128))),
            id="named chnk",
        ),
        pytest.param(
            packets.parse_newest,
            packets.serialize_newest,
            "6c 73616c74 02 00000001 01 0a 0badcafe ac02 20",
            Newest(b"salt", ((1, 1, 10), (0x0BADCAFE, 300, 32))),
            id="newest",
        ),
        pytest.param(
            packets.parse_anchor,
            packets.serialize_anchor,
            "68 73616c74 0badcafe 0000012c" + "5a" * 20,
            Anchor(b"salt", 0x0BADCAFE, 300, MessageId(b"Z" * 20)),
            id="anchor",
        ),
        pytest.param(
            packets.parse_feeds,
            packets.serialize_feeds,
            "67" + "31" * 32 + "32" * 32,
            Feeds((FeedId(b"1" * 32), FeedId(b"2" * 32)), more=True),
            id="more",
        ),
    ],
)
def test_bytes_of_packets_that_name_feeds(
    parse: Callable[[bytes], Any], serialize: Callable[[Dmx, Any], bytes], body: str, value: object
) -> None:
    packet = DMX + bytes.fromhex(body)
    assert parse(packet) == value
    assert serialize(DMX, value) == packet


def named_packet(kind: bytes, count: int, items: str) -> bytes:
    return DMX + kind + b"salt" + bytes((count,)) + bytes.fromhex(items)


@pytest.mark.parametrize(
    ("parse", "packet", "error"),
    [
        pytest.param(
            packets.parse_named_want, named_packet(b"w", 0, "0000000000"), VectorShapeError, id="want of none"
        ),
        pytest.param(
            packets.parse_named_want, named_packet(b"w", 2, "0000000101 00000002"), VectorShapeError, id="cut"
        ),
        pytest.param(
            packets.parse_named_want,
            named_packet(b"w", 2, "0000000101 0000"),
            VectorShapeError,
            id="cut short id",
        ),
        pytest.param(
            packets.parse_named_want, named_packet(b"w", 255, "00" * 107), VectorShapeError, id="255 feeds"
        ),
        pytest.param(
            packets.parse_named_want,
            named_packet(b"w", 1, "00000001 8080808010"),
            VectorShapeError,
            id="seq of 33 bits",
        ),
        pytest.param(
            packets.parse_named_want,
            named_packet(b"w", 1, "00000001 808080808000"),
            VectorShapeError,
            id="number of six bytes",
        ),
        pytest.param(
            packets.parse_named_want,
            named_packet(b"w", 1, "0000000101 01"),
            PaddingError,
            id="one byte behind",
        ),
        pytest.param(
            packets.parse_named_want,
            named_packet(b"w", 1, "0000000101 00009e01"),
            PaddingError,
            id="no speaker",
        ),
        pytest.param(
            packets.parse_named_want,
            named_packet(b"w", 1, "0000000101 9e019e019e01"),
            PaddingError,
            id="three names",
        ),
        pytest.param(
            packets.parse_named_chnk,
            named_packet(b"k", 0, "000000000000"),
            VectorShapeError,
            id="chnk of none",
        ),
        pytest.param(
            packets.parse_named_chnk, named_packet(b"k", 1, "00000001 80 80"), VectorShapeError, id="chnk cut"
        ),
        pytest.param(
            packets.parse_named_chnk,
            named_packet(b"k", 1, "00000001 01 8080808010"),
            VectorShapeError,
            id="chunk of 33 bits",
        ),
        pytest.param(
            packets.parse_named_chnk,
            named_packet(b"k", 1, "000000010101 9e01"),
            PaddingError,
            id="chnk names",
        ),
        pytest.param(
            packets.parse_newest, named_packet(b"l", 0, "000000000000"), VectorShapeError, id="newest of none"
        ),
        pytest.param(
            packets.parse_newest, named_packet(b"l", 1, "000000010a01 01"), PaddingError, id="newest padded"
        ),
        pytest.param(
            packets.parse_anchor,
            DMX + b"hsalt" + bytes(7) + b"\x01" + bytes(20),
            VectorNumberError,
            id="anchor of entry 1",
        ),
        pytest.param(packets.parse_anchor, DMX + b"hsalt" + bytes(29), PacketSizeError, id="anchor too long"),
    ],
)
def test_broken_packets_that_name_feeds(
    parse: Callable[[bytes], Any], packet: bytes, error: type[PeerError]
) -> None:
    with pytest.raises(error):
        parse(packet)


def test_as_many_feeds_are_named_as_a_packet_holds() -> None:
    for serialize, parse, most in (
        (
            lambda n: packets.serialize_named_want(DMX, NamedWant(b"salt", ((1, 1),) * n)),
            packets.parse_named_want,
            21,
        ),
        (
            lambda n: packets.serialize_named_want(DMX, NamedWant(b"salt", ((1, 1),) * n, b"ab", b"cd")),
            packets.parse_named_want,
            20,
        ),
        (
            lambda n: packets.serialize_named_chnk(DMX, NamedChnk(b"salt", ((1, 1, 0),) * n)),
            packets.parse_named_chnk,
            17,
        ),
    ):
        assert len(parse(serialize(most)).wanted) == most
        with pytest.raises(ValueError, match="at most 120 bytes"):
            serialize(most + 1)


# --- WANT and CHNK -------------------------------------------------------------------------------------------------


def test_wants_of_the_vectors() -> None:
    vectors = load("want_chnk.json")
    dmx = want_dmx(OPEN, bytes.fromhex(vectors["state"]))
    for vector in vectors["want"]:
        offset, *seqs = vector["vector"]
        want, packet = Want(offset, tuple(seqs)), bytes.fromhex(vector["packet"])
        assert packets.parse_want(packet) == want
        assert packets.serialize_want(dmx, want) == packet


def test_chnks_of_the_vectors() -> None:
    vectors = load("want_chnk.json")
    dmx = chnk_dmx(OPEN, bytes.fromhex(vectors["state"]))
    for vector in vectors["chnk"]:
        chnk, packet = Chnk(tuple(map(tuple, vector["vector"]))), bytes.fromhex(vector["packet"])
        assert packets.parse_chnk(packet) == chnk
        assert packets.serialize_chnk(dmx, chnk) == packet


def test_wants_in_the_trace_are_read() -> None:
    """In the trace every packet of 8 to 40 bytes that is not of the set's kind is a WANT or a CHNK."""
    found = {"want": 0, "chnk": 0}
    for line in load_lines("trace_pub.ndjson"):
        packet = bytes.fromhex(line["packet"])
        if len(packet) < limits.NOVELTY_SIZE and not packet.startswith(OPEN.goset_dmx):
            if packet[8] == 0x0A:
                assert packets.parse_want(packet).seqs
                found["want"] += 1
            else:
                assert packets.parse_chnk(packet).wanted
                found["chnk"] += 1
    assert found["want"] > 10


@given(NUMBERS, st.lists(NUMBERS, max_size=15))
def test_want_round_trip_padded_or_not(offset: int, seqs: list[int]) -> None:
    want = Want(offset, tuple(seqs))
    packet = packets.serialize_want(DMX, want)
    assert packets.parse_want(packet) == want
    assert packets.parse_want(packet.ljust(limits.PACKET_SIZE, b"\x00")) == want


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), max_size=5))
def test_chnk_round_trip_padded_or_not(wanted: list[tuple[int, int, int]]) -> None:
    chnk = Chnk(tuple(wanted))
    packet = packets.serialize_chnk(DMX, chnk)
    assert packets.parse_chnk(packet) == chnk
    assert packets.parse_chnk(packet.ljust(limits.PACKET_SIZE, b"\x00")) == chnk


@given(NUMBERS, st.lists(NUMBERS, max_size=15), SPEAKERS, st.one_of(st.just(b""), SPEAKERS))
def test_names_behind_a_want_round_trip(offset: int, seqs: list[int], speaker: bytes, asks: bytes) -> None:
    want = Want(offset, tuple(seqs), speaker, asks)
    packet = packets.serialize_want(DMX, want)
    nameless = packets.serialize_want(DMX, Want(offset, tuple(seqs)))
    assert packet == nameless + speaker + asks
    assert packets.parse_want(packet) == want


@pytest.mark.parametrize(
    ("tail", "speaker", "asks"),
    [("9e01", "9e01", ""), ("00019e00", "0001", "9e00"), ("9e019e01", "9e01", "9e01")],
)
def test_names_behind_a_want_in_bytes(tail: str, speaker: str, asks: str) -> None:
    """The WANT of other programs for offset 3 and the numbers 302, 104, 27, with names behind it."""
    packet = bytes.fromhex("598c982c9eefc94c0a03122e010a680a1b" + tail)
    want = Want(3, (302, 104, 27), bytes.fromhex(speaker), bytes.fromhex(asks))
    assert packets.parse_want(packet) == want
    assert packets.serialize_want(Dmx(packet[: limits.DMX_SIZE]), want) == packet


@pytest.mark.parametrize("tail", [bytes(size) for size in range(8)])
def test_zeros_behind_a_want_are_no_names(tail: bytes) -> None:
    assert packets.parse_want(vector_packet([0, 1]) + tail) == Want(0, (1,))


@pytest.mark.parametrize(
    "tail", ["01", "9e019e", "00009e01", "9e010000", "0000000001", "00009e0101", "9e019e019e01"]
)
def test_what_is_neither_names_nor_padding_is_refused(tail: str) -> None:
    with pytest.raises(PaddingError) as caught:
        packets.parse_want(vector_packet([0, 1]) + bytes.fromhex(tail))
    assert (caught.value.kind, caught.value.offset) == ("want", 12)


def test_chnks_have_no_names() -> None:
    with pytest.raises(PaddingError):
        packets.parse_chnk(vector_packet([[0, 1, 0]]) + b"\x9e\x01")


def test_numbers_that_boards_write_in_one_byte() -> None:
    assert packets.parse_want(DMX + bytes.fromhex("340a000aff0a80")) == Want(0, (255, 128))
    assert packets.parse_chnk(DMX + bytes.fromhex("3c340a000ac80aff")) == Chnk(((0, 200, 255),))


def test_integers_of_classic_length_are_read() -> None:
    assert packets.parse_want(DMX + bytes.fromhex("3c0a002205000000")) == Want(0, (5,))


def test_as_many_numbers_as_a_packet_holds() -> None:
    full = Want(0, (1,) * 54)
    assert len(packets.serialize_want(DMX, full)) <= limits.PACKET_SIZE
    with pytest.raises(ValueError, match="at most 120 bytes"):
        packets.serialize_want(DMX, Want(0, (1,) * 56))


def vector_packet(value: Value) -> bytes:
    return DMX + encode(value)


@pytest.mark.parametrize(
    ("parse", "packet", "error"),
    [
        pytest.param(packets.parse_want, vector_packet([]), VectorShapeError, id="want without offset"),
        pytest.param(packets.parse_want, vector_packet(3), VectorShapeError, id="want is a number"),
        pytest.param(packets.parse_want, vector_packet([0, "1"]), VectorShapeError, id="want of text"),
        pytest.param(packets.parse_want, vector_packet([0, True]), VectorShapeError, id="want of a bool"),
        pytest.param(packets.parse_want, vector_packet([0, 2**32]), VectorNumberError, id="want beyond seq"),
        pytest.param(packets.parse_want, vector_packet([2**32]), VectorNumberError, id="offset beyond seq"),
        pytest.param(
            packets.parse_want, vector_packet([0, 1]) + b"\x00\x00\x01", PaddingError, id="want padded with 1"
        ),
        pytest.param(packets.parse_want, DMX + b"\x0c\x0a", BipfError, id="want cut"),
        pytest.param(packets.parse_want, DMX, PacketSizeError, id="want of nothing"),
        pytest.param(
            packets.parse_want,
            vector_packet([0, 1]).ljust(121, b"\x00"),
            PacketSizeError,
            id="want padded too far",
        ),
        pytest.param(packets.parse_chnk, vector_packet([0, 1, 0]), VectorShapeError, id="chnk flat"),
        pytest.param(packets.parse_chnk, vector_packet([[0, 1]]), VectorShapeError, id="chnk of pairs"),
        pytest.param(packets.parse_chnk, vector_packet([[0, 1, 0, 0]]), VectorShapeError, id="chnk of fours"),
        pytest.param(packets.parse_chnk, vector_packet([[0, 1, None]]), VectorShapeError, id="chnk of null"),
        pytest.param(
            packets.parse_chnk, vector_packet([[0, 1, -(2**40)]]), VectorNumberError, id="chnk beyond"
        ),
        pytest.param(packets.parse_chnk, vector_packet({}), VectorShapeError, id="chnk is a dict"),
    ],
)
def test_broken_vectors(parse: Callable[[bytes], Any], packet: bytes, error: type[PeerError]) -> None:
    with pytest.raises(error):
        parse(packet)


def test_what_is_wrong_with_a_vector_is_told() -> None:
    with pytest.raises(PaddingError) as padding:
        packets.parse_want(vector_packet([0, 1]) + b"\x01")
    assert (padding.value.kind, padding.value.offset) == ("want", 12)
    with pytest.raises(VectorNumberError) as number:
        packets.parse_want(vector_packet([0, 2**40]))
    assert (number.value.kind, number.value.number) == ("want", 2**40)
    with pytest.raises(VectorShapeError) as shape:
        packets.parse_chnk(vector_packet(None))
    assert (shape.value.kind, shape.value.expected) == ("chnk", "a list")


# --- pings ---------------------------------------------------------------------------------------------------------


def test_a_ping_as_boards_write_it() -> None:
    assert packets.parse_ping(PING_DMX + b"Q 3fa2 t=17 gps=47.5,7.6,260\x00") == Ping(
        "3fa2", (("t", "17"), ("gps", "47.5,7.6,260"))
    )


def test_a_pong_as_boards_write_it() -> None:
    packet = PONG_DMX + b"R 00ff t=4 rssi=-87dBm snr=9.5 [Q 3fa2 t=17]"
    assert packets.parse_pong(packet) == Pong(
        "00ff", (("t", "4"), ("rssi", "-87dBm"), ("snr", "9.5")), "Q 3fa2 t=17"
    )


def test_a_pong_whose_request_was_cut_or_left_out() -> None:
    assert packets.parse_pong(PONG_DMX + b"R 00ff t=4 [Q 3fa").request == "Q 3fa"
    assert packets.parse_pong(PONG_DMX + b"R 00ff t=4").request == ""


def test_words_that_are_no_fields_are_passed_over() -> None:
    assert packets.parse_ping(PING_DMX + b"Q 3fa2 hello t=1") == Ping("3fa2", (("t", "1"),))


@given(WORDS, FIELDS)
def test_ping_round_trip(mac: str, fields: tuple[tuple[str, str], ...]) -> None:
    assert packets.parse_ping(packets.serialize_ping(Ping(mac, fields))) == Ping(mac, fields)


@given(WORDS, FIELDS, st.sampled_from(["", "Q 3fa2 t=17"]))
def test_pong_round_trip(mac: str, fields: tuple[tuple[str, str], ...], request: str) -> None:
    assert packets.parse_pong(packets.serialize_pong(Pong(mac, fields, request))) == Pong(
        mac, fields, request
    )


def test_a_long_pong_is_cut_like_the_boards_cut_it() -> None:
    pong = Pong("00ff", (("t", "4"),), "Q 3fa2 gps=" + "1" * 100)
    packet = packets.serialize_pong(pong)
    assert len(packet) == limits.PING_MAX_SIZE
    assert pong.request.startswith(packets.parse_pong(packet).request)


@pytest.mark.parametrize("body", [b"Q ", b"Q    ", b"Q t=1", b"Q 3fa2 \xff"])
def test_a_ping_says_whose_it_is_in_ascii(body: bytes) -> None:
    with pytest.raises(PingTextError):
        packets.parse_ping(PING_DMX + body)


def test_a_ping_is_no_pong() -> None:
    with pytest.raises(PacketKindError):
        packets.parse_pong(PONG_DMX + b"Q 3fa2 t=1")
    with pytest.raises(PacketKindError):
        packets.parse_ping(PING_DMX + b"Q")
    with pytest.raises(PacketSizeError):
        packets.parse_ping(PING_DMX + b"Q " + b"a" * 112)


def test_text_that_is_not_ascii_is_not_written() -> None:
    with pytest.raises(ValueError, match="ascii"):
        packets.serialize_ping(Ping("é", ()))


# --- any bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
@given(data=st.data())
def test_any_bytes_are_read_or_refused(parse: Callable[[bytes], Any], data: st.DataObject) -> None:
    size = data.draw(st.sampled_from([0, 7, 8, 9, 40, 105, 120, 121]) | st.integers(0, 130))
    packet = data.draw(st.binary(min_size=size, max_size=size))
    with suppress(PeerError):
        parse(packet)


@pytest.mark.parametrize(
    ("parse", "size"),
    [
        (packets.parse_entry, 120),
        (packets.parse_claim, 105),
        (packets.parse_novelty, 40),
        (packets.parse_zap, 40),
    ],
)
def test_one_byte_more_or_less_is_refused(parse: Callable[[bytes], Any], size: int) -> None:
    for wrong in (size - 1, size + 1, 0):
        with pytest.raises(PacketSizeError) as caught:
            parse(bytes(wrong))
        assert (caught.value.size, caught.value.allowed) == (wrong, str(size))
