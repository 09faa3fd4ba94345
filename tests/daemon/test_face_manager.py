"""Faces are kept open; those that cannot be opened say why."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator

import pytest
import structlog

from tests.faces.recording_sink import RecordingSink
from tinyssb_node import limits
from tinyssb_node.control.rows import EndpointRow
from tinyssb_node.daemon.face_manager import FaceManager, UnknownFaceError
from tinyssb_node.daemon.face_settings import FaceSettings, FaceSettingsError
from tinyssb_node.faces.tuning import TuningError


async def test_one_that_fails_stops_no_other_and_is_told_once() -> None:
    said, told = list[str](), asyncio.Event()

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        said.append(str(line["spec"]))
        told.set()
        raise structlog.DropEvent

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        bad, good = f"ws:listen:127.0.0.1:{taken.getsockname()[1]}", "ws:listen:127.0.0.1:0?name=good"
        links = FaceManager([bad, good], RecordingSink(), structlog.wrap_logger(None, processors=[keep]))
        running = asyncio.create_task(links.run())
        async with asyncio.timeout(10):
            await told.wait()
        await asyncio.sleep(0)
        running.cancel()
        await asyncio.wait([running])
    assert links.rows()[0].problem is not None
    assert links.rows()[1] == EndpointRow(spec=good, problem=None, turned_away=0)
    assert said == [bad]


@pytest.mark.parametrize(
    ("spec", "warned"),
    [
        ("ws:listen:0.0.0.0:0", True),
        ("ws:listen:0.0.0.0:0?open=on", False),
        ("ws:listen:127.0.0.1:0", False),
    ],
)
async def test_a_listener_that_asks_for_nothing_is_warned_of_unless_that_is_meant(
    spec: str, *, warned: bool
) -> None:
    said: list[str] = []

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        said.append(str(line["event"]))
        raise structlog.DropEvent

    links = FaceManager([spec], RecordingSink(), structlog.wrap_logger(None, processors=[keep]))
    running = asyncio.create_task(links.run())
    async with asyncio.timeout(10):
        while links.rows()[0].turned_away != 0:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)
    running.cancel()
    await asyncio.wait([running])
    assert said == (["everyone who can reach this machine may connect"] if warned else [])


async def test_an_open_face_that_reaches_nobody_says_so() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        spec = f"ws:connect:127.0.0.1:{nobody.getsockname()[1]}"
        links = FaceManager([spec], RecordingSink(), structlog.wrap_logger(None, processors=[]))
        running = asyncio.create_task(links.run())
        async with asyncio.timeout(10):
            while links.rows()[0].problem is None:  # noqa: ASYNC110 - an endpoint has no event for this
                await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait([running])


async def test_a_face_is_restarted_by_its_name_and_others_stay() -> None:
    sink, said = RecordingSink(), list[str]()

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        said.append(str(line["event"]))
        raise structlog.DropEvent

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    listens, talks = f"ws:listen:127.0.0.1:{port}", "udp:239.5.5.8:1558?interface=127.0.0.1&name=lan"
    links = FaceManager([listens, talks], sink, structlog.wrap_logger(None, processors=[keep]))
    running = asyncio.create_task(links.run())
    async with asyncio.timeout(10):
        while "lan" not in sink.faces:  # noqa: ASYNC110 - nothing announces it
            await asyncio.sleep(0.001)
        assert await links.restart("lan") == talks
        # Two at once: the second one finds it open, or opens it.
        await asyncio.gather(links.restart(f"ws:{port}"), links.restart(f"ws:{port}"))
        while len(sink.ups) < 2 or links.rows()[0].turned_away != 0:  # noqa: ASYNC110 - likewise
            await asyncio.sleep(0.001)
    assert said.count("restarted a face") >= 2
    with pytest.raises(UnknownFaceError, match="no face called 'wlan'") as refused:
        await links.restart("wlan")
    assert refused.value.hint == f"It has ws:{port}, lan."
    running.cancel()
    await asyncio.wait([running])
    assert [row.problem for row in links.rows()] == [None, None]


async def test_the_only_face_is_restarted_and_after_the_end_nothing_is() -> None:
    sink, spec = RecordingSink(), "udp:239.5.5.8:1558?interface=127.0.0.1&name=lan"
    links = FaceManager([spec], sink, structlog.wrap_logger(None, processors=[_drop]))
    running = asyncio.create_task(links.run())
    await sink.until(lambda: len(sink.ups) == 1)
    assert await links.restart("lan") == spec
    await sink.until(lambda: len(sink.ups) == 2)
    assert not running.done()
    late = asyncio.create_task(links.restart("lan"))
    running.cancel()
    await asyncio.wait([running])
    assert await late == spec
    assert (len(sink.ups), sink.faces) == (2, {})


def _drop(_logger: object, _method: str, _line: structlog.typing.EventDict) -> str:
    raise structlog.DropEvent


RADIO = "lora:meshadv-mini?region=EU868&frequency=869.525&power=14&emulated=on&name=mast"
QUIET = RADIO.replace("power=14", "power=5")
Saved = list[dict[str, dict[str, str]]]


class Moments:
    """Waits that a test ends."""

    def __init__(self) -> None:
        self.waits: list[tuple[float, asyncio.Event]] = []
        self._waiting = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        event = asyncio.Event()
        self.waits.append((seconds, event))
        self._waiting.set()
        await event.wait()

    async def end(self) -> float:
        """End the next wait; return how long it would have been."""
        async with asyncio.timeout(10):
            while not self.waits:
                self._waiting.clear()
                await self._waiting.wait()
        seconds, event = self.waits.pop(0)
        event.set()
        return seconds


@contextlib.asynccontextmanager
async def tuned(saved: Saved | None = None) -> AsyncIterator[tuple[FaceManager, RecordingSink, Moments]]:
    """A radio that is up."""
    sink, moments = RecordingSink(), Moments()
    confirmed = {} if saved is None or not saved else saved[-1]

    def save(settings: FaceSettings) -> None:
        if saved is not None:
            saved.append({spec: dict(changes) for spec, changes in settings.items()})

    links = FaceManager(
        [RADIO],
        sink,
        structlog.wrap_logger(None, processors=[_drop]),
        confirmed=confirmed,
        save=save,
        sleep=moments.sleep,
    )
    running = asyncio.create_task(links.run())
    await sink.until(lambda: len(sink.ups) == 1)
    yield links, sink, moments
    running.cancel()
    await asyncio.wait([running])


async def test_settings_that_nobody_confirms_go_back() -> None:
    saved: Saved = []
    async with tuned(saved) as (links, sink, moments):
        assert links.tune("mast", {"power": "5"}, 15) == QUIET
        with pytest.raises(TuningError, match="no settings are on trial"):
            links.confirm("mast")  # which would prove nothing: the old ones are still used
        with pytest.raises(TuningError, match="on trial"):
            links.tune("mast", {"power": "6"}, 15)
        assert await moments.end() == limits.TRIAL_DELAY_S
        await sink.until(lambda: len(sink.ups) == 2)
        assert sink.ups[-1] == ("mast", QUIET)
        await asyncio.sleep(0)
        (row,) = links.rows()
        assert (row.spec, row.changes, row.trial) == (QUIET, {"power": "5"}, True)
        assert await moments.end() == 15 * 60
        await sink.until(lambda: len(sink.ups) == 3)
        assert sink.ups[-1] == ("mast", RADIO)
        with pytest.raises(TuningError, match="no settings are on trial"):
            links.confirm("mast")
    assert saved == []


async def test_confirmed_settings_stay_also_after_a_restart_of_the_daemon() -> None:
    saved: Saved = []
    async with tuned(saved) as (links, sink, moments):
        links.tune("mast", {"power": "5"}, 15)
        await moments.end()
        await sink.until(lambda: len(sink.ups) == 2)
        await asyncio.sleep(0)
        assert links.confirm("mast") == QUIET
        (row,) = links.rows()
        assert (row.spec, row.changes, row.trial) == (QUIET, {"power": "5"}, False)
    async with tuned(saved) as (links, sink, moments):
        assert sink.ups == [("mast", QUIET)]
        # Further ones are added to these.
        assert links.tune("mast", {"sf": "9"}, 15) == f"{QUIET}&sf=9"
        await moments.end()
        await sink.until(lambda: len(sink.ups) == 2)
    # And a restart in the middle of a trial goes back.
    async with tuned(saved) as (_, sink, _):
        assert sink.ups == [("mast", QUIET)]
    assert saved == [{RADIO: {"power": "5"}}]


async def test_settings_that_cannot_be_saved_stay_on_trial() -> None:
    def fail(_settings: FaceSettings) -> None:
        raise FaceSettingsError("no room")

    sink, moments = RecordingSink(), Moments()
    logger = structlog.wrap_logger(None, processors=[_drop])
    links = FaceManager([RADIO], sink, logger, save=fail, sleep=moments.sleep)
    running = asyncio.create_task(links.run())
    await sink.until(lambda: len(sink.ups) == 1)
    links.tune("mast", {"power": "5"}, 1)
    await moments.end()
    await sink.until(lambda: len(sink.ups) == 2)
    with pytest.raises(FaceSettingsError):
        links.confirm("mast")
    await moments.end()
    await sink.until(lambda: len(sink.ups) == 3)
    assert sink.ups[-1] == ("mast", RADIO)
    running.cancel()
    await asyncio.wait([running])


async def test_what_the_law_forbids_is_not_even_tried_and_a_file_cannot_say_otherwise() -> None:
    async with tuned([{RADIO: {"power": "30"}}]) as (links, sink, moments):
        assert sink.ups == [("mast", RADIO)]
        with pytest.raises(TuningError, match="not legal in EU868"):
            links.tune("mast", {"power": "30"}, 15)
        assert moments.waits == []
    async with tuned([{"lora:other?region=EU868&frequency=869.525": {"power": "5"}}]) as (_, sink, _):
        assert sink.ups == [("mast", RADIO)]  # config.toml has another spec by now
