"""Listing: which folders are nodes', and what is looked at again."""

import errno
import os
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from spark_sink import limits
from spark_sink.cli import main
from spark_sink.errors import NoLogsFolderError
from spark_sink.log_files import LocalLogFiles
from spark_sink.planner import Planner
from spark_sink.segments import Segment
from tests.spark_sink.logs import NodeLog, node_name

NODE = node_name(0)


def settle(logs: Path) -> None:
    """Let all folders have changed long ago."""
    for folder in (logs, *(path for path in logs.rglob("*") if path.is_dir())):
        os.utime(folder, (1_000_000_000, 1_000_000_000))


@pytest.mark.parametrize("below", ["", "events", "homes/ana/.tinyssb/events"])
def test_nodes_are_found_by_the_names_of_their_folders(logs: Path, below: str) -> None:
    log = NodeLog(logs / below, NODE)
    log.add("stop", reason="signal")
    (logs / "notes").mkdir()
    log.path.with_suffix(".tmp").write_text("no segment")
    (segment,) = LocalLogFiles(str(logs)).listing()[NODE]
    assert segment == Segment(1, 0, log.path.stat().st_size, str(log.path.parent))
    assert segment.path == str(log.path)


def test_a_nodes_own_folder_will_do(logs: Path) -> None:
    log = NodeLog(logs, NODE)
    assert set(LocalLogFiles(str(log.path.parent)).listing()) == {NODE}


def test_what_grows_comes_and_goes_is_seen_and_the_rest_is_the_same_object(logs: Path) -> None:
    one, two = NodeLog(logs, NODE), NodeLog(logs, node_name(1))
    settle(logs)
    folders = LocalLogFiles(str(logs))
    before = folders.listing()
    one.raw(b"x" * 10)
    after = folders.listing()
    assert [segment.size for segment in after[NODE]] == [10]
    assert after[two.node] is before[two.node]
    one.offset = 7
    one.rotate()
    assert [(segment.first, segment.size) for segment in folders.listing()[NODE]] == [(0, 10), (7, 0)]
    two.path.unlink()
    assert set(folders.listing()) == {NODE}


def test_a_segment_that_grows_where_it_lies_before_others_is_seen_in_a_minute(
    logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = NodeLog(logs, NODE)
    early = log.path
    log.offset = 7
    log.rotate()
    settle(logs)
    folders = LocalLogFiles(str(logs))
    folders.listing()
    early.write_bytes(b"x" * 10)
    assert [segment.size for segment in folders.listing()[NODE]] == [0, 0]
    monkeypatch.setattr(limits, "FOLDER_LOOK_NS", 0)
    assert [segment.size for segment in folders.listing()[NODE]] == [10, 0]


def test_a_folder_that_changed_just_now_is_looked_at_again(logs: Path) -> None:
    log = NodeLog(logs, NODE)
    log.offset = 7
    log.rotate()
    folders = LocalLogFiles(str(logs))
    folders.listing()
    (log.path.parent / "00000001-000000000000.jsonl").write_bytes(b"x")
    assert [segment.size for segment in folders.listing()[NODE]] == [1, 0]


def test_further_networks_of_a_home_are_read_apart(logs: Path) -> None:
    default = NodeLog(logs / "home" / "events", NODE)
    village = NodeLog(logs / "home" / "networks" / "village" / "events", NODE)
    for place, log in (("home", default), ("home/networks/village", village)):
        listing = LocalLogFiles(str(logs / place)).listing()
        assert [segment.path for segment in listing[NODE]] == [str(log.path)]


def test_one_node_in_two_folders_has_the_segments_of_both(logs: Path) -> None:
    for folder in ("one", "two"):
        NodeLog(logs / folder, NODE)
    NodeLog(logs / "two", NODE, boot=2)
    found = LocalLogFiles(str(logs)).listing()[NODE]
    assert [(segment.boot, Path(segment.folder).parent.name) for segment in found] == [
        (1, "one"),
        (1, "two"),
        (2, "two"),
    ]


def test_bytes_are_read_as_far_as_there_are_any(logs: Path) -> None:
    log = NodeLog(logs, NODE)
    log.raw(b"0123456789")
    folders = LocalLogFiles(str(logs))
    assert folders.read(str(log.path), 2, 5) == b"234"
    assert folders.read(str(log.path), 8, 50) == b"89"
    with pytest.raises(FileNotFoundError):
        folders.read(str(log.path) + "x", 0, 1)


def test_no_folder_is_an_error_but_an_empty_one_is_not(logs: Path) -> None:
    assert LocalLogFiles(str(logs)).listing() == {}
    with pytest.raises(NoLogsFolderError, match="no folder"):
        LocalLogFiles(str(logs / "nowhere")).listing()


def forbid(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Nobody may read *folder*; that of the file system would not keep root out."""
    real = os.scandir

    def scandir(path: str) -> Any:
        if path == str(folder):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)


def test_a_folder_that_nobody_may_read_is_told_of(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = NodeLog(logs, NODE)
    log.add("stop", reason="signal")
    (logs / "lost+found").mkdir()
    forbid(monkeypatch, logs / "lost+found")
    planner = Planner(LocalLogFiles(str(logs)))
    for _ in range(2):
        planner.refresh()
        (odd,) = planner.oddities({})
        assert (odd.node, odd.path) == ("", str(logs / "lost+found"))
        assert "permission to read this folder is missing" in odd.reason
    assert planner.bytes_listed() == log.path.stat().st_size
    monkeypatch.undo()
    settle(logs)
    planner.refresh()
    assert planner.oddities({}) == []


def test_a_link_to_where_nobody_may_look_is_told_of(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    path, folders = str(logs / "elsewhere"), LocalLogFiles(str(logs))
    stat = os.stat
    with monkeypatch.context() as patch:
        patch.setattr(os, "scandir", lambda _: nullcontext([Mock(path=path, is_dir=refuse)]))
        patch.setattr(os, "stat", lambda found, **more: refuse() if found == path else stat(found, **more))
        found = folders.listing()
    assert found == {}
    assert [closed for closed, _ in folders.passed_over()] == [path]


@pytest.mark.parametrize("below", ["", NODE])
def test_a_nodes_folder_that_nobody_may_read_stops(
    logs: Path, below: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Otherwise its segments would seem to be gone."""
    NodeLog(logs, NODE)
    forbid(monkeypatch, logs / below)
    assert main(["backfill", str(logs), "--db", str(logs.parent / "db.sqlite")]) == 74
    (said,) = capsys.readouterr().err.splitlines()
    assert f"Using {logs / below} failed: Permission denied." in said
