"""The files of an event log: their names, their retention, and where the log resumes after a start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from tinyssb_node.codec.event_records import (
    BOOT_DIGITS,
    MARK,
    OFFSET_DIGITS,
    SEGMENT_SUFFIX,
    STOP,
    segment_name,
)


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    """One file of a log; sorts in order of writing."""

    boot: int
    """The boot that wrote it."""
    first_offset: int
    """The offset of its first record."""
    path: Path
    """Where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumePoint:
    """How far a log had come before this boot."""

    boot: int
    """The highest boot that wrote to it, 0 for none."""
    arrival: int
    """It has records of entries and chunks up to this arrival number, 0 for none."""
    clean: bool
    """True if that boot ended in order, or there was none."""


class _Record(msgspec.Struct):
    """The fields that matter at start."""

    kind: str
    arrival: int | None = None


def segment_path(folder: Path, boot: int, first_offset: int) -> Path:
    """Return the path of the segment of *boot* that begins with *first_offset*."""
    return folder / segment_name(boot, first_offset)


def segments(folder: Path) -> list[Segment]:
    """Return all segments in *folder*, in order of writing; files with other names are ignored."""
    found = (_parse_path(path) for path in folder.glob(f"*{SEGMENT_SUFFIX}"))
    return sorted(segment for segment in found if segment is not None)


def _parse_path(path: Path) -> Segment | None:
    boot, _, first_offset = path.stem.partition("-")
    if len(boot) != BOOT_DIGITS or len(first_offset) != OFFSET_DIGITS:
        return None
    if not (boot + first_offset).isdecimal():
        return None
    return Segment(int(boot), int(first_offset), path)


def _counted(arrival: int) -> int | None:
    return arrival + 1


def read_resume_point(
    folder: Path, since_boot: int, next_arrival: Callable[[int], int | None] = _counted
) -> ResumePoint:
    """Read as much of the log in *folder* as needed; arrival numbers are valid from boot *since_boot* on.

    *next_arrival* returns the arrival number that follows another one in the store, None if none does; without it no
    number is missing. The last segment is enough unless its first lines were lost. Raises OSError, and what
    *next_arrival* does.
    """
    next_arrival = cache(next_arrival)
    found = segments(folder)
    if not found:
        return ResumePoint(boot=0, arrival=0, clean=True)
    boot = found[-1].boot
    arrival, clean = _read(found[-1].path, next_arrival)
    for segment in reversed(found[:-1]):
        if arrival is not None or segment.boot < since_boot:
            break
        arrival, _ = _read(segment.path, next_arrival)
    return ResumePoint(boot=boot, arrival=0 if arrival is None or boot < since_boot else arrival, clean=clean)


def _read(path: Path, next_arrival: Callable[[int], int | None]) -> tuple[int | None, bool]:
    """Return the last arrival number up to which nothing is missing, None if the segment does not say where it began;
    and whether it ends with a stop record.

    It is read from the front: a power cut may remove lines from the middle, too. Records after a gap count only if the
    store has nothing in that gap.
    """
    last: int | None = None
    line = b""
    with path.open("rb") as file:
        for line in file:
            record = _parse(line) if b'"arrival":' in line else None
            if record is None or record.arrival is None:
                continue
            if record.kind == MARK or (last is not None and _follows(record.arrival, last, next_arrival)):
                last = record.arrival
    record = _parse(line)
    return last, record is not None and record.kind == STOP


def _follows(arrival: int, last: int, next_arrival: Callable[[int], int | None]) -> bool:
    """Return True if the store has nothing between *last* and *arrival*."""
    if arrival <= last + 1:
        return arrival == last + 1
    following = next_arrival(last)
    return following is None or following >= arrival


def _parse(line: bytes) -> _Record | None:
    """Parse a line; None for one that is torn or malformed."""
    if not line.endswith(b"\n"):
        return None
    try:
        return msgspec.json.decode(line, type=_Record)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


class Retention:
    """Deletion of a folder's segments, oldest first, when they are too large together or too old; never of the last.

    The age of a segment is that of its last change by the wall clock, which may be wrong. So a segment is deleted for
    its age only after every sweep during a day found it too old, by a clock that never jumps: in a
    day a wrong clock may be set right.
    """

    def __init__(self, folder: Path, *, bytes_max: int, age_max_us: int) -> None:
        """Begin without sweeps of earlier boots, which had another clock."""
        self._folder, self._bytes_max, self._age_max_us = folder, bytes_max, age_max_us
        self._old_since_us: dict[Path, int] = {}
        """When a segment was first found too old, by the clock that never jumps, if each sweep since found it so."""

    def sweep(self, now_us: int, mono_us: int) -> None:
        """Delete segments; *now_us* is the wall clock's time, *mono_us* that since the boot began. Raises OSError."""
        found = [(segment.path, segment.path.stat()) for segment in segments(self._folder)]
        self._old_since_us = {
            path: self._old_since_us.get(path, mono_us)
            for path, status in found
            if now_us - status.st_mtime_ns // 1_000 > self._age_max_us
        }
        total = sum(status.st_size for _, status in found)
        for path, status in found[:-1]:
            old_us = mono_us - self._old_since_us.get(path, mono_us)
            if total <= self._bytes_max and old_us < 86_400 * 1_000_000:
                return
            path.unlink()
            total -= status.st_size
