"""Read marks: they advance, and no damage to their file loses more than counts."""

import json
import stat
from pathlib import Path

import pytest

from tinyssb_node.screens import limits
from tinyssb_node.screens.read_marks import READ_FILE, mark_read, read_marks


def test_marks_advance_and_never_go_back(tmp_path: Path) -> None:
    assert read_marks(tmp_path) == {}
    mark_read(tmp_path, {"public": 5, "0011": 2})
    mark_read(tmp_path, {"public": 3})
    mark_read(tmp_path, {"0011": 7})
    assert read_marks(tmp_path) == {"public": 5, "0011": 7}
    assert stat.S_IMODE((tmp_path / READ_FILE).stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == [READ_FILE]


@pytest.mark.parametrize(
    "raw",
    [b"", b"\xff", b"[]", b'{"v": 2, "read": {"public": 5}}', b'{"v": 1, "read": [5]}', b"[" * 100_000],
)
def test_a_file_that_is_malformed_has_no_marks_and_is_replaced(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / READ_FILE).write_bytes(raw)
    assert read_marks(tmp_path) == {}
    mark_read(tmp_path, {"public": 1})
    assert read_marks(tmp_path) == {"public": 1}


def test_marks_that_are_no_numbers_are_left_out(tmp_path: Path) -> None:
    (tmp_path / READ_FILE).write_text(json.dumps({"v": 1, "read": {"a": "x", "b": -1, "c": 3}}))
    assert read_marks(tmp_path) == {"c": 3}


def test_the_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "READ_MARKS_MAX", 3)
    for number in range(5):
        mark_read(tmp_path, {str(number): 1})
    assert list(read_marks(tmp_path)) == ["2", "3", "4"]


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    mark_read(tmp_path / "absent", {"public": 1})
    assert read_marks(tmp_path / "absent") == {}
