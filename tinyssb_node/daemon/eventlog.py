"""The event log: one writer, files that only grow, nothing committed missing (docs/formats/events.md).

Records wait in memory until ``flush`` writes them at once. Entries and chunks are recorded after the store has
committed them, in order of arrival, without gaps. After a crash or on a full disk the log is behind; it then rebuilds
the missing records from the store.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from tinyssb_node import limits
from tinyssb_node.codec.event_records import record_serializers, serialize_mark
from tinyssb_node.codec.events import (
    ChunkAppended,
    DaemonStarted,
    DaemonStopped,
    EntryAppended,
    Event,
    Refused,
)
from tinyssb_node.daemon.eventlog_meter import RecordMeter
from tinyssb_node.daemon.eventlog_segments import Retention, read_resume_point, segment_path, segments
from tinyssb_node.errors import EventLogFullError, ExitCode, LocalError, StoreFullError
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.durable import FULL, sync_folder, write_anew
from tinyssb_node.store.entries import entry_layout, type_of
from tinyssb_node.store.port import Store, StoredChunk, StoredEntry

_APPENDS: Final = (EntryAppended, ChunkAppended)
_META_BOOT: Final = "boot"
"""Name in the store of the boot counter."""
_META_SINCE: Final = "log_since_boot"
"""Name in the store of the first boot whose arrival numbers in the log are this store's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLogOptions:
    """The options that a user may configure."""

    segment_bytes: int = limits.EVENT_SEGMENT_BYTES
    """A segment that has reached this size is followed by a new one."""
    segment_age_us: int = limits.EVENT_SEGMENT_AGE_US
    """A segment of this age is followed by a new one."""
    retention_bytes: int = limits.EVENT_RETENTION_BYTES
    """Segments are deleted, oldest first, while they are larger than this together."""
    retention_age_us: int = limits.EVENT_RETENTION_AGE_US
    """Segments are deleted that were last written longer ago than this, once that was so for a day of this boot."""
    sync_us: int = 5_000_000
    """Longest time between writing records and syncing them to the disk. A power cut may lose the records since then,
    and the store cannot restore all of them."""


_DEFAULTS: Final = EventLogOptions()


