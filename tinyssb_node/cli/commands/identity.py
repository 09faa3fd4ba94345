"""`identity`: the node's secret key, how it is kept, and how it comes back."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING

from tinyssb_node.screens.options import Subparsers, add_command, add_json, add_network

if TYPE_CHECKING:
    from tinyssb_node.store.home import Home
    from tinyssb_node.store.secrets import IdentityFileContent


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the command and its actions."""
    parser = add_command(
        subparsers, common, "identity", show, "show how the node's key is kept, back it up, restore it"
    )
    add_json(parser)
    parser.set_defaults(identity=None)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", prog=parser.prog)
    add_json(add_command(actions, common, "list", show_all, "list the node's identities"))
    action = add_command(
        actions,
        common,
        "new",
        new,
        "make a further identity, with a key and a feed of its own",
        more="The node has it once it is started anew.",
    )
    action.add_argument("identity", metavar="NAME", help="what you call it: small letters, digits, hyphens")
    action.add_argument(
        "--dialect", choices=("spec", "deployed"), help="how its feed is written (default: as the node's)"
    )
    action = add_command(
        actions, common, "backup", backup, "show the key as 24 words to write on paper, and as a QR code"
    )
    _add_name(action)
    action.add_argument("--no-qr", action="store_true", help="show the words only")
    action = add_command(
        actions,
        common,
        "restore",
        restore,
        "make a node, or a further identity of a node, from the 24 words of a backup",
        more="Its feed comes back from peers; it is not written before the node is certain to have all of it.",
    )
    action.add_argument(
        "identity",
        metavar="NAME",
        nargs="?",
        help="what to call a further identity of the node (default: none)",
    )
    action.add_argument("--dialect", choices=("spec", "deployed"), default="spec", help="as the backup says")
    action.add_argument("--name", help="its name, for your eyes (default: this machine's name)")
    action.add_argument(
        "--face",
        action="append",
        metavar="SPEC",
        help="a link to open; may be repeated (default: UDP multicast)",
    )
    _add_name(
        add_command(actions, common, "seal", seal, "seal the key with a passphrase, or with another one")
    )
    _add_name(add_command(actions, common, "unseal", unseal, "keep the key without a passphrase again"))
    action = add_command(
        actions, common, "detach", detach, "take the key out of the file: systemd hands it in from now on"
    )
    _add_name(action)
    action.add_argument("--yes", "-y", action="store_true", help="do not ask whether it is kept elsewhere")
    action = add_command(
        actions,
        common,
        "sure",
        sure,
        "write the feed, though it may go on elsewhere: you know that it does not",
    )
    _add_name(action)
    add_network(action)


def _add_name(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "identity", metavar="NAME", nargs="?", help="which of the node's identities (default: main)"
    )


def show(arguments: argparse.Namespace) -> int:
    """Show how the key is kept; no secret is read."""
    from tinyssb_node.screens.render import fields
    from tinyssb_node.store.secrets import folder_reach

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
        print(
            f"Others have rights to {home.root} (mode {mode:04o}). To take them away: chmod 700 {home.root}"
        )
    return 0


def show_all(arguments: argparse.Namespace) -> int:
    """List all identities; no secret is read."""
    from tinyssb_node.daemon.identities import names_of
    from tinyssb_node.screens.render import table
    from tinyssb_node.store.home import MAIN_IDENTITY, Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    rows = [_listed(home, None), *(_listed(home, name) for name in names_of(home))]
    if arguments.json:
        for row in rows:
            print(json.dumps(row))
        return 0
    cells = [
        (row["name"], row["feed"] or "?", row["dialect"] or "?", row["problem"] or row["kept"])
        for row in rows
    ]
    print(table(("NAME", "FEED", "DIALECT", "KEY"), cells))
    if len(rows) == 1:
        print(f"\n`{MAIN_IDENTITY}` is the node's own. Make a further one: `tinyssb identity new NAME`.")
    return 0


