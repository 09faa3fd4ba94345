"""Planning: whatever arrives when, in whatever order, however often: each record is read once, and none is missed."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits, segment_reader
from spark_sink.line_parser import Projection
from spark_sink.planner import LostRecordsError, Planner
from spark_sink.segments import pack_tasks, segment_name
from spark_sink.stream_offset import (
    Gap,
    StreamOffset,
    gaps,
    parse_offset_text,
    serialize_offset_text,
)
from tests.spark_sink.logs import T0_US, line, node_name
from tests.spark_sink.memory_files import MemoryFiles

SHAPE = Projection(["node", "boot", "offset", "bad_path", "bad_byte", "bad_reason"])
A, B = node_name(1), node_name(2)


def record(node: str, boot: int, offset: int, **fields: Any) -> bytes:
    header = {"v": 1, "node": node, "boot": boot, "offset": offset, "t_us": T0_US + offset, "mono_us": offset}
    return line({**header, "kind": "mark", **fields})


def start(node: str, boot: int, *, clean: bool = True, name: str = "n") -> bytes:
    return record(node, boot, 0, kind="start", name=name, feed=node * 4, clean=clean)


def records(node: str, boot: int, first: int, end: int) -> bytes:
    made = [start(node, boot) if offset == 0 else record(node, boot, offset) for offset in range(first, end)]
    return b"".join(made)


def path(node: str, boot: int, first: int, folder: str = "logs") -> str:
    return f"{folder}/{node}/{segment_name(boot, first)}"


class Reader:
    """A stream over files in memory, restarted at will."""

    def __init__(self, files: MemoryFiles) -> None:
        self.files = files
        self.offset: StreamOffset = {}
        self.rows: list[dict[str, Any]] = []
        self.planner = Planner(files)

    def restart(self) -> None:
        self.planner = Planner(self.files)
        self.offset = parse_offset_text(serialize_offset_text(self.offset))

    def batch(
        self,
        bytes_max: int | None = None,
        *,
        task_size: int = 10**9,
        crash: bool = False,
        absent: Collection[str] = (),
    ) -> bool:
        """Plan and read a batch; with *crash* the planner dies in between, while the files *absent* are not there.
        False if there was nothing to read. What cannot be read is planned again next time."""
        self.planner.refresh()
        end = self.planner.advance(self.offset, bytes_max)
        end = parse_offset_text(serialize_offset_text(end))
        away = {name: self.files.data.pop(name) for name in absent}
        if crash:
            self.restart()
            self.planner.refresh()
        try:
            parts = self.planner.parts(self.offset, end)
        except LostRecordsError:
            assert absent
            self.files.data |= away
            return True
        if away:
            self.files.data |= away
        for task in pack_tasks(parts, task_size):
            for found in segment_reader.read_parts(self.files, task, SHAPE):
                self.rows += found.to_pylist()
        changed = end != self.offset
        self.offset = end
        return changed

    def all(self) -> "Reader":
        while self.batch():
            pass
        return self

    def read(self) -> list[tuple[int, int]]:
        return [(row["boot"], row["offset"]) for row in self.rows if row["node"]]

    def bad(self) -> list[str]:
        return [row["bad_reason"] for row in self.rows if row["bad_reason"]]

    def reasons(self) -> list[tuple[str, str]]:
        self.planner.refresh()
        return [(oddity.path, oddity.reason) for oddity in self.planner.oddities(self.offset)]


@dataclass
class World:
    """All that two nodes wrote, and where copies of it arrive."""

    files: dict[str, bytes]
    records: Counter[tuple[str, int, int]]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    files: dict[str, bytes] = {}
    written: Counter[tuple[str, int, int]] = Counter()
    for node in (A, B):
        crashed = False
        for boot in range(1, draw(st.integers(1, 3)) + 1):
            offset = 0
            sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
            for index, size in enumerate(sizes):
                first, data = offset, b""
                for _ in range(size):
                    last = index == len(sizes) - 1 and offset + 1 == first + size
                    data += (
                        start(node, boot, clean=not crashed)
                        if offset == 0
                        else record(node, boot, offset, **({"kind": "stop", "reason": "x"} if last else {}))
                    )
                    written[node, boot, offset] += 1
                    offset += 1
                stopped = offset > 1 and index == len(sizes) - 1
                if index == len(sizes) - 1:
                    crashed = not stopped
                    data += b'{"torn' if crashed else b""
                files[path(node, boot, first)] = data
    return World(files, written)


@settings(max_examples=60, deadline=None)
@given(worlds(), st.data())
def test_whatever_arrives_in_whatever_order_each_record_is_read_once(
    world: World, data: st.DataObject
) -> None:
    copies = dict(world.files)
    for name in data.draw(st.sets(st.sampled_from(sorted(world.files)))):
        copies[name.replace("logs/", "other/")] = world.files[name]
        if data.draw(st.booleans()):
            del copies[name]
    arrivals = [
        (name, cut)
        for name, text in copies.items()
        for cut in [*data.draw(st.lists(st.integers(0, len(text)), max_size=2)), len(text)]
    ]
    reader = Reader(MemoryFiles())
    for name, cut in data.draw(st.permutations(arrivals)):
        if cut >= len(reader.files.data.get(name, b"")):
            reader.files.data[name] = copies[name][:cut]
        for _ in range(data.draw(st.integers(0, 2))):
            bytes_max = data.draw(st.one_of(st.none(), st.integers(1, 3000)))
            reader.batch(
                bytes_max,
                task_size=data.draw(st.sampled_from([100, 999, 10**6])),
                crash=data.draw(st.booleans()),
            )
        if data.draw(st.integers(0, 4)) == 0:
            reader.restart()
    reader.all()
    assert (
        Counter((row["node"], row["boot"], row["offset"]) for row in reader.rows if row["node"])
        == world.records
    )
    assert reader.bad() == []
    assert gaps(reader.offset) == []
    assert all("torn" in reason for _, reason in reader.reasons())
    assert reader.planner.bytes_behind(reader.offset) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), st.data())
def test_segments_that_are_deleted_before_or_after_they_were_read_stop_nothing(
    count: int, data: st.DataObject
) -> None:
    reader = Reader(MemoryFiles())
    expected = set()
    for first in range(0, count, 5):
        reader.files.data[path(A, 1, first)] = records(A, 1, first, first + 5)
        if data.draw(st.booleans()):
            reader.all()
        name = data.draw(st.sampled_from(sorted(reader.files.data)))
        if data.draw(st.booleans()):
            del reader.files.data[name]
        expected |= {offset for _, offset in reader.read()}
    reader.all()
    seen = [offset for _, offset in reader.read()]
    assert len(seen) == len(set(seen))
    missing = {
        offset for gap in gaps(reader.offset) for offset in range(gap.first_offset, gap.next_offset or 0)
    }
    assert missing == set(range(max(seen, default=-1) + 1)) - set(seen)


def test_a_segment_that_comes_after_the_next_one_is_read_then() -> None:
    reader = Reader(MemoryFiles({path(A, 1, 4): records(A, 1, 4, 6)})).all()
    assert gaps(reader.offset) == [Gap(A, 1, 0, 4)]
    reader.files.data[path(A, 1, 0)] = records(A, 1, 0, 4)
    reader.all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(6)]
    assert gaps(reader.offset) == []
    assert len(reader.offset[A][1].runs) == 1


def test_a_segment_with_a_successor_that_was_shipped_in_part_is_a_gap_until_the_rest_comes() -> None:
    whole = records(A, 1, 0, 4)
    files = MemoryFiles({path(A, 1, 0): whole[:-50], path(A, 1, 4): records(A, 1, 4, 6)})
    reader = Reader(files).all()
    assert gaps(reader.offset) == [Gap(A, 1, 3, 4)]
    reader.restart()
    files.data[path(A, 1, 0)] = whole
    reader.all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(6)]
    assert reader.bad() == []
    assert reader.reasons() == []


def test_boots_not_seen_are_gaps_to_their_end() -> None:
    reader = Reader(MemoryFiles({path(A, 3, 0): records(A, 3, 0, 2)})).all()
    assert gaps(reader.offset) == [Gap(A, 1, 0, None), Gap(A, 2, 0, None)]


@pytest.mark.parametrize(("clean", "expected"), [(True, [Gap(A, 1, 2, None)]), (False, [])])
def test_an_end_is_missing_only_if_the_next_boot_says_that_there_was_one(
    clean: bool, expected: list[Gap]
) -> None:
    files = MemoryFiles({path(A, 1, 0): records(A, 1, 0, 2), path(A, 2, 0): start(A, 2, clean=clean)})
    assert gaps(Reader(files).all().offset) == expected


def test_a_torn_last_line_is_told_once_a_later_boot_exists_and_read_if_its_rest_comes() -> None:
    whole = records(A, 1, 0, 3)
    name = path(A, 1, 0)
    reader = Reader(MemoryFiles({name: whole[:-5]})).all()
    assert reader.reasons() == []
    reader.files.data[path(A, 2, 0)] = start(A, 2, clean=False)
    reader.all()
    byte = len(records(A, 1, 0, 2))
    assert reader.reasons() == [
        (name, f"its last line is torn from byte {byte} on, as after a crash: read if the rest arrives")
    ]
    assert reader.planner.bytes_behind(reader.offset) == 0
    reader.files.data[name] = whole
    reader.all()
    assert sorted(reader.read()) == [(1, 0), (1, 1), (1, 2), (2, 0)]
    assert reader.reasons() == []
    assert reader.bad() == []


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (records(A, 1, 0, 3)[:-1], "it shrank to"),
        (start(A, 1, name="somebody else") + records(A, 1, 1, 9), "has another log of boot 1"),
        (records(A, 1, 0, 2) + b"x" * 60 + records(A, 1, 2, 9), "its beginning changed"),
    ],
)
def test_a_file_that_is_not_the_one_that_was_read_is_told_and_left(now: bytes, reason: str) -> None:
    name = path(A, 1, 0)
    reader = Reader(MemoryFiles({name: records(A, 1, 0, 3), path(B, 1, 0): start(B, 1)})).all()
    reader.restart()
    reader.files.data[name] = now
    reader.files.data[path(B, 1, 1)] = records(B, 1, 1, 2)
    reader.all()
    assert sorted(reader.read()) == [(1, 0), (1, 0), (1, 1), (1, 1), (1, 2)]
    ((where, why),) = reader.reasons()
    assert where == name
    assert reason in why


def test_a_node_set_up_anew_with_the_same_key_is_told_and_its_repeated_boots_are_not_counted() -> None:
    files = MemoryFiles(
        {path(A, 1, 0, "old"): records(A, 1, 0, 3), path(A, 1, 3, "old"): records(A, 1, 3, 5)}
    )
    reader = Reader(files).all()
    anew = start(A, 1, name="anew") + records(A, 1, 1, 9)
    files.data |= {path(A, 1, 0, "new"): anew, path(A, 1, 9, "new"): records(A, 1, 9, 12)}
    files.data |= {path(A, 2, 0, "new"): records(A, 2, 0, 2)}
    reader.all()
    assert sorted(reader.read()) == [*((1, offset) for offset in range(5)), (2, 0), (2, 1)]
    ((where, why),) = reader.reasons()
    assert where == path(A, 1, 0, "new")
    assert "set up again" in why


@pytest.mark.parametrize("folders", [("x", "y"), ("y", "x")])
def test_of_two_different_logs_one_is_taken_whatever_the_folders_are_called(folders: tuple[str, str]) -> None:
    one, other = folders
    files = MemoryFiles()
    for folder, name in ((one, "a"), (other, "b")):
        files.data[path(A, 1, 0, folder)] = start(A, 1, name=name) + records(A, 1, 1, 3)
    reader = Reader(files).all()
    assert sorted(reader.read()) == [(1, 0), (1, 1), (1, 2)]
    assert [where for where, _ in reader.reasons()] == [path(A, 1, 0, other)]


def test_of_two_paths_the_longer_copy_is_read_and_each_may_have_what_the_other_lacks() -> None:
    whole = records(A, 1, 0, 6)
    files = MemoryFiles({path(A, 1, 0, "x"): whole[:400], path(A, 1, 0, "y"): whole})
    files.data |= {path(A, 1, 6, "x"): records(A, 1, 6, 7), path(A, 1, 7, "y"): records(A, 1, 7, 8)}
    reader = Reader(files).all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(8)]
    assert reader.reasons() == []


def test_of_two_copies_with_different_ends_one_is_taken_and_the_other_told() -> None:
    good = records(A, 1, 0, 3)
    files = MemoryFiles({path(A, 1, 0, "x"): good, path(A, 1, 0, "y"): good[:-4] + b"!!}\n"})
    reader = Reader(files).all()
    assert reader.read() == [(1, 0), (1, 1), (1, 2)]
    assert [where for where, _ in reader.reasons()] == [path(A, 1, 0, "y")]


def test_a_segment_within_another_one_is_not_counted() -> None:
    files = MemoryFiles({path(A, 1, 0): records(A, 1, 0, 6), path(A, 1, 2): records(A, 1, 2, 4)})
    reader = Reader(files).all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(6)]
    assert [where for where, _ in reader.reasons()] == [path(A, 1, 2)]


def test_a_segment_within_one_that_has_a_successor_is_not_counted() -> None:
    files = MemoryFiles({path(A, 1, 0): records(A, 1, 0, 6), path(A, 1, 2): records(A, 1, 2, 4)})
    files.data[path(A, 1, 6)] = records(A, 1, 6, 8)
    assert sorted(Reader(files).all().read()) == [(1, offset) for offset in range(8)]


def test_a_record_that_is_written_again_after_it_was_read_is_a_bad_line() -> None:
    reader = Reader(MemoryFiles({path(A, 1, 0): records(A, 1, 0, 3)})).all()
    reader.files.data[path(A, 1, 0)] += records(A, 1, 1, 5)
    reader.all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(5)]
    assert reader.bad() == ["counted before: its offset does not grow"] * 2


def test_records_that_belong_to_what_was_read_are_bad_lines() -> None:
    reader = Reader(MemoryFiles({path(A, 1, 4): records(A, 1, 4, 6)})).all()
    reader.files.data[path(A, 1, 0)] = records(A, 1, 0, 6)
    reader.all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(6)]
    assert len(reader.bad()) == 2


def test_a_number_that_cannot_be_true_does_not_hide_what_follows() -> None:
    files = MemoryFiles({path(A, 1, 0): records(A, 1, 0, 3) + record(A, 1, 10**11)})
    files.data[path(A, 1, 3)] = records(A, 1, 3, 5)
    reader = Reader(files).all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(5)]
    assert reader.bad() == ["its offset is that of a record in another segment, or implausible"]
    assert gaps(reader.offset) == []


@pytest.mark.parametrize("bytes_max", [1, 150, 300, None])
def test_garbage_is_read_past_once_wherever_batches_are_cut(bytes_max: int | None) -> None:
    junk = b"null\n" + b"x" * 9000 + b"\n"
    reader = Reader(MemoryFiles({path(A, 1, 0): junk + records(A, 1, 0, 2) + junk}))
    reader.files.data[path(A, 1, 2)] = records(A, 1, 2, 3) + junk
    while reader.batch(bytes_max):
        pass
    assert reader.read() == [(1, 0), (1, 1), (1, 2)]
    assert sorted(reader.bad()) == ["longer than 4096 bytes"] * 3 + ["not a JSON object"] * 3


def test_a_long_file_without_a_line_feed_starves_nobody() -> None:
    files = MemoryFiles({path(A, 1, 0): b"x" * 5000, path(B, 1, 0): records(B, 1, 0, 30)})
    reader = Reader(files)
    for _ in range(40):
        reader.batch(200)
    assert reader.read() == [(1, offset) for offset in range(30)]


def test_what_vanishes_between_planning_and_reading_is_said() -> None:
    files = MemoryFiles({path(A, 1, 0): records(A, 1, 0, 3), path(A, 1, 3): records(A, 1, 3, 5)})
    planner = Planner(files)
    planner.refresh()
    end = planner.advance({}, None)
    kept = files.data.pop(path(A, 1, 0))
    again = Planner(files)
    again.refresh()
    with pytest.raises(LostRecordsError, match=f"Records 0 to 2 of boot 1 of the node {A} were planned"):
        again.parts({}, end)
    parts = planner.parts({}, end)
    with pytest.raises(FileNotFoundError):
        _rows(files, parts)
    files.data[path(A, 1, 0)] = kept[:-7]
    assert "the file ends here" in [row["bad_reason"] for row in _rows(files, parts) if row["bad_reason"]][-1]


def _rows(files: MemoryFiles, parts: Any) -> list[dict[str, Any]]:
    return [row for found in segment_reader.read_parts(files, parts, SHAPE) for row in found.to_pylist()]


def test_nothing_is_looked_at_twice_while_nothing_changes() -> None:
    files = MemoryFiles({path(A, 1, first): records(A, 1, first, first + 5) for first in range(0, 50, 5)})
    files.data[path(B, 1, 0)] = b"torn"
    reader = Reader(files).all()
    before = files.reads
    for _ in range(5):
        assert not reader.batch()
    assert files.reads == before


def test_a_thousand_nodes_and_a_week_make_a_small_offset() -> None:
    files = MemoryFiles()
    for number in range(20):
        node = node_name(number)
        files.data |= {path(node, 1, first): record(node, 1, first + 99) for first in range(0, 16_800, 100)}
    offset = Reader(files).all().offset
    assert len(serialize_offset_text(offset)) < 20 * 150


def test_a_batch_that_is_cut_reads_whole_segments_of_some_logs_rather_than_a_little_of_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = len(records(A, 1, 5, 10))
    monkeypatch.setattr(limits, "SHARE_MIN", 4 * size)
    files = MemoryFiles()
    for number in range(10):
        node = node_name(number)
        files.data |= {path(node, 1, first): records(node, 1, first, first + 5) for first in range(5, 100, 5)}
    planner = Planner(files)
    planner.refresh()
    end = planner.advance({}, 20 * size)
    parts = planner.parts({}, end)
    assert all(part.size == part.segment.size for part in parts)
    assert len(end) == 5


# --- files that are away for a while


def test_a_folder_that_is_away_when_a_planned_batch_is_read_is_read_when_it_is_back() -> None:
    files = MemoryFiles(
        {
            path(A, 1, 0): records(A, 1, 0, 3),
            path(A, 1, 3): records(A, 1, 3, 7),
            path(B, 1, 0): records(B, 1, 0, 2),
        }
    )
    reader = Reader(files)
    of_a = [path(A, 1, 0), path(A, 1, 3)]
    assert reader.batch(crash=True, absent=of_a)
    assert reader.read() == []
    away = {name: files.data.pop(name) for name in of_a}
    reader.all()
    assert reader.read() == [(1, 0), (1, 1)], "the others go on"
    files.data[path(B, 1, 2)] = records(B, 1, 2, 4)
    reader.all()
    assert reader.read() == [(1, 0), (1, 1), (1, 2), (1, 3)]
    assert A not in reader.offset
    files.data |= away
    reader.all()
    assert sorted(reader.read()) == sorted(
        [(1, offset) for offset in range(7)] + [(1, 0), (1, 1), (1, 2), (1, 3)]
    )
    assert reader.bad() == []
    assert gaps(reader.offset) == []


def test_what_is_missing_in_the_middle_shows_as_a_gap_until_it_is_back() -> None:
    files = MemoryFiles({path(A, 1, first): records(A, 1, first, first + 3) for first in (0, 3, 6)})
    reader = Reader(files)
    away = files.data.pop(path(A, 1, 3))
    reader.all()
    assert gaps(reader.offset) == [Gap(A, 1, 3, 6)]
    files.data[path(A, 1, 3)] = away
    reader.all()
    assert sorted(reader.read()) == [(1, offset) for offset in range(9)]
    assert gaps(reader.offset) == []


def test_a_file_that_is_away_goes_on_behind_what_was_read_of_it() -> None:
    name = path(A, 1, 0)
    files = MemoryFiles({name: records(A, 1, 0, 4)})
    reader = Reader(files).all()
    files.data[name] += records(A, 1, 4, 6) + record(A, 1, 6, kind="stop")
    reader.batch(crash=True, absent=[name])
    assert len(reader.read()) == 4
    reader.all()
    assert reader.read() == [(1, offset) for offset in range(7)]
    assert reader.offset[A][1].stopped


def test_what_only_a_shorter_copy_has_when_it_is_to_be_read_is_read_once_the_longer_one_is_back() -> None:
    whole, part = path(A, 1, 0), path(A, 1, 0, "carried")
    files = MemoryFiles({whole: records(A, 1, 0, 4)})
    files.data[part] = records(A, 1, 0, 2) + b'{"v"'
    reader = Reader(files)
    reader.batch(crash=True, absent=[whole])
    assert reader.read() == []
    reader.all()
    assert reader.read() == [(1, offset) for offset in range(4)]
    assert reader.bad() == []


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_whatever_is_away_when_it_is_to_be_read_is_read_once_in_the_end(data: st.DataObject) -> None:
    files = MemoryFiles({})
    reader = Reader(files)
    ends = dict.fromkeys([A, B], 0)
    newest: dict[str, str] = {}
    for _ in range(data.draw(st.integers(1, 8), "steps")):
        node = data.draw(st.sampled_from([A, B]), "node")
        end = ends[node] + data.draw(st.integers(1, 4), "records")
        written = records(node, 1, ends[node], end)
        if node in newest and data.draw(st.booleans(), "same file"):
            files.data[newest[node]] += written
        else:
            newest[node] = path(node, 1, ends[node])
            files.data[newest[node]] = written
        ends[node] = end
        absent = data.draw(st.lists(st.sampled_from(sorted(files.data)), unique=True), "absent")
        reader.batch(data.draw(st.sampled_from([None, 200, 500]), "bytes"), crash=True, absent=absent)
    reader.all()
    read = Counter((row["node"], row["offset"]) for row in reader.rows if row["node"])
    assert read == Counter((node, offset) for node, end in ends.items() for offset in range(end))
    assert gaps(reader.offset) == []
