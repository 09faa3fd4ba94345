"""The stream: wires source, merge and refresh together, and nothing else."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

import pyarrow as pa

from spark_sink import limits
from spark_sink.bronze.footer import count_pieces
from spark_sink.bronze.stream import CountedFiles, known_records, read_stream
from spark_sink.checkpoint import Checkpoint
from spark_sink.errors import SinkError
from spark_sink.executors import Executors
from spark_sink.log_files import open_files
from spark_sink.partials.combine import SCHEMAS, combine
from spark_sink.planner import Planner
from spark_sink.refresh import Refresh
from spark_sink.serving.address import shown
from spark_sink.serving.database import Database
from spark_sink.serving.merge import MicroBatch, merge, missing_records
from spark_sink.serving.names import NameNumbers
from spark_sink.settings import Settings
from spark_sink.source import bytes_of, missing_of, unpacked
from spark_sink.stream_offset import (
    StreamOffset,
    gaps,
    parse_missing,
    parse_offset,
    serialize_offset,
    still_counted,
    without,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

PackedParts: TypeAlias = list[tuple[str, pa.Table]]
"""Tables that the tasks of a batch handed out, by name."""


class Job:
    """One stream into one database: source, merge of micro-batches, and refresh."""

    def __init__(
        self,
        session: "SparkSession",
        settings: Settings,
        database: Database,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        """*tell* is called with what users should know. Raises DatabaseFailedError, SinkError, NoLogsFolderError."""
        self._session = session
        self._settings = settings
        self._database = database
        self._checkpoint = Checkpoint(session, settings.checkpoint)
        self._check_checkpoint()
        self.lock = threading.Lock()
        """Held while the database is used."""
        executors = Executors(session, settings.database, tell)
        self.refresh = Refresh(
            database,
            self.lock,
            keep_days=settings.keep_days,
            executors=executors if executors.reach_database else None,
        )
        self._names = NameNumbers(database)
        self._input: JobInput = (
            BronzeInput(settings, database) if settings.is_bronze else LogInput(settings, database)
        )

    def _check_checkpoint(self) -> None:
        """Check that the database was filled from this checkpoint: with another, records would be counted again, or
        never. And that this is a checkpoint of logs, or of a bronze."""
        rows = self._database.rows("SELECT query, batch_id FROM batches")
        known = self._checkpoint.query_id()
        if not rows or known is None:
            return
        if rows[0][0] != known:
            raise SinkError(
                f"{shown(self._settings.database)} was not filled from the checkpoint {self._settings.checkpoint}; "
                "both were left as they are. Name the checkpoint that belongs to it, or a folder that does not exist "
                "yet, with --checkpoint, or a new database with --db."
            )
        place = self._checkpoint.offset(int(str(rows[0][1])))
        if place is not None and ("nodes" in json.loads(place)) is self._settings.is_bronze:
            raise SinkError(
                f"The checkpoint {self._settings.checkpoint} is of a stream that read "
                f"{'logs' if self._settings.is_bronze else 'a bronze'}; everything was left as it was. Delete it and "
                "start again: the database knows which records it counts, so nothing is counted twice or skipped."
            )

    def start(self, *, once: bool) -> "StreamingQuery":
        """Start the stream: for everything that is there (*once*), or continuously."""
        rows = self._database.rows("SELECT offsets FROM batches")
        counted = str(rows[0][0]) if rows else None
        writer = (
            self._input.open(self._session, counted, fresh=self._checkpoint.query_id() is None)
            .writeStream.foreachBatch(self._add)
            .option("checkpointLocation", self._settings.checkpoint)
        )
        return (
            writer.trigger(availableNow=True)
            if once
            else writer.trigger(processingTime=f"{self._input.look_every_s} seconds")
        ).start()

    def _add(self, rows: "DataFrame", batch_id: int) -> None:
        """Merge what the tasks of a batch made of it."""
        begin_ns = time.perf_counter_ns()
        parts = unpacked(rows.toArrow())
        tables = combine((part, table) for part, table in parts if part in SCHEMAS)
        query, place = self._checkpoint.query_id(), self._checkpoint.offset(batch_id)
        assert query is not None
        assert place is not None  # Spark writes both before a batch
        found = self._input.look(parts, place)
        batch = MicroBatch(
            query=query,
            batch_id=batch_id,
            parts={name: table for name, table in tables.items() if name != "bad_lines"},
            bad_lines=tables.get("bad_lines"),
            gaps=pa.Table.from_pylist([asdict(gap) for gap in gaps(found.place)], SCHEMAS["gaps"]),
            oddities=found.oddities,
            offsets=json.dumps(serialize_offset(found.place)),
            missing=missing_of(parts),
            took_missing_back=self._settings.is_bronze,
            now_us=time.time_ns() // 1_000,
            read_us=(time.perf_counter_ns() - begin_ns) // 1_000,
            bytes=found.read_bytes,
            behind_bytes=found.behind_bytes,
        )
        with self.lock:
            merge(self._database, self._names, batch)


@dataclass(frozen=True, slots=True)
class BatchSides:
    """Facts about a batch beside its records."""

    place: StreamOffset
    """Records that are counted with it."""
    oddities: pa.Table | None
    """Files that are not counted; None: as before."""
    read_bytes: int
    behind_bytes: int
    """Bytes that are still to be read."""


class JobInput(Protocol):
    """Where the records come from."""

    @property
    def look_every_s(self) -> int:
        """Return the seconds from one look at what is new to the next; 0: without rest."""
        ...

    def open(self, session: "SparkSession", counted: str | None, *, fresh: bool) -> "DataFrame":
        """Return a stream of packed partial tables. *counted*: the offset in the database; *fresh*: there is no
        checkpoint, so the stream begins there."""
        ...

    def look(self, parts: PackedParts, place: str) -> BatchSides:
        """Return the sides of a batch, of which the tasks made *parts*; *place* is Spark's offset after it."""
        ...


