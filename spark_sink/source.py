"""The ``tinyssb`` data source: the nodes' event logs as a stream, or all at once.

    spark.dataSource.register(TinyssbDataSource)
    spark.readStream.format("tinyssb").option("maxBytesPerBatch", 32 * 2**20).load("/var/log/tinyssb")

Options: ``path`` (also the argument of ``load``; a folder, or ``s3://bucket/prefix``), ``endpoint`` (of an
S3-compatible store), ``maxBytesPerBatch`` (bytes, 0 for no limit), ``maxBytesPerTask`` (bytes), ``startingOffset``
(JSON of an offset: where a query without a checkpoint begins). All columns are in ``spark_sink.schema``; who gives
``schema(...)`` with fewer of them is served faster.

``tinyssb-partials`` reads the same with the same options, and hands out what `spark_sink.partials.reduce` makes of it
in the tasks: rows of (``part``, the part's name; ``rows``, a table as an Arrow IPC stream).

``tinyssb-land`` has one more option, ``staging``: a folder in which its tasks write the records as Parquet files. It
hands out which files these are, in the same form.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
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

from spark_sink import limits, line_parser, schema, segment_reader
from spark_sink.errors import OptionError
from spark_sink.log_files import LogFiles, open_files
from spark_sink.planner import Planner
from spark_sink.segments import SegmentPart, pack_tasks
from spark_sink.stream_offset import (
    StreamOffset,
    parse_offset,
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
            return parse_offset(json.loads(text))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise OptionError(
                "startingOffset", text[: limits.BAD_TEXT_MAX], "an offset of this source"
            ) from error


def _size(options: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = options.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise OptionError(name, text, f"a whole number of bytes, {least} or more")
    return int(text)


def _names(wanted: StructType) -> list[str]:
    """Return the requested columns. Raises OptionError if the source has no such column, or of another type."""
    known = {field.name: field.type.value for field in schema.COLUMNS}
    for field in wanted:
        if known.get(field.name) != field.dataType.simpleString().upper():
            raise OptionError(
                "schema", f"{field.name} {field.dataType.simpleString()}", "columns of the source"
            )
    return wanted.names


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
class ReadPlan:
    """Reading of tasks; it is sent to the workers."""

    options: Options
    names: tuple[str, ...] = ()

    def tasks(self, planner: Planner, start: StreamOffset, end: StreamOffset) -> list[Task]:
        """Cut what lies between two offsets into tasks. Raises LostRecordsError, OSError."""
        return [Task(task) for task in pack_tasks(planner.parts(start, end), self.options.bytes_per_task)]

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Read a task. Raises OSError."""
        shape = line_parser.Projection(self.names)
        yield from segment_reader.read_parts(self.options.files(), task.parts, shape)


@dataclass(frozen=True, slots=True)
class PartialsPlan(ReadPlan):
    """Reduction of tasks: their records become partial tables."""

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Reduce the records of a task. Raises FileNotFoundError if a file of it is gone; OSError.

        What is merged once and for all needs every file that was planned: without one, the query fails, and is started
        again with what is there then.
        """
        from spark_sink.partial_tables import partial_tables  # noqa: PLC0415 - not needed for rows alone

        for part, table in partial_tables(self.options.files(), task.parts):
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
        """Write the records of a task into files. Raises FileNotFoundError if a file of it is gone; OSError."""
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


class TinyssbDataSource(DataSource):
    """Spark's way in; see the module's description."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return "tinyssb"

    def schema(self) -> str:
        """Return one flat schema for all kinds of records."""
        return schema.ddl(field.name for field in schema.COLUMNS)

    def reader(self, schema: StructType) -> "TinyssbReader":
        """Read everything that is there now, once."""
        return TinyssbReader(self._reading(schema))

    def streamReader(self, schema: StructType) -> "TinyssbStreamReader":  # noqa: N802 - Spark's name
        """Read on and on."""
        return TinyssbStreamReader(self._reading(schema))

    def _reading(self, wanted: StructType) -> ReadPlan:
        return ReadPlan(Options.parse(self.options), tuple(_names(wanted)))


class TinyssbPartialsDataSource(TinyssbDataSource):
    """The same logs, reduced in the tasks to small tables for the analytics."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return "tinyssb-partials"

    def schema(self) -> str:
        """Return the schema of packed tables by name."""
        return PARTIALS

    def _reading(self, wanted: StructType) -> ReadPlan:  # noqa: ARG002 - the columns that analytics need
        return PartialsPlan(Options.parse(self.options))


class TinyssbLandDataSource(TinyssbPartialsDataSource):
    """The same logs, written to files in the tasks."""

    @classmethod
    def name(cls) -> str:
        """Return the name for ``format``."""
        return "tinyssb-land"

    def _reading(self, wanted: StructType) -> ReadPlan:  # noqa: ARG002 - all columns
        return LandPlan(Options.parse(self.options))


class _TaskReader:
    """The common part of both readers, which reads a task of a plan."""

    def __init__(self, reading: ReadPlan) -> None:
        self._reading = reading

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        assert isinstance(partition, Task)
        return self._reading.read(partition)


class TinyssbReader(_TaskReader, DataSourceReader):
    """All records there are when the query is planned."""

    def partitions(self) -> Sequence[Task]:
        """Plan over a listing made now. Raises NoLogsFolderError; OSError."""
        planner = Planner(self._reading.options.files())
        planner.refresh()
        start = self._reading.options.start()
        return self._reading.tasks(planner, start, planner.advance(start, None))


class TinyssbStreamReader(_TaskReader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream of records; its offset holds which records of every boot have been read."""

    def __init__(self, reading: ReadPlan) -> None:
        self._reading = reading
        self._planner = Planner(reading.options.files())
        self._fixed = False
        self._planned: dict[str, Any] | None = None

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
