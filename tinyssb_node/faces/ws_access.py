"""WebSocket connections of every kind: listeners with their access control, and calls with their credentials.

Connections are counted from the moment the system has them, so that TLS handshakes that never end are, too.
"""

import asyncio
import hmac
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, TypeAlias

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.connection import Connection
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import InvalidStatus, WebSocketException
from websockets.http11 import Request, Response
from websockets.typing import Subprotocol

from tinyssb_node import limits
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.access import Credentials, ListenerPolicy, Quotas, owner_of
from tinyssb_node.faces.errors import SecretUnusableError
from tinyssb_node.faces.renewed import RenewedFiles
from tinyssb_node.faces.secretfiles import read_token

QUIET = logging.getLogger(f"{__name__}.library")
"""The library would log a traceback for every port scan; callers get what matters of it."""
QUIET.addHandler(logging.NullHandler())
QUIET.propagate = False
QUIET.setLevel(logging.CRITICAL)

_Ends: TypeAlias = tuple[Any, Any]
"""Address and port of the other end and of ours, as the system reports them: no two open connections share both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WsProtocol:
    """The protocol that both ends of a WebSocket speak, and its limits."""

    size_max: int
    """Bytes of the longest message."""
    queue: int
    """Messages read ahead."""
    subprotocols: tuple[Subprotocol, ...] = ()
    """The subprotocols of which both sides need one, the best first; none: any connection is taken."""
    path: str | None = None
    """The only path that a listener serves; None: any."""

    def takes(self, subprotocol: Subprotocol | None) -> bool:
        """Return True if both sides speak this protocol, when they agreed on *subprotocol*."""
        return not self.subprotocols or subprotocol in self.subprotocols

    @property
    def options(self) -> dict[str, Any]:
        """The options of the library that listeners and callers share."""
        return {
            "subprotocols": list(self.subprotocols) or None,
            "compression": None,
            "open_timeout": limits.WS_OPEN_S,
            "ping_interval": limits.WS_PING_S,
            "ping_timeout": limits.WS_PING_S,
            "max_size": self.size_max,
            "max_queue": self.queue,
            "write_limit": limits.WS_WRITE_BUFFER,
            "logger": QUIET,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class WsService:
    """One of the protocols that a listener speaks."""

    protocol: WsProtocol
    handler: Callable[[ServerConnection], Awaitable[None]]
    """Called with each connection that is admitted."""
    places: int
    """Connections at a time."""
    each: int | None = None
    """Those of one address; None: as many as there are places."""


class _ShortReads(Connection, asyncio.BufferedProtocol):
    """Reads few bytes at a time. asyncio takes up to 256 KiB, and the library makes thousands of short messages of them
    at once, however few are to be read ahead."""

    _room = memoryview(b"")

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002 - a hint
        """Return room for the next bytes, a view because asyncio's TLS fills it slice by slice."""
        self._room = memoryview(bytearray(limits.WS_READ))
        return self._room

    def buffer_updated(self, nbytes: int) -> None:
        """Pass on what was read."""
        room, self._room = self._room, memoryview(b"")
        self.data_received(bytes(room[:nbytes]))


class _ShortServerReads(ServerConnection, _ShortReads): ...


class _ShortClientReads(ClientConnection, _ShortReads): ...


