"""`forks`: feeds of which two different entries were signed for one place, and the proof of it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import FileUnreadableError, ProblemError
from tinyssb_node.screens.options import Subparsers, add_actions, add_command, add_json, add_network

if TYPE_CHECKING:
    from collections.abc import Callable

    from tinyssb_node.codec.dmx import Network
    from tinyssb_node.control.rows import ForkRow
    from tinyssb_node.feeds.fork import ForkProof
    from tinyssb_node.feeds.forkfile import ForkFile

_MEANING = (
    "Two different entries of each were signed for one place: two programs use its key, or somebody else has it, too.\n"
    "All that was held can still be read. Nothing more of the feed is taken, and nothing behind the fork is passed on."
)
_OWN = (
    "One of them is yours, and can be written no more. Stop the other program that has its key, make a new identity\n"
    "(`tinyssb --home FOLDER init`), and tell people so: docs/reference/forks.md."
)


class NoForkError(ProblemError):
    """The node has no proof that the feed is forked."""

    exit_code = ExitCode.MISSING


class ProofRefusedError(ProblemError):
    """It is no proof, or proves nothing."""

    exit_code = ExitCode.DATA


class NetworkKeyMissingError(ProblemError):
    """A proof from a network whose key is not here: nothing can be said of it."""

    exit_code = ExitCode.UNAVAILABLE


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser = add_command(
        subparsers, common, "forks", forks, "list forked feeds: somebody signed two entries for one place"
    )
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser, common)
    action = add_action("export", export, "write the proof that a feed is forked, for anybody to check")
    action.add_argument(
        "feed", metavar="FEED", help="a feed id, the beginning of one, `me`, or the name of a person"
    )
    action.add_argument("file", metavar="FILE", help="the file to make; `-` for standard output")
    action = add_action("verify", verify, "check such a proof; no daemon and no node is needed")
    action.add_argument("file", metavar="FILE", help="the file to check; `-` for standard input")


def forks(arguments: argparse.Namespace) -> int:
    """List forks."""
    from tinyssb_node.control.client import DaemonClient

    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        rows = list(node.forks())
    if arguments.json:
        for row in rows:
            print(json.dumps(row.fields()))
    elif rows:
        from tinyssb_node.screens.message_commands import names_shown

        print(_listing(rows, names_shown(arguments)))
    else:
        print("No feed is known to be forked.")
    return 0


def _listing(rows: list[ForkRow], name_of: Callable[[str], str]) -> str:
    from tinyssb_node.screens.render import SHORT_ID, local_time, table

    listed = [
        (
            name_of(row.feed),
            row.seq,
            row.entries,
            None if row.found_us is None else local_time(row.found_us),
            row.held[:SHORT_ID],
            row.other[:SHORT_ID],
        )
        for row in rows
    ]
    head = ("FEED", "AT ENTRY", "HELD", "FOUND", "OURS", "THE OTHER")
    own = [_OWN] if any(row.own for row in rows) else []
    return "\n\n".join([table(head, listed), "\n".join([_MEANING, *own])])


def export(arguments: argparse.Namespace) -> int:
    """Write a proof. Raises NoForkError."""
    from tinyssb_node.cli.commands.feeds import feed_named
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.screens.newfile import write_new_file

    feed = feed_named(arguments).lower()
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        rows = list(node.forks())
    found = [row for row in rows if row.feed.startswith(feed) or (feed == "me" and row.own)]
    if len({row.feed for row in found}) != 1:
        told = "No forked feed is" if not found else "Several forked feeds are"
        raise NoForkError(f"{told} named so.", "`tinyssb forks` lists them.")
    row = found[0]
    proof = row.proof.encode()
    if arguments.file == "-":
        sys.stdout.write(row.proof)
        return 0
    size = write_new_file(Path(arguments.file), lambda file: file.write(proof))
    if arguments.json:
        print(json.dumps({"feed": row.feed, "seq": row.seq, "file": arguments.file, "size": size}))
    else:
        print(f"Wrote {arguments.file}, {size} bytes. `tinyssb forks verify FILE` checks it anywhere.")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check a proof. Raises ProofRefusedError, NetworkKeyMissingError, FileUnreadableError."""
    from tinyssb_node.errors import ForkProofFormatError
    from tinyssb_node.feeds.fork import verify_proof
    from tinyssb_node.feeds.forkfile import parse_fork_file

    try:
        fork = parse_fork_file(_read(arguments.file))
    except ForkProofFormatError as error:
        raise ProofRefusedError(
            f"This is no proof of a fork that this program can read: {error.reason}.",
            "Ask for the file again, as `tinyssb forks export` wrote it.",
        ) from error
    network = _network(arguments, fork)
    if not verify_proof(network, fork.proof):
        raise ProofRefusedError(
            f"This does NOT prove a fork of {fork.proof.feed.hex()}: its two entries are not both signed for the "
            f"place {fork.proof.seq}, or are the same.",
            "Believe nothing that it was shown for.",
        )
    print(json.dumps(_as_json(network, fork)) if arguments.json else _page(network, fork.proof))
    return 0


