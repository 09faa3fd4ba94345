"""The event log, as ``docs/formats/events.md`` says: one writer, files that only grow, nothing committed missing.

Records wait in memory until ``flush``, which is one write. Entries and chunks are recorded after the store committed
them, in order of arrival, none left out; where that failed (a crash, a full disk) the log is behind, and writes what
it lacks from the store.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Self

from tinyssb_node import limits
from tinyssb_node.daemon.eventlog_rederive import rederive
from tinyssb_node.daemon.eventlog_segments import Retention, read_resume_point, segment_path, segments
from tinyssb_node.daemon.eventlog_sends import SendMeter
from tinyssb_node.errors import EventLogFailedError, EventLogFullError, StoreFullError
from tinyssb_node.eventrecords import record_serializers, serialize_mark
from tinyssb_node.events import (
    ChunkAppended,
    DaemonStarted,
    DaemonStopped,
    EntryAppended,
    Event,
    FaceDown,
    PacketSent,
    Refused,
)
from tinyssb_node.store.durable import FULL, sync_folder, write_anew
from tinyssb_node.store.port import Store

_APPENDS: Final = (EntryAppended, ChunkAppended)
_META_BOOT: Final = "boot"
"""Name in the store of the boot counter."""
_META_SINCE: Final = "log_since_boot"
"""Name in the store of the boot from which on the log's arrival numbers are this store's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLogOptions:
    """What a user may configure."""

    segment_bytes: int = limits.EVENT_SEGMENT_BYTES
    """A segment that reached this many bytes is followed by a new one."""
    segment_age_us: int = limits.EVENT_SEGMENT_AGE_US
    """A segment of this age is followed by a new one."""
    retention_bytes: int = limits.EVENT_RETENTION_BYTES
    """Segments are deleted, oldest first, while there are more bytes of them."""
    retention_age_us: int = limits.EVENT_RETENTION_AGE_US
    """Segments are deleted that were last written to longer ago, once that has been so for a day of this boot."""
    sync_us: int = limits.EVENT_SYNC_US
    """Longest time that written records are left to the system before they are synced."""


_DEFAULTS: Final = EventLogOptions()