class WsListenerAccess:
    """The access control of one listener."""

    def __init__(self, guard: ListenerPolicy, places: int) -> None:
        """Admits *places* connections, of all protocols, and a few more that are still in their handshake."""
        self._guard = guard
        self._places = places
        self._quotas = Quotas(guard)
        self._open: dict[_Ends, _Accepted] = {}
        self._welcomed: dict[_Ends, tuple[str | None, str]] = {}
        """The path and the owner of the address, of each admitted connection."""
        self._token: str | None = None
        self.turned_away = 0
        """Connections that ended before they were welcomed."""

    async def serve(
        self,
        host: str,
        port: int,
        handler: Callable[[ServerConnection], Awaitable[None]],
        protocol: WsProtocol,
        *,
        tls: ssl.SSLContext | None = None,
    ) -> list[Server]:
        """Accept connections until the servers are closed, one server for each address of *host*, and run *handler*
        with each that is admitted.

        *tls* serves where no certificate is configured. Raises OSError if the address cannot be listened on;
        CertificateError, SecretExposedError, SecretUnusableError.
        """
        service = WsService(protocol=protocol, handler=handler, places=self._places)
        return await self.serve_all(host, port, [service], tls=tls)

    async def serve_all(
        self, host: str, port: int, services: Sequence[WsService], *, tls: ssl.SSLContext | None = None
    ) -> list[Server]:
        """Serve several protocols, each at a path of its own, as ``serve`` does. Raises its errors."""
        tls = self._unlock() or tls

        def service_at(path: str) -> WsService | None:
            return next((each for each in services if each.protocol.path in (None, path)), None)

        async def welcome(connection: ServerConnection) -> None:
            request = connection.request
            service = None if request is None else service_at(request.path)
            if service is None or not service.protocol.takes(connection.subprotocol):
                drop(connection)
                return
            if (ends := (connection.remote_address, connection.local_address)) in self._open:
                self._welcomed[ends] = service.protocol.path, owner_of(str(connection.remote_address[0]))
            await service.handler(connection)

        def refuse(connection: ServerConnection, request: Request) -> Response | None:
            service = service_at(request.path)
            if service is None:
                paths = " and ".join(str(each.protocol.path) for each in services)
                return connection.respond(HTTPStatus.NOT_FOUND, f"Only {paths} is served here.\n")
            return self._refuse(connection, request, service)

        return [
            await serve(
                welcome,
                sock=sock,
                ssl=tls,
                ssl_handshake_timeout=None if tls is None else limits.WS_OPEN_S,
                process_request=refuse,
                # Browsers state the site of the page that connects, programs need not; no page of ours connects.
                origins=[None],
                server_header=None,
                create_connection=_ShortServerReads,
                **_joined_options(services),
            )
            for sock in await self._listen(host, port)
        ]

    def _unlock(self) -> ssl.SSLContext | None:
        """Read the configured files; return the TLS settings, None for no TLS."""
        guard = self._guard
        self._token = None if guard.token is None else require_token(guard.token)
        if guard.certificate is None or guard.key is None:
            return None
        from tinyssb_node.faces.tls import server_context  # noqa: PLC0415 - most listeners do without

        return server_context(guard.certificate, guard.key, clients=guard.clients)

    async def _listen(self, host: str, port: int) -> list[socket.socket]:
        """Return sockets that listen at *host*, one for each of its addresses."""
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        sockets: list[socket.socket] = []
        try:
            for family, kind, protocol, _, address in dict.fromkeys(found):
                if sockets:
                    # Any free port is meant to be one.
                    address = (address[0], sockets[0].getsockname()[1], *address[2:])  # noqa: PLW2901 - the port is known now
                listening = _Listening(family, kind, protocol)
                sockets.append(listening)
                listening.admit = self._admit
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    # IPv4 has a socket of its own.
                    listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listening.bind(address)
                # Here already, so that an address that is taken is found before any of them is served.
                listening.listen()
        except OSError:
            for sock in sockets:
                sock.close()
            raise
        return sockets

    def _refuse(self, connection: ServerConnection, request: Request, service: WsService) -> Response | None:
        """Return the refusal of *request*; None: it is admitted."""
        if self._token is not None and not has_token(self._token, request.headers.get_all("Authorization")):
            response = connection.respond(HTTPStatus.UNAUTHORIZED, "This node asks for a token.\n")
            response.headers["WWW-Authenticate"] = "Bearer"
            return response
        path, owner = service.protocol.path, owner_of(str(connection.remote_address[0]))
        owners = [each for known, each in self._welcomed.values() if known == path]
        each = service.places if service.each is None else service.each
        if len(owners) >= service.places or owners.count(owner) >= each:
            return connection.respond(
                HTTPStatus.SERVICE_UNAVAILABLE, "This node has all the peers it can serve.\n"
            )
        return None

    def wait_s(self, connection: ServerConnection, size: int) -> float:
        """Return the seconds to wait before more is read from *connection*, which sent *size* bytes."""
        return self._quotas.wait_s(str(connection.remote_address[0]), size, asyncio.get_running_loop().time())

    def hang_up(self) -> None:
        """Let all connections end, those too that are still in their handshake."""
        for sock in list(self._open.values()):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _admit(self, sock: "_Accepted", peer: tuple[Any, ...]) -> bool:
        """Count a new connection from *peer*. False: there are too many."""
        address, ends = str(peer[0]), (peer, sock.getsockname())
        if len(self._open) >= self._places + limits.WS_HANDSHAKES_MAX or not self._quotas.enter(address):
            self.turned_away += 1
            return False

        def closed() -> None:
            del self._open[ends]
            self._quotas.leave(address)
            self.turned_away += ends not in self._welcomed
            self._welcomed.pop(ends, None)

        self._open[ends] = sock
        sock.closed = closed
        return True


def _joined_options(services: Sequence[WsService]) -> dict[str, Any]:
    """Return the options of a listener that speaks all of them."""
    options = [service.protocol.options for service in services]
    subprotocols = [name for each in options for name in each["subprotocols"] or ()]
    return options[0] | {
        "subprotocols": subprotocols or None,
        "max_size": max(each["max_size"] for each in options),
        "max_queue": max(each["max_queue"] for each in options),
    }