class EventLog:
    """The log of one boot of one node. Times are arguments: *t_us* by the wall clock, *mono_us* since the boot."""

    def __init__(
        self,
        folder: Path,
        node: str,
        boot: int,
        arrival: int,
        *,
        clean: bool,
        metas: Mapping[str, str],
        store: Store,
        options: EventLogOptions,
        network: str | None,
    ) -> None:
        """Use ``open`` instead. *folder* is the node's own; its log has the appends of *store* up to *arrival*. The
        store must keep *metas* before anything is written under this boot's number."""
        self.boot: Final = boot
        """This boot's number."""
        self.clean: Final = clean
        """True if the previous boot ended in order, or there was none; part of the start record."""
        self._folder, self._node, self._store, self._options = folder, node, store, options
        self._network = network
        self._metas = dict(metas)
        """Values that the store does not keep yet."""
        self._serializers = record_serializers(node, boot, network)
        self._offset = 0
        self._arrival = arrival
        self._behind = False
        """True if the store has appends that the log lacks, so that new records are not the next ones."""
        self._lines: list[bytes] = []
        self._rest = b""
        """The rest of earlier lines that did not fit onto the disk; it is written before anything else."""
        self._waiting = 0
        """Bytes in ``_lines`` and ``_rest``."""
        self._dropped = 0
        self._meter = RecordMeter()
        self._retention = Retention(
            folder, bytes_max=options.retention_bytes, age_max_us=options.retention_age_us
        )
        self._path = segment_path(folder, boot, 0)
        self._file: int | None = None
        self._size = 0
        self._between = True
        """True until the next segment has its first record."""
        self._t_us = self._mono_us = 0
        """Time of the last record or tick."""
        self._begun_us = self._synced_us = self._swept_us = 0
        self._dirty = False

    @classmethod
    def open(
        cls,
        folder: Path,
        node: str,
        store: Store,
        t_us: int,
        *,
        options: EventLogOptions = _DEFAULTS,
        network: str | None = None,
    ) -> Self:
        """Find out what *node*'s log under *folder* lacks, and choose the number of the boot that begins. *store* keeps
        that number; on a full disk it does so later, but before anything is written.

        A log that knows of later boots or appends than the store belongs to a store that was lost or replaced by an
        older copy. Its arrival numbers are then invalid, and everything in this store is recorded again.

        Raises LocalError, StoreFailedError.
        """
        node_folder = folder / node
        with suppress(EventLogFullError), _translated_errors(node_folder):
            node_folder.mkdir(parents=True, exist_ok=True)
        with _translated_errors(node_folder):
            since_boot = int(store.get_meta(_META_SINCE) or 0)
            resume = read_resume_point(node_folder, since_boot, partial(_next_arrival, store))
            if not resume.clean:
                # The log relies on these records from now on, so they have to be durable.
                write_anew(segments(node_folder)[-1].path)
        counted = int(store.get_meta(_META_BOOT) or 0)
        boot, arrival = max(counted, resume.boot) + 1, resume.arrival
        metas = {_META_BOOT: str(boot)}
        if resume.boot > counted or arrival > store.last_arrival():
            metas[_META_SINCE] = str(boot)
            arrival = 0
        log = cls(
            node_folder,
            node,
            boot,
            arrival,
            clean=resume.clean,
            metas=metas,
            store=store,
            options=options,
            network=network,
        )
        log._t_us = t_us
        with suppress(EventLogFullError):
            log._keep_boot()
        return log

    def begin(self, event: DaemonStarted, t_us: int, mono_us: int) -> None:
        """Write the boot's first record, and then the records that the log lacks.

        Raises EventLogFullError: the boot has begun, and its records wait in memory. Raises LocalError,
        StoreFailedError.
        """
        assert self._offset == 0, "a boot begins once"
        self._t_us, self._mono_us = t_us, mono_us
        self._put(event, t_us, mono_us)
        self._behind = True
        self._keep_boot()
        self.flush()
        self._sweep()

    def append(self, event: Event, t_us: int, mono_us: int) -> None:
        """Add a record; for an entry or chunk, only after the store has committed it.

        Touches no disk. Call ``flush`` after each turn: what exceeds 4 MiB in between is dropped.
        """
        assert self._offset, "a boot begins with its start record"
        self._t_us, self._mono_us = t_us, mono_us
        if not self._meter.admit(event, mono_us):
            return
        if isinstance(event, DaemonStopped):
            # Before it, because the stop is a boot's last record.
            for summary in self._meter.take():
                self.append(summary, t_us, mono_us)
        full = self._waiting >= limits.EVENT_BACKLOG_BYTES
        if isinstance(event, _APPENDS):
            if event.arrival <= self._arrival:
                return
            self._behind = self._behind or full or event.arrival != self._arrival + 1
            if not self._behind:
                self._put(event, t_us, mono_us)
                self._arrival = event.arrival
        elif full:
            self._dropped += 1
        else:
            self._put(event, t_us, mono_us)

    def flush(self) -> None:
        """Hand all records to the operating system, and write the records that the log lacks.

        Raises EventLogFullError: the records wait in memory; call again when there may be room. Raises
        LocalError, StoreFailedError.
        """
        self._write()
        if self._dropped:
            self._put(Refused(rule="event_log", face=None, count=self._dropped), self._t_us, self._mono_us)
            self._dropped = 0
            self._write()
        if self._behind:
            self._catch_up()

    def tick(self, t_us: int, mono_us: int) -> None:
        """Do what is due: flush, sync, end a segment, delete old ones. Call it about once a second, with nothing
        uncommitted in the store.

        Raises as ``flush`` does.
        """
        self._t_us, self._mono_us = t_us, mono_us
        for summary in self._meter.due(mono_us):
            self.append(summary, t_us, mono_us)
        self._keep_boot()
        self.flush()
        if self._file is not None and mono_us - self._begun_us >= self._options.segment_age_us:
            self._end_segment()
        if self._dirty and mono_us - self._synced_us >= self._options.sync_us:
            self._sync()
        if mono_us - self._swept_us >= self._options.segment_age_us:
            self._sweep()

    def close(self) -> None:
        """Write and sync all records, with nothing uncommitted in the store. Raises as ``flush`` does; the file is
        closed in any case."""
        try:
            self._keep_boot()
            self.flush()
            self._sync()
        finally:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def _catch_up(self) -> None:
        """Write records of all appends that the store committed and the log lacks."""
        for event, committed_us in rederive(self._store, self._arrival):
            self._put(event, committed_us, 0)
            self._arrival = event.arrival
            if self._waiting >= limits.EVENT_BACKLOG_BYTES:
                self._write()
        self._write()
        self._behind = False

    def _put(self, event: Event, t_us: int, mono_us: int) -> None:
        """Make a record, and the mark of its segment: after the boot's first record, otherwise before all others."""
        if self._between:
            self._path = segment_path(self._folder, self.boot, self._offset)
            if self._offset:
                self._put_mark()
        self._keep(self._serializers[type(event)](event, self._offset, t_us, mono_us))
        if self._between and self._offset == 1:
            self._put_mark()
        self._between = False

    def _put_mark(self) -> None:
        self._keep(
            serialize_mark(
                self._node, self.boot, self._offset, self._t_us, self._mono_us, self._arrival, self._network
            )
        )

    def _keep(self, line: bytes) -> None:
        self._lines.append(line)
        self._waiting += len(line)
        self._offset += 1

    def _keep_boot(self) -> None:
        """Store this boot's number, so that no later boot uses it. Raises EventLogFullError, StoreFailedError."""
        if not self._metas:
            return
        try:
            for key, value in self._metas.items():
                self._store.put_meta(key, value)
            self._store.commit(self._t_us)
        except StoreFullError as error:
            self._store.rollback()
            raise EventLogFullError(self._path) from error
        self._metas.clear()

    def _write(self) -> None:
        """Write all lines. If only a part fits, the next write continues in the middle of the line."""
        if not self._waiting:
            return
        if self._metas:
            raise EventLogFullError(self._path)
        with _translated_errors(self._path):
            file = self._begin_segment() if self._file is None else self._file
            self._rest += b"".join(self._lines)
            self._lines.clear()
            while self._rest:
                written = os.write(file, self._rest)
                self._rest = self._rest[written:]
                self._waiting -= written
                self._size += written
                self._dirty = True
        if self._size >= self._options.segment_bytes:
            self._end_segment()

    def _begin_segment(self) -> int:
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        file = self._file = os.open(self._path, flags, 0o644)
        self._size = 0
        self._begun_us = self._mono_us
        sync_folder(self._folder)
        return file

    def _end_segment(self) -> None:
        """Close the segment for good."""
        self._sync()
        assert self._file is not None
        os.close(self._file)
        self._file = None
        self._between = True
        self._sweep()

    def _sync(self) -> None:
        self._synced_us = self._mono_us
        if self._file is not None and self._dirty:
            with _translated_errors(self._path):
                os.fsync(self._file)
            self._dirty = False

    def _sweep(self) -> None:
        self._swept_us = self._mono_us
        with _translated_errors(self._folder):
            self._retention.sweep(self._t_us, self._mono_us)


