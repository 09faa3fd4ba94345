import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.packets import (
    FeedSyncDiffers,
    FeedSyncGive,
    FeedSyncHello,
    FeedSyncMore,
    FeedSyncPacketError,
    FeedSyncProof,
    FeedSyncShow,
    FeedSyncShown,
    FeedSyncWant,
    Packet,
    PacketRun,
    WantedFeed,
    WantedRange,
    parse_packet,
    serialize_packet,
)

FROZEN = Path(__file__).parents[2] / "vectors" / "feedsync" / "packets_v1.json"
ENTRY = bytes(range(120))
EXAMPLES: list[Packet] = [
    FeedSyncHello(1, bytes(range(16))),
    FeedSyncProof(bytes(range(16, 32))),
    FeedSyncWant(
        (
            WantedFeed(b"sixsix", WantedRange(1)),
            WantedFeed(b"shorts", WantedRange(301, b"tip!", ((7, 0), (300, 2)))),
        )
    ),
    FeedSyncMore(1, WantedRange(302, b"next")),
    FeedSyncMore(130, WantedRange(0)),
    FeedSyncGive(0, (PacketRun(1, None, (ENTRY,)), PacketRun(1, 0, (ENTRY[::-1], ENTRY)))),
    FeedSyncDiffers(5),
    FeedSyncShow(5, 1_000_000),
    FeedSyncShown(5, 9, (ENTRY,)),
    FeedSyncShown(5, 9, ()),
    FeedSyncShown(5, 9, (ENTRY, ENTRY[::-1])),
]

feeds = st.integers(0, limits.FEEDS_MAX - 1)
seqs = st.integers(1, 2**32 - 1)
entries = st.binary(min_size=120, max_size=120)


@st.composite
def lacking(draw: st.DrawFn) -> WantedRange:
    seq = draw(st.integers(0, 2**32))
    if seq < 2:
        return WantedRange(seq)
    places = sorted(draw(st.sets(st.integers(1, seq - 1), max_size=3)))
    chains = tuple((place, draw(st.integers(0, limits.CHAIN_CHUNK_MAX))) for place in places)
    return WantedRange(seq, draw(st.binary(min_size=4, max_size=4)), chains)


runs = st.builds(
    PacketRun,
    seqs,
    st.none() | st.integers(0, limits.CHAIN_CHUNK_MAX),
    st.lists(entries, min_size=1, max_size=3).map(tuple),
)
packets = st.one_of(
    st.builds(FeedSyncHello, st.just(limits.VERSION), st.binary(min_size=16, max_size=16)),
    st.builds(FeedSyncProof, st.binary(min_size=16, max_size=16)),
    st.builds(
        FeedSyncWant,
        st.lists(st.builds(WantedFeed, st.binary(min_size=6, max_size=6), lacking()), max_size=4).map(tuple),
    ),
    st.builds(FeedSyncMore, feeds, lacking()),
    st.builds(FeedSyncGive, feeds, st.lists(runs, min_size=1, max_size=3).map(tuple)),
    st.builds(FeedSyncDiffers, feeds),
    st.builds(FeedSyncShow, feeds, seqs),
    st.builds(FeedSyncShown, feeds, seqs, st.lists(entries, max_size=2).map(tuple)),
)


def test_frozen_bytes() -> None:
    frozen = json.loads(FROZEN.read_text("utf-8"))["packets"]
    assert [type(packet).__name__ for packet in EXAMPLES] == [
        f"FeedSync{record['packet']}" for record in frozen
    ]
    for packet, record in zip(EXAMPLES, frozen, strict=True):
        assert serialize_packet(packet).hex() == record["bytes"]
        assert parse_packet(bytes.fromhex(record["bytes"])) == packet


@given(packets)
def test_what_is_written_is_read(packet: Packet) -> None:
    assert parse_packet(serialize_packet(packet)) == packet


@given(st.binary(max_size=60) | packets.map(serialize_packet).map(lambda data: data[:-1]))
def test_any_bytes_have_an_answer_and_one_way_to_be_written(data: bytes) -> None:
    with suppress(FeedSyncPacketError):
        packet = parse_packet(data)
        later = isinstance(packet, FeedSyncHello) and packet.version != limits.VERSION
        assert later or serialize_packet(packet) == data


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        (b"", "cut off"),
        (b"\x00", "kind 0"),
        (b"\x09", "kind 9"),
        (b"\x01\x01" + bytes(15), "cut off"),
        (b"\x01\x01" + bytes(17), "more bytes"),
        (b"\x02" + bytes(15), "cut off"),
        (b"\x03sixsix", "number without end"),
        (b"\x03sixsix\x02", "cut off"),
        (b"\x03sixsix\x02tip!\x01\x02\x00", "out of order"),
        (b"\x03sixsix\x09tip!\x02\x03\x00\x03\x00", "out of order"),
        (b"\x03sixsix\x02tip!\x41", "number 65"),
        (b"\x03" + b"sixsix\x01\x00" * (limits.NAMES_MAX + 1), "too many names"),
        (b"\x04\x80\x20\x00", "number 4096"),
        (b"\x04\x80\x00\x00", "number 0, or more bytes"),
        (b"\x05\x00", "nothing is given"),
        (b"\x05\x00\x00\x01", "number 0"),
        (b"\x05\x00\x02\x00" + ENTRY, "number 0"),
        (b"\x05\x00\x02\x01" + ENTRY[1:], "cut off"),
        (b"\x05\x00" + (b"\x02\x01" + ENTRY) * (limits.GIVE_PACKETS_MAX + 1), "too much"),
        (b"\x06\x00\x00", "more bytes"),
        (b"\x07\x00" + encode_varint(2**32), "number 4294967296"),
        (b"\x07\x00\xff\xff\xff\xff\xff\xff", "without end"),
        (b"\x08\x00\x01\x03" + 3 * ENTRY, "number 3"),
        (b"\x02" + bytes(limits.PACKET_SIZE_MAX), "262145 bytes"),
    ],
)
def test_what_is_no_packet_is_refused(data: bytes, rule: str) -> None:
    with pytest.raises(FeedSyncPacketError, match=rule):
        parse_packet(data)


def test_a_greeting_of_a_later_version_is_read_whatever_else_it_says() -> None:
    assert parse_packet(b"\x01\x02" + bytes(40)) == FeedSyncHello(2, bytes(16))


def test_the_largest_packets_can_be_read() -> None:
    chains = tuple((2**32 - 70 + number, limits.CHAIN_CHUNK_MAX) for number in range(limits.CHAINS_MAX))
    names = tuple(WantedFeed(bytes(6), WantedRange(2**32, bytes(4), chains)) for _ in range(limits.NAMES_MAX))
    packet = serialize_packet(FeedSyncWant(names))
    assert limits.PACKET_SIZE_MAX // 2 < len(packet) <= limits.PACKET_SIZE_MAX
    assert parse_packet(packet) == FeedSyncWant(names)
