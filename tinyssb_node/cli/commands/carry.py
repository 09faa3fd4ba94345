"""`carry`: exchange of entries through a memory stick or any other folder."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from tinyssb_node.cli.carry_folder import (
    FolderContents,
    FolderWriteResult,
    export_to_folder,
    folder_of,
    import_folder,
    read_folder,
    require_folder,
)
from tinyssb_node.cli.packet_import import ImportResult
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.daemon.config import read_config
from tinyssb_node.daemon.setup import read_node_identity
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.screens import limits
from tinyssb_node.screens.options import CommandParsers, add_json, add_network
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.store.home import Home
from tinyssb_node.store.port import Store
from tinyssb_node.store.sqlite import SqliteStore


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "carry",
        carry,
        more="Imports what this node lacks, then writes what the folder lacks. Each signature is checked.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder, such as /media/stick")
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--take", action="store_true", help="only import, and write nothing to the folder")
    ways.add_argument(
        "--leave", action="store_true", help="only write to the folder; works without the daemon"
    )
    add_network(parser)
    add_json(parser)


def carry(arguments: argparse.Namespace) -> int:
    """Import, then export. Imported entries stay, whatever happens to the folder then."""
    home = Home.find(arguments.home, os.environ)
    home.require()
    name, network = read_config(home).find_network(arguments.network or DEFAULT_NETWORK)
    place = Path(arguments.folder)
    require_folder(place)
    folder = folder_of(place, network)
    found = read_folder(place, folder, _show)

    def opened() -> Store:
        return SqliteStore.open_readonly(home.of(name).store)

    taken = None if arguments.leave else ImportResult()
    left, done = None, False
    try:
        if taken is not None and found.whole:
            with DaemonClient.at_home(arguments.home, arguments.network) as node:
                import_folder(node, found, opened, taken, _show)
        if not arguments.take:
            with closing(opened()) as store:
                left = export_to_folder(place, folder, store, found, read_node_identity(home).feed)
        done = True
    finally:
        # Whatever ended it: what was imported until then is reported, before the error.
        if arguments.json:
            print(json.dumps(_row(found, taken, left)))
        else:
            _print_files(found, taken)
            if done:
                _print_end(found, taken, left, leaves=not arguments.take)
    refused = taken is not None and taken.refused
    return ExitCode.DATA if refused or found.damaged else ExitCode.OK


def _show(done: int, total: int) -> None:
    """Print the progress, on a terminal and for many files."""
    if total >= 20 and sys.stderr.isatty():
        print(f"\r\x1b[K· {done:,} of {total:,} files", end="" if done + 1 < total else "\n", file=sys.stderr)


def _row(
    found: FolderContents, taken: ImportResult | None, left: FolderWriteResult | None
) -> dict[str, object]:
    return {
        "files": len(found.whole),
        "damaged": found.damaged,
        "taken": taken
        and {
            "feeds": len(taken.feeds),
            "entries": taken.entries,
            "chunks": taken.chunks,
            "refused": [
                {"file": file, "feed": feed, "reason": reason}
                for (file, feed), reason in taken.refused.items()
            ],
            "passed": taken.passed,
            "early": sorted(taken.early),
        },
        "left": left
        and {"file": str(left.path), "feeds": left.feeds, "entries": left.entries, "bytes": left.size},
    }


def _print_files(found: FolderContents, taken: ImportResult | None) -> None:
    """Print what became of the files in the folder."""
    _list(
        [
            f"{one_line(name)} cannot be read: {problem}. The file was left as it is."
            for name, problem in found.damaged.items()
        ]
    )
    if taken is None:
        return
    _list(
        [
            f"{one_line(file)}: a packet of feed {feed} was refused: {reason}."
            for (file, feed), reason in taken.refused.items()
        ]
    )
    _list([f"Feed {feed} was skipped: it is {word} here." for feed, word in taken.passed.items()])
    if taken.entries or taken.chunks:
        print(
            f"Imported {taken.entries:,} entries and {taken.chunks:,} chunks of {_feeds(len(taken.feeds))}."
        )
    if taken.early:
        print(
            f"The folder has later entries of {_feeds(len(taken.early))}. They can be imported once the "
            "entries before them are here."
        )


def _print_end(
    found: FolderContents, taken: ImportResult | None, left: FolderWriteResult | None, *, leaves: bool
) -> None:
    """Print how it ended: only then is it known that there was nothing to import, or to write."""
    if taken is not None and not taken.feeds:
        nothing_else = not (found.damaged or taken.refused or taken.passed or taken.early)
        print(
            "Imported nothing: this node has everything in the folder."
            if nothing_else
            else "Imported nothing."
        )
    if left is not None:
        print(f"Wrote {left.entries:,} entries of {_feeds(left.feeds)} to {left.path}, {left.size:,} bytes.")
    elif leaves:
        print("Wrote nothing: the folder has everything that this node has.")


def _list(lines: Sequence[str]) -> None:
    """Print *lines*, or the first of many: files made by an attacker may cause any number."""
    print(*lines[: limits.CARRY_TOLD_MAX], sep="\n", end="\n" if lines else "")
    if len(lines) > limits.CARRY_TOLD_MAX:
        print(f"… and {len(lines) - limits.CARRY_TOLD_MAX:,} more; --json lists all.")


def _feeds(count: int) -> str:
    return f"{count:,} feed{'' if count == 1 else 's'}"
