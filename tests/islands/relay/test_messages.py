"""Messages of relays as bytes."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.islands.relay.messages import (
    RelayAccept,
    RelayCall,
    RelayCalled,
    RelayJoined,
    RelayMessageError,
    RelayRegister,
    RelayRegistered,
    RelayReply,
    RelayRequest,
    handle_of,
    parse_relay_reply,
    parse_relay_request,
    serialize_relay,
)

VECTORS = json.loads((Path(__file__).parents[2] / "vectors/relay/messages_v1.json").read_text("utf-8"))
GROUP = bytes.fromhex("27a337e6538c6d57")
EIGHT = bytes(range(8))
MESSAGES: dict[str, RelayRequest | RelayReply] = {
    "register": RelayRegister(GROUP, bytes(range(16))),
    "call": RelayCall(GROUP, EIGHT),
    "accept": RelayAccept(EIGHT),
    "registered": RelayRegistered(handle_of(bytes(range(16)))),
    "called": RelayCalled(EIGHT),
    "joined": RelayJoined(),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_vectors(name: str) -> None:
    data, message = bytes.fromhex(VECTORS[name]), MESSAGES[name]
    assert serialize_relay(message) == data
    parse = parse_relay_request if data[0] < 0x10 else parse_relay_reply
    assert parse(data) == parse(data + b"later versions") == message


def test_all_vectors_are_read() -> None:
    assert VECTORS.keys() == MESSAGES.keys()


@given(st.binary(max_size=40))
def test_any_bytes_are_a_message_or_an_error(data: bytes) -> None:
    for parse in (parse_relay_request, parse_relay_reply):
        try:
            message = parse(data)
        except RelayMessageError:
            continue
        assert data.startswith(serialize_relay(message))
