"""The page's server: Starlette, server-sent events, files of its own; nothing is loaded from elsewhere.

The page needs no login, so it is bound to this machine unless told otherwise, and a server bound to this machine
answers only to this machine's names: a web page elsewhere cannot read it by pointing its own name here.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from ipaddress import ip_address
from os import EX_UNAVAILABLE
from pathlib import Path
from typing import Final

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from spark_sink import errors
from spark_sink.dashboard import limits
from spark_sink.dashboard.watch import TooManyPagesError, Watcher

STATIC: Final = Path(__file__).parent / "static"
HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
"""What every answer carries. Names of nodes come from strangers: one that became markup would still run nothing."""
LOCAL_NAMES: Final = ("localhost", "127.0.0.1", "[::1]", "::1")


class CannotListenError(errors.SinkError):
    """The address of the page cannot be had."""

    exit_code = EX_UNAVAILABLE

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        super().__init__(
            f"Cannot listen on {host}, port {port}: {cause.strerror or cause}. "
            "Is another page running there? Name a free port with --port, or an address of this machine with --host."
        )


class FixedHeaders:
    """Puts ``HEADERS`` on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        await self._app(scope, receive, send_with_headers)


def make_app(watcher: Watcher, *, host: str = "127.0.0.1") -> Starlette:
    """The application over one watched database, to be bound to ``host``."""

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        looking = asyncio.create_task(watcher.run())
        yield
        await watcher.close()
        await looking

    async def page(_request: Request) -> Response:
        return FileResponse(STATIC / "index.html")

    async def snapshot(_request: Request) -> Response:
        _snapshot, payload = await watcher.look()
        return Response(payload, media_type="application/json")

    async def health(_request: Request) -> Response:
        found, _payload = await watcher.look()
        well = found.state in {"ready", "empty"}
        return JSONResponse(
            {"database": found.state, "message": found.message}, status_code=200 if well else 503
        )

    async def events(_request: Request) -> Response:
        pages = watcher.listen()
        try:
            first = await anext(pages)
        except TooManyPagesError as error:
            return PlainTextResponse(f"{error}\n", status_code=503, headers={"retry-after": "10"})
        return StreamingResponse(stream(first, pages), media_type="text/event-stream")

    return Starlette(
        routes=[
            Route("/", page),
            Route("/api/snapshot", snapshot),
            Route("/api/events", events),
            Route("/healthz", health),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(FixedHeaders),
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(host), www_redirect=False),
        ],
        lifespan=lifespan,
    )


def allowed_hosts(host: str) -> list[str]:
    """The names a server bound to ``host`` answers to."""
    return [*LOCAL_NAMES, host] if is_local(host) else ["*"]


def is_local(host: str) -> bool:
    """Whether an address to bind to can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def stream(first: bytes | None, pages: AsyncGenerator[bytes | None]) -> AsyncIterator[bytes]:
    """Server-sent events: ``snapshot`` with the JSON, ``clock`` with this machine's time as a sign of life."""
    async with contextlib.aclosing(pages):
        yield f"retry: {limits.RETRY_MS}\n\n".encode()
        yield server_sent(first)
        async for payload in pages:
            yield server_sent(payload)


def server_sent(payload: bytes | None) -> bytes:
    """One event of the stream (HTML Living Standard, 9.2); the JSON has no line feeds inside."""
    clock = b'event: clock\ndata: {"now_us":%d}\n\n' % (time.time_ns() // 1_000)
    return clock if payload is None else clock + b"event: snapshot\ndata: %b\n\n" % payload


class Server(uvicorn.Server):
    """Ends the endless answers first when it is told to stop; uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, watcher: Watcher) -> None:
        super().__init__(config)
        self._watcher = watcher

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the pages go, then everything else."""
        self._watcher.stop()
        await super().shutdown(sockets)


def make_server(database: Path, *, host: str) -> Server:
    """The server of the page over ``database``; it is given its socket when it runs."""
    watcher = Watcher(database)
    config = uvicorn.Config(
        make_app(watcher, host=host),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=limits.SHUTDOWN_S,
    )
    return Server(config, watcher)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket at the address; port 0 takes a free one. Raises OSError if that cannot be had."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, port), family=family)


def page_address(listener: socket.socket) -> str:
    """What to type into a browser on this machine."""
    host, port = listener.getsockname()[:2]
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, not bound to
    return f"http://[{local}]:{port}/" if ":" in local else f"http://{local}:{port}/"


def serve(database: Path, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve the page over ``database`` until SIGINT or SIGTERM; ``announce`` is given its address.

    The database may be made later: the page says so until then. Raises CannotListenError.
    """
    try:
        listener = bind(host, port)
    except OSError as error:
        raise CannotListenError(host, port, error) from error
    with listener:
        announce(page_address(listener))
        # uvicorn ends in order at the first SIGINT and then lets it through, as a shell expects of a program.
        with contextlib.suppress(KeyboardInterrupt):
            make_server(database, host=host).run(sockets=[listener])