def _listed(home: Home, name: str | None) -> dict[str, str | None]:
    """What `list` tells of an identity."""
    from tinyssb_node.daemon.setup import read_node_identity
    from tinyssb_node.errors import LocalError
    from tinyssb_node.store.home import MAIN_IDENTITY

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
    """Make a further identity."""
    from tinyssb_node.daemon.identities import new_identity, require_room
    from tinyssb_node.daemon.setup import read_node_identity
    from tinyssb_node.ids import Dialect
    from tinyssb_node.store.home import Home

    home, name = Home.find(arguments.home, os.environ), arguments.identity
    require_room(home, name)
    dialect = read_node_identity(home).dialect if arguments.dialect is None else Dialect(arguments.dialect)
    feed = new_identity(home, name, dialect)
    print(f"Made the identity '{name}' in {home.of_identity(name).root}.\nIts feed is {feed.hex()}.")
    print(
        f"The node has it once it is started anew; then `tinyssb publish --as {name}` writes it.\n"
        f"Write its key on paper: `tinyssb identity backup {name}`."
    )
    return 0


def _how(kept: IdentityFileContent, name: str | None) -> tuple[str, str]:
    """How the key is kept, for programs and for people; *name* is that of a further identity."""
    from tinyssb_node.store.sealed_seed import SealedSeed
    from tinyssb_node.store.unlock import IDENTITY_CREDENTIAL, credential_name

    if kept.secret is None:
        return (
            "credential",
            f"handed in by systemd, as the credential {credential_name(IDENTITY_CREDENTIAL, name)}",
        )
    if isinstance(kept.secret, SealedSeed):
        return "sealed", "sealed with a passphrase"
    return "plain", "in the file as it is: whoever can read it can write this feed"


