"""`events`: records of the node's event log."""

import argparse
import json
import time
from collections.abc import Iterable

from tinyssb_node.screens.options import CommandParsers, add_json, add_limit, add_network
from tinyssb_node.screens.render import SHORT_ID, local_time, printable
from tinyssb_node.screens.tail import event_folder, follow_lines, last_lines


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "events",
        events,
        more="Works without the daemon. docs/formats/events.md explains the kinds of records.",
    )
    parser.add_argument(
        "--follow", action="store_true", help="continue with records as they are written, until Ctrl-C"
    )
    parser.add_argument(
        "--kind", action="append", metavar="KIND", help="show only records of this kind; may be repeated"
    )
    add_limit(parser, 20, "records")
    add_network(parser)
    add_json(parser)


def events(arguments: argparse.Namespace) -> int:
    """Show records."""
    folder = event_folder(arguments.home, arguments.network)
    kinds = frozenset(arguments.kind or ())
    lines, place = last_lines(folder, arguments.limit)
    _print(lines, kinds, as_json=arguments.json)
    if arguments.follow:
        _print(follow_lines(folder, place, lambda: time.sleep(0.2)), kinds, as_json=arguments.json)
    return 0


def _print(lines: Iterable[bytes], kinds: frozenset[str], *, as_json: bool) -> None:
    for line in lines:
        shown = _shown(line, kinds, as_json=as_json)
        if shown is not None:
            print(shown, flush=True)


def _shown(line: bytes, kinds: frozenset[str], *, as_json: bool) -> str | None:
    """Format one record; None if its kind is not selected, or if the line is torn and cannot be read."""
    try:
        record = json.loads(line)
        kind, t_us = str(record.pop("kind")), int(record.pop("t_us"))
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    if kinds and kind not in kinds:
        return None
    if as_json:
        return line.decode("utf-8", "replace")
    for name in ("v", "node", "boot", "offset", "mono_us", "network"):
        record.pop(name, None)
    details = "  ".join(f"{name}={_short(value)}" for name, value in record.items())
    return printable(f"{local_time(t_us)}  {kind:<9}  {details}")


def _short(value: object) -> str:
    """Format a value for people: long hexadecimal ids are shortened."""
    if isinstance(value, str):
        return value[:SHORT_ID] + "…" if len(value) in (40, 64) and " " not in value else value
    return json.dumps(value)
