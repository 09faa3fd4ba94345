"""A file that a command makes is whole or not there, and takes nothing's place."""

import errno
import os
import time
from pathlib import Path

import pytest

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.newfile import remove_leftovers, write_new_file


def write(path: Path, data: bytes) -> int:
    return write_new_file(path, lambda file: file.write(data))


def test_a_file_is_written_whole_and_over_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    assert write(path, b"one") == 3
    with pytest.raises(ProblemError, match="exists already") as caught:
        write(path, b"two")
    assert caught.value.exit_code is ExitCode.CREATE
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ProblemError, match="exists already") as caught:
        write(tmp_path / "link", b"two")
    assert caught.value.exit_code is ExitCode.CREATE
    assert path.read_bytes() == b"one"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a", "link"]
    with pytest.raises(ProblemError, match="cannot be written") as caught:
        write(tmp_path / "missing" / "a", b"one")
    assert caught.value.exit_code is ExitCode.MISSING


def test_who_comes_in_between_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    real = os.fsync

    def fsync(number: int) -> None:
        path.write_bytes(b"another")
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(ProblemError, match="exists already") as caught:
        write(path, b"one")
    assert caught.value.exit_code is ExitCode.CREATE
    assert path.read_bytes() == b"another"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_card_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hardlink_to(_self: Path, _target: Path) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", hardlink_to)
    write(tmp_path / "a", b"one")
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("a", b"one")]


def test_what_fails_while_it_is_written_leaves_nothing(tmp_path: Path) -> None:
    def stop(file: object) -> None:
        raise KeyError("a store that breaks")

    with pytest.raises(KeyError):
        write_new_file(tmp_path / "a", stop)
    assert list(tmp_path.iterdir()) == []


def test_what_was_left_behind_is_removed_once_it_is_old(tmp_path: Path) -> None:
    old_s = time.time() - limits.LEFTOVER_S - 60
    part, another = f".tinyssb-{'0a' * 8}.part", f".tinyssb-{'1b' * 8}.part"
    names = [part, another, ".tinyssb-x.part", "a.part", f"x{part}"]
    for name in names:
        (tmp_path / name).write_bytes(b"?")
        os.utime(tmp_path / name, (old_s, old_s))
    os.utime(tmp_path / another)
    (tmp_path / f".tinyssb-{'2c' * 8}.part").symlink_to(tmp_path / "a.part")
    (tmp_path / f".tinyssb-{'3d' * 8}.part").mkdir()
    remove_leftovers(tmp_path)
    remove_leftovers(tmp_path / "missing")
    left = {path.name for path in tmp_path.iterdir()}
    assert set(names) - left == {part}
    assert len(left) == len(names) + 1


@pytest.mark.parametrize("stays", [True, False])
def test_what_a_failing_disk_may_keep_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: bool
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    if stays:
        monkeypatch.setattr(Path, "unlink", fails)
    told = r"A partial file may remain as \.tinyssb-[0-9a-f]{16}\.part" if stays else "Nothing was written"
    with pytest.raises(ProblemError, match=told) as caught:
        write(tmp_path / "a", b"one")
    assert caught.value.exit_code is ExitCode.STORAGE
    assert len(list(tmp_path.iterdir())) == stays