class EventLog:
    """The log of one boot of one node. Times are given: *t_us* by the wall clock, *mono_us* since the boot began."""

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
        """Use ``open``. *folder* is the node's own; its log holds the appends of *store* up to *arrival*. The store is
        to keep *metas* before anything is written under this boot's number."""
        self.boot: Final = boot
        """This boot's number."""
        self.clean: Final = clean
        """True if the boot before ended in order, or there was none: what the start record says."""
        self._folder, self._node, self._store, self._options = folder, node, store, options
        self._network = network
        self._metas = dict(metas)
        """What the store does not keep yet."""
        self._serializers = record_serializers(node, boot, network)
        self._offset = 0
        self._arrival = arrival
        self._behind = False
        """The store has appends that the log lacks, and the records that come in now are not the next ones."""
        self._lines: list[bytes] = []
        self._rest = b""
        """What of earlier lines did not fit onto the disk; goes out before anything else."""
        self._waiting = 0
        """Bytes in the two."""
        self._dropped = 0
        self._sends = SendMeter()
        self._retention = Retention(
            folder, bytes_max=options.retention_bytes, age_max_us=options.retention_age_us
        )
        self._path = segment_path(folder, boot, 0)
        self._file: int | None = None
        self._size = 0
        self._between = True
        """No record of the next segment was made yet."""
        self._t_us = self._mono_us = 0
        """When the last record was made, or the last tick."""
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
        """Find out what *node*'s log under *folder* lacks, and choose a number for the boot that begins in it, which
        *store* keeps; on a full disk later, but before anything is written.

        A log that knows of later boots or appends than the store belongs to a store that was lost or replaced by an
        older copy: its arrival numbers say nothing, and all that this store holds is recorded again.

        Raises EventLogFailedError, StoreFailedError.
        """
        place = folder / node
        with suppress(EventLogFullError), _faults(place):
            place.mkdir(parents=True, exist_ok=True)
        with _faults(place):
            said = read_resume_point(place, int(store.get_meta(_META_SINCE) or 0), partial(_next_held, store))
            if not said.clean:
                # What it says is counted on from now on, so it has to stay.
                write_anew(segments(place)[-1].path)
        counted = int(store.get_meta(_META_BOOT) or 0)
        boot, arrival = max(counted, said.boot) + 1, said.arrival
        metas = {_META_BOOT: str(boot)}
        if said.boot > counted or arrival > store.last_arrival():
            metas[_META_SINCE] = str(boot)
            arrival = 0
        log = cls(
            place,
            node,
            boot,
            arrival,
            clean=said.clean,
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
        """Write the boot's first record, and then what the log lacks.

        Raises EventLogFullError: the boot has begun, and its records wait in memory. Raises EventLogFailedError,
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
        """Add a record; an entry or chunk only once the store has committed it.

        Touches no disk. Call ``flush`` after each turn: what exceeds 4 MiB in between is dropped.
        """
        assert self._offset, "a boot begins with its start record"
        self._t_us, self._mono_us = t_us, mono_us
        if isinstance(event, PacketSent) and not self._sends.admit(event, mono_us):
            return
        if isinstance(event, FaceDown | DaemonStopped):
            # Ahead of it, for a stop is a boot's last record.
            for more in self._sends.take():
                self.append(more, t_us, mono_us)
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
        """Hand all records to the system; write what the log lacks.

        Raises EventLogFullError: they wait in memory, call again when there may be room. Raises EventLogFailedError and
        StoreFailedError.
        """
        self._write()
        if self._dropped:
            self._put(Refused(rule="event_log", face=None, count=self._dropped), self._t_us, self._mono_us)
            self._dropped = 0
            self._write()
        if self._behind:
            self._catch_up()

    def tick(self, t_us: int, mono_us: int) -> None:
        """Do what time asks for: flush, sync, end a segment, delete old ones. Call it about once a second, with nothing
        uncommitted in the store.

        Raises as ``flush`` does.
        """
        self._t_us, self._mono_us = t_us, mono_us
        for more in self._sends.due(mono_us):
            self.append(more, t_us, mono_us)
        self._keep_boot()
        self.flush()
        if self._file is not None and mono_us - self._begun_us >= self._options.segment_age_us:
            self._end_segment()
        if self._dirty and mono_us - self._synced_us >= self._options.sync_us:
            self._sync()
        if mono_us - self._swept_us >= self._options.segment_age_us:
            self._sweep()

    def close(self) -> None:
        """Write and sync what there is; nothing is uncommitted in the store. Raises as ``flush`` does; the file is
        closed all the same."""
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
        """Make a record, and the mark if its segment needs one: behind the boot's first record, before any other."""
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
        """See that no later boot takes this one's number. Raises EventLogFullError, StoreFailedError."""
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
        """Write all lines. Where only a part fits, the next write goes on in the middle of the line."""
        if not self._waiting:
            return
        if self._metas:
            raise EventLogFullError(self._path)
        with _faults(self._path):
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
        """Make the segment final."""
        self._sync()
        assert self._file is not None
        os.close(self._file)
        self._file = None
        self._between = True
        self._sweep()

    def _sync(self) -> None:
        self._synced_us = self._mono_us
        if self._file is not None and self._dirty:
            with _faults(self._path):
                os.fsync(self._file)
            self._dirty = False

    def _sweep(self) -> None:
        self._swept_us = self._mono_us
        with _faults(self._folder):
            self._retention.sweep(self._t_us, self._mono_us)


def _next_held(store: Store, arrival: int) -> int | None:
    """The arrival number that comes after *arrival* in *store*, None if none does."""
    return next((append.arrival for append in store.after(arrival, 1)), None)


@contextmanager
def _faults(path: Path) -> Iterator[None]:
    """Say in our words what the system refused. Raises EventLogFullError, EventLogFailedError."""
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise EventLogFullError(path) from error
        raise EventLogFailedError(path, error.strerror or str(error)) from error
