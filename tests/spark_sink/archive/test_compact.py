"""Compaction: what is written where, what is deleted, and that a crash loses nothing and doubles nothing."""

import fcntl
import os
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_sink import limits
from spark_sink.archive.compact import CompactOptions, CompactSummary, compact
from spark_sink.archive.disk import Disk
from spark_sink.archive.pieces import SCHEMA
from spark_sink.cli import main
from spark_sink.errors import BusyError, StorageError
from spark_sink.schema import COLUMNS
from tests.spark_sink.archive.test_reading import HOUR_US, NOW_S, compacted, reader, text, write
from tests.spark_sink.logs import T0_US, line
from tests.spark_sink.test_planner import A, B

DAY_S = 86_400


def rows(root: Path) -> list[dict[str, Any]]:
    found = []
    for file in sorted((root / "archive").glob("day=*/[!.]*.parquet")):
        found += [
            {**row, "day": file.parent.name} for row in pq.read_table(file, partitioning=None).to_pylist()
        ]
    return found


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "logs").rglob("*.jsonl"))


def two_nodes(root: Path) -> Counter[tuple[str, int]]:
    """Three segments each, over several days; the last one is not closed."""
    for node in (A, B):
        for first in (0, 7, 14):
            write(root / "logs", node, 1, first, text(node, 1, first, first + 7))
    return Counter((node, offset) for node in (A, B) for offset in range(21))


def test_records_lie_in_the_day_that_the_nodes_clock_had(tmp_path: Path) -> None:
    write(tmp_path / "logs", B, 1, 0, text(B, 1, 0, 9))
    write(tmp_path / "logs", B, 1, 9, text(B, 1, 9, 10))
    wrong = line({"v": 1, "node": A, "boot": 1, "offset": 0, "t_us": 5, "mono_us": 0, "kind": "x"})
    write(tmp_path / "logs", A, 1, 0, wrong + text(A, 1, 1, 6))
    write(tmp_path / "logs", A, 1, 6, text(A, 1, 6, 7))
    compacted(tmp_path, delete=False)
    found = rows(tmp_path)
    assert len(found) == 15
    for row in found:
        assert row["day"] == f"day={datetime.fromtimestamp(row['t_us'] // 10**6, UTC).date()}"
    assert [(row["node"], row["offset"]) for row in found if row["day"] == "day=1970-01-01"] == [(A, 0)]
    assert {name for row in found for name in row} == {field.name for field in COLUMNS} | {"byte", "day"}
    by_day: dict[str, list[tuple[str, int, int]]] = {}
    for row in found:
        by_day.setdefault(row["day"], []).append((row["node"], row["boot"], row["offset"]))
    assert all(places == sorted(places) for places in by_day.values())


