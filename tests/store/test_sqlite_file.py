"""The store's file where the disk has no room: for the index that readers share, or for anything."""

import errno
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.contract import ANA, feed_record, put_entry, snapshot
from tinyssb_node import limits
from tinyssb_node.errors import StoreFailedError, StoreFullError
from tinyssb_node.store import limits as store_limits
from tinyssb_node.store import sqlite_file
from tinyssb_node.store.sqlite import SqliteStore

KNOWN_SCHEMA = sqlite_file.known_schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store with an entry, closed in order: SQLite then removes its log and its index."""
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    store.put_feed(feed_record(ANA))
    put_entry(store, ANA, 1)
    store.commit(1)
    store.close()
    return path


class FullDisk:
    """Refuses the shared index, as SQLite does on a disk without a free page."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = True
        monkeypatch.setattr(sqlite_file, "known_schema", self)
        monkeypatch.setattr(limits, "STORE_BUSY_S", 0.01)

    def __call__(self, connection: sqlite3.Connection, path: Path) -> int | None:
        (mode,) = connection.execute("PRAGMA locking_mode").fetchone()
        if self.full and mode == "normal":
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
            raise error
        return KNOWN_SCHEMA(connection, path)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, path: Path) -> FullDisk:
    return FullDisk(monkeypatch)


@pytest.fixture
def store(disk: FullDisk, path: Path) -> Iterator[SqliteStore]:
    """The same store, opened on the full disk."""
    store = SqliteStore.open(path)
    yield store
    store.close()


def test_what_is_there_can_be_read(store: SqliteStore) -> None:
    assert [record.seq for record in store.feeds()] == [1]
    entry = store.entry(ANA, 1)
    assert entry is not None
    assert entry.committed_us == 1


def test_nobody_else_reads_until_something_could_be_written(
    disk: FullDisk, store: SqliteStore, path: Path
) -> None:
    disk.full = False
    with pytest.raises(StoreFailedError, match="locked"):
        SqliteStore.open_readonly(path)
    put_entry(store, ANA, 2)
    store.commit(2)
    beside = SqliteStore.open_readonly(path)
    assert snapshot(beside) == snapshot(store)
    beside.close()
    put_entry(store, ANA, 3)
    store.commit(3)


def test_a_disk_that_is_full_again_before_others_can_read_is_tried_again(
    disk: FullDisk, store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk.full = False
    with monkeypatch.context() as patch:

        def refuse(*_: object) -> None:
            raise StoreFullError("no room")

        patch.setattr("tinyssb_node.store.sqlite.end_exclusive_mode", refuse)
        put_entry(store, ANA, 2)
        store.commit(2)
    with pytest.raises(StoreFailedError, match="locked"):
        SqliteStore.open_readonly(path)
    put_entry(store, ANA, 3)
    store.commit(3)
    beside = SqliteStore.open_readonly(path)
    assert [record.seq for record in beside.feeds()] == [3]
    beside.close()


def test_a_crash_on_the_way_back_leaves_a_store_that_is_whole(disk: FullDisk, path: Path) -> None:
    disk.full = False
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    store = SqliteStore.open(path)
    beside = SqliteStore.open_readonly(path)
    put_entry(store, ANA, 2)
    store.commit(2)
    assert beside.entry(ANA, 1) == store.entry(ANA, 1)
    beside.close()
    store.close()


def test_a_store_that_cannot_be_made_is_told(
    disk: FullDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    monkeypatch.setattr(sqlite_file, "_create", refuse)
    (tmp_path / "new").mkdir()
    with pytest.raises(StoreFullError, match="No room on the disk"):
        SqliteStore.open(tmp_path / "new" / "store.sqlite")


@pytest.mark.parametrize(
    ("fault", "raised"),
    [
        (errno.EDQUOT, StoreFullError),
        (errno.ENOSPC, StoreFullError),
        (errno.EIO, StoreFailedError),
        (errno.EROFS, StoreFailedError),
        (None, StoreFailedError),
    ],
)
def test_a_quota_that_is_used_up_is_told_from_a_disk_that_fails(
    path: Path, monkeypatch: pytest.MonkeyPatch, fault: int | None, raised: type[Exception]
) -> None:
    def refuse(**_: object) -> None:
        assert fault is not None
        raise OSError(fault, os.strerror(fault))

    if fault is not None:
        monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    # SQLite says this of any write that failed, unless with ENOSPC.
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_WRITE
    with pytest.raises(raised), sqlite_file.store_faults(path, "writing"):
        raise error
    assert list(path.parent.glob("tmp*")) == []


def test_the_log_that_grew_while_somebody_read_is_small_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a reader sees the store as it was, the log only grows; afterwards a small disk needs the room."""
    monkeypatch.setattr(store_limits, "LOG_PAGES_MAX", store_limits.LOG_PAGES_MIN)
    log, limit = path.with_name("store.sqlite-wal"), 4_096 * store_limits.LOG_PAGES_MIN
    store, reader = SqliteStore.open(path), SqliteStore.open_readonly(path)

    def write(*seqs: int) -> None:
        for seq in seqs:
            put_entry(store, ANA, seq)
        store.commit(seqs[-1])

    write(*range(2, 4_001))
    assert log.stat().st_size > 2 * limit
    assert reader.last_arrival() == 1
    reader.close()
    write(4_001)  # writes the log back
    write(4_002)  # begins it anew
    assert log.stat().st_size <= limit
    store.close()
