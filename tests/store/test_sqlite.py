import errno
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.store.contract import (
    ANA,
    BOB,
    EVE,
    StoreContract,
    feed_record,
    id_of,
    packet_of,
    put_chunk,
    put_entry,
    side_chain,
    snapshot,
)
from tests.store.gaps import cut_and_given_again
from tinyssb_node.errors import (
    StoreDamagedError,
    StoreFailedError,
    StoreFullError,
    StoreLockedError,
    StoreTooNewError,
)
from tinyssb_node.ids import Dialect, Origin
from tinyssb_node.store.repair import FeedCut, cut_store
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.sqlite"


@pytest.fixture
def connections(monkeypatch):
    """The connections to SQLite that are made, in order."""
    made, connect = [], sqlite3.connect

    def noting(*args, **options):
        made.append(connect(*args, **options))
        return made[-1]

    monkeypatch.setattr(sqlite3, "connect", noting)
    return made


@pytest.fixture
def store(path, connections):
    store = SqliteStore.open(path)
    yield store
    store.close()


@pytest.fixture
def connection(store, connections):
    """The connection of *store*."""
    return connections[-1]


def tamper(path, *statements):
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, store):
        return store

    @pytest.fixture(autouse=True)
    def _at(self, path):
        self.path = path

    def with_gaps(self, store):
        return cut_and_given_again(store, self.path, ANA, 1)

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

    def test_numbers_are_not_given_again_after_the_last_append_was_cut_and_the_store_closed(
        self, filled, path
    ):
        filled.cut_feed(ANA, 2)
        filled.commit(2_000)
        filled.close()
        again = SqliteStore.open(path)
        try:
            assert again.last_arrival() == 6
            assert put_entry(again, BOB, 2) == 7
        finally:
            again.close()

    def test_commits_that_date_nothing_any_more_are_deleted(self, store, connection):
        for feed in (ANA, BOB):
            store.put_feed(feed_record(feed))
        for seq in range(1, 9):
            put_entry(store, ANA if seq < 8 else BOB, seq if seq < 8 else 1)
            store.commit(seq)
        store.cut_feed(ANA, 2)
        store.commit(9)
        rows = connection.execute("SELECT arrival FROM commits ORDER BY arrival").fetchall()
        assert rows == [(1,), (2,), (8,)]
        assert [each.committed_us for each in store.after(0, 9)] == [1, 2, 8]

    def test_commits_of_several_feeds_that_are_cut_by_and_by_are_deleted(self, store, connection):
        for feed in (EVE, ANA, BOB):
            store.put_feed(feed_record(feed))
        put_entry(store, EVE, 1)
        store.commit(1)
        for turn in range(1, 9):
            for seq in (2 * turn - 1, 2 * turn):
                for feed in (ANA, BOB):
                    put_entry(store, feed, seq)
            store.commit(turn + 1)
        for keep in (12, 8, 4, 0):
            for feed in (ANA, BOB):
                store.cut_feed(feed, keep)
                store.commit(10)
        assert connection.execute("SELECT arrival FROM commits").fetchall() == [(1,)]
        assert [each.committed_us for each in store.after(0, 9)] == [1]

    def test_a_chunk_put_twice_is_refused_and_can_be_undone(self, filled):
        before = snapshot(filled)
        put_chunk(filled, ANA, 2, 1)
        with pytest.raises(StoreFailedError, match="UNIQUE"):
            filled.commit(2_000)
        filled.rollback()
        assert snapshot(filled) == before


# A full disk


@pytest.fixture
def full(store, connection):
    """A store with some entries, on a disk with no room for many more."""
    store.put_feed(feed_record(ANA))
    for seq in range(1, 11):
        put_entry(store, ANA, seq)
    store.commit(1)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
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


def test_once_there_is_room_it_goes_on(full, connection):
    for seq in range(11, 500):
        put_entry(full, ANA, seq)
    with pytest.raises(StoreFullError):
        full.commit(2)
    full.rollback()
    connection.execute("PRAGMA max_page_count = 100000")
    assert put_entry(full, ANA, 11) == 11
    full.commit(3)
    assert full.entry(ANA, 11).committed_us == 3


