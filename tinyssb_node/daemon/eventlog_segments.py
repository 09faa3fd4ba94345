"""The files of an event log: their names, how long they stay, and what the last one says at start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from tinyssb_node import limits
from tinyssb_node.eventrecords import (
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
    """What a log says of the time before."""

    boot: int
    """The highest boot that wrote in it, 0 for none."""
    arrival: int
    """Records of entries and chunks are there up to this arrival number, 0 for none."""
    clean: bool
    """True if that boot ended in order, or there was none."""


class _Record(msgspec.Struct):
    """The fields that matter at start."""

    kind: str
    arrival: int | None = None


def segment_path(folder: Path, boot: int, first_offset: int) -> Path:
    """Where the segment of *boot* that begins with *first_offset* is kept."""
    return folder / segment_name(boot, first_offset)


def segments(folder: Path) -> list[Segment]:
    """All segments in *folder*, in order of writing; files with other names are not ours."""
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
    folder: Path, since_boot: int, next_held: Callable[[int], int | None] = _counted
) -> ResumePoint:
    """Read as much of the log in *folder* as it takes; arrival numbers count from *since_boot* on.

    *next_held* says which arrival number comes next in the store after one, None if none does; without it none is
    missing. The last segment is enough unless its first lines were lost. Raises OSError, and what *next_held* does.
    """
    next_held = cache(next_held)
    there = segments(folder)
    if not there:
        return ResumePoint(boot=0, arrival=0, clean=True)
    boot = there[-1].boot
    arrival, clean = _read(there[-1].path, next_held)
    for segment in reversed(there[:-1]):
        if arrival is not None or segment.boot < since_boot:
            break
        arrival, _ = _read(segment.path, next_held)
    return ResumePoint(boot=boot, arrival=0 if arrival is None or boot < since_boot else arrival, clean=clean)


def _read(path: Path, next_held: Callable[[int], int | None]) -> tuple[int | None, bool]:
    """The last arrival number up to which nothing is missing, None if the segment does not say where it began; and
    whether it ends with a stop.

    Read from the front: a power cut may take lines out of the middle too, and what follows a gap counts for nothing,
    unless the store has nothing in that gap.
    """
    last: int | None = None
    line = b""
    with path.open("rb") as file:
        for line in file:
            record = _parse(line) if b'"arrival":' in line else None
            if record is None or record.arrival is None:
                continue
            if record.kind == MARK or (last is not None and _follows(record.arrival, last, next_held)):
                last = record.arrival
    record = _parse(line)
    return last, record is not None and record.kind == STOP


def _follows(arrival: int, last: int, next_held: Callable[[int], int | None]) -> bool:
    """True if the store holds nothing between *last* and *arrival*."""
    if arrival <= last + 1:
        return arrival == last + 1
    held = next_held(last)
    return held is None or held >= arrival


def _parse(line: bytes) -> _Record | None:
    """What a line says; None for a line that is torn or broken."""
    if not line.endswith(b"\n"):
        return None
    try:
        return msgspec.json.decode(line, type=_Record)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


class Retention:
    """Deletes the segments of a folder, oldest first, that are too many bytes or too old; never the last.

    A segment is as old as its last change, by the wall clock, which may be wrong: it goes only once each sweep of so
    long (``limits.EVENT_RETENTION_SURE_US``, by a clock that never jumps) found it too old.
    """

    def __init__(self, folder: Path, *, bytes_max: int, age_max_us: int) -> None:
        """Without a memory of sweeps before: those of an earlier boot had another clock."""
        self._folder, self._bytes_max, self._age_max_us = folder, bytes_max, age_max_us
        self._old_since_us: dict[Path, int] = {}
        """When a segment was first found too old, by the clock that never jumps, and then each time."""

    def sweep(self, now_us: int, mono_us: int) -> None:
        """Delete what is to go; *now_us* is the wall clock's, *mono_us* since the boot began. Raises OSError."""
        there = [(segment.path, segment.path.stat()) for segment in segments(self._folder)]
        self._old_since_us = {
            path: self._old_since_us.get(path, mono_us)
            for path, status in there
            if now_us - status.st_mtime_ns // 1_000 > self._age_max_us
        }
        total = sum(status.st_size for _, status in there)
        for path, status in there[:-1]:
            old_us = mono_us - self._old_since_us.get(path, mono_us)
            if total <= self._bytes_max and old_us < limits.EVENT_RETENTION_SURE_US:
                return
            path.unlink()
            total -= status.st_size
