"""The job: merges what tasks make of batches into the database, and keeps derived tables fresh beside it.

Batches come from logs (`log_stream`) or from a bronze (`spark_stream`); all that follows is the same.
"""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TypeAlias

import pyarrow as pa

from spark_sink import limits
from spark_sink.errors import SinkError
from spark_sink.executors import Executors
from spark_sink.partials.combine import SCHEMAS, combine
from spark_sink.planner import Planner
from spark_sink.refresh import Refresh
from spark_sink.serving.database import Database
from spark_sink.serving.merge import MicroBatch, merge
from spark_sink.serving.names import NameNumbers
from spark_sink.settings import Settings
from spark_sink.stream_offset import StreamOffset, gaps, parse_offset_text, serialize_offset_text

Parts: TypeAlias = list[tuple[str, pa.Table]]
"""Tables that the tasks of a batch handed out, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadBatch:
    """A batch of which the tasks are done."""

    query: str
    """The stream that it is of."""
    number: int
    """Counts the batches of the stream, from 0."""
    parts: Parts
    place: StreamOffset
    """Records that are counted with it."""
    oddities: pa.Table | None
    """Files that are not counted; None: as before."""
    begin_ns: int
    """When reading it began, by `time.perf_counter_ns`."""
    bytes: int
    behind_bytes: int
    """Bytes that are still to be read."""


class Job:
    """One database that is filled: merge of batches, and refresh."""

    def __init__(self, settings: Settings, database: Database, executors: Executors | None = None) -> None:
        """*executors* derive hours where there are many. Raises DatabaseFailedError."""
        self._database = database
        self.lock = threading.Lock()
        """Held while the database is used."""
        self.refresh = Refresh(
            database, self.lock, keep_days=settings.keep_days, executors=executors, name=settings.database
        )
        self._names = NameNumbers(database)
        self._stream = 0

    def begin(self) -> tuple[int, StreamOffset]:
        """Begin a stream of batches: returns its number, and the records that the database counts, where it has to go
        on. A stream that was begun before can add nothing any more. Raises DatabaseFailedError."""
        with self.lock:
            self._stream += 1
            rows = self._database.rows("SELECT offsets FROM batches")
            return self._stream, parse_offset_text(str(rows[0][0])) if rows else {}

    def add(self, stream: int, batch: ReadBatch) -> None:
        """Merge a batch of the stream that was begun last. Raises SinkError, DatabaseFailedError."""
        tables = combine((part, table) for part, table in batch.parts if part in SCHEMAS)
        micro_batch = MicroBatch(
            query=batch.query,
            batch_id=batch.number,
            parts={name: table for name, table in tables.items() if name != "bad_lines"},
            bad_lines=tables.get("bad_lines"),
            gaps=pa.Table.from_pylist([asdict(gap) for gap in gaps(batch.place)], SCHEMAS["gaps"]),
            oddities=batch.oddities,
            offsets=serialize_offset_text(batch.place),
            now_us=time.time_ns() // 1_000,
            read_us=(time.perf_counter_ns() - batch.begin_ns) // 1_000,
            bytes=batch.bytes,
            behind_bytes=batch.behind_bytes,
        )
        with self.lock:
            if stream != self._stream:
                raise SinkError(
                    "A stream that has been replaced came with one more batch; nothing was added."
                )
            merge(self._database, self._names, micro_batch)


class ReadDiagnostics:
    """Files that were not counted, and the bytes still to be read; updated every few seconds."""

    def __init__(self, planner: Planner) -> None:
        """*planner* has listed the files."""
        self._planner = planner
        self._due_ns = 0
        self._listed_bytes = 0
        self.oddities: pa.Table | None = None
        self.behind_bytes = 0

    def __str__(self) -> str:
        """Say how much has been read."""
        total = self._listed_bytes
        read = total - self.behind_bytes
        return f"{read / 2**20:8.1f} of {total / 2**20:.1f} MB read, {100 * read // max(total, 1):3d} %"

    def look(self, place: StreamOffset, read_bytes: int) -> None:
        """Update for the offset *place*; *read_bytes* more were read up to it. Raises OSError."""
        self.oddities = None
        if time.monotonic_ns() < self._due_ns:
            self.behind_bytes = max(0, self.behind_bytes - read_bytes)
            return
        self.oddities = pa.Table.from_pylist(
            [asdict(odd) for odd in self._planner.oddities(place)], SCHEMAS["oddities"]
        )
        self.behind_bytes = self._planner.bytes_behind(place)
        self._listed_bytes = self._planner.bytes_listed()
        self._due_ns = time.monotonic_ns() + 5 * 10**9  # it looks at all files


class RefreshThread(threading.Thread):
    """Keeps derived tables fresh while logs are written."""

    def __init__(self, refresh: Refresh, failed: Callable[[], object]) -> None:
        """*failed* is called if it has to end."""
        super().__init__(name="refresh", daemon=True)
        self._refresh = refresh
        self._failed = failed
        self._stopped = threading.Event()
        self.error: Exception | None = None
        """Error that ended it, if any."""

    def run(self) -> None:
        """Run passes, with rests between that leave most of the time to reading."""
        sys.setswitchinterval(limits.THREAD_SWITCH_S)
        try:
            rest_s = 0.0
            while not self._stopped.wait(rest_s):
                begin_s = time.monotonic()
                self._refresh.run_pass()
                spent_s = time.monotonic() - begin_s
                rest_s = max(1.0, spent_s / limits.REFRESH_SHARE - spent_s)
        except Exception as error:  # noqa: BLE001 - whatever it is: reading must not go on beside tables that are no longer updated
            self.error = error
            self._failed()

    def stop(self) -> None:
        """End after the pass that is under way."""
        self._stopped.set()
        self.join()
