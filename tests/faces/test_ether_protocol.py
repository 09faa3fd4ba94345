"""The ether's lines: every message comes back, nothing else gets through."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.lora import LoraSettings
from tinyssb_node.faces.ether_protocol import (
    EtherCut,
    EtherFrame,
    EtherGetStatus,
    EtherHeal,
    EtherHello,
    EtherNodeStatus,
    EtherRefused,
    EtherSend,
    EtherSent,
    EtherSetLink,
    EtherSetLoss,
    EtherStatus,
    FromClient,
    FromEther,
    parse_from_client,
    parse_from_ether,
    serialize_message,
    welcome,
)

names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}", fullmatch=True)
sides = st.lists(names, min_size=1, max_size=5).map(tuple)
numbers = st.integers(0, 2**53)
packets = st.binary(min_size=8, max_size=120).map(bytes.hex)
losses = st.floats(0.0, 1.0)

from_clients: st.SearchStrategy[FromClient] = st.one_of(
    st.builds(EtherHello, version=st.integers(0, 9), name=st.none() | names),
    st.builds(EtherSend, id=numbers, packet=packets),
    st.builds(EtherCut, left=sides, right=sides),
    st.just(EtherHeal()),
    st.just(EtherGetStatus()),
    st.builds(EtherSetLink, left=names, right=names, rssi_dbm=st.floats(-200.0, 30.0), loss=losses),
    st.builds(EtherSetLoss, loss=losses),
)
node_states = st.builds(
    EtherNodeStatus,
    name=names,
    connected=st.booleans(),
    sent=numbers,
    airtime_us=numbers,
    heard=numbers,
    collided=numbers,
    lost=numbers,
)
from_ethers: st.SearchStrategy[FromEther] = st.one_of(
    st.builds(welcome, st.builds(LoraSettings), st.floats(0.001, 1000.0)),
    st.builds(EtherRefused, reason=st.text(max_size=400)),
    st.builds(EtherSent, id=numbers),
    st.builds(EtherFrame, packet=packets, rssi_dbm=st.integers(-200, 30), snr_db=st.floats(-30.0, 60.0)),
    st.builds(
        EtherStatus,
        nodes=st.lists(node_states, max_size=4).map(tuple),
        cuts=st.lists(st.tuples(sides, sides), max_size=3).map(tuple),
        time_us=numbers,
    ),
)


@given(from_clients)
def test_what_clients_say_comes_back(message: FromClient) -> None:
    line = serialize_message(message)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse_from_client(line) == message


@given(from_ethers)
def test_what_the_ether_says_comes_back(message: FromEther) -> None:
    line = serialize_message(message)
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")
    assert parse_from_ether(line) == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
tags = st.sampled_from(
    ("hello", "send", "cut", "heal", "link", "loss", "status", "welcome", "sent", "frame", "state")
)


@given(st.binary(max_size=300) | json_values.map(lambda value: json.dumps(value).encode()))
def test_any_bytes_are_a_message_or_none(line: bytes) -> None:
    assert parse_from_client(line) is None
    assert parse_from_ether(line) is None


@given(
    tags, st.dictionaries(st.sampled_from(("version", "name", "id", "packet", "left", "loss")), json_values)
)
def test_any_fields_under_a_known_tag_are_a_valid_message_or_none(
    tag: str, fields: dict[str, object]
) -> None:
    line = json.dumps({"t": tag, **fields}).encode()
    for parse in (parse_from_client, parse_from_ether):
        message = parse(line)
        assert message is None or parse(serialize_message(message)) == message


@pytest.mark.parametrize(
    "line",
    [
        b'{"t":"he\xf7lo"}',
        b'{"t":"hello","version":1,"name":""}',
        b'{"t":"hello","version":1,"name":"ana\\n"}',
        b'{"t":"hello","version":1,"name":"' + b"x" * 33 + b'"}',
        b'{"t":"send","id":1,"packet":"' + b"00" * 7 + b'"}',
        b'{"t":"send","id":1,"packet":"' + b"00" * 121 + b'"}',
        b'{"t":"send","id":1,"packet":"' + b"00" * 8 + b'0"}',
        b'{"t":"send","id":1,"packet":"' + b"AB" * 8 + b'"}',
        b'{"t":"send","id":-1,"packet":"' + b"00" * 8 + b'"}',
        b'{"t":"cut","left":[],"right":["a"]}',
        b'{"t":"loss","loss":1.1}',
        b'{"t":"link","left":"a","right":"b","rssi_dbm":99}',
        b"[" * 100_000,
    ],
)
def test_values_out_of_bounds_are_refused(line: bytes) -> None:
    assert parse_from_client(line) is None


def test_a_welcome_says_everything_about_the_channel() -> None:
    modem = LoraSettings(
        frequency_hz=869_525_000,
        bandwidth_hz=250_000,
        spreading_factor=9,
        coding_rate=7,
        preamble_symbols=12,
        sync_word=0x12,
        crc=True,
    )
    assert welcome(modem, 2.0).lora() == modem
