"""`gateway`, `locate`: other islands, over the internet."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode, LocalError, ProblemError
from tinyssb_node.screens.options import (
    CommandParsers,
    add_actions,
    add_json,
    add_network,
    positive,
)
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.islands.gateway.firstpeers import FirstPeers


def add(commands: CommandParsers) -> None:
    """Describe the commands."""
    parser = commands.add("gateway", status, more="The daemon starts it if config.toml says so.")
    add_json(parser)
    add_action = add_actions(parser)
    add_action("status", status, "show gateway status: peers, locations, lookups, links, problems")
    action = add_action("run", run, "run the gateway; the daemon does so if `gateway.enabled` is true")
    action.add_argument("--supervised", action="store_true", help="end when standard input does")
    action = add_action("sign-peers", sign_peers, "sign a list of first peers, for others' gateways")
    action.add_argument("file", type=Path, metavar="FILE", help="the new file")
    action.add_argument("peers", nargs="+", metavar="ADDRESS", help="such as gate.example.org:8789")
    action.add_argument(
        "--days", type=positive, default=365, metavar="N", help="use it for N days (default: 365)"
    )
    action = add_action("show-peers", show_peers, "check and show a signed list of first peers")
    action.add_argument("file", type=Path, metavar="FILE", help="the list")
    action = add_action("use-peers", use_peers, "let the gateway ask the peers of a signed list, too")
    action.add_argument("file", type=Path, metavar="FILE", help="the list")
    action.add_argument(
        "--signer", metavar="ID", help="the feed id of the person or node that must have signed it"
    )
    parser = commands.add(
        "locate", locate, more="Shows locations as the gateway learns of them. Fetches nothing."
    )
    parser.add_argument("feed", metavar="FEED", help="a feed id, the first digits of a known one, or `me`")
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=20,
        metavar="N",
        help="stop after N seconds, 600 at most (default: 20)",
    )
    add_network(parser)
    add_json(parser)


def _seconds(text: str) -> int:
    """How long to look. Raises argparse.ArgumentTypeError."""
    from tinyssb_node.islands.gateway.limits import LOCATE_MAX_S

    seconds = positive(text)
    if seconds > LOCATE_MAX_S:
        raise argparse.ArgumentTypeError(f"{seconds} s are more than {LOCATE_MAX_S}, the most there are")
    return seconds


def status(arguments: argparse.Namespace) -> int:
    """Show the gateway's answer."""
    from tinyssb_node.islands.client import GatewayClient
    from tinyssb_node.islands.lines import status_text

    with GatewayClient.at_home(arguments.home) as gateway:
        row = gateway.gateway()
    print(json.dumps(row.fields()) if arguments.json else status_text(row))
    return 0


def locate(arguments: argparse.Namespace) -> int:
    """Show places as they come in."""
    from tinyssb_node.islands.client import GatewayClient
    from tinyssb_node.islands.lines import LOCATE_HEADER, located_text, location_line

    with GatewayClient.at_home(arguments.home, arguments.network) as gateway:
        places = gateway.locate(arguments.feed, arguments.seconds)
        for number, row in enumerate(places):
            if arguments.json:
                print(json.dumps(row.fields()), flush=True)
                continue
            if not number:
                print(LOCATE_HEADER)
            print(location_line(row), flush=True)
        located = places.result
    if not arguments.json:
        print(located_text(located))
    return ExitCode.OK if located.count else ExitCode.MISSING


def sign_peers(arguments: argparse.Namespace) -> int:
    """Write a list, signed with the node's key."""
    from datetime import UTC, datetime, timedelta

    from tinyssb_node.codec.crypto import SigningKey
    from tinyssb_node.daemon.setup import unlock_identity
    from tinyssb_node.islands.gateway.firstpeers import sign_first_peers
    from tinyssb_node.islands.locator.addresses import parse_hostport
    from tinyssb_node.screens.newfile import write_new_file
    from tinyssb_node.screens.passphrases import asker

    home = Home.find(arguments.home, os.environ)
    home.require()
    try:
        peers = [parse_hostport(peer) for peer in arguments.peers]
    except ValueError as error:
        raise ProblemError(f"{error}.", "Nothing was written.", exit_code=ExitCode.USAGE) from error
    today = datetime.now(UTC).date()
    key = SigningKey(unlock_identity(home, os.environ, asker()).seed)
    data = sign_first_peers(key, peers, today, today + timedelta(days=arguments.days))
    write_new_file(arguments.file, lambda file: file.write(data))
    print(f"Signed: {arguments.file}. Pass it on with this id: {key.feed_id.hex()}")
    return 0


def show_peers(arguments: argparse.Namespace) -> int:
    """Show a list whose signature is right."""
    from tinyssb_node.islands.lines import first_peers_text

    print(first_peers_text(_read_list(arguments.file)))
    return 0


def use_peers(arguments: argparse.Namespace) -> int:
    """Copy a list into the home, if the right person signed it."""
    from tinyssb_node.islands.gateway.firstpeers import FIRST_PEERS_FILE, read_first_peers
    from tinyssb_node.islands.lines import first_peers_text
    from tinyssb_node.store.durable import in_the_place_of

    home = Home.find(arguments.home, os.environ)
    home.require()
    found = _read_list(arguments.file)
    path = home.root / FIRST_PEERS_FILE
    try:
        before = read_first_peers(path)
    except LocalError:
        before = None
    signer = arguments.signer or (None if before is None else before.signer.hex())
    if signer is None or found.signer.hex() != signer.lower():
        raise ProblemError(
            f"The list is signed by {found.signer.hex()}. It is not used.",
            "If you trust that signer's choice, add `--signer` and this id.",
            exit_code=ExitCode.DATA,
        )
    if before is not None and before.signer == found.signer and found.written < before.written:
        raise ProblemError(
            f"The list is older than the one in use, of {before.written}. It is not used.",
            f"To use it all the same, delete {path} first.",
            exit_code=ExitCode.DATA,
        )
    with in_the_place_of(path) as file:
        file.write(arguments.file.read_bytes())
    print(first_peers_text(found))
    print("The gateway asks these peers from its next start on.")
    return 0


def _read_list(path: Path) -> FirstPeers:
    """Read the list at *path*. Raises ProblemError, FirstPeersError."""
    from tinyssb_node.islands.gateway.firstpeers import read_first_peers

    try:
        found = read_first_peers(path)
    except OSError as error:
        raise ProblemError(
            f"{path} cannot be read: {error.strerror}.", "Nothing was changed.", exit_code=ExitCode.MISSING
        ) from error
    if found is None:
        raise ProblemError(f"{path} does not exist.", "Nothing was changed.", exit_code=ExitCode.MISSING)
    return found


def run(arguments: argparse.Namespace) -> int:
    """Run the gateway until SIGTERM, Ctrl-C, or the end of the daemon that started it."""
    import asyncio

    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.logs import start_logging
    from tinyssb_node.daemon.setup import read_node_identity
    from tinyssb_node.islands.gateway.process import IslandGateway

    home = Home.find(arguments.home, os.environ)
    home.require()
    config = read_config(home)
    logger = start_logging(config.log.level, config.log.format)
    asyncio.run(
        IslandGateway(home, config, read_node_identity(home).feed, logger).run(
            supervised=arguments.supervised
        )
    )
    return 0
