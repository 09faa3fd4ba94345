"""WebSocket faces: one bare packet per binary message, both ways. A server brings up a face per connection.

Deployed phones reconnect only after a failure, never after a clean close: whoever stops here drops the TCP connection.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from itertools import count

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.http11 import Request, Response
from websockets.protocol import State

from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.framing import Junk, parse_bare
from tinyssb_node.faces.spec import WsConnectSpec, WsListenSpec
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import WIRED, LinkProfile, stream_profile

_QUIET = logging.getLogger(f"{__name__}.library")
"""The library would log a traceback for every port scan; what matters of it reaches the sink."""
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False
_QUIET.setLevel(logging.CRITICAL)

HUNG_UP = "this node closed it"
"""Why a face went down that nothing was wrong with."""


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
            # The library aborted a transport to be sure (see _drop).
            if self._connection.state is not State.CLOSED:
                raise
            raise ConnectionResetError("the connection broke") from gone
        return len(packets)

    async def serve(self, sink: FaceSink, spec: str) -> str:
        """Be up until the connection ends, and hand what comes in to *sink*. Returns why it ended."""
        reason = HUNG_UP
        sink.up(self, spec)
        try:
            while True:
                message = await self._connection.recv()
                packet = parse_bare(message)
                if isinstance(packet, Junk):
                    sink.junk(self.name, packet, len(message))
                elif not sink.frame(self.name, packet, WIRED):
                    await sink.room()
        except ConnectionClosed as closed:
            reason = HUNG_UP if self._hung_up else _reason(closed)
        finally:
            self._drop()
            sink.down(self.name, reason)
        return reason

    def hang_up(self) -> None:
        """Drop the connection at once, without the closing handshake after which phones would not come back."""
        self._hung_up = True
        self._drop()

    def _drop(self) -> None:
        # A peer may end its half while bytes of ours wait. When they are written the transport closes and forgets its
        # event loop, but not that it could still be aborted, and falls over that (asyncio's selector transports).
        with suppress(AttributeError):
            self._connection.transport.abort()


def _reason(closed: ConnectionClosed) -> str:
    """Why a connection ended, in plain words."""
    if closed.rcvd is not None and closed.rcvd_then_sent is not False:
        return f"the peer closed it ({closed.rcvd.reason or closed.rcvd.code})"
    if closed.sent is not None:
        return f"closed after a fault of the peer ({closed.sent.reason or closed.sent.code})"
    return "the connection broke"


class WsServerEndpoint:
    """Listens, and brings up a face ``ws:PORT#N`` for each connection."""

    def __init__(self, text: str, spec: WsListenSpec) -> None:
        self.spec = text
        self._listen = spec
        self._numbers = count(1)
        self._faces: set[WsFace] = set()
        self._transports: set[asyncio.Transport] = set()
        self.problem: str | None = None
        self.port = spec.port
        """The port listened on; with a spec of port 0 the real one is here once ``listening`` is set."""
        self.listening = asyncio.Event()
        """Set while connections are accepted."""

    async def run(self, sink: FaceSink) -> None:
        """Serve until cancelled. Raises FaceOpenError if the address cannot be listened on."""

        async def serve_peer(connection: ServerConnection) -> None:
            base = self._listen.name or f"ws:{self.port}"
            face = WsFace(FaceName(f"{base}#{next(self._numbers)}"), connection)
            self._faces.add(face)
            try:
                await face.serve(sink, self.spec)
            finally:
                self._faces.discard(face)

        server = await self._open(serve_peer)
        self.port = server.sockets[0].getsockname()[1]
        self.listening.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.listening.clear()
            for face in self._faces:
                face.hang_up()
            for transport in self._transports:
                transport.abort()
            server.close(close_connections=False)
            await server.wait_closed()

    async def _open(self, serve_peer: Callable[[ServerConnection], Awaitable[None]]) -> Server:
        try:
            return await serve(
                serve_peer,
                self._listen.host,
                self._listen.port,
                process_request=self._refuse_when_full,
                create_connection=self._counted_connection(),
                server_header=None,
                compression=None,
                open_timeout=limits.WS_OPEN_S,
                ping_interval=limits.WS_PING_S,
                ping_timeout=limits.WS_PING_S,
                max_size=limits.WS_MESSAGE_MAX,
                max_queue=limits.WS_QUEUE,
                write_limit=limits.WS_WRITE_BUFFER,
                logger=_QUIET,
            )
        except OSError as error:
            raise FaceOpenError(
                self.spec,
                f"listening on {self._listen.host} port {self._listen.port} failed: {error.strerror or error}",
                "Choose another port, or stop the program that uses this one.",
            ) from error

    def _refuse_when_full(self, connection: ServerConnection, _request: Request) -> Response | None:
        if len(self._faces) < self._listen.peers:
            return None
        return connection.respond(
            HTTPStatus.SERVICE_UNAVAILABLE, "This node has all the peers it can serve.\n"
        )

    def _counted_connection(self) -> type[ServerConnection]:
        """The library's connection, but its transport is known here from the first byte on: handshakes in progress
        are bounded too, and all of them can be dropped at the end."""
        transports = self._transports
        most = self._listen.peers + limits.WS_HANDSHAKES_MAX

        class CountedConnection(ServerConnection):
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                transports.add(self.transport)
                if len(transports) > most:
                    self.transport.abort()

            def connection_lost(self, exc: Exception | None) -> None:
                transports.discard(self.transport)
                super().connection_lost(exc)

        return CountedConnection


class _Connect(connect):
    """A client that follows no redirects: a face connects where its user said, or not at all."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Take a redirect for the failure it is to us."""
        return exc


class WsClientEndpoint:
    """Keeps one connection to a server up, as face ``ws:HOST:PORT``."""

    def __init__(self, text: str, spec: WsConnectSpec, entropy: Callable[[], float] = random.random) -> None:
        self.spec = text
        self.problem: str | None = None
        self._connect = spec
        self._backoff = Backoff(entropy)

    async def run(self, sink: FaceSink) -> None:
        """Connect, and connect again whenever the connection is lost, until cancelled."""
        clock = asyncio.get_running_loop().time
        while True:
            connection = await self._open()
            if connection is not None:
                begun_s = clock()
                self.problem = None
                self.problem = await WsFace(self._connect.face_name, connection).serve(sink, self.spec)
                self._backoff.held(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())

    async def _open(self) -> ClientConnection | None:
        """One attempt. None if there is nobody, or nobody who speaks WebSocket."""
        try:
            return await _Connect(
                self._connect.url,
                proxy=None,
                user_agent_header=None,
                compression=None,
                open_timeout=limits.WS_OPEN_S,
                ping_interval=limits.WS_PING_S,
                ping_timeout=limits.WS_PING_S,
                max_size=limits.WS_MESSAGE_MAX,
                max_queue=limits.WS_QUEUE,
                write_limit=limits.WS_WRITE_BUFFER,
                logger=_QUIET,
            )
        except (OSError, WebSocketException) as error:
            self.problem = f"no connection to {self._connect.url}: {str(error) or 'no answer in time'}"
            return None