def backup(arguments: argparse.Namespace) -> int:
    """Show the key in words."""
    from tinyssb_node.daemon.setup import unlock_identity
    from tinyssb_node.screens.invite import qr_code
    from tinyssb_node.screens.passphrases import asker
    from tinyssb_node.store.words import serialize_words

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
            print("For a QR code as well: pip install 'tinyssb-node[qr]'", file=sys.stderr)
    print(
        "\nWrite the words on paper, in this order, with the feed and the dialect. Whoever has them can write this\n"
        "feed, and read what was sealed for it. To bring it back, on one node only:\n"
        f"  tinyssb identity restore {'' if name is None else name + ' '}--dialect {identity.dialect.value}"
    )
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Make a home from words."""
    import socket

    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.setup import restore_home
    from tinyssb_node.errors import IdentityExistsError
    from tinyssb_node.ids import Dialect
    from tinyssb_node.store.home import Home
    from tinyssb_node.store.secrets import Identity
    from tinyssb_node.store.words import parse_words

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
        "Start it with `tinyssb run`. It writes nothing before its feed is back; `tinyssb status` tells more."
    )
    return 0


def _restore_further(home: Home, arguments: argparse.Namespace) -> int:
    from tinyssb_node.daemon.identities import require_room, restore_identity
    from tinyssb_node.ids import Dialect
    from tinyssb_node.problems import BadRequestError
    from tinyssb_node.store.secrets import Identity
    from tinyssb_node.store.words import parse_words

    name = arguments.identity
    if arguments.name is not None or arguments.face:
        raise BadRequestError(
            "--name and --face are for a new node, and this is a further identity of one. Nothing was changed.",
            f"`tinyssb identity restore {name}` alone brings it back.",
        )
    require_room(home, name)
    identity = Identity(seed=parse_words(_words()), dialect=Dialect(arguments.dialect))
    restore_identity(home, name, identity)
    print(
        f"Restored the identity '{name}' in {home.of_identity(name).root}.\nIts feed is {identity.feed.hex()}."
    )
    print("If that is not the feed you expected, the words are those of another backup.")
    print(
        "The node has it once it is started anew, and writes nothing of it before its feed is back; "
        "`tinyssb status` tells more."
    )
    return 0


def _words() -> str:
    """What is typed, or comes in: until there are enough words, or an empty line, or the end."""
    from tinyssb_node.screens.passphrases import somebody_there
    from tinyssb_node.store import limits

    if not somebody_there():
        return sys.stdin.read(limits.WORDS_TEXT_MAX)
    print(
        f"Type the {limits.WORDS} words; four letters of each are enough. An empty line ends.",
        file=sys.stderr,
    )
    text = ""
    while len(text.split()) < limits.WORDS:
        line = sys.stdin.readline(limits.WORDS_TEXT_MAX)
        if not line.strip():
            break
        text += line
    return text


def seal(arguments: argparse.Namespace) -> int:
    """Seal the key, or seal it anew."""
    from tinyssb_node.daemon.setup import new_passphrase, replace_secret, unlock_identity
    from tinyssb_node.problems import BadRequestError
    from tinyssb_node.screens.passphrases import ask_new, asker, somebody_there
    from tinyssb_node.store.secrets import kept_sealed

    home, kept = _kept(arguments)
    name = _name(arguments)
    identity = unlock_identity(home, os.environ, asker(), name)
    passphrase = ask_new() if somebody_there() else new_passphrase(home, os.environ, name)
    if passphrase is None:
        raise BadRequestError(
            f"There is no passphrase to seal it with, so {home.identity} was left as it was. "
            f"The key is {_how(kept, name)[1]}.",
            "Name a file that holds one in TINYSSB_PASSPHRASE_FILE, or run this on a terminal, where you are asked.",
        )
    replace_secret(home, kept_sealed(identity, passphrase))
    was_plain = isinstance(kept.secret, bytes)
    print(f"Sealed {home.identity}. Without the passphrase only a backup brings the key back.")
    if was_plain:
        print("The disk may hold the old file a while longer, where programs that search all of it find it.")
    return 0


def unseal(arguments: argparse.Namespace) -> int:
    """Keep the key as it is again."""
    from tinyssb_node.daemon.setup import replace_secret, unlock_identity
    from tinyssb_node.screens.passphrases import asker
    from tinyssb_node.store.secrets import kept_plain

    home, _ = _kept(arguments)
    identity = unlock_identity(home, os.environ, asker(), _name(arguments))
    replace_secret(home, kept_plain(identity))
    print(f"{home.identity} holds the key as it is again: whoever can read it can write this feed.")
    return 0


def detach(arguments: argparse.Namespace) -> int:
    """Keep only whose key it is."""
    from dataclasses import replace

    from tinyssb_node.daemon.setup import replace_secret
    from tinyssb_node.problems import BadRequestError
    from tinyssb_node.screens.passphrases import somebody_there

    home, kept = _kept(arguments)
    if not arguments.yes:
        if not somebody_there():
            raise BadRequestError(
                "Nobody can be asked here whether the key is kept elsewhere, so it was left where it is.",
                "Give --yes to take it out unasked.",
            )
        question = f"The key goes out of {home.identity}. Is it a credential, or on paper? [y/N] "
        print(question, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            print("Left as it was.")
            return 0
    replace_secret(home, replace(kept, secret=None))
    print(
        f"{home.identity} names the feed only. The node runs where systemd hands in the key: docs/reference/keys.md"
    )
    return 0


def sure(arguments: argparse.Namespace) -> int:
    """Say that nothing of the feed is missing."""
    from tinyssb_node.control.client import DaemonClient

    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        changed = node.sure(_name(arguments)).changed
    print("It writes its feed from now on." if changed else "It was certain already.")
    return 0


def _name(arguments: argparse.Namespace) -> str | None:
    """The further identity that *arguments* name, None: the main one."""
    from tinyssb_node.store.home import MAIN_IDENTITY

    name: str | None = arguments.identity
    return None if name == MAIN_IDENTITY else name


def _kept(arguments: argparse.Namespace) -> tuple[Home, IdentityFileContent]:
    """The folder of the identity that *arguments* name, and what its identity file says."""
    from tinyssb_node.daemon.setup import read_node_identity
    from tinyssb_node.store.home import Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    if (name := _name(arguments)) is not None:
        from tinyssb_node.daemon.identities import find_identity

        home = find_identity(home, name)
    return home, read_node_identity(home)
