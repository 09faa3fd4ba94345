"""After a crash, or with a store or folder that was lost, no entry is missing from the log."""

import pytest

from tests import nodes
from tests.daemon.fakes import OTHER
from tests.daemon.logshell import KEY, NODE, SECOND, TX, WALL_US, Shell
from tests.store.gaps import cut_and_given_again
from tinyssb_node import limits
from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture
def shell(tmp_path):
    shell = Shell(tmp_path).start()
    yield shell
    shell.crash()


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


def test_uncommitted_appends_are_neither_recorded_nor_forgotten(tmp_path):
    shell = Shell(tmp_path).open()
    shell.node.publish(b"not yet", 0)
    shell.begin()
    assert shell.arrivals() == []
    shell.publish()
    assert shell.arrivals() == [1, 2]
    shell.crash()


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


def test_a_log_that_begins_anew_behind_a_repair_has_all_and_has_it_once(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "EVENT_CATCH_UP_BATCH", 2)
    path = tmp_path / "store.sqlite"
    shell = Shell(tmp_path, SqliteStore.open(path)).open()
    for _ in range(6):
        shell.commit()
    shell.crash()
    shell.store = cut_and_given_again(shell.store, path, KEY.feed_id, 1)
    shell.start()
    shell.publish()
    assert shell.arrivals() == [6, 7, 8, 9, 10, 11, 12]
    shell.stop()
    shell.start()
    shell.publish()
    shell.crash()
    assert shell.arrivals() == [6, 7, 8, 9, 10, 11, 12, 13]
    shell.store.close()


def test_numbers_are_missing_in_the_middle_of_a_log(tmp_path):
    path = tmp_path / "store.sqlite"
    shell = Shell(tmp_path, SqliteStore.open(path)).open()
    shell.node.follow(OTHER.feed_id, 0)
    for packet in nodes.packets_of(nodes.written(OTHER, [b"1", b"2", b"3", b"4"])):
        shell.node.import_packet(packet, 0)
    for _ in range(2):
        shell.commit()
    shell.crash()
    shell.store = cut_and_given_again(shell.store, path, OTHER.feed_id, 1)
    for _ in range(3):
        shell.start()
        shell.stop()
    assert shell.arrivals() == [1, 5, 6, 7, 8, 9]
    shell.store.close()
