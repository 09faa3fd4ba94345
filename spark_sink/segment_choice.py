"""Choice of a node's files: which are read, and which are skipped and why."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, TypeVar

from spark_sink import segment_probe
from spark_sink.log_files import LogFiles
from spark_sink.segments import Segment
from spark_sink.stream_offset import BootProgress, LogOffset, Tail

Found = TypeVar("Found")
_NOTHING: Final = BootProgress()


@dataclass(frozen=True, slots=True)
class Oddity:
    """A file of which not all is counted (docs/formats/serving.md, `oddities`)."""

    node: str
    path: str
    reason: str


@dataclass(slots=True)
class ProbeCache:
    """Cache of what was found in files: read again only for files that changed, dropped when no longer asked for."""

    _new: dict[Hashable, Any] = field(default_factory=dict)
    _old: dict[Hashable, Any] = field(default_factory=dict)

    def turn(self) -> None:
        """Forget what was not asked for since the last turn."""
        self._old, self._new = self._new, {}

    def get(self, key: Hashable, find: Callable[[], Found]) -> Found:
        """Return the result of *find* for *key*."""
        if key not in self._new:
            self._new[key] = self._old[key] if key in self._old else find()
        return self._new[key]  # type: ignore[no-any-return] # what find gave for the key


@dataclass(frozen=True, slots=True)
class SegmentChoice:
    """A node's files to read from."""

    segments: Mapping[int, tuple[Segment, ...]]
    """Segments by boot, in order of their first offsets, each once."""
    oddities: tuple[Oddity, ...]


def choose(
    files: LogFiles, memo: ProbeCache, node: str, segments: Iterable[Segment], boots: LogOffset
) -> SegmentChoice:
    """Choose each segment once. Raises OSError.

    A folder may have another first line for a boot than the boot that was counted, or than another folder has. Then it
    holds another boot of the same number, as after a node was set up again with the same key; none of that boot is read
    from it. Of two files with one name the longer is chosen if it continues the other, else one of them.
    """
    chosen: dict[int, tuple[Segment, ...]] = {}
    chooser = _Chooser(files, memo, node)
    for number, of_boot in groupby(segments, key=lambda segment: segment.boot):
        chosen[number] = chooser.boot(list(of_boot), boots.get(number, _NOTHING))
    return SegmentChoice(chosen, tuple(chooser.oddities))


class _Chooser:
    def __init__(self, files: LogFiles, memo: ProbeCache, node: str) -> None:
        self._files = files
        self._memo = memo
        self._node = node
        self.oddities: list[Oddity] = []

    def boot(self, segments: list[Segment], boot: BootProgress) -> tuple[Segment, ...]:
        strange = self._strange_folders([segment for segment in segments if segment.first == 0], boot)
        tails = {run.tail.segment: run.tail for run in boot.runs if run.tail is not None}
        taken = []
        for first, same in groupby(segments, key=lambda segment: segment.first):
            segment = self._one_of(
                [segment for segment in same if segment.folder not in strange], tails.get(first)
            )
            taken += [segment] if segment else []
        return tuple(taken)

    def _strange_folders(self, starts: list[Segment], boot: BootProgress) -> set[str]:
        """Return folders whose log of this boot differs from the one that is counted."""
        if not boot.print and len(starts) < 2:
            return set()
        lines = {segment: line for segment in starts if (line := self._first_line(segment)) is not None}
        if not lines:
            return set()
        known = boot.print
        if not known:
            known = segment_probe.fingerprint(min(lines.items(), key=lambda item: (item[1], item[0].path))[1])
        strange = [segment for segment, line in lines.items() if segment_probe.fingerprint(line) != known]
        for segment in strange:
            self._note(
                segment,
                f"this folder has another log of boot {segment.boot} than the one that is counted, as after the node "
                "was set up again: this boot is not counted from here",
            )
        return {segment.folder for segment in strange}

    def _one_of(self, same: list[Segment], tail: Tail | None) -> Segment | None:
        """Return the file to read a segment from; None if none continues what was read."""
        fitting = same if tail is None else [segment for segment in same if self._fits(segment, tail)]
        if not fitting:
            self._say_why(same, tail)
            return None
        if len(same) == 1:
            return same[0]
        best = min(fitting, key=lambda segment: (self._first_line(segment) or b"\xff", segment.path))
        alike = [segment for segment in same if segment == best or self._alike(best, segment)]
        for segment in same:
            if segment not in alike:
                self._note(
                    segment,
                    f"its records differ from those at the same positions in {best.path}: not counted",
                )
        return max(alike, key=lambda segment: segment.size)

    def _fits(self, segment: Segment, tail: Tail) -> bool:
        """True if it can be the file that was read up to *tail*, which grew since."""
        if segment.size <= tail.byte:
            return segment.size == tail.byte
        if not tail.print:
            return True
        key = ("tail", segment.path, segment.size, tail.byte)
        found = self._memo.get(key, lambda: segment_probe.tail_print(self._files, segment, tail.byte))
        return found in {tail.print, ""}

    def _say_why(self, same: list[Segment], tail: Tail | None) -> None:
        for segment in same:
            assert tail is not None  # without one, any file fits
            if segment.size < tail.byte:
                reason = f"it shrank to {segment.size} bytes after {tail.byte} had been read"
            else:
                reason = f"its beginning changed after {tail.byte} bytes had been read"
            self._note(segment, f"{reason}: records counted before stay, and nothing more is read from it")

    def _first_line(self, segment: Segment) -> bytes | None:
        return self._memo.get(
            ("first", segment.path, segment.size), lambda: segment_probe.first_line(self._files, segment)
        )

    def _alike(self, one: Segment, other: Segment) -> bool:
        key = ("alike", one.path, one.size, other.path, other.size)
        return self._memo.get(key, lambda: segment_probe.begins_alike(self._files, one, other))

    def _note(self, segment: Segment, reason: str) -> None:
        self.oddities.append(Oddity(self._node, segment.path, reason))
