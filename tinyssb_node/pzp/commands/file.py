"""Files of PZP messages, one in JSON on each line: what is good is taken, what is not is told by its line."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, cast

from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpAddResult, PzpDatabase
from tinyssb_node.pzp.database.dependencies import MissingDependency, missing_dependencies
from tinyssb_node.pzp.messages import limits as pzp_limits
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.jsontext import Json, read
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import judge, version_of
from tinyssb_node.screens import limits


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that was not taken."""

    line: int
    """From 1."""
    error: MessageError


@dataclass(slots=True)
class PzpImportCounts:
    """What came of a file."""

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
        """Take all lines of *file*. Raises StoreFailedError and its kin, OSError; what was told by then is kept."""
        lines = enumerate(_lines(file), 1)
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
        group = case.metadata.get(version.fields.owner)
        case.keys = self._database.tangle(group).keys if isinstance(group, str) else ()
        if added.root != added.id:
            case.offer(self._database.tangle(added.root))
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
