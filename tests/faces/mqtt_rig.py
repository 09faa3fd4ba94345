"""MQTT faces at a real broker, and strangers who watch or disturb them there."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiomqtt

from tests.faces.recording_sink import PATIENCE_S
from tests.faces.shelves import Shelf
from tests.mosquitto import Mosquitto
from tests.nodes import key_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.mqtt import MqttEndpoint
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.faces.mqtt_topics import TopicNames
from tinyssb_node.faces.spec import parse_spec

CLAIM = bytes(range(105))
"""Any packet that is none of a feed."""


def spec_of(broker: Mosquitto, options: str = "") -> str:
    return f"mqtt:{broker.host}:{broker.port}{'?' if options else ''}{options}"


def endpoint(broker: Mosquitto, options: str = "", entropy: float = 0.0) -> MqttEndpoint:
    """A face that waits milliseconds instead of a second before it tries again."""
    text = spec_of(broker, options)
    spec = parse_spec(text)
    assert isinstance(spec, MqttSpec)
    backoff = Backoff(lambda: 0.0, min_s=0.02, max_s=0.02)
    return MqttEndpoint(text, spec, entropy=lambda: entropy, backoff=backoff)


@asynccontextmanager
async def stranger(broker: Mosquitto, *topics: str, **given) -> AsyncIterator[aiomqtt.Client]:
    """Somebody at the broker, who takes *topics*."""
    async with aiomqtt.Client(broker.host, broker.port, timeout=5, **given) as client:
        for topic in topics:
            await client.subscribe(topic, qos=1)
        yield client


async def next_of(client: aiomqtt.Client) -> tuple[str, bytes]:
    """The next message that a stranger takes."""
    async with asyncio.timeout(PATIENCE_S):
        message = await anext(client.messages)
    return message.topic.value, message.payload


async def until(condition: Callable[[], bool]) -> None:
    """Return when *condition* holds, which nothing announces."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - as said
            await asyncio.sleep(0.005)


def following(*names: str, network: Network | None = None) -> Shelf:
    """A shelf of somebody who has these feeds in his set, and none of their entries."""
    shelf = Shelf(network)
    for name in names:
        shelf.follow(name)
    return shelf


def topic_of(shelf: Shelf, name: str, client: str = "+") -> str:
    """Where *client* says what is of the feed of *name*."""
    return TopicNames("tinyssb", client).of_feed(shelf.network, key_of(name).feed_id)


def client_of(shelf: Shelf, broker: Mosquitto) -> str:
    """Return the name by which the face with *shelf* is known to the broker."""
    client = shelf.recall(f"mqtt:mqtt:{broker.host}:{broker.port}:client")
    assert client is not None
    return client


def subscribed(broker: Mosquitto, shelf: Shelf, name: str) -> bool:
    """Return True if the broker's log shows a subscription that was not ended."""
    log, topic = broker.log.read_text(), topic_of(shelf, name)
    return log.rfind(f"{topic} (QoS 1)") > log.rfind(f"\t{topic}\n")
