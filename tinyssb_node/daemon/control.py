"""The control socket: connections in, requests to the desk, replies out (docs/formats/control.md)."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tinyssb_node import limits
from tinyssb_node.daemon.explain import Explanation, explain
from tinyssb_node.daemon.problems import BusyError, HomeRefusedError
from tinyssb_node.daemon.protocol import Reply, Request, bad_request, parse_request, serialize_reply
from tinyssb_node.errors import LocalError

_PIPELINED_MAX = 16
"""Requests of one connection read ahead of the one being answered."""


@dataclass(frozen=True, slots=True)
class Client:
    """The other end of a control connection, as far as an answer needs it."""

    send: Callable[[object], Awaitable[None]]
    """Send an item; returns when there is room for the next."""
    gone: asyncio.Event
    """Set when it will ask nothing more."""


class Answering(Protocol):
    """What knows the answers."""

    async def answer(self, request: Request, client: Client) -> object:
        """The result of *request*; items go to *client* before. Raises LocalError."""
        ...


class ControlServer:
    """Serves the desk's commands to whoever may open the socket. A bug in an answer ends the process, loudly."""

    def __init__(self, desk: Answering, path: Path) -> None:
        self._desk = desk
        self._path = path
        self._clients = 0

    async def run(self, listening: asyncio.Event) -> None:
        """Serve until cancelled; *listening* is set once clients can connect. Raises HomeRefusedError."""
        sock = self._bind()
        try:
            async with asyncio.TaskGroup() as connections:

                def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                    connections.create_task(self._serve(reader, writer))

                server = await asyncio.start_unix_server(
                    connected, sock=sock, limit=limits.CONTROL_REQUEST_MAX
                )
                try:
                    listening.set()
                    await asyncio.Event().wait()
                finally:
                    # From Python 3.12 on ``serve_forever`` would wait until clients hang up; the group ends them.
                    server.close()
        finally:
            sock.close()
            self._path.unlink(missing_ok=True)

    def _bind(self) -> socket.socket:
        """The socket, reachable by the node's user alone from its first moment."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        mask = os.umask(0o177)
        try:
            # Left behind by a daemon that was killed: the store's lock says that none is running.
            self._path.unlink(missing_ok=True)
            sock.bind(str(self._path))
        except OSError as error:
            sock.close()
            raise HomeRefusedError(
                f"The control socket {self._path} cannot be made: {error.strerror}.",
                "Check who owns its folder, or set `control.socket` in config.toml.",
            ) from error
        finally:
            os.umask(mask)
        return sock

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients += 1
        try:
            if self._clients > limits.CONTROL_CLIENTS_MAX:
                raise BusyError(
                    f"{limits.CONTROL_CLIENTS_MAX} programs are connected to this daemon, as many as it serves.",
                    "Close one of them, such as a `tinyssb log --follow`.",
                )
            await _Connection(self._desk, reader, writer).run()
        except ConnectionError:
            pass  # It hung up; nobody is there to be told.
        except LocalError as error:
            writer.write(serialize_reply(_error_reply(None, explain(error))))
        finally:
            self._clients -= 1
            writer.close()


class _Connection:
    """One client: its requests are read ahead, so that its going is seen while one is being answered."""

    def __init__(self, desk: Answering, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._desk = desk
        self._reader = reader
        self._writer = writer
        self._requests: asyncio.Queue[Request | LocalError | None] = asyncio.Queue(_PIPELINED_MAX)
        self._gone = asyncio.Event()

    async def run(self) -> None:
        """Answer until the client goes. Raises ConnectionError; LocalError for a line that is no request."""
        reading = asyncio.create_task(self._read())
        try:
            while (request := await self._requests.get()) is not None:
                if isinstance(request, LocalError):
                    raise request
                await self._answer(request)
        finally:
            reading.cancel()
            await asyncio.wait([reading])

    async def _read(self) -> None:
        """Put requests into the queue; last, None at the connection's end, or what is wrong with a line."""
        last: LocalError | None = None
        try:
            while line := await self._reader.readline():
                if not line.endswith(b"\n"):
                    break
                await self._requests.put(parse_request(line))
        except ValueError:
            last = bad_request(f"it has more than {limits.CONTROL_REQUEST_MAX} bytes")
        except LocalError as error:
            last = error
        except ConnectionError:
            pass  # Seen by the writer too.
        self._gone.set()
        await self._requests.put(last)

    async def _answer(self, request: Request) -> None:
        async def send(item: object) -> None:
            await self._send({"v": limits.CONTROL_VERSION, "id": request.id, "item": item})

        try:
            result = await self._desk.answer(request, Client(send, self._gone))
        except LocalError as error:
            await self._send(_error_reply(request.id, explain(error)))
        else:
            await self._send({"v": limits.CONTROL_VERSION, "id": request.id, "result": result})

    async def _send(self, reply: Reply) -> None:
        self._writer.write(serialize_reply(reply))
        await self._writer.drain()


def _error_reply(id_: int | str | None, explanation: Explanation) -> Reply:
    return {
        "v": limits.CONTROL_VERSION,
        "id": id_,
        "error": {"code": explanation.code, "message": explanation.message, "hint": explanation.hint},
    }
