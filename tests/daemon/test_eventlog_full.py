"""A full disk, and one that fails: what is written stays readable, and no entry is lost."""

import errno
import os

import pytest

from tests.daemon.logshell import NODE, TX, Shell
from tinyssb_node import limits
from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.errors import EventLogFullError, ExitCode, LocalError


@pytest.fixture
def shell(tmp_path):
    shell = Shell(tmp_path).start()
    yield shell
    shell.crash()


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
    disk.room = 10**9
    shell.append(*shell.commit())
    shell.log.flush()
    shell.publish()
    kept = shell.kinds().count("tx")
    assert 0 < kept < 50
    lines = segments(shell.place)[0].path.read_bytes().splitlines(keepends=True)
    assert sum(len(line) for line in lines if b'"kind":"tx"' in line) < 1_300
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
    with pytest.raises(LocalError, match=r"00000001-000000000000\.jsonl cannot be written: Input") as caught:
        shell.log.flush()
    assert caught.value.exit_code is ExitCode.STORAGE


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / NODE).write_text("in the way")
    with pytest.raises(LocalError, match="exists") as caught:
        Shell(tmp_path).open()
    assert caught.value.exit_code is ExitCode.STORAGE


def test_closing_on_a_full_disk_says_so_and_lets_go_of_the_file(shell, disk):
    shell.append(TX)
    disk.room = 0
    with pytest.raises(EventLogFullError):
        shell.log.close()
    assert shell.open_files() == []
