import errno
import os
import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from spark_sink import limits
from spark_sink.collect.collector import Collector
from spark_sink.collect.landing import INDEX, LandingFolder
from spark_sink.collect.messages import FINE, FULL, GAP, HaveRow, Log, SegmentId
from spark_sink.errors import BusyError, StorageError
from spark_sink.log_files import LocalLogFiles
from tests.spark_sink.shipped import FIRST, NODE, UP, ask, batch, have

LOG = Log("open", NODE)
OTHER_NETWORK = Log("0123456789abcd", NODE)
NAME = "00000007-000000000000.jsonl"
CONTENT = random.Random(1).randbytes(50_000)


@contextmanager
def opened(root: Path, quota: int = 10**9, keep_free: int = 0) -> Iterator[LandingFolder]:
    with closing(LandingFolder.open(root, quota_bytes=quota, keep_free_bytes=keep_free)) as files:
        yield files


def row(files: LandingFolder, message: bytes, topic: str = UP) -> tuple[int, int]:
    answer = Collector(files, life=1).receive(topic, message)
    assert answer is not None
    ((_, _, size, state),) = have(answer.message)
    return size, state


def test_segments_lie_where_the_sink_looks_for_them(tmp_path: Path) -> None:
    with opened(tmp_path) as files:
        row(files, batch(CONTENT, 0, 900))
        row(files, batch(CONTENT, 0, 500), UP.replace("open", OTHER_NETWORK.network))
        files.sync()
    assert (tmp_path / NODE / NAME).read_bytes() == CONTENT[:900]
    assert (tmp_path / "networks" / "0123456789abcd" / NODE / NAME).read_bytes() == CONTENT[:500]
    # Networks are not mixed: one below `networks` is read when it is named.
    assert [segment.size for segment in LocalLogFiles(str(tmp_path)).listing()[NODE]] == [900]
    (named,) = LocalLogFiles(str(tmp_path / "networks/0123456789abcd")).listing().values()
    assert [segment.size for segment in named] == [500]


def test_what_was_synced_is_there_after_a_crash_and_the_rest_does_not_count(tmp_path: Path) -> None:
    with opened(tmp_path) as files:
        row(files, batch(CONTENT, 0, 900))
        files.sync()
        row(files, batch(CONTENT, 900, 600))
    assert (tmp_path / NODE / NAME).read_bytes() == CONTENT[:1_500]
    # What a power cut leaves behind the last sync may be anything.
    with (tmp_path / NODE / NAME).open("r+b") as file:
        file.seek(900)
        file.write(bytes(600))
    with opened(tmp_path) as files:
        assert files.have(LOG, FIRST) == 900
        assert row(files, batch(CONTENT, 1_500, 100)) == (900, GAP)
        assert row(files, batch(CONTENT, 900, 1_000)) == (1_900, FINE)
        files.sync()
    assert (tmp_path / NODE / NAME).read_bytes() == CONTENT[:1_900]


def test_a_file_that_a_crash_left_without_anything_synced_counts_for_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as files:
        row(files, batch(CONTENT, 0, 900))
    assert (tmp_path / NODE / NAME).stat().st_size == 900
    with opened(tmp_path) as files:
        assert files.have(LOG, FIRST) == 0


def test_segments_that_somebody_copied_here_count(tmp_path: Path) -> None:
    folder = tmp_path / NODE
    folder.mkdir()
    (folder / NAME).write_bytes(CONTENT[:700])
    (folder / "notes.txt").write_text("of no matter")
    (folder / "00000008-000000000000.jsonl").symlink_to(folder / "notes.txt")
    with opened(tmp_path) as files:
        assert files.rows(LOG, SegmentId(0, 0), 9) == (HaveRow(FIRST, 700),)
        assert row(files, batch(CONTENT, 700, 300)) == (1_000, FINE)
        files.sync()
    (folder / "00000009-000000000000.jsonl").write_bytes(b"copied later")
    with opened(tmp_path) as files:
        assert files.rows(LOG, FIRST, 9) == (HaveRow(FIRST, 1_000), HaveRow(SegmentId(9, 0), 12))


