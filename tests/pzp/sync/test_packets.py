import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec import bipf
from tinyssb_node.pzp.messages import base58
from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.packets import (
    EMPTY,
    DepthRange,
    EndReason,
    ExchangeId,
    Packet,
    PzpAnswer,
    PzpAsk,
    PzpDigest,
    PzpEnd,
    PzpGive,
    PzpHave,
    PzpWant,
    SyncPacketError,
    parse_packet,
    serialize_packet,
)

FROZEN = Path(__file__).parents[2] / "vectors" / "pzpsync" / "packets_v1.json"
ROOT = "PzuT1Dwbbgn6a8NeLuHuKw"
OF = ExchangeId(ROOT, bytes(range(8)))
EXAMPLES: list[Packet] = [
    PzpHave(OF, 0, DepthRange(0, 12), [PzpDigest(2**53 - 1, bytes(range(16)))]),
    PzpHave(OF, 300, EMPTY, [PzpDigest(300, bytes(16)), PzpDigest(301, bytes(range(16)))]),
    PzpWant(OF, 300, DepthRange(1, 4), DepthRange(1, 2**53 - 1)),
    PzpAsk(OF, 0, EMPTY, DepthRange(0, 12), b"\x01\x02\x03"),
    PzpAnswer(OF, 1, 12, b""),
    PzpGive(OF, 3, 300, False, [b"{}", b'{"a":1}']),
    PzpGive(OF, 0, 0, True, []),
    PzpEnd(OF, EndReason.DONE),
    PzpEnd(OF, EndReason.BUSY),
]

depths = st.integers(0, limits.DEPTH_MAX)
ranges = st.builds(DepthRange, depths, depths).map(lambda one: one or EMPTY)
exchanges = st.builds(
    ExchangeId,
    st.sampled_from([16, 32])
    .flatmap(lambda size: st.binary(min_size=size, max_size=size))
    .map(base58.encode),
    st.binary(min_size=8, max_size=8),
)
rounds = st.integers(0, limits.ROUNDS_MAX - 1)
digests = st.lists(depths, min_size=1, max_size=4, unique=True).map(
    lambda highs: [PzpDigest(high, bytes(16)) for high in sorted(highs)]
)
packets = st.one_of(
    st.builds(PzpHave, exchanges, st.just(0), ranges, digests),
    st.builds(PzpWant, exchanges, depths, ranges, ranges),
    st.builds(PzpAsk, exchanges, rounds, ranges, ranges, st.binary(max_size=40)),
    st.builds(PzpAnswer, exchanges, rounds, depths, st.binary(max_size=40)),
    st.builds(
        PzpGive,
        exchanges,
        rounds,
        st.integers(0, limits.GIVEN_MAX),
        st.booleans(),
        st.lists(st.binary(max_size=40), max_size=4),
    ),
    st.builds(PzpEnd, exchanges, st.sampled_from(EndReason)),
)


def test_frozen_bytes() -> None:
    frozen = json.loads(FROZEN.read_text("utf-8"))
    assert [type(packet).__name__.removeprefix("Pzp") for packet in EXAMPLES] == [
        record["packet"] for record in frozen["packets"]
    ]
    for packet, record in zip(EXAMPLES, frozen["packets"], strict=True):
        assert serialize_packet(packet).hex() == record["bytes"]
        assert parse_packet(bytes.fromhex(record["bytes"])) == packet


@given(packets)
def test_what_is_written_is_read(packet: Packet) -> None:
    assert parse_packet(serialize_packet(packet)) == packet


@given(st.binary(max_size=60) | packets.map(serialize_packet).map(lambda data: data[:-1]))
def test_any_bytes_have_an_answer(data: bytes) -> None:
    with suppress(SyncPacketError):
        parse_packet(data)


ID, NONCE = bytes(16), bytes(8)


@pytest.mark.parametrize(
    ("items", "error"),
    [
        ([], "ends early"),
        ([7, ID, NONCE], "number up to 6"),
        ([0, ID, NONCE], "no known kind"),
        ([True, ID, NONCE], "number up to 6"),
        ([6, ID[1:], NONCE, 0], "16 to 32 bytes"),
        ([6, ID + b"x", NONCE, 0], "an id of 17 bytes"),
        ([6, ID, NONCE + b"1", 0], "8 to 8 bytes"),
        ([6, ID, NONCE, 2], "number up to 1"),
        ([6, ID, NONCE, 0, 0], "too many"),
        ([1, ID, NONCE, -1, 0, 0, [0, ID]], "number up to"),
        ([1, ID, NONCE, 0, 0, 2**53, [0, ID]], "number up to"),
        ([1, ID, NONCE, 0, 0, 0, ID], "no list of digests"),
        ([1, ID, NONCE, 0, 0, 0, []], "no list of digests"),
        ([1, ID, NONCE, 0, 0, 0, [0]], "no list of digests"),
        ([1, ID, NONCE, 0, 0, 0, [0, ID] * (limits.WINDOWS_MAX + 1)], "no list of digests"),
        ([1, ID, NONCE, 0, 0, 0, [0, ID[1:]]], "16 to 16 bytes"),
        ([1, ID, NONCE, 7, 0, 0, [6, ID]], "do not go up"),
        ([1, ID, NONCE, 0, 0, 0, [6, ID, 6, ID]], "do not go up"),
        ([4, ID, NONCE, limits.ROUNDS_MAX, 0, b""], "number up to"),
        ([4, ID, NONCE, 0, 0, bytes(limits.FILTER_SIZE_MAX + 1)], "bytes have to be"),
        ([5, ID, NONCE, 0, 0, 1, []], "true or false"),
        ([5, ID, NONCE, 0, 0, True, ["{}"]], "no bytes"),
        ([5, ID, NONCE, 0, 0, True, b""], "no list"),
        ([5, ID, NONCE, 0, 0, True, [b""] * (limits.GIVEN_MAX + 1)], "no list"),
    ],
)
def test_what_is_no_packet_is_refused(items: list[bipf.Value], error: str) -> None:
    with pytest.raises(SyncPacketError, match=error):
        parse_packet(bipf.encode(items))


def test_large_packets_and_other_values_are_refused() -> None:
    with pytest.raises(SyncPacketError, match="at most"):
        parse_packet(bytes(limits.PACKET_SIZE_MAX + 1))
    with pytest.raises(SyncPacketError, match="no list"):
        parse_packet(bipf.encode("x"))
