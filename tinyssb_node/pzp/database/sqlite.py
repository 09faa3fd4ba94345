"""Rows of the PZP database in SQLite: schema, opening, reading, writing. Format: ``docs/formats/pzp-store.md``.

Several processes may have the file open. Each writes in short transactions, and sees by ``generation`` whether another
has written.
"""

import fcntl
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, Self

import msgspec

from tinyssb_node.errors import (
    LocalError,
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
    StoreTooNewError,
)
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.errors import PzpBusyError
from tinyssb_node.pzp.database.port import (
    PayloadState,
    PzpPlacement,
    PzpRecord,
    PzpTotals,
    TangleSummary,
)
from tinyssb_node.store.durable import write_anew
from tinyssb_node.store.recovery import sync_names
from tinyssb_node.store.sqlite_file import inspect_schema, store_faults

PZP_FILE: Final = "pzp.sqlite"
"""Its name in the home folder."""
PZP_VERSION: Final = 2
"""The schema written, and the newest read (``PRAGMA user_version``). 1 has the same tables, and no messages of V4."""
APPLICATION_ID: Final = int.from_bytes(b"tSSz", "big")
"""Tells it from other databases (``PRAGMA application_id``)."""

_TABLES: Final = """
CREATE TABLE messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL,
    owner TEXT,
    kind TEXT,
    said INTEGER NOT NULL,
    strict INTEGER NOT NULL,
    alone INTEGER NOT NULL,
    added_us INTEGER NOT NULL,
    text BLOB NOT NULL
);
CREATE INDEX messages_owner ON messages (owner, number);
CREATE INDEX messages_kind ON messages (kind, number);
CREATE INDEX messages_alone ON messages (id, number) WHERE alone = 1;
CREATE INDEX messages_bare ON messages (id, said) WHERE said <> 1;
CREATE TABLE places (
    root TEXT NOT NULL,
    depth INTEGER NOT NULL,
    id TEXT NOT NULL,
    number INTEGER NOT NULL,
    prev TEXT NOT NULL,
    adds TEXT,
    taken INTEGER NOT NULL,
    PRIMARY KEY (root, depth, id)
) WITHOUT ROWID;
CREATE TABLE goals (
    root TEXT PRIMARY KEY,
    goal TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE ghosts (
    root TEXT NOT NULL,
    id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    PRIMARY KEY (root, id)
) WITHOUT ROWID;
CREATE TABLE totals (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    messages INTEGER NOT NULL,
    bytes INTEGER NOT NULL
);
INSERT INTO totals VALUES (1, 0, 0);
"""


