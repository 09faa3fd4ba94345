"""Storage of collected segments: the same files as on the nodes, and an index of the bytes that are durable.

The index holds what was acknowledged to nodes. After a crash a file may have more, never less; then the same bytes are
written over it. A file that the index does not know, copied into the folder by a user, counts with all its bytes.
"""

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Self

from spark_sink import limits
from spark_sink.collect.messages import HaveRow, Log, SegmentId
from spark_sink.errors import BusyError, StorageError
from spark_sink.segments import NETWORKS, SEGMENT, segment_name

INDEX: Final = "collect.sqlite"
"""The index's name."""
OPEN: Final = "open"
"""Name that topics use for the network without a key."""
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_WRITING: Final = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS logs (id INTEGER PRIMARY KEY, network TEXT NOT NULL, node TEXT NOT NULL,
    UNIQUE (node, network));
CREATE TABLE IF NOT EXISTS landed (log INTEGER NOT NULL, boot INTEGER NOT NULL, first INTEGER NOT NULL,
    have INTEGER NOT NULL, PRIMARY KEY (log, boot, first)) WITHOUT ROWID;
"""


class LandingFolder:
    """A folder of segments (`collector.Landing`). Every method raises StorageError."""

    def __init__(
        self, root: Path, index: sqlite3.Connection, *, quota_bytes: int, keep_free_bytes: int
    ) -> None:
        """Use ``open``."""
        self._root = root
        self._index = index
        self._quota_bytes = quota_bytes
        self._keep_free_bytes = keep_free_bytes
        self._logs: dict[Log, int] = {}
        self._open: dict[Path, int] = {}
        """Files that are written and not synced."""
        self._used: dict[str, tuple[int, float]] = {}
        """Bytes of each node's segments, and when they were counted."""
        self._free = (0, -limits.SPACE_LOOK_S)

    @classmethod
    def open(cls, root: Path, *, quota_bytes: int, keep_free_bytes: int) -> Self:
        """Return segments in *root*, which is made if it is not there. A node may have *quota_bytes* of them, and
        *keep_free_bytes* of the disk stay free. Raises BusyError, StorageError."""
        with _faults(root):
            root.mkdir(parents=True, exist_ok=True)
        try:
            index = sqlite3.connect(root / INDEX, isolation_level=None, timeout=0)
            # No other process may use the index meanwhile; committed rows are on the disk.
            index.execute("PRAGMA locking_mode=EXCLUSIVE")
            index.execute("PRAGMA journal_mode=WAL")
            index.execute("PRAGMA synchronous=FULL")
            index.executescript(_SCHEMA)
            index.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise BusyError(
                    f"Another tinyssb-sink collects into {root}; nothing was done. Stop it first."
                ) from error
            raise _failed(root, str(error)) from error
        except sqlite3.DatabaseError as error:
            raise _failed(root / INDEX, str(error)) from error
        return cls(root, index, quota_bytes=quota_bytes, keep_free_bytes=keep_free_bytes)

    def close(self) -> None:
        """Let go of everything; what was not synced does not count."""
        for file in self._open.values():
            os.close(file)
        self._open.clear()
        self._index.close()

    def sync(self) -> None:
        """Make everything that was written durable."""
        with _faults(self._root):
            for file in self._open.values():
                os.fsync(file)
                os.close(file)
            self._open.clear()
            self._index.execute("COMMIT")
            self._index.execute("BEGIN IMMEDIATE")

    # --- Landing

    def have(self, log: Log, segment: SegmentId) -> int:
        """Return the number of first bytes of a segment that are stored."""
        return self._found(log, segment) or 0

    def rows(self, log: Log, since: SegmentId, most: int) -> Sequence[HaveRow]:
        """Return up to *most* stored segments from *since* on, in order."""
        number = self._number(log)
        if number is None:
            return ()
        with _faults(self._root):
            found = self._index.execute(
                "SELECT boot, first, have FROM landed WHERE log = ? AND (boot, first) >= (?, ?) AND have > 0 "
                "ORDER BY boot, first LIMIT ?",
                (number, *since, most),
            ).fetchall()
        return tuple(HaveRow(SegmentId(boot, first), have) for boot, first, have in found)

    def read(self, log: Log, segment: SegmentId, at: int, size: int) -> bytes | None:
        """Return bytes of a segment, fewer at its end; None if its file no longer exists."""
        path = self._path(log, segment)
        with _faults(path):
            try:
                file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except FileNotFoundError:
                return None
            try:
                return os.pread(file, size, at)
            finally:
                os.close(file)

    def write(self, log: Log, segment: SegmentId, at: int, content: bytes) -> bool:
        """Write *content* at byte *at*, which is where the stored bytes end. Returns False without room, or if the file
        was deleted at this moment: then nothing of it is stored.
        """
        if not self._has_room(log, len(content)):
            return False
        number = self._number(log, make=True)
        if number is None:
            return False
        if self._found(log, segment) is None and not self._note(number, log, segment):
            return False
        path = self._path(log, segment)
        with _faults(path):
            try:
                self._put(path, at, content)
            except FileNotFoundError:
                self.forget(log, segment)
                return False
            except OSError as error:
                if error.errno in _FULL:
                    return False
                raise
            self._index.execute(
                "UPDATE landed SET have = ? WHERE log = ? AND boot = ? AND first = ?",
                (at + len(content), number, *segment),
            )
        used, counted_s = self._used[log.node]
        self._used[log.node] = (used + len(content), counted_s)
        return True

    def forget(self, log: Log, segment: SegmentId) -> None:
        """Note that nothing of this segment is stored any more."""
        with _faults(self._root):
            self._index.execute(
                "UPDATE landed SET have = 0 WHERE log = ? AND boot = ? AND first = ?",
                (self._number(log), *segment),
            )

    # --- Files

    def _folder(self, log: Log) -> Path:
        return (self._root if log.network == OPEN else self._root / NETWORKS / log.network) / log.node

    def _path(self, log: Log, segment: SegmentId) -> Path:
        return self._folder(log) / segment_name(*segment)

    def _put(self, path: Path, at: int, content: bytes) -> None:
        """Write to a segment. Raises FileNotFoundError if there is no file, and *at* is not its beginning."""
        file = self._begin(path) if at == 0 else self._open.get(path)
        if file is None:
            file = self._open[path] = os.open(path, _WRITING)
        while content:
            written = os.pwrite(file, content, at)
            at, content = at + written, content[written:]

    def _begin(self, path: Path) -> int:
        """Create the file, and missing folders above it, and sync each folder: an earlier process may have been killed
        before it synced them."""
        earlier = self._open.pop(path, None)
        if earlier is not None:
            os.close(earlier)  # it may have been deleted, and nothing in it counts
        self._make(path.parent)
        file = self._open[path] = os.open(path, _WRITING | os.O_CREAT, 0o644)
        _sync_folder(path.parent)
        return file

    def _make(self, folder: Path) -> None:
        if folder != self._root:
            self._make(folder.parent)
            folder.mkdir(exist_ok=True)
            _sync_folder(folder.parent)

    def _note(self, number: int, log: Log, segment: SegmentId) -> bool:
        """Note a new segment before its file is made: a file without a note was not made by us. False if a node may
        have no more of them."""
        count = self._ask(
            "SELECT count(*) FROM landed JOIN logs ON logs.id = landed.log WHERE logs.node = ?", log.node
        )
        if (count or 0) >= limits.SEGMENTS_PER_NODE_MAX:
            return False
        with _faults(self._root):
            self._index.execute("INSERT INTO landed VALUES (?, ?, ?, 0)", (number, *segment))
        self.sync()
        return True

    # --- Room

    def _has_room(self, log: Log, size: int) -> bool:
        now_s = time.monotonic()
        free, looked_s = self._free
        if now_s - looked_s >= limits.SPACE_LOOK_S:
            with _faults(self._root):
                free = shutil.disk_usage(self._root).free
            looked_s = now_s
        self._free = (free - size, looked_s)
        if free - size < self._keep_free_bytes:
            return False
        used, counted_s = self._used.get(log.node, (0, -limits.SPACE_LOOK_S))
        over = used + size > self._quota_bytes and now_s - counted_s >= limits.SPACE_LOOK_S
        if log.node not in self._used or over:
            used = self._count(log.node)
            self._used[log.node] = (used, now_s)
        return used + size <= self._quota_bytes

    def _count(self, node: str) -> int:
        """Return the bytes of all stored segments of a node, including those that a user copied into the folder."""
        total = 0
        with _faults(self._root):
            networks = [Path(entry) for entry in _entries(self._root / NETWORKS)]
            for folder in (self._root, *networks):
                total += sum(size for _, size in _segments(folder / node))
        return total

    # --- The index

    def _found(self, log: Log, segment: SegmentId) -> int | None:
        number = self._number(log)
        if number is None:
            return None
        return self._ask("SELECT have FROM landed WHERE log = ? AND boot = ? AND first = ?", number, *segment)

    def _number(self, log: Log, *, make: bool = False) -> int | None:
        """Return the log's number in the index; None if it has none, or, with *make*, if no more logs are allowed."""
        if log in self._logs:
            return self._logs[log]
        number = self._ask("SELECT id FROM logs WHERE network = ? AND node = ?", *log)
        copied = self._copied(log, number)
        if number is None:
            if not copied and not make:
                return None
            networks = self._ask("SELECT count(*) FROM logs WHERE node = ?", log.node)
            nodes = self._ask("SELECT count(DISTINCT node) FROM logs")
            if (networks or 0) >= limits.NETWORKS_PER_NODE_MAX or (nodes or 0) >= limits.NODES_MAX:
                return None
        with _faults(self._root):
            if number is None:
                number = self._index.execute("INSERT INTO logs (network, node) VALUES (?, ?)", log).lastrowid
            self._index.executemany(
                "INSERT OR IGNORE INTO landed VALUES (?, ?, ?, ?)",
                [(number, *segment, size) for segment, size in copied],
            )
        assert number is not None, "it was there, or is now"
        self._logs[log] = number
        return number

    def _copied(self, log: Log, number: int | None) -> Sequence[tuple[SegmentId, int]]:
        """Return segments that a user copied into the folder, and their sizes."""
        copied: list[tuple[SegmentId, int]] = []
        with _faults(self._root):
            for segment, size in _segments(self._folder(log)):
                known = number is not None and self._ask(
                    "SELECT 1 FROM landed WHERE log = ? AND boot = ? AND first = ?", number, *segment
                )
                if not known:
                    copied.append((segment, size))
        return copied[: limits.SEGMENTS_PER_NODE_MAX]

    def _ask(self, query: str, *values: object) -> int | None:
        """Return the one number that *query* finds; None for none."""
        with _faults(self._root):
            found = self._index.execute(query, values).fetchone()
        return None if found is None else int(found[0])


def _entries(folder: Path) -> Sequence[os.DirEntry[str]]:
    """Return the entries of a folder; none if the folder does not exist. Raises OSError."""
    try:
        return list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _segments(folder: Path) -> Iterator[tuple[SegmentId, int]]:
    """Yield the segments in a folder and their sizes, without those deleted meanwhile (by archiving, for example).
    Raises OSError.
    """
    for entry in _entries(folder):
        named = SEGMENT.match(entry.name)
        with suppress(FileNotFoundError):
            if named is not None and entry.is_file(follow_symlinks=False):
                yield SegmentId(int(named[1]), int(named[2])), entry.stat().st_size


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _failed(path: Path, reason: str) -> StorageError:
    return StorageError(
        f"Collecting into {path} failed: {reason}. All log data that was acknowledged to nodes is kept, and they "
        "send the rest again. Remove the cause and start again."
    )


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Translate errors of the system and of SQLite into messages for users. Raises StorageError."""
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        raise _failed(path, getattr(error, "strerror", None) or str(error)) from error
