"""Bronze as the input of the job: Spark's own stream of Parquet files, reduced in the tasks (docs/formats/bronze.md).

Spark remembers which files it has read. That is not relied on alone: records that the database counts already, by node,
boot and offset, are left out in the tasks. So a deleted checkpoint, or a database that was filled from logs before,
doubles nothing.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from spark_sink import limits, schema
from spark_sink.arrays import boot_runs
from spark_sink.bronze.footer import KEY, BronzeFileError, BronzePiece, parse_footer
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.bronze.writer import FILE, file_name
from spark_sink.errors import DamagedDataError
from spark_sink.partials.records import COLUMNS
from spark_sink.partials.reduce import reduce
from spark_sink.stream_offset import StreamOffset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_PACKED: Final = "part STRING, rows BINARY"
"""Schema of packed tables by name: Spark takes one table, and ours have different columns."""
_COUNTED: Final = "files"
"""Part with the files that a task read: ``day`` and ``file``."""
_FILES: Final = pa.schema([("day", pa.date32()), (FILE, pa.int64())])
KnownRecords: TypeAlias = Mapping[tuple[str, int], tuple[tuple[int, int], ...]]
"""By node and boot, the intervals of records that are counted."""


def known_records(offset: StreamOffset) -> KnownRecords:
    """Return what *offset* counts."""
    return {
        (node, number): tuple((run.first, run.next) for run in boot.runs)
        for node, boots in offset.items()
        for number, boot in boots.items()
    }


def read_stream(
    session: "SparkSession", folder: str, bytes_per_batch: int, known: KnownRecords
) -> "DataFrame":
    """Return the partial tables of all files that are there, and of those to come, packed.

    *bytes_per_batch* are bytes of log. Records that are *known* are left out.
    """
    columns = f"{schema.ddl(COLUMNS)}, {FILE} BIGINT, day DATE"
    rows = (
        session.readStream.schema(columns)
        .option("maxBytesPerTrigger", max(1, bytes_per_batch // limits.BRONZE_RATIO))
        .option("maxFileAge", "36500d")  # Spark would pass over days that come a week after later ones
        .parquet(folder)
    )
    return rows.mapInArrow(partial(_reduce, known), _PACKED)


def _reduce(known: KnownRecords, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run in a task."""
    files: dict[int, date] = {}

    def rows() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers, places = np.unique(batch.column(FILE).drop_null().to_numpy(), return_index=True)
            files.update(zip(numbers.tolist(), batch.column("day").take(places).to_pylist(), strict=True))
            yield new_records(batch, known)

    for part, table in reduce(rows()):
        yield packed(part, table)
    found = [{"day": day, FILE: number} for number, day in files.items()]
    if found:
        yield packed(_COUNTED, pa.Table.from_pylist(found, _FILES))


def packed(part: str, table: pa.Table) -> pa.RecordBatch:
    """Pack a table for the way from a task to the driver. Round trip: `unpacked`."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.RecordBatch.from_pydict(
        {"part": pa.array([part]), "rows": pa.array([sink.getvalue().to_pybytes()], pa.binary())}
    )


def unpacked(found: pa.Table) -> list[tuple[str, pa.Table]]:
    """Return the packed tables that tasks handed out, by name."""
    return [
        (str(part), pa.ipc.open_stream(packed.as_buffer()).read_all())
        for part, packed in zip(found["part"].to_pylist(), found["rows"], strict=True)
    ]


def new_records(batch: pa.RecordBatch, known: KnownRecords) -> pa.RecordBatch:
    """Return the rows whose records are not *known*, and lines that are none."""
    if not known or len(batch) == 0:
        return batch
    nodes = pc.fill_null(batch.column("node"), "")
    boots = pc.fill_null(batch.column("boot"), -1).to_numpy()
    offsets = pc.fill_null(batch.column("offset"), -1).to_numpy()
    is_new = np.ones(len(batch), np.bool_)
    for name, boot, begin, end in boot_runs(nodes, boots):
        for low, high in known.get((name, boot), ()):
            is_new[begin:end] &= (offsets[begin:end] < low) | (offsets[begin:end] >= high)
    return batch if is_new.all() else batch.filter(pa.array(is_new))


class CountedFiles:
    """The files of a batch, as the driver looks at them."""

    def __init__(self, folder: Path) -> None:
        self._bronze = BronzeFolder(folder)

    def pieces(self, parts: Iterable[tuple[str, pa.Table]]) -> tuple[list[BronzePiece], int, int]:
        """Return the records of a batch's files, the files' bytes, and when the newest was landed (ns since 1970).

        Raises DamagedDataError for what is no bronze; OSError.
        """
        files = {
            (row["day"], row[FILE]) for part, table in parts if part == _COUNTED for row in table.to_pylist()
        }
        found: list[BronzePiece] = []
        size = newest_ns = 0
        for day, number in sorted(files):
            path = self._bronze.root / file_name(day, number)
            state = path.stat()
            size, newest_ns = size + state.st_size, max(newest_ns, state.st_mtime_ns)
            try:
                found += parse_footer((pq.read_metadata(path).metadata or {}).get(KEY))
            except (BronzeFileError, pa.ArrowException) as error:
                raise DamagedDataError(
                    f"{path} is no file of a bronze that this program reads: {error}. All records that were counted "
                    "are kept. Move it away, or restore it, and start again."
                ) from error
        return found, size, newest_ns

    def behind_bytes(self, newest_ns: int) -> int:
        """Count the bytes of files that were landed later: Spark reads them in this order. Raises OSError."""
        return sum(size for written_ns, size in self._bronze.files() if written_ns > newest_ns)


def query_id(session: "SparkSession", checkpoint: str) -> str | None:
    """Return Spark's id of the query that a checkpoint belongs to, which may lie wherever Spark can read; None if there
    is none yet."""
    if "://" not in checkpoint:
        path = Path(checkpoint, "metadata")
        text = path.read_text() if path.exists() else None
    else:
        java = session._jvm  # noqa: SLF001 - Spark has no other way to its file systems
        assert java is not None
        remote = java.org.apache.hadoop.fs.Path(f"{checkpoint}/metadata")
        files = remote.getFileSystem(session._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
        if not files.exists(remote):
            return None
        with files.open(remote) as stream:
            text = str(java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    return None if text is None else str(json.loads(text)["id"])
