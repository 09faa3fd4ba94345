"""Stores of every schema that was ever written can still be opened."""

import shutil

import pytest

from tests.store.contract import snapshot
from tests.store.frozen import FOLDER, NETWORK, fill
from tinyssb_node.feeds.fork import verify_proof
from tinyssb_node.ids import Origin
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.sqlite_file import STORE_VERSION


@pytest.fixture(params=range(1, STORE_VERSION + 1))
def frozen(request, tmp_path):
    """A copy of the store of each version."""
    return shutil.copy(FOLDER / f"store_v{request.param}.sqlite", tmp_path / "store.sqlite")


def test_every_frozen_store_is_read_by_these_tests():
    names = {path.name for path in FOLDER.glob("*.sqlite")}
    assert names == {f"store_v{version}.sqlite" for version in range(1, STORE_VERSION + 1)}


def test_it_holds_what_was_put_into_it(frozen):
    expected = MemoryStore()
    fill(expected)
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


def test_its_proof_still_holds(frozen):
    store = SqliteStore.open_readonly(frozen)
    try:
        (proof,) = store.forks()
        assert verify_proof(NETWORK, proof)
    finally:
        store.close()
