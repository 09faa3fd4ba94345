"""A control socket over a runtime of fakes, and clients of it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.daemon.fakes import KEY, Bench, make_bench
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.access import ControlAccess
from tinyssb_node.control.server import ControlServer
from tinyssb_node.daemon.block_policy import BlockPolicy
from tinyssb_node.daemon.face_manager import FaceManager
from tinyssb_node.daemon.handler import KEEPERS_ONLY, ControlHandler, DaemonInfo
from tinyssb_node.ids import Dialect, NetworkName

PATIENCE_S = 10.0


@dataclass
class Line:
    """One client's connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def ask(self, command: str, **arguments: object) -> list[dict[str, Any]]:
        """All replies to one request."""
        self.send({"v": 1, "id": 1, "command": command, "arguments": arguments})
        replies = []
        while True:
            replies.append(await self.reply())
            if "item" not in replies[-1]:
                return replies

    def send(self, request: object) -> None:
        self.writer.write(json.dumps(request).encode() + b"\n")

    async def reply(self) -> dict[str, Any]:
        line = await asyncio.wait_for(self.reader.readline(), PATIENCE_S)
        reply: dict[str, Any] = json.loads(line)
        return reply


Connect = Callable[[], "contextlib.AbstractAsyncContextManager[Line]"]


@contextlib.asynccontextmanager
async def serving(
    folder: Path,
    networks: Mapping[NetworkName, Network] | None = None,
    group: str | None = "",
    home: Path = Path("/h"),
) -> AsyncIterator[tuple[Bench, Connect]]:
    """A runtime with a control socket, for the members of *group* too. In *home* is what a user wrote, if anything."""
    bench = make_bench(folder, networks)
    door = ControlAccess(bench.logger, group=group, keepers_only=KEEPERS_ONLY)
    about = DaemonInfo(name="test", feed=KEY.feed_id, dialect=Dialect.SPEC, home=str(home), pid=1, boot=1)
    desk = ControlHandler(
        about=about,
        runtime=bench.runtime,
        places=bench.places,
        clock=bench.clock,
        faces=FaceManager([], bench.runtime, bench.logger),
        turned_away=lambda: door.turned_away,
        blocks=BlockPolicy(home, bench.places, bench.logger),
    )
    path = folder / "c"
    listening = asyncio.Event()

    @contextlib.asynccontextmanager
    async def connect() -> AsyncIterator[Line]:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=limits.CONTROL_REPLY_MAX)
        try:
            yield Line(reader, writer)
        finally:
            writer.close()

    async with asyncio.TaskGroup() as tasks:
        working = tasks.create_task(bench.runtime.run())
        server = tasks.create_task(ControlServer(desk, path, door).run(listening))
        await asyncio.wait_for(listening.wait(), PATIENCE_S)
        yield bench, connect
        server.cancel()
        bench.runtime.stop()
        await working
    bench.close()
    assert not path.exists()


def code_of(reply: dict[str, Any]) -> str:
    error = reply["error"]
    assert isinstance(error, dict)
    assert error["message"]
    return str(error["code"])