def _read(name: str) -> bytes:
    """The beginning of a file that may be anything: one byte more than a proof can have."""
    from tinyssb_node.feeds.limits import FORK_FILE_MAX

    if name == "-":
        return sys.stdin.buffer.read(FORK_FILE_MAX + 1)
    try:
        with Path(name).open("rb") as file:
            return file.read(FORK_FILE_MAX + 1)
    except OSError as error:
        raise FileUnreadableError(name, error) from error


def _network(arguments: argparse.Namespace, fork: ForkFile) -> Network:
    """The network that the proof is of: the open one, or one whose key the node in the home folder has."""
    from tinyssb_node.codec.dmx import Network
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.store.home import Home

    if fork.network is None:
        return Network()
    home = Home.find(arguments.home, os.environ)
    networks = read_config(home).networks.values() if home.config.exists() else ()
    for network in networks:
        if fork.is_of(network):
            return network
    raise NetworkKeyMissingError(
        f"This proof is of a network with a key, {fork.network.hex()}, and cannot be checked without that key.",
        "Check it on a node of that network, or name its folder: `tinyssb --home FOLDER forks verify FILE`.",
    )


def _as_json(network: Network, fork: ForkFile) -> dict[str, object]:
    from tinyssb_node.feeds.fork import fork_ids

    held, other = fork_ids(network, fork.proof)
    return {
        "proves": True,
        "feed": fork.proof.feed.hex(),
        "seq": fork.proof.seq,
        "network": None if fork.network is None else fork.network.hex(),
        "held": held.hex(),
        "other": other.hex(),
    }


def _page(network: Network, proof: ForkProof) -> str:
    from tinyssb_node.feeds.fork import fork_ids
    from tinyssb_node.screens.render import fields

    held, other = fork_ids(network, proof)
    pairs = [
        ("feed", proof.feed.hex()),
        ("entry", proof.seq),
        ("one", held.hex()),
        ("says", _said(proof, proof.held)),
        ("the other", other.hex()),
        ("says", _said(proof, proof.other)),
    ]
    told = f"This proves a fork: the key of this feed signed two different entries as number {proof.seq}."
    return f"{told}\n\n{fields(pairs)}"


def _said(proof: ForkProof, packet: bytes) -> str:
    """What an entry says, safe to show, as far as it is in the entry itself."""
    from tinyssb_node.codec.packets import parse_entry
    from tinyssb_node.feeds.layout import layout_of
    from tinyssb_node.feeds.sidechain import reassemble
    from tinyssb_node.screens.render import decode_content, one_line

    entry = parse_entry(packet)
    layout = layout_of(entry.type, entry.content, proof.dialect)
    if layout.chunks:
        return f"({layout.size} bytes, which are not in the proof)"
    return one_line(decode_content(reassemble(layout, ()), entry.type))
