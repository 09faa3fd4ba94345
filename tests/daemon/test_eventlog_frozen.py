"""The frozen log has every kind, and the same calls still write the same bytes."""

import json
import shutil

import pytest

from tests.daemon.frozen_log import FOLDER, NODE, write
from tinyssb_node.codec.event_records import KINDS
from tinyssb_node.daemon.eventlog_segments import ResumePoint, read_resume_point, segments

FROZEN = [segment.path for segment in segments(FOLDER / NODE)]


def test_every_file_is_read_by_these_tests():
    assert sorted(path for path in FOLDER.rglob("*") if path.is_file()) == sorted(FROZEN)
    assert [(segment.boot, segment.first_offset > 0) for segment in segments(FOLDER / NODE)] == [
        (1, False),
        (2, False),
        (2, True),
        (3, False),
    ]


def test_the_same_calls_write_the_same_bytes(tmp_path):
    write(tmp_path)
    written = segments(tmp_path / NODE)
    assert [segment.path.name for segment in written] == [path.name for path in FROZEN]
    for segment, path in zip(written, FROZEN, strict=True):
        assert segment.path.read_bytes() == path.read_bytes(), path.name


def test_every_kind_is_in_it():
    kinds = {
        json.loads(line)["kind"]
        for path in FROZEN
        for line in path.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    }
    assert kinds == {*KINDS.values(), "mark"}


def test_nothing_is_missing_from_it():
    records = [
        json.loads(line)
        for path in FROZEN
        for line in path.read_bytes().splitlines(keepends=True)
        if line.endswith(b"\n")
    ]
    arrivals = [record["arrival"] for record in records if record["kind"] in ("entry", "chunk")]
    assert arrivals == list(range(1, len(arrivals) + 1))
    assert {record["boot"] for record in records if record["kind"] == "entry"} == {1, 2}


def test_it_is_understood_at_start():
    said = read_resume_point(FOLDER / NODE, 0)
    assert said == ResumePoint(boot=3, arrival=said.arrival, clean=True)
    assert said.arrival > 6


@pytest.mark.parametrize("newest", [1, 2])
def test_what_a_start_finds_depends_on_the_last_segment(tmp_path, newest):
    shutil.copytree(FOLDER / NODE, tmp_path / NODE)
    for segment in segments(tmp_path / NODE)[newest:]:
        segment.path.unlink()
    said = read_resume_point(tmp_path / NODE, 0)
    assert (said.boot, said.clean) == (newest, False)
    assert said.arrival == 6 if newest == 1 else said.arrival > 6
