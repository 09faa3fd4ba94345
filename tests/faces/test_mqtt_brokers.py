"""Brokers that are none, or only of an older kind: what is said of them, and that nobody stumbles over them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.faces.mqtt_rig import until
from tests.faces.recording_sink import running
from tests.faces.shelves import Shelf
from tests.mosquitto import Mosquitto
from tinyssb_node.faces import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.mqtt import MqttEndpoint
from tinyssb_node.faces.mqtt_spec import MqttSpec

TAKEN = b"\x20\x03\x00\x00\x00"
"""CONNACK of MQTT 5: come in."""
CASES = [
    pytest.param(b"\x20\x03\x00\x84\x00", "it does not speak MQTT 5; ", id="only 3.1.1"),
    pytest.param(
        b"\x20\x03\x00\x88\x00", "it refuses this node ([code:136] Server unavailable); ", id="closed"
    ),
    pytest.param(b"\x20\x03\x00\x85\x00", "it refuses this node ([code:133] ", id="strange client name"),
    pytest.param(b"", "no MQTT broker at ", id="says nothing"),
    pytest.param(b"HTTP/1.1 400 Bad Request\r\n\r\n", "no MQTT broker at ", id="something else"),
    pytest.param(b"\x20\xff\xff\xff\xff\xff", "no MQTT broker at ", id="a length without an end"),
    pytest.param(TAKEN + b"\xf0" * 50, "no MQTT broker at ", id="nonsense after the beginning"),
    pytest.param(TAKEN + b"\x32\x02\xff\xff", "no MQTT broker at ", id="a message cut off"),
    pytest.param(TAKEN + b"\x30\x05\x00\x02\xff\xfe\x00", "no MQTT broker at ", id="a topic that is no text"),
]


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    """A port where somebody reads what comes first, says *answer*, and hangs up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1_000)
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


def endpoint(port: int) -> MqttEndpoint:
    spec, backoff = MqttSpec(host="127.0.0.1", port=port), Backoff(lambda: 0.0, min_s=0.02, max_s=0.02)
    return MqttEndpoint(f"mqtt:127.0.0.1:{port}", spec, lambda: 0.0, backoff=backoff)


@pytest.mark.parametrize(("answer", "said"), CASES)
async def test_a_broker_that_is_none_is_told(
    monkeypatch: pytest.MonkeyPatch, answer: bytes, said: str
) -> None:
    monkeypatch.setattr(limits, "MQTT_TIMEOUT_S", 0.2)
    monkeypatch.setattr(limits, "MQTT_GOODBYE_S", 0.05)
    async with answering(answer) as port:
        face = endpoint(port)
        async with running(face, [Shelf()]) as ana:
            await until(lambda: face.problem is not None)
            assert said in (face.problem or "")
        assert ana.frames == []


@pytest.mark.mosquitto
async def test_who_is_told_to_stop_while_connecting_leaves_no_connection(
    broker: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MQTT_TIMEOUT_S", 0.3)
    broker.freeze()
    async with running(endpoint(broker.port), [Shelf()]):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    broker.thaw()
    await until(lambda: "New connection" in broker.log.read_text())
    await until(lambda: "disconnected" in broker.log.read_text() or "closed" in broker.log.read_text())
