"""Logs in bulk: in form, the same every time, and in agreement with themselves."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from spark_sink import segment_reader
from spark_sink.line_parser import Projection
from spark_sink.log_files import LocalLogFiles
from spark_sink.planner import Planner
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits
from tinyssb_node.sim.bulk import HOUR_US, BulkOptions, BulkWriter, NodeFiles, WallClock

OPTIONS = BulkOptions(nodes=14, hours=10, seed=5, entries_per_hour=30.0, restarts_per_day=3.0)
"""Busy, so that little time shows everything; cut in its fifth hour."""
CUT = 4
Record = dict[str, Any]


def read(folder: Path) -> dict[str, list[Record]]:
    """The records of each node, in the order of their files."""
    return {
        log.name: [
            json.loads(line)
            for path in sorted(log.glob("*.jsonl"))
            for line in path.read_text("utf-8").splitlines()
        ]
        for log in sorted(folder.iterdir())
    }


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, BulkWriter]:
    folder = tmp_path_factory.mktemp("bulk") / "logs"
    bulk = BulkWriter(OPTIONS, folder)
    bulk.run()
    return folder, bulk


@pytest.fixture(scope="module")
def logs(written: tuple[Path, BulkWriter]) -> dict[str, list[Record]]:
    return read(written[0])


def boots(logs: dict[str, list[Record]]) -> Iterator[list[Record]]:
    for records in logs.values():
        by_boot = defaultdict(list)
        for record in records:
            by_boot[record["boot"]].append(record)
        yield from by_boot.values()


def true_us(bulk: BulkWriter, record: Record) -> float:
    """When it truly happened, to a few microseconds."""
    clock = next(each.files.clock for each in bulk.stations if each.feed.startswith(record["node"]))
    return float(record["t_us"] - limits.EPOCH_US - clock.offset_us) / (1 + clock.drift_ppm / 1e6)


def test_the_same_options_give_the_same_bytes(written: tuple[Path, BulkWriter], tmp_path: Path) -> None:
    folder, bulk = written
    told: list[tuple[int, int]] = []
    again = BulkWriter(OPTIONS, tmp_path / "again")
    records = again.run(lambda hours, so_far: told.append((hours, so_far)))
    paths = sorted(path.relative_to(folder) for path in folder.rglob("*.jsonl"))
    assert paths == sorted(path.relative_to(tmp_path / "again") for path in tmp_path.rglob("*.jsonl"))
    assert all((folder / path).read_bytes() == (tmp_path / "again" / path).read_bytes() for path in paths)
    assert [hours for hours, _ in told] == list(range(1, OPTIONS.hours + 1))
    assert told[-1][1] == records == again.records == bulk.records
    BulkWriter(BulkOptions(nodes=14, hours=1, seed=6), tmp_path / "other")
    assert {p.name for p in (tmp_path / "other").iterdir()}.isdisjoint(p.name for p in folder.iterdir())


def test_the_sink_reads_every_line(written: tuple[Path, BulkWriter]) -> None:
    folder, bulk = written
    files = LocalLogFiles(str(folder))
    planner = Planner(files)
    planner.refresh()
    end = planner.advance({}, None)
    parts = planner.parts({}, end)
    shape = Projection(["node", "kind", "bad_reason"])
    rows = [row for batch in segment_reader.read_parts(files, parts, shape) for row in batch.to_pylist()]
    assert [row for row in rows if row["bad_reason"] is not None] == []
    assert len(rows) == bulk.records
    assert planner.oddities(end) == []


def test_a_log_is_as_the_format_says(logs: dict[str, list[Record]]) -> None:
    ended = 0
    for records in boots(logs):
        assert [record["offset"] for record in records] == list(range(len(records)))
        assert [record["kind"] for record in records[:2]] == ["start", "mark"]
        times = [record["mono_us"] for record in records]
        assert times == sorted(set(times), key=times.index) == sorted(times)
        stops = [record["offset"] for record in records if record["kind"] == "stop"]
        assert stops in ([], [len(records) - 1])
        ended += len(stops)
    assert ended > 0
    for records in logs.values():
        clean = [record["clean"] for record in records if record["kind"] == "start"]
        last = {record["boot"]: record["kind"] for record in records}
        assert clean == [True, *(kind == "stop" for kind in last.values())][:-1]


def test_segments_begin_with_how_far_the_log_was(written: tuple[Path, BulkWriter]) -> None:
    for log in written[0].iterdir():
        arrival = 0
        for path in sorted(log.glob("*.jsonl")):
            records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            assert path.stem == f"{records[0]['boot']:08}-{records[0]['offset']:012}"
            mark = records[1] if records[0]["kind"] == "start" else records[0]
            assert (mark["kind"], mark["arrival"]) == ("mark", arrival)
            for record in records:
                if record["kind"] == "entry":
                    arrival += 1
                    assert record["arrival"] == arrival


def test_entries_of_a_feed_come_in_order_after_they_were_published(
    written: tuple[Path, BulkWriter], logs: dict[str, list[Record]]
) -> None:
    published = {}
    copies = []
    for records in logs.values():
        held: defaultdict[str, int] = defaultdict(int)
        for record in records:
            if record["kind"] == "entry":
                assert record["seq"] == held[record["feed"]] + 1
                held[record["feed"]] += 1
                place = record["feed"], record["seq"], record["id"]
                if record["origin"] == "own":
                    assert record["feed"].startswith(record["node"])
                    published[place] = true_us(written[1], record)
                else:
                    copies.append((place, true_us(written[1], record)))
    assert len(copies) > 10 * len(published) > 1_000
    assert all(published[place] < at_us for place, at_us in copies)


def test_a_reception_has_a_sending_and_none_crosses_the_cut(
    written: tuple[Path, BulkWriter], logs: dict[str, list[Record]]
) -> None:
    bulk = written[1]
    side = {each.feed[:16]: each.east_m < bulk.middle_m for each in bulk.stations}
    assert set(side.values()) == {True, False}
    sent = defaultdict(list)
    heard = []
    for node, records in logs.items():
        for record in records:
            if record["kind"] == "tx":
                sent[record["hash"]].append((true_us(bulk, record), node))
            elif record["kind"] == "rx" and record["length"] != limits.BULK_JUNK_SIZE:
                heard.append((true_us(bulk, record), node, record["hash"]))
    crossed: dict[bool, int] = {True: 0, False: 0}
    for at_us, node, hash_ in heard:
        before = [other for sent_us, other in sent[hash_] if 100 < at_us - sent_us < 2_000]
        assert len(before) >= 1
        assert node not in before
        cut = CUT * HOUR_US <= at_us < (CUT + 1) * HOUR_US
        crossed[cut] += all(side[other] != side[node] for other in before)
    assert crossed[True] == 0
    assert crossed[False] > 100


def test_what_was_missed_is_given_later(
    written: tuple[Path, BulkWriter], logs: dict[str, list[Record]]
) -> None:
    entries = [(node, one) for node, records in logs.items() for one in records if one["kind"] == "entry"]
    early = {
        one["id"]
        for _, one in entries
        if one["origin"] == "own" and true_us(written[1], one) < (OPTIONS.hours - 3) * HOUR_US
    }
    held = {(node, one["id"]) for node, one in entries if one["id"] in early}
    assert len(early) > 150
    assert len(held) > 0.9 * len(early) * len(logs)


@pytest.mark.parametrize("given", [{"nodes": 1}, {"nodes": 10**6}, {"hours": 0}, {"hours": 10**6}])
def test_what_cannot_be_is_refused(given: dict[str, int]) -> None:
    with pytest.raises(SimulationOptionError, match="it takes"):
        BulkOptions(**given)


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(SimulationOptionError, match="cannot be made as a new folder"):
        BulkWriter(OPTIONS, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_clock_shows_what_it_is_off_and_never_less_than_nothing() -> None:
    assert WallClock(5_000_000, 50.0).wall_us(HOUR_US) == limits.EPOCH_US + HOUR_US + 180_000 + 5_000_000
    assert WallClock(-2 * limits.EPOCH_US, 0.0).wall_us(0) == 0


def test_records_at_the_same_time_keep_their_order_and_get_a_time_each(tmp_path: Path) -> None:
    files = NodeFiles(tmp_path, "00" * 8, WallClock(0, 0.0))
    files.reboot(7)
    files.write_segment(0, [(9, 2, '"kind":"b"}'), (9, 1, '"kind":"a"}'), (8, 3, '"kind":"start"}')])
    records = read(tmp_path)["00" * 8]
    assert [(each["kind"], each["mono_us"]) for each in records] == [
        ("start", 1),
        ("mark", 2),
        ("a", 3),
        ("b", 4),
    ]
