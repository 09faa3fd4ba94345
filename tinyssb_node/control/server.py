"""The control socket: connections in, requests to the desk, replies out (docs/formats/control.md)."""

import asyncio
import math
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tinyssb_node import limits
from tinyssb_node.control.access import CallerRank, ControlAccess
from tinyssb_node.control.protocol import (
    ErrorReply,
    ReplyLine,
    RequestLine,
    bad_request,
    parse_request,
    serialize_reply,
)
from tinyssb_node.errors import BusyError, HomeInaccessibleError, LocalError


@dataclass(frozen=True, slots=True)
class ControlConnection:
    """The other end of a control connection, as far as an answer needs it."""

    send: Callable[[object], Awaitable[None]]
    """Send an item; returns when there is room for the next."""
    gone: asyncio.Event
    """Set when it will ask nothing more."""


class RequestHandler(Protocol):
    """Handler that answers requests."""

    async def answer(self, request: RequestLine, client: ControlConnection) -> object:
        """The result of *request*; items go to *client* before. Raises LocalError."""
        ...


class ControlServer:
    """Serves the desk's commands to whom the door lets in. A bug in an answer ends the process, loudly."""

    def __init__(self, desk: RequestHandler, path: Path, door: ControlAccess) -> None:
        self._desk = desk
        self._path = path
        self._door = door
        self._connections: set[_Connection] = set()

    async def run(self, listening: asyncio.Event) -> None:
        """Serve until cancelled; *listening* is set once clients can connect.

        Raises HomeInaccessibleError, ProblemError.
        """
        sock = self._bind()
        try:
            self._door.open_to_group(self._path)
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
            raise HomeInaccessibleError(
                f"The control socket {self._path} cannot be made: {error.strerror}.",
                "Check who owns its folder, or set `control.socket` in config.toml.",
            ) from error
        finally:
            os.umask(mask)
        return sock

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = None
        try:
            rank = self._door.admit(writer.get_extra_info("socket"))
            self._make_room(rank)
            connection = _Connection(self._desk, self._door, rank, reader, writer)
            self._connections.add(connection)
            await connection.run()
        except ConnectionError:
            pass  # It hung up; nobody is there to be told.
        except LocalError as error:
            writer.write(serialize_reply(_error_reply(None, error)))
        finally:
            self._connections.discard(connection)
            writer.close()

    def _make_room(self, rank: CallerRank) -> None:
        """See to it that there is a place for one more of *rank*. Raises BusyError."""
        rivals = self._connections
        most = limits.CONTROL_CLIENTS_MAX
        if rank is not CallerRank.KEEPER:
            rivals = {one for one in rivals if one.rank is rank}
            most -= limits.CONTROL_KEPT
        if len(rivals) < most:
            return
        slowest = min(rivals, key=lambda one: one.owing_since_s)
        if slowest.owing_since_s + limits.CONTROL_STALL_S < asyncio.get_running_loop().time():
            self._connections.discard(slowest)
            slowest.drop()
            return
        self._door.turn_away(f"{most} programs are connected, as many as are served")
        raise BusyError(
            f"{most} programs are connected to this daemon, as many as it serves.",
            "Close one of them, such as a `tinyssb log --follow`.",
        )


class _Connection:
    """One client: its requests are read ahead, so that its going is seen while one is being answered."""

    def __init__(
        self,
        desk: RequestHandler,
        door: ControlAccess,
        rank: CallerRank,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self.rank = rank
        self.owing_since_s = asyncio.get_running_loop().time()
        """Since when it is the client's turn: to ask for the first time, or to read; infinite while it is not."""
        self._desk = desk
        self._door = door
        self._reader = reader
        self._writer = writer
        # Requests are read ahead of the one being answered, so that the connection's end is seen: 1 MB at most.
        self._lines: asyncio.Queue[bytes | LocalError | None] = asyncio.Queue(4)
        self._gone = asyncio.Event()

    async def run(self) -> None:
        """Answer until the client goes. Raises ConnectionError; LocalError for a line that is no request."""
        reading = asyncio.create_task(self._read())
        try:
            while (line := await self._lines.get()) is not None:
                self.owing_since_s = math.inf
                if isinstance(line, LocalError):
                    raise line
                await self._answer(parse_request(line))
        finally:
            reading.cancel()
            await asyncio.wait([reading])

    def drop(self) -> None:
        """Hang up at once, whatever is still to be said."""
        self._writer.transport.abort()

    async def _read(self) -> None:
        """Put lines into the queue; last, None at the connection's end, or what is wrong with a line."""
        last: LocalError | None = None
        try:
            while line := await self._reader.readline():
                if not line.endswith(b"\n"):
                    break
                await self._lines.put(line)
        except ValueError:
            last = bad_request(f"it has more than {limits.CONTROL_REQUEST_MAX} bytes")
        except ConnectionError:
            pass  # Seen by the writer too.
        self._gone.set()
        await self._lines.put(last)

    async def _answer(self, request: RequestLine) -> None:
        async def send(item: object) -> None:
            await self._send(ReplyLine(id=request.id, item=item))

        try:
            self._door.check(self.rank, request.command)
            result = await self._desk.answer(request, ControlConnection(send, self._gone))
        except LocalError as error:
            await self._send(_error_reply(request.id, error))
        else:
            await self._send(ReplyLine(id=request.id, result=result))

    async def _send(self, reply: ReplyLine) -> None:
        self._writer.write(serialize_reply(reply))
        self.owing_since_s = asyncio.get_running_loop().time()
        await self._writer.drain()
        self.owing_since_s = math.inf


def _error_reply(id_: int | str | None, error: LocalError) -> ReplyLine:
    return ReplyLine(id=id_, error=ErrorReply(error.code, error.message, error.hint))
