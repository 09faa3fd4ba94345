"""Planner of micro-batches: from the files that exist and the offset, to parts for tasks.

A plan is fully described by its two offsets. Its parts follow from them and from the files, in the same way when it is
made and when Spark asks for it again after a crash.
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from spark_sink import limits, segment_probe
from spark_sink.log_files import LogFiles
from spark_sink.segment_choice import Oddity, ProbeCache, SegmentChoice, choose
from spark_sink.segments import Listing, Segment, SegmentPart, share_bytes
from spark_sink.stream_offset import (
    Advance,
    BootProgress,
    Interval,
    LogOffset,
    StreamOffset,
    bound,
    covers,
    holes,
    join_runs,
    step_on,
)

_NOTHING: Final = BootProgress()


class LostRecordsError(FileNotFoundError):
    """Records of a planned batch whose files are gone, as with a disk that is not mounted."""

    def __init__(self, node: str, boot: int, first: int, end: int) -> None:
        super().__init__(
            f"Records {first} to {end - 1} of boot {boot} of the node {node} were planned to be read, and are not "
            "there any more. Nothing was counted. They are read when their files are back."
        )


@dataclass(frozen=True, slots=True)
class _Unread:
    """A segment of which something is to be read."""

    segment: Segment
    low: int

    @property
    def size(self) -> int:
        """Number of its unread bytes."""
        return self.segment.size - self.low


class _LogPlan:
    """Plan of one node's log, computed again only when the log or its offset changes."""

    def __init__(self, files: LogFiles, node: str) -> None:
        self._files = files
        self._node = node
        self._memo = ProbeCache()
        self._segments: tuple[Segment, ...] | None = None
        self._boots: LogOffset | None = None
        self._choice = SegmentChoice({}, ())
        self._unread: list[_Unread] = []
        self._waiting: set[_Unread] = set()
        self.backlog = 0
        """Bytes to be read, as far as that is known without looking into files."""

    def update(self, segments: tuple[Segment, ...], boots: LogOffset) -> None:
        """Set the current files and offset. Raises OSError."""
        if segments is self._segments and boots == self._boots:
            return
        self._memo.turn()
        self._segments, self._boots = segments, boots
        self._choice = choose(self._files, self._memo, self._node, segments, boots)
        self._unread = [
            want
            for number, chosen in self._choice.segments.items()
            for want in _unread(chosen, boots.get(number, _NOTHING))
        ]
        self._waiting.intersection_update(self._unread)
        self.backlog = sum(want.size for want in self._unread) - sum(want.size for want in self._waiting)

    def take(self, share: int) -> LogOffset:
        """Return the offset after *share* more bytes, or after one line if that is more. Raises OSError."""
        assert self._boots is not None
        boots = dict(self._boots)
        room = share
        for want in self._unread:
            number = want.segment.boot
            boot = boots.get(number, _NOTHING)
            if want in self._waiting or (want.low == 0 and covers(boot, want.segment.first)):
                continue  # it has no whole line, or another segment has just brought its records
            high = want.segment.size
            if want.size > room:
                if room < share and room < limits.SHARE_MIN:
                    break
                high = want.low + room
            step = self._step(want, boot, high)
            if step is None:
                self._waiting.add(want)
                self.backlog -= want.size
                continue
            boots[number] = step_on(boot, step)
            room -= step.high - want.low
            if high < want.segment.size or room <= 0:
                break
        return {number: self._finished(number, boot) for number, boot in sorted(boots.items())}

    def _finished(self, number: int, boot: BootProgress) -> BootProgress:
        """Join the intervals of a boot, and add fingerprints of segments that may grow."""
        assert self._boots is not None
        if boot is self._boots.get(number):
            return boot
        chosen = {segment.first: segment for segment in self._choice.segments.get(number, ())}
        joined = join_runs(boot, {first: segment.size for first, segment in chosen.items()})
        return replace(joined, runs=tuple(self._printed(run, chosen) for run in joined.runs))

    def _printed(self, run: Interval, chosen: Mapping[int, Segment]) -> Interval:
        if run.tail is None or run.tail.print:
            return run
        segment = chosen[run.tail.segment]
        with suppress(FileNotFoundError):  # then it cannot have changed either
            print_ = segment_probe.tail_print(self._files, segment, run.tail.byte)
            return replace(run, tail=replace(run.tail, print=print_))
        return run

    def _step(self, want: _Unread, boot: BootProgress, high: int) -> Advance | None:
        """Return the step over whole lines up to *high*, or over one line if there is none; None if there is not
        one."""
        segment, low = want.segment, want.low
        try:
            end = self._end(segment, low, high)
            if end is None and high < segment.size:
                further = segment_probe.line_end(self._files, segment, high)
                end = None if further is None else self._end(segment, low, further)
            if end is None:
                return None
            return Advance(
                segment.first,
                low,
                end.byte,
                _next(boot, segment.first, end.next),
                end.stopped,
                self._start(segment) if (segment.first, low) == (0, 0) else None,
            )
        except FileNotFoundError:
            return None  # deleted since it was listed

    def _start(self, segment: Segment) -> tuple[str, bool | None]:
        line = segment_probe.first_line(self._files, segment) or b""
        return segment_probe.fingerprint(line), segment_probe.says_clean(line)

    def _end(self, segment: Segment, low: int, high: int) -> segment_probe.End | None:
        return self._memo.get(
            ("end", segment.path, low, high),
            lambda: segment_probe.find_end(self._files, self._node, segment, low, high),
        )

    def parts(self, end: LogOffset) -> list[SegmentPart]:
        """Return the parts between the offset and *end*. Raises LostRecordsError, OSError."""
        assert self._boots is not None
        parts: list[SegmentPart] = []
        for number, boot in end.items():
            before = self._boots.get(number, _NOTHING)
            if boot == before:
                continue
            chosen = self._choice.segments.get(number, ())
            for run in boot.runs:
                found = list(self._parts_of(run, chosen, before))
                parts += [part for part, _, _ in found]
                known = [(first, high) for _, first, high in found]
                known += [(was.first, was.next) for was in before.runs]
                for low, high in holes(run.first, run.next, known):
                    raise LostRecordsError(self._node, number, low, high)
        return parts

    def _parts_of(
        self, run: Interval, chosen: tuple[Segment, ...], before: BootProgress
    ) -> Iterator[tuple[SegmentPart, int, int]]:
        """Yield the parts that make *run* of what was read *before*, each with its first record and the one after
        it."""
        tails = {was.tail.segment: (was, was.tail) for was in before.runs if was.tail is not None}
        reached = run.first
        for segment in chosen:
            is_tail = run.tail is not None and segment.first == run.tail.segment
            if not (is_tail or reached <= segment.first < run.next or segment.first in tails):
                continue
            if segment.first < run.first or (run.tail is not None and segment.first > run.tail.segment):
                continue
            if segment.first in tails:
                was, tail = tails[segment.first]
                low, first = tail.byte, was.next
            elif covers(before, segment.first):
                continue
            else:
                low, first = 0, segment.first
            if run.tail is not None and is_tail and segment.size >= run.tail.byte:
                high, end = run.tail.byte, run.next
            else:
                found = self._end_or_none(segment, low)
                if found is None:
                    continue
                high, end = found.byte, min(run.next, _next(before, segment.first, found.next))
            reached = max(reached, end)
            if low < high:
                yield SegmentPart(self._node, segment, low, high, first - 1, end), first, end

    def _end_or_none(self, segment: Segment, low: int) -> segment_probe.End | None:
        try:
            return self._end(segment, low, segment.size)
        except FileNotFoundError:
            return None

    def behind(self) -> int:
        """Count unread bytes, without last lines that are incomplete. Raises OSError."""
        total = 0
        for want in self._unread:
            rest = want.size
            if rest <= limits.LINE_SIZE_MAX:
                end = self._end_or_none(want.segment, want.low)
                rest = 0 if end is None else end.byte - want.low
            total += rest
        return total

    def oddities(self) -> list[Oddity]:
        """List skipped files, and last lines that will not be completed. Raises OSError."""
        assert self._boots is not None
        newest = max([*self._choice.segments, *self._boots], default=0)
        found = list(self._choice.oddities)
        for number, chosen in self._choice.segments.items():
            boot = self._boots.get(number, _NOTHING)
            found += [self._oddity(segment, why) for segment, why in _overlaps(chosen, boot)]
            torn = chosen[-1:] if number < newest else ()
            for want in _unread(torn, boot):
                if self._end_or_none(want.segment, want.low) is None:
                    why = f"its last line is torn from byte {want.low} on, as after a crash: read if the rest arrives"
                    found.append(self._oddity(want.segment, why))
        return found

    def _oddity(self, segment: Segment, reason: str) -> Oddity:
        return Oddity(self._node, segment.path, reason)


