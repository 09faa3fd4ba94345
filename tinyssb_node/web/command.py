"""`web`: a page to read and write with, for browsers."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.screens.options import Subparsers, add_command, add_network

if TYPE_CHECKING:
    from tinyssb_node.store.home import Home


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser = add_command(
        subparsers,
        common,
        "web",
        web,
        "serve a web page to read and write with",
        more="It stays in the foreground until SIGTERM or Ctrl-C. Needs the extra `web`.",
    )
    parser.add_argument(
        "--listen",
        metavar="ADDRESS:PORT",
        help="where (default: what config.toml says, else this machine alone)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="the file whose first line is the token (default: web.token in the home)",
    )
    parser.add_argument(
        "--link",
        action="store_true",
        help="only show the link that lets a phone in, and its QR code; makes the token if there is none",
    )
    parser.add_argument(
        "--supervised", action="store_true", help="end when standard input does, as the daemon starts it"
    )
    add_network(parser)


def web(arguments: argparse.Namespace) -> int:
    """Serve the page, or show how to get to it."""
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.configreader import split_address
    from tinyssb_node.store.home import Home
    from tinyssb_node.web.errors import ListenAddressError

    home = Home.find(arguments.home, os.environ)
    home.require()
    config = read_config(home)
    found = split_address(arguments.listen) if arguments.listen is not None else config.web_listen
    if found is None:
        raise ListenAddressError(arguments.listen)
    file = arguments.token_file.absolute() if arguments.token_file else config.web_token_file
    if arguments.link:
        return _link(found, file)
    return _serve(arguments, home, found, file)


def _link(address: tuple[str, int], file: Path) -> int:
    from tinyssb_node.web.tokens import make_token

    token = make_token(file)
    _say(address, token)
    print(f"Who has this link reads and writes as this node. The token is kept in {file}.")
    return 0


def _serve(arguments: argparse.Namespace, home: Home, address: tuple[str, int], file: Path) -> int:
    _require("starlette", "uvicorn")
    from tinyssb_node.web.opener import NodeOpener
    from tinyssb_node.web.server import serve
    from tinyssb_node.web.tokens import find_token

    host, port = address
    token = find_token(file, host, named=arguments.token_file is not None)

    def announce(port: int) -> None:
        # A token in a journal would be read by others; on a terminal there is somebody to show it to.
        _say((host, port), token, show_token=sys.stdout.isatty())
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


def _say(address: tuple[str, int], token: str | None, *, show_token: bool = True) -> None:
    """Where the page is, and how to get in."""
    from tinyssb_node.screens.invite import link, page_addresses, qr_code
    from tinyssb_node.web.tokens import is_local

    addresses = page_addresses(*address)
    shown = token if show_token else None
    for each in addresses:
        print(f"The page is at {link(each, shown)}")
    if token is not None and not show_token:
        print("It asks for its token: `tinyssb web --link` shows a link that has it, and a QR code.")
    elif token is not None and not is_local(address[0]):
        drawn = qr_code(link(addresses[0], token))
        print(drawn or "For a QR code of the link: pip install 'tinyssb-node[web]'")


def _require(*libraries: str) -> None:
    """Raise WebMissingError unless these are installed."""
    from importlib.util import find_spec

    from tinyssb_node.web.errors import WebMissingError

    for library in libraries:
        if find_spec(library) is None:
            raise WebMissingError(library)
