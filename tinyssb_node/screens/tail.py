"""Reader of the event log as it grows (docs/formats/events.md)."""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import command_for

SEGMENTS = "[0-9]*-[0-9]*.jsonl"


def event_folder(given: str | None, network: str | None = None) -> Path:
    """The folder of the node's segments. Raises ProblemError."""
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.setup import node_name, read_node_identity
    from tinyssb_node.store.home import Home

    home = Home.find(given, os.environ)
    home.require()
    place = home if network is None else home.of(read_config(home).find_network(network)[0])
    folder = place.events / node_name(read_node_identity(home).feed)
    if not folder.is_dir():
        raise ProblemError(
            "There is no event log: this node has not run yet.",
            f"Start it: {command_for(given, 'run')}",
            exit_code=ExitCode.MISSING,
        )
    return folder


def last_lines(folder: Path, count: int) -> tuple[list[bytes], "TailPosition | None"]:
    """Return the *count* newest whole lines of the segments in *folder*, and the position behind them (None: no
    segment)."""
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
    """The position in a segment where reading continues."""

    def __init__(self, path: Path, offset: int) -> None:
        self.path = path
        self.offset = offset

    def __repr__(self) -> str:
        return f"TailPosition({self.path.name!r}, {self.offset})"


def follow_lines(folder: Path, place: TailPosition | None, wait: Callable[[], None]) -> Iterator[bytes]:
    """Yield whole lines behind *place*, for ever; call *wait* when there is none. A line torn by a crash is
    left out."""
    while True:
        # Checked before the segment is read: only then is the end that is found final.
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
    """Yield whole lines of a segment behind *place*, which moves along; none if it was deleted."""
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
