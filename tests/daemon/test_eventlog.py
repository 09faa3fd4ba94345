import errno
import json
import os
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.daemon.anyevent import any_event
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.eventlog import EventLog, EventLogOptions
from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.effects import Send
from tinyssb_node.errors import EventLogFailedError, EventLogFullError
from tinyssb_node.events import (
    ChunkAppended,
    DaemonStarted,
    DaemonStopped,
    EntryAppended,
    FaceDown,
    PacketSent,
)
from tinyssb_node.ids import Dialect, FaceName, PacketKind
from tinyssb_node.node import Node
from tinyssb_node.store.memory import MemoryStore

KEY = SigningKey(b"\x07" * 32)
NODE = KEY.feed_id.hex()[:16]
WALL_US = 1_700_000_000_000_000
SECOND = 1_000_000
TX = PacketSent(face=FaceName("udp"), packet=PacketKind.WANT, length=20, hash=bytes(8), airtime_us=0)
APPENDS = (EntryAppended, ChunkAppended)


class Shell:
    """What the daemon does around a log, with a clock that stands still unless told."""

    def __init__(self, folder, store=None, **options):
        self.folder = folder
        self.place = folder / NODE
        self.store = store or MemoryStore()
        self.options = EventLogOptions(**options)
        self.mono_us = 0
        self.log: EventLog
        self.node: Node

    def open(self):
        self.mono_us = 0
        self.node = Node(
            store=self.store, network=Network(), entropy=random.Random(1), key=KEY, dialect=Dialect.SPEC
        )
        self.store.commit(WALL_US)
        self.log = EventLog.open(self.folder, NODE, self.store, WALL_US, options=self.options)
        return self

    def begin(self):
        start = DaemonStarted(
            name="ana", feed=KEY.feed_id, dialect=Dialect.SPEC, version="1", clean=self.log.clean
        )
        self.log.begin(start, WALL_US, self.mono_us)
        return self

    def start(self):
        return self.open().begin()

    def commit(self, content=b"x"):
        """Publish as far as the store; return the events."""
        _, effects = self.node.publish(content, self.mono_us)
        self.store.commit(WALL_US + self.mono_us)
        return [effect for effect in effects if not isinstance(effect, Send)]

    def append(self, *events):
        for event in events:
            self.log.append(event, WALL_US + self.mono_us, self.mono_us)

    def publish(self, content=b"x"):
        self.append(*self.commit(content))
        self.log.flush()

    def later(self, seconds):
        self.mono_us += seconds * SECOND
        self.log.tick(WALL_US + self.mono_us, self.mono_us)

    def stop(self):
        self.append(DaemonStopped(reason="signal"))
        self.log.close()

    def crash(self):
        """Lose whatever is in memory."""
        if self.log._file is not None:
            os.close(self.log._file)
            self.log._file = None
        self.store.rollback()

    def names(self):
        return [segment.path.name for segment in segments(self.place)]

    def records(self):
        """What a reader makes of it: whole lines that are JSON."""
        found = []
        for segment in segments(self.place):
            for line in segment.path.read_bytes().splitlines(keepends=True):
                try:
                    record = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    record = None
                if isinstance(record, dict):
                    found.append(record)
        return found

    def kinds(self):
        return [record["kind"] for record in self.records()]

    def arrivals(self):
        return [record["arrival"] for record in self.records() if record["kind"] in ("entry", "chunk")]


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
    for segment in segments(shell.place):
        os.utime(segment.path, (0, 0))
    shell.log._options = EventLogOptions(segment_bytes=1, segment_age_us=60 * SECOND)
    shell.later(60)
    assert len(shell.names()) == 1, "never the last one"
    shell.crash()


def test_old_segments_go_at_start(tmp_path):
    shell = Shell(tmp_path).start()
    shell.stop()
    for segment in segments(shell.place):
        os.utime(segment.path, (0, 0))
    shell.start()
    assert shell.names() == ["00000002-000000000000.jsonl"]
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
    assert shell.log._arrival == 4
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


# Crashes


def test_a_second_boot_has_the_next_number_and_says_how_the_first_ended(tmp_path):
    shell = Shell(tmp_path).start()
    shell.publish()
    shell.stop()
    shell.start()
    shell.crash()
    shell.start()
    shell.stop()
    starts = [(record["boot"], record["clean"]) for record in shell.records() if record["kind"] == "start"]
    assert starts == [(1, True), (2, True), (3, False)]
    marks = [(record["boot"], record["arrival"]) for record in shell.records() if record["kind"] == "mark"]
    assert marks == [(1, 0), (2, 1), (3, 1)]
    assert shell.arrivals() == [1]


