"""``tinyssb-sink compact``: segments that will not grow any more become files of an archive (docs/formats/archive.md).

Files are written one at a time, whole, read back, and only then named. What is archived is looked up in the files that
are there; so a run that was cut off is finished by the next one. Segments are deleted last.
"""

import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa

from spark_sink import limits, segment_probe
from spark_sink.archive.disk import Disk
from spark_sink.archive.footer import Chains, serialize_footer
from spark_sink.archive.pieces import ChangedError, NewPiece, Unarchived, cut_segment, cut_together, day_name
from spark_sink.errors import BusyError, StorageError
from spark_sink.log_files import LocalLogFiles
from spark_sink.segment_choice import ProbeCache, choose
from spark_sink.segments import ARCHIVED, DAY, Listing, Segment
from spark_sink.stream_offset import BootProgress

_LOCK: Final = "compact.lock"
_HOUR_S: Final = 3_600
_NOT_WHOLE: Final = ".*.parquet"
_Key: TypeAlias = tuple[str, int, int]
"""Node, boot, and the offset in the segment's name."""


@dataclass(frozen=True, slots=True)
class CompactOptions:
    """Options of one compaction."""

    logs: Path
    archive: Path
    now_s: float
    """This machine's clock, in seconds since 1970."""
    older_than_h: float = 24.0
    """Hours that a segment must not have changed before it is archived: transfers take less than the default."""
    delete: bool = False
    """Delete segments that are archived."""
    forget_days: int | None = None
    """Delete the archive's days that are longer ago than this; None: keep them all."""


@dataclass(slots=True)
class CompactSummary:
    """Counts of what one compaction did."""

    segments: int = 0
    """Archived, wholly or the rest of them."""
    records: int = 0
    """Rows written: records, and lines that are none."""
    log_bytes: int = 0
    """Bytes of segments that were archived."""
    files: int = 0
    file_bytes: int = 0
    """Bytes of the files that were written."""
    deleted: int = 0
    """Segments deleted."""
    kept: int = 0
    """Segments that cannot be archived: other logs for the same records, or changed while they were read."""
    forgotten: int = 0
    """Days deleted."""


def compact(order: CompactOptions, disk: Disk | None = None) -> CompactSummary:
    """Archive closed segments, then delete what was asked for.

    Raises NoLogsFolderError; BusyError, StorageError: then what was archived is kept.
    """
    disk = Disk() if disk is None else disk
    try:
        disk.make_folder(order.archive)
        with _locked(order.archive):
            for torn in order.archive.glob(f"day=*/{_NOT_WHOLE}"):
                disk.delete(torn)
            done = CompactSummary()
            _Compaction(order, disk, done).run()
            if order.delete:
                _delete_archived(order, disk, done)
            if order.forget_days is not None:
                _forget(order, order.forget_days, disk, done)
            return done
    except (OSError, pa.ArrowException) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _failed(order.archive, reason) from error


def _failed(archive: Path, reason: str) -> StorageError:
    return StorageError(
        f"Writing the archive {archive} failed: {reason}. What was archived before is kept, and no segment was deleted "
        "that is not archived. Remove the cause and start again."
    )


