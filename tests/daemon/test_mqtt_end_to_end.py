"""Islands of one node each, linked by nothing but a real MQTT broker."""

import asyncio
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import aiomqtt
import pytest

from tests.architecture.sources import ROOT
from tests.daemon.processes import PATIENCE_S, RunningDaemon, daemon, make_home, tinyssb
from tests.mosquitto import Mosquitto, running_mosquitto
from tinyssb_node.ids import FeedId

pytestmark = pytest.mark.mosquitto

PAGE = (ROOT / "docs" / "howto" / "mqtt.md").read_text()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Mosquitto]:
    with running_mosquitto(tmp_path) as running:
        yield running


def make_island(folder: Path, name: str, broker: Mosquitto, options: str = "") -> FeedId:
    return make_home(folder / name, f"mqtt:{broker.host}:{broker.port}{options}", name=name)


def comes(running: RunningDaemon, feed: FeedId, *contents: bytes) -> bool:
    """Return when *feed* has *contents*, with all their chunks, which nothing announces; False if they do not come."""
    deadline_s = time.monotonic() + PATIENCE_S
    with running.client() as client:
        client.follow(feed.hex())
    while time.monotonic() < deadline_s:
        with running.client() as client:
            if [row.content for row in client.log(feed.hex())] == [content.hex() for content in contents]:
                return True
        time.sleep(0.02)
    return False


async def status_of(broker: Mosquitto, payload: bytes) -> None:
    """Return when some node's status is *payload*."""
    async with asyncio.timeout(PATIENCE_S), aiomqtt.Client(broker.host, broker.port) as watcher:
        await watcher.subscribe("tinyssb/1/status/+")
        async for message in watcher.messages:
            if message.payload == payload:
                return


def test_what_one_island_says_comes_to_the_other(tmp_path: Path, broker: Mosquitto) -> None:
    feeds = {name: make_island(tmp_path, name, broker) for name in ("ana", "ben")}
    with daemon(tmp_path / "ana") as ana, daemon(tmp_path / "ben") as ben:
        with ana.client() as client:
            client.publish(b"x" * 1_000)
            client.publish(b"hello")
        assert comes(ben, feeds["ana"], b"x" * 1_000, b"hello")
        broker.stop()
        with ana.client() as client:
            client.publish(b"while nobody carries it")
        broker.start()
        assert comes(ben, feeds["ana"], b"x" * 1_000, b"hello", b"while nobody carries it")
        with ben.client() as client:
            client.publish(b"and back")
        assert comes(ana, feeds["ben"], b"and back")
        asyncio.run(status_of(broker, b"online"))
        ana.stop(signal.SIGKILL)
        asyncio.run(status_of(broker, b"offline"))
        assert ben.stop()[0] == 0


def test_islands_that_are_never_on_line_together(tmp_path: Path, broker: Mosquitto) -> None:
    ana_feed = make_island(tmp_path, "ana", broker, "?gossip=off")
    ben_feed = make_island(tmp_path, "ben", broker, "?gossip=off")
    with daemon(tmp_path / "ben") as ben:
        with ben.client() as client:
            client.follow(ana_feed.hex())
        asyncio.run(subscribed(broker, ana_feed))
        assert ben.stop()[0] == 0
    with daemon(tmp_path / "ana") as ana:
        with ana.client() as client:
            client.follow(ben_feed.hex())
            client.publish(b"is anybody there?")
        asyncio.run(published(broker, ana_feed))
        assert ana.stop()[0] == 0
    broker.stop()
    broker.start()
    with daemon(tmp_path / "ben") as ben:
        assert comes(ben, ana_feed, b"is anybody there?")
        assert ben.stop()[0] == 0


async def subscribed(broker: Mosquitto, feed: FeedId) -> None:
    """Return when somebody takes *feed*, which is seen from the broker's log alone."""
    await logged(broker, rf"/feed/{feed[:8].hex()}/\+ \(QoS 1\)")


async def published(broker: Mosquitto, feed: FeedId) -> None:
    """Return when the broker has an entry of *feed*, and has said so."""
    await logged(broker, rf"Received PUBLISH .*/feed/{feed[:8].hex()}/(.*\n)+.*Sending PUBACK")


async def logged(broker: Mosquitto, pattern: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not re.search(pattern, broker.log.read_text()):  # noqa: ASYNC110 - a log announces nothing
            await asyncio.sleep(0.02)


def test_status_tells_why_there_is_no_broker(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("wrong")
    (tmp_path / "secret").chmod(0o600)
    with running_mosquitto(tmp_path, users={"north": "right"}) as broker:
        make_island(tmp_path, "ana", broker, f"?user=north&password={tmp_path / 'secret'}")
        with daemon(tmp_path / "ana") as ana:
            with ana.client() as client:
                client.publish(b"hello")
                while not (problem := client.status().endpoints[0].problem):
                    asyncio.run(asyncio.sleep(0.02))
            said = tinyssb(ana.home, "status").stdout.decode()
            assert "1 packet waits for it" in problem
            assert "it refuses user 'north' with the password in" in said
            _, log = ana.stop()
    assert "wrong" not in said + log


async def test_the_pages_broker_lets_everybody_speak_as_himself_only(tmp_path: Path) -> None:
    blocks = re.findall(r"^   ```(\w*)\n(.*?)^   ```$", PAGE, re.MULTILINE | re.DOTALL)
    configuration, access = (
        [line.strip() for line in block.strip().splitlines()] for language, block in blocks if not language
    )
    (tmp_path / "acl").write_text("\n".join(access) + "\n")
    ours = ("listener", "certfile", "keyfile", "allow_anonymous", "password_file", "acl_file", "persistence ")
    settings = [line for line in configuration if not line.startswith(ours)]
    assert len(settings) == 3
    with running_mosquitto(
        tmp_path,
        users={"north": "n", "south": "s"},
        settings=[*settings, f"acl_file {tmp_path / 'acl'}"],
    ) as broker:
        north = aiomqtt.Client(broker.host, broker.port, username="north", password="n", identifier="00" * 8)
        south = aiomqtt.Client(broker.host, broker.port, username="south", password="s", identifier="11" * 8)
        async with asyncio.timeout(PATIENCE_S), north, south:
            await south.subscribe("tinyssb/1/#", qos=1)
            for client in ("11" * 8, "22" * 8, "00" * 8):
                await north.publish(f"tinyssb/1/{'a' * 14}/feed/{'b' * 16}/{client}", b"x" * 120, 1)
                await north.publish(f"tinyssb/1/status/{client}", b"online", 1)
            heard = [await anext(south.messages) for _ in range(2)]
        assert {message.topic.value.rpartition("/")[2] for message in heard} == {"00" * 8}
