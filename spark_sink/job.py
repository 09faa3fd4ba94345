"""The stream: wires source, merge and refresh together, and nothing else."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.errors import SinkError
from spark_sink.log_files import open_files
from spark_sink.partials.combine import SCHEMAS, combine
from spark_sink.planner import Planner
from spark_sink.refresh import Refresh
from spark_sink.serving.address import shown
from spark_sink.serving.database import Database
from spark_sink.serving.merge import MicroBatch, merge, missing_records
from spark_sink.serving.names import NameNumbers
from spark_sink.settings import Settings
from spark_sink.source import MISSING, READ
from spark_sink.stream_offset import StreamOffset, gaps, parse_missing, parse_offset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


class Job:
    """One stream into one database: source, merge of micro-batches, and refresh."""

    def __init__(self, session: "SparkSession", settings: Settings, database: Database) -> None:
        """Raises DatabaseFailedError, SinkError, NoLogsFolderError."""
        self._session = session
        self._settings = settings
        self._database = database
        self._check_checkpoint()
        self.lock = threading.Lock()
        """Held while the database is used."""
        self.refresh = Refresh(database, self.lock, keep_days=settings.keep_days)
        self._names = NameNumbers(database)
        self._sides = ReadDiagnostics(Planner(open_files(settings.logs, settings.endpoint)))

    def _check_checkpoint(self) -> None:
        """Check that the database was filled from this checkpoint: with another, records would be counted again, or
        never."""
        rows = self._database.rows("SELECT query FROM batches")
        known = self.query_id()
        if rows and known is not None and rows[0][0] != known:
            raise SinkError(
                f"{shown(self._settings.database)} was not filled from the checkpoint {self._settings.checkpoint}; "
                "both were left as they are. Name the checkpoint that belongs to it, or a folder that does not exist "
                "yet, with --checkpoint, or a new database with --db."
            )

    def query_id(self) -> str | None:
        """Return Spark's id of the query that the checkpoint belongs to; None if there is none yet."""
        text = self._kept("metadata")
        return None if text is None else str(json.loads(text)["id"])

    def _kept(self, name: str) -> str | None:
        """Read a file of the checkpoint, which may lie wherever Spark can read; None if there is none."""
        if "://" not in self._settings.checkpoint:
            path = Path(self._settings.checkpoint, name)
            return path.read_text() if path.exists() else None
        java = self._session._jvm  # noqa: SLF001 - Spark has no other way to its file systems
        assert java is not None
        path = java.org.apache.hadoop.fs.Path(f"{self._settings.checkpoint}/{name}")
        files = path.getFileSystem(self._session._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
        if not files.exists(path):
            return None
        with files.open(path) as stream:
            return str(java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))

    def start(self, *, once: bool) -> "StreamingQuery":
        """Start the stream: for everything that is there (*once*), or continuously."""
        reader = (
            self._session.readStream.format("tinyssb-partials")
            .option("maxBytesPerBatch", self._settings.bytes_per_batch)
            .option("endpoint", self._settings.endpoint)
            .option("missing", missing_records(self._database))
        )
        rows = self._database.rows("SELECT offsets FROM batches")
        if rows and self.query_id() is None:
            # The checkpoint was deleted, or could not be understood any more: the database knows how far it is.
            reader = reader.option("startingOffset", str(rows[0][0]))
        writer = (
            reader.load(self._settings.logs)
            .writeStream.foreachBatch(self._add)
            .option("checkpointLocation", self._settings.checkpoint)
        )
        return (
            writer.trigger(availableNow=True) if once else writer.trigger(processingTime="0 seconds")
        ).start()

    def _add(self, rows: "DataFrame", batch_id: int) -> None:
        """Merge what the tasks of a batch made of it."""
        begin_ns = time.perf_counter_ns()
        found = rows.toArrow()
        parts = [
            (str(part), pa.ipc.open_stream(packed.as_buffer()).read_all())
            for part, packed in zip(found["part"].to_pylist(), found["rows"], strict=True)
        ]
        tables = combine((part, table) for part, table in parts if part not in {READ, MISSING})
        missing = [
            lost
            for part, table in parts
            if part == MISSING
            for text in table["records"].to_pylist()
            for lost in parse_missing(text)
        ]
        query, offsets = self.query_id(), self._kept(f"offsets/{batch_id}")
        assert query is not None
        assert offsets is not None  # Spark writes both before a batch
        place = offsets.splitlines()[-1]
        read_us = (time.perf_counter_ns() - begin_ns) // 1_000
        read_bytes = sum(pc.sum(table["bytes"]).as_py() for part, table in parts if part == READ)
        self._sides.look(parse_offset(json.loads(place)), read_bytes)
        batch = MicroBatch(
            query=query,
            batch_id=batch_id,
            parts={name: table for name, table in tables.items() if name != "bad_lines"},
            bad_lines=tables.get("bad_lines"),
            gaps=self._sides.gaps,
            oddities=self._sides.oddities,
            offsets=place,
            missing=missing,
            now_us=time.time_ns() // 1_000,
            read_us=read_us,
            bytes=read_bytes,
            behind_bytes=self._sides.behind_bytes,
        )
        with self.lock:
            merge(self._database, self._names, batch)


class ReadDiagnostics:
    """Gaps and oddities that were not counted, and the bytes still to be read; updated every few seconds."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._due_ns = 0
        self.gaps: pa.Table | None = None
        self.oddities: pa.Table | None = None
        self.behind_bytes = 0

    def look(self, place: StreamOffset, read_bytes: int) -> None:
        """Update for the offset *place*; *read_bytes* more were read up to it. Raises OSError."""
        self.gaps = pa.Table.from_pylist([asdict(gap) for gap in gaps(place)], SCHEMAS["gaps"])
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
