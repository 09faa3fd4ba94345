"""The page's server process."""

from __future__ import annotations

import socket
import sys
import threading
import time
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode
from tinyssb_node.faces.limits import TOKEN_MAX
from tinyssb_node.web import limits
from tinyssb_node.web.answers import PublishedAnswers
from tinyssb_node.web.app import make_app
from tinyssb_node.web.errors import PageStartError
from tinyssb_node.web.page_server.access import TokenAuthenticator
from tinyssb_node.web.page_server.addresses import listen
from tinyssb_node.web.page_server.connections import ConnectionLimits, connection_options
from tinyssb_node.web.page_server.map_tiles import MapTiles
from tinyssb_node.web.page_server.server import PageServer, page_config
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.phones import PhoneRegistry
from tinyssb_node.web.rest import rest, take_listener

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tinyssb_node.web.certificates import PageCertificate
    from tinyssb_node.web.opener import NodeOpener


def make_server(
    opener: NodeOpener,
    *,
    host: str,
    port: int,
    token: str | None,
    tls: PageCertificate | None = None,
    folder: Path | None = None,
    map_file: Path | None = None,
    tick_s: float = 1.0,  # a Pi's core spends some thousandths on looking for news
    sign_s: float = limits.SIGN_S,
    rest_s: float | None = None,
) -> PageServer:
    """Create the server of the page for the node that *opener* opens; it gets its socket when it runs.

    *folder* has the files of guests' phones, and the answers of the last requests; without it there are no guests.
    *map_file* has the tiles of the map. After *rest_s* seconds without use the server ends.
    """
    answered = PublishedAnswers(folder / "web-answers.json" if folder is not None else None)
    service = PageService(opener, answered, tick_s=tick_s, sign_s=sign_s)
    # Browsers share cookies between the ports of a machine.
    gate = TokenAuthenticator(
        token,
        cookie=f"tinyssb_{port}",
        label=b"tinyssb web",
        age_s=180 * 86_400,  # a season on the hill
        secure=tls is not None,
    )
    phones = None
    if folder is not None:
        phones = PhoneRegistry(
            folder, cookie=f"tinyssb_{port}_phone", secure=tls is not None, now_s=time.time
        )
    config = page_config(
        make_app(
            service,
            host=host,
            gate=gate,
            authority=tls.authority if tls else None,
            phones=phones,
            tiles=MapTiles(map_file),
        ),
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        # The minimum of features: a Pi has little memory.
        loop="asyncio",
        timeout_graceful_shutdown=limits.SHUTDOWN_S,
        **connection_options(
            ConnectionLimits(
                served=48,  # a dozen phones, of which each listens on one connection and asks on some
                waiting=limits.WAITING_MAX,
                each=limits.EACH_MAX,
                request_s=limits.REQUEST_S,
            )
        ),
    )
    return PageServer(config, service.stop, rest_s=rest_s)


def bind(host: str, port: int) -> socket.socket:
    """Listen at the address; port 0 takes a free one. Raises PageStartError."""
    try:
        return listen(host, port)
    except OSError as error:
        raise PageStartError(
            f"The page cannot be served at {host}, port {port}: {error.strerror or error}.",
            "Another program may use the port, or the page runs already. Choose another port with --listen.",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error


def serve(
    opener: NodeOpener,
    *,
    host: str,
    port: int,
    token: str,
    announce: Callable[[int], None],
    tls: PageCertificate | None = None,
    supervised: bool = False,
    rest_s: float = limits.REST_S,
) -> None:
    """Serve the page until SIGINT or SIGTERM, or, *supervised*, until standard input ends. After *rest_s* seconds
    without use, the process [rests](docs/decisions/0127-page-at-rest.md), and calls this again at a connection.

    *announce* is called with the port, and not again after a rest. Raises PageStartError.
    """
    rested = take_listener()
    with rested or bind(host, port) as listener:
        port = listener.getsockname()[1]
        server = make_server(
            opener,
            host=host,
            port=port,
            token=token,
            tls=tls,
            folder=opener.folder,
            map_file=opener.map_file,
            rest_s=rest_s,
        )
        if supervised:
            threading.Thread(target=_end_with_input, args=(server,), daemon=True).start()
        if rested is None:
            announce(port)
        server.run_until_signal(listener.dup())  # the server closes its socket
        if server.rested:
            rest(listener, supervised=supervised)


def _end_with_input(server: PageServer) -> None:
    """End the server when standard input ends: our parent process holds the other end."""
    while sys.stdin.buffer.readline(TOKEN_MAX):
        continue
    server.should_exit = True