# Killed at any moment


KILLED = """
import os, sys
from pathlib import Path
from tests.store.contract import *
from tinyssb_node.store.repair import FeedCut, cut_store
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


def test_a_folder_that_cannot_be_locked(tmp_path):
    with pytest.raises(StoreFailedError, match="could not be taken"):
        SqliteStore.open(tmp_path / "missing" / "store.sqlite")


def test_a_reader_sees_one_moment_while_the_writer_goes_on(store, path):
    store.put_feed(feed_record(ANA))
    put_entry(store, ANA, 1)
    store.commit(1)
    put_entry(store, ANA, 2)
    reader = SqliteStore.open_readonly(path)
    try:
        before = snapshot(reader)
        assert reader.last_arrival() == 1
        store.commit(2)
        put_entry(store, ANA, 3)
        store.commit(3)
        assert snapshot(reader) == before
    finally:
        reader.close()


def test_a_reader_cannot_write(store, path):
    store.put_feed(feed_record(ANA))
    store.commit(1)
    reader = SqliteStore.open_readonly(path)
    try:
        with pytest.raises(StoreFailedError, match="readonly"):
            reader.put_meta("x", "y")
    finally:
        reader.close()


def test_a_reader_does_not_make_a_store(path):
    with pytest.raises(StoreFailedError, match="unable to open"):
        SqliteStore.open_readonly(path)
    assert not path.exists()


def test_a_reader_of_an_empty_file(path):
    path.touch()
    with pytest.raises(StoreDamagedError, match="empty"):
        SqliteStore.open_readonly(path)


# Files that are not what they should be


def test_a_newer_schema_is_refused_and_left_alone(store, path):
    store.close()
    tamper(path, "PRAGMA user_version = 7")
    before = path.read_bytes()
    with pytest.raises(StoreTooNewError, match=r"format 7.*up to 6"):
        SqliteStore.open(path)
    with pytest.raises(StoreTooNewError):
        SqliteStore.open_readonly(path)
    assert path.read_bytes() == before


def test_another_programs_database_is_refused_and_left_alone(path):
    tamper(path, "CREATE TABLE cats (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreDamagedError, match="another program"):
        SqliteStore.open(path)
    assert path.read_bytes() == before
    assert sorted(file.name for file in path.parent.iterdir()) == ["lock", "store.sqlite"]


@pytest.mark.parametrize("place", ["header", "first page", "all"])
def test_a_damaged_file_is_named_and_left_alone(store, path, place):
    store.put_feed(feed_record(ANA))
    store.commit(1)
    store.close()
    size = path.stat().st_size
    start, length = {"header": (0, 16), "first page": (100, 3_000), "all": (0, size)}[place]
    with path.open("r+b") as file:
        file.seek(start)
        file.write(b"\xa5" * length)
    before = path.read_bytes()
    with pytest.raises(StoreDamagedError, match="left as it is"):
        SqliteStore.open(path)
    assert path.read_bytes() == before


def test_damage_met_while_reading_is_named(store, path):
    store.put_feed(feed_record(ANA))
    for seq in range(1, 500):
        put_entry(store, ANA, seq)
    store.commit(1)
    store.close()
    page = path.read_bytes().index(packet_of(ANA, 250)) // 4096
    with path.open("r+b") as file:
        file.seek(page * 4096)
        file.write(b"\xa5" * 4096)
    store = SqliteStore.open(path)
    try:
        with pytest.raises(StoreDamagedError):
            store.entries(ANA, 1, 500)
    finally:
        store.close()


def test_an_empty_file_becomes_a_store(path):
    path.touch()
    store = SqliteStore.open(path)
    assert store.last_arrival() == 0
    store.close()


def test_a_file_whose_making_was_cut_short_becomes_a_store(path):
    tamper(path, "PRAGMA journal_mode = WAL")
    store = SqliteStore.open(path)
    store.put_meta("a", "b")
    store.commit(1)
    store.close()


# Durability and cost


def test_every_commit_is_synced(store, connection):
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_thousand_appends_take_few_statements(store, connection):
    store.put_feed(feed_record(ANA))
    store.commit(1)
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    for seq in range(1, 1_001):
        put_entry(store, ANA, seq)
    assert statements == []
    store.commit(2)
    inserts = [text for text in statements if "INTO entries" in text]
    assert len(inserts) == 1_000
    assert len(statements) - len(inserts) <= 4, "begin, the feed, the commit's time, commit"


def test_lookups_use_an_index(store, connection):
    for sql in (
        "SELECT * FROM dated_entries WHERE feed = 1 AND seq >= 1 AND seq < 9 ORDER BY seq",
        "SELECT feed, seq FROM entries WHERE dmx = 1 ORDER BY arrival",
        "SELECT * FROM dated_entries WHERE arrival > 1 AND arrival <= 9",
        "SELECT * FROM dated_chunks WHERE arrival > 1 AND arrival <= 9",
        "SELECT feed, seq, chunk, packet FROM chunks WHERE hash = 1 ORDER BY arrival",
        "SELECT packet FROM chunks WHERE feed = 1 AND seq = 1 AND chunk >= 0 AND chunk < 9 ORDER BY chunk",
    ):
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert not [step for step in plan if step.startswith("SCAN") or "TEMP B-TREE" in step], (sql, plan)


def test_opening_does_not_depend_on_how_much_is_stored(store, connection):
    """The statements that open a store read ends of indexes and the feeds, whatever their number of entries."""
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    store.rollback()
    for sql in statements:
        plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")]
        assert not [
            step
            for step in plan
            if step.startswith("SCAN") and "feeds" not in step and "CONSTANT" not in step
        ]


def test_a_copy_made_while_closed_is_a_backup(store, path, tmp_path):
    store.put_feed(feed_record(BOB, dialect=Dialect.DEPLOYED, own=True))
    store.append_entry(BOB, 1, packet_of(BOB, 1), id_of(BOB, 1), Origin.OWN, None)
    store.commit(1)
    before = snapshot(store)
    store.close()
    backup = tmp_path / "backup"
    backup.mkdir()
    shutil.copy(path, backup / "store.sqlite")
    reader = SqliteStore.open_readonly(backup / "store.sqlite")
    try:
        assert snapshot(reader) == before
    finally:
        reader.close()


def test_the_serving_database_of_the_analytics_is_not_taken_for_a_store(path):
    tamper(path, "PRAGMA application_id = 0x74535342", "PRAGMA user_version = 1", "CREATE TABLE events (x)")
    with pytest.raises(StoreDamagedError, match="another program"):
        SqliteStore.open(path)


def test_a_folder_that_cannot_be_made_durable_is_told(path, monkeypatch):
    def refuse(folder):
        raise OSError(errno.EIO, "Input/output error", folder)

    with monkeypatch.context() as context:
        context.setattr("tinyssb_node.store.recovery.sync_folder", refuse)
        with pytest.raises(StoreFailedError, match="Input/output error"):
            SqliteStore.open(path)
    SqliteStore.open(path).close()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from("echE "), max_size=20))
def test_after_finds_what_is_there_whatever_is_missing(tmp_path_factory, kinds):
    """An entry or a chunk, or a number that is missing."""
    path = tmp_path_factory.mktemp("home") / "store.sqlite"
    store = SqliteStore.open(path)
    store.put_feed(feed_record(ANA))
    store.put_feed(feed_record(BOB))
    put_entry(store, ANA, 1)
    there, seq, chunk = [1], 1, 0
    missing: list[int] = []
    for kind in kinds:
        if kind == " ":
            missing.append(put_entry(store, BOB, 1 + len(missing)))
        elif kind in "eE":
            seq += 1
            there.append(put_entry(store, ANA, seq))
        else:
            there.append(put_chunk(store, ANA, 1, chunk))
            chunk += 1
    if missing:
        there[-1] = store.last_arrival()  # a repair keeps the last number in use
        store.commit(1)
        store.close()
        cut_store(path, [FeedCut(BOB, 0)])
        store = SqliteStore.open(path)
    for arrival in range(len(kinds) + 3):
        for limit in (1, 2, 5, 99):
            found = [append.arrival for append in store.after(arrival, limit)]
            assert found == [number for number in there if number > arrival][:limit]
    store.close()
