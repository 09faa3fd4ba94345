"""The ``tinyssb`` data source: the nodes' event logs as a stream, or all at once.

    spark.dataSource.register(TinyssbDataSource)
    spark.readStream.format("tinyssb").option("maxBytesPerBatch", 32 * 2**20).load("/var/log/tinyssb")

Options: ``path`` (also the argument of ``load``), ``maxBytesPerBatch`` (bytes, 0 for no limit), ``maxBytesPerTask``
(bytes), ``failOnLoss`` (``true`` or ``false``: what to do when unread records are gone). All columns are in
``spark_sink.schema``; who gives ``schema(...)`` with fewer of them is served faster.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spark_sink import blocks, limits, lines, schema
from spark_sink.errors import OptionError
from spark_sink.folders import Folders
from spark_sink.segments import (
    ByteRange,
    Listing,
    Lost,
    Offset,
    advance,
    locate,
    pack,
    parse_offset,
    ranges,
    serialize_offset,
)


@dataclass(frozen=True, slots=True)
class Options:
    """What the source was told."""

    path: str
    bytes_per_batch: int
    bytes_per_task: int
    fail_on_loss: bool

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> "Options":
        """Read the options as Spark hands them over. Raises OptionError."""
        path = options.get("path", "")
        if not path:
            raise OptionError("path", path, "the folder that holds the nodes' event logs")
        fail_on_loss = options.get("failOnLoss", "true").lower()
        if fail_on_loss not in {"true", "false"}:
            raise OptionError("failOnLoss", fail_on_loss, "true or false")
        return cls(
            path=path,
            bytes_per_batch=_size(options, "maxBytesPerBatch", limits.BATCH_SIZE, least=0),
            bytes_per_task=_size(options, "maxBytesPerTask", limits.TASK_SIZE, least=1),
            fail_on_loss=fail_on_loss == "true",
        )


def _size(options: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = options.get(name, str(default))
    if not (text.isascii() and text.isdecimal()) or int(text) < least:
        raise OptionError(name, text, f"a whole number of bytes, {least} or more")
    return int(text)


def _names(wanted: StructType) -> list[str]:
    """The columns that are wanted. Raises OptionError if the source has no such column, or of another type."""
    known = {field.name: field.type.value for field in schema.COLUMNS}
    for field in wanted:
        if known.get(field.name) != field.dataType.simpleString().upper():
            raise OptionError(
                "schema", f"{field.name} {field.dataType.simpleString()}", "columns of the source"
            )
    return wanted.names


class Task(InputPartition):
    """What one Spark task reads: ranges with the paths of their files, and losses to be written down."""

    def __init__(self, parts: Sequence[tuple[ByteRange, str]], lost: Sequence[tuple[Lost, str]] = ()) -> None:
        super().__init__(None)
        self.parts = parts
        self.lost = lost


class TinyssbDataSource(DataSource):
    """Spark's way in; see the module's description."""

    @classmethod
    def name(cls) -> str:
        """What ``format`` takes."""
        return "tinyssb"

    def schema(self) -> str:
        """One flat schema for all kinds of records."""
        return schema.ddl(field.name for field in schema.COLUMNS)

    def reader(self, schema: StructType) -> "TinyssbReader":
        """Read what there is now, once."""
        return TinyssbReader(Options.parse(self.options), _names(schema))

    def streamReader(self, schema: StructType) -> "TinyssbStreamReader":  # noqa: N802 - Spark's name
        """Read on and on."""
        return TinyssbStreamReader(Options.parse(self.options), _names(schema))


class _Planner:
    """What both readers share: listing, planning, reading."""

    def __init__(self, options: Options, names: Sequence[str]) -> None:
        self.options = options
        self.folders = Folders(options.path)
        self.shape = lines.Shape(names)

    def tasks(self, listing: Listing, start: Offset, end: Offset) -> list[Task]:
        """Cut what lies between two offsets into tasks."""
        places, lost = locate(listing, start, forgive=not self.options.fail_on_loss)
        parts = ranges(listing, places, end)
        tasks = [
            Task([(part, self.folders.path(part.node, part.segment)) for part in task])
            for task in pack(parts, self.options.bytes_per_task)
        ]
        if lost:
            tasks.append(Task([], [(loss, f"{loss.node}/{loss.segment}") for loss in lost]))
        return tasks

    def read(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Read a task's lines. Raises SegmentVanishedError, SegmentShrunkError."""
        yield from blocks.read_parts(task.parts, self.shape)
        if task.lost:
            yield lines.bad_rows([(path, loss.byte, loss.reason) for loss, path in task.lost], self.shape)


class TinyssbReader(DataSourceReader):
    """All records there are when the query is planned."""

    def __init__(self, options: Options, names: Sequence[str]) -> None:
        self._planner = _Planner(options, names)

    def partitions(self) -> Sequence[Task]:
        """Plan over a listing made now."""
        listing = self._planner.folders.listing()
        places, _ = locate(listing, {})
        return self._planner.tasks(listing, {}, advance(listing, places))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        assert isinstance(partition, Task)
        return self._planner.read(partition)


class TinyssbStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Records as they are written; the offset is the place reached in every node's log."""

    def __init__(self, options: Options, names: Sequence[str]) -> None:
        self._planner = _Planner(options, names)
        self._target: Listing | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Begin with the oldest record kept of every node."""
        return serialize_offset({})

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        """Admission control: so many bytes a batch."""
        if self._planner.options.bytes_per_batch == 0:
            return ReadAllAvailable()
        return ReadMaxBytes(self._planner.options.bytes_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - Spark's name
        """Fix what is to be read: what is written from now on is for another run."""
        self._target = self._planner.folders.listing()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802 - Spark's name
        """Plan the next batch. Raises SegmentVanishedError, SegmentShrunkError."""
        listing = self._planner.folders.listing() if self._target is None else self._target
        before = parse_offset(start)
        places, _ = locate(listing, before, forgive=not self._planner.options.fail_on_loss)
        bytes_max = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        end = advance(listing, places, bytes_max)
        return serialize_offset({**before, **end})

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[Task]:
        """Plan the tasks of a batch; after a restart also of one that was planned before it."""
        return self._planner.tasks(self._planner.folders.listing(), parse_offset(start), parse_offset(end))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read one task."""
        assert isinstance(partition, Task)
        return self._planner.read(partition)
