"""Server process of the page: the socket, certificate and token."""

import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from spark_sink.errors import ConfigurationError, UnavailableError
from spark_sink.page import limits
from spark_sink.page.answers import AnswerService
from spark_sink.page.app import make_app
from spark_sink.page.caption import Caption
from spark_sink.page.tiles import Tiles
from tinyssb_node.web.page_server.addresses import is_local, listen
from tinyssb_node.web.page_server.connections import ConnectionLimits, connection_options
from tinyssb_node.web.page_server.server import PageServer, page_config


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate and its key, both PEM files."""

    certificate: Path
    key: Path


def make_server(
    name: str,
    *,
    host: str,
    token: str | None = None,
    tls: TlsFiles | None = None,
    tiles: Tiles | None = None,
    map_file: Path | None = None,
    caption: Path | None = None,
) -> PageServer:
    """Make the server of the page over the database *name*; it receives its socket when it runs.

    The page shows the text of the file *caption* at its top.

    Raises ConfigurationError.
    """
    if tls is not None:
        try:
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
                tls.certificate, tls.key, password=""
            )
        except OSError as error:  # an SSLError is one
            raise ConfigurationError(
                f"The certificate {tls.certificate} with the key {tls.key} cannot be used: {error.strerror or error}; "
                "nothing was served. Both must be PEM files, the key without a password, and belong together."
            ) from error
    answers = AnswerService(name, Caption(caption))
    config = page_config(
        make_app(answers, host=host, token=token, tls=tls is not None, tiles=tiles, map_file=map_file),
        timeout_graceful_shutdown=3,
        ssl_certfile=tls.certificate if tls else None,
        ssl_keyfile=tls.key if tls else None,
        **connection_options(
            ConnectionLimits(
                served=256,  # 64 listening pages, each with some more while it loads
                waiting=limits.CONNECTIONS_WAITING_MAX,
                request_s=limits.REQUEST_S,
            )
        ),
    )
    return PageServer(config, answers.stop)


def bind(host: str, port: int) -> socket.socket:
    """Return a listening socket at the address; port 0 takes a free one. Raises UnavailableError."""
    try:
        return listen(host, port)
    except OSError as error:
        raise UnavailableError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. Is another page running there? "
            "Name a free port with --port, or an address of this machine with --host."
        ) from error


def page_address(listener: socket.socket, *, tls: bool = False) -> str:
    """Return the address to type into a browser on this machine."""
    scheme = "https" if tls else "http"
    host, port = listener.getsockname()[:2]
    local = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared with, not bound to
    return f"{scheme}://[{local}]:{port}/" if ":" in local else f"{scheme}://{local}:{port}/"


def serve(
    name: str,
    *,
    host: str,
    port: int,
    announce: Callable[[str], None],
    token: str | None = None,
    open_to_all: bool = False,
    tls: TlsFiles | None = None,
    tiles: Tiles | None = None,
    map_file: Path | None = None,
    caption: Path | None = None,
) -> None:
    """Serve the page over the database *name* until SIGINT or SIGTERM; ``announce`` is called with its address.

    The database may be made later; until then the page says so. If other machines can reach the address, a token is
    needed, unless the page is to be open to all. Raises ConfigurationError, UnavailableError.
    """
    if token is None and not open_to_all and not is_local(host):
        raise ConfigurationError(
            f"At {host} others can reach the page, and no token was given; nothing was served. Give one with --token "
            "FILE, or allow everybody to read the page with --no-token."
        )
    server = make_server(
        name, host=host, token=token, tls=tls, tiles=tiles, map_file=map_file, caption=caption
    )
    with bind(host, port) as listener:
        announce(page_address(listener, tls=tls is not None))
        server.run_until_signal(listener)
