"""The bridge at a real broker, with a client in the place of Home Assistant."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiomqtt
import pytest
import structlog

from tests.alerts.homeassistant.test_discovery import NODE, REPORT
from tests.daemon.processes import daemon, make_home, tinyssb
from tests.mosquitto import Mosquitto, running_mosquitto
from tinyssb_node.alerts.homeassistant import limits
from tinyssb_node.alerts.homeassistant.bridge import HomeBridge
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.faces.mqtt_spec import parse_broker

pytestmark = pytest.mark.mosquitto

STATUS, SAY = f"tinyssb-ha/{NODE}/status", f"tinyssb-ha/{NODE}/say"


class Home:
    """A client of the broker: the last payload of each topic."""

    def __init__(self, client: aiomqtt.Client) -> None:
        self.client = client
        self.seen: dict[str, bytes] = {}
        self._news = asyncio.Event()

    async def listen(self) -> None:
        await self.client.subscribe("#", 1)
        async for message in self.client.messages:
            assert isinstance(message.payload, bytes)
            self.seen[message.topic.value] = message.payload
            self._news.set()

    async def until(self, done: Callable[[], object]) -> None:
        """Wait for *done*, which is asked again after each message."""
        async with asyncio.timeout(60):
            while not done():
                self._news.clear()
                await self._news.wait()

    async def is_online(self) -> None:
        await self.until(lambda: self.seen.get(STATUS) == b"online")


@contextlib.asynccontextmanager
async def at_home(broker: Mosquitto) -> AsyncIterator[Home]:
    async with aiomqtt.Client("127.0.0.1", broker.port) as client:
        home = Home(client)
        listening = asyncio.create_task(home.listen())
        try:
            yield home
        finally:
            listening.cancel()
            await asyncio.wait([listening])


class World:
    """A node, whose report changes, and who gets texts."""

    def __init__(self) -> None:
        self.report = REPORT
        self.said: asyncio.Queue[str] = asyncio.Queue()
        self.loop = asyncio.get_running_loop()

    def say(self, text: str) -> None:
        if text == "refused":
            raise ProblemError("It takes so many packets.", "Send less.")
        self.loop.call_soon_threadsafe(self.said.put_nowait, text)

    @contextlib.asynccontextmanager
    async def bridge(self, broker: Mosquitto, *, says: bool = True) -> AsyncIterator[None]:
        bridge = HomeBridge(
            parse_broker(f"mqtt:127.0.0.1:{broker.port}"),
            structlog.get_logger(),
            node=NODE,
            look=lambda: self.report,
            say=self.say if says else None,
            look_s=0.02,
        )
        working = asyncio.create_task(bridge.run())
        try:
            yield
        finally:
            working.cancel()
            await asyncio.wait([working])


async def test_a_node_appears_changes_and_goes_away(tmp_path: Path) -> None:
    world = World()
    config, state = f"homeassistant/device/tinyssb_{NODE}/config", f"tinyssb-ha/{NODE}/state"
    with running_mosquitto(tmp_path) as broker:
        async with at_home(broker) as home:
            async with world.bridge(broker):
                await home.is_online()
                assert json.loads(home.seen[config])["device"]["name"] == "hut"
                others = [topic for topic in home.seen if "/nodes/" in topic]
                assert len(others) == 2
                world.report = dataclasses.replace(world.report, problems=[], others=world.report.others[:1])
                await home.until(lambda: json.loads(home.seen[state])["problems"] == [])
                await home.until(lambda: sum(home.seen[topic] == b"" for topic in others) == 1)
                gone = [topic for topic, payload in home.seen.items() if not payload]
                assert len(gone) == 2, "the device, and its state"
            await home.until(lambda: home.seen[STATUS] == b"offline")
        async with at_home(broker) as late:  # Home Assistant was started again
            await late.until(lambda: STATUS in late.seen and state in late.seen and config in late.seen)
            assert late.seen[STATUS] == b"offline"
            assert not any(topic in late.seen for topic in gone)


async def test_devices_of_an_earlier_run_that_are_no_more_are_removed(tmp_path: Path) -> None:
    world = World()
    with running_mosquitto(tmp_path) as broker:
        async with world.bridge(broker), at_home(broker) as home:
            await home.is_online()
            devices = {topic for topic in home.seen if topic.startswith("homeassistant/")}
        kept, gone = world.report.others
        world.report = dataclasses.replace(world.report, others=[kept])
        state = f"tinyssb-ha/{NODE}/nodes/{gone.feed.hex()[:16]}"
        async with at_home(broker) as home:
            await home.until(lambda: home.seen.get(state))
            async with world.bridge(broker):
                await home.until(lambda: not home.seen[state])
        async with at_home(broker) as late:
            await late.until(lambda: STATUS in late.seen and f"tinyssb-ha/{NODE}/state" in late.seen)
            left = {topic for topic in late.seen if topic.startswith("homeassistant/")}
    assert len(devices - left) == 1
    assert gone.feed.hex()[:16] in next(iter(devices - left))


async def test_texts_are_said_within_limits(tmp_path: Path) -> None:
    world = World()
    with running_mosquitto(tmp_path) as broker:
        async with at_home(broker) as home, world.bridge(broker):
            await home.is_online()
            for payload in (
                b" Soup! ",
                b"",
                b"\xff",
                b"x" * (limits.TEXT_MAX + 1),
                b"refused",
                "Grüße".encode(),
            ):
                await home.client.publish(SAY, payload, 1)
            for number in range(limits.TEXTS_AT_ONCE):
                await home.client.publish(SAY, str(number).encode(), 1)
            said = [await asyncio.wait_for(world.said.get(), 60) for _ in range(4)]
            assert said == ["Soup!", "Grüße", "0", "1"], "a refused one counts"
            await home.client.publish(SAY, b"too many", 1)
            world.report = dataclasses.replace(world.report, entries=7)
            await home.until(lambda: b'"entries": 7' in home.seen[f"tinyssb-ha/{NODE}/state"])
            assert world.said.empty()


async def test_nobody_can_speak_for_a_node_that_takes_no_texts(tmp_path: Path) -> None:
    world = World()
    with running_mosquitto(tmp_path) as broker:
        async with at_home(broker) as home, world.bridge(broker, says=False):
            await home.is_online()
            config = json.loads(home.seen[f"homeassistant/device/tinyssb_{NODE}/config"])
            assert "say" not in config["components"]
            await home.client.publish(SAY, b"Soup!", 1)
            world.report = dataclasses.replace(world.report, entries=7)
            await home.until(lambda: b'"entries": 7' in home.seen[f"tinyssb-ha/{NODE}/state"])
            assert world.said.empty()


async def test_a_broker_that_comes_back_is_told_all_of_it_again(tmp_path: Path) -> None:
    world = World()
    with running_mosquitto(tmp_path, settings=["autosave_interval 0"]) as broker:
        async with world.bridge(broker):
            async with at_home(broker) as home:
                await home.is_online()
            broker.kill()
            (tmp_path / "mosquitto.db").unlink(missing_ok=True)
            broker.start()
            async with at_home(broker) as home:
                await home.is_online()
                assert f"homeassistant/device/tinyssb_{NODE}/config" in home.seen


async def test_a_daemon_with_a_bridge_is_in_the_home_and_writes_what_it_is_told(tmp_path: Path) -> None:
    folder, root = tmp_path / "broker", tmp_path / "a"
    folder.mkdir()
    with running_mosquitto(folder) as broker:
        make_home(root, "ws:listen:127.0.0.1:0")
        with (root / "config.toml").open("a") as config:
            config.write(
                f'\n[alerts]\nenabled = true\nhomeassistant = "mqtt:127.0.0.1:{broker.port}"\nconversation = "public"\n'
            )
        with daemon(root):
            async with at_home(broker) as home:
                await home.until(lambda: any(value == b"online" for value in home.seen.values()))
                (say,) = [
                    json.loads(payload)["components"]["say"]["command_topic"]
                    for topic, payload in home.seen.items()
                    if topic.startswith("homeassistant/device/")
                ]
                await home.client.publish(say, b"The oven is on.", 1)
                async with asyncio.timeout(60):
                    while b"The oven is on." not in (await asyncio.to_thread(tinyssb, root, "chat")).stdout:
                        pass
            shown = await asyncio.to_thread(tinyssb, root, "alerts", "homeassistant")
        assert b"The oven is on." in shown.stdout
        assert tinyssb(root, "alerts", "test").returncode == ExitCode.CONFIG
