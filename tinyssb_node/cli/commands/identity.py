"""`identity`: the node's secret key: storage, backup and recovery."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from firmware_bridge.libraries import install_command
from tinyssb_node.control.client import DaemonClient, DaemonError, DaemonUnreachableError
from tinyssb_node.daemon.config import read_config
from tinyssb_node.daemon.identities import (
    names_of,
    new_identity,
    remove_identity,
    require_room,
    restore_identity,
)
from tinyssb_node.daemon.setup import (
    new_passphrase,
    read_node_identity,
    replace_secret,
    restore_home,
    unlock_identity,
)
from tinyssb_node.errors import BadRequestError, ExitCode, IdentityExistsError, LocalError
from tinyssb_node.ids import Dialect
from tinyssb_node.screens.invite import qr_code
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network, command_for
from tinyssb_node.screens.passphrases import ask_new, asker, somebody_there
from tinyssb_node.screens.render import fields, print_json, table
from tinyssb_node.screens.screen import confirm
from tinyssb_node.store import limits
from tinyssb_node.store.home import MAIN_IDENTITY, Home
from tinyssb_node.store.sealed_seed import SealedSeed
from tinyssb_node.store.secrets import Identity, IdentityFileContent, folder_reach, kept_plain, kept_sealed
from tinyssb_node.store.unlock import IDENTITY_CREDENTIAL, credential_name
from tinyssb_node.store.words import parse_words, serialize_words

_WORDS_TEXT_MAX: Final = 4_096  # characters; 24 words have 215 at most


def add(commands: CommandParsers) -> None:
    """Define the command and its actions."""
    parser = commands.add("identity", show)
    add_json(parser)
    parser.set_defaults(identity=None)
    add_action = add_actions(parser, again=False)
    add_json(add_action("list", show_all, "list the node's identities"))
    action = add_action(
        "new",
        new,
        "create a further identity, with its own key and feed",
        more="A running node uses it at once.",
    )
    action.add_argument("identity", metavar="NAME", help="its name: small letters, digits, hyphens")
    action.add_argument(
        "--dialect", choices=("spec", "deployed"), help="the dialect of its feed (default: the node's)"
    )
    action = add_action("backup", backup, "show the key as 24 words to write on paper, and as a QR code")
    _add_name(action)
    action.add_argument("--no-qr", action="store_true", help="show only the words")
    _add_restore(add_action)
    action = add_action("remove", remove, "delete a further identity with its key; its feed stays")
    action.add_argument("identity", metavar="NAME", help="its name")
    action.add_argument(
        "--yes", "-y", action="store_true", help="do not ask whether the key is stored elsewhere"
    )
    _add_name(add_action("seal", seal, "encrypt the key with a passphrase, or with a new one"))
    _add_name(add_action("unseal", unseal, "store the key without a passphrase again"))
    action = add_action("detach", detach, "remove the key from the file; from now on systemd supplies it")
    _add_name(action)
    action.add_argument(
        "--yes", "-y", action="store_true", help="do not ask whether the key is stored elsewhere"
    )
    action = add_action(
        "sure", sure, "confirm that no newer entries exist elsewhere, and allow the node to write the feed"
    )
    _add_name(action)
    add_network(action)


def _add_restore(add_action: Callable[..., argparse.ArgumentParser]) -> None:
    action = add_action(
        "restore",
        restore,
        "restore a node, or a further identity of a node, from the 24 words of a backup",
        more="Its feed comes back from peers. The node writes nothing to it before it is certain to have all of it.",
    )
    action.add_argument(
        "identity",
        metavar="NAME",
        nargs="?",
        help="the name of a further identity (default: restore the node itself)",
    )
    action.add_argument(
        "--dialect",
        choices=("spec", "deployed"),
        default="spec",
        help="the dialect that the backup names (default: spec)",
    )
    action.add_argument("--name", help="your name for the node (default: this machine's name)")
    action.add_argument(
        "--face",
        action="append",
        metavar="SPEC",
        help="a link to open; may be repeated (default: UDP multicast)",
    )


def _add_name(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "identity", metavar="NAME", nargs="?", help="one of the node's identities (default: main)"
    )


def show(arguments: argparse.Namespace) -> int:
    """Show how the key is stored; read no secret."""
    home, kept = _kept(arguments)
    how, told = _how(kept, None)
    mode = folder_reach(home.identity)
    if arguments.json:
        row = {
            "feed": kept.feed.hex(),
            "dialect": kept.dialect.value,
            "kept": how,
            "path": str(home.identity),
            "folder_mode": f"{home.root.stat().st_mode & 0o7777:04o}",
            "note": kept.note,
        }
        print(json.dumps(row))
        return 0
    rows = [
        ("feed", kept.feed.hex()),
        ("dialect", kept.dialect.value),
        ("file", home.identity),
        ("key", told),
    ]
    print(fields([*rows, *([("note", kept.note)] if kept.note else [])]))
    if mode is not None:
        print(f"Other users can access {home.root} (mode {mode:04o}). To stop that: chmod 700 {home.root}")
    return 0


def show_all(arguments: argparse.Namespace) -> int:
    """List all identities; read no secret."""
    home = Home.find(arguments.home, os.environ)
    home.require()
    rows = [_listed(home, None), *(_listed(home, name) for name in names_of(home))]
    if arguments.json:
        return print_json(rows)
    cells = [
        (row["name"], row["feed"] or "?", row["dialect"] or "?", row["problem"] or row["kept"])
        for row in rows
    ]
    print(table(("NAME", "FEED", "DIALECT", "KEY"), cells))
    if len(rows) == 1:
        print(f"\n`{MAIN_IDENTITY}` is the node's own. Create a further one: tinyssb identity new NAME")
    return 0


def _listed(home: Home, name: str | None) -> dict[str, str | None]:
    """Return the row of an identity for `list`."""
    place = home if name is None else home.of_identity(name)
    row: dict[str, str | None] = dict.fromkeys(("name", "feed", "dialect", "kept", "path", "note", "problem"))
    row["name"], row["path"] = name or MAIN_IDENTITY, str(place.identity)
    try:
        kept = read_node_identity(place)
    except LocalError as error:
        row["problem"] = error.message
        return row
    row["feed"], row["dialect"], row["note"] = kept.feed.hex(), kept.dialect.value, kept.note
    row["kept"], _ = _how(kept, name)
    return row


def new(arguments: argparse.Namespace) -> int:
    """Create a further identity."""
    home, name = Home.find(arguments.home, os.environ), arguments.identity
    require_room(home, name)
    dialect = read_node_identity(home).dialect if arguments.dialect is None else Dialect(arguments.dialect)
    feed = new_identity(home, name, dialect)
    print(f"Created the identity '{name}' in {home.of_identity(name).root}.\nIts feed is {feed.hex()}.")
    print(
        f"{_use(arguments, name)} Write with it: tinyssb chat say --as {name} TEXT\n"
        f"Back up its key on paper: tinyssb identity backup {name}"
    )
    return 0


def _use(arguments: argparse.Namespace, name: str) -> str:
    """Let a running node use the identities that are now in its home. Return in a sentence whether it uses *name*."""
    try:
        with DaemonClient.at_home(arguments.home) as node:
            problem = node.reopen_identities().problems.get(name)
    except DaemonUnreachableError:
        return "The node uses it when it starts."
    except DaemonError as error:
        return f"Restart the node to use it: {error.message}"
    return "The node uses it now." if problem is None else f"Restart the node to use it: {problem}"


def remove(arguments: argparse.Namespace) -> int:
    """Delete a further identity."""
    home, _ = _kept(arguments)
    name = arguments.identity
    if name == MAIN_IDENTITY:
        raise BadRequestError(
            "The main identity is the node itself. Nothing was removed.",
            "To remove the node, stop it, and delete its home.",
        )
    print(
        f"This deletes {home.root} with the key of feed {read_node_identity(home).feed.hex()}. Only a backup can "
        "write this feed again.\nWhat it published stays, here and everywhere.",
        file=sys.stderr,
    )
    if not arguments.yes and not confirm(
        "Is the key on paper, or not needed any more?",
        kept="Nothing was removed.",
        otherwise=f"To write it on paper: tinyssb identity backup {name}. Add --yes to remove it without being asked.",
    ):
        print("Nothing was removed.", file=sys.stderr)
        return ExitCode.ATTENTION
    remove_identity(Home.find(arguments.home, os.environ), name)
    try:
        with DaemonClient.at_home(arguments.home) as node:
            node.reopen_identities()
    except DaemonUnreachableError:
        print(f"Removed the identity '{name}'.")
    except DaemonError as error:
        print(f"Removed the identity '{name}'. Restart the node, which still has its key: {error.message}")
    else:
        print(f"Removed the identity '{name}'. The node does not write with it any more.")
    return 0


def _how(kept: IdentityFileContent, name: str | None) -> tuple[str, str]:
    """Return how the key is stored, for programs and for people; *name* is that of a further identity."""
    if kept.secret is None:
        return (
            "credential",
            f"supplied by systemd as the credential {credential_name(IDENTITY_CREDENTIAL, name)}",
        )
    if isinstance(kept.secret, SealedSeed):
        return "sealed", "encrypted with a passphrase"
    return "plain", "not encrypted: anyone who can read the file can write this feed"


def backup(arguments: argparse.Namespace) -> int:
    """Show the key as words."""
    home, _ = _kept(arguments)
    name = _name(arguments)
    identity = unlock_identity(home, os.environ, asker(), name)
    words = serialize_words(identity.seed)
    whose = "" if name is None else f" ('{name}')"
    print(f"The key of feed {identity.feed.hex()}{whose}, dialect {identity.dialect.value}:\n")
    columns = 4
    rows = len(words) // columns
    for row in range(rows):
        cells = (f"{place + 1:>2} {words[place]:<10}" for place in range(row, len(words), rows))
        print("  " + "".join(cells).rstrip())
    if not arguments.no_qr:
        code = qr_code(" ".join(words).upper())
        print("" if code is None else f"\n{code}")
        if code is None:
            print(f"For a QR code as well: {install_command('qr')}", file=sys.stderr)
    print(
        "\nWrite the words on paper, in this order, with the feed and the dialect. Anyone who has them can write this\n"
        "feed, and read messages encrypted for it. To restore it, on one node only:\n"
        f"  tinyssb identity restore {'' if name is None else name + ' '}--dialect {identity.dialect.value}"
    )
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Create a home from words."""
    home = Home.find(arguments.home, os.environ)
    if arguments.identity is not None:
        return _restore_further(home, arguments)
    if home.identity.exists():
        raise IdentityExistsError(home.identity)
    identity = Identity(seed=parse_words(_words()), dialect=Dialect(arguments.dialect))
    name = arguments.name if arguments.name is not None else socket.gethostname().partition(".")[0][:32]
    restore_home(home, name, identity, tuple(arguments.face or ()))
    print(f"Restored the node '{read_config(home).name}' in {home.root}.\nIts feed is {identity.feed.hex()}.")
    print("If that is not the feed you expected, the words are those of another backup.")
    print(
        f"Start it: {command_for(arguments.home, 'run')}\n"
        f"It writes nothing before its feed is back. `{command_for(arguments.home, 'status')}` shows what it waits for."
    )
    return 0


