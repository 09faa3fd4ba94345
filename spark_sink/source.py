"""Spark's data sources for event logs: streams whose tasks read records, and hand out what they make of them.

``tinyssb-partials`` hands out what `spark_sink.partials.reduce` makes: rows of (``part``, the part's name; ``rows``, a
table as an Arrow IPC stream). The tasks of ``tinyssb-land`` write the records as Parquet files, and hand out which
files these are, in the same form. No record goes to Java: that costs more than to parse it.

Options: ``path`` (also the argument of ``load``; a folder, or ``s3://bucket/prefix``), ``endpoint`` (of an
S3-compatible store), ``maxBytesPerBatch`` (bytes, 0 for no limit), ``maxBytesPerTask`` (bytes), ``startingOffset``
(JSON of an offset: where a query without a checkpoint begins), and for landing ``staging``, a folder for new files.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spark_sink import limits
from spark_sink.errors import OptionError
from spark_sink.log_files import LogFiles, open_files
from spark_sink.planner import Planner
from spark_sink.segments import SegmentPart, pack_tasks
from spark_sink.stream_offset import (
    StreamOffset,
    parse_offset,
    parse_offset_text,
    serialize_offset,
)

PARTIALS: Final = "part STRING, rows BINARY"
"""Schema of packed tables by name."""
READ: Final = "read"
"""Part with a column ``bytes``: how much a task read."""
LANDED: Final = "landed"
"""Part with the files that a task wrote (`bronze.writer.FILES`)."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the source."""

    path: str
    endpoint: str
    bytes_per_batch: int
    bytes_per_task: int
    starting_offset: str
    """JSON; it goes to each task with the other options, which do not need it."""
    staging: str = ""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "Options":
        """Read the options as Spark hands them over. Raises OptionError."""
        path = options.get("path", "")
        if not path:
            raise OptionError("path", path, "the folder that holds the nodes' event logs")
        return cls(
            path=path,
            endpoint=options.get("endpoint", ""),
            bytes_per_batch=_size(options, "maxBytesPerBatch", limits.BATCH_SIZE, least=0),
            bytes_per_task=_size(options, "maxBytesPerTask", limits.TASK_SIZE, least=1),
            starting_offset=options.get("startingOffset", ""),
            staging=options.get("staging", ""),
        )

    def files(self) -> LogFiles:
        """Open the logs."""
        return open_files(self.path, self.endpoint)

    def start(self) -> StreamOffset:
        """Read the starting offset. Raises OptionError, ConfigurationError."""
        text = self.starting_offset
        if not text:
            return {}
        try:
            return parse_offset_text(text)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise OptionError(
                "startingOffset", text[: limits.BAD_TEXT_MAX], "an offset of this source"
            ) from error


