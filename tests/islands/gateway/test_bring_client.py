"""The way of another island's packets to the daemon, and of each answer back to its caller."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tinyssb_node.errors import LocalError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId
from tinyssb_node.islands.gateway.bring_client import BringClient

ANA, BOB = (FeedId(bytes([number]) * 32) for number in (1, 2))


class Daemon:
    """Answers each request by the feed that it is about, once it may."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[str] = asyncio.Queue()
        self.left: asyncio.Queue[None] = asyncio.Queue()
        self.callers = 0
        self.may = asyncio.Event()
        self.line = b""
        """Said in the place of an answer."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.callers += 1
        while line := await reader.readline():
            request = json.loads(line)
            self.asked.put_nowait(request["arguments"]["feed"])
            await self.may.wait()
            result: dict[str, object] = {
                "shelved": False,
                "entries": 0,
                "chunks": 0,
                "held": 0,
                "refused": None,
            }
            result["dropped"] = [request["arguments"]["feed"]]
            reply = {"v": request["v"], "id": request["id"], "result": result}
            writer.write(self.line or json.dumps(reply).encode() + b"\n")
        writer.close()
        await asyncio.gather(writer.wait_closed(), return_exceptions=True)
        self.left.put_nowait(None)


@asynccontextmanager
async def asked(tmp_path: Path) -> AsyncIterator[tuple[Daemon, BringClient]]:
    daemon, bringer = Daemon(), BringClient(tmp_path / "socket")
    server = await asyncio.start_unix_server(daemon.serve, tmp_path / "socket")
    yield daemon, bringer
    bringer.close()
    for _ in range(daemon.callers):
        await daemon.left.get()
    server.close()
    await server.wait_closed()


async def bring(bringer: BringClient, feed: FeedId) -> object:
    return (await bringer.bring(DEFAULT_NETWORK, feed, [])).dropped[0]


async def test_one_who_does_not_wait_leaves_no_answer_to_the_next(tmp_path: Path) -> None:
    async with asyncio.timeout(10), asked(tmp_path) as (daemon, bringer):
        gone = asyncio.create_task(bring(bringer, ANA))
        assert await daemon.asked.get() == ANA.hex()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        daemon.may.set()
        for feed in (BOB, ANA, BOB):
            assert await bring(bringer, feed) == feed.hex()


async def test_all_who_ask_at_once_get_their_own_answers(tmp_path: Path) -> None:
    async with asyncio.timeout(10), asked(tmp_path) as (daemon, bringer):
        daemon.may.set()
        feeds = [ANA, BOB] * 10
        answers = await asyncio.gather(*(bring(bringer, feed) for feed in feeds))
        assert answers == [feed.hex() for feed in feeds]


async def test_a_daemon_that_hangs_up_is_asked_anew(tmp_path: Path) -> None:
    async with asyncio.timeout(10), asked(tmp_path) as (daemon, bringer):
        daemon.may.set()
        daemon.line = b'{"v": 1, "id": 1, "error": {"code": "storage", "message": "no room", "hint": ""}}\n'
        with pytest.raises(LocalError, match="no room"):
            await bring(bringer, ANA)
        daemon.line = b""
        assert await bring(bringer, BOB) == BOB.hex()
