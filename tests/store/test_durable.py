import errno
import io
import os
import tempfile
from pathlib import Path

import pytest

from tinyssb_node import limits
from tinyssb_node.store import durable
from tinyssb_node.store.durable import in_the_place_of, lacks_room, write_anew


def test_every_byte_is_written_over_itself_and_synced_behind_that(tmp_path, monkeypatch):
    path = tmp_path / "file"
    content = bytes(range(256)) * 20
    path.write_bytes(content)
    writes, synced = [], []
    monkeypatch.setattr(durable, "_BLOCK", 1_000)
    write, sync = os.pwrite, os.fsync

    def keep_write(file, block, at):
        writes.append((block, at))
        return write(file, block, at)

    def keep_sync(file):
        synced.append(len(writes))
        sync(file)

    monkeypatch.setattr(os, "pwrite", keep_write)
    monkeypatch.setattr(os, "fsync", keep_sync)
    write_anew(path)
    assert synced == [len(writes)]
    assert b"".join(block for block, _ in writes) == content
    assert [at for _, at in writes] == list(range(0, len(content), 1_000))
    assert path.read_bytes() == content


def test_what_is_not_there_needs_nothing(tmp_path):
    write_anew(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("error", "raised"), [(errno.ENOSPC, False), (errno.EIO, True)])
def test_a_full_disk_leaves_it_as_it_is_and_a_broken_one_says_so(tmp_path, monkeypatch, error, raised):
    def refuse(*_):
        raise OSError(error, os.strerror(error))

    path = tmp_path / "file"
    path.write_bytes(b"kept")
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", refuse)
        if raised:
            with pytest.raises(OSError, match=os.strerror(error)):
                write_anew(path)
        else:
            write_anew(path)
    assert path.read_bytes() == b"kept"


def test_what_takes_a_place_takes_it_whole_synced_and_for_us_alone(tmp_path, monkeypatch):
    path = tmp_path / "tip.json"
    path.write_bytes(b"before")
    done = []
    sync, replace = os.fsync, Path.replace

    def keep_sync(file):
        found = Path(f"/proc/self/fd/{file}").resolve()
        done.append("folder" if found.is_dir() else found.read_bytes())
        sync(file)

    def keep_replace(part, target):
        done.append("replace")
        return replace(part, target)

    monkeypatch.setattr(os, "fsync", keep_sync)
    monkeypatch.setattr(Path, "replace", keep_replace)
    with in_the_place_of(path) as file:
        file.write(b"after")
        assert path.read_bytes() == b"before"
    assert done == [b"after", "replace", "folder"]
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_who_fails_to_write_changes_nothing(tmp_path):
    path = tmp_path / "tip.json"
    path.write_bytes(b"before")

    def fail():
        with in_the_place_of(path) as file:
            file.write(b"half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(OSError, match="No space"):
        fail()
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("error", "lacking"), [(errno.EDQUOT, True), (errno.ENOSPC, True), (errno.EIO, False), (None, False)]
)
def test_room_is_found_out_by_a_write(tmp_path, monkeypatch, error, lacking):
    written = []

    class Disk(io.RawIOBase):
        def writable(self):
            return True

        def write(self, block):
            if error is not None:
                raise OSError(error, os.strerror(error))
            written.append(len(block))
            return len(block)

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: io.BufferedWriter(Disk()))
    assert lacks_room(tmp_path) is lacking
    assert sum(written) == (0 if error else limits.DISK_ROOM_MIN)


def test_a_write_to_find_out_leaves_nothing(tmp_path):
    assert not lacks_room(tmp_path)
    assert list(tmp_path.iterdir()) == []
