import json
import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.daemon.anyevent import any_event
from tests.daemon.logshell import APPENDS, NODE, SECOND, TX, Shell
from tinyssb_node.codec.events import DaemonStarted, FaceDown
from tinyssb_node.daemon.eventlog import EventLogOptions
from tinyssb_node.daemon.eventlog_segments import read_resume_point, segments
from tinyssb_node.ids import FaceName

DAY = 86_400


@pytest.fixture
def shell(tmp_path):
    shell = Shell(tmp_path).start()
    yield shell
    shell.crash()


# What is written


def test_a_boot_from_start_to_stop(shell):
    shell.publish(b"short")
    shell.publish(b"long" * 50)
    shell.stop()
    assert shell.names() == ["00000001-000000000000.jsonl"]
    assert shell.kinds() == ["start", "mark", "entry", "entry", "chunk", "chunk", "stop"]
    records = shell.records()
    assert [record["offset"] for record in records] == list(range(7))
    assert {(record["v"], record["node"], record["boot"]) for record in records} == {(1, NODE, 1)}
    assert records[0]["clean"] is True
    assert records[1]["arrival"] == 0
    assert shell.arrivals() == [1, 2, 3, 4]


def test_nothing_is_written_before_the_flush_and_then_in_one_write(shell, monkeypatch):
    writes = []
    write = os.write

    def spy(file, data):
        writes.append(bytes(data))
        return write(file, data)

    monkeypatch.setattr(os, "write", spy)
    shell.append(TX, TX, TX)
    assert writes == []
    shell.log.flush()
    assert [data.count(b"\n") for data in writes] == [3]
    shell.log.flush()
    assert len(writes) == 1


def test_every_record_is_readable_at_once_after_the_flush(shell):
    shell.append(TX)
    shell.log.flush()
    assert shell.kinds()[-1] == "tx"


@settings(max_examples=30, deadline=None)
@given(
    st.lists(any_event.filter(lambda event: not isinstance(event, (*APPENDS, DaemonStarted))), max_size=20)
)
def test_any_events_come_back_as_lines_of_json(tmp_path_factory, events):
    shell = Shell(tmp_path_factory.mktemp("events"), segment_bytes=2_000).start()
    before = len(shell.records())
    for event in events:
        shell.append(event)
        shell.log.flush()
    shell.log.close()
    records = [record for record in shell.records()[before:] if record["kind"] != "mark"]
    assert len(records) == len(events)
    assert [record["offset"] for record in shell.records()] == list(range(len(shell.records())))


def test_a_boot_begins_with_its_start_record_and_only_once(tmp_path):
    shell = Shell(tmp_path).open()
    with pytest.raises(AssertionError, match="start record"):
        shell.append(TX)
    shell.begin()
    with pytest.raises(AssertionError, match="once"):
        shell.begin()
    shell.crash()


# Segments


def test_a_segment_that_reached_its_size_is_followed_by_a_new_one(tmp_path):
    shell = Shell(tmp_path, segment_bytes=1_000).start()
    for _ in range(20):
        shell.append(TX)
        shell.log.flush()
    shell.publish()
    shell.stop()
    there = segments(shell.place)
    assert len(there) > 2
    for segment in there[:-1]:
        assert 1_000 <= segment.path.stat().st_size < 1_300
    firsts = [json.loads(segment.path.read_bytes().splitlines()[0]) for segment in there]
    assert [record["offset"] for record in firsts] == [segment.first_offset for segment in there]
    assert [record["kind"] for record in firsts] == ["start"] + ["mark"] * (len(there) - 1)
    assert [record["offset"] for record in shell.records()] == list(range(len(shell.records())))


def test_a_mark_says_how_far_the_log_was(tmp_path):
    shell = Shell(tmp_path, segment_bytes=1).start()
    for _ in range(3):
        shell.publish()
    shell.stop()
    held = 0
    for record in shell.records():
        if record["kind"] == "mark":
            assert record["arrival"] == held
        held = record.get("arrival", held)
    assert held == 3


