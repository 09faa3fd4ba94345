"""`attach`, `fetch`: files of up to 64 kB in an entry's side chain, and their airtime cost."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from tinyssb_node.cli.heldfile import HeldFile, inspect_file, wait_for
from tinyssb_node.content.files import File, parse_file, serialize_file
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect
from tinyssb_node.screens import limits
from tinyssb_node.screens.conversation_files import ConversationFileDraft
from tinyssb_node.screens.estimate import AirtimeCost, as_json, costs_in_words, estimate, packets_in_words
from tinyssb_node.screens.languages import number, t, tn
from tinyssb_node.screens.localfile import clean_name, file_title, read_local_file, save_file, saving_path
from tinyssb_node.screens.message_commands import open_node
from tinyssb_node.screens.newfile import require_absent
from tinyssb_node.screens.options import CommandParsers, add_json, add_network
from tinyssb_node.screens.render import print_json
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.screen import confirm
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.store.home import Home
from tinyssb_node.store.port import FeedRecord, StoredEntry
from tinyssb_node.store.sqlite import SqliteStore


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add("attach", attach, more="First shows the airtime it costs, and asks.")
    parser.add_argument("file", metavar="FILE", help="the file to publish")
    parser.add_argument(
        "--name", metavar="NAME", help="the file name that others see (default: its name here)"
    )
    parser.add_argument("--type", metavar="TYPE", help="its media type (default: guessed from its name)")
    parser.add_argument(
        "--with",
        dest="people",
        metavar="PERSON",
        action="append",
        default=[],
        help="encrypt it for this person; may be given several times (default: for everybody)",
    )
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")
    parser.add_argument("--dry-run", action="store_true", help="only show the cost")
    add_network(parser)
    add_json(parser)
    parser = commands.add(
        "fetch",
        fetch,
        more="Never overwrites a file. The author's name for the file is cleaned before it is used.",
    )
    parser.add_argument("what", metavar="ID", help="the beginning of a message id, or FEED.SEQ such as me.17")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to save it: a file, a folder, or `-` for standard output (default: the current folder)",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=_seconds,
        help="how long to wait for the rest (default: no limit)",
    )
    add_network(parser)
    add_json(parser)


def attach(arguments: argparse.Namespace) -> int:
    """Publish a file, after showing its cost."""
    file = read_file(arguments)
    content = serialize_file(file)
    if arguments.people:
        with open_node(arguments) as talk:
            people = tuple(talk.find_person(name).feed for name in arguments.people)
            content = ConversationFileDraft(file, people=people).content(talk)
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        packets = packet_count(len(content), Dialect(node.status().dialect))
        costs = estimate(packets, list(node.faces()), list(node.airtime()))
        about: dict[str, object] = {
            "name": file.name,
            "type": file.type,
            "size": len(file.data),
            "packets": packets,
            "costs": [as_json(cost) for cost in costs],
        }
        if arguments.people:
            about["with"] = [feed.hex() for feed in people]
        if arguments.dry_run:
            lines = (
                [json.dumps(about)] if arguments.json else [file_title(file), *costs_in_words(packets, costs)]
            )
            print("\n".join(lines))
            return 0
        if not arguments.yes and not confirm_cost(file, packets, costs):
            print(t("Nothing was published."), file=sys.stderr)
            return ExitCode.ATTENTION
        row = node.publish(content)
    if arguments.json:
        return print_json([{"feed": row.feed, "seq": row.seq, "id": row.id, **about}])
    print(t("Attached as entry {n} of {feed}.", n=row.seq, feed=row.feed))
    print(t("Others save it with: {command}", command=f"tinyssb fetch {row.id[:12]}"))
    return 0


def read_file(arguments: argparse.Namespace) -> File:
    """Read the file that *arguments* name. Raises FileUnreadableError, ProblemError."""
    return read_local_file(Path(arguments.file), arguments.name, arguments.type)


def confirm_cost(file: File, packets: int, costs: Sequence[AirtimeCost]) -> bool:
    """Show the cost, and ask whether to publish. Raises ProblemError."""
    about = "\n".join([file_title(file), *(f"  {line}" for line in costs_in_words(packets, costs))])
    print(about, file=sys.stderr)
    if costs:
        once = t("This is for sending it once; packets that a peer misses are sent again.")
        print(f"  {once}", file=sys.stderr)
    return confirm(
        t("Publish it? This cannot be undone."),
        kept=t("Nothing was published."),
        otherwise=t("Add --yes to publish without being asked."),
    )


def fetch(arguments: argparse.Namespace) -> int:
    """Wait until all of a file has arrived, and save it."""
    home = Home.find(arguments.home, os.environ)
    home.require()
    feed, seq = _named(arguments)
    record, held = _look(home, arguments, feed, seq)
    entry, feed = held.entry, record.feed.hex()
    otherwise = f"tinyssb-{entry.feed.hex()[:12]}-{entry.seq}"
    name = held.head.name
    if arguments.output != "-" and name is not None:
        require_absent(saving_path(arguments.output, clean_name(name, otherwise)))
    if held.content is None:
        _await(arguments, record, held, lambda: _look(home, arguments, feed, seq)[1].held)
        _, held = _look(home, arguments, feed, seq)
    file = _opened(arguments, held)
    if file is None:
        raise ProblemError(
            f"Entry {entry.seq} of {entry.feed.hex()} "
            + (
                "is encrypted, and is no file for you."
                if held.sealed
                else "looks like a file but is malformed."
            )
            + " Nothing was saved.",
            f"Look at the entry: tinyssb show {entry.feed.hex()[:12]} {entry.seq}",
            exit_code=ExitCode.DATA,
        )
    if arguments.output == "-":
        sys.stdout.buffer.write(file.data)
        return 0
    path = save_file(file, clean_name(file.name, otherwise), arguments.output)
    _print_saved(arguments, entry, file, path)
    return 0


def _opened(arguments: argparse.Namespace, held: HeldFile) -> File | None:
    """Return the file of which all is here; None: it is none that we can read."""
    content = held.content
    if held.sealed:
        with open_node(arguments) as talk:
            content = talk.catalog.content(held.entry.id)
    return None if content is None else parse_file(content)


def _print_saved(arguments: argparse.Namespace, entry: StoredEntry, file: File, path: Path) -> None:
    if not arguments.json:
        print(
            tn(
                len(file.data),
                "Saved {path}, {n} byte.",
                "Saved {path}, {n} bytes.",
                path=one_line(str(path)),
            )
        )
        return
    row = {
        "feed": entry.feed.hex(),
        "seq": entry.seq,
        "id": entry.id.hex(),
        "name": file.name,
        "type": file.type,
        "size": len(file.data),
        "path": str(path),
    }
    print(json.dumps(row))


def _named(arguments: argparse.Namespace) -> tuple[str, int]:
    """Return the feed and the sequence number that *arguments* name. Raises ProblemError."""
    feed, dot, seq = str(arguments.what).rpartition(".")
    if dot and seq.isascii() and seq.isdigit():
        return feed, int(seq[:12])
    with NodeSession.at_home(arguments.home, arguments.network) as talk:
        talk.catch_up()
        row = talk.find_message(arguments.what)
        return row.feed.hex(), row.seq


def _look(home: Home, arguments: argparse.Namespace, feed: str, seq: int) -> tuple[FeedRecord, HeldFile]:
    """Return a feed, and the file in its entry *seq*, as they are stored now. Raises ProblemError."""
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.feed_names import OWN_FEED, find_feed
    from tinyssb_node.daemon.setup import read_node_identity

    network, _ = read_config(home).find_network(arguments.network or DEFAULT_NETWORK)
    own = read_node_identity(home).feed if feed == OWN_FEED else None
    with closing(SqliteStore.open_readonly(home.of(network).store)) as store:
        record = find_feed(store.feeds(), feed, own)
        entry = store.entry(record.feed, seq) if 0 < seq <= record.seq else None
        if entry is not None:
            assert record.dialect is not None, "a feed with entries has a dialect"
            return record, inspect_file(store, entry, record.dialect)
    last = record.seq
    raise ProblemError(
        f"Entry {seq} of {record.feed.hex()} is not stored here; "
        + (f"entries 1 to {last} are." if last else "no entry is."),
        f"Wait until it has arrived, or choose another: tinyssb log {record.feed.hex()[:12]}",
        code="unknown_entry",
    )


def _await(
    arguments: argparse.Namespace, record: FeedRecord, held: HeldFile, look: Callable[[], int]
) -> None:
    """Show the progress until the rest has arrived; *look* returns the number of packets stored.

    Raises ProblemError, DaemonUnreachableError.
    """
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        node.status()  # without a daemon nothing would ever arrive
    if not record.wanted:
        raise ProblemError(
            f"Part of the file is missing, and it is not requested: feed {record.feed.hex()} is not followed.",
            f"Follow the feed: tinyssb follow {record.feed.hex()}",
            exit_code=ExitCode.BUSY,
        )
    show, done = _screen(held)
    try:
        here = wait_for(
            held.chunks,
            look,
            show=show,
            patience_s=arguments.timeout,
            now=time.monotonic,
            sleep=time.sleep,
        )
    finally:
        done()
    if here < held.chunks:
        raise ProblemError(
            f"{here:,} of {packets_in_words(held.chunks)} have arrived. Nothing was saved.",
            "The node continues to request the rest. Type the command again later.",
            exit_code=ExitCode.BUSY,
        )


def _screen(held: HeldFile) -> tuple[Callable[[str], None], Callable[[], None]]:
    """Return how to show a line of progress, each time in the same place, and how to end it."""
    if not _on_a_terminal():
        missing, of = held.chunks - held.held, number(held.chunks)
        words = tn(missing, "Waiting for {n} packet of {of}.", "Waiting for {n} packets of {of}.", of=of)
        print(words, file=sys.stderr)
        return lambda _: None, lambda: None
    title = one_line(held.head.name or "", limits.FILE_NAME_CELLS)
    size = held.size if held.head.size is None else held.head.size
    print(
        f"{title or t('A file')}, {tn(size, '{n} byte', '{n} bytes')}. "
        + t("Press Ctrl-C to stop waiting; the node continues to request the rest."),
        file=sys.stderr,
    )
    longest = 0

    def show(line: str) -> None:
        nonlocal longest
        longest = max(longest, len(line))
        print(f"\r{line:<{longest}}", end="", file=sys.stderr, flush=True)

    return show, lambda: print(file=sys.stderr)


def _on_a_terminal() -> bool:
    return sys.stderr.isatty()


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 2**32:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds")
    return seconds
