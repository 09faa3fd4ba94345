"""PZP messages that came as content of entries, taken into the database by whoever looks (docs/decisions/0043).

    with closing(Carried.open(folder)) as carried:
        carried.catch_up(database, wall_us=now_us)

What is kept of it, ``pzp-carried.sqlite`` beside the store, follows from the store and may be deleted at any time.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tinyssb_node.codec import bipf
from tinyssb_node.errors import StoreDamagedError, StoreFailedError
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpDatabase
from tinyssb_node.pzp.database.dependencies import (
    MissingDependency,
    is_satisfied,
    missing_dependencies,
)
from tinyssb_node.pzp.database.errors import PzpBusyError
from tinyssb_node.pzp.messages.airform import WORD, parse_air
from tinyssb_node.pzp.messages.errors import AirFormError, MessageError
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.store.entries import entry_layout, read_whole_content
from tinyssb_node.store.port import Store, StoredChunk, StoredEntry
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.sqlite_file import store_faults
from tinyssb_node.store.summary import StoreSummary

CARRIED_FILE: Final = "pzp-carried.sqlite"
"""Name of the file, in a network's folder."""
STORE_FILE: Final = "store.sqlite"
"""Name of the store in the same folder."""
APPLICATION_ID: Final = 0x7A705A43
VERSION: Final = 1
_TABLES: Final = (
    "CREATE TABLE state (arrival INTEGER NOT NULL, packet BLOB NOT NULL, tried TEXT NOT NULL)",
    "INSERT INTO state VALUES (0, x'', '')",
    "CREATE TABLE carried (id TEXT PRIMARY KEY, feed BLOB NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID",
    """CREATE TABLE waiting (feed BLOB NOT NULL, seq INTEGER NOT NULL, root TEXT NOT NULL, id TEXT NOT NULL,
    held INTEGER NOT NULL, PRIMARY KEY (feed, seq, root, id)) WITHOUT ROWID""",
)
_BEGINNING: Final = bipf.encode(WORD)
"""The first bytes of each list that carries a message."""

Place = tuple[bytes, int]
"""Feed and sequence number of an entry."""
Progress = Callable[[int, int], None]
"""Told how many appends were read, of how many."""


@dataclass(slots=True)
class EntryImportResult:
    """Result of catching up with the entries of a store."""

    done: int = 0
    """Appends of the store that were read."""
    new: int = 0
    """Messages that were not in the database, or not whole."""
    refused: int = 0
    """Entries with messages that are wrong."""
    waiting: int = 0
    """Entries with messages that wait for others."""


def _silent(_done: int, _total: int) -> None:
    """Progress that nobody looks at."""


class EntryImporter:
    """Messages carried in the entries of one network's store."""

    def __init__(self, folder: Path, connection: sqlite3.Connection) -> None:
        """Use ``open``."""
        self._store = folder / STORE_FILE
        self._path = folder / CARRIED_FILE
        self._connection = connection

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Open what is kept beside the store in *folder*; what is not there, or damaged, is made anew.

        Raises StoreFailedError and its kin.
        """
        path = folder / CARRIED_FILE
        try:
            return cls(folder, _connect(path))
        except StoreDamagedError:
            path.unlink(missing_ok=True)
            return cls(folder, _connect(path))

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def place_of(self, id_: str) -> tuple[FeedId, int] | None:
        """An entry that carries that message, whole: its feed and sequence number. Raises StoreFailedError."""
        with store_faults(self._path, "reading"):
            sql = "SELECT feed, seq FROM carried WHERE id = ?"
            row = self._connection.execute(sql, (id_,)).fetchone()
        return None if row is None else (FeedId(row[0]), row[1])

    def catch_up(
        self, database: PzpDatabase, *, wall_us: int, progress: Progress = _silent
    ) -> EntryImportResult:
        """Take into *database* what the store has of messages, and try again what waited for something that is here
        now. Others may do so at the same time. Raises StoreFailedError and its kin, PzpBusyError.
        """
        caught = EntryImportResult()
        if not self._is_current(database):
            more = True
            while more:
                # The store as it is now: somebody else may have read on meanwhile.
                with self._writing(), closing(SqliteStore.open_readonly(self._store)) as store:
                    left = _Reading(self._connection, store, database, wall_us, caught).step()
                more = left is not None
                progress(caught.done, caught.done + (left or 0))
        caught.waiting = self.waiting()
        return caught

    def waiting(self) -> int:
        """Return the number of entries with messages that wait for others. Raises StoreFailedError."""
        with store_faults(self._path, "reading"):
            sql = "SELECT count(*) FROM (SELECT DISTINCT feed, seq FROM waiting)"
            (count,) = self._connection.execute(sql).fetchone()
        return int(count)

    def _is_current(self, database: PzpDatabase) -> bool:
        with store_faults(self._path, "reading"):
            arrival, packet, tried = self._connection.execute(
                "SELECT arrival, packet, tried FROM state"
            ).fetchone()
        with closing(StoreSummary(self._store)) as glance:
            same = glance.last_arrival() == arrival and (not arrival or glance.packet(arrival) == packet)
        return same and bool(tried == _stand(database))

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            with store_faults(self._path, "writing"):
                self._connection.execute("BEGIN IMMEDIATE")
        except StoreFailedError as error:
            if getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
                raise PzpBusyError(self._path) from error
            raise
        try:
            with store_faults(self._path, "writing"):
                yield
                self._connection.execute("COMMIT")
        finally:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _connect(path: Path) -> sqlite3.Connection:
    if not path.exists():
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise StoreFailedError(f"{path} cannot be made: {error.strerror}") from error
    with store_faults(path, "opening what came by entries"):
        # Twice as long as the wait for the database, which the other process waits for.
        connection = sqlite3.connect(path, isolation_level=None, timeout=20.0)
        try:
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("BEGIN IMMEDIATE")
            _make(path, connection)
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
    return connection


def _make(path: Path, connection: sqlite3.Connection) -> None:
    """Make the tables if there are none."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not application:
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    elif (application, version) != (APPLICATION_ID, VERSION):
        raise StoreDamagedError(path, "another program's file, or of another version")


