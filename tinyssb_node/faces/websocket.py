"""WebSocket faces: one bare packet per binary message, both ways. A server brings up a face per connection.

Deployed phones reconnect only after a failure, never after a clean close: so a server that stops drops the TCP
connection.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import count

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.server import Server, ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State

from tinyssb_node import limits
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.frames import FrameFault, parse_bare
from tinyssb_node.faces.ws_access import (
    CallFailedError,
    WsListenerAccess,
    WsProtocol,
    call,
    drop,
    renewed_options,
)
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile

_PACKETS = WsProtocol(size_max=limits.WS_MESSAGE_MAX, queue=16)  # then TCP is made to wait

HUNG_UP = "this node closed it"
"""Reason of a face that ended without an error."""


class WsFace:
    """One WebSocket connection that is open."""

    def __init__(self, name: FaceName, connection: ClientConnection | ServerConnection) -> None:
        self.name = name
        self.profile: LinkProfile = stream_profile()
        self._connection = connection
        self._hung_up = False

    async def send(self, packets: list[bytes]) -> int:
        """Write *packets*, waiting whenever the peer reads slower than we write. Raises ConnectionResetError."""
        try:
            for packet in packets:
                await self._connection.send(packet)
        except ConnectionClosed as closed:
            raise ConnectionResetError(_reason(closed)) from closed
        except AttributeError as gone:
            # The library aborted a transport to be sure (see ``drop``).
            if self._connection.state is not State.CLOSED:
                raise
            raise ConnectionResetError("the connection broke") from gone
        return len(packets)

    async def serve(
        self,
        sink: FaceSink,
        spec: str,
        pause_s: Callable[[int], float] | None = None,
        idle_s: int | None = None,
    ) -> str:
        """Run until the connection ends, and pass received packets to *sink*. Returns the reason of the end.

        *pause_s* returns how long to wait after so many bytes; after *idle_s* without a packet the connection is ended.
        """
        reason = HUNG_UP
        sink.up(self, spec)
        try:
            async with asyncio.timeout(idle_s) as idle:
                while True:
                    message = await self._connection.recv()
                    packet = parse_bare(message)
                    if isinstance(packet, FrameFault):
                        sink.junk(self.name, packet, len(message))
                    else:
                        if idle_s is not None:
                            idle.reschedule(asyncio.get_running_loop().time() + idle_s)
                        if not sink.frame(self.name, packet, WIRED):
                            await sink.room(self.name)
                    if pause_s is not None and (wait_s := pause_s(len(message))) > 0:
                        await asyncio.sleep(wait_s)
        except ConnectionClosed as closed:
            reason = HUNG_UP if self._hung_up else _reason(closed)
        except TimeoutError:
            reason = f"no packet came for {idle_s} s"
        finally:
            drop(self._connection)
            sink.down(self.name, reason)
        return reason

    def hang_up(self) -> None:
        """Drop the connection at once, without the closing handshake after which phones would not come back."""
        self._hung_up = True
        drop(self._connection)


def _reason(closed: ConnectionClosed) -> str:
    """Return the reason why a connection ended, in plain words."""
    if closed.rcvd is not None and closed.rcvd_then_sent is not False:
        return f"the peer closed it ({closed.rcvd.reason or closed.rcvd.code})"
    if closed.sent is not None:
        return f"closed after a fault of the peer ({closed.sent.reason or closed.sent.code})"
    return "the connection broke"


class WsServerEndpoint:
    """A listener that brings up a face ``ws:PORT#N`` for each connection."""

    def __init__(self, text: str, spec: WsListenSpec) -> None:
        self.spec = text
        self._listen = spec
        self._numbers = count(1)
        self._faces: set[WsFace] = set()
        self._door = WsListenerAccess(spec.guard, spec.peers)
        self.problem: str | None = None
        self.port = spec.port
        """The port listened on; with a spec of port 0 the real one is here once ``listening`` is set."""
        self.listening = asyncio.Event()
        """Set while connections are accepted."""

    @property
    def turned_away(self) -> int:
        """Connections that never became a face."""
        return self._door.turned_away

    async def run(self, sink: FaceSink) -> None:
        """Serve until cancelled. Raises FaceOpenError if the address cannot be listened on, CertificateError,
        SecretExposedError and SecretUnusableError if a configured file cannot be read."""

        async def serve_peer(connection: ServerConnection) -> None:
            base = self._listen.name or f"ws:{self.port}"
            face = WsFace(FaceName(f"{base}#{next(self._numbers)}"), connection)
            self._faces.add(face)
            try:
                await face.serve(sink, self.spec, self._pause_of(connection), self._listen.guard.idle_s)
            finally:
                self._faces.discard(face)

        servers = await self._open_whole(serve_peer)
        self.port = servers[0].sockets[0].getsockname()[1]
        self.listening.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.listening.clear()
            for face in self._faces:
                face.hang_up()
            self._door.hang_up()
            await _close(servers)

    def _pause_of(self, connection: ServerConnection) -> Callable[[int], float] | None:
        if self._listen.guard.rate is None:
            return None
        return lambda size: self._door.wait_s(connection, size)

    async def _open_whole(self, serve_peer: Callable[[ServerConnection], Awaitable[None]]) -> list[Server]:
        """Open the listener, wholly. If cancelled meanwhile, close it again: half of one would keep its port."""
        opening = asyncio.ensure_future(self._open(serve_peer))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            with suppress(LocalError):
                await _close(await opening)
            raise

    async def _open(self, serve_peer: Callable[[ServerConnection], Awaitable[None]]) -> list[Server]:
        host, port = self._listen.host, self._listen.port
        try:
            return await self._door.serve(host, port, serve_peer, _PACKETS)
        except OSError as error:
            raise FaceOpenError(
                self.spec,
                f"listening on {host} port {port} failed: {error.strerror or error}",
                "Choose another port, or stop the program that uses this one.",
            ) from error


async def _close(servers: Iterable[Server]) -> None:
    for server in servers:
        server.close(close_connections=False)
        await server.wait_closed()


class WsClientEndpoint:
    """An endpoint that keeps one connection to a server up, as face ``ws:HOST:PORT``."""

    def __init__(self, text: str, spec: WsConnectSpec, backoff: Backoff | None = None) -> None:
        self.spec = text
        self.problem: str | None = None
        self._connect = spec
        self._backoff = backoff or Backoff(random.random)

    async def run(self, sink: FaceSink) -> None:
        """Connect, and connect again whenever the connection is lost, until cancelled. Raises CertificateError,
        SecretExposedError and SecretUnusableError if a configured file cannot be read."""
        clock = asyncio.get_running_loop().time
        options = renewed_options(self._connect.credentials)
        while True:
            tls, headers = options.current()
            try:
                connection = await call(self._connect.url, _PACKETS, tls, headers)
            except CallFailedError as error:
                self.problem = str(error)
            else:
                begun_s = clock()
                self.problem = None
                self.problem = await WsFace(self._connect.face_name, connection).serve(sink, self.spec)
                self._backoff.link_was_up(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())
