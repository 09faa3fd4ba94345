"""The event log is read as it grows: torn lines wait, or are left out once a later segment exists."""

from pathlib import Path

import pytest

from tinyssb_node.screens.tail import follow_lines, last_lines


def test_the_newest_lines_are_found_across_segments(tmp_path: Path) -> None:
    (tmp_path / "00000001-000000000000.jsonl").write_bytes(b"a\nb\ntorn")
    (tmp_path / "00000002-000000000000.jsonl").write_bytes(b"c\nd")
    lines, place = last_lines(tmp_path, 2)
    assert lines == [b"b", b"c"]
    assert place is not None
    assert (place.path.name, place.offset) == ("00000002-000000000000.jsonl", 2)
    assert last_lines(tmp_path, 99)[0] == [b"a", b"b", b"c"]
    assert last_lines(tmp_path / "nothing", 5) == ([], None)


class EnoughError(Exception):
    """The test has waited often enough."""


def test_lines_are_followed_into_later_segments(tmp_path: Path) -> None:
    first, second = tmp_path / "00000001-000000000000.jsonl", tmp_path / "00000001-000000000005.jsonl"
    first.write_bytes(b"a\n")
    steps = iter(
        [
            lambda: first.write_bytes(b"a\nb\nto"),
            lambda: first.write_bytes(b"a\nb\ntorn\nthen"),
            lambda: second.write_bytes(b"c\n"),
            lambda: second.write_bytes(b"c\nd\n"),
        ]
    )

    def wait() -> None:
        try:
            next(steps)()
        except StopIteration:
            raise EnoughError from None

    _, place = last_lines(tmp_path, 1)
    lines = follow_lines(tmp_path, place, wait)
    assert [next(lines) for _ in range(4)] == [b"b", b"torn", b"c", b"d"]
    with pytest.raises(EnoughError):
        next(lines)


def test_a_segment_deleted_under_the_reader_is_left_behind(tmp_path: Path) -> None:
    first, second = tmp_path / "00000001-000000000000.jsonl", tmp_path / "00000001-000000000005.jsonl"
    first.write_bytes(b"a\n")
    _, place = last_lines(tmp_path, 1)
    first.unlink()
    second.write_bytes(b"b\n")
    assert next(follow_lines(tmp_path, place, lambda: None)) == b"b"
