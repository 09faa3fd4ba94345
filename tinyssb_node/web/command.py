"""`web`: a page for browsers."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_bridge.libraries import install_command
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.options import CommandParsers, add_network

if TYPE_CHECKING:
    from tinyssb_node.store.home import Home


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "web", web, more="It stays in the foreground until SIGTERM or Ctrl-C. Needs the extra `web`."
    )
    parser.add_argument(
        "--listen",
        metavar="ADDRESS:PORT",
        help="the address to listen on (default: that of config.toml, else only this machine can connect)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="the file whose first line is the token, created if there is none (default: web.token in the home)",
    )
    parser.add_argument(
        "--link",
        action="store_true",
        help="only show the link that lets a browser in, with its QR code",
    )
    parser.add_argument(
        "--supervised", action="store_true", help="end when standard input ends (the daemon uses this)"
    )
    add_network(parser)


def web(arguments: argparse.Namespace) -> int:
    """Serve the page, or show its link. The token is created if there is none."""
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.config_table import Address
    from tinyssb_node.limits import WEB_PORT
    from tinyssb_node.store.home import Home
    from tinyssb_node.web.errors import PageStartError

    home = Home.find(arguments.home, os.environ)
    home.require()
    config = read_config(home)
    try:
        found = config.web.listen if arguments.listen is None else Address.parse(arguments.listen)
    except ValueError:
        raise PageStartError(
            f"'{arguments.listen}' is not an address with a port. Nothing was served.",
            f"Type 127.0.0.1:{WEB_PORT} for this machine only, or 0.0.0.0:{WEB_PORT} for all its networks.",
            exit_code=ExitCode.USAGE,
        ) from None
    file = arguments.token_file.absolute() if arguments.token_file else config.web.token_file
    if arguments.link:
        return _link(found, file)
    return _serve(arguments, home, found, file)


def _link(address: tuple[str, int], file: Path) -> int:
    from tinyssb_node.web.tokens import make_token

    token = make_token(file)
    print_address(address, token)
    print(f"Anyone with this link can read and write as this node. The token is stored in {file}.")
    return 0


def _serve(arguments: argparse.Namespace, home: Home, address: tuple[str, int], file: Path) -> int:
    _require_libraries()
    from tinyssb_node.web.opener import NodeOpener
    from tinyssb_node.web.server import serve
    from tinyssb_node.web.tokens import make_token

    host, port = address
    token = make_token(file)

    def announce(port: int) -> None:
        # In a journal others could read the token; a terminal has one reader.
        print_address((host, port), token, show_token=sys.stdout.isatty())
        sys.stdout.flush()

    serve(
        NodeOpener(home, arguments.network),
        host=host,
        port=port,
        token=token,
        announce=announce,
        supervised=arguments.supervised,
    )
    return 0


def print_address(address: tuple[str, int], token: str, *, show_token: bool = True) -> None:
    """Print the address of the page, and how to log in."""
    from tinyssb_node.screens.invite import link, page_addresses, qr_code
    from tinyssb_node.web.page_server.addresses import is_local

    addresses = page_addresses(*address)
    shown = token if show_token else None
    for each in addresses:
        print(f"The page is at {link(each, shown)}")
    if not show_token:
        print("It needs a token. To see a link with the token, and its QR code: tinyssb web --link")
    elif not is_local(address[0]):
        drawn = qr_code(link(addresses[0], token))
        print(drawn or f"For a QR code of the link: {install_command('web')}")


def _require_libraries() -> None:
    from importlib.util import find_spec

    from tinyssb_node.web.errors import PageStartError

    for library in ("starlette", "uvicorn"):
        if find_spec(library) is None:
            raise PageStartError(
                f"The web page needs the library {library}, which is not installed. Nothing was served.",
                f"Install it with: {install_command('web')}",
                exit_code=ExitCode.UNAVAILABLE,
            )
