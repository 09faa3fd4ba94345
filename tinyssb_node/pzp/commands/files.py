"""Files of PZP messages, one in JSON on each line: import, check, export, certificates."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final, cast

from tinyssb_node.errors import ExitCode, FileUnreadableError
from tinyssb_node.pzp.commands.session import InvalidPzpInputError, PzpSession, wall_us
from tinyssb_node.pzp.database import pzpdb_log
from tinyssb_node.pzp.database.certificates import certificate
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpAddResult, PzpDatabase
from tinyssb_node.pzp.database.dependencies import MissingDependency, missing_dependencies
from tinyssb_node.pzp.database.port import PzpRecord
from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows
from tinyssb_node.pzp.messages import limits as pzp_limits
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.jsontext import Json, canonical, read
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import V4, judge, version_of
from tinyssb_node.screens import limits
from tinyssb_node.screens.newfile import write_new_file
from tinyssb_node.screens.render import print_json, printable

_BAR_CELLS: Final = 30
_LOG: Final = Path("db", "log")
"""The file of pzp-db in its folder."""


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that was not taken."""

    line: int
    """From 1."""
    error: MessageError


@dataclass(slots=True)
class PzpImportCounts:
    """Counts of an import from a file."""

    lines: int = 0
    """With something on them."""
    new: int = 0
    """Messages that were not here, or not whole."""
    known: int = 0
    """Messages that were here."""
    gone: int = 0
    """Messages that were erased or deleted here on purpose, and stay so."""
    bad: int = 0
    """Lines that were not taken."""


Tell = Callable[[RejectedLine], None]
"""Told of each line that was not taken."""
Progress = Callable[[int, int], None]
"""Told how many lines and bytes were read."""


@dataclass(slots=True)
class _Waiting:
    """Lines that wait for what comes later in the file."""

    lines: dict[int, tuple[Json, int, MessageError]] = field(default_factory=dict)
    """Message, size, and what was wrong, by line."""
    by_lack: dict[tuple[str, str], set[int]] = field(default_factory=lambda: defaultdict(set))
    size: int = 0

    def put(
        self, line: int, value: Json, size: int, error: MessageError, lacks: list[MissingDependency]
    ) -> bool:
        """Let a line wait; False: there is no room, or nothing to wait for."""
        if not lacks or self.size + size > limits.PZP_WAITING_SIZE:
            return False
        self.lines[line] = (value, size, error)
        self.size += size
        for lack in lacks:
            self.by_lack[lack.root, lack.id].add(line)
        return True

    def woken(self, id_: str, roots: list[str]) -> Iterator[tuple[int, Json, int]]:
        """Lines to try again now that the message *id_* is here, and in the tangles *roots*."""
        keys = [(id_, ""), *((root, what) for root in roots for what in (id_, ""))]
        for line in sorted({line for key in keys for line in self.by_lack.pop(key, ())}):
            value, size, _ = self.lines.pop(line, (None, 0, None))
            if size:
                self.size -= size
                yield line, value, size


