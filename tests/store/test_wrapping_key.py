"""Secrets of the store that must be erasable: what a thief with all files opens, at any moment."""

import shutil
from pathlib import Path

import pytest

from tinyssb_node.errors import StoreFailedError
from tinyssb_node.store.repair import cut_store
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.wrapping_key import WrappingKey

OLD, NEW = b"the key of last month", b"the key of today"


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of all files, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def sealed_rows(folder: Path) -> list[bytes]:
    """Return each version of the secret's row that a thief finds anywhere in the store and its log."""
    found = []
    for name, data in files(folder).items():
        if name.startswith("store") and not name.endswith(".key"):
            at = data.find(b"erasable")
            while at >= 0:
                digits = bytearray()
                for byte in data[at + len(b"erasable") :]:
                    if byte not in b"0123456789abcdef":
                        break
                    digits.append(byte)
                if len(digits) >= 82:
                    found.append(bytes.fromhex(digits[: len(digits) // 2 * 2].decode()))
                at = data.find(b"erasable", at + 1)
    return found


def opened(folder: Path) -> set[bytes]:
    """Return what the thief opens with the keys in the folder."""
    key = WrappingKey(folder / "store.sqlite")
    plain = (key.open(row, settle=False) for row in sealed_rows(folder))
    return {one for one in plain if one is not None}


def test_a_thief_finds_the_old_row_and_cannot_open_it(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.sqlite")
    store.put_secret(OLD)
    store.commit(1)
    assert opened(tmp_path) == {OLD}
    store.put_secret(NEW)
    store.commit(2)
    assert len(set(sealed_rows(tmp_path))) == 2, "the log still has the old row"
    assert opened(tmp_path) == {NEW}
    assert not any(one in data for data in files(tmp_path).values() for one in (OLD, NEW))
    store.close()


def test_the_key_file_is_ours_alone(tmp_path: Path) -> None:
    store = SqliteStore.open(tmp_path / "store.sqlite")
    store.commit(1)
    assert not WrappingKey(tmp_path / "store.sqlite").path.exists()
    store.put_secret(NEW)
    store.commit(2)
    assert WrappingKey(tmp_path / "store.sqlite").path.stat().st_mode & 0o777 == 0o600
    store.close()


def copy(folder: Path, to: Path) -> Path:
    """Copy a home as a power cut leaves it."""
    to.mkdir()
    for path in folder.iterdir():
        if path.is_file():
            shutil.copy(path, to / path.name)
    return to


def reopened(folder: Path) -> bytes | None:
    """Open the store after a crash, read the secret, and close it."""
    store = SqliteStore.open(folder / "store.sqlite")
    try:
        return store.get_secret()
    finally:
        store.close()


def test_a_crash_before_the_commit_keeps_the_old_secret(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    store = SqliteStore.open(home / "store.sqlite")
    store.put_secret(OLD)
    store.commit(1)
    store.put_secret(NEW)
    crashed = copy(home, tmp_path / "crashed")
    assert reopened(crashed) == OLD
    assert opened(crashed) == {OLD}
    store.close()


def test_a_crash_between_the_commit_and_the_erasure_is_finished_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home := tmp_path / "home").mkdir()
    store = SqliteStore.open(home / "store.sqlite")
    store.put_secret(OLD)
    store.commit(1)
    store.put_secret(NEW)
    monkeypatch.setattr(WrappingKey, "settle", lambda _: None)  # power is lost here
    store.commit(2)
    monkeypatch.undo()
    crashed = copy(home, tmp_path / "crashed")
    store.close()
    assert opened(crashed) == {OLD, NEW}, "both keys are there"
    assert reopened(crashed) == NEW
    assert opened(crashed) == {NEW}


def test_a_store_without_its_key_file_has_no_secret_and_takes_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    store.put_secret(OLD)
    store.commit(1)
    store.close()
    WrappingKey(path).path.unlink()
    store = SqliteStore.open(path)
    assert store.get_secret() is None
    store.put_secret(NEW)
    store.commit(2)
    store.close()
    assert reopened(tmp_path) == NEW


def test_a_copy_made_by_a_repair_is_not_opened_after_the_next_change(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    store.put_secret(OLD)
    store.commit(1)
    store.close()
    cut_store(path, [])
    store = SqliteStore.open(path)
    store.put_secret(NEW)
    store.commit(2)
    store.close()
    assert opened(tmp_path) == {NEW}


def test_a_disk_that_refuses_the_key_is_told(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    WrappingKey(path).path.mkdir()
    with pytest.raises(StoreFailedError, match="could not be written"):
        store.put_secret(NEW)
    store.rollback()
    store.close()
