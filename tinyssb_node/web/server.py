"""The page's server process."""

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
from tinyssb_node.web.connections import make_connection_class
from tinyssb_node.web.errors import PageListenError
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.ports import NodePortOpener


class Server(uvicorn.Server):
    """A server that ends the event streams first when it stops; uvicorn would wait for them."""

    def __init__(self, config: uvicorn.Config, service: PageService) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, then everything else."""
        self._service.stop()
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
    """Create the server of the page for the node that *opener* opens; it gets its socket when it runs."""
    service = PageService(opener, tick_s=tick_s, sign_s=sign_s)
    config = uvicorn.Config(
        make_app(service, host=host, gate=TokenAuthenticator(token, port)),
        # The minimum of features: a Pi has little memory.
        loop="asyncio",
        http=make_connection_class(),
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=limits.CONNECTIONS_MAX,
        timeout_graceful_shutdown=limits.SHUTDOWN_S,
    )
    return Server(config, service)


def bind(host: str, port: int) -> socket.socket:
    """Listen at the address; port 0 takes a free one. Raises PageListenError."""
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

    *announce* is called with the port. Raises PageListenError.
    """
    with bind(host, port) as listener:
        port = listener.getsockname()[1]
        server = make_server(opener, host=host, port=port, token=token)
        if supervised:
            threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        announce(port)
        # uvicorn shuts down at the first SIGINT and then raises it again, as a shell expects.
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])


def _end_with_input(server: Server) -> None:
    """End the server when standard input ends: our parent process holds the other end."""
    while sys.stdin.buffer.readline(TOKEN_MAX):
        continue
    server.should_exit = True