def _overlaps(chosen: tuple[Segment, ...], boot: BootProgress) -> Iterator[tuple[Segment, str]]:
    """Yield segments that begin with a record which the last segment of a run has brought."""
    for run in boot.runs:
        if run.tail is None:
            continue
        for segment in chosen[bisect_right(chosen, run.tail.segment, key=lambda segment: segment.first) :]:
            if segment.first >= run.next:
                break
            why = f"its first record, {segment.first}, was already read from another segment: not counted"
            yield segment, why


def _unread(chosen: tuple[Segment, ...], boot: BootProgress) -> Iterator[_Unread]:
    """Yield the segments of a boot that have unread bytes."""
    tails = {run.tail.segment: run.tail for run in boot.runs if run.tail is not None}
    for segment in chosen:
        tail = tails.get(segment.first)
        if tail is not None:
            if segment.size > tail.byte:
                yield _Unread(segment, tail.byte)
        elif segment.size and not covers(boot, segment.first):
            yield _Unread(segment, 0)


def _next(boot: BootProgress, first: int, found: int | None) -> int:
    """Return the offset after the last record of a piece of the segment that begins with *first*."""
    reached = max(
        (run.next for run in boot.runs if run.tail is not None and run.tail.segment == first), default=first
    )
    return min(max(reached, found or 0), bound(boot, first))


