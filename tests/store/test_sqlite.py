import errno
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from tests.store.contract import (
    ANA,
    BOB,
    StoreContract,
    feed_record,
    id_of,
    packet_of,
    put_chunk,
    put_entry,
    side_chain,
    snapshot,
)
from tinyssb_node.errors import (
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StoreTooNewError,
)
from tinyssb_node.ids import Dialect, Origin
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite"


@pytest.fixture
def store(path):
    store = SqliteStore.open(path)
    yield store
    store.close()


def tamper(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, store):
        return store

    def test_all_of_it_survives_closing(self, filled, path):
        filled.put_side_chain(side_chain(ANA, 2, 2))
        filled.put_meta("boot", "3")
        filled.commit(2_000)
        before = snapshot(filled)
        put_entry(filled, ANA, 4)
        filled.close()
        again = SqliteStore.open(path)
        try:
            assert snapshot(again) == before
            assert put_entry(again, ANA, 4) == 7
        finally:
            again.close()

    def test_a_chunk_put_twice_is_refused_and_can_be_undone(self, filled):
        before = snapshot(filled)
        put_chunk(filled, ANA, 2, 1)
        with pytest.raises(StoreFailedError, match="UNIQUE"):
            filled.commit(2_000)
        filled.rollback()
        assert snapshot(filled) == before


# A full disk


@pytest.fixture
def full(store):
    """A store with some entries, on a disk with no room for many more."""
    store.put_feed(feed_record(ANA))
    for seq in range(1, 11):
        put_entry(store, ANA, seq)
    store.commit(1)
    (pages,) = store._connection.execute("PRAGMA page_count").fetchone()
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    return store


def test_a_full_disk_refuses_the_commit_keeps_what_was_there_and_goes_on_reading(full):
    before = snapshot(full)
    for seq in range(11, 500):
        put_entry(full, ANA, seq)
    with pytest.raises(StoreFullError, match=r"No room.*kept and can be read"):
        full.commit(2)
    full.rollback()
    assert snapshot(full) == before


def test_after_a_failed_write_nothing_is_added_until_it_is_undone(full):
    for seq in range(11, 500):
        put_entry(full, ANA, seq)
    with pytest.raises(StoreFullError):
        full.commit(2)
    with pytest.raises(StoreFailedError, match="until it is undone"):
        full.commit(2)
    with pytest.raises(StoreFailedError, match="until it is undone"):
        full.entry(ANA, 1)


def test_once_there_is_room_it_goes_on(full):
    for seq in range(11, 500):
        put_entry(full, ANA, seq)
    with pytest.raises(StoreFullError):
        full.commit(2)
    full.rollback()
    full._connection.execute("PRAGMA max_page_count = 100000")
    assert put_entry(full, ANA, 11) == 11
    full.commit(3)
    assert full.entry(ANA, 11).committed_us == 3


# Killed at any moment


KILLED = """
import os, sys
from pathlib import Path
from tests.store.contract import *
from tinyssb_node.store.sqlite import SqliteStore
store = SqliteStore.open(Path(sys.argv[1]))
store.put_feed(feed_record(ANA))
for seq in range(1, 101):
    put_entry(store, ANA, seq)
store.commit(1)
for seq in range(101, 201):
    put_entry(store, ANA, seq)
assert store.entry(ANA, 200)  # written, not committed
os._exit(9)
"""


def test_a_killed_process_leaves_what_it_committed_and_nothing_else(path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False, timeout=30)
    assert done.returncode == 9
    store = SqliteStore.open(path)
    try:
        assert store.last_arrival() == 100
        assert store.feeds() == [feed_record(ANA, seq=100, tip=id_of(ANA, 100))]
        assert store.entry(ANA, 101) is None
    finally:
        store.close()


# One writer, many readers


def test_a_second_writer_is_told_who_has_it(store, path):
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()}") as caught:
        SqliteStore.open(path)
    assert caught.value.pid == os.getpid()


def test_a_holder_that_has_not_said_who_it_is(store, path):
    (path.parent / "lock").write_text("")
    with pytest.raises(StoreLockedError, match="another process") as caught:
        SqliteStore.open(path)
    assert caught.value.pid is None


def test_the_lock_is_free_after_closing(store, path):
    store.close()
    store.close()
    SqliteStore.open(path).close()


def test_the_lock_is_free_after_it_could_not_be_signed(path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EIO, "input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        with pytest.raises(StoreFailedError, match="could not be taken"):
            SqliteStore.open(path)
    SqliteStore.open(path).close()


def test_the_lock_is_free_after_a_failed_opening(path):
    path.write_bytes(b"no database, but long enough to be looked at" * 20)
    for _ in range(2):
        with pytest.raises(StoreDamagedError):
            SqliteStore.open(path)


def test_a_folder_that_cannot_be_made_durable_is_told(path, monkeypatch):
    def refuse(folder):
        raise OSError(errno.EIO, "Input/output error", folder)

    with monkeypatch.context() as context:
        context.setattr("tinyssb_node.store.sqlite.sync_folder", refuse)
        with pytest.raises(StoreFailedError, match="Input/output error"):
            SqliteStore.open(path)
    SqliteStore.open(path).close()
