"""One look at the database per tick, shared by every page that listens.

``Reader`` knows whether anything was committed since it last looked; ``Watcher`` looks while somebody listens and keeps
the newest snapshot only. A page that is slow skips what it had no time for, so nothing ever queues.
"""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from spark_sink import errors, tables
from spark_sink.dashboard import limits, queries
from spark_sink.dashboard.snapshot import Snapshot


class TooManyPagesError(errors.SinkError):
    """The server has as many listening pages as it takes."""

    def __init__(self) -> None:
        super().__init__(
            f"{limits.CLIENTS_MAX} pages are open already, as many as this server takes. "
            "Close one of them, then reload this one."
        )


class Reader:
    """Looks at one database file. Belongs to one thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._seen: tuple[int, int, int] | None = None
        self._snapshot: Snapshot | None = None

    def look(self) -> Snapshot:
        """The snapshot of the database as it is now; the same object as before if nothing was committed since.

        A file that is missing, foreign, newer or broken gives a snapshot that says so.
        """
        try:
            db, seen = self._current()
            if self._snapshot is None or seen != self._seen:
                self._snapshot, self._seen = queries.snapshot(db), seen
        except errors.NoDatabaseError as error:
            self._snapshot = self._failed(Snapshot(state="missing", message=str(error)))
        except errors.SinkError as error:
            self._snapshot = self._failed(Snapshot(state="unreadable", message=str(error)))
        except (sqlite3.Error, OSError) as error:
            self._snapshot = self._failed(Snapshot(state="unreadable", message=self._explain(error)))
        return self._snapshot

    def close(self) -> None:
        """Let go of the file."""
        if self._db is not None:
            self._db.close()
        self._db = self._seen = None

    def _current(self) -> tuple[sqlite3.Connection, tuple[int, int, int]]:
        """The connection, and what changes when the file is replaced or anything is committed to it."""
        if not self._path.exists():
            raise errors.NoDatabaseError(self._path)
        place = self._path.stat()
        if self._seen is not None and self._seen[:2] != (place.st_dev, place.st_ino):
            self.close()
        if self._db is None:
            self._db = tables.open_for_reading(self._path)
        (version,) = self._db.execute("PRAGMA data_version").fetchone()
        return self._db, (place.st_dev, place.st_ino, version)

    def _failed(self, failure: Snapshot) -> Snapshot:
        self.close()
        return self._snapshot if failure == self._snapshot else failure

    def _explain(self, error: Exception) -> str:
        if "no such table" in str(error) or "no such column" in str(error):
            return (
                f"{self._path} was made by an older tinyssb-sink ({error}); it was left as it is. "
                "Name a new file with --db and fill it with: tinyssb-sink backfill LOGS --db FILE"
            )
        return f"{self._path} cannot be read ({error}); it was left as it is. The page tries again by itself."


class Watcher:
    """Keeps the newest snapshot, and wakes the pages when there is another."""

    def __init__(
        self, path: Path, *, tick_s: float = limits.TICK_S, heartbeat_s: float = limits.HEARTBEAT_S
    ) -> None:
        self._reader = Reader(path)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="serving-database")
        self._tick_s = tick_s
        self._heartbeat_s = heartbeat_s
        self._looking = asyncio.Lock()
        self._snapshot: Snapshot | None = None
        self._payload = b""
        self._number = 0
        self._news = asyncio.Event()
        self._listeners = 0
        self._closed = asyncio.Event()

    @property
    def listeners(self) -> int:
        """Pages that listen now."""
        return self._listeners

    async def look(self) -> tuple[Snapshot, bytes]:
        """Look at the database now: the snapshot and its JSON."""
        async with self._looking:
            snapshot = await asyncio.get_running_loop().run_in_executor(self._thread, self._reader.look)
            if snapshot is not self._snapshot:
                self._keep(snapshot)
            return snapshot, self._payload

    def _keep(self, snapshot: Snapshot) -> None:
        payload = snapshot.serialize()
        self._snapshot = snapshot
        if payload != self._payload:
            self._payload = payload
            self._number += 1
            self._news.set()
            self._news = asyncio.Event()

    async def run(self) -> None:
        """Look once a tick while anybody listens, until closed."""
        while not self._closed.is_set():
            if self._listeners:
                await self.look()
            await _wait(self._closed, self._tick_s)

    async def listen(self) -> AsyncGenerator[bytes | None]:
        """The newest snapshot's JSON, again each time it changes, None for a sign of life; ends when closed.

        Raises TooManyPagesError if there are ``limits.CLIENTS_MAX`` listeners.
        """
        if self._listeners >= limits.CLIENTS_MAX:
            raise TooManyPagesError
        self._listeners += 1
        try:
            await self.look()
            sent = 0
            while not self._closed.is_set():
                if sent != self._number:
                    sent = self._number
                    yield self._payload
                else:
                    news = self._news
                    if not await _wait(news, self._heartbeat_s):
                        yield None
        finally:
            self._listeners -= 1

    def stop(self) -> None:
        """End all listening."""
        self._closed.set()
        self._news.set()

    async def close(self) -> None:
        """End all listening and let go of the database."""
        self.stop()
        async with self._looking:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._reader.close)
        self._thread.shutdown()


async def _wait(event: asyncio.Event, timeout_s: float) -> bool:
    """Whether the event was set within the time."""
    try:
        await asyncio.wait_for(event.wait(), timeout_s)
    except TimeoutError:
        return False
    return True
