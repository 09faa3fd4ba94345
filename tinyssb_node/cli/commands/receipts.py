"""`receipts`: nodes that have the user's entries."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import HolderRow, ReceiptRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.holders_text import holders_text, moment
from tinyssb_node.screens.message_commands import names_shown
from tinyssb_node.screens.options import CommandParsers, add_json, add_limit, add_network
from tinyssb_node.screens.render import SHORT_ID, fields, local_time, print_json, printable, table

_SEQ_DIGITS_MAX = 10
"""Decimal digits that a sequence number may have; more of them begin an id."""


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("receipts", receipts)
    parser.add_argument(
        "message",
        nargs="?",
        metavar="SEQ|ID",
        help="show everything about one entry, named by its sequence number or the beginning of its id",
    )
    add_limit(parser, 20, "entries")
    add_network(parser)
    add_json(parser)


def receipts(arguments: argparse.Namespace) -> int:
    """List receipts, or show those of one entry."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        if arguments.message is not None:
            row = _find(node, arguments.message)
            print(json.dumps(row.fields()) if arguments.json else _page(row, names_shown(arguments)))
            return 0
        rows = list(node.receipts(last=arguments.limit))
    if arguments.json:
        return print_json(row.fields() for row in rows)
    print(_table(rows, names_shown(arguments)))
    return 0


def _find(node: DaemonClient, name: str) -> ReceiptRow:
    """Return the receipts of the entry called *name*. Raises ProblemError."""
    if name.isascii() and name.isdigit() and len(name) <= _SEQ_DIGITS_MAX:
        # The rest of the listing is cut off with the connection.
        following = next(iter(node.receipts(first=max(1, int(name)))), None)
        found = [following] if following is not None and following.seq == int(name) else []
    else:
        found = [row for row in node.receipts() if name and row.id.startswith(name.lower())]
    if len(found) == 1:
        return found[0]
    if found:
        raise ProblemError(
            f"The ids of {len(found)} entries begin with these digits.",
            "Type more digits of the id.",
            exit_code=ExitCode.MISSING,
        )
    raise ProblemError(
        "This node has written no such entry, or it is an acknowledgement of others' entries.",
        "List the entries: tinyssb receipts. To see all: tinyssb log me",
        exit_code=ExitCode.MISSING,
    )


def _table(rows: list[ReceiptRow], name_of: Callable[[str], str]) -> str:
    now_us = time.time_ns() // 1_000
    listed = [
        (
            row.seq,
            row.id[:SHORT_ID],
            moment(row.committed_us, now_us),
            holders_text(row, name_of, now_us),
        )
        for row in rows
    ]
    return table(("SEQ", "ID", "WRITTEN", "WHO HAS IT"), listed)


def _page(row: ReceiptRow, name_of: Callable[[str], str]) -> str:
    pairs: list[tuple[str, object]] = [
        ("seq", row.seq),
        ("id", row.id),
        ("written", local_time(row.committed_us)),
        ("who has it", holders_text(row, name_of, time.time_ns() // 1_000)),
    ]
    pairs += [(holder.kind, _holder(holder, name_of)) for holder in row.holders]
    pairs += [("missing", f"{name_of(feed)}, which has acknowledged other entries") for feed in row.missing]
    pairs += [("silent", f"{name_of(feed)}, which has never acknowledged any entry") for feed in row.silent]
    return fields(pairs)


def _holder(holder: HolderRow, name_of: Callable[[str], str]) -> str:
    if holder.feed is not None:
        who = name_of(holder.feed)
    else:
        speaker = "" if holder.speaker is None else f" {holder.speaker}"
        who = f"a node{speaker} on {printable(holder.face or '')}"
    return f"{who}, known since {local_time(holder.since_us)}"
