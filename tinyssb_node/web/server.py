"""Serving the page until told to stop."""

import contextlib
import socket
import sys
import threading
from collections.abc import Callable

import uvicorn

from tinyssb_node.faces.limits import TOKEN_MAX
from tinyssb_node.web import limits
from tinyssb_node.web.access import TokenAuthenticator
from tinyssb_node.web.app import make_app
from tinyssb_node.web.connections import make_visits
from tinyssb_node.web.errors import PageListenError
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.ports import NodePortOpener


class Server(uvicorn.Server):
    """Ends the endless answers first when it is told to stop; uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, desk: PageService) -> None:
        super().__init__(config)
        self._desk = desk

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let the pages go, then everything else."""
        self._desk.stop()
        await super().shutdown(sockets)


def make_server(
    opener: NodePortOpener,
    *,
    host: str,
    port: int,
    token: str | None,
    tick_s: float = limits.TICK_S,
    sign_s: float = limits.SIGN_S,
) -> Server:
    """The server of the page that speaks through what *opener* opens; it is given its socket when it runs."""
    desk = PageService(opener, tick_s=tick_s, sign_s=sign_s)
    config = uvicorn.Config(
        make_app(desk, host=host, gate=TokenAuthenticator(token, port)),
        # The least that does it: a Pi has no memory to give away.
        loop="asyncio",
        http=make_visits(),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.CONNECTIONS_MAX,
        timeout_graceful_shutdown=limits.SHUTDOWN_S,
    )
    return Server(config, desk)


def bind(host: str, port: int) -> socket.socket:
    """A listening socket at the address; port 0 takes a free one. Raises CannotListenError."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise PageListenError(host, port, error) from error


def serve(
    opener: NodePortOpener,
    *,
    host: str,
    port: int,
    token: str | None,
    announce: Callable[[int], None],
    supervised: bool = False,
) -> None:
    """Serve the page until SIGINT or SIGTERM, or, *supervised*, until standard input ends.

    *announce* is given the port. Raises CannotListenError.
    """
    with bind(host, port) as listener:
        port = listener.getsockname()[1]
        server = make_server(opener, host=host, port=port, token=token)
        if supervised:
            threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        announce(port)
        # uvicorn ends in order at the first SIGINT and then lets it through, as a shell expects of a program.
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def _end_with_input(server: Server) -> None:
    """Who started us holds the other end of standard input."""
    while sys.stdin.buffer.readline(TOKEN_MAX):
        continue
    server.should_exit = True