@pytest.mark.parametrize("lost", ["the commit's records", "records not flushed", "nothing"])
def test_what_a_crash_kept_from_the_log_is_written_at_the_next_start(tmp_path, lost):
    shell = Shell(tmp_path).start()
    shell.publish()
    shell.mono_us = 7 * SECOND
    events = shell.commit(b"y" * 300)
    if lost != "the commit's records":
        shell.append(*events)
    if lost == "nothing":
        shell.log.flush()
    shell.crash()
    shell.start()
    shell.publish()
    shell.stop()
    assert shell.arrivals() == list(range(1, shell.store.last_arrival() + 1))
    if lost != "nothing":
        second = [record for record in shell.records() if record["boot"] == 2]
        assert [record["kind"] for record in second[:4]] == ["start", "mark", "entry", "chunk"]
        assert {record["t_us"] for record in second[2:6]} == {WALL_US + 7 * SECOND}
        assert {record["mono_us"] for record in second[2:6]} == {0}


def test_a_record_written_again_says_the_same(tmp_path):
    shell = Shell(tmp_path).start()
    events = shell.commit(b"y" * 300)
    shell.append(*events)
    shell.log.flush()
    first = [record for record in shell.records() if "arrival" in record and record["kind"] != "mark"]
    shell.crash()
    segments(shell.place)[0].path.unlink()
    shell.start()
    again = [record for record in shell.records() if "arrival" in record and record["kind"] != "mark"]
    place = ("boot", "offset", "mono_us")
    assert [{k: v for k, v in record.items() if k not in place} for record in first] == [
        {k: v for k, v in record.items() if k not in place} for record in again
    ]
    shell.crash()


def test_uncommitted_appends_are_neither_recorded_nor_forgotten(shell):
    shell.node.publish(b"not yet", 0)
    shell.log._behind = True
    shell.log.flush()
    assert shell.arrivals() == []
    shell.publish()
    assert shell.arrivals() == [1, 2]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A store and the bytes of its log's only segment, which did not end in order."""
    shell = Shell(tmp_path_factory.mktemp("written")).start()
    for size in (5, 300, 6):
        shell.append(TX)
        shell.publish(b"z" * size)
    shell.crash()
    return shell.store, segments(shell.place)[0].path.read_bytes()


def restart_from(folder, store, data):
    """Start with *data* as the log that is there; return the shell after the start."""
    place = folder / NODE
    place.mkdir()
    (place / "00000001-000000000000.jsonl").write_bytes(data)
    return Shell(folder, store).start()


def test_a_log_torn_at_any_byte_is_made_whole_without_touching_it(written, tmp_path_factory):
    store, data = written
    whole = list(range(1, store.last_arrival() + 1))
    for length in range(0, len(data) + 1, 7):
        store.put_meta("boot", "1")
        shell = restart_from(tmp_path_factory.mktemp("torn"), store, data[:length])
        assert shell.arrivals() == whole, length
        assert (shell.place / "00000001-000000000000.jsonl").read_bytes() == data[:length]
        shell.crash()


def test_lines_lost_from_the_middle_are_written_again(written, tmp_path_factory):
    store, data = written
    lines = data.splitlines(keepends=True)
    for lost in range(len(lines)):
        store.put_meta("boot", "1")
        holed = [*lines[:lost], b"\x00" * (len(lines[lost]) - 1) + b"\n", *lines[lost + 1 :]]
        shell = restart_from(tmp_path_factory.mktemp("holed"), store, b"".join(holed))
        assert set(shell.arrivals()) == set(range(1, store.last_arrival() + 1)), lost
        shell.crash()


# Stores and folders that do not belong together


def test_a_lost_store_goes_on_with_the_next_boot_and_records_all_it_holds(tmp_path):
    shell = Shell(tmp_path).start()
    for _ in range(3):
        shell.publish()
    shell.stop()
    fresh = Shell(tmp_path).open()
    fresh.commit(b"imported before the first run")
    fresh.begin()
    fresh.publish()
    fresh.crash()
    fresh.start()
    fresh.stop()
    assert [record["boot"] for record in fresh.records() if record["kind"] == "start"] == [1, 2, 3]
    assert fresh.arrivals() == [1, 2, 3, 1, 2]


def test_a_store_put_back_from_an_older_copy_is_recorded_again(tmp_path):
    shell = Shell(tmp_path).start()
    shell.publish()
    shell.crash()
    newer = Shell(tmp_path, shell.store)
    newer.start()
    newer.publish()
    newer.stop()
    older = MemoryStore()
    for record in shell.store.feeds():
        older.put_feed(record.__class__(**{**_fields(record), "seq": 0, "tip": None}))
    older.put_meta("boot", "1")
    older.commit(1)
    again = Shell(tmp_path, older).start()
    again.publish()
    assert again.arrivals() == [1, 2, 1]
    assert older.get_meta("log_since_boot") == "3"
    again.crash()


def _fields(record):
    return {name: getattr(record, name) for name in record.__slots__}


