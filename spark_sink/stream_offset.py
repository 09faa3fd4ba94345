"""Offset of the stream: intervals of records that have been read, by node and boot. Pure.

Segments arrive in any order, so the progress of a boot is a list of *intervals* of records without a hole, normally
one. An interval ends in the segment that brought its last records, which may still grow. Between intervals are gaps,
which close when their records arrive. docs/reference/sink.md describes how it is written.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from spark_sink import limits
from spark_sink.errors import ConfigurationError

_STOPPED: Final = 1
_CLEAN: Final = 2
_UNCLEAN: Final = 4


@dataclass(frozen=True, slots=True)
class Tail:
    """The segment that brought a run's last records, and how far it was read."""

    segment: int
    """The offset of its first record."""
    byte: int
    """Bytes from its start; a line begins there, or will."""
    print: str = ""
    """Fingerprint of its beginning and of what lies just before ``byte``: 8 hexadecimal digits. Empty: not known."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Records ``first`` to ``next - 1`` have been read."""

    first: int
    next: int
    tail: Tail | None
    """None if nothing can follow: the boot has stopped."""


@dataclass(frozen=True, slots=True)
class BootProgress:
    """Progress of reading one boot's log."""

    print: str = ""
    """Fingerprint of its very first line, empty until that is read: it differs in another boot of the same number."""
    clean: bool | None = None
    """True if the boot before ended in order, by the first record of this one; None until that is read."""
    stopped: bool = False
    """Its last record is an orderly stop."""
    runs: tuple[Interval, ...] = ()
    """In order; they have no record in common."""


@dataclass(frozen=True, slots=True)
class Advance:
    """A piece of a segment that is read next."""

    segment: int
    low: int
    high: int
    """Bytes from its start: whole lines between."""
    next: int
    """Offset of the record after it."""
    stopped: bool
    """Its last record is an orderly stop of the boot."""
    start: tuple[str, bool | None] | None = None
    """``print`` and ``clean`` of the boot, where the step begins with the boot's first record."""


@dataclass(frozen=True, slots=True)
class Gap:
    """Records of which later ones are known, but not they themselves (docs/formats/serving.md, `gaps`)."""

    node: str
    boot: int
    first_offset: int
    next_offset: int | None
    """The first record known after it; None: to the end of the boot, wherever that is."""


LogOffset: TypeAlias = Mapping[int, BootProgress]
StreamOffset: TypeAlias = Mapping[str, LogOffset]
"""Progress of all logs, by node and boot."""


def covers(boot: BootProgress, offset: int) -> bool:
    """True if record *offset* lies in a run."""
    return any(run.first <= offset < run.next for run in boot.runs)


def bound(boot: BootProgress, offset: int) -> int:
    """Return the first record after *offset* that was read already, before which a new interval has to end."""
    return min((run.first for run in boot.runs if run.first > offset), default=limits.OFFSET_MAX)


def step_on(boot: BootProgress, step: Advance) -> BootProgress:
    """Return *boot* after *step*: an interval that began in its segment grows, or there is a new one."""
    tail = Tail(step.segment, step.high)
    runs = []
    first = step.segment
    for run in boot.runs:
        if run.tail is not None and run.tail.segment == step.segment:
            first = run.first
        else:
            runs.append(run)
    runs.append(Interval(first, step.next, tail))
    print_, clean = (boot.print, boot.clean) if step.start is None else step.start
    ordered = tuple(sorted(runs, key=lambda run: (run.first, run.next)))
    return BootProgress(print_, clean, boot.stopped or step.stopped, ordered)


def join_runs(boot: BootProgress, sizes: Mapping[int, int]) -> BootProgress:
    """Make one run of those without a hole between, where the earlier one's segment is read to its end.

    *sizes*: bytes of the segments that are there, by their first offset.
    """
    runs: list[Interval] = []
    for run in boot.runs:
        before = runs[-1] if runs else None
        if before is not None and before.next == run.first and _is_read(before.tail, sizes):
            runs[-1] = replace(run, first=before.first)
        else:
            runs.append(run)
    if boot.stopped and _is_read(runs[-1].tail, sizes):
        runs[-1] = replace(runs[-1], tail=None)
    return replace(boot, runs=tuple(runs))


