"""`export`, `import`, `verify`, `doctor`: keeping what is held whole, and moving it by hand."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tinyssb_node import limits
from tinyssb_node.cli.options import Subparsers, add_command, add_json, add_network
from tinyssb_node.daemon.problems import Exit, FileUnreadableError, ProblemError

if TYPE_CHECKING:
    from tinyssb_node.cli.client import Client
    from tinyssb_node.codec.dmx import Network
    from tinyssb_node.daemon.exports import Piece
    from tinyssb_node.daemon.home import Home
    from tinyssb_node.store.port import FeedRecord, Store


class FileUnwritableError(ProblemError):
    """A file that was named cannot be written."""

    exit_code = Exit.MISSING


class FileExistsInPlaceError(ProblemError):
    """A file would have been overwritten."""

    exit_code = Exit.CREATE


class ImportRefusedError(ProblemError):
    """The node did not take a packet of the file."""

    exit_code = Exit.DATA


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the commands."""
    parser = add_command(
        subparsers, common, "export", export, "write feeds to one file", more="Works without the daemon, too."
    )
    parser.add_argument("file", metavar="FILE", help="the file to make; `-` for standard output")
    parser.add_argument("feeds", metavar="FEED", nargs="*", help="which feeds (default: all)")
    add_network(parser)
    parser = add_command(
        subparsers,
        common,
        "import",
        import_,
        "take in feeds from a file",
        more="Each signature is checked again.",
    )
    parser.add_argument("file", metavar="FILE", help="the file to read")
    add_network(parser)
    add_json(parser)
    parser = add_command(
        subparsers,
        common,
        "verify",
        verify,
        "check every chain, signature and side chain of the store",
        more="Works without the daemon, too. Exits 65 if something is wrong.",
    )
    add_network(parser)
    add_json(parser)
    parser = add_command(
        subparsers, common, "doctor", doctor, "look for what keeps the node from working, and say what to do"
    )
    add_json(parser)


def export(arguments: argparse.Namespace) -> int:
    """Write an export file, whole or not at all."""
    from tinyssb_node.daemon.exports import export_pieces, write_export

    home = _home(arguments)
    with closing(_open_network(home, arguments)[0]) as store:
        pieces = export_pieces(store, _chosen(home, store, arguments.feeds))
        if arguments.file == "-":
            write_export(pieces, sys.stdout.buffer)
            return 0
        size = write_new_file(arguments.file, lambda file: write_export(pieces, file))
    print(f"Wrote {arguments.file}, {size:,} bytes.")
    return 0


def write_new_file(name: str, write: Callable[[BinaryIO], object]) -> int:
    """Make the file *name*, whole or not at all, with what *write* writes. Returns its size in bytes.

    Raises FileExistsInPlaceError, FileUnwritableError.
    """
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        with _new_file(path, part) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise FileUnwritableError(
            f"{path} cannot be written: {error.strerror}.",
            "Name a file in a folder that you can write to.",
        ) from error
    return path.stat().st_size