def _stand(database: PzpDatabase) -> str:
    """Return the state of the database, as far as a change in it could make a waiting message valid."""
    totals = database.totals()
    return f"{totals.messages} messages, {totals.bytes} bytes"


class _Reading:
    """Reads the appends of a store, one transaction after the other."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        store: Store,
        database: PzpDatabase,
        wall_us: int,
        caught: EntryImportResult,
    ) -> None:
        self._execute: Final = connection.execute
        self._many: Final = connection.executemany
        self._store: Final = store
        self._database: Final = database
        self._wall_us: Final = wall_us
        self._caught: Final = caught
        self._dialects: Final[Mapping[FeedId, Dialect | None]] = {
            record.feed: record.dialect for record in store.feeds()
        }

    def step(self) -> int | None:
        """Read some appends; returns how many are left, or None if there were none."""
        appends = self._store.after(self._begin(), limits.CARRIED_BATCH)
        with self._database.batch():
            for append in appends:
                self._read(append)
            self._try_again()
        # The database is ahead of this file, never behind: what is offered twice is known the second time.
        self._execute("UPDATE state SET tried = ?", (_stand(self._database),))
        if not appends:
            return None
        last = appends[-1]
        self._execute("UPDATE state SET arrival = ?, packet = ?", (last.arrival, last.packet))
        self._caught.done += len(appends)
        return self._store.last_arrival() - last.arrival

    def _begin(self) -> int:
        """From where to read: the beginning, if it is not the store that was read before."""
        arrival, packet = self._execute("SELECT arrival, packet FROM state").fetchone()
        found = self._store.after(arrival - 1, 1) if arrival else []
        if arrival and not (found and found[0].arrival == arrival and found[0].packet == packet):
            for table in ("carried", "waiting"):
                self._execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
            return 0
        return int(arrival)

    def _read(self, append: StoredEntry | StoredChunk) -> None:
        entry = append if isinstance(append, StoredEntry) else self._store.entry(append.feed, append.seq)
        if entry is None:
            return
        layout = entry_layout(entry, self._dialects[entry.feed])
        last = layout.chunks == 0 if isinstance(append, StoredEntry) else append.chunk == layout.chunks - 1
        # A tag of up to 4 bytes, and the word that names what the list is.
        if last and _BEGINNING in layout.head[:8]:
            self._take((entry.feed, entry.seq))

    def _message(self, place: Place) -> dict[str, Json] | None:
        """The message that an entry carries; None if it carries something else. Raises AirFormError."""
        entry = self._store.entry(FeedId(place[0]), place[1])
        if entry is None:
            return None
        layout = entry_layout(entry, self._dialects[entry.feed])
        content = read_whole_content(self._store, entry, layout)
        return None if content is None else parse_air(content)

    def _take(self, place: Place) -> bool:
        """Offer the message of an entry to the database; whether it was taken. It may have to wait."""
        try:
            message = self._message(place)
        except AirFormError:
            self._caught.refused += 1
            return False
        if message is None:
            return False
        try:
            added = self._database.add(message, wall_us=self._wall_us)
        except MessageError as error:
            if not self._wait(place, missing_dependencies(self._database, message, error)):
                self._caught.refused += 1
            return False
        self._caught.new += added.outcome in (PzpAddOutcome.NEW, PzpAddOutcome.FILLED)
        record = self._database.record(added.id)
        # Of what was known already nobody looked at the signature here.
        if record is not None and record.message() == message:
            self._execute("INSERT OR IGNORE INTO carried VALUES (?, ?, ?)", (added.id, *place))
        return True

    def _wait(self, place: Place, lacks: list[MissingDependency]) -> bool:
        sql = "SELECT count(DISTINCT seq) FROM waiting WHERE feed = ?"
        (count,) = self._execute(sql, (place[0],)).fetchone()
        if not lacks or count >= limits.CARRIED_WAITING_MAX:
            return False
        rows = [(*place, lack.root, lack.id, lack.held) for lack in lacks]
        self._many("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?, ?)", rows)
        return True

    def _try_again(self) -> None:
        """Offer again what waited for something that has come, as long as that brings anything."""
        moved = True
        while moved:
            moved = False
            lacks = self._execute("SELECT DISTINCT root, id, held FROM waiting").fetchall()
            come = [lack for lack in lacks if is_satisfied(self._database, MissingDependency(*lack))]
            sql = "SELECT DISTINCT feed, seq FROM waiting WHERE root = ? AND id = ? AND held = ?"
            places = [place for lack in come for place in self._execute(sql, lack)]
            for place in dict.fromkeys(places):
                self._execute("DELETE FROM waiting WHERE feed = ? AND seq = ?", place)
                moved |= self._take(place)
