"""Taking, checking and writing files of PZP messages."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import FileUnreadableError
from tinyssb_node.pzp.commands.file import LineImporter, PzpImportCounts, RejectedLine
from tinyssb_node.pzp.commands.lines import bad_line, bad_row
from tinyssb_node.pzp.commands.session import wall_us
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.schema import PZP_FILE
from tinyssb_node.pzp.database.sqlite import SqlitePzpRows
from tinyssb_node.screens import limits
from tinyssb_node.screens.newfile import write_new_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tinyssb_node.pzp.commands.session import PzpSession


def import_file(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    """Take the good lines of a file, and list the others."""
    with _opened(arguments.file) as file:
        counts = _take(arguments, pzp.database, file)
    if arguments.json:
        print(json.dumps(_row(counts)))
    else:
        gone = f", {counts.gone:,} were erased or deleted here and stay so" if counts.gone else ""
        print(f"Took {_messages(counts.new)}; {counts.known:,} were here already{gone}.{_wrong(counts)}")
    return ExitCode.DATA if counts.bad else ExitCode.OK


def verify_file(arguments: argparse.Namespace) -> int:
    """Check a file in a database that is thrown away."""
    with (
        tempfile.TemporaryDirectory(prefix="tinyssb-pzp-", dir=_roomy_folder()) as folder,
        closing(PzpDatabase(SqlitePzpRows.open(Path(folder) / PZP_FILE))) as database,
        _opened(arguments.file) as file,
    ):
        counts = _take(arguments, database, file)
    if arguments.json:
        print(json.dumps(_row(counts)))
    else:
        good = counts.lines - counts.bad
        told = "all is well." if not counts.bad else f"{good:,} are right.{_wrong(counts)}"
        print(f"Checked {_messages(counts.lines)}: {told}")
    return ExitCode.DATA if counts.bad else ExitCode.OK


def _roomy_folder() -> str | None:
    """Where there is room for as much as a large file has: many systems have /tmp in memory. None: as usual."""
    place = "/var/tmp"  # noqa: S108 - what is made there has a name that nobody knows before
    return place if "TMPDIR" not in os.environ and os.access(place, os.W_OK) else None


def _messages(count: int) -> str:
    return f"{count:,} message{'' if count == 1 else 's'}"


def _wrong(counts: PzpImportCounts) -> str:
    lines = f"{counts.bad:,} line{' is' if counts.bad == 1 else 's are'}"
    return f" {lines} wrong, and listed above." if counts.bad else ""


def _row(counts: PzpImportCounts) -> dict[str, int]:
    return {
        "lines": counts.lines,
        "new": counts.new,
        "known": counts.known,
        "gone": counts.gone,
        "bad": counts.bad,
    }


@contextmanager
def _opened(name: str) -> Iterator[BinaryIO]:
    """The file *name*; `-` is standard input. Raises FileUnreadableError."""
    try:
        if name == "-":
            yield sys.stdin.buffer
        else:
            with Path(name).open("rb") as file:
                yield file
    except OSError as error:
        raise FileUnreadableError(name, error) from error


def _take(arguments: argparse.Namespace, database: PzpDatabase, file: BinaryIO) -> PzpImportCounts:
    """Take the lines of *file*; those that are not taken are printed."""
    bar = _Bar(arguments.file)

    def tell(bad: RejectedLine) -> None:
        bar.clear()
        print(json.dumps(bad_row(bad)) if arguments.json else bad_line(bad))

    taker = LineImporter(database, strict=not arguments.compat, wall_us=wall_us(), tell=tell)
    try:
        return taker.take(file, bar.show)
    finally:
        bar.clear()


class _Bar:
    """How far a file is read, where somebody looks."""

    def __init__(self, name: str) -> None:
        self._seen: Final = sys.stderr.isatty()
        self._size: Final = Path(name).stat().st_size if name != "-" else 0
        self._drawn_s = time.monotonic()
        self._drawn = False

    def show(self, lines: int, read_bytes: int) -> None:
        """Draw it, unless it was a moment ago."""
        now_s = time.monotonic()
        if not self._seen or now_s - self._drawn_s < limits.PZP_PROGRESS_S:
            return
        self._drawn_s, self._drawn = now_s, True
        share = min(1.0, read_bytes / self._size) if self._size else 0.0
        full = int(share * limits.PZP_BAR_CELLS)
        bar = f"[{'#' * full}{'.' * (limits.PZP_BAR_CELLS - full)}] {share:4.0%}, " if self._size else ""
        print(f"\r{bar}{lines:,} lines, {read_bytes:,} bytes", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take it away."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def export_file(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    """Write messages, in an order in which they can be taken."""
    roots = [pzp.root(text) for text in arguments.feeds]
    texts = _chosen(pzp, roots) if roots else _all(pzp)
    if arguments.file == "-":
        for text in texts:
            sys.stdout.buffer.write(text + b"\n")
        sys.stdout.buffer.flush()
        return 0
    count = 0

    def write(file: BinaryIO) -> None:
        nonlocal count
        for text in texts:
            file.write(text + b"\n")
            count += 1

    size = write_new_file(Path(arguments.file), write)
    if arguments.json:
        print(json.dumps({"file": arguments.file, "messages": count, "bytes": size}))
    else:
        print(f"Wrote {arguments.file}: {_messages(count)}, {size:,} bytes.")
    return 0


def _all(pzp: PzpSession) -> Iterator[bytes]:
    number = 0
    while page := pzp.database.records(number):
        yield from (record.text for record in page)
        number = page[-1].number


def _chosen(pzp: PzpSession, roots: list[str]) -> Iterator[bytes]:
    """Feeds, each behind the identity that it is of."""
    written: set[str] = set()
    for root in roots:
        first = pzp.database.record(root)
        owner = first.owner if first is not None and first.version != 1 else None
        for tangle in [root] if owner is None else [owner, root]:
            for id_ in pzp.database.tangle(tangle).topological():
                record = pzp.database.record(id_)
                if record is not None and id_ not in written:
                    written.add(id_)
                    yield record.text
