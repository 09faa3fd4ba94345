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
    from tinyssb_node.web.certificates import PageCertificate


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
        "--tls",
        choices=("off", "self"),
        help="serve over HTTPS, by an authority of the node's own that a phone installs (default: that of config.toml)",
    )
    parser.add_argument(
        "--link",
        action="store_true",
        help="only show the link that lets a browser in, with its QR code",
    )
    parser.add_argument(
        "--guests",
        action="store_true",
        help="only show the link for guests, who write as themselves and read what is public, with its QR code",
    )
    parser.add_argument("--phones", action="store_true", help="only list the phones of guests")
    parser.add_argument("--revoke", metavar="PHONE", help="only lock a phone out; PHONE is one of the list")
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
    if arguments.phones or arguments.revoke:
        return _phones(home, arguments.revoke)
    file = arguments.token_file.absolute() if arguments.token_file else config.web.token_file
    tls = _certificate(home, found[0]) if (arguments.tls or config.web.tls) == "self" else None
    if arguments.link:
        return _link(found, file, tls)
    if arguments.guests:
        return _guest_link(found, home, tls)
    return _serve(arguments, home, found, file, tls)


def _certificate(home: Home, host: str) -> PageCertificate:
    _require_libraries("tls", ("cryptography",))
    from datetime import UTC, datetime

    from tinyssb_node.screens.invite import page_hosts
    from tinyssb_node.web.certificates import page_certificate

    return page_certificate(home.root, page_hosts(host), datetime.now(UTC))


def _link(address: tuple[str, int], file: Path, tls: PageCertificate | None) -> int:
    from tinyssb_node.web.tokens import make_token

    token = make_token(file)
    if tls is not None:
        _print_authority(address, tls)
    print_address(address, token, tls=tls is not None)
    print(f"Anyone with this link can read and write as this node. The token is stored in {file}.")
    return 0


def _guest_link(address: tuple[str, int], home: Home, tls: PageCertificate | None) -> int:
    from tinyssb_node.screens.invite import guest_link, page_addresses, qr_code
    from tinyssb_node.web.tokens import make_token

    file = home.root / "web.guest"
    token = make_token(file)
    if tls is not None:
        _print_authority(address, tls)
    addresses = page_addresses(*address, tls=tls is not None)
    for each in addresses:
        print(f"Guests come in at {guest_link(each, token)}")
    if drawn := qr_code(guest_link(addresses[0], token)):
        print(drawn)
    print(
        "They read what is public, and write with a key of their own phone. To close this door: "
        f"rm {file}; to lock one phone out: tinyssb web --phones"
    )
    if tls is None:
        print("Over plain HTTP browsers keep no keys, so guests can only read: see tinyssb web --tls self")
    return 0


def _phones(home: Home, revoked: str | None) -> int:
    """List the phones of guests, or lock one out."""
    _require_libraries("web", ("starlette", "uvicorn"))
    import time

    from tinyssb_node.web.phones import PhoneRegistry

    registry = PhoneRegistry(home.root, cookie="", secure=False, now_s=time.time)
    if revoked is None:
        for phone in registry.phones():
            came = time.strftime("%Y-%m-%d %H:%M", time.localtime(phone.entered_s))
            print(f"{phone.id}  came {came}  {'reads only' if phone.feed is None else phone.feed.hex()}")
        return 0
    found = next((phone for phone in registry.phones() if phone.id == revoked), None)
    if found is None or not registry.revoke(revoked):
        print(f"There is no phone '{revoked[:16]}'. tinyssb web --phones lists them.", file=sys.stderr)
        return ExitCode.MISSING
    print(f"The phone {found.id} is locked out.")
    if found.feed is not None:
        print(f"The node still follows what it wrote. To hide that, too: tinyssb block {found.feed.hex()}")
    return 0


def _print_authority(address: tuple[str, int], tls: PageCertificate) -> None:
    """Print where a phone gets the certificate to install, and what its browser shows until then."""
    from tinyssb_node.screens.invite import page_addresses, qr_code
    from tinyssb_node.web.page_server.addresses import is_local

    place = page_addresses(*address, tls=True)[0] + "ca.crt"
    print(f"The authority of this page is at {place}")
    if not is_local(address[0]) and (drawn := qr_code(place)):
        print(drawn)
    print(
        "Until a phone has installed it, its browser warns that the connection is not private, and the page cannot be\n"
        "installed. Install it once (docs/howto/web-https.md says how), and compare:\n"
        f"SHA-256 {tls.fingerprint}"
    )


def _serve(
    arguments: argparse.Namespace,
    home: Home,
    address: tuple[str, int],
    file: Path,
    tls: PageCertificate | None,
) -> int:
    _require_libraries("web", ("starlette", "uvicorn"))
    from tinyssb_node.web.opener import NodeOpener
    from tinyssb_node.web.server import serve
    from tinyssb_node.web.tokens import make_token

    host, port = address
    token = make_token(file)
    opener = NodeOpener(home, arguments.network)

    def announce(port: int) -> None:
        # In a journal others could read the token; a terminal has one reader.
        if tls is not None and sys.stdout.isatty():
            _print_authority((host, port), tls)
        print_address((host, port), token, show_token=sys.stdout.isatty(), tls=tls is not None)
        sys.stdout.flush()
        _warn_of_map(opener.map_file)

    serve(
        opener,
        host=host,
        port=port,
        token=token,
        announce=announce,
        tls=tls,
        supervised=arguments.supervised,
    )
    return 0


def _warn_of_map(path: Path | None) -> None:
    """Name a map file that cannot be used, in the log."""
    from tinyssb_node.maps.map_file import MapFileError
    from tinyssb_node.maps.map_opener import open_map

    try:
        if path is not None:
            open_map(path).close()
    except MapFileError as error:
        print(f"tinyssb: {error} The page shows places without it.", file=sys.stderr)


def print_address(
    address: tuple[str, int], token: str, *, show_token: bool = True, tls: bool = False
) -> None:
    """Print the address of the page, and how to log in."""
    from tinyssb_node.screens.invite import link, page_addresses, qr_code
    from tinyssb_node.web.page_server.addresses import is_local

    addresses = page_addresses(*address, tls=tls)
    shown = token if show_token else None
    for each in addresses:
        print(f"The page is at {link(each, shown)}")
    if not show_token:
        print("It needs a token. To see a link with the token, and its QR code: tinyssb web --link")
    elif not is_local(address[0]):
        drawn = qr_code(link(addresses[0], token))
        print(drawn or f"For a QR code of the link: {install_command('web')}")


def _require_libraries(extra: str, libraries: tuple[str, ...]) -> None:
    from importlib.util import find_spec

    from tinyssb_node.web.errors import PageStartError

    for library in libraries:
        if find_spec(library) is None:
            raise PageStartError(
                f"The web page needs the library {library}, which is not installed. Nothing was served.",
                f"Install it with: {install_command(extra)}",
                exit_code=ExitCode.UNAVAILABLE,
            )