def test_a_node_keeps_its_last_segment_and_what_is_torn_or_has_just_changed(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    write(tmp_path / "logs", B, 1, 14, text(B, 1, 14, 16) + b'{"torn')
    write(tmp_path / "logs", B, 2, 0, text(B, 2, 0, 2))
    order = CompactOptions(tmp_path / "logs", tmp_path / "archive", NOW_S, older_than_h=1, delete=True)
    for path in (tmp_path / "logs" / A).iterdir():
        os.utime(path, (NOW_S - 3600, NOW_S - 3600))
    for path in (tmp_path / "logs" / B).iterdir():
        os.utime(path, (NOW_S - 3599, NOW_S - 3599))
    assert compact(order).deleted == 2
    assert len(names(tmp_path)) == 5
    assert compacted(tmp_path).deleted == 2
    assert names(tmp_path) == ["00000001-000000000014.jsonl"] * 2 + ["00000002-000000000000.jsonl"]
    assert compacted(tmp_path) == CompactSummary()
    stream = reader(tmp_path).all()
    assert sorted(row["offset"] for row in stream.rows if row["node"] == B) == sorted([*range(16), 0, 1])


def test_what_is_archived_is_not_archived_again(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    first = compacted(tmp_path, delete=False)
    assert (first.segments, first.records, first.deleted, first.kept) == (4, 28, 0, 0)
    files = sorted((tmp_path / "archive").rglob("*.parquet"))
    assert first.files == len(files)
    assert compacted(tmp_path, delete=False) == CompactSummary()
    assert sorted((tmp_path / "archive").rglob("*.parquet")) == files


def test_the_same_segments_make_the_same_files(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    compacted(tmp_path, delete=False)
    compacted(tmp_path, delete=False, archive="other")
    found = {path.relative_to(tmp_path / "archive") for path in (tmp_path / "archive").rglob("*.parquet")}
    assert found == {path.relative_to(tmp_path / "other") for path in (tmp_path / "other").rglob("*.parquet")}


class StopError(Exception):
    """The machine goes down."""


class Mortal(Disk):
    """Goes down before step *last*; a file that is being written is then there in part."""

    def __init__(self, last: int) -> None:
        self.left = last

    def _step(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise StopError

    def make_folder(self, folder: Path) -> None:
        self._step()
        super().make_folder(folder)

    def write(self, path: Path, rows: pa.Table, footer: bytes) -> None:
        try:
            self._step()
        except StopError:
            path.write_bytes(b"PAR1 and no more")
            raise
        super().write(path, rows, footer)

    def rename(self, old: Path, new: Path) -> None:
        self._step()
        super().rename(old, new)

    def sync(self, path: Path) -> None:
        self._step()
        super().sync(path)

    def delete(self, path: Path) -> None:
        self._step()
        super().delete(path)


@pytest.mark.slow
def test_a_crash_at_any_step_loses_nothing_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "FILE_ROWS", 6)
    step = 0
    while True:
        root = tmp_path / str(step)
        expected = two_nodes(root)
        order = CompactOptions(root / "logs", root / "archive", NOW_S, older_than_h=0, delete=True)
        try:
            compact(order, Mortal(step))
            break
        except StopError:
            step += 1
        assert Counter((row["node"], row["offset"]) for row in reader(root).all().rows) == expected
        compact(order)
        stream = reader(root).all()
        assert Counter((row["node"], row["offset"]) for row in stream.rows) == expected
        assert stream.reasons() == []
        archived = Counter((row["node"], row["offset"]) for row in rows(root))
        assert archived == Counter({place: 1 for place in expected if place[1] < 14})
        assert len(names(root)) == 2
        assert not list((root / "archive").rglob(".*"))
    assert step > 30


def test_a_later_day_that_was_written_before_a_crash_is_not_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_behind = []
    step = 0
    while True:
        root = tmp_path / str(step)
        write(root / "logs", A, 1, 0, text(A, 1, 0, 10, step_us=4 * HOUR_US))
        write(root / "logs", A, 1, 10, text(A, 1, 10, 11, step_us=4 * HOUR_US))
        order = CompactOptions(root / "logs", root / "archive", NOW_S, older_than_h=0, delete=True)
        with monkeypatch.context() as patch:
            patch.setattr(limits, "FILE_ROWS", 8)  # the second day, the fuller one, is written first
            try:
                compact(order, Mortal(step))
                break
            except StopError:
                step += 1
        left_behind.append([row["offset"] for row in rows(root)])
        # Of the same day: were the crash's pieces written again, it would be in another file together with these.
        write(root / "logs", B, 1, 4, text(B, 1, 4, 7))
        write(root / "logs", B, 1, 7, text(B, 1, 7, 8))
        compact(order)
        archived = Counter((row["node"], row["offset"]) for row in rows(root))
        assert archived == Counter([*((A, offset) for offset in range(10)), *((B, 4), (B, 5), (B, 6))])
        assert len(names(root)) == 2
    assert [*range(4, 10)] in left_behind


class Forgetful(Disk):
    """Gives back other bytes than it was given."""

    def holds(self, path: Path, rows: pa.Table) -> bool:
        return super().holds(path, rows.slice(1))


def test_nothing_is_named_or_deleted_that_does_not_read_as_it_was_written(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    order = CompactOptions(tmp_path / "logs", tmp_path / "archive", NOW_S, older_than_h=0, delete=True)
    with pytest.raises(StorageError, match="not what was written"):
        compact(order, Forgetful())
    assert len(names(tmp_path)) == 6
    assert rows(tmp_path) == []


def test_rows_in_memory_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FILE_ROWS", 20)
    for first in range(0, 100, 5):
        write(tmp_path / "logs", A, 1, first, text(A, 1, first, first + 5, step_us=HOUR_US))
    compacted(tmp_path, delete=False)
    counts = Counter(row["day"] for row in rows(tmp_path))
    assert sum(counts.values()) == 95
    sizes = [pq.read_metadata(path).num_rows for path in (tmp_path / "archive").rglob("*.parquet")]
    assert max(sizes) <= 24


def test_a_clock_that_goes_to_and_fro_makes_few_pieces(tmp_path: Path) -> None:
    back_and_forth = b"".join(
        line({"v": 1, "node": A, "boot": 1, "offset": n, "t_us": T0_US * (n % 2), "mono_us": n, "kind": "x"})
        for n in range(100)
    )
    write(tmp_path / "logs", A, 1, 0, back_and_forth)
    write(tmp_path / "logs", A, 1, 100, text(A, 1, 100, 101))
    assert compacted(tmp_path).deleted == 1
    found = rows(tmp_path)
    assert sorted(row["offset"] for row in found) == list(range(100))
    (segment,) = [segment for segment in reader(tmp_path).files.listing()[A] if segment.pieces]
    assert len(segment.pieces) == limits.PIECES_MAX + 1


def test_days_long_ago_are_forgotten_but_not_what_has_just_come_with_a_wrong_clock(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    old = line({"v": 1, "node": A, "boot": 1, "offset": 0, "t_us": 5, "mono_us": 0, "kind": "x"})
    write(tmp_path / "logs", A, 1, 0, old + text(A, 1, 1, 7))
    compacted(tmp_path)
    folders = sorted((tmp_path / "archive").glob("day=*"))
    for folder in folders:
        is_old = folder.name != "day=1970-01-01"
        for file in folder.iterdir():
            os.utime(file, (NOW_S - DAY_S * (31 if is_old else 29),) * 2)
    (folders[2] / "note.txt").write_text("mine")
    assert compacted(tmp_path, forget_days=10**5).forgotten == 0
    assert compacted(tmp_path, forget_days=30).forgotten == len(folders) - 2
    assert sorted((tmp_path / "archive").glob("day=*")) == [folders[0], folders[2]]
    (folders[2] / "note.txt").unlink()
    assert compacted(tmp_path, forget_days=28).forgotten == 2
    assert compacted(tmp_path, forget_days=28) == CompactSummary()


def test_two_do_not_write_one_archive(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    (tmp_path / "archive").mkdir()
    with (tmp_path / "archive" / "compact.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BusyError, match="writes the archive"):
            compacted(tmp_path)


def test_a_disk_that_refuses_is_told_in_plain_words(tmp_path: Path) -> None:
    two_nodes(tmp_path)
    (tmp_path / "archive").write_text("a file")
    with pytest.raises(StorageError, match="no segment was deleted"):
        compacted(tmp_path)


def test_rows_of_an_archive_have_the_columns_that_are_documented() -> None:
    assert SCHEMA.names == [*(field.name for field in COLUMNS), "byte"]


def test_the_command_says_what_it_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two_nodes(tmp_path)
    words = ["compact", str(tmp_path / "logs"), str(tmp_path / "archive")]
    assert main([*words, "--older-than", "0", "--delete", "--forget-days", "99999"]) == 0
    said = capsys.readouterr().out
    assert "Archived 4 segments: 28 records" in said
    assert "Deleted 4 segments and 0 days" in said
    assert main([*words, "--older-than", "-1"]) == 78
    assert main([*words, "--forget-days", "0"]) == 78
    assert main(["compact", str(tmp_path / "nowhere"), str(tmp_path / "archive")]) == 1
