"""Reading the event log as it grows (docs/formats/events.md)."""

from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

SEGMENTS = "[0-9]*-[0-9]*.jsonl"


def last_lines(folder: Path, count: int) -> tuple[list[bytes], "Place | None"]:
    """The *count* newest whole lines of the segments in *folder*, and the place behind them (None: no segment)."""
    lines: deque[bytes] = deque(maxlen=count)
    place: Place | None = None
    for path in sorted(folder.glob(SEGMENTS), reverse=True):
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        place = place or Place(path, len(whole))
        lines.extendleft(reversed(whole.splitlines()[-(count - len(lines)) :]))
        if len(lines) == count:
            break
    return list(lines), place


class Place:
    """Where reading of a segment goes on."""

    def __init__(self, path: Path, offset: int) -> None:
        self.path = path
        self.offset = offset

    def __repr__(self) -> str:
        return f"Place({self.path.name!r}, {self.offset})"


def follow_lines(folder: Path, place: Place | None, wait: Callable[[], None]) -> Iterator[bytes]:
    """Whole lines behind *place*, for ever; calls *wait* whenever there is none. A line torn by a crash is left out."""
    while True:
        found = False
        if place is not None:
            with place.path.open("rb") as segment:
                segment.seek(place.offset)
                for line in segment:
                    if not line.endswith(b"\n"):
                        break
                    place.offset += len(line)
                    found = True
                    yield line.rstrip(b"\n")
        if not found:
            following = _next_segment(folder, place)
            if following is None:
                wait()
            else:
                place = Place(following, 0)


def _next_segment(folder: Path, place: Place | None) -> Path | None:
    later = (path for path in folder.glob(SEGMENTS) if place is None or path.name > place.path.name)
    return min(later, default=None)