class _Accepted(socket.socket):
    """A connection that reports when it is closed."""

    closed: Callable[[], None] | None = None

    def close(self) -> None:
        super().close()
        closed, self.closed = self.closed, None
        if closed is not None:
            closed()


class _Listening(socket.socket):
    """A listening socket that passes only admitted connections to its server."""

    admit: Callable[[_Accepted, tuple[Any, ...]], bool]

    def accept(self) -> tuple[socket.socket, tuple[Any, ...]]:
        for _ in range(100):  # then other tasks get a turn
            sock, peer = super().accept()
            accepted = _Accepted(fileno=sock.detach())
            if self.admit(accepted, peer):
                return accepted, peer
            accepted.close()
        # The error for a server with no connection waiting; it tries again in its next round.
        raise BlockingIOError


def require_token(file: Path) -> str:
    """Return the token of *file*. Raises SecretExposedError, SecretUnusableError, also if it does not exist."""
    token = read_token(file)
    if token is None:
        raise SecretUnusableError(file, "is not there")
    return token


def has_token(token: str, authorizations: list[str]) -> bool:
    """Return True if a request with these headers has *token*, in a time that does not depend on how much of it is
    right."""
    if len(authorizations) != 1:
        return False
    return hmac.compare_digest(authorizations[0].encode("utf-8", "replace"), f"Bearer {token}".encode())


class CallFailedError(LocalError):
    """A call that reached no server with the right protocol."""


class _NoRedirectConnect(connect):
    """A caller that follows no redirects: it connects where its user configured it, and nowhere else. Credentials for
    one server are not for another, and strangers must not direct us into our own network."""

    def process_redirect(self, exc: Exception) -> Exception | str:
        """Take a redirect for the failure it is to us."""
        return exc


async def call(
    url: str,
    protocol: WsProtocol,
    tls: ssl.SSLContext | None,
    headers: dict[str, str] | None = None,
    local: str | None = None,
) -> ClientConnection:
    """Connect to the server at *url*, from our address *local* if that is given.

    Raises CallFailedError, also if the server does not speak the subprotocol.
    """
    try:
        connection = await _NoRedirectConnect(
            url,
            ssl=tls,
            additional_headers=headers,
            local_addr=None if local is None else (local, 0),
            proxy=None,
            user_agent_header=None,
            create_connection=_ShortClientReads,
            **protocol.options,
        )
    except (OSError, WebSocketException) as error:
        raise CallFailedError(f"no connection to {url}: {_failure_reason(error)}") from error
    if not protocol.takes(connection.subprotocol):
        connection.transport.abort()
        raise CallFailedError(f"{url} does not speak {' or '.join(protocol.subprotocols)}")
    return connection


def drop(connection: Connection) -> None:
    """End *connection* at once, without the closing handshake.

    A peer may end its half while bytes of ours wait. When they are written the transport closes and forgets its event
    loop, but not that it could still be aborted, and falls over that (asyncio's selector transports).
    """
    with suppress(AttributeError):
        connection.transport.abort()


CallerOptions: TypeAlias = "tuple[ssl.SSLContext | None, dict[str, str]]"
"""A caller's TLS settings, None for no TLS, and its further options."""


def renewed_options(credentials: Credentials) -> RenewedFiles[CallerOptions]:
    """Return what ``client_options`` does, read again once a file of *credentials* changes. Raises its errors."""
    paths = (credentials.token, credentials.authorities, credentials.certificate, credentials.key)
    return RenewedFiles(paths, lambda: client_options(credentials))


def client_options(credentials: Credentials) -> CallerOptions:
    """Return a caller's TLS settings and further options.

    Raises CertificateError, SecretExposedError, SecretUnusableError.
    """
    token = None if credentials.token is None else require_token(credentials.token)
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    if not credentials.tls:
        return None, headers
    from tinyssb_node.faces.tls import client_context  # noqa: PLC0415 - most callers do without

    context = client_context(
        authorities=credentials.authorities,
        pin=credentials.pin,
        certificate=credentials.certificate,
        key=credentials.key,
    )
    return context, headers


def _failure_reason(error: Exception) -> str:
    """Return the reason why a call failed, with what to check."""
    if isinstance(error, InvalidStatus) and error.response.status_code == HTTPStatus.UNAUTHORIZED:
        return "it asks for a token (401), and did not get the right one"
    if isinstance(error, ssl.SSLCertVerificationError) and (found := getattr(error, "verify_message", "")):
        return f"its certificate is not trusted ({found}); name the authority that signed it, or for a face its pin"
    return str(error) or "no answer in time"
