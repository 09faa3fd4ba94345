"""The catalog: an index of what entries mean, its queries, and bringing it up to date first.

    with Catalog.open(home, folder) as catalog:
        catalog.catch_up()
        rows = catalog.messages(PUBLIC)

It imports little: the code that reads the store, and opens sealed messages, is loaded only if there are new entries.
A catalog may be used by one thread at a time.
"""

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from tinyssb_node.catalog import schema
from tinyssb_node.catalog.errors import (
    CatalogBusyError,
    CatalogDamagedError,
    CatalogFailedError,
    CatalogFullError,
    CatalogReadOnlyError,
)
from tinyssb_node.catalog.people import ContactBook
from tinyssb_node.catalog.rows import PUBLIC, ArrivingRow, MessageRow, SealedRow
from tinyssb_node.catalog.schema import CatalogFileState
from tinyssb_node.catalog.sqlite_queries import SqliteCatalogQueries
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.limits import SEQ_MAX
from tinyssb_node.store.summary import StoreSummary

if TYPE_CHECKING:
    from tinyssb_node.content.private import SealKey

IDENTITY_FILE: Final = "identity"
"""Name of the secret key's file in the home folder."""
STORE_FILE: Final = "store.sqlite"
"""Name of a network's store in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogUpdate:
    """The result of bringing the catalog up to date."""

    done: int
    """Appends of the store that were read."""
    behind: int
    """Appends that are not in the catalog yet; 0 unless it was stopped."""
    rebuilt: str | None
    """Why the catalog was rebuilt, as part of a sentence; None: it was not."""
    stopped: str | None
    """Why it could not be brought up to date, as part of a sentence; None: it was."""


def _silent(done: int, total: int) -> None:
    """Ignore the progress."""


class Catalog(SqliteCatalogQueries):
    """An index of what one network's entries mean: its queries, and catching up with the store."""

    def __init__(self, home: Path, folder: Path, summary: StoreSummary) -> None:
        """Use ``open``."""
        self._home = home
        self._folder = folder
        self._summary = summary
        self._path = folder / schema.CATALOG_FILE
        self._rebuilt: str | None = None
        self._stopped: str | None = None
        """Why the file cannot be written; None: it can."""
        connection = self._connect()
        super().__init__(self._path, connection, ContactBook(home, summary))

    @classmethod
    def open(cls, home: Path, folder: Path) -> Self:
        """Open the catalog of the store in *folder*; identity and contacts are in *home*.

        A missing or damaged catalog, or one of another version, is rebuilt. Raises CatalogFailedError, and for the
        store StoreFailedError, StoreDamagedError, StoreTooNewError.
        """
        with ExitStack() as undo:
            summary = StoreSummary(folder / STORE_FILE)
            undo.callback(summary.close)
            catalog = cls(home, folder, summary)
            undo.pop_all()
            return catalog

    @property
    def folder(self) -> Path:
        """The folder of the store."""
        return self._folder

    def close(self) -> None:
        """Close the files."""
        self._connection.close()
        self._summary.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def behind(self) -> int:
        """Return how many appends of the store are not in the catalog. Raises CatalogFailedError, StoreFailedError."""
        arrival, _, _ = self._state()
        return max(0, self._summary.last_arrival() - arrival)

    def catch_up(self, progress: Callable[[int, int], None] = _silent) -> CatalogUpdate:
        """Read the new appends of the store; *progress* gets the number of appends read, and of all.

        Other processes may do so concurrently. If it is not possible, the result says why, and the existing rows can be
        queried. Raises CatalogFailedError, StoreFailedError and others for the store.
        """
        try:
            done = self._catch_up_patiently(progress)
        except CatalogDamagedError as error:
            self._repair(error)
            done = self._state()[0]
        except (CatalogBusyError, CatalogFullError, CatalogReadOnlyError) as error:
            return CatalogUpdate(done=0, behind=self.behind(), rebuilt=self._rebuilt, stopped=error.reason)
        rebuilt, self._rebuilt = self._rebuilt, None
        behind = self.behind() if self._stopped is not None else 0
        return CatalogUpdate(
            done=done, behind=behind, rebuilt=rebuilt, stopped=self._stopped if behind else None
        )

    def waiting(self, conversation: str, limit: int = 50) -> Sequence[MessageRow]:
        """Return messages that are not placed, the latest first: the newest ones of feeds followed newest first, and
        those that wait for predecessors. Raises CatalogFailedError, StoreFailedError and others for the store."""
        newest = self._newest(conversation)[:limit] if self._summary.has_newest_entries() else []
        return [*newest, *super().waiting(conversation, limit - len(newest))]

    def _newest(self, conversation: str) -> list[MessageRow]:
        from tinyssb_node.catalog.newest import newest_messages  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.content.chat import PUBLIC_ROOT  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.sqlite import SqliteStore  # noqa: PLC0415 - lazy, see above

        root = PUBLIC_ROOT if conversation == PUBLIC else self._root(conversation)
        blocked = {person.feed for person in self.people() if person.blocked}
        store = SqliteStore.open_readonly(self._folder / STORE_FILE)
        try:
            found = [*newest_messages(store, self._key(), root, conversation)]
        finally:
            store.close()
        shown = [row for row in found if row.feed not in blocked]
        return sorted(shown, key=lambda row: (row.committed_us, row.seq), reverse=True)

    def arriving(self, limit: int = 5) -> Sequence[ArrivingRow]:
        """Return the latest messages and files of others of which packets are missing. Raises CatalogFailedError,
        StoreFailedError and others for the store."""
        found = self._incomplete(limit)
        if not found:
            return []
        from tinyssb_node.catalog.arriving import arriving_rows  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.sqlite import SqliteStore  # noqa: PLC0415 - lazy, see above

        store = SqliteStore.open_readonly(self._folder / STORE_FILE)
        try:
            return list(arriving_rows(store, found))
        finally:
            store.close()

    def sealed(
        self, after: int, again: Sequence[int] = (), *, limit: int, size_max: int
    ) -> Sequence[SealedRow]:
        """Return entries that may be private messages of at most *size_max* bytes, unopened: the first *limit* that
        arrived after the number *after*, and those with the numbers *again*. Raises CatalogFailedError,
        StoreFailedError and others for the store."""
        from tinyssb_node.catalog.sealed import sealed_rows  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.sqlite import SqliteStore  # noqa: PLC0415 - lazy, see above

        store = SqliteStore.open_readonly(self._folder / STORE_FILE)
        try:
            with schema.reading(self._connection, self._path):
                return list(
                    sealed_rows(self._connection, store, after, again, limit=limit, size_max=size_max)
                )
        finally:
            store.close()

    def forked(self) -> dict[FeedId, int]:
        """Return the forked feeds, and the entry at which each is forked. Raises StoreDamagedError,
        StoreFailedError."""
        return self._summary.forked()

    def content(self, id_: MessageId) -> bytes | None:
        """Return the whole content of a message, opened if it was sealed for us; None if part of it is missing.

        Raises CatalogFailedError, StoreFailedError and others for the store.
        """
        from tinyssb_node.content import chat  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.content.pair_box import open_text  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.content.private import unseal  # noqa: PLC0415 - lazy, see above

        row = self.message(id_)
        content = None if row is None else self._stored_content(row)
        if row is None or content is None or not row.private:
            return content
        sealed, key = chat.parse(content), self._key()
        if not isinstance(sealed, chat.SealedMessage) or key is None:
            return None
        short = open_text(sealed.box, key, row.feed)
        return unseal(sealed, key) if short is None else chat.serialize(short)

    def dialect(self, feed: FeedId) -> Dialect | None:
        """Return the dialect of *feed*; None: it has no entry here. Raises StoreDamagedError, StoreFailedError."""
        return self._summary.dialect(feed)

    def last_time_us(self, feed: FeedId) -> int | None:
        """Return the time of the last public entry of *feed* that states one; microseconds since 1970. None: there is
        none. Raises CatalogFailedError."""
        from tinyssb_node.catalog.time_resolution import last_time_us  # noqa: PLC0415 - lazy, see above

        with schema.catalog_faults(self._path):
            row = self._connection.execute(
                "SELECT number FROM people WHERE feed = ?", (bytes(feed),)
            ).fetchone()
            return None if row is None else last_time_us(self._connection, row[0], SEQ_MAX + 1)

    def seal_key(self) -> "SealKey | None":
        """Return the key for the private messages of this node; None if its identity cannot be used."""
        return self._key()

    def _stored_content(self, row: MessageRow) -> bytes | None:
        """Return the content of *row* as it is in the store; None if part of it is missing."""
        from tinyssb_node.store.entries import entry_layout, read_whole_content  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.sqlite import SqliteStore  # noqa: PLC0415 - lazy, see above

        store = SqliteStore.open_readonly(self._folder / STORE_FILE)
        try:
            entry = store.entry(row.feed, row.seq)
            if entry is None or entry.id != row.id:
                return None
            dialect = next(record.dialect for record in store.feeds() if record.feed == row.feed)
            return read_whole_content(store, entry, entry_layout(entry, dialect))
        finally:
            store.close()

    def _catch_up_patiently(self, progress: Callable[[int, int], None]) -> int:
        """Wait for another process that is catching up, as long as it makes progress; then read the rest, and return
        its number."""
        while True:
            behind = self.behind()
            try:
                return self._catch_up(progress)
            except CatalogBusyError:
                if self.behind() >= behind:
                    raise

    def _catch_up(self, progress: Callable[[int, int], None]) -> int:
        arrival, packet, reader = self._state()
        last = self._summary.last_arrival()
        fits = not arrival or (arrival <= self._summary.given_arrival() and self._is_there(arrival, packet))
        if fits and (self._stopped is not None or (arrival >= last and not self._has_deleted())):
            return 0
        if not fits:
            if self._stopped is not None:
                raise CatalogFailedError(self._path, f"it belongs to another store, and {self._stopped}")
            self._rebuild("it was of another store, or the store was restored from a backup", arrival, packet)
        key = self._key()
        mine = b"" if key is None else bytes(key.feed_id)
        if arrival and fits and reader and not mine:
            raise CatalogReadOnlyError(
                self._path, "the node's key, which opened what was sealed, cannot be used"
            )
        if arrival and fits and reader != mine:
            self._rebuild("it was made with another key, or without one", arrival, packet)
        return self._read(mine, key, progress)

    def _read(self, mine: bytes, key: "SealKey | None", progress: Callable[[int, int], None]) -> int:
        from tinyssb_node.catalog.catch_up import catch_up  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.sqlite import SqliteStore  # noqa: PLC0415 - reading alone does without it

        self._note_reader(mine)
        store = SqliteStore.open_readonly(self._folder / STORE_FILE)
        try:
            return catch_up(self._connection, self._path, store, key, progress)
        finally:
            store.close()

    def _is_there(self, arrival: int, packet: bytes) -> bool:
        """Return True if the store has *packet* with that arrival number; or has deleted it, and still has the last one
        that nobody made room with. Raises CatalogFailedError, StoreFailedError and others for the store."""
        there = self._summary.packet(arrival)
        if there is not None:
            return there == packet
        with schema.catalog_faults(self._path):
            sql = "SELECT kept_arrival, kept_packet FROM state"
            kept_arrival, kept_packet = self._connection.execute(sql).fetchone()
        return bool(kept_arrival) and self._summary.packet(kept_arrival) == kept_packet

    def _has_deleted(self) -> bool:
        """Return True if the store has fewer entries than the catalog has read. Raises CatalogFailedError,
        StoreFailedError and others for the store."""
        with schema.catalog_faults(self._path):
            (read,) = self._connection.execute("SELECT coalesce(sum(entries), 0) FROM people").fetchone()
        return self._summary.entries() < int(read)

    def _note_reader(self, mine: bytes) -> None:
        """Note in an empty catalog whose key opens what is sealed."""
        with schema.writing(self._connection, self._path):
            self._connection.execute("UPDATE state SET reader = ? WHERE arrival = 0", (mine,))

    def _key(self) -> "SealKey | None":
        """Return the key that opens messages sealed for this node; None if its identity cannot be used."""
        from tinyssb_node.content.private import SealKey  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.unlock import open_identity  # noqa: PLC0415 - reading alone does without it

        try:
            return SealKey(open_identity(self._home / IDENTITY_FILE, os.environ).seed)
        except (LocalError, OSError):
            # Public messages can be read all the same; commands that need the key report why it cannot be used.
            return None

    def _state(self) -> tuple[int, bytes, bytes]:
        """Return the store's last append that is in the catalog, its packet, and the feed id of the key used."""
        with schema.catalog_faults(self._path):
            row = self._connection.execute("SELECT arrival, packet, reader FROM state").fetchone()
        if row is None:
            raise CatalogDamagedError(self._path, "it does not record how far it was read")
        return row[0], row[1], row[2]

    # --- opening, and making anew

    def _connect(self) -> sqlite3.Connection:
        """Open the file, repaired if necessary; a catalog in memory if the file can neither be read nor made."""
        try:
            return self._connect_writing()
        except CatalogDamagedError as error:
            try:
                schema.remove_damaged(self._path)
                self._rebuilt = f"it was damaged ({error.reason})"
                return self._connect_writing()
            except (CatalogFullError, CatalogReadOnlyError) as second:
                self._stopped = second.reason
        except (CatalogBusyError, CatalogFullError, CatalogReadOnlyError) as error:
            self._stopped = error.reason
        return self._connect_reading()

    def _connect_writing(self) -> sqlite3.Connection:
        with ExitStack() as undo:
            connection = schema.connect(self._path)
            undo.callback(connection.close)
            with schema.catalog_faults(self._path):
                state = schema.inspect_catalog(connection)
            if state is CatalogFileState.FOREIGN:
                raise CatalogDamagedError(self._path, "it is another program's database")
            if state is not CatalogFileState.CURRENT:
                with schema.writing(connection, self._path):
                    if schema.inspect_catalog(connection) is not CatalogFileState.CURRENT:
                        schema.create_tables(connection)
                if state is CatalogFileState.OTHER:
                    self._rebuilt = "it was of another version"
            undo.pop_all()
            return connection

    def _connect_reading(self) -> sqlite3.Connection:
        """Open a file that cannot be written; if it cannot be read either, rebuild it in memory."""
        with ExitStack() as undo:
            try:
                connection = schema.connect(self._path, readonly=True)
                undo.callback(connection.close)
                with schema.catalog_faults(self._path):
                    if schema.inspect_catalog(connection) is CatalogFileState.CURRENT:
                        undo.pop_all()
                        return connection
            except CatalogFailedError:
                # Already reported: the file could not be opened for writing either.
                pass
        return self._connect_memory()

    def _connect_memory(self) -> sqlite3.Connection:
        """Open an empty catalog for this process alone."""
        self._rebuilt = f"it cannot be kept ({self._stopped})"
        self._stopped = None
        connection = schema.connect_memory()
        with schema.writing(connection, self._path):
            schema.create_tables(connection)
        return connection

    def _repair(self, error: CatalogDamagedError) -> None:
        """Rebuild a damaged catalog, in memory if its file cannot be written. Raises CatalogFailedError."""
        self._rebuilt = f"it was damaged ({error.reason})"
        try:
            with schema.writing(self._connection, self._path):
                schema.create_tables(self._connection)
        except CatalogFailedError as second:
            self._connection.close()
            self._connection = self._connect_instead(second)
        self._catch_up(_silent)

    def _connect_instead(self, error: CatalogFailedError) -> sqlite3.Connection:
        """Open another file in the place of one that could not even be emptied."""
        try:
            if isinstance(error, CatalogDamagedError):
                schema.remove_damaged(self._path)
                return self._connect_writing()
        except CatalogFailedError as second:
            error = second
        self._stopped = error.reason
        return self._connect_memory()

    def _rebuild(self, reason: str, arrival: int, packet: bytes) -> None:
        """Empty the catalog, unless another process did so since it was at *arrival*."""
        with schema.writing(self._connection, self._path):
            now = self._connection.execute("SELECT arrival, packet FROM state").fetchone()
            if now == (arrival, packet):
                schema.create_tables(self._connection)
        self._rebuilt = reason