def test_segments_that_were_archived_are_remembered(tmp_path: Path) -> None:
    with opened(tmp_path) as files:
        row(files, batch(CONTENT, 0, 900))
        files.sync()
    (tmp_path / NODE / NAME).unlink()
    with opened(tmp_path) as files:
        assert files.rows(LOG, FIRST, 9) == (HaveRow(FIRST, 900),)
        assert row(files, batch(CONTENT, 0, 900)) == (900, FINE)


def test_nobody_writes_through_a_link(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("not yours")
    with opened(tmp_path / "logs") as files:
        (tmp_path / "logs" / NODE).mkdir()
        (tmp_path / "logs" / NODE / NAME).symlink_to(target)
        with pytest.raises(StorageError, match="Collecting into"):
            row(files, batch(CONTENT, 0, 900))
    assert target.read_text() == "not yours"


def test_a_node_has_its_quota_and_others_theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SPACE_LOOK_S", 0.0)
    with opened(tmp_path, quota=2_000) as files:
        assert row(files, batch(CONTENT, 0, 1_500)) == (1_500, FINE)
        assert row(files, batch(CONTENT, 1_500, 600)) == (1_500, FULL)
        assert row(files, batch(CONTENT, 0, 600), UP.replace("open", "0123456789abcd")) == (0, FULL)
        assert row(files, batch(CONTENT, 0, 1_500), UP.replace(NODE, "0" * 16)) == (1_500, FINE)
        files.sync()
        # Whoever archives makes room.
        (tmp_path / NODE / NAME).unlink()
        assert row(files, batch(CONTENT, 0, 600), UP.replace("open", "0123456789abcd")) == (600, FINE)


def test_the_disk_is_not_filled(tmp_path: Path) -> None:
    with opened(tmp_path, keep_free=2**62) as files:
        assert row(files, batch(CONTENT, 0, 100)) == (0, FULL)
    assert not (tmp_path / NODE).exists()


def test_a_node_has_so_many_networks_and_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEGMENTS_PER_NODE_MAX", 9)
    with opened(tmp_path) as files:
        states = [
            row(files, batch(CONTENT, 0, 10), UP.replace("open", f"{number:014x}"))[1] for number in range(12)
        ]
        assert states == [FINE] * limits.NETWORKS_PER_NODE_MAX + [FULL] * 4
        more = [row(files, batch(CONTENT, 0, 10, segment=SegmentId(boot, 0)),
                    UP.replace("open", f"{1:014x}"))[1] for boot in (8, 9)]  # fmt: skip
        assert more == [FINE, FULL]


def test_so_many_nodes_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "NODES_MAX", 2)
    with opened(tmp_path) as files:
        states = [
            row(files, batch(CONTENT, 0, 10), UP.replace(NODE, f"{number:016x}"))[1] for number in range(3)
        ]
    assert states == [FINE, FINE, FULL]


def test_a_disk_that_is_full_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pwrite(file: int, content: bytes, at: int) -> int:
        if content:
            raise OSError(errno.ENOSPC, "No space left on device")
        return 0

    with opened(tmp_path) as files:
        monkeypatch.setattr(os, "pwrite", pwrite)
        assert row(files, batch(CONTENT, 0, 100)) == (0, FULL)
        monkeypatch.undo()
        assert row(files, batch(CONTENT, 0, 100)) == (100, FINE)