def test_a_segment_of_age_is_followed_by_a_new_one_once_there_is_something_to_write(tmp_path):
    shell = Shell(tmp_path, segment_age_us=60 * SECOND).start()
    shell.later(59)
    shell.append(TX)
    shell.later(1)
    assert len(shell.names()) == 1
    shell.later(500)
    assert len(shell.names()) == 1
    shell.append(TX)
    shell.log.flush()
    assert len(shell.names()) == 2
    assert shell.kinds() == ["start", "mark", "tx", "mark", "tx"]
    assert shell.records()[3]["mono_us"] == 560 * SECOND
    shell.crash()


def test_old_segments_go_when_a_segment_ends_and_once_in_a_while(tmp_path):
    shell = Shell(tmp_path, segment_bytes=1, segment_age_us=60 * SECOND, retention_bytes=2_000).start()
    for _ in range(50):
        shell.append(TX)
        shell.log.flush()
    assert sum(segment.path.stat().st_size for segment in segments(shell.place)) <= 2_000
    assert shell.names()[-1] >= "00000001-000000000050.jsonl"
    shell.crash()
    shell.options = EventLogOptions(segment_bytes=1, segment_age_us=60 * SECOND)
    shell.start()
    for segment in segments(shell.place):
        os.utime(segment.path, (0, 0))
    shell.later(60)
    shell.later(DAY - 1)
    assert len(shell.names()) > 1, "the clock may be wrong"
    shell.later(60)
    assert len(shell.names()) == 1, "never the last one"
    shell.crash()


def test_segments_that_are_too_many_go_at_start(tmp_path):
    shell = Shell(tmp_path).start()
    shell.stop()
    shell.options = EventLogOptions(retention_bytes=0)
    shell.start()
    assert shell.names() == ["00000002-000000000000.jsonl"]
    shell.crash()


def test_a_clock_that_was_wrong_for_a_moment_costs_no_segment(tmp_path):
    shell = Shell(tmp_path, segment_bytes=1, segment_age_us=60 * SECOND).start()
    for _ in range(5):
        shell.append(TX)
        shell.log.flush()
    before = shell.names()
    for wrong_us in (40 * DAY * SECOND, 0):
        shell.mono_us += 2 * DAY * SECOND
        shell.log.tick(time.time_ns() // 1_000 + wrong_us, shell.mono_us)
        assert shell.names() == before
    shell.crash()


def test_how_far_it_is_survives_the_segments_that_said_so(tmp_path):
    shell = Shell(tmp_path, segment_bytes=1, retention_bytes=0).start()
    for _ in range(3):
        shell.publish()
    for _ in range(5):
        shell.append(TX)
        shell.log.flush()
    assert shell.arrivals() == []
    shell.crash()
    shell.start()
    shell.publish()
    shell.crash()
    assert read_resume_point(shell.place, since_boot=0).arrival == 4
    assert shell.store.get_meta("log_since_boot") is None


# Syncing


@pytest.fixture
def syncs(monkeypatch):
    """Files that were synced, in order."""
    synced = []
    fsync = os.fsync

    def spy(file):
        synced.append(file)
        fsync(file)

    monkeypatch.setattr(os, "fsync", spy)
    return synced


def test_records_are_synced_after_at_most_so_long(shell, syncs):
    shell.append(TX)
    shell.later(1)
    assert syncs == []
    shell.append(TX)
    shell.later(4)
    assert len(syncs) == 1
    shell.later(100)
    assert len(syncs) == 1, "there was nothing new"


def test_a_segment_is_synced_before_the_next_one_begins(tmp_path, syncs):
    shell = Shell(tmp_path, segment_bytes=1).start()
    syncs.clear()
    shell.append(TX)
    shell.log.flush()
    assert len(syncs) == 2, "the new name in the folder, then the segment"


def test_closing_syncs(shell, syncs):
    shell.append(TX)
    shell.log.close()
    assert len(syncs) == 1


def test_a_reason_with_a_line_feed_is_one_line(shell):
    shell.append(FaceDown(face=FaceName("udp"), reason="a\nb"))
    shell.log.flush()
    assert shell.records()[-1]["reason"] == "a\nb"