@contextmanager
def _locked(archive: Path) -> Iterator[None]:
    with (archive / _LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(
                f"Another tinyssb-sink writes the archive {archive}; nothing was done. Wait for it, then repeat."
            ) from error
        yield


class _Compaction:
    """The writing of files: cuts gather by day until there are many, then the fullest day is written."""

    def __init__(self, order: CompactOptions, disk: Disk, done: CompactSummary) -> None:
        self._order = order
        self._disk = disk
        self._done = done
        self._files = LocalLogFiles(str(order.logs))
        self._cuts: dict[str, list[NewPiece]] = {}
        self._rows: dict[str, int] = {}
        self._known: set[tuple[_Key, int, int, str]] = set()

    def run(self) -> None:
        """Archive what is closed and not archived. Raises NoLogsFolderError; OSError."""
        archived = _archived(self._order.archive)
        self._known = {
            ((node, segment.boot, piece.segment), piece.low, piece.high, piece.print)
            for node, segments in archived.items()
            for segment in segments
            for piece in segment.pieces
        }
        closed = dict(_closed(self._files.listing(), self._order))
        rests = [rest for node, segments in closed.items() for rest in self._rests(node, segments, archived)]
        rests.sort(key=lambda rest: (rest.node, rest.segment.boot, rest.segment.first))
        rests.sort(key=lambda rest: _day(self._files, rest))
        for group in _groups(rests):
            self._add_group(group)
        for day in sorted(self._cuts):
            self._write(day)

    def _rests(self, node: str, closed: list[Segment], archived: Chains) -> Iterator[Unarchived]:
        """Yield the parts of a node's closed segments that are not archived yet. Raises OSError."""
        there = archived.get(node, ())
        chains = {(node, segment.boot, segment.first): segment for segment in there}
        boots = {
            segment.boot: BootProgress(print=segment_probe.fingerprint(line))
            for segment in there
            if segment.first == 0 and (line := segment_probe.first_line(self._files, segment))
        }
        choice = choose(self._files, ProbeCache(), node, sorted([*closed, *there]), boots)
        self._done.kept += len(choice.oddities)
        for segments in choice.segments.values():
            for segment in segments:
                if segment.pieces:
                    continue
                chain = chains.get((node, segment.boot, segment.first))
                low, first = (chain.size, chain.pieces[-1].next) if chain else (0, segment.first)
                try:
                    end = segment_probe.find_end(self._files, node, segment, low, segment.size)
                    if end is None:
                        continue
                    if (
                        chain
                        and segment_probe.tail_print(self._files, segment, low) != chain.pieces[-1].print
                    ):
                        self._done.kept += 1
                        continue
                except FileNotFoundError:
                    continue  # deleted since it was listed
                yield Unarchived(node, segment, low, first, end)

    def _add_group(self, rests: Sequence[Unarchived]) -> None:
        """Cut segments, and write what has become enough. Raises StorageError; OSError."""
        if len(rests) > 1:
            try:
                found = cut_together(self._files, rests)
            except (ChangedError, FileNotFoundError):
                pass  # one of them did: each by itself
            else:
                for rest, cuts in zip(rests, found, strict=True):
                    self._add(rest, cuts)
                return
        for rest in rests:
            try:
                self._add(rest, cut_segment(self._files, rest))
            except (ChangedError, FileNotFoundError):
                self._done.kept += 1

    def _add(self, rest: Unarchived, cuts: Iterable[NewPiece]) -> None:
        """Keep the pieces of a segment until there are many. Raises ChangedError, FileNotFoundError; OSError."""
        key = (rest.node, rest.segment.boot, rest.segment.first)
        for cut in cuts:
            piece = cut.archived.piece
            if (key, piece.low, piece.high, piece.print) in self._known:
                continue
            self._cuts.setdefault(cut.day, []).append(cut)
            self._rows[cut.day] = self._rows.get(cut.day, 0) + piece.rows
            if sum(self._rows.values()) >= limits.FILE_ROWS:
                self._write(max(self._rows, key=lambda day: (self._rows[day], day)))
        self._done.segments += 1
        self._done.log_bytes += rest.end.byte - rest.low

    def _write(self, day: str) -> None:
        """Write the cuts of a day. Raises StorageError; OSError."""
        cuts = sorted(
            self._cuts.pop(day),
            key=lambda cut: (*cut.archived[:2], cut.archived.piece.segment, cut.archived.piece.low),
        )
        del self._rows[day]
        rows = pa.concat_tables([cut.rows for cut in cuts]).combine_chunks()
        footer = serialize_footer([cut.archived for cut in cuts])
        name = hashlib.blake2b(footer, digest_size=8).hexdigest()
        folder = self._order.archive / f"day={day}"
        torn, whole = folder / f".{name}.parquet", folder / f"{name}.parquet"
        try:
            self._disk.make_folder(folder)
            self._disk.sync(self._order.archive)
            self._disk.write(torn, rows, footer)
            if not self._disk.holds(torn, rows):
                raise _failed(torn, "what was read back is not what was written")
            self._disk.rename(torn, whole)
            self._disk.sync(folder)
        except FileNotFoundError as error:
            raise _failed(folder, "the folder is gone") from error
        self._done.files += 1
        self._done.records += len(rows)
        self._done.file_bytes += whole.stat().st_size


def _archived(archive: Path) -> Chains:
    """Return the segments in the archive's files that can be read. Raises OSError."""
    listing = LocalLogFiles(str(archive)).listing()
    return {
        node: tuple(segment for segment in segments if segment.pieces) for node, segments in listing.items()
    }


def _closed(listing: Listing, order: CompactOptions) -> Iterator[tuple[str, list[Segment]]]:
    """Yield, by node, segments that have a successor in their folder and have not changed for long enough."""
    changed_s = order.now_s - order.older_than_h * _HOUR_S
    for node, segments in listing.items():
        newest: dict[str, Segment] = {}
        for segment in segments:
            if not segment.pieces:
                newest[segment.folder] = segment
        closed = [
            segment
            for segment in segments
            if not segment.pieces
            and newest[segment.folder] is not segment
            and segment.size
            and _changed_before(segment, changed_s)
        ]
        if closed:
            yield node, closed


def _changed_before(segment: Segment, time_s: float) -> bool:
    try:
        return Path(segment.path).stat().st_mtime <= time_s
    except FileNotFoundError:
        return False


def _day(files: LocalLogFiles, rest: Unarchived) -> str:
    """Return about which day a segment begins: its records are written together with those of the same day."""
    try:
        return day_name(json.loads(segment_probe.first_line(files, rest.segment) or b"")["t_us"])
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError, FileNotFoundError):
        return ""


