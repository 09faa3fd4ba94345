"""Listing: which folders are nodes', which segment may still grow, and how far it may be read."""

from pathlib import Path

import pytest

from spark_sink.errors import NoLogsFolderError, TwoFoldersError
from spark_sink.folders import Folders
from spark_sink.segments import Segment
from tests.spark_sink.logs import NodeLog, line, node_name

NODE = node_name(0)


@pytest.mark.parametrize("below", ["", "events", "homes/ana/.tinyssb/events"])
def test_nodes_are_found_by_the_names_of_their_folders(logs: Path, below: str) -> None:
    log = NodeLog(logs / below, NODE)
    log.add("stop", reason="signal")
    (logs / "notes").mkdir()
    log.path.with_suffix(".tmp").write_text("no segment")
    folders = Folders(str(logs))
    size = log.path.stat().st_size
    assert folders.listing() == {NODE: [Segment(log.path.name, size, next_offset=1, stopped=True)]}
    assert folders.path(NODE, log.path.name) == str(log.path)


def test_a_nodes_own_folder_will_do(logs: Path) -> None:
    log = NodeLog(logs, NODE)
    assert set(Folders(str(log.path.parent)).listing()) == {NODE}


def test_a_torn_line_waits_while_the_segment_is_the_last(logs: Path) -> None:
    log = NodeLog(logs, NODE)
    folders = Folders(str(logs))
    assert folders.listing() == {NODE: [Segment(log.path.name, 0)]}
    first = line(log.stamp("face_down"))
    second = line(log.stamp("face_down"))
    log.raw(first + second[:-1])
    assert folders.listing() == {NODE: [Segment(log.path.name, len(first), next_offset=1)]}
    log.raw(second[-1:])
    whole = len(first) + len(second)
    assert folders.listing() == {NODE: [Segment(log.path.name, whole, next_offset=2)]}
    log.raw(b'{"torn')
    torn = log.path.name
    log.rotate()
    assert folders.listing() == {NODE: [Segment(torn, whole + 6), Segment(log.path.name, 0)]}


def test_far_too_long_a_tail_is_looked_through_for_its_last_line_feed(logs: Path) -> None:
    log = NodeLog(logs, NODE)
    log.raw(b"garbage\n" + b"x" * 200_000)
    assert Folders(str(logs)).listing() == {NODE: [Segment(log.path.name, 8)]}


def test_further_networks_of_a_home_are_read_apart(logs: Path) -> None:
    default = NodeLog(logs / "home" / "events", NODE)
    village = NodeLog(logs / "home" / "networks" / "village" / "events", NODE)
    for place, log in (("home", default), ("home/networks/village", village)):
        folders = Folders(str(logs / place))
        assert set(folders.listing()) == {NODE}
        assert folders.path(NODE, log.path.name) == str(log.path)


def test_one_node_in_two_folders_is_refused(logs: Path) -> None:
    for folder in ("one", "two"):
        NodeLog(logs / folder, NODE)
    with pytest.raises(TwoFoldersError, match=f"{NODE} is in two folders"):
        Folders(str(logs)).listing()


def test_no_folder_is_an_error_but_an_empty_one_is_not(logs: Path) -> None:
    assert Folders(str(logs)).listing() == {}
    with pytest.raises(NoLogsFolderError, match="no folder"):
        Folders(str(logs / "nowhere")).listing()