class LineImporter:
    """Takes the lines of a file into a database."""

    def __init__(self, database: PzpDatabase, *, strict: bool, wall_us: int, tell: Tell) -> None:
        """Check as the text says or, if not *strict*, as the original does; *tell* of each line that is not taken."""
        self._database: Final = database
        self._strict: Final = strict
        self._wall_us: Final = wall_us
        self._tell: Final = tell
        self._waiting: Final = _Waiting()
        self.counts: Final = PzpImportCounts()

    def take(self, file: BinaryIO, progress: Progress) -> PzpImportCounts:
        """Take all lines of *file*, or records of a log of pzp-db.

        Raises StoreFailedError and its kin, OSError; what was told by then is kept.
        """
        lines = enumerate(_messages_of_log(file) if pzpdb_log.is_log(file) else _lines(file), 1)
        done = read_bytes = 0
        more = True
        while more:
            more = False
            with self._database.batch():
                batch_bytes = 0
                for number, line in lines:
                    self._line(number, line)
                    done, batch_bytes = number, batch_bytes + len(line)
                    if batch_bytes >= limits.PZP_BATCH_SIZE:
                        more = True
                        break
            read_bytes += batch_bytes
            progress(done, read_bytes)
        for number, (_, _, error) in sorted(self._waiting.lines.items()):
            self._refuse(number, error)
        return self.counts

    def _line(self, number: int, line: bytes) -> None:
        text = line.strip(b" \t\r\n")
        if not text:
            return
        self.counts.lines += 1
        try:
            value = read(text)
        except MessageError as error:
            self._refuse(number, error)
            return
        found = [(number, value, len(text))]
        while found:
            found += self._offer(*found.pop(0))

    def _offer(self, number: int, value: Json, size: int) -> list[tuple[int, Json, int]]:
        """Add a message; returns what may be tried again because of it."""
        try:
            added = self._database.add(value, wall_us=self._wall_us, strict=self._strict)
            if added.outcome is PzpAddOutcome.KNOWN:
                self._check_again(value, added)
        except MessageError as error:
            lacks = missing_dependencies(self._database, value, error) if isinstance(value, dict) else []
            if not self._waiting.put(number, value, size, error, lacks):
                self._refuse(number, error)
            return []
        self._count(added)
        return list(self._waiting.woken(added.id, [added.root, *_named(value)]))

    def _check_again(self, value: Json, added: PzpAddResult) -> None:
        """Check what has the id of a message that is here, and is not the same. Raises a MessageError."""
        record = self._database.record(added.id)
        if record is None or record.message() == value:
            return
        version = version_of(value)
        case = ValidationCase(version.fields, cast("Message", value), PzpTangle(added.root))
        keys = self._database.keys_for(version, case, strict=self._strict)
        case.offer(case.tangle if added.root == added.id else self._database.tangle(added.root), keys)
        judge(version, case, strict=self._strict)

    def _count(self, added: PzpAddResult) -> None:
        counts = self.counts
        if added.outcome in (PzpAddOutcome.NEW, PzpAddOutcome.FILLED):
            counts.new += 1
        elif added.outcome is PzpAddOutcome.KNOWN:
            counts.known += 1
        else:
            counts.gone += 1

    def _refuse(self, number: int, error: MessageError) -> None:
        self.counts.bad += 1
        self._tell(RejectedLine(number, error))


def _named(value: Json) -> list[str]:
    """The tangles that a message names, which was taken."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    tangles = metadata.get("tangles") if isinstance(metadata, dict) else None
    return list(tangles) if isinstance(tangles, dict) else []


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of *file*; of one that is too long so much that it is too long still."""
    most = pzp_limits.TEXT_MAX + 2
    while line := file.readline(most):
        rest = line
        while rest and not rest.endswith(b"\n"):
            rest = file.readline(most)
        yield line


def _messages_of_log(file: BinaryIO) -> Iterator[bytes]:
    """The messages of a log of pzp-db, as JSON; nothing for a record that was deleted."""
    for record in pzpdb_log.parse_records(file):
        if record is None:
            yield b"damaged"
            continue
        try:
            value = read(record) if record else None
            message = value["msg"] if isinstance(value, dict) and "msg" in value else None
            yield record if message is None else canonical(message)
        except MessageError:
            yield record