def _next_arrival(store: Store, arrival: int) -> int | None:
    """Return the arrival number that comes after *arrival* in *store*; None if none does."""
    return next((append.arrival for append in store.after(arrival, 1)), None)


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Translate errors of the operating system. Raises EventLogFullError, LocalError."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise EventLogFullError(path) from error
        raise LocalError(
            f"The event log {path} cannot be written: {error.strerror or str(error)}. What is in it was kept.",
            exit_code=ExitCode.STORAGE,
        ) from error


# --- records rebuilt from the store


def rederive(store: Store, arrival: int) -> Iterator[tuple[EntryAppended | ChunkAppended, int]]:
    """Yield an event for each committed append of *store* above *arrival*, in order, with the wall clock of its commit.

    The events equal those of the time when the packets were appended. Raises StoreFailedError.
    """
    dialects = {record.feed: record.dialect for record in store.feeds()}
    while page := store.after(arrival, limits.EVENT_CATCH_UP_BATCH):
        for append in page:
            if not append.committed_us:
                return
            yield _event(store, dialects, append), append.committed_us
        arrival = page[-1].arrival


def _event(
    store: Store, dialects: dict[FeedId, Dialect | None], append: StoredEntry | StoredChunk
) -> EntryAppended | ChunkAppended:
    dialect = dialects[append.feed]
    if isinstance(append, StoredEntry):
        layout = entry_layout(append, dialect)
        return EntryAppended(
            feed=append.feed,
            seq=append.seq,
            id=append.id,
            type=type_of(append),
            size=layout.size,
            chunks=layout.chunks,
            origin=append.origin,
            face=append.face,
            arrival=append.arrival,
        )
    entry = store.entry(append.feed, append.seq)
    assert entry is not None, "a side chain belongs to an entry"
    layout = entry_layout(entry, dialect)
    before = len(layout.head) + append.chunk * limits.CHUNK_CONTENT_SIZE
    return ChunkAppended(
        feed=append.feed,
        seq=append.seq,
        chunk=append.chunk,
        size=min(limits.CHUNK_CONTENT_SIZE, layout.size - before),
        complete=append.chunk + 1 == layout.chunks,
        origin=append.origin,
        face=append.face,
        arrival=append.arrival,
    )
