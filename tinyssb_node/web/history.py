"""History of a week by the node's own event log: sums by the hour (docs/decisions/0079-history-from-the-log.md).

A log may have a gigabyte. So it is read piece by piece, each time somebody looks, the newest segment first; only the
sums are kept, and how far each segment was read.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

import msgspec

from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.store.limits import STORE_PACKET_BYTES

HOURS: Final = 7 * 24
"""Hours of the history, the current one included."""
HOUR_US: Final = 3_600_000_000
_PIECE_BYTES: Final = 65_536
"""Bytes parsed at a time: some hundred lines, less than a millisecond in which other threads wait."""


class _Record(msgspec.Struct):
    """Fields of a record that are summed up."""

    kind: str
    t_us: int
    origin: str = ""
    verdict: str = ""
    airtime_us: int = 0
    count: int = 1


_DECODER: Final = msgspec.json.Decoder(_Record)


@dataclass(slots=True)
class HourSums:
    """Sums of an hour, by the node's clock."""

    own: int = 0
    """Entries that were written here."""
    others: int = 0
    """Entries that came from neighbours, or out of files."""
    sent_us: int = 0
    """Airtime of packets sent."""
    heard_us: int = 0
    """Airtime of packets heard."""
    new: int = 0
    """Packets heard that told something new."""
    known: int = 0
    """All other packets heard."""
    stored_bytes: int = 0
    """Room that new entries and chunks take in the store."""
    log_bytes: int = 0
    """Bytes of the log; 0: the node was off."""

    def add(self, record: _Record, size: int) -> None:
        """Add a record of *size* bytes."""
        self.log_bytes += size
        kind = record.kind
        if kind in {"rx", "rx_more"}:
            self.heard_us += record.airtime_us
            if record.verdict == "new":
                self.new += record.count
            else:
                self.known += record.count
        elif kind == "tx":
            self.sent_us += record.airtime_us
        elif kind == "entry":
            self.stored_bytes += STORE_PACKET_BYTES
            if record.origin == "own":
                self.own += 1
            else:
                self.others += 1
        elif kind == "chunk":
            self.stored_bytes += STORE_PACKET_BYTES


class EventHistory:
    """Sums over the log in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[Path, int] = {}
        """Bytes of each segment that were read."""
        self._hours: dict[int, HourSums] = {}
        """Sums by hours since 1970."""
        self._last = 0

    def read(self, now_us: int, enough: Callable[[], bool]) -> float:
        """Read on until all is read, or it is *enough*. Return which share of the week's log has been read.

        Raises OSError.
        """
        self._last = now_us // HOUR_US
        self._hours = {hour: sums for hour, sums in self._hours.items() if self._covers(hour)}
        sizes = self._sizes()
        self._places = {path: self._places.get(path, 0) for path in sizes}
        newest = next(reversed(sizes), None)
        for path in reversed(sizes):
            if self._places[path] < sizes[path]:
                self._read_segment(path, enough, grows=path == newest)
            if enough():
                break
        total = sum(sizes.values())
        return min(1.0, sum(self._places.values()) / total) if total else 1.0

    def columns(self) -> dict[str, list[int]]:
        """Return the sums of the last `HOURS` hours, the oldest first, by the names of `HourSums`."""
        empty = HourSums()
        rows = [self._hours.get(hour, empty) for hour in range(self._last - HOURS + 1, self._last + 1)]
        return {field.name: [getattr(row, field.name) for row in rows] for field in fields(HourSums)}

    @property
    def first_us(self) -> int:
        """When the first of these hours begins."""
        return (self._last - HOURS + 1) * HOUR_US

    def _covers(self, hour: int) -> bool:
        return self._last - HOURS < hour <= self._last

    def _sizes(self) -> dict[Path, int]:
        """Return the size of each segment that was written to within the week, in order of writing."""
        sizes = {}
        for segment in segments(self._folder):
            try:
                status = segment.path.stat()
            except FileNotFoundError:
                continue  # retention deleted it
            if status.st_mtime_ns // 1_000 // HOUR_US > self._last - HOURS:
                sizes[segment.path] = status.st_size
        return sizes

    def _read_segment(self, path: Path, enough: Callable[[], bool], *, grows: bool) -> None:
        """Read on in a segment. The end of the last line may be yet to come if it *grows*."""
        try:
            file = path.open("rb")
        except FileNotFoundError:
            self._places[path] = 0
            return
        with file:
            file.seek(self._places[path])
            while not enough() and (piece := file.read(_PIECE_BYTES)):
                whole = piece.rfind(b"\n") + 1
                self._add(piece[:whole])
                if whole == 0:  # a line has 4,096 bytes at most: this one was torn off, or is being written
                    if not grows or len(piece) == _PIECE_BYTES:
                        self._places[path] += len(piece)
                        continue
                    return
                self._places[path] += whole
                file.seek(self._places[path])

    def _add(self, lines: bytes) -> None:
        records = _parse(lines)
        for record in records:
            hour = record.t_us // HOUR_US
            if self._covers(hour):  # a clock may be wrong
                self._hours.setdefault(hour, HourSums()).add(record, len(lines) // len(records))


def _parse(lines: bytes) -> list[_Record]:
    """Parse whole lines; those that are no records are left out."""
    try:
        return _DECODER.decode_lines(lines)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return [record for line in lines.splitlines() if (record := _parse_line(line)) is not None]


def _parse_line(line: bytes) -> _Record | None:
    try:
        return _DECODER.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def until(seconds: float) -> Callable[[], bool]:
    """Return a function that is true once these *seconds* are over."""
    end_s = time.monotonic() + seconds
    return lambda: time.monotonic() >= end_s