def open_for_writing(path: Path) -> tuple[sqlite3.Connection, int]:
    """Open the file at *path*, made if there is none, beside others who may have it open too.

    Returns with it a file descriptor that holds our part of its lock; closing it lets go. Raises StoreTooNewError,
    StoreDamagedError (nothing is overwritten), StoreFullError, StoreFailedError.
    """
    with store_faults(path, "opening the PZP database"), ExitStack() as undo:
        lock = _settle(path)
        undo.callback(os.close, lock)
        connection = _connect(path, "rwc")
        undo.callback(connection.close)
        # Asked before anything that writes, so that a file of somebody else's stays as it is.
        if not _is_known(connection, path):
            _create(connection, path)
        if connection.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise StoreFailedError(
                f"{path}: the file system cannot have a write-ahead log, or a program reads it."
            )
        connection.execute("PRAGMA synchronous = FULL")
        if connection.execute("PRAGMA user_version").fetchone() != (PZP_VERSION,):
            connection.execute(
                f"PRAGMA user_version = {PZP_VERSION}"
            )  # an older program refuses it from now on
        fcntl.flock(lock, fcntl.LOCK_SH)
        # What is erased or deleted is overwritten with zeros.
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA wal_autocheckpoint = 4096")  # pages of 4 KiB: 16 MiB, as in the store
        sync_names(path)
        undo.pop_all()
        return connection, lock


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open the file at *path* for reading, whoever writes it.

    Raises StoreTooNewError, StoreDamagedError, StoreFailedError (also if there is no such file).
    """
    with store_faults(path, "opening the PZP database for reading"), ExitStack() as undo:
        connection = _connect(path, "ro")
        undo.callback(connection.close)
        if not _is_known(connection, path):
            raise StoreDamagedError(path, "it is empty")
        undo.pop_all()
        return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=limits.BUSY_S)
    connection.execute("PRAGMA temp_store = MEMORY")
    # KiB: ids come in no order, so that the index of a large file is touched everywhere.
    connection.execute("PRAGMA cache_size = -16384")
    return connection


def _settle(path: Path) -> int:
    """Take our part of the lock. Who is the first puts on the disk what a process left that did not end in order.

    New commits go behind it in the write-ahead log, and would be lost with it. The first one has all of the lock, until
    the file is made: two that make it at once get into each other's way. Raises StoreFailedError.
    """
    log = path.with_name(path.name + "-wal")
    try:
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreFailedError(f"{path}: its lock cannot be opened: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(lock, fcntl.LOCK_SH)  # others have it open: one of them has done it, or does
        else:
            write_anew(log)
            # More than the schema takes; later its pages are in the log as well.
            if path.exists() and path.stat().st_size <= 65_536:
                write_anew(path)  # it may have been made, and not have got to the disk
    except OSError as error:
        os.close(lock)
        raise StoreFailedError(f"{log}: the disk or file system refused it: {error.strerror}") from error
    return lock


def _is_known(connection: sqlite3.Connection, path: Path) -> bool:
    """Return True if the file has our schema; False if it has nothing at all."""
    tables, application, version = inspect_schema(connection)
    if not tables and not application and not version:
        return False
    if application != APPLICATION_ID:
        raise StoreDamagedError(path, "another program's database")
    if version > PZP_VERSION:
        raise StoreTooNewError(path, version, PZP_VERSION)
    return True


def _create(connection: sqlite3.Connection, path: Path) -> None:
    """Write the schema, all of it or nothing, unless another process did so just now."""
    # Before there is anything in the file, or it would not hold.
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_known(connection, path):
            for statement in _TABLES.split(";")[:-1]:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {PZP_VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


_RECORD: Final = "number, id, version, owner, kind, said, strict, added_us, text"
_WRITE_PREV: Final = msgspec.json.Encoder().encode
_READ_PREV: Final = msgspec.json.Decoder(tuple[str, ...]).decode

_SqlValue = int | str | bytes | None


class SqlitePzpRows:
    """``Rows`` in one file."""

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: int | None) -> None:
        """Use ``open`` or ``open_readonly``."""
        self._path = path
        self.connection = connection
        self._lock = lock
        self._broken = False
        """The disk refused a write: what SQLite believes to be there may not be."""
        self._spoiled = False
        """A write failed in this transaction: what it has written is not whole."""
        self._forgets = False
        """Something was overwritten in this transaction, and is still in the write-ahead log when it ends."""
        self._grown = (0, 0)
        """Messages and bytes that this transaction added."""

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open the file at *path*, made if there is none.

        Raises StoreTooNewError, StoreDamagedError, StoreFullError, StoreFailedError.
        """
        return cls(path, *open_for_writing(path))

    @classmethod
    def open_readonly(cls, path: Path) -> Self:
        """Open the file at *path*, which is there, for reading; writes fail.

        Raises StoreTooNewError, StoreDamagedError, StoreFailedError.
        """
        return cls(path, open_for_reading(path), None)

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes in it are durable (fsync included) when it ends; by an exception none of them is made."""
        if self._broken:
            raise StoreFailedError(f"{self._path}: the disk refused a write before. Open it anew.")
        self._spoiled, self._forgets, self._grown = False, False, (0, 0)
        self._begin()
        try:
            yield
            self._commit()
        except BaseException as error:
            self._broken = isinstance(error, StoreFailedError) and not isinstance(error, StoreFullError)
            # If it fails there is nothing to undo any more; what went wrong first is what is told.
            with suppress(sqlite3.Error):
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
            raise
        if self._forgets:
            self._forget()

    def _begin(self) -> None:
        try:
            self._run("BEGIN IMMEDIATE")
        except StoreFailedError as error:
            if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise PzpBusyError(self._path) from error
            raise

    def _commit(self) -> None:
        if self._spoiled:
            raise StoreFailedError(f"{self._path}: a write failed before; nothing of this batch was kept.")
        if any(self._grown):
            self._run("UPDATE totals SET messages = messages + ?, bytes = bytes + ?", self._grown)
        self._run("COMMIT")

    def _forget(self) -> None:
        """Take what was overwritten out of the write-ahead log, and give room back to the disk.

        Best effort, since all is committed: while somebody reads it cannot be done, and is the next time.
        """
        with suppress(sqlite3.Error):
            # As a script: of a statement that yields no rows Python takes the first step only, which is one page.
            self.connection.executescript("PRAGMA incremental_vacuum")
            self.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def generation(self) -> int:
        """A number that differs from an earlier one if another connection has written in between."""
        return int(self._select("PRAGMA data_version")[0][0])

    # --- messages

    def put(self, record: PzpRecord, places: Mapping[str, PzpPlacement]) -> int:
        """Add a message that is not there, with its places by root. Its number is given here and returned."""
        alone = not any(placed.taken for placed in places.values())
        row = (record.id, record.version, record.owner, record.kind, int(record.said), record.strict, alone)
        number = self._run(
            "INSERT INTO messages (id, version, owner, kind, said, strict, alone, added_us, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, record.added_us, record.text),
        )
        for root, placed in places.items():
            self._run("INSERT INTO places VALUES (?, ?, ?, ?, ?, ?, ?)", _place_row(root, placed, number))
        self._count(1, len(record.text))
        return number

    def rewrite(self, record: PzpRecord) -> None:
        """Replace the text of a message, and what is here of what it says. What was there is overwritten."""
        before = self._select("SELECT length(text) FROM messages WHERE id = ?", (record.id,))[0][0]
        self._run(
            "UPDATE messages SET said = ?, text = ? WHERE id = ?", (int(record.said), record.text, record.id)
        )
        self._count(0, len(record.text) - before)
        self._forgets = True

    def delete(self, record: PzpRecord, places: Mapping[str, int]) -> None:
        """Take away a message with its places: roots, each with the depth there."""
        self._run("DELETE FROM messages WHERE id = ?", (record.id,))
        for root, depth in places.items():
            self._run("DELETE FROM places WHERE root = ? AND depth = ? AND id = ?", (root, depth, record.id))
        self._count(-1, -len(record.text))
        self._forgets = True

    def get(self, id_: str) -> PzpRecord | None:
        """A message."""
        rows = self._select(f"SELECT {_RECORD} FROM messages WHERE id = ?", (id_,))  # noqa: S608 - names of ours
        return self._record(rows[0]) if rows else None

    def records(self, after: int, limit: int, owner: str | None, kind: str | None) -> Sequence[PzpRecord]:
        """Messages with numbers above *after*, of that owner and kind unless they are None, by number."""
        sql = f"SELECT {_RECORD} FROM messages WHERE number > ?"  # noqa: S608 - names of ours
        asked: list[_SqlValue] = [after]
        for name, value in (("owner", owner), ("kind", kind)):
            if value is not None:
                sql += f" AND {name} = ?"
                asked.append(value)
        rows = self._select(f"{sql} ORDER BY number LIMIT ?", (*asked, limit))
        return [self._record(row) for row in rows]

    def totals(self) -> PzpTotals:
        """Return the totals of the stored messages, including those this transaction added."""
        rows = self._select("SELECT messages, bytes FROM totals")
        if not rows:
            raise StoreDamagedError(self._path, "it does not say how much it holds")
        grown = self._grown if self.connection.in_transaction else (0, 0)
        return PzpTotals(rows[0][0] + grown[0], rows[0][1] + grown[1])

    # --- tangles

    def places(self, root: str) -> Sequence[PzpPlacement]:
        """All places in a tangle, those that wait among them, by depth and id."""
        sql = "SELECT id, depth, prev, adds, taken FROM places WHERE root = ? ORDER BY depth, id"
        rows = self._select(sql, (root,))
        try:
            return [
                PzpPlacement(id_, depth, _READ_PREV(prev), adds, bool(taken))
                for id_, depth, prev, adds, taken in rows
            ]
        except msgspec.DecodeError as error:
            raise StoreDamagedError(self._path, f"a place in {root}: {error}") from error

    def take(self, root: str, placed: PzpPlacement) -> None:
        """Replace a place: it was checked, or the key is known that it adds."""
        self._run(
            "UPDATE places SET taken = ?, adds = ? WHERE root = ? AND depth = ? AND id = ?",
            (placed.taken, placed.adds, root, placed.depth, placed.id),
        )

    def bare(self, root: str) -> Mapping[str, PayloadState]:
        """The messages of a tangle, with its root, of which is not here what they say."""
        sql = (
            "SELECT id, said FROM messages WHERE said <> 1 AND id = ? UNION SELECT places.id, said "
            "FROM places JOIN messages USING (id) WHERE said <> 1 AND root = ? AND taken = 1 ORDER BY 1"
        )
        return {id_: PayloadState(said) for id_, said in self._select(sql, (root, root))}

    def tangles(self) -> Sequence[TangleSummary]:
        """Tangles with a root that is here and says it is one, or with messages behind it, by root."""
        found: dict[str, tuple[int, int, int]] = {
            root: (1, 0, number)
            for root, number in self._select("SELECT id, number FROM messages WHERE alone = 1")
        }
        sql = "SELECT root, count(*), max(depth), max(number) FROM places WHERE taken = 1 GROUP BY root"
        for root, count, depth, number in self._select(sql):
            _, _, own = found.get(root, (0, 0, 0))
            found[root] = (count + 1, depth, max(number, own))
        goals = self.goals()
        return [
            TangleSummary(
                root=root, messages=messages, max_depth=depth, last_number=last, goal=goals.get(root)
            )
            for root, (messages, depth, last) in sorted(found.items())
        ]

    # --- goals, and what was deleted

    def goals(self) -> Mapping[str, str]:
        """Goals by root."""
        return dict(self._select("SELECT root, goal FROM goals ORDER BY root"))

    def put_goal(self, root: str, goal: str | None) -> None:
        """Keep the goal of a tangle; None: it has none."""
        if goal is None:
            self._run("DELETE FROM goals WHERE root = ?", (root,))
        else:
            self._run("INSERT OR REPLACE INTO goals VALUES (?, ?)", (root, goal))

    def ghosts(self, root: str) -> Mapping[str, int]:
        """Messages that were deleted from a tangle, with their depths."""
        return dict(self._select("SELECT id, depth FROM ghosts WHERE root = ? ORDER BY id", (root,)))

    def put_ghost(self, root: str, id_: str, depth: int | None) -> None:
        """Remember a message that was deleted; None: forget it."""
        if depth is None:
            self._run("DELETE FROM ghosts WHERE root = ? AND id = ?", (root, id_))
        else:
            self._run("INSERT OR REPLACE INTO ghosts VALUES (?, ?, ?)", (root, id_, depth))

    def drop_ghosts(self, root: str, below: int) -> None:
        """Forget those that are less deep."""
        self._run("DELETE FROM ghosts WHERE root = ? AND depth < ?", (root, below))

    # --- SQLite

    def _count(self, messages: int, size: int) -> None:
        self._grown = (self._grown[0] + messages, self._grown[1] + size)

    def _run(self, sql: str, values: Sequence[_SqlValue] = ()) -> int:
        """Write; returns the number of the row that was added, if one was."""
        try:
            with store_faults(self._path, "writing"):
                return self.connection.execute(sql, values).lastrowid or 0
        except LocalError:
            self._spoiled = True
            raise

    def _select(self, sql: str, values: Sequence[_SqlValue] = ()) -> list[tuple[Any, ...]]:
        with store_faults(self._path, "reading"):
            return self.connection.execute(sql, values).fetchall()

    def _record(self, row: tuple[int, str, int, str | None, str | None, int, int, int, bytes]) -> PzpRecord:
        number, id_, version, owner, kind, said, strict, added_us, text = row
        return PzpRecord(
            number=number, id=id_, version=version, owner=owner, kind=kind, said=PayloadState(said),
            strict=bool(strict), added_us=added_us, text=text,
        )  # fmt: skip


def _place_row(root: str, placed: PzpPlacement, number: int) -> tuple[_SqlValue, ...]:
    prev = _WRITE_PREV(placed.prev).decode()
    return (root, placed.depth, placed.id, number, prev, placed.adds, placed.taken)
