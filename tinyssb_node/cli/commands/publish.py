"""`publish`: say something in the node's own feed."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.problems import FileUnreadableError
from tinyssb_node.screens.message_commands import InputError
from tinyssb_node.screens.options import Subparsers, add_command, add_json, add_network

if TYPE_CHECKING:
    from tinyssb_node.codec import bipf


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser = add_command(
        subparsers,
        common,
        "publish",
        publish,
        "append an entry to the node's own feed, or to that of a further identity",
        more="Returns when the entry is on the disk.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "text", nargs="?", metavar="TEXT", help="a text; `-` takes the bytes of standard input as they are"
    )
    what.add_argument("--bipf", metavar="JSON", help="a JSON value, published as that BIPF value")
    what.add_argument("--file", metavar="FILE", help="the bytes of a file as they are")
    parser.add_argument(
        "--as",
        dest="identity",
        metavar="NAME",
        help="which of the node's identities writes it (default: main)",
    )
    add_network(parser)
    add_json(parser)


def publish(arguments: argparse.Namespace) -> int:
    """Publish, and say where it went."""
    from tinyssb_node.control.client import DaemonClient

    content = read_content(arguments)
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        row = node.publish(content, arguments.identity)
    if arguments.json:
        print(json.dumps(row.fields()))
        return 0
    chunks = row.chunks
    packets = f"1 entry and {chunks} chunk{'s' if chunks != 1 else ''}" if chunks else "1 entry"
    print(f"feed {row.feed}\nseq {row.seq}, type {row.type}, {row.size} bytes in {packets}")
    return 0


def read_content(arguments: argparse.Namespace) -> bytes:
    """The bytes to publish. Raises InputError, FileUnreadableError."""
    from tinyssb_node.codec import bipf

    if arguments.file is not None:
        try:
            return Path(arguments.file).read_bytes()
        except OSError as error:
            raise FileUnreadableError(arguments.file, error) from error
    if arguments.text == "-":
        return sys.stdin.buffer.read()
    if arguments.text is not None and not arguments.text.strip():
        raise InputError(
            "There is nothing to say, so nothing was published.",
            """Give a text. An empty one is published by --bipf '""', on purpose.""",
        )
    value = arguments.text if arguments.bipf is None else parse_json(arguments.bipf)
    try:
        return bipf.encode(value)
    except bipf.BipfError as error:
        raise InputError(
            f"This cannot be said in BIPF: {error.reason}.",
            "Publish such bytes as they are, with --file or -.",
        ) from error


def parse_json(text: str) -> "bipf.Value":
    """The value of a JSON text. Raises InputError."""
    try:
        value: bipf.Value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"What follows --bipf is not JSON: {error}.",
            """Quote it for the shell: --bipf '["TAV", [], "hello"]'.""",
        ) from error
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not in JSON")
