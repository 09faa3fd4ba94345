"""Spark's data source for event logs: a stream whose tasks read records, and hand out what they make of them.

It hands out what `spark_sink.partials.reduce` makes: rows of (``part``, the part's name; ``rows``, a table as an Arrow
IPC stream). No record goes to Java: that costs more than to parse it.

Options: ``path`` (also the argument of ``load``; a folder, or ``s3://bucket/prefix``), ``endpoint`` (of an
S3-compatible store), ``maxBytesPerBatch`` (bytes, 0 for no limit), ``maxBytesPerTask`` (bytes), ``startingOffset``
(JSON of an offset: where a query without a checkpoint begins).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from spark_sink.partial_tables import read_task
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


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the source."""

    path: str
    endpoint: str
    bytes_per_batch: int
    bytes_per_task: int
    starting_offset: str
    """JSON; it goes to each task with the other options, which do not need it."""

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
        return TinyssbStreamReader(Options.parse(self.options))


class TinyssbStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Stream of records; its offset holds which records of every boot have been read."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._planner = Planner(options.files())
        self._fixed = False
        self._planned: dict[str, Any] | None = None

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task. Raises FileNotFoundError if a file of it is gone; OSError.

        What is counted once and for all needs every file that was planned: without one, the query fails, and is started
        again with what is there then.
        """
        assert isinstance(partition, Task)
        for part, table in read_task(self._options.path, self._options.endpoint, partition.parts):
            yield packed(part, table)
        yield packed(READ, pa.table({"bytes": pa.array([partition.size], pa.int64())}))

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Begin with everything, or at the offset in the options."""
        return serialize_offset(self._options.start())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admission control: so many bytes a batch."""
        if self._options.bytes_per_batch == 0:
            return ReadAllAvailable()
        return ReadMaxBytes(self._options.bytes_per_batch)

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
        return [
            Task(task)
            for task in pack_tasks(self._planner.parts(before, after), self._options.bytes_per_task)
        ]
