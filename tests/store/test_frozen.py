"""Stores of every schema that was ever written can still be opened."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from tests.store.contract import charge, snapshot
from tests.store.frozen import FOLDER, NETWORK, fill
from tinyssb_node.errors import StoreFailedError
from tinyssb_node.feeds.fork import verify_proof
from tinyssb_node.ids import Origin
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.sqlite_file import STORE_VERSION


@pytest.fixture(params=range(1, STORE_VERSION + 1))
def version(request):
    """Each version there ever was."""
    return request.param


@pytest.fixture
def frozen(version, tmp_path):
    """A copy of its store."""
    return shutil.copy(FOLDER / f"store_v{version}.sqlite", tmp_path / "store.sqlite")


def test_every_frozen_store_is_read_by_these_tests():
    names = {path.name for path in FOLDER.glob("*.sqlite")}
    assert names == {f"store_v{version}.sqlite" for version in range(1, STORE_VERSION + 1)}


def test_it_holds_what_was_put_into_it(frozen, version):
    expected = MemoryStore()
    fill(expected, version)
    for opening in (SqliteStore.open_readonly, SqliteStore.open):
        store = opening(frozen)
        try:
            assert snapshot(store) == snapshot(expected)
        finally:
            store.close()


def test_it_can_be_written_to(frozen):
    store = SqliteStore.open(frozen)
    try:
        own = next(record for record in store.feeds() if record.own)
        before = store.last_arrival()
        assert own.tip is not None
        assert store.append_entry(own.feed, own.seq + 1, bytes(120), own.tip, Origin.OWN, None) == before + 1
        store.rollback()
        store.put_meta("boot", "4")
        store.commit(5)
        assert store.get_meta("boot") == "4"
    finally:
        store.close()


def test_opened_for_writing_it_is_brought_up_to_date(frozen):
    SqliteStore.open(frozen).close()
    with closing(sqlite3.connect(frozen)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (STORE_VERSION,)
    store = SqliteStore.open(frozen)
    try:
        store.put_charge(charge("EU433", 1))
        store.commit(6)
        assert charge("EU433", 1) in store.charges()
    finally:
        store.close()


def test_a_migration_that_cannot_be_finished_changes_nothing(tmp_path):
    path = tmp_path / "store.sqlite"
    shutil.copy(FOLDER / "store_v1.sqlite", path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE charges (somebody_elses)")
    with pytest.raises(StoreFailedError):
        SqliteStore.open(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)


def test_opened_for_reading_it_stays_as_it_is(frozen):
    before = frozen.read_bytes()
    store = SqliteStore.open_readonly(frozen)
    store.charges()
    store.close()
    assert frozen.read_bytes() == before


def test_its_proof_still_holds(frozen):
    store = SqliteStore.open_readonly(frozen)
    try:
        (proof,) = store.forks()
        assert verify_proof(NETWORK, proof)
    finally:
        store.close()
