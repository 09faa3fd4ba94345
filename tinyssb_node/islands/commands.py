"""`gateway`, `locate`: other islands, over the internet."""

from __future__ import annotations

import argparse
import json
import os

from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.options import (
    CommandParsers,
    add_actions,
    add_json,
    add_network,
    positive,
)
from tinyssb_node.store.home import Home


def add(commands: CommandParsers) -> None:
    """Describe the commands."""
    parser = commands.add("gateway", status, more="The daemon starts it if config.toml says so.")
    add_json(parser)
    add_action = add_actions(parser)
    add_action("status", status, "show gateway status: peers, locations, lookups, links, problems")
    action = add_action("run", run, "run the gateway; the daemon does so if `gateway.enabled` is true")
    action.add_argument("--supervised", action="store_true", help="end when standard input does")
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