class LogInput:
    """The logs themselves, by the source ``tinyssb-partials``."""

    look_every_s = 0

    def __init__(self, settings: Settings, database: Database) -> None:
        """Raises NoLogsFolderError."""
        self._settings = settings
        self._database = database
        self._sides = ReadDiagnostics(Planner(open_files(settings.logs, settings.endpoint)))

    def open(self, session: "SparkSession", counted: str | None, *, fresh: bool) -> "DataFrame":
        """Return a stream that begins at the checkpoint, or without it at what the database counts."""
        reader = (
            session.readStream.format("tinyssb-partials")
            .option("maxBytesPerBatch", self._settings.bytes_per_batch)
            .option("endpoint", self._settings.endpoint)
            .option("missing", missing_records(self._database))
        )
        if counted is not None and fresh:
            # The checkpoint was deleted, or could not be understood any more: the database knows how far it is.
            reader = reader.option("startingOffset", counted)
        return reader.load(self._settings.logs)

    def look(self, parts: PackedParts, place: str) -> BatchSides:
        """Take the offset as Spark has it. Raises OSError."""
        reached, read_bytes = parse_offset(json.loads(place)), bytes_of(parts)
        self._sides.look(reached, read_bytes)
        return BatchSides(reached, self._sides.oddities, read_bytes, self._sides.behind_bytes)


class BronzeInput:
    """A bronze, by Spark's own source of Parquet files."""

    look_every_s = limits.BRONZE_LOOK_S

    def __init__(self, settings: Settings, database: Database) -> None:
        self._settings = settings
        self._database = database
        self._files = CountedFiles(Path(settings.logs))
        self._place: StreamOffset = {}

    def open(self, session: "SparkSession", counted: str | None, *, fresh: bool) -> "DataFrame":  # noqa: ARG002 - records are known one by one
        """Return a stream of what the database does not count."""
        place = {} if counted is None else parse_offset(json.loads(counted))
        missing = still_counted(parse_missing(missing_records(self._database)), place)
        self._place = without(place, missing)
        known = known_records(self._place)
        return read_stream(session, self._settings.logs, self._settings.bytes_per_batch, known)

    def look(self, parts: PackedParts, place: str) -> BatchSides:  # noqa: ARG002 - Spark counts files
        """Count the records that the files of the batch name. Raises DamagedDataError, OSError."""
        pieces, read_bytes, newest_ns = self._files.pieces(parts)
        self._place = count_pieces(self._place, pieces)
        return BatchSides(self._place, None, read_bytes, self._files.behind_bytes(newest_ns))


class ReadDiagnostics:
    """Files that were not counted, and the bytes still to be read; updated every few seconds."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._due_ns = 0
        self.oddities: pa.Table | None = None
        self.behind_bytes = 0

    def look(self, place: StreamOffset, read_bytes: int) -> None:
        """Update for the offset *place*; *read_bytes* more were read up to it. Raises OSError."""
        self.oddities = None
        if time.monotonic_ns() < self._due_ns:
            self.behind_bytes = max(0, self.behind_bytes - read_bytes)
            return
        self._planner.refresh()
        self.oddities = pa.Table.from_pylist(
            [asdict(odd) for odd in self._planner.oddities(place)], SCHEMAS["oddities"]
        )
        self.behind_bytes = self._planner.bytes_behind(place)
        self._due_ns = time.monotonic_ns() + 5 * 10**9  # all files are listed for it


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
