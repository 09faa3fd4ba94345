"""`export`, `import`, `verify`, `doctor`: integrity of the store, and files of feeds."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tinyssb_node.catalog.schema import CATALOG_FILE
from tinyssb_node.cli.time_arguments import moment_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.errors import ExitCode, FileUnreadableError, ProblemError
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName
from tinyssb_node.screens.newfile import write_new_file
from tinyssb_node.screens.options import CommandParsers, add_json, add_network
from tinyssb_node.store.home import Home
from tinyssb_node.store.port import FeedRecord, Store
from tinyssb_node.store.repair import FeedCut, cut_store
from tinyssb_node.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from tinyssb_node.cli.packet_import import ImportResult
    from tinyssb_node.daemon.verify import Damage


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add("export", export, more="Works without the daemon.")
    parser.add_argument("file", metavar="FILE", help="the file to make; `-` for standard output")
    parser.add_argument(
        "feeds", metavar="FEED", nargs="*", help="a feed to export; may be repeated (default: all feeds)"
    )
    parser.add_argument(
        "--since",
        metavar="WHEN|FILE",
        help="only entries that arrived since then (12h, 3d, 2026-11-20T18:30), or that an earlier export lacks",
    )
    add_network(parser)
    parser = commands.add("import", import_, more="Each signature is checked again.")
    parser.add_argument("file", metavar="FILE", help="the file to read")
    add_network(parser)
    add_json(parser)
    parser = commands.add(
        "verify",
        verify,
        more="Works without the daemon. Exits with 65 if anything is damaged. Changes nothing without --repair.",
    )
    parser.add_argument(
        "--repair",
        action="store_true",
        help="back up the store and remove damaged data, so that peers send it again; stop the daemon first",
    )
    parser.add_argument(
        "--own",
        action="store_true",
        help="with --repair: repair our own feeds, too; entries that no peer has are then lost for good",
    )
    add_network(parser)
    add_json(parser)
    parser = commands.add("doctor", doctor)
    add_json(parser)


def export(arguments: argparse.Namespace) -> int:
    """Write an export file, whole or not at all."""
    from tinyssb_node.daemon.exports import export_pieces, write_export

    home = _home(arguments)
    with closing(_open_network(home, arguments)[0]) as store:
        records = _chosen(home, store, arguments.feeds)
        if arguments.since is None:
            pieces = export_pieces(store, records)
        else:
            pieces = export_pieces(store, records, _since(store, arguments.since))
        if arguments.file == "-":
            write_export(pieces, sys.stdout.buffer)
            return 0
        size = write_new_file(Path(arguments.file), lambda file: write_export(pieces, file))
    print(f"Wrote {arguments.file}, {size:,} bytes.")
    return 0


def _since(store: Store, text: str) -> Callable[[FeedRecord], int]:
    """Return where an export of each feed begins: *text* is a time, or the name of an earlier export.

    Raises ProblemError, FileUnreadableError, ExportFileError.
    """

    from tinyssb_node.daemon.exports import ExportCoverage, firsts_since, read_export

    since_us = moment_of(text, datetime.now().astimezone())
    if since_us is not None:
        firsts = firsts_since(store, since_us)
        return lambda record: firsts.get(record.feed, record.seq + 1)
    cover = ExportCoverage(store)
    try:
        with Path(text).open("rb") as file:
            cover.add(read_export(file))
    except FileNotFoundError as error:
        raise ProblemError(
            f"'{text}' is neither a time nor an existing file. Nothing was written.",
            "Give a time ago (12h, 3d), a date (2026-11-20, 2026-11-20T18:30), or an earlier export file.",
            exit_code=ExitCode.USAGE,
        ) from error
    except OSError as error:
        raise FileUnreadableError(text, error) from error
    return cover.first_lacked


def _import_refused(taken: ImportResult) -> ProblemError:
    from tinyssb_node.cli.packet_import import NO_PLACE

    (_, feed), reason = next(iter(taken.refused.items()))
    more = len(taken.refused) - 1
    return ProblemError(
        f"The node refused a packet of feed {feed}: {reason}"
        + (f"; it also refused packets of {more:,} other feeds" if more else "")
        + ". The rest of the file was imported: "
        f"{taken.entries:,} entries and {taken.chunks:,} chunks are new.",
        "Use another network for further feeds: docs/howto/several-networks.md"
        if reason == NO_PLACE
        else "The file was changed, or comes from a network with another key. Ask for it again.",
        exit_code=ExitCode.DATA,
    )


def import_(arguments: argparse.Namespace) -> int:
    """Check a whole file, then offer its packets to the daemon."""
    from tinyssb_node.cli.packet_import import ImportResult, offer
    from tinyssb_node.daemon.exports import ExportFileError, read_export

    taken = ImportResult()
    try:
        with Path(arguments.file).open("rb") as file:
            for _ in read_export(file):
                pass
            file.seek(0)
            with DaemonClient.at_home(arguments.home, arguments.network) as node:
                try:
                    offer(node, arguments.file, read_export(file), taken)
                except (OSError, ExportFileError) as error:
                    raise ProblemError(
                        f"Reading {arguments.file} failed in the middle. Imported and kept so far: "
                        f"{taken.entries:,} entries and {taken.chunks:,} chunks.",
                        "Import it again when it can be read. The import continues from there.",
                        exit_code=ExitCode.MISSING,
                    ) from error
    except OSError as error:
        raise FileUnreadableError(arguments.file, error) from error
    if taken.refused:
        raise _import_refused(taken)
    if arguments.json:
        row = {"entries": taken.entries, "chunks": taken.chunks, "held": taken.held}
        print(json.dumps({**row, "passed": taken.passed}))
    else:
        for feed, word in taken.passed.items():
            print(f"Feed {feed} was skipped: it is {word} here.")
        print(
            f"Imported {taken.entries:,} entries and {taken.chunks:,} chunks; {taken.held:,} packets were "
            "stored already."
        )
    return 0


def verify(arguments: argparse.Namespace) -> int:
    """Check the store as it is now."""
    from tinyssb_node.daemon.verify import Verifier

    opened, network = _open_network(_home(arguments), arguments)
    damages = []
    with closing(opened) as store:
        verifier = Verifier(store, network)
        for damage in verifier.run():
            damages.append(damage)
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
            + (f"{verifier.problems:,} problems." if verifier.problems else "no problems.")
        )
    if damages and arguments.repair:
        return _repair(arguments, network, damages)
    if damages and not arguments.json:
        print(
            "Nothing was changed. To remove damaged data, so that peers send it again: tinyssb verify --repair"
        )
    return ExitCode.DATA if damages else ExitCode.OK


def _repair(arguments: argparse.Namespace, network: Network, damages: Sequence[Damage]) -> int:
    """Remove damaged data from the store. Raises what the store raises, having changed nothing."""
    from tinyssb_node.daemon.repair import plan_repair

    home = _home(arguments).of(NetworkName(arguments.network or DEFAULT_NETWORK))
    with closing(_open_network(_home(arguments), arguments)[0]) as store:
        held = {record.feed: record.seq for record in store.feeds()}
        cuts, spared = plan_repair(store, network, damages, own=arguments.own)
    aside = cut_store(home.store, cuts) if cuts else None
    if aside is not None:
        # The catalog is built again from the store.
        for name in (CATALOG_FILE, f"{CATALOG_FILE}-wal", f"{CATALOG_FILE}-shm"):
            (home.root / name).unlink(missing_ok=True)
    kept = [(cut.feed.hex(), cut.keep, held[cut.feed]) for cut in cuts if isinstance(cut, FeedCut)]
    if arguments.json:
        feeds = [{"feed": feed, "keeps": keep, "had": had} for feed, keep, had in kept]
        row = {"aside": aside and str(aside), "cut": feeds, "left": [feed.hex() for feed in spared]}
        print(json.dumps(row))
        return ExitCode.DATA if spared else ExitCode.OK
    for feed, keep, had in kept:
        print(
            f"{feed}: the undamaged data of its first {keep:,} of {had:,} entries was kept; peers send the rest again."
        )
    if aside is not None:
        print(f"A backup of the store is in {aside}. Delete it when everything is back.")
    for own in spared:
        print(
            f"{own.hex()} is yours and was not changed. `--repair --own` cuts it, too: entries that peers "
            "have come back, "
            "and until then the node does not write it. Entries that no peer has are lost: if some are, allow writing "
            "with `tinyssb identity sure`, and publish them again."
        )
    return ExitCode.DATA if spared else ExitCode.OK


def doctor(arguments: argparse.Namespace) -> int:
    """Check the node and its settings."""
    from tinyssb_node.screens.checkup import examine

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
    return ExitCode.OK if all(finding.ok for finding in findings) else ExitCode.ATTENTION


def _home(arguments: argparse.Namespace) -> Home:
    home = Home.find(arguments.home, os.environ)
    home.require()
    return home


def _open_network(home: Home, arguments: argparse.Namespace) -> tuple[Store, Network]:
    """Open the store of the network that *arguments* name, and return its key. Raises ProblemError, and as
    stores do."""
    from tinyssb_node.daemon.config import read_config

    name, network = read_config(home).find_network(arguments.network or DEFAULT_NETWORK)
    return SqliteStore.open_readonly(home.of(name).store), network


def _chosen(home: Home, store: Store, names: list[str]) -> list[FeedRecord]:
    """Return the feeds that *names* name; without any, all. Raises ProblemError."""
    from tinyssb_node.daemon.feed_names import OWN_FEED, find_feed
    from tinyssb_node.daemon.setup import read_node_identity

    records = list(store.feeds())
    own = read_node_identity(home).feed if OWN_FEED in names else None
    return [find_feed(records, name, own) for name in dict.fromkeys(names)] if names else records