def import_file(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    """Take the good lines of a file, and list the others."""
    with _opened(arguments.file) as file:
        counts = _take(arguments, pzp.database, file)
    if arguments.json:
        print(json.dumps(_row(counts)))
    else:
        gone = f", {counts.gone:,} were erased or deleted here and stay so" if counts.gone else ""
        print(
            f"Imported {_messages(counts.new)}; {counts.known:,} were stored already{gone}.{_wrong(counts)}"
        )
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
        told = "no problems." if not counts.bad else f"{good:,} are valid.{_wrong(counts)}"
        print(f"Checked {_messages(counts.lines)}: {told}")
    return ExitCode.DATA if counts.bad else ExitCode.OK


def _roomy_folder() -> str | None:
    """Return a folder with room for a large file: many systems have /tmp in memory. None: the default one."""
    place = "/var/tmp"  # noqa: S108 - what is made there has a name that nobody knows before
    return place if "TMPDIR" not in os.environ and os.access(place, os.W_OK) else None


def _bad_row(bad: RejectedLine) -> dict[str, object]:
    """A line that was not taken, for programs."""
    error = bad.error
    return {
        "line": bad.line,
        "error": error.rule.code,
        "field": error.field,
        "rule": error.asked,
        "value": error.shown,
        "problem": str(error),
    }


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
            with _path(name).open("rb") as file:
                yield file
    except OSError as error:
        raise FileUnreadableError(name, error) from error


def _path(name: str) -> Path:
    """The file *name*, or that of a folder of pzp-db."""
    path = Path(name)
    return path / _LOG if path.is_dir() and (path / _LOG).exists() else path


def _take(arguments: argparse.Namespace, database: PzpDatabase, file: BinaryIO) -> PzpImportCounts:
    """Take the lines of *file*; those that are not taken are printed."""
    bar = _Bar(arguments.file)

    def tell(bad: RejectedLine) -> None:
        bar.clear()
        text = f"line {bad.line}: {bad.error.rule.code}: {printable(str(bad.error))}"
        print(json.dumps(_bad_row(bad)) if arguments.json else text)

    taker = LineImporter(database, strict=not arguments.compat, wall_us=wall_us(), tell=tell)
    try:
        return taker.take(file, bar.show)
    finally:
        bar.clear()


class _Bar:
    """Progress bar for reading a file, shown if standard error is a terminal."""

    def __init__(self, name: str) -> None:
        self._seen: Final = sys.stderr.isatty()
        self._size: Final = _path(name).stat().st_size if name != "-" else 0
        self._drawn_s = time.monotonic()
        self._drawn = False

    def show(self, lines: int, read_bytes: int) -> None:
        """Draw it, unless it was a moment ago."""
        now_s = time.monotonic()
        if not self._seen or now_s - self._drawn_s < 0.2:
            return
        self._drawn_s, self._drawn = now_s, True
        share = min(1.0, read_bytes / self._size) if self._size else 0.0
        full = int(share * _BAR_CELLS)
        bar = f"[{'#' * full}{'.' * (_BAR_CELLS - full)}] {share:4.0%}, " if self._size else ""
        print(f"\r{bar}{lines:,} lines, {read_bytes:,} bytes", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take it away."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False


def export_file(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    """Write messages, in an order in which they can be taken."""
    roots = [pzp.root(text) for text in arguments.feeds]
    records = _chosen(pzp, roots) if roots else _all(pzp)
    if arguments.pzp_db:
        return _export_log(arguments, records)
    texts = (record.text for record in records)
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
        return print_json([{"file": arguments.file, "messages": count, "bytes": size}])
    print(f"Wrote {arguments.file}: {_messages(count)}, {size:,} bytes.")
    return 0


def _export_log(arguments: argparse.Namespace, records: Iterator[PzpRecord]) -> int:
    """Write messages of V4 as the package pzp-db keeps them, into a new folder."""
    folder = Path(arguments.file)
    if arguments.file == "-":
        raise InvalidPzpInputError(
            "pzp-db needs a folder of its own. Nothing was written.", "Name a new one."
        )
    counts = dict.fromkeys(("messages", "left_out"), 0)

    def written() -> Iterator[bytes]:
        for record in records:
            head = f'{{"id":"{record.id}","msg":'.encode()
            data = head + record.text + f',"received":{record.added_us // 1_000}}}'.encode()
            fits = record.version == V4.fields.v and pzpdb_log.fits(len(data))
            counts["messages" if fits else "left_out"] += 1
            if fits:
                yield data

    try:
        (folder / _LOG).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileUnreadableError(arguments.file, error) from error
    size = write_new_file(folder / _LOG, lambda file: file.writelines(pzpdb_log.serialize_records(written())))
    if arguments.json:
        return print_json([{"file": str(folder / _LOG), **counts, "bytes": size}])
    print(f"Wrote {folder / _LOG}: {_messages(counts['messages'])}, {size:,} bytes.")
    if counts["left_out"]:
        print(f"Left out {_messages(counts['left_out'])} that pzp-db cannot read: it knows Msg V4 only.")
    return 0


def _all(pzp: PzpSession) -> Iterator[PzpRecord]:
    number = 0
    while page := pzp.database.records(number):
        yield from page
        number = page[-1].number


def _chosen(pzp: PzpSession, roots: list[str]) -> Iterator[PzpRecord]:
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
                    yield record


def write_certificate(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    """Write the certificate of a message, as `verify` takes it."""
    record = pzp.record(arguments.message)
    texts = [canonical(cast("Json", message)) for message in certificate(pzp.database, record)]
    lines = b"".join(text + b"\n" for text in texts)
    if arguments.file == "-":
        sys.stdout.buffer.write(lines)
        sys.stdout.buffer.flush()
        return 0
    size = write_new_file(Path(arguments.file), lambda file: file.write(lines))
    if arguments.json:
        return print_json([{"id": record.id, "file": arguments.file, "messages": len(texts), "bytes": size}])
    print(f"Wrote {arguments.file}: {len(texts):,} messages, {size:,} bytes; the last is {record.id}.")
    print(f"A reader without any other messages can check it: tinyssb pzp verify {arguments.file}")
    return 0