def _restore_further(home: Home, arguments: argparse.Namespace) -> int:
    name = arguments.identity
    if arguments.name is not None or arguments.face:
        raise BadRequestError(
            "--name and --face are for a new node, and this is a further identity of one. Nothing was changed.",
            f"Type the command without them: tinyssb identity restore {name}",
        )
    require_room(home, name)
    identity = Identity(seed=parse_words(_words()), dialect=Dialect(arguments.dialect))
    restore_identity(home, name, identity)
    print(
        f"Restored the identity '{name}' in {home.of_identity(name).root}.\nIts feed is {identity.feed.hex()}."
    )
    print("If that is not the feed you expected, the words are those of another backup.")
    print(
        f"{_use(arguments, name)} It writes nothing with it before its feed is back. "
        "`tinyssb status` shows what it waits for."
    )
    return 0


def _words() -> str:
    """Read typed or piped text: until there are enough words, or an empty line, or the end."""
    if not somebody_there():
        return sys.stdin.read(_WORDS_TEXT_MAX)
    print(
        f"Type the {limits.WORDS} words; the first four letters of each are enough. An empty line ends the input.",
        file=sys.stderr,
    )
    text = ""
    while len(text.split()) < limits.WORDS:
        line = sys.stdin.readline(_WORDS_TEXT_MAX)
        if not line.strip():
            break
        text += line
    return text


