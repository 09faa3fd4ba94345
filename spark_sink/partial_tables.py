"""The work of a task, whichever engine runs it: parts of segments to partial tables."""

from collections.abc import Iterator, Sequence
from functools import cache

import pyarrow as pa

from spark_sink import limits
from spark_sink.line_parser import Projection
from spark_sink.log_files import LogFiles, open_files
from spark_sink.partials.records import COLUMNS
from spark_sink.partials.reduce import reduce
from spark_sink.segment_reader import read_parts
from spark_sink.segments import SegmentPart


def partial_tables(files: LogFiles, parts: Sequence[SegmentPart]) -> Iterator[tuple[str, pa.Table]]:
    """Yield partial tables by name for the records of *parts*.

    What is merged once and for all needs every file that was planned: raises FileNotFoundError if one is gone; OSError.
    """
    batches = read_parts(files, parts, Projection(COLUMNS), listed_max=limits.BAD_LINES_LISTED, whole=True)
    yield from reduce(batches)


@cache
def _opened(path: str, endpoint: str) -> LogFiles:
    return open_files(path, endpoint)


def read_task(path: str, endpoint: str, parts: Sequence[SegmentPart]) -> list[tuple[str, pa.Table]]:
    """Return the partial tables of *parts* of the logs at *path*. Raises FileNotFoundError, OSError, as above."""
    return list(partial_tables(_opened(path, endpoint), parts))