def _groups(rests: Iterable[Unarchived]) -> Iterator[list[Unarchived]]:
    """Yield small segments in groups of a block, and large ones alone."""
    group: list[Unarchived] = []
    size = 0
    for rest in rests:
        more = rest.end.byte - rest.low
        if group and size + more > limits.BLOCK_SIZE:
            yield group
            group, size = [], 0
        group.append(rest)
        size += more
    if group:
        yield group


def _delete_archived(order: CompactOptions, disk: Disk, done: CompactSummary) -> None:
    """Delete closed segments of which every line is in the archive, as that is on the disk now. Raises OSError."""
    files = LocalLogFiles(str(order.logs))
    chains = {
        (node, segment.boot, segment.first): segment
        for node, segments in _archived(order.archive).items()
        for segment in segments
        if segment.pieces[0].low == 0
    }
    for node, segments in _closed(files.listing(), order):
        for segment in segments:
            chain = chains.get((node, segment.boot, segment.first))
            if chain is not None and _is_in(files, segment, chain):
                disk.delete(Path(segment.path))
                done.deleted += 1


def _is_in(files: LocalLogFiles, segment: Segment, chain: Segment) -> bool:
    """True if a segment ends where a piece of the archive does, and has the same records. Raises OSError."""
    archived = segment_probe.tail_print(files, chain, segment.size)
    try:
        return bool(archived) and archived == segment_probe.tail_print(files, segment, segment.size)
    except FileNotFoundError:
        return False


def _forget(order: CompactOptions, days: int, disk: Disk, done: CompactSummary) -> None:
    """Delete days that are long ago, by the nodes' clocks and by when they were archived. Raises OSError."""
    since_s = order.now_s - days * 24 * _HOUR_S
    since = datetime.fromtimestamp(since_s, UTC).date()
    for folder in sorted(order.archive.iterdir()):
        if not DAY.match(folder.name) or not _is_before(folder.name, since):
            continue
        found = sorted(folder.iterdir())
        if all(ARCHIVED.match(file.name) and file.stat().st_mtime < since_s for file in found):
            for file in found:
                disk.delete(file)
            disk.delete_folder(folder)
            done.forgotten += 1


def _is_before(name: str, since: date) -> bool:
    try:
        return date.fromisoformat(name.partition("=")[2]) < since
    except ValueError:
        return False
