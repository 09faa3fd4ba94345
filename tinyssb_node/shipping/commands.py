"""`ship`: status and process of shipping the event log to its collector."""

from __future__ import annotations

import argparse
import os
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from firmware_bridge.libraries import install_command
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import NetworkName
from tinyssb_node.screens.holders_text import moment
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json
from tinyssb_node.screens.render import print_json, printable, table
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.daemon.config import Config


class _Row(NamedTuple):
    """Shipping status of a network's log."""

    network: str
    log_bytes: int
    """Bytes of the log."""
    lacking_bytes: int
    """Bytes that the collector has not acknowledged."""
    acked_us: int
    """Time of its last acknowledgement (wall clock); 0 for never."""
    refused: int
    """Segments that it refuses, since it has other bytes under their names."""
    running: bool
    """True if the shipper runs."""
    connected: bool
    """True if the shipper reaches the broker."""
    problem: str
    """Problem that stops it, or keeps it from running although it is enabled."""


def add(commands: CommandParsers) -> None:
    """Describe the command."""
    parser = commands.add("ship", status, more="Without an action it shows the status.")
    add_json(parser)
    add_action = add_actions(parser)
    add_action("status", status, "show how much of the event log the collector has")
    action = add_action("run", run, "run the shipper; the daemon does so if `ship.enabled` is true")
    action.add_argument("--supervised", action="store_true", help="end when standard input does")


def status(arguments: argparse.Namespace) -> int:
    """Show the status of each network's log."""
    home, config = _configured(arguments)
    running = _runs(home)
    why_not = "" if running else _why_not(config)
    rows = [_row(home, name, running=running, why_not=why_not) for name in config.networks]
    if arguments.json:
        return print_json(row._asdict() for row in rows)
    print(_table(rows))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Run the shipper until SIGTERM, Ctrl-C, or the end of the daemon that started it."""
    if find_spec("aiomqtt") is None:
        raise ProblemError(
            "Shipping the event log needs aiomqtt, which is not installed.",
            f"Install it with: {install_command('mqtt')}",
            exit_code=ExitCode.UNAVAILABLE,
        )
    import asyncio

    from tinyssb_node.daemon.logs import start_logging
    from tinyssb_node.shipping.shipper import Shipper

    home, config = _configured(arguments)
    logger = start_logging(config.log.level, config.log.format)
    asyncio.run(Shipper(home, config, logger).run(supervised=arguments.supervised))
    return 0


def _configured(arguments: argparse.Namespace) -> tuple[Home, Config]:
    """Return the node's home and settings. Raises ProblemError."""

    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.shipping.config import ship_config

    home = Home.find(arguments.home, os.environ)
    home.require()
    config = read_config(home)
    if ship_config(config) is None:
        raise ProblemError(
            f"{home.config} has no table [ship], so there is nowhere to send the event log.",
            "docs/howto/ship-logs.md says what to write there.",
            exit_code=ExitCode.CONFIG,
        )
    return home, config


def _runs(home: Home) -> bool:
    from tinyssb_node.shipping.files import ShippingBusyError, claim_shipping

    try:
        claim_shipping(home).release()
    except ShippingBusyError:
        return True
    return False


def _why_not(config: Config) -> str:
    """Return why it does not run; empty if it is not enabled."""
    from tinyssb_node.shipping.config import ship_config

    settings = ship_config(config)
    assert settings is not None, "it was asked for"
    if not settings.enabled:
        return ""
    try:
        with DaemonClient(config.control.socket) as node:
            beside = node.status().companions
    except DaemonUnreachableError as error:
        return f"{error.message} {error.hint}"
    for one in beside:
        if one.name == "shipper":
            again = "Correct that, then restart the daemon." if one.given_up else ""
            return " ".join(filter(None, (one.problem or "the daemon is starting it", one.advice, again)))
    return "the daemon was started before ship.enabled was set: restart it"


def _row(home: Home, name: NetworkName, *, running: bool, why_not: str) -> _Row:
    from tinyssb_node.daemon.setup import node_name, read_node_identity
    from tinyssb_node.shipping.files import LogFolder, read_saved, state_path
    from tinyssb_node.shipping.shipment import LogShipment

    node = node_name(read_node_identity(home).feed)
    saved, told = read_saved(state_path(home, name), node)
    sizes = LogFolder(home.of(name).events / node).sizes(0)
    shipping = LogShipment(saved, run=0, every_us=0)
    shipping.look(sizes)
    return _Row(
        network=name,
        log_bytes=sum(sizes.values()),
        lacking_bytes=shipping.lacking_bytes(),
        acked_us=told.acked_us,
        refused=len(told.refused),
        running=running,
        connected=running and told.connected,
        problem=told.problem if running else why_not,
    )


def _table(rows: list[_Row]) -> str:
    now_us = time.time_ns() // 1_000
    listed = [
        (
            row.network,
            f"{row.log_bytes / 1e6:.1f} MB",
            f"{row.lacking_bytes / 1e6:.3f} MB" if row.lacking_bytes else "nothing",
            moment(row.acked_us, now_us) if row.acked_us else "never",
            _state(row, printable(row.problem)),
        )
        for row in rows
    ]
    return table(("NETWORK", "LOG", "TO SHIP", "ACKNOWLEDGED", "STATE"), listed)


def _state(row: _Row, problem: str) -> str:
    if not row.running:
        state = f"not running: {problem or 'ship.enabled is false'}"
    elif problem:
        state = problem
    else:
        state = "connected" if row.connected else "connecting"
    if row.refused:
        files = "1 file" if row.refused == 1 else f"{row.refused} files"
        state += f"; {files} refused: the collector has others of that name"
    return state