def _size(options: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = options.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise OptionError(name, text, f"a whole number of bytes, {least} or more")
    return int(text)


class Task(InputPartition):
    """Input of one Spark task: parts of segments."""

    def __init__(self, parts: Sequence[SegmentPart]) -> None:
        super().__init__(None)
        self.parts = parts

    @property
    def size(self) -> int:
        """Number of its bytes."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True, slots=True)
class ReadPlan(ABC):
    """Reading of tasks; it is sent to the workers."""

    options: Options

    def tasks(self, planner: Planner, start: StreamOffset, end: StreamOffset) -> list[Task]:
        """Cut what lies between two offsets into tasks. Raises LostRecordsError, OSError."""
        return [Task(task) for task in pack_tasks(planner.parts(start, end), self.options.bytes_per_task)]

    @abstractmethod
    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Read a task, and yield packed tables. Raises FileNotFoundError if a file of it is gone; OSError.

        What is counted once and for all needs every file that was planned: without one, the query fails, and is started
        again with what is there then.
        """


@dataclass(frozen=True, slots=True)
class PartialsPlan(ReadPlan):
    """Reduction of tasks: their records become partial tables."""

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Reduce the records of a task."""
        from spark_sink.partial_tables import read_task  # noqa: PLC0415 - not needed for landing

        for part, table in read_task(self.options.path, self.options.endpoint, task.parts):
            yield packed(part, table)
        yield _told(task)


@dataclass(frozen=True, slots=True)
class LandPlan(ReadPlan):
    """Landing of tasks: their records become files."""

    def tasks(self, planner: Planner, start: StreamOffset, end: StreamOffset) -> list[Task]:
        """Gather the whole parts that lie between two offsets into tasks. Raises LostRecordsError, OSError."""
        from spark_sink.bronze.writer import whole_tasks  # noqa: PLC0415 - not needed for reading

        return [Task(task) for task in whole_tasks(planner.parts(start, end), self.options.bytes_per_task)]

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Write the records of a task into files."""
        from spark_sink.bronze.writer import write_parts  # noqa: PLC0415 - as above

        if task.parts:
            found = write_parts(self.options.files(), task.parts, Path(self.options.staging))
            yield packed(LANDED, found)
        yield _told(task)


def _told(task: Task) -> pa.RecordBatch:
    """Pack how much a task read."""
    return packed(READ, pa.table({"bytes": pa.array([task.size], pa.int64())}))


def unpacked(found: pa.Table) -> list[tuple[str, pa.Table]]:
    """Return the packed tables that tasks handed out, by name."""
    return [
        (str(part), pa.ipc.open_stream(packed.as_buffer()).read_all())
        for part, packed in zip(found["part"].to_pylist(), found["rows"], strict=True)
    ]


def bytes_of(parts: Sequence[tuple[str, pa.Table]]) -> int:
    """Return how much a batch read."""
    return sum(pc.sum(table["bytes"]).as_py() for part, table in parts if part == READ)


def packed(part: str, table: pa.Table) -> pa.RecordBatch:
    """Pack a table for the way from a task to the driver. Round trip: `unpacked`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.RecordBatch.from_pydict(
        {"part": pa.array([part]), "rows": pa.array([sink.getvalue().to_pybytes()], pa.binary())}
    )


class TinyssbPartialsDataSource(DataSource):
    """Logs, reduced in the tasks to small tables for the analytics."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return "tinyssb-partials"

    def schema(self) -> str:
        """Return the schema of packed tables by name."""
        return PARTIALS

    def streamReader(self, schema: StructType) -> "TinyssbStreamReader":  # noqa: ARG002, N802 - Spark's name
        """Read on and on."""
        return TinyssbStreamReader(self._reading())

    def _reading(self) -> ReadPlan:
        return PartialsPlan(Options.parse(self.options))


class TinyssbLandDataSource(TinyssbPartialsDataSource):
    """The same logs, written to files in the tasks."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return "tinyssb-land"

    def _reading(self) -> ReadPlan:
        return LandPlan(Options.parse(self.options))


class TinyssbStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream of records; its offset holds which records of every boot have been read."""

    def __init__(self, reading: ReadPlan) -> None:
        self._reading = reading
        self._planner = Planner(reading.options.files())
        self._fixed = False
        self._planned: dict[str, Any] | None = None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        assert isinstance(partition, Task)
        return self._reading.read(partition)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Begin with everything, or at the offset in the options."""
        return serialize_offset(self._reading.options.start())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admission control: so many bytes a batch."""
        if self._reading.options.bytes_per_batch == 0:
            return ReadAllAvailable()
        return ReadMaxBytes(self._reading.options.bytes_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix what is to be read: what comes from now on is for another run. Raises NoLogsFolderError; OSError."""
        self._planner.refresh()
        self._fixed = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Plan the next batch. Raises ConfigurationError, NoLogsFolderError; OSError."""
        before = parse_offset(start)
        if not self._fixed:
            self._planner.refresh()
        bytes_max = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        self._planned = serialize_offset(self._planner.advance(before, bytes_max))
        return self._planned

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Task]:
        """Plan the tasks of a batch; after a restart also of one that was planned before it.

        Raises ConfigurationError, NoLogsFolderError, LostRecordsError; OSError.
        """
        before, after = parse_offset(start), parse_offset(end)
        if end != self._planned and not self._fixed:
            self._planner.refresh()
        return self._reading.tasks(self._planner, before, after)