class Planner:
    """Plans over the files of one place."""

    def __init__(self, files: LogFiles) -> None:
        self._files = files
        self._listing: Listing = {}
        self._logs: dict[str, _LogPlan] = {}

    def refresh(self) -> None:
        """List what is there now. Raises NoLogsFolderError; OSError if something may not be read."""
        self._listing = self._files.listing()
        self._logs = {node: self._logs.get(node) or _LogPlan(self._files, node) for node in self._listing}

    def advance(self, start: StreamOffset, bytes_max: int | None) -> StreamOffset:
        """Return the offset after the batch that follows *start*.

        The batch has at most *bytes_max* bytes, but at least one line of each log that it reads. Raises OSError.
        """
        logs = {node: log for node, log in self._updated(start) if log.backlog}
        wants = {node: log.backlog for node, log in logs.items()}
        shares = wants if bytes_max is None else share_bytes(wants, bytes_max, limits.SHARE_MIN)
        taken = {node: logs[node].take(share) for node, share in shares.items() if share}
        return {**start, **{node: boots for node, boots in taken.items() if boots}}

    def parts(self, start: StreamOffset, end: StreamOffset) -> list[SegmentPart]:
        """Return the parts of a batch, in order of node and segment. Raises LostRecordsError if a file that was there
        when it was planned is gone; OSError.
        """
        parts: list[SegmentPart] = []
        for node, boots in sorted(end.items()):
            if boots == start.get(node):
                continue
            log = self._logs.get(node) or _LogPlan(self._files, node)
            log.update(self._listing.get(node, ()), start.get(node, {}))
            parts += log.parts(boots)
        return parts

    def bytes_behind(self, offset: StreamOffset) -> int:
        """Count the bytes that exist and were not read yet. Raises OSError."""
        return sum(log.behind() for _, log in self._updated(offset))

    def bytes_listed(self) -> int:
        """Count the bytes of all files."""
        return sum(segment.size for segments in self._listing.values() for segment in segments)

    def oddities(self, offset: StreamOffset) -> list[Oddity]:
        """List skipped files by node, with reasons; unreadable folders belong to no node. Raises OSError."""
        found = [oddity for _, log in self._updated(offset) for oddity in log.oddities()]
        return found + [Oddity("", path, reason) for path, reason in self._files.passed_over()]

    def _updated(self, offset: StreamOffset) -> Iterator[tuple[str, _LogPlan]]:
        for node, log in self._logs.items():
            log.update(self._listing[node], offset.get(node, {}))
            yield node, log
