"""Faces are kept open; those that cannot be opened say why."""

import asyncio
import socket

import pytest
import structlog

from tests.faces.recording_sink import RecordingSink
from tinyssb_node.control.rows import EndpointRow
from tinyssb_node.daemon.face_manager import FaceManager, UnknownFaceError


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
