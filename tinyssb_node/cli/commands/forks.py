"""`forks`: forked feeds, and proofs of forks."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from tinyssb_node.cli.commands.feeds import feed_named
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import ForkRow
from tinyssb_node.daemon.config import read_config
from tinyssb_node.errors import ExitCode, FileUnreadableError, ForkProofFormatError, ProblemError
from tinyssb_node.feeds.fork import ForkProof, fork_ids, verify_proof
from tinyssb_node.feeds.forkfile import FORK_FILE_MAX, ForkFile, parse_fork_file
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.screens.newfile import write_new_file
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network
from tinyssb_node.screens.render import (
    SHORT_ID,
    decode_content,
    fields,
    local_time,
    one_line,
    print_json,
    table,
)
from tinyssb_node.store.home import Home

_MEANING = (
    "The key of each of these feeds signed two different entries with one sequence number: two programs use the key,\n"
    "or another person has it, too. Stored entries can still be read. No new entries of the feed are accepted, and\n"
    "entries after the fork are not forwarded."
)
_OWN = (
    "One of them is yours and can never be written again. Stop the other program that has its key, make a new node\n"
    "(`tinyssb --home FOLDER init`), and give people its feed id. See docs/reference/forks.md."
)


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("forks", forks)
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("export", export, "write the proof that a feed is forked, for anyone to check")
    action.add_argument(
        "feed", metavar="FEED", help="a feed id, the beginning of one, `me`, or the name of a person"
    )
    action.add_argument("file", metavar="FILE", help="the file to make; `-` for standard output")
    action = add_action("verify", verify, "check a proof; needs no daemon and no node")
    action.add_argument("file", metavar="FILE", help="the file to check; `-` for standard input")


def forks(arguments: argparse.Namespace) -> int:
    """List forks."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        rows = list(node.forks())
    if arguments.json:
        return print_json(row.fields() for row in rows)
    if rows:
        from tinyssb_node.screens.message_commands import names_shown

        print(_listing(rows, names_shown(arguments)))
    else:
        print("No forked feeds are known.")
    return 0


def _listing(rows: list[ForkRow], name_of: Callable[[str], str]) -> str:
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
    head = ("FEED", "AT ENTRY", "STORED", "FOUND", "STORED ENTRY", "OTHER ENTRY")
    own = [_OWN] if any(row.own for row in rows) else []
    return "\n\n".join([table(head, listed), "\n".join([_MEANING, *own])])


def export(arguments: argparse.Namespace) -> int:
    """Write a proof. Raises ProblemError."""
    feed = feed_named(arguments).lower()
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        rows = list(node.forks())
    found = [row for row in rows if row.feed.startswith(feed) or (feed == "me" and row.own)]
    if len({row.feed for row in found}) != 1:
        count = "Several forked feeds have" if found else "No forked feed has"
        raise ProblemError(
            f"{count} this name or id. Nothing was written.",
            "List them: tinyssb forks",
            exit_code=ExitCode.MISSING,
        )
    row = found[0]
    proof = row.proof.encode()
    if arguments.file == "-":
        sys.stdout.write(row.proof)
        return 0
    size = write_new_file(Path(arguments.file), lambda file: file.write(proof))
    if arguments.json:
        return print_json([{"feed": row.feed, "seq": row.seq, "file": arguments.file, "size": size}])
    print(f"Wrote {arguments.file}, {size} bytes. Anyone can check it: tinyssb forks verify FILE")
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check a proof. Raises ProblemError, FileUnreadableError."""
    try:
        fork = parse_fork_file(_read(arguments.file))
    except ForkProofFormatError as error:
        raise ProblemError(
            f"This file is not a valid proof of a fork: {error.reason}.",
            "Ask for the file again. `tinyssb forks export` writes it.",
            exit_code=ExitCode.DATA,
        ) from error
    network = _network(arguments, fork)
    if not verify_proof(network, fork.proof):
        raise ProblemError(
            f"This does NOT prove a fork of {fork.proof.feed.hex()}: its two entries are not both signed with the "
            f"sequence number {fork.proof.seq}, or are the same.",
            "Do not trust claims that are based on it.",
            exit_code=ExitCode.DATA,
        )
    print(json.dumps(_as_json(network, fork)) if arguments.json else _page(network, fork.proof))
    return 0


def _read(name: str) -> bytes:
    """Read the beginning of a file of any kind: one byte more than a proof can have."""
    if name == "-":
        return sys.stdin.buffer.read(FORK_FILE_MAX + 1)
    try:
        with Path(name).open("rb") as file:
            return file.read(FORK_FILE_MAX + 1)
    except OSError as error:
        raise FileUnreadableError(name, error) from error


def _network(arguments: argparse.Namespace, fork: ForkFile) -> Network:
    """Return the network of the proof: the open one, or one whose key the node in the home folder has."""
    if fork.network is None:
        return Network()
    home = Home.find(arguments.home, os.environ)
    networks = read_config(home).networks.values() if home.config.exists() else ()
    for network in networks:
        if fork.is_of(network):
            return network
    raise ProblemError(
        f"This proof is from network {fork.network.hex()}, whose key is not here. It was not checked.",
        "Check it on a node of that network: tinyssb --home FOLDER forks verify FILE",
        exit_code=ExitCode.UNAVAILABLE,
    )


def _as_json(network: Network, fork: ForkFile) -> dict[str, object]:
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
    held, other = fork_ids(network, proof)
    pairs = [
        ("feed", proof.feed.hex()),
        ("entry", proof.seq),
        ("one entry", held.hex()),
        ("content", _content(proof, proof.held)),
        ("other entry", other.hex()),
        ("content", _content(proof, proof.other)),
    ]
    verdict = f"This proves a fork: the key of this feed signed two different entries with sequence number {proof.seq}."
    return f"{verdict}\n\n{fields(pairs)}"


def _content(proof: ForkProof, packet: bytes) -> str:
    """Return an entry's content, safe to show, as far as it is in the entry itself."""
    entry = parse_entry(packet)
    layout = layout_of(entry.type, entry.content, proof.dialect)
    if layout.chunks:
        return f"({layout.size} bytes, which are not in the proof)"
    return one_line(decode_content(reassemble(layout, ()), entry.type))