def _is_read(tail: Tail | None, sizes: Mapping[int, int]) -> bool:
    return tail is None or sizes.get(tail.segment, 0) <= tail.byte


def holes(first: int, end: int, known: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the parts of ``first``..``end`` that no interval of *known* covers."""
    found = []
    reached = first
    for low, high in sorted(known):
        if reached < min(low, end):
            found.append((reached, min(low, end)))
        reached = max(reached, high)
    if reached < end:
        found.append((reached, end))
    return found


def gaps(offset: StreamOffset) -> list[Gap]:
    """List missing records, node by node and in order; of each node the latest ``limits.GAPS_PER_NODE_MAX``.

    A boot's end is missing if the next boot says that it ended in order, and its last record was not read. A boot that
    ended in a crash has no end to wait for.
    """
    found: list[Gap] = []
    for node in sorted(offset):
        found += _gaps(node, offset[node])
    return found


def _gaps(node: str, boots: LogOffset) -> list[Gap]:
    newest = max(boots, default=0)
    found: list[Gap] = []
    number = newest
    while number >= 1 and len(found) < limits.GAPS_PER_NODE_MAX:
        boot = boots.get(number)
        if boot is None:
            found.append(Gap(node, number, 0, None))
        else:
            known = [(run.first, run.next) for run in boot.runs]
            end = max(high for _, high in known)
            after = boots.get(number + 1)
            if after is not None and after.clean and not boot.stopped:
                found.append(Gap(node, number, end, None))
            found += [Gap(node, number, low, high) for low, high in reversed(holes(0, end, known))]
        number -= 1
    return found[: limits.GAPS_PER_NODE_MAX][::-1]


def serialize_offset(offset: StreamOffset) -> dict[str, Any]:
    """Write *offset* as what JSON knows. Round trip: `parse_offset`."""
    nodes = {
        node: {str(number): _serialize_boot(boot) for number, boot in boots.items()}
        for node, boots in offset.items()
    }
    return {"version": limits.OFFSET_VERSION, "nodes": nodes}


def serialize_offset_text(offset: StreamOffset) -> str:
    """Write *offset* as JSON. Round trip: `parse_offset_text`."""
    return json.dumps(serialize_offset(offset))


def _serialize_boot(boot: BootProgress) -> list[Any]:
    flags = _STOPPED * boot.stopped
    if boot.clean is not None:
        flags |= _CLEAN if boot.clean else _UNCLEAN
    runs: list[Any] = [
        [run.first, run.next]
        if run.tail is None
        else [run.first, run.next, run.tail.segment, run.tail.byte, run.tail.print]
        for run in boot.runs
    ]
    return [flags, boot.print, *runs]


def parse_offset(stored: Mapping[str, Any]) -> StreamOffset:
    """Read what `serialize_offset` wrote.

    Raises ConfigurationError for that of another version; KeyError, TypeError or ValueError for what is no offset.
    """
    version = stored["version"]
    if version != limits.OFFSET_VERSION:
        raise ConfigurationError(
            f"How far each log was read is written by version {version}, and this program reads version "
            f"{limits.OFFSET_VERSION}: another program wrote it. Nothing was read. Begin again with a new database, or "
            "a new bronze: everything is made again from the logs."
        )
    return {
        node: {int(number): _parse_boot(boot) for number, boot in boots.items()}
        for node, boots in stored["nodes"].items()
    }


def parse_offset_text(text: str) -> StreamOffset:
    """Read what `serialize_offset_text` wrote. Raises ConfigurationError and others, as `parse_offset`."""
    return parse_offset(json.loads(text))


def _parse_boot(stored: list[Any]) -> BootProgress:
    flags, print_, *runs = stored
    return BootProgress(
        print=print_,
        clean=True if flags & _CLEAN else False if flags & _UNCLEAN else None,
        stopped=bool(flags & _STOPPED),
        runs=tuple(Interval(first, end, Tail(*tail) if tail else None) for first, end, *tail in runs),
    )