def import_(arguments: argparse.Namespace) -> int:
    """Read a file to its end, then offer its packets to the daemon."""
    from tinyssb_node.cli.client import Client
    from tinyssb_node.daemon.exports import read_export

    total = {"entries": 0, "chunks": 0, "held": 0}
    try:
        with Path(arguments.file).open("rb") as file:
            for _ in read_export(file):
                pass
            file.seek(0)
            with Client.at_home(arguments.home, arguments.network) as node:
                _offer(node, read_export(file), total)
    except OSError as error:
        raise FileUnreadableError(arguments.file, error) from error
    if arguments.json:
        print(json.dumps(total))
    else:
        print(
            f"Added {total['entries']:,} entries and {total['chunks']:,} chunks; {total['held']:,} were held already."
        )
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check the store as it is now."""
    from tinyssb_node.daemon.verify import Verifier

    opened, network = _open_network(_home(arguments), arguments)
    with closing(opened) as store:
        verifier = Verifier(store, network)
        for damage in verifier.run():
            row = {"feed": damage.feed.hex(), "seq": damage.seq, "problem": damage.problem}
            print(
                json.dumps(row) if arguments.json else f"{row['feed']} entry {damage.seq}: {damage.problem}"
            )
    summary = {"feeds": verifier.feeds, "entries": verifier.entries, "chunks": verifier.chunks}
    if arguments.json:
        print(json.dumps({**summary, "problems": verifier.problems}))
    else:
        print(
            f"Checked {verifier.feeds:,} feeds, {verifier.entries:,} entries, {verifier.chunks:,} chunks: "
            + (f"{verifier.problems:,} problems." if verifier.problems else "all is well.")
        )
    return Exit.DATA if verifier.problems else Exit.OK


def doctor(arguments: argparse.Namespace) -> int:
    """Check what a node needs."""
    from tinyssb_node.cli.checkup import examine
    from tinyssb_node.daemon.home import Home

    findings = examine(Home.find(arguments.home, os.environ))
    for finding in findings:
        if arguments.json:
            print(
                json.dumps(
                    {
                        "check": finding.check,
                        "ok": finding.ok,
                        "found": finding.found,
                        "advice": finding.advice,
                    }
                )
            )
        else:
            print(f"{'ok ' if finding.ok else 'BAD'}  {finding.check}: {finding.found}")
            if finding.advice:
                print(f"     {finding.advice}")
    return Exit.OK if all(finding.ok for finding in findings) else Exit.ATTENTION


def _home(arguments: argparse.Namespace) -> Home:
    from tinyssb_node.daemon.home import Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    return home


def _open_network(home: Home, arguments: argparse.Namespace) -> tuple[Store, Network]:
    """The store and the key of the network that *arguments* name. Raises UnknownNetworkError, and as stores do."""
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.ids import DEFAULT_NETWORK
    from tinyssb_node.store.sqlite import SqliteStore

    name, network = read_config(home).find_network(arguments.network or DEFAULT_NETWORK)
    return SqliteStore.open_readonly(home.of(name).store), network


def _chosen(home: Home, store: Store, names: list[str]) -> list[FeedRecord]:
    """The feeds *names* name, all without any. Raises UnknownFeedError, AmbiguousFeedError."""
    from tinyssb_node.daemon.naming import OWN_FEED, find_feed
    from tinyssb_node.daemon.setup import read_own

    records = list(store.feeds())
    own = read_own(home).feed if OWN_FEED in names else None
    return [find_feed(records, name, own) for name in dict.fromkeys(names)] if names else records


def _new_file(path: Path, part: Path) -> BinaryIO:
    if path.exists():
        raise FileExistsInPlaceError(
            f"{path} is there already. It was kept.", "Name another file, or remove it first."
        )
    return part.open("xb")


def _offer(node: Client, pieces: Iterator[Piece], total: dict[str, int]) -> None:
    """Send *pieces* in requests as large as may be, and add up in *total* what came of them."""
    from tinyssb_node.daemon.exports import FeedHeader

    feed, waiting = "", list[bytes]()
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            _offer_packets(node, feed, waiting, total)
            feed, waiting = piece.feed.hex(), []
        else:
            waiting.append(piece.packet)
        if len(waiting) == limits.IMPORT_PACKETS_MAX:
            _offer_packets(node, feed, waiting, total)
            waiting = []
    _offer_packets(node, feed, waiting, total)


def _offer_packets(node: Client, feed: str, packets: list[bytes], total: dict[str, int]) -> None:
    if not packets:
        return
    row = node.import_packets(feed, packets)
    total["entries"] += row["entries"]
    total["chunks"] += row["chunks"]
    total["held"] += row["held"]
    if row["refused"] is not None:
        raise ImportRefusedError(
            f"The node did not take a packet of feed {feed}: {row['refused']['reason']}. "
            f"{total['entries']:,} entries and {total['chunks']:,} chunks before it were added.",
            "The file says something that is not signed so, or belongs to a network with another key.",
        )
