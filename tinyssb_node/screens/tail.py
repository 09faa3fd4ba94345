"""Reading the event log as it grows (docs/formats/events.md)."""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

SEGMENTS = "[0-9]*-[0-9]*.jsonl"


def last_lines(folder: Path, count: int) -> tuple[list[bytes], "TailPosition | None"]:
    """The *count* newest whole lines of the segments in *folder*, and the place behind them (None: no segment)."""
    lines: deque[bytes] = deque(maxlen=count)
    place: TailPosition | None = None
    for path in sorted(folder.glob(SEGMENTS), reverse=True):
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        place = place or TailPosition(path, len(whole))
        lines.extendleft(reversed(whole.splitlines()[-(count - len(lines)) :]))
        if len(lines) == count:
            break
    return list(lines), place


class TailPosition:
    """Where reading of a segment goes on."""

    def __init__(self, path: Path, offset: int) -> None:
        self.path = path
        self.offset = offset

    def __repr__(self) -> str:
        return f"Place({self.path.name!r}, {self.offset})"


def follow_lines(folder: Path, place: TailPosition | None, wait: Callable[[], None]) -> Iterator[bytes]:
    """Whole lines behind *place*, for ever; calls *wait* where there is none. A line torn by a crash is left out."""
    while True:
        # Looked for before the segment is read: only then is the end that is found its last one.
        following = _next_segment(folder, place)
        found = False
        for line in () if place is None else _lines_behind(place):
            found = True
            yield line
        if following is not None:
            place = TailPosition(following, 0)
        elif not found:
            wait()


def _lines_behind(place: TailPosition) -> Iterator[bytes]:
    """Whole lines of a segment behind *place*, which moves with them; none if it was deleted."""
    with suppress(FileNotFoundError), place.path.open("rb") as segment:
        segment.seek(place.offset)
        for line in segment:
            if not line.endswith(b"\n"):
                return
            place.offset += len(line)
            yield line.rstrip(b"\n")


def _next_segment(folder: Path, place: TailPosition | None) -> Path | None:
    later = (path for path in folder.glob(SEGMENTS) if place is None or path.name > place.path.name)
    return min(later, default=None)
