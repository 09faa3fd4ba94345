"""`publish`: append content to the node's own feed."""

import argparse
import json
import sys
import time
from pathlib import Path

from tinyssb_node.codec import bipf
from tinyssb_node.content.chat import Opaque, Text, parse, to_value
from tinyssb_node.content.files import parse_file
from tinyssb_node.content.note import parse_note
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.errors import ExitCode, FileUnreadableError, ProblemError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect
from tinyssb_node.limits import CONTENT_PUBLISH_MAX
from tinyssb_node.screens.message_commands import tell_cost
from tinyssb_node.screens.options import CommandParsers, add_json, add_network, add_yes
from tinyssb_node.screens.render import decode_content, print_json, shortened
from tinyssb_node.screens.render import one_line as in_a_line
from tinyssb_node.screens.safetext import one_line

_SEEN_CELLS = 60
"""Of what others see of content that is no message."""
_SEEN_BYTES = 200
"""Its beginning, of which that is shown: more than fits."""


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("publish", publish, more="Returns when the entry is on the disk.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "text",
        nargs="?",
        metavar="TEXT",
        help="a text, published with the time; `-` publishes the bytes of standard input as they are",
    )
    what.add_argument(
        "--bipf",
        metavar="JSON",
        help="""a JSON value, published as BIPF; {"hex": "00ff"} in it stands for bytes""",
    )
    what.add_argument("--file", metavar="FILE", help="a file, whose bytes are published as they are")
    parser.add_argument(
        "--as",
        dest="identity",
        metavar="NAME",
        help="the identity of the node that writes it (default: main)",
    )
    parser.add_argument(
        "--force",
        action="store_true",
        help="publish it even if phones that read the feed would crash (dialect `deployed`)",
    )
    add_yes(parser)
    add_network(parser)
    add_json(parser)


def publish(arguments: argparse.Namespace) -> int:
    """Publish content, and print its entry."""
    content = read_content(arguments)
    if arguments.file is not None and (words := as_others_see(content)):
        print(
            f"{words}\nTo publish it as a file with its name: tinyssb attach {arguments.file}",
            file=sys.stderr,
        )
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        if len(content) <= CONTENT_PUBLISH_MAX:
            tell_cost(arguments, node, packet_count(len(content), Dialect(node.status().dialect)))
        row = node.publish(content, arguments.identity, force=arguments.force)
    if arguments.json:
        return print_json([row.fields()])
    chunks = row.chunks
    packets = f"1 entry and {chunks} chunk{'s' if chunks != 1 else ''}" if chunks else "1 entry"
    print(f"feed {row.feed}\nseq {row.seq}, type {row.type}, {row.size} bytes in {packets}")
    return 0


def as_others_see(content: bytes) -> str:
    """Return in words what screens show of content that is no message; empty: it is one."""
    if not isinstance(parse(content), Opaque) or parse_file(content) is not None or parse_note(content):
        return ""
    seen = one_line(shortened(in_a_line(decode_content(content[:_SEEN_BYTES]))), _SEEN_CELLS)
    return f"This is no message. Others see {len(content):,} bytes without a name, as: {seen}"


def read_content(arguments: argparse.Namespace) -> bytes:
    """Return the bytes to publish. Raises ProblemError, FileUnreadableError."""
    if arguments.file is not None:
        try:
            return Path(arguments.file).read_bytes()
        except OSError as error:
            raise FileUnreadableError(arguments.file, error) from error
    if arguments.text == "-":
        return sys.stdin.buffer.read()
    if arguments.text is not None and not arguments.text.strip():
        raise ProblemError(
            "The text is empty. Nothing was published.",
            """Give a text. To publish an empty one on purpose, type --bipf '""'.""",
            exit_code=ExitCode.DATA,
        )
    try:
        if arguments.bipf is None:
            return bipf.encode(to_value(Text(text=arguments.text, said_s=int(time.time()))))
        return bipf.encode(parse_json(arguments.bipf))
    except bipf.BipfError as error:
        raise ProblemError(
            f"This cannot be written as BIPF: {error.reason}. Nothing was published.",
            "Publish it as plain bytes, with --file FILE or `-`.",
            exit_code=ExitCode.DATA,
        ) from error


def parse_json(text: str) -> "bipf.Value":
    """Return the value of a JSON text. Raises ProblemError."""
    try:
        value: bipf.Value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ProblemError(
            f"The argument of --bipf is not JSON: {error}. Nothing was published.",
            """Quote it for the shell: --bipf '["TAV", [], "hello"]'.""",
            exit_code=ExitCode.DATA,
        ) from error
    return _with_bytes(value)


def _with_bytes(value: bipf.Value) -> bipf.Value:
    """Return *value* with bytes in the place of each ``{"hex": DIGITS}``, as bytes are shown. Raises ProblemError."""
    if isinstance(value, list):
        return [_with_bytes(item) for item in value]
    if not isinstance(value, dict):
        return value
    digits = value.get("hex") if len(value) == 1 else None
    if not isinstance(digits, str):
        return {key: _with_bytes(item) for key, item in value.items()}
    try:
        return bytes.fromhex(digits)
    except ValueError as error:
        raise ProblemError(
            "The argument of --bipf has bytes that are not hexadecimal digits. Nothing was published.",
            """Write bytes like this: {"hex": "00ff"}.""",
            exit_code=ExitCode.DATA,
        ) from error


def _no_constant(name: str) -> float:
    raise ValueError(f"JSON has no {name}")
