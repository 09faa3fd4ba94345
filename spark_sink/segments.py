"""Segments of logs, and the parts of them that tasks read: pure planning, no files and no Spark.

A range of bytes owns the lines that *begin* in it, so a segment may be cut anywhere, between batches and between tasks,
and every line is read exactly once.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

NODE: Final = re.compile(r"[0-9a-f]{16}\Z")
"""Name of a node's folder."""
SEGMENT: Final = re.compile(r"([0-9]{8})-([0-9]{12})\.jsonl\Z")
"""Name of a segment: its boot and the offset of its first record."""
NETWORKS: Final = "networks"
"""Folder in a home with the logs of its further networks, which are meshes of their own."""


class Segment(NamedTuple):
    """A file of a node's log, as it was when its folder was listed. A tuple, for there are hundreds of thousands."""

    boot: int
    first: int
    """The offset of its first record."""
    size: int
    folder: str

    @property
    def path(self) -> str:
        """Return its path."""
        return f"{self.folder}/{segment_name(self.boot, self.first)}"


def segment_name(boot: int, first: int) -> str:
    """Return the file name of a segment (docs/formats/events.md)."""
    return f"{boot:08d}-{first:012d}.jsonl"


Listing: TypeAlias = Mapping[str, tuple[Segment, ...]]
"""Segments of logs by node, in order of name and folder: the same segment may lie in several."""


@dataclass(frozen=True, slots=True)
class SegmentPart:
    """Lines of one segment that begin at byte ``low`` or later and before ``high``."""

    node: str
    segment: Segment
    low: int
    high: int
    after: int | None
    """Only records after this offset belong to it; None: after that of the record before ``low``."""
    before: int
    """And before this one: what lies beyond was, or will be, read elsewhere."""

    @property
    def size(self) -> int:
        """Number of its bytes."""
        return self.high - self.low


def share_bytes(wants: Mapping[str, int], total: int, least: int) -> dict[str, int]:
    """Share *total* bytes among logs, so that none gets more than it wants.

    A log that wants less than an equal share gets all of it. The others get an equal share. Where that is less than
    *least*, those that want most get *least* and the others nothing: reading many logs a little each time costs more
    than reading some of them properly, and next time the others want most.
    """
    shares: dict[str, int] = {}
    ordered = sorted(wants, key=lambda node: (wants[node], node))
    for place, node in enumerate(ordered):
        equal = -(-total // (len(ordered) - place))
        if wants[node] > equal and total // (len(ordered) - place) < least:
            for hungry in sorted(ordered[place:], key=lambda node: (-wants[node], node)):
                shares[hungry] = min(wants[hungry], least, total)
                total -= shares[hungry]
            break
        shares[node] = min(wants[node], equal)
        total -= shares[node]
    return shares


def pack_tasks(parts: Iterable[SegmentPart], size_max: int) -> list[tuple[SegmentPart, ...]]:
    """Cut *parts* into tasks of *size_max* bytes, the last one smaller; order is kept."""
    tasks: list[tuple[SegmentPart, ...]] = []
    task: list[SegmentPart] = []
    room = size_max
    for part in parts:
        low = part.low
        while low < part.high:
            high = min(part.high, low + room)
            after = part.after if low == part.low else None
            task.append(replace(part, low=low, high=high, after=after))
            room -= high - low
            low = high
            if room == 0:
                tasks.append(tuple(task))
                task, room = [], size_max
    if task:
        tasks.append(tuple(task))
    return tasks
