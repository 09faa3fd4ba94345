"""Reading the store's file where nothing can be written: a card that went read-only, rights that were taken away."""

import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.contract import ANA, feed_record, put_entry, snapshot
from tests.unwritable import open_folder, without_rights
from tinyssb_node.errors import ExitCode, StoreFailedError
from tinyssb_node.store import recovery
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.summary import StoreSummary


@pytest.fixture
def path() -> Iterator[Path]:
    """A store with an entry, closed in order: SQLite then removes its log and its index."""
    with open_folder() as folder:
        path = folder / "store.sqlite"
        store = SqliteStore.open(path)
        store.put_feed(feed_record(ANA))
        put_entry(store, ANA, 1)
        store.commit(1)
        store.close()
        yield path


def add(path: Path, *seqs: int) -> None:
    store = SqliteStore.open(path)
    for seq in seqs:
        put_entry(store, ANA, seq)
    store.commit(seqs[-1])
    store.close()


def crash(path: Path, *kept: str) -> None:
    """Leave the store with another entry as a power cut does, and of what is beside the file what is *kept*."""
    store = SqliteStore.open(path)
    put_entry(store, ANA, 2)
    store.commit(2)
    left = {name: path.with_name(path.name + name).read_bytes() for name in ("", *kept)}
    store.close()
    for name, raw in left.items():
        path.with_name(path.name + name).write_bytes(raw)


def test_what_was_closed_in_order_is_read(path: Path) -> None:
    store = SqliteStore.open(path)
    before = snapshot(store)
    store.close()
    with without_rights(path.parent):
        store = SqliteStore.open_readonly(path)
        assert snapshot(store) == before
        store.close()
        glance = StoreSummary(path)
        assert (glance.last_arrival(), [glimpse.seq for glimpse in glance.feeds()]) == (1, [1])
        glance.close()
    assert {file.name for file in path.parent.iterdir()} == {"store.sqlite", "lock"}


def test_an_empty_log_is_nothing(path: Path) -> None:
    path.with_name("store.sqlite-wal").touch()
    with without_rights(path.parent):
        store = SqliteStore.open_readonly(path)
        assert store.last_arrival() == 1
        store.close()


def test_a_log_that_cannot_be_read_is_not_passed_over(path: Path) -> None:
    crash(path, "-wal")
    log = path.with_name("store.sqlite-wal")
    raw = log.read_bytes()
    with without_rights(path.parent), pytest.raises(StoreFailedError, match="cp -r") as caught:
        SqliteStore.open_readonly(path)
    assert caught.value.exit_code is ExitCode.STORAGE
    assert "store.sqlite-wal" in str(caught.value)
    assert log.read_bytes() == raw
    # What is advised helps.
    with open_folder() as folder:
        shutil.copytree(path.parent, folder / "copy")
        store = SqliteStore.open_readonly(folder / "copy" / path.name)
        assert store.last_arrival() == 2
        store.close()


def test_a_log_with_its_index_is_read(path: Path) -> None:
    crash(path, "-wal", "-shm")
    with without_rights(path.parent):
        store = SqliteStore.open_readonly(path)
        assert store.last_arrival() == 2
        store.close()


def test_who_looks_again_sees_what_was_written_meanwhile(path: Path) -> None:
    with without_rights(path.parent):
        glance = StoreSummary(path)
        assert glance.last_arrival() == 1
    add(path, *range(2, 400))
    with without_rights(path.parent):
        with glance.snapshot():
            assert glance.last_arrival() == 399
        assert glance.packet(399) is not None
    writer = SqliteStore.open(path)
    put_entry(writer, ANA, 400)
    writer.commit(400)
    assert glance.last_arrival() == 400, "somebody has it open, and there is a log"
    glance.close()
    writer.close()


def test_what_is_asked_at_one_moment_is_answered_as_of_it(path: Path) -> None:
    with without_rights(path.parent):
        glance = StoreSummary(path)
    with glance.snapshot():
        assert glance.last_arrival() == 1
        add(path, 2)
        assert glance.last_arrival() == 1
    assert glance.last_arrival() == 2
    glance.close()


def test_who_could_not_look_again_looks_later(path: Path) -> None:
    with without_rights(path.parent):
        glance = StoreSummary(path)
    crash(path, "-wal")
    with without_rights(path.parent):
        for _ in range(2):
            with pytest.raises(StoreFailedError, match="was not closed in order") as caught:
                glance.last_arrival()
            assert caught.value.exit_code is ExitCode.STORAGE
    assert glance.last_arrival() == 2
    glance.close()


def test_a_file_that_is_not_there_is_told_as_ever(path: Path) -> None:
    with (
        without_rights(path.parent),
        pytest.raises(StoreFailedError, match="unable to open database file") as caught,
    ):
        SqliteStore.open_readonly(path.with_name("other.sqlite"))
    assert "was not closed in order" not in str(caught.value)


def test_where_the_folder_can_be_written_nothing_else_is_tried(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_rights(path.parent):
        monkeypatch.setattr("tinyssb_node.store.sqlite_file.can_write", lambda _: True)
        with pytest.raises(StoreFailedError, match="attempt to write a readonly database"):
            SqliteStore.open_readonly(path)


def test_a_node_is_told_that_nothing_can_be_written(path: Path) -> None:
    with without_rights(path.parent), pytest.raises(StoreFailedError, match="Permission denied") as caught:
        SqliteStore.open(path)
    assert caught.value.exit_code is ExitCode.STORAGE
    assert "`tinyssb export`" in str(caught.value)


def test_a_read_only_disk_is_told_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(recovery, "FolderLock", refuse)
    with pytest.raises(StoreFailedError, match="Read-only file system") as caught:
        SqliteStore.open(path)
    assert caught.value.exit_code is ExitCode.STORAGE
