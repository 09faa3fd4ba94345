"""The catalog: what may be asked of what people said, and bringing it up to date first.

    with Catalog.open(home, folder) as catalog:
        catalog.catch_up()
        rows = catalog.messages(PUBLIC)

Light on purpose: what is needed to read the store, and to open sealed messages, is loaded only if something is new.
For one thread at a time.
"""

import os
import sqlite3
from collections.abc import Callable
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
from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.catalog.schema import CatalogFileState
from tinyssb_node.catalog.sqlite_queries import SqliteCatalogQueries
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.store.summary import StoreSummary

if TYPE_CHECKING:
    from tinyssb_node.content.private import SealKey

IDENTITY_FILE: Final = "identity"
"""Name of the secret key's file in the home folder."""
STORE_FILE: Final = "store.sqlite"
"""Name of a network's store in its folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogUpdate:
    """What came of bringing the catalog up to date."""

    done: int
    """Appends of the store that were read."""
    behind: int
    """Appends that are not in the catalog yet; 0 unless it was stopped."""
    rebuilt: str | None
    """Why the catalog was made anew, as part of a sentence; None: it was not."""
    stopped: str | None
    """Why it could not be brought up to date, as part of a sentence; None: it was."""


def _silent(done: int, total: int) -> None:
    """Progress that nobody looks at."""


class Catalog(SqliteCatalogQueries):
    """An index of what one network's entries mean: the ``Questions``, and catching up with the store."""

    def __init__(self, home: Path, folder: Path, glance: StoreSummary) -> None:
        """Use ``open``."""
        self._home = home
        self._folder = folder
        self._glance = glance
        self._path = folder / schema.CATALOG_FILE
        self._rebuilt: str | None = None
        self._stopped: str | None = None
        """Why the file cannot be written; None: it can."""
        connection = self._connect()
        super().__init__(self._path, connection, ContactBook(home, glance))

    @classmethod
    def open(cls, home: Path, folder: Path) -> Self:
        """Open the catalog of the store in *folder*; identity and contacts are in *home*.

        One that is not there, is damaged or of another version is made anew. Raises CatalogFailedError, and for the
        store StoreFailedError, StoreDamagedError, StoreTooNewError.
        """
        with ExitStack() as undo:
            glance = StoreSummary(folder / STORE_FILE)
            undo.callback(glance.close)
            catalog = cls(home, folder, glance)
            undo.pop_all()
            return catalog

    def close(self) -> None:
        """Let go of the files."""
        self._connection.close()
        self._glance.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def behind(self) -> int:
        """How many appends of the store are not in the catalog. Raises CatalogFailedError, StoreFailedError."""
        arrival, _, _ = self._state()
        return max(0, self._glance.last_arrival() - arrival)

    def catch_up(self, progress: Callable[[int, int], None] = _silent) -> CatalogUpdate:
        """Read what the store has and the catalog has not; *progress* is told how many appends were read, of how many.

        Others may do so at the same time. What cannot be done is said in the answer, and what is there can be read.
        Raises CatalogFailedError, StoreFailedError and others for the store.
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

    def forked(self) -> dict[FeedId, int]:
        """The forked feeds, and at which entry each is. Raises StoreDamagedError, StoreFailedError."""
        return self._glance.forked()

    def content(self, id_: MessageId) -> bytes | None:
        """The whole content of a message, opened if it was sealed for us; None if not all of it is here.

        Raises CatalogFailedError, StoreFailedError and others for the store.
        """
        from tinyssb_node.content import chat  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.content.private import unseal  # noqa: PLC0415 - lazy, see above

        row = self.message(id_)
        content = None if row is None else self._stored_content(row)
        if row is None or content is None or not row.private:
            return content
        sealed, key = chat.parse(content), self._key()
        return unseal(sealed, key) if isinstance(sealed, chat.SealedMessage) and key is not None else None

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
        """Wait for whoever else is at it, as long as that gets anywhere; then read the rest, and return how much."""
        while True:
            behind = self.behind()
            try:
                return self._catch_up(progress)
            except CatalogBusyError:
                if self.behind() >= behind:
                    raise

    def _catch_up(self, progress: Callable[[int, int], None]) -> int:
        """Returns how many appends were read."""
        arrival, packet, reader = self._state()
        last = self._glance.last_arrival()
        fits = arrival <= last and (not arrival or self._glance.packet(arrival) == packet)
        if fits and (arrival == last or self._stopped is not None):
            return 0
        if not fits:
            if self._stopped is not None:
                raise CatalogFailedError(self._path, f"it is of another store, and {self._stopped}")
            self._make_anew(
                "it was of another store, or the store was put back from a backup", arrival, packet
            )
        key = self._key()
        mine = b"" if key is None else bytes(key.feed_id)
        if arrival and fits and reader and not mine:
            raise CatalogReadOnlyError(
                self._path, "the node's key, which opened what was sealed, cannot be used"
            )
        if arrival and fits and reader != mine:
            self._make_anew("it was made with another key, or without one", arrival, packet)
        return self._read(mine, key, progress)

    def _read(self, mine: bytes, key: "SealKey | None", progress: Callable[[int, int], None]) -> int:
        """Read what is new in the store."""
        from tinyssb_node.catalog.catch_up import catch_up  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.sqlite import SqliteStore  # noqa: PLC0415 - who only reads does without it

        with schema.writing(self._connection, self._path):
            self._connection.execute("UPDATE state SET reader = ? WHERE arrival = 0", (mine,))
        store = SqliteStore.open_readonly(self._folder / STORE_FILE)
        try:
            return catch_up(self._connection, self._path, store, key, progress)
        finally:
            store.close()

    def _key(self) -> "SealKey | None":
        """What opens messages sealed for this node; None if its identity cannot be used."""
        from tinyssb_node.content.private import SealKey  # noqa: PLC0415 - lazy, see above
        from tinyssb_node.store.unlock import open_identity  # noqa: PLC0415 - who only reads does without it

        try:
            return SealKey(open_identity(self._home / IDENTITY_FILE, os.environ).seed)
        except (LocalError, OSError):
            # The chat of others can be read all the same; whoever needs the key is told why it cannot be used.
            return None

    def _state(self) -> tuple[int, bytes, bytes]:
        """The store's last append that is in the catalog, its packet, and whose key was there."""
        with schema.catalog_faults(self._path):
            row = self._connection.execute("SELECT arrival, packet, reader FROM state").fetchone()
        if row is None:
            raise CatalogDamagedError(self._path, "it does not say how far it is")
        return row[0], row[1], row[2]

    # --- opening, and making anew

    def _connect(self) -> sqlite3.Connection:
        """Open the file, put right what can be; a catalog in memory if there is neither one nor a place for it."""
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
                found = schema.inspect_catalog(connection)
            if found is CatalogFileState.FOREIGN:
                raise CatalogDamagedError(self._path, "it is another program's database")
            if found is not CatalogFileState.CURRENT:
                with schema.writing(connection, self._path):
                    if schema.inspect_catalog(connection) is not CatalogFileState.CURRENT:
                        schema.create_tables(connection)
                if found is CatalogFileState.OTHER:
                    self._rebuilt = "it was of another version"
            undo.pop_all()
            return connection

    def _connect_reading(self) -> sqlite3.Connection:
        """Open what cannot be written; what cannot be read either is made anew in memory."""
        with ExitStack() as undo:
            try:
                connection = schema.connect(self._path, readonly=True)
                undo.callback(connection.close)
                with schema.catalog_faults(self._path):
                    if schema.inspect_catalog(connection) is CatalogFileState.CURRENT:
                        undo.pop_all()
                        return connection
            except CatalogFailedError:
                # Said already: the file could not be opened for writing either.
                pass
        return self._connect_memory()

    def _connect_memory(self) -> sqlite3.Connection:
        """A catalog for this process, made of nothing yet."""
        self._rebuilt = f"it cannot be kept ({self._stopped})"
        self._stopped = None
        connection = schema.connect_memory()
        with schema.writing(connection, self._path):
            schema.create_tables(connection)
        return connection

    def _repair(self, error: CatalogDamagedError) -> None:
        """Make a damaged catalog anew, in memory if its file cannot be written. Raises CatalogFailedError."""
        self._rebuilt = f"it was damaged ({error.reason})"
        try:
            with schema.writing(self._connection, self._path):
                schema.create_tables(self._connection)
        except CatalogFailedError as second:
            self._connection.close()
            self._connection = self._connect_instead(second)
        self._catch_up(_silent)

    def _connect_instead(self, error: CatalogFailedError) -> sqlite3.Connection:
        """Another file in the place of one that could not even be emptied."""
        try:
            if isinstance(error, CatalogDamagedError):
                schema.remove_damaged(self._path)
                return self._connect_writing()
        except CatalogFailedError as second:
            error = second
        self._stopped = error.reason
        return self._connect_memory()

    def _make_anew(self, reason: str, arrival: int, packet: bytes) -> None:
        """Empty the catalog, unless somebody else did so since it was at *arrival*."""
        with schema.writing(self._connection, self._path):
            now = self._connection.execute("SELECT arrival, packet FROM state").fetchone()
            if now == (arrival, packet):
                schema.create_tables(self._connection)
        self._rebuilt = reason