def seal(arguments: argparse.Namespace) -> int:
    """Encrypt the key, also if it is encrypted already."""
    home, kept = _kept(arguments)
    name = _name(arguments)
    identity = unlock_identity(home, os.environ, asker(), name)
    passphrase = ask_new() if somebody_there() else new_passphrase(home, os.environ, name)
    if passphrase is None:
        raise BadRequestError(
            f"There is no passphrase, so {home.identity} was left as it was. "
            f"The key is {_how(kept, name)[1]}.",
            "Set TINYSSB_PASSPHRASE_FILE to a file with a passphrase, or type the command on a terminal, "
            "where you are asked.",
        )
    replace_secret(home, kept_sealed(identity, passphrase))
    was_plain = isinstance(kept.secret, bytes)
    print(f"Encrypted {home.identity}. If the passphrase is lost, only a backup can restore the key.")
    if was_plain:
        print(
            "Until the disk space is reused, recovery tools may still find the unencrypted file on the disk."
        )
    return 0


def unseal(arguments: argparse.Namespace) -> int:
    """Store the key without a passphrase."""
    home, _ = _kept(arguments)
    identity = unlock_identity(home, os.environ, asker(), _name(arguments))
    replace_secret(home, kept_plain(identity))
    print(f"{home.identity} has the key unencrypted again: anyone who can read the file can write this feed.")
    return 0


