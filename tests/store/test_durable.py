import errno
import os

import pytest

from tinyssb_node.store import durable
from tinyssb_node.store.durable import write_anew


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
