"""What to read next: pure planning over a listing of segments, no files and no Spark.

A position in a node's log is a segment and a byte in it. A range of bytes owns the lines that *begin* in it, so a log
may be cut anywhere, between batches and between tasks, and every line is read exactly once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spark_sink.errors import SegmentShrunkError, SegmentVanishedError


@dataclass(frozen=True, slots=True)
class Segment:
    """A file of a node's log, as it was when the folder was listed."""

    name: str
    """``<boot>-<first offset>.jsonl``; names sort in order of writing."""
    size: int
    """Bytes that may be read: all of a final segment, the last one only up to its last line feed."""
    next_offset: int | None = None
    """Of the last segment: the offset its boot's next record will have, None if that is not known."""
    stopped: bool = False
    """Of the last segment: its last record says that the boot ended."""

    @property
    def boot(self) -> int:
        """Number of the boot that wrote it."""
        return int(self.name[:8])

    @property
    def first_offset(self) -> int:
        """The offset of its first record."""
        return int(self.name[9:21])


@dataclass(frozen=True, slots=True)
class Position:
    """Everything before this place has been read."""

    segment: str
    """Name of the segment."""
    byte: int
    """Bytes from its start."""
    next_offset: int | None = None
    """Offset of the boot's next record, where this was the end of all that had been written."""
    stopped: bool = False
    """No record of this boot can follow."""

    def before(self, other: "Position") -> bool:
        """True if there is something between this place and *other*."""
        return (self.segment, self.byte) < (other.segment, other.byte)


@dataclass(frozen=True, slots=True)
class ByteRange:
    """Lines of one segment that begin at ``low`` or later and before ``high``."""

    node: str
    segment: str
    low: int
    high: int

    @property
    def size(self) -> int:
        """Bytes in it."""
        return self.high - self.low


@dataclass(frozen=True, slots=True)
class Lost:
    """Records that were deleted, or taken back, before they were read."""

    node: str
    segment: str
    byte: int
    """Where reading had come to."""
    reason: str


Listing = Mapping[str, Sequence[Segment]]
"""By node, its segments in order of writing, at least one."""
Offset = Mapping[str, Position]
"""By node, how far its log has been read."""


def locate(
    listing: Listing, start: Offset, *, forgive: bool = False
) -> tuple[dict[str, Position], list[Lost]]:
    """Find the place of every node of *listing*, after checking that all that follows *start* is still there.

    A segment that retention deleted after it was wholly read is passed over. Where something unread is gone, raises
    SegmentVanishedError or SegmentShrunkError; with *forgive* it goes on with what is left and says what is lost.
    """
    places: dict[str, Position] = {}
    lost: list[Lost] = []
    for node in sorted(start.keys() | listing.keys()):
        segments = listing.get(node, ())
        position = start.get(node)
        if position is None:
            places[node] = Position(segments[0].name, 0)
            continue
        try:
            places[node] = _find(node, segments, position)
        except (SegmentVanishedError, SegmentShrunkError) as error:
            if not forgive:
                raise
            lost.append(Lost(node, position.segment, position.byte, error.short))
            later = [segment for segment in segments if segment.name > position.segment]
            if later:
                places[node] = Position(later[0].name, 0)
    return places, lost


def _find(node: str, segments: Sequence[Segment], position: Position) -> Position:
    """The place of *position* in *segments*. Raises SegmentVanishedError, SegmentShrunkError."""
    for segment in segments:
        if segment.name == position.segment:
            if segment.size < position.byte:
                raise SegmentShrunkError(node, segment.name, position.byte, segment.size)
            return position
        if segment.name > position.segment and _follows(segment, position):
            return Position(segment.name, 0)
    raise SegmentVanishedError(node, position.segment)


def _follows(segment: Segment, position: Position) -> bool:
    """True if *segment* begins with the very record that *position* waits for."""
    if segment.boot == int(position.segment[:8]):
        return segment.first_offset == position.next_offset
    return position.stopped