def detach(arguments: argparse.Namespace) -> int:
    """Remove the key from the identity file, and leave the feed id."""
    home, kept = _kept(arguments)
    if not arguments.yes:
        if not somebody_there():
            raise BadRequestError(
                "There is no terminal to confirm this on. The key was left in its file.",
                "Add --yes to remove it without being asked.",
            )
        question = (
            f"This removes the key from {home.identity}. Do you have it as a credential, or on paper? [y/N] "
        )
        print(question, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            print("Nothing was changed.")
            return 0
    replace_secret(home, replace(kept, secret=None))
    print(
        f"{home.identity} now has only the feed id. The node runs if systemd supplies the key: see "
        "docs/reference/keys.md"
    )
    return 0


def sure(arguments: argparse.Namespace) -> int:
    """Confirm that no entry of the feed is missing."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        changed = node.sure(_name(arguments)).changed
    print(
        "The node can write its feed now."
        if changed
        else "The node could write its feed already. Nothing changed."
    )
    return 0


def _name(arguments: argparse.Namespace) -> str | None:
    """Return the further identity that *arguments* name; None: the main one."""
    name: str | None = arguments.identity
    return None if name == MAIN_IDENTITY else name


def _kept(arguments: argparse.Namespace) -> tuple[Home, IdentityFileContent]:
    """Return the folder of the identity that *arguments* name, and the content of its identity file."""
    home = Home.find(arguments.home, os.environ)
    home.require()
    if (name := _name(arguments)) is not None:
        from tinyssb_node.daemon.identities import find_identity

        home = find_identity(home, name)
    return home, read_node_identity(home)