def test_a_deleted_folder_begins_again_with_everything_and_the_next_boot(tmp_path):
    shell = Shell(tmp_path).start()
    shell.publish()
    shell.stop()
    segments(shell.place)[0].path.unlink()
    shell.start()
    shell.stop()
    assert shell.arrivals() == [1]
    assert {record["boot"] for record in shell.records()} == {2}


# A full disk, and one that fails


class Disk:
    """Stands in for ``os.write``: has room for so many bytes, takes a part where not all fits."""

    def __init__(self, monkeypatch):
        self.room = 10**9
        self.fault = errno.ENOSPC
        self.write = os.write
        monkeypatch.setattr(os, "write", self)

    def __call__(self, file, data):
        if not self.room:
            raise OSError(self.fault, os.strerror(self.fault))
        written = self.write(file, bytes(data)[: self.room])
        self.room -= written
        return written


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


@pytest.mark.parametrize("fault", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("room", [0, 1, 50, 150])
def test_a_line_cut_off_by_a_full_disk_is_finished_first(shell, disk, room, fault):
    disk.room, disk.fault = room, fault
    shell.append(TX)
    with pytest.raises(EventLogFullError, match="Free some space"):
        shell.log.flush()
    shell.append(TX)
    with pytest.raises(EventLogFullError):
        shell.later(1)
    disk.room = 10**9
    shell.append(TX)
    shell.log.flush()
    assert shell.kinds() == ["start", "mark", "tx", "tx", "tx"]
    assert segments(shell.place)[0].path.read_bytes().count(b"\n") == 5
    assert [record["offset"] for record in shell.records()] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("room", [0, 1, 50, 200])
def test_a_crash_while_the_disk_is_full(shell, disk, room):
    shell.append(*shell.commit())
    disk.room = room
    with pytest.raises(EventLogFullError):
        shell.log.flush()
    shell.crash()
    disk.room = 10**9
    shell.start()
    assert shell.arrivals() == [1]


def test_what_no_longer_fits_into_memory_is_dropped_and_owned_up_to(shell, disk, monkeypatch):
    monkeypatch.setattr(limits, "EVENT_BACKLOG_BYTES", 1_000)
    disk.room = 0
    for _ in range(50):
        shell.append(TX)
    shell.append(*shell.commit(), *shell.commit(b"y" * 300))
    with pytest.raises(EventLogFullError):
        shell.log.flush()
    assert shell.log._waiting < 1_300
    disk.room = 10**9
    shell.append(*shell.commit())
    shell.log.flush()
    shell.publish()
    kept = shell.kinds().count("tx")
    assert 0 < kept < 50
    (refused,) = [record for record in shell.records() if record["kind"] == "refused"]
    assert refused["rule"] == "event_log"
    assert refused["count"] == 50 - kept
    assert shell.arrivals() == list(range(1, shell.store.last_arrival() + 1))


def test_a_disk_that_fills_up_while_catching_up(tmp_path, disk, monkeypatch):
    monkeypatch.setattr(limits, "EVENT_BACKLOG_BYTES", 500)
    shell = Shell(tmp_path).start()
    for _ in range(20):
        shell.commit()
    shell.crash()
    shell.open()
    disk.room = 1_500
    with pytest.raises(EventLogFullError):
        shell.begin()
    disk.room = 10**9
    shell.log.flush()
    shell.publish()
    assert shell.arrivals() == list(range(1, 22))
    shell.crash()


def test_a_gap_in_what_is_appended_is_filled_from_the_store(shell):
    skipped = shell.commit()
    shell.append(*shell.commit())
    shell.append(*shell.commit(), *skipped)
    shell.log.flush()
    shell.append(*skipped)
    shell.publish()
    assert shell.arrivals() == [1, 2, 3, 4]


def test_no_room_for_a_new_segment(tmp_path, disk, monkeypatch):
    shell = Shell(tmp_path, segment_bytes=1).start()
    shell.append(TX)
    opened = os.open

    def refuse(path, *args):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(EventLogFullError):
        shell.log.flush()
    monkeypatch.setattr(os, "open", opened)
    shell.log.flush()
    assert shell.kinds() == ["start", "mark", "mark", "tx"]


def test_another_fault_of_the_disk_is_named(shell, disk):
    disk.room, disk.fault = 0, errno.EIO
    shell.append(TX)
    with pytest.raises(EventLogFailedError, match=r"00000001-000000000000\.jsonl cannot be written: Input"):
        shell.log.flush()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / NODE).write_text("in the way")
    with pytest.raises(EventLogFailedError, match="exists"):
        Shell(tmp_path).open()


def test_closing_on_a_full_disk_says_so_and_lets_go_of_the_file(shell, disk):
    shell.append(TX)
    disk.room = 0
    with pytest.raises(EventLogFullError):
        shell.log.close()
    assert shell.log._file is None


def test_a_reason_with_a_line_feed_is_one_line(shell):
    shell.append(FaceDown(face=FaceName("udp"), reason="a\nb"))
    shell.log.flush()
    assert shell.records()[-1]["reason"] == "a\nb"