@pytest.mark.parametrize("network", ["open", OTHER_NETWORK.network])
@pytest.mark.parametrize("synced", [True, False])
def test_a_node_whose_folder_was_deleted_sends_what_grows_from_its_beginning(
    tmp_path: Path, network: str, *, synced: bool
) -> None:
    up, folder = UP.replace("open", network), tmp_path
    if network != "open":
        folder = tmp_path / "networks" / network
    with opened(tmp_path) as files:
        row(files, batch(CONTENT, 0, 900), up)
        if synced:
            files.sync()
        shutil.rmtree(folder / NODE)
        assert row(files, batch(CONTENT, 900, 100), up) == (0, GAP)
        assert row(files, batch(CONTENT, 0, 1_000), up) == (1_000, FINE)
        files.sync()
        assert row(files, batch(CONTENT, 1_000, 100), up) == (1_100, FINE)
    assert (folder / NODE / NAME).read_bytes() == CONTENT[:1_100]


def test_a_file_that_is_deleted_while_its_batch_comes_gets_no_hole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as files:
        row(files, batch(CONTENT, 0, 900))
        files.sync()

        def room(*_: object) -> bool:
            (tmp_path / NODE / NAME).unlink()
            return True

        with monkeypatch.context() as patch:
            patch.setattr(files, "_has_room", room)
            assert row(files, batch(CONTENT, 900, 100)) == (0, GAP)
        assert files.rows(LOG, FIRST, 9) == ()
        assert not (tmp_path / NODE / NAME).exists()
        assert row(files, batch(CONTENT, 0, 1_000)) == (1_000, FINE)
        files.sync()
    assert (tmp_path / NODE / NAME).read_bytes() == CONTENT[:1_000]


STEPS = ("mkdir", "open", "fsync", "pwrite")
"""Calls by which a file comes to be: each may be the last one before a kill, or fail."""


def entries(root: Path) -> set[Path]:
    """All that is in folders below *root*, by its path there; the index aside."""
    found = (path.relative_to(root) for path in root.rglob("*"))
    return {path for path in found if not path.name.startswith(INDEX)}


class Disk:
    """Knows which entries of folders a power cut leaves, and stops at a step."""

    def __init__(
        self, patch: pytest.MonkeyPatch, root: Path, stop: tuple[str, int], fault: Exception
    ) -> None:
        self.kept: set[Path] = set()
        self._root, self._stop, self._fault = root, stop, fault
        self._steps = Counter[str]()
        self._folders: dict[int, Path] = {}
        for name in STEPS:
            patch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **more: Any) -> Any:
            self._steps[name] += 1
            if self._stop == (name, self._steps[name]):
                raise self._fault
            result = call(*arguments, **more)
            if name == "open":
                self._folders[result] = Path(arguments[0])
            elif name == "fsync" and (folder := self._folders[arguments[0]]).is_dir():
                self.kept |= {path.relative_to(self._root) for path in folder.iterdir()}
            return result

        return watched


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("step", [(name, count) for name in STEPS for count in range(1, 6)])
def test_however_the_making_of_a_file_ends_the_next_batch_makes_it_for_good(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: tuple[str, int], fault: Exception
) -> None:
    up = UP.replace("open", OTHER_NETWORK.network)
    with monkeypatch.context() as patch, suppress(KeyboardInterrupt), opened(tmp_path) as files:
        Disk(patch, tmp_path, step, fault)
        assert row(files, batch(CONTENT, 0, 900), up) in ((0, FULL), (900, FINE))
    with monkeypatch.context() as patch, opened(tmp_path) as files:
        disk = Disk(patch, tmp_path, ("", 0), fault)
        assert row(files, batch(CONTENT, 0, 900), up) == (900, FINE)
        files.sync()
        assert disk.kept >= entries(tmp_path)
    assert (tmp_path / "networks" / OTHER_NETWORK.network / NODE / NAME).read_bytes() == CONTENT[:900]


