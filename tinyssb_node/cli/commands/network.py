"""`network`: the node's networks and their sets, and the rekey of a set that is full of junk."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from secrets import token_bytes
from typing import Final

from firmware_bridge.libraries import install_command
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.contacts import read_contacts
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.daemon.config import read_config
from tinyssb_node.daemon.rekey import RekeyPlan, plan_rekey, set_key_of
from tinyssb_node.errors import BadRequestError, ExitCode, ProblemError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName
from tinyssb_node.limits import NETWORK_KEY_MAX, SET_MAX
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network
from tinyssb_node.screens.passphrases import somebody_there
from tinyssb_node.screens.render import SHORT_ID, table
from tinyssb_node.store.home import Home
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.sqlite import SqliteStore

_KEY_MIN: Final = 8  # bytes: no network has such a key by chance


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("network", network, more="Works without the daemon.")
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action(
        "rekey",
        rekey,
        "leave a set that is full of junk for a fresh one, with your feeds and feeds that have entries",
    )
    action.add_argument(
        "key",
        metavar="KEY",
        nargs="?",
        help="the key that others gave you, in hexadecimal (default: a new random one)",
    )
    action.add_argument("--back", action="store_true", help="return to the set of the network's own key")
    action.add_argument(
        "--keep", action="append", metavar="FEED", default=[], help="keep this feed, too; may be repeated"
    )
    action.add_argument(
        "--leave", action="append", metavar="FEED", default=[], help="do not keep this feed; may be repeated"
    )
    action.add_argument(
        "--only-known",
        action="store_true",
        help="keep only your own feeds, people you gave a name to, and the feeds of --keep",
    )
    action.add_argument("--dry-run", action="store_true", help="show what would be kept, and change nothing")
    action.add_argument("--yes", "-y", action="store_true", help="do not ask")
    action.add_argument("--no-qr", action="store_true", help="show the new key without a QR code")


def network(arguments: argparse.Namespace) -> int:
    """List networks. Works without the daemon."""
    home = _home(arguments)
    networks = read_config(home).networks
    rows = []
    for name in networks if arguments.network is None else [_named(home, arguments)[0]]:
        path = home.of(name).store
        records: list[FeedRecord] = []
        if path.exists():
            with closing(SqliteStore.open_readonly(path)) as store:
                records = [record for record in store.feeds() if not record.retired]
        in_set = sum(record.in_set for record in records)
        silent = sum(not record.seq for record in records if record.in_set)
        beyond = len(records) - in_set
        rows.append((name, in_set, silent, SET_MAX - in_set, beyond, _set_key(home, name).hex()))
    if arguments.json:
        for name, feeds, silent, free, beyond, key in rows:
            row = {
                "name": name,
                "feeds": feeds,
                "silent": silent,
                "free": free,
                "beyond": beyond,
                "set_key": key or None,
            }
            print(json.dumps(row))
        return 0
    listed = [(*row[:5], row[5] or "the network's own") for row in rows]
    print(table(("NETWORK", "FEEDS", "SILENT", "FREE", "BEYOND", "KEY OF THE SET"), listed))
    return 0


def rekey(arguments: argparse.Namespace) -> int:
    """Leave a set for a fresh one. Raises ProblemError, BadRequestError, errors of the store or the daemon."""
    home = _home(arguments)
    name, key = _key(home, arguments)
    with closing(SqliteStore.open_readonly(home.of(name).store)) as store:
        records = list(store.feeds())
    if key == _set_key(home, name):
        raise ProblemError(
            "The set has this key already. Nothing was changed.",
            "For a new random key, leave KEY out: tinyssb network rekey",
            exit_code=ExitCode.USAGE,
        )
    plan = _plan(home, arguments, records)
    if arguments.dry_run or not (arguments.json or arguments.yes):
        _show_plan(name, plan, as_json=arguments.json)
    if arguments.dry_run:
        return 0
    if not arguments.yes and not _agreed():
        print("Nothing was changed.")
        return 0
    running = _carry_out(arguments, home.of(name), key, [record.feed for record in plan.left])
    _print_done(arguments, name, plan, key, running=running)
    return 0


def _home(arguments: argparse.Namespace) -> Home:
    home = Home.find(arguments.home, os.environ)
    home.require()
    return home


def _set_key(home: Home, name: NetworkName) -> bytes:
    """Return the key of a network's set; empty: the network's own, or no set yet. Raises what the store raises."""
    path = home.of(name).store
    if not path.exists():
        return b""
    with closing(SqliteStore.open_readonly(path)) as store:
        return set_key_of(store, path)


def _named(home: Home, arguments: argparse.Namespace) -> tuple[NetworkName, Network]:
    return read_config(home).find_network(arguments.network or DEFAULT_NETWORK)


def _key(home: Home, arguments: argparse.Namespace) -> tuple[NetworkName, bytes]:
    """Return the network, and the new key of its set: given, random, or empty for the network's own.

    Raises ProblemError for one that no set can have, or that another network here has.
    """
    name, network = _named(home, arguments)
    if arguments.back:
        return name, b""
    if arguments.key is None:
        return name, token_bytes(16)  # short enough to be read out
    try:
        key = bytes.fromhex(arguments.key)
    except ValueError:
        key = b""
    if not _KEY_MIN <= len(key) <= NETWORK_KEY_MAX:
        raise ProblemError(
            f"'{arguments.key[: 2 * NETWORK_KEY_MAX]}' is not a key. Nothing was changed.",
            f"A key has {_KEY_MIN} to {NETWORK_KEY_MAX} bytes, two hexadecimal digits each. Copy all of it.",
            exit_code=ExitCode.USAGE,
        )
    if key == network.key:
        return name, b""
    for other, known in read_config(home).networks.items():
        if other != name and key in {known.key, _set_key(home, other)}:
            raise ProblemError(
                f"The network {other} has this key, and their packets could not be distinguished. Nothing was changed.",
                "Use another key. For a new random one, leave KEY out.",
                exit_code=ExitCode.USAGE,
            )
    return name, key


def _plan(home: Home, arguments: argparse.Namespace, records: Sequence[FeedRecord]) -> RekeyPlan:
    """Return the feeds to keep and to leave. Raises ProblemError, ContactsError."""
    from tinyssb_node.daemon.feed_names import find_feed
    from tinyssb_node.daemon.setup import read_node_identity

    own = read_node_identity(home).feed
    chosen, refused = (
        {find_feed(records, each, own).feed for each in given} for given in (arguments.keep, arguments.leave)
    )
    contacts = read_contacts(home.root)
    known = {feed for feed, contact in contacts.items() if contact.name is not None and not contact.blocked}
    blocked = {feed for feed, contact in contacts.items() if contact.blocked}
    return plan_rekey(
        records, known=known | chosen, refused=(blocked | refused) - chosen, only_known=arguments.only_known
    )


def _show_plan(name: str, plan: RekeyPlan, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(_as_json(name, plan)))
        return
    written = [record for record in plan.left if record.seq]
    print(f"The set of the network {name} has {len(plan.kept) + len(plan.left)} feeds.")
    print(f"Kept: {len(plan.kept)}, with all their {sum(record.seq for record in plan.kept):,} entries.")
    print(f"Left: {len(plan.left)}, of which {len(plan.left) - len(written)} have no entries here.")
    if written:
        print("Left, though they have entries (which can still be read here):")
    for record in written:
        print(f"  {record.feed.hex()[:SHORT_ID]}  {record.seq:,} entries")


def _as_json(name: str, plan: RekeyPlan) -> dict[str, object]:
    kept, left = (
        [{"feed": record.feed.hex(), "entries": record.seq} for record in part]
        for part in (plan.kept, plan.left)
    )
    return {"network": name, "kept": kept, "left": left}


def _agreed() -> bool:
    """Ask the user whether to leave the set. Raises BadRequestError if nobody can be asked."""
    if not somebody_there():
        raise BadRequestError(
            "There is no terminal to confirm this on. Nothing was changed.",
            "Add --yes to do it without being asked, or --dry-run to see what would be kept.",
        )
    question = "Nodes that stay in the old set no longer sync with you. Leave it? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _carry_out(arguments: argparse.Namespace, home: Home, key: bytes, left: Sequence[FeedId]) -> bool:
    """Rekey the set, by the daemon if it runs. Return whether it runs."""

    try:
        node = DaemonClient.at_home(arguments.home, arguments.network)
    except DaemonUnreachableError:
        pass
    else:
        with node:
            node.rekey(key, (feed.hex() for feed in left))
        return True

    from tinyssb_node.daemon.rekey import rekey as rekey_store

    with closing(SqliteStore.open(home.store)) as store:
        rekey_store(store, key, left)
        store.commit(time.time_ns() // 1_000)
    return False


def _print_done(
    arguments: argparse.Namespace, name: str, plan: RekeyPlan, key: bytes, *, running: bool
) -> None:
    """Print what was done, and what to pass on to others."""
    command = f"tinyssb network rekey {key.hex()}" if key else "tinyssb network rekey --back"
    if arguments.json:
        done = {"set_key": key.hex() or None, "tell": command, "daemon_running": running}
        print(json.dumps({**_as_json(name, plan), **done}))
        return
    now = (
        f"has a fresh set, with {len(plan.kept)}" if key else f"is back in its own set, with {len(plan.kept)}"
    )
    print(
        f"The network {name} {now} feed{'' if len(plan.kept) == 1 else 's'} and all their entries. "
        f"{'The daemon uses it from now on.' if running else 'The daemon will use it when it starts.'}"
    )
    if arguments.key is not None or not key:
        return
    print(
        "\nNo one else is in the new set yet. Give the others this command, not by this network, to type on "
        "each of their nodes:\n"
    )
    print(f"  {command}\n")
    print(
        "(They add --network NAME if it is not their default network.) To see the key again: tinyssb network"
    )
    if not arguments.no_qr:
        from tinyssb_node.screens.invite import qr_code

        drawn = qr_code(command)
        print("" if drawn is None else f"\n{drawn}")
        if drawn is None:
            print(f"For a QR code as well: {install_command('qr')}", file=sys.stderr)
