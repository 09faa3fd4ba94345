"""Probes of segments: where their whole lines end, which record is the last, and whether two are the same.

For a few kilobytes read, they show the planner which records a part of a segment has.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from spark_sink import limits
from spark_sink.log_files import LogFiles
from spark_sink.segments import Segment


@dataclass(frozen=True, slots=True)
class End:
    """End of a part of a segment."""

    byte: int
    """Behind its last line feed."""
    next: int | None
    """The offset after that of its last record, None if no line of it is a record."""
    stopped: bool
    """The last record is an orderly stop of the boot."""


def find_end(files: LogFiles, node: str, segment: Segment, low: int, high: int) -> End | None:
    """Find where the whole lines between bytes *low* and *high* end; None without any. A line begins at *low*.

    Raises FileNotFoundError; OSError.
    """
    path = segment.path
    window = limits.LINE_SIZE_MAX
    end = 0
    while True:
        begin = max(low, high - window)
        data = files.read(path, begin, high)
        feed = data.rfind(b"\n")
        if feed >= 0:
            end = begin + feed + 1
            lines = data[:feed].split(b"\n")
            for line in reversed(lines if begin == low else lines[1:]):
                record = _record(line, node, segment)
                if record is not None:
                    return End(end, record["offset"] + 1, record.get("kind") == "stop")
        if begin == low:
            return End(end, None, False) if end else None
        window *= 8


def _record(line: bytes, node: str, segment: Segment) -> dict[str, Any] | None:
    """Parse a line with an offset. An offset that no segment of that size can have is refused."""
    if len(line) >= limits.LINE_SIZE_MAX:
        return None
    record = json_object(line)
    if type(record.get("offset")) is not int:
        return None
    highest = segment.first + segment.size + limits.OFFSET_JUMP_MAX
    if not segment.first <= record["offset"] < min(highest, limits.OFFSET_MAX):
        return None
    return record if (record.get("node"), record.get("boot")) == (node, segment.boot) else None


def json_object(line: bytes) -> dict[str, Any]:
    """Return the JSON object on a line; an empty one if there is none."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def line_end(files: LogFiles, segment: Segment, byte: int) -> int | None:
    """Return the byte behind the first line feed at *byte* or later; None without any. Raises as `find_end`."""
    while byte < segment.size:
        data = files.read(segment.path, byte, min(segment.size, byte + 65_536))
        feed = data.find(b"\n")
        if feed >= 0:
            return byte + feed + 1
        if not data:
            break
        byte += len(data)
    return None


def first_line(files: LogFiles, segment: Segment) -> bytes | None:
    """Return the first line, up to the longest record; None if it is incomplete.

    Raises FileNotFoundError; OSError.
    """
    data = files.read(segment.path, 0, limits.LINE_SIZE_MAX)
    feed = data.find(b"\n")
    if feed < 0:
        return data if len(data) == limits.LINE_SIZE_MAX else None
    return data[: feed + 1]


def fingerprint(data: bytes) -> str:
    """Return eight hexadecimal digits that identify *data*."""
    return hashlib.blake2b(data, digest_size=4).hexdigest()


def tail_print(files: LogFiles, segment: Segment, byte: int) -> str:
    """Return fingerprint of the first line and of the last bytes before *byte*, up to which the segment is read.

    Raises FileNotFoundError; OSError.
    """
    low = max(0, byte - 64)  # enough to hold a time stamp
    return fingerprint((first_line(files, segment) or b"") + files.read(segment.path, low, byte))


def says_clean(line: bytes) -> bool | None:
    """Return whether a boot's first record says that the boot before ended in order; None if it does not say."""
    record = json_object(line)
    clean = record.get("clean") if record.get("kind") == "start" else None
    return clean if isinstance(clean, bool) else None


def begins_alike(files: LogFiles, one: Segment, other: Segment) -> bool:
    """True if the shorter of two files is the beginning of the other, judged by its first and last lines.

    Raises FileNotFoundError; OSError.
    """
    size = min(one.size, other.size)
    ranges = ((0, min(size, limits.LINE_SIZE_MAX)), (max(0, size - limits.LINE_SIZE_MAX), size))
    return all(files.read(one.path, *part) == files.read(other.path, *part) for part in ranges)