def advance(listing: Listing, places: Offset, bytes_max: int | None = None) -> dict[str, Position]:
    """Where the next batch ends: as far as there is something to read, *bytes_max* bytes at most.

    The bytes are dealt out fairly: what a node does not need goes to those that are further behind.
    """
    backlog = {node: _size_after(listing[node], place) for node, place in places.items()}
    shares = backlog if bytes_max is None else fair_shares(backlog, bytes_max)
    return {node: _advance(listing[node], place, shares[node]) for node, place in places.items()}


def size_before(listing: Listing, offset: Offset) -> int:
    """Bytes of *listing* that lie before *offset*."""
    total = sum(segment.size for segments in listing.values() for segment in segments)
    after = sum(
        max(0, _size_after(listing[node], place)) for node, place in offset.items() if node in listing
    )
    unread = sum(segment.size for node in listing.keys() - offset.keys() for segment in listing[node])
    return total - after - unread


def fair_shares(wants: Mapping[str, int], total: int) -> dict[str, int]:
    """Deal *total* out so that nobody gets more than wanted and nobody with less than wanted gets less than others."""
    shares: dict[str, int] = {}
    for count, node in enumerate(sorted(wants, key=lambda node: (wants[node], node))):
        share = min(wants[node], -(-total // (len(wants) - count)))
        shares[node] = share
        total -= share
    return shares


def _size_after(segments: Sequence[Segment], place: Position) -> int:
    return sum(segment.size for segment in segments if segment.name >= place.segment) - place.byte


def _advance(segments: Sequence[Segment], place: Position, share: int) -> Position:
    """The place *share* bytes later; the end of a final segment is the beginning of the next one."""
    remaining = [segment for segment in segments if segment.name >= place.segment]
    low = place.byte
    for segment in remaining[:-1]:
        if share < segment.size - low:
            return Position(segment.name, low + share)
        share -= segment.size - low
        low = 0
    last = remaining[-1]
    if share < last.size - low:
        return Position(last.name, low + share)
    return Position(last.name, last.size, last.next_offset, last.stopped)


def ranges(listing: Listing, places: Offset, end: Offset) -> list[ByteRange]:
    """What lies between *places* and *end*, by node and in order of writing.

    Raises SegmentVanishedError, SegmentShrunkError if the end of it is gone, as after a restart.
    """
    found: list[ByteRange] = []
    for node, stop in end.items():
        place = places.get(node, stop)
        if not place.before(stop):
            continue
        sizes = {segment.name: segment.size for segment in listing[node]}
        if stop.segment not in sizes:
            raise SegmentVanishedError(node, stop.segment)
        if sizes[stop.segment] < stop.byte:
            raise SegmentShrunkError(node, stop.segment, stop.byte, sizes[stop.segment])
        for name, size in sizes.items():
            low = place.byte if name == place.segment else 0
            high = stop.byte if name == stop.segment else size
            if place.segment <= name <= stop.segment and low < high:
                found.append(ByteRange(node, name, low, high))
    return found


def pack(parts: Iterable[ByteRange], size_max: int) -> list[tuple[ByteRange, ...]]:
    """Cut *parts* into tasks of *size_max* bytes, the last one smaller; order is kept."""
    tasks: list[tuple[ByteRange, ...]] = []
    task: list[ByteRange] = []
    room = size_max
    for part in parts:
        low = part.low
        while low < part.high:
            high = min(part.high, low + room)
            task.append(ByteRange(part.node, part.segment, low, high))
            room -= high - low
            low = high
            if room == 0:
                tasks.append(tuple(task))
                task, room = [], size_max
    if task:
        tasks.append(tuple(task))
    return tasks


def parse_offset(stored: Mapping[str, Any]) -> Offset:
    """Read what `serialize_offset` wrote: Spark keeps it as JSON in its checkpoint."""
    return {
        node: Position(place["segment"], place["byte"], place.get("next_offset"), place["stopped"])
        for node, place in stored["nodes"].items()
    }


def serialize_offset(offset: Offset) -> dict[str, Any]:
    """Write *offset* as nested dictionaries of texts, integers and truth values (all that Spark allows)."""
    nodes: dict[str, dict[str, str | int | bool]] = {}
    for node, place in offset.items():
        nodes[node] = {"segment": place.segment, "byte": place.byte, "stopped": place.stopped}
        if place.next_offset is not None:
            nodes[node]["next_offset"] = place.next_offset
    return {"version": 1, "nodes": nodes}