@pytest.mark.parametrize("network", ["open", OTHER_NETWORK.network])
def test_a_segment_that_is_deleted_while_it_is_counted_does_not_count(tmp_path: Path, network: str) -> None:
    """As `compact --delete` does; the copies were not noted before, so both looks at the folder meet it."""
    up = UP.replace("open", network)
    folder = (tmp_path if network == "open" else tmp_path / "networks" / network) / NODE
    folder.mkdir(parents=True)
    for boot in (5, 6):
        (folder / f"{boot:08d}-000000000000.jsonl").write_bytes(bytes(900))
    look = os.scandir
    with pytest.MonkeyPatch.context() as patch, opened(tmp_path, quota=1_500) as files:

        def scandir(path: Path) -> list[os.DirEntry[str]]:
            found = sorted(look(path), key=lambda entry: entry.name)
            if path == folder:
                (folder / "00000005-000000000000.jsonl").unlink(missing_ok=True)
            return found

        patch.setattr(os, "scandir", scandir)
        assert row(files, batch(CONTENT, 0, 600), up) == (600, FINE)
        assert [found.segment.boot for found in files.rows(Log(network, NODE), SegmentId(0, 0), 9)] == [6, 7]
        assert row(files, batch(CONTENT, 600, 100), up) == (600, FULL)


def test_a_root_that_was_deleted_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SPACE_LOOK_S", 0.0)
    with opened(tmp_path / "logs") as files:
        shutil.rmtree(tmp_path / "logs")
        with pytest.raises(StorageError, match="Collecting into"):
            row(files, batch(CONTENT, 0, 900))
    assert not (tmp_path / "logs").exists()


def test_two_collectors_do_not_write_one_folder(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(BusyError, match="collects into"), opened(tmp_path):
        pass


def test_an_index_that_is_none_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / INDEX).write_bytes(b"something else" * 100)
    with pytest.raises(StorageError, match="Collecting into"), opened(tmp_path):
        pass
    assert (tmp_path / INDEX).read_bytes().startswith(b"something else")


LANDING = """
import sys
from pathlib import Path
from spark_sink.collect.collector import Collector
from spark_sink.collect.landing import LandingFolder
from spark_sink.collect.messages import Log
from tests.spark_sink.shipped import UP, SegmentId, batch
root, content = Path(sys.argv[1]), Path(sys.argv[2]).read_bytes()
files = LandingFolder.open(root, quota_bytes=10**9, keep_free_bytes=0)
collector = Collector(files, life=1)
for boot in range(1, 100):
    at = files.have(Log("open", sys.argv[3]), SegmentId(boot, 0))
    while at < len(content):
        collector.receive(UP, batch(content, at, 700, segment=SegmentId(boot, 0)))
        at += 700
        if at % 2_100 == 0:
            files.sync()
            print(boot, at, flush=True)
"""


def test_killed_in_the_middle_nothing_that_was_answered_is_lost(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.write_bytes(CONTENT)
    root = tmp_path / "logs"
    for kill in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", LANDING, root, content, NODE], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        answered = [process.stdout.readline() for _ in range(7 + 11 * kill)][-1]
        process.send_signal(signal.SIGKILL)
        process.communicate()
        boot, size = map(int, answered.split())
        with opened(root) as files:
            assert files.have(Log("open", NODE), SegmentId(boot, 0)) >= size
            for found in files.rows(LOG, SegmentId(0, 0), 99):
                path = root / NODE / f"{found.segment.boot:08d}-000000000000.jsonl"
                assert path.read_bytes()[: found.have] == CONTENT[: found.have]


def test_the_index_lists_in_order_and_by_pages(tmp_path: Path) -> None:
    with opened(tmp_path) as files:
        names = [SegmentId(boot, first) for boot in (3, 1, 2) for first in (10**11, 0, 5)]
        for name in names:
            files.write(LOG, name, 0, b"x")
        found = [one.segment for one in files.rows(LOG, SegmentId(1, 5), 4)]
        assert found == sorted(names)[1:5]
        answer = Collector(files, life=1).receive(UP, ask(SegmentId(3, 1)))
        assert answer is not None
        assert have(answer.message) == [(3, 5, 1, FINE), (3, 10**11, 1, FINE)]
