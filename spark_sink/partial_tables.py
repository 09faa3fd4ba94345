"""The work of a task, whichever engine runs it: parts of segments to partial tables."""

from collections.abc import Sequence

import pyarrow as pa

from spark_sink.line_parser import Projection
from spark_sink.log_files import opened
from spark_sink.partials.records import COLUMNS
from spark_sink.partials.reduce import reduce
from spark_sink.segment_reader import read_parts
from spark_sink.segments import SegmentPart


def read_task(path: str, endpoint: str, parts: Sequence[SegmentPart]) -> list[tuple[str, pa.Table]]:
    """Return the partial tables of *parts* of the logs at *path*, by name. Raises FileNotFoundError if a segment is
    gone; OSError."""
    return list(reduce(read_parts(opened(path, endpoint), parts, Projection(COLUMNS))))
