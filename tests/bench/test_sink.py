"""Foundations of the sink's measurements: the same records in other segments, delays, comparisons, processes."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.serving.connect import open_for_reading
from spark_sink.settings import LOCAL_ENGINE
from tests.bench import __main__ as bench
from tests.bench import (
    bench_sink,
    sink_bronze,
    sink_json,
    sink_kills,
    sink_latency,
    sink_logs,
    sink_pixels,
    sink_rates,
    sink_refresh,
    sink_state,
    sink_views,
)
from tests.bench.figure import Figure
from tests.bench.sink_process import Memory, Run, Sink, SinkFailedError
from tests.spark_sink.page import asking
from tests.spark_sink.partials import oracle
from tests.spark_sink.serving.server import running_server


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    assert sink_logs.write(folder, nodes=3, hours=30) == len(sink_kills.records(folder))
    return folder


@pytest.mark.parametrize("size_max", [1, 30_000, 10**9])
def test_larger_segments_have_the_same_records(logs: Path, tmp_path: Path, size_max: int) -> None:
    joined = tmp_path / "joined"
    count = sink_logs.join_segments(logs, joined, size_max)
    assert count == sink_logs.segments(joined) <= sink_logs.segments(logs)
    assert (size_max > 1) == (count < sink_logs.segments(logs))
    for node in logs.iterdir():
        before, after = (
            b"".join(path.read_bytes() for path in sorted((root / node.name).iterdir()))
            for root in (logs, joined)
        )
        assert before == after
    for path in joined.glob("*/*.jsonl"):
        lines = path.read_bytes().splitlines()
        boot, first = path.stem.split("-")
        assert {json.loads(line)["boot"] for line in lines} == {int(boot)}
        assert json.loads(lines[0])["offset"] == int(first)
        assert len(lines) == 1 or path.stat().st_size <= max(size_max, _largest(logs))


def _largest(logs: Path) -> int:
    return max(path.stat().st_size for path in logs.glob("*/*.jsonl"))


def test_a_live_mesh_says_when_each_entry_was_published(tmp_path: Path) -> None:
    mesh = sink_logs.LiveMesh(tmp_path, rate=5_000)
    mesh.start()
    while len(mesh.published_s) < 25:
        pass
    mesh.end()
    records = sink_kills.records(tmp_path)
    own = [one for one in records if one["kind"] == "entry" and one["origin"] == "own"]
    assert len(own) == len(mesh.published_s)
    times = sorted(one["t_us"] / 1e6 for one in own)
    assert all(0 <= said - at < 0.1 for said, at in zip(sorted(mesh.published_s), times, strict=True))
    frontiers = oracle.frontiers(records)
    newest = {feed: row["seq"] for (node, feed), row in frontiers.items() if feed.startswith(node)}
    assert sum(newest.values()) == len(own)
    assert len(records) - len(own) * sink_logs.RECORDS_AN_ENTRY == sink_logs.LIVE_NODES


def test_an_entry_is_seen_when_the_page_first_counts_it_in() -> None:
    seen = [(10.0, 2), (11.0, 3), (12.5, 7)]
    published_s = [8.0, 9.0, 9.5, 10.0, 12.0, 12.1, 12.2, 12.3]
    assert sink_pixels.delays_s(seen, published_s, 9.0, 12.2) == pytest.approx([0.4, 0.5, 1.0, 1.5, 2.5])
    assert sink_pixels.delays_s(seen, published_s, 12.3, 13.0) == [math.inf]


@given(st.lists(st.floats(0, 100), min_size=1), st.floats(0.01, 1))
def test_a_percentile_is_not_exceeded_by_so_large_a_share(values: list[float], share: float) -> None:
    values.sort()
    found = sink_pixels.percentile(values, share)
    assert found in values
    assert sum(value <= found for value in values) >= share * len(values) - 1e-9
    assert sum(value < found for value in values) < share * len(values) + 1e-9


def test_nothing_seen_took_for_ever() -> None:
    assert sink_pixels.percentile([], 0.95) == math.inf


def test_tables_that_differ_are_named() -> None:
    same: tuple[dict[str, Any], dict[str, Any]] = {"boots": {1: 2}}, {"links": [(1,)], "steps": []}
    other = {"boots": {1: 3}, "copies": {}}, {"links": [(1,)], "steps": [(2,)]}
    assert sink_kills.differing(same, same) == []
    assert sink_kills.differing(same, other) == ["boots", "copies", "steps"]


def test_ratios_are_of_cold_to_cold() -> None:
    plain = sink_rates.Json(process=20.0, first=6.0, batch=1.0, stream=2.0)
    runs = [Run(30.0, 8.0, 4.0, Memory()), Run(25.0, 20.0, 4.0, Memory())]
    found = sink_rates.compare_runs("m", 1_200, runs, plain, must=True)
    values = {figure.name: figure.value for figure in found}
    assert values["m: backfill, without Spark's start"] == 100
    assert values["ratio without Spark's start"] == 0.5
    assert values["ratio of whole processes"] == 0.8
    assert all(figure.ok for figure in found)
    slower = sink_rates.compare_runs("m", 1_200, runs, sink_rates.Json(20.0, 5.0, 1.0, 1.0), must=True)
    assert [figure.name for figure in slower if not figure.ok] == ["ratio without Spark's start"]
    free = sink_rates.compare_runs("m", 1_200, runs, sink_rates.Json(2.0, 5.0, 1.0, 1.0), must=False)
    assert all(figure.ok for figure in free)


def test_a_command_that_fails_says_what_it_said(tmp_path: Path) -> None:
    words = ["backfill", str(tmp_path / "none"), "--db", str(tmp_path / "db.sqlite")]
    with Sink(words) as sink, pytest.raises(SinkFailedError, match="none"):
        sink.finish()


def test_a_command_is_killed_with_all_it_started(tmp_path: Path) -> None:
    with Sink(["serve", "--db", str(tmp_path / "db.sqlite"), "--port", "0"]) as sink:
        assert sink.wait_for("The page is at", 60).startswith("The page is at http://")
        assert not sink.ended(0.0)
        pids = sink.pids()
        assert len(pids) == 1
        sink.kill()
        assert sink.ended(10.0)
        assert sink.pids() == []
    with pytest.raises(SinkFailedError):
        sink.wait_for("never said", 1)


def test_all_fields_are_read_in_comparison() -> None:
    assert {"t_us", "seqs", "hash", "window_us"} <= {
        word.strip("` ").partition("`")[0].split()[0]
        for word in sink_json.columns().replace("`", "").split(", ")
    }


def test_each_part_is_told_how_it_was_measured() -> None:
    body = bench_sink.body("paint", [Figure("x", 1, "ms")])
    assert body.startswith(bench_sink.NOTES["paint"])
    assert "| x " in body
    assert set(bench_sink.TITLES) == set(bench_sink.NOTES) == set(bench.SINK_PARTS)


def test_it_is_run_by_name_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[str] = []

    def note(name: str, _options: object) -> object:
        ran.append(name)
        raise InterruptedError

    monkeypatch.setattr(bench, "measure", note)
    monkeypatch.setattr(bench, "names", lambda: ["sink"])
    monkeypatch.setattr(bench, "PAGE", tmp_path / "page.md")
    assert bench.main([]) == 0
    with pytest.raises(InterruptedError):
        bench.main(["--only", "sink"])
    assert ran == ["sink"]


def test_a_mesh_of_any_length_is_the_same_mesh_and_each_refresh_of_it_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sink_state, "NODES", 12)
    monkeypatch.setattr(sink_state, "HOURS_AT_A_TIME", 24)
    path = tmp_path / "day.sqlite"
    sink_state.make(path, 1, nodes=12)
    database = open_for_reading(str(path))
    ((copies, nodes, feeds),) = database.rows(
        "SELECT count(*), count(DISTINCT node_no), count(DISTINCT feed_no) FROM copies"
    )
    ((meshes, matches),) = database.rows("SELECT count(DISTINCT mesh), min(matches) FROM clocks")
    ((held,),) = database.rows("SELECT sum(held) FROM node_totals")
    database.close()
    assert (copies, nodes) == (24 * sink_state.ENTRIES * 12, 12)
    assert held == copies
    assert isinstance(feeds, int)
    assert 5 <= feeds <= 12
    assert meshes == 1
    assert isinstance(matches, int)
    assert matches > 20
    found = sink_refresh.measure(path)
    assert found.keys() == {"refresh", "lock", "memory"}
    assert all(value > 0 for value in found.values())
    limits = [row for row in sink_refresh.table(found, found) if row.target]
    assert limits[0].value == 1
    assert len(limits) == len(found)
    questions = sink_refresh.views(path)
    answered = sink_views.first_answers(str(path), questions)
    assert {view for view, _span in answered} >= {"overview", "delays, hop", "message", "heatmap, 5 h ago"}
    assert len(answered) == 2 * (len(questions) + 2)
    assert all(0 < one.wall < 10_000 for one in answered.values())
    assert sink_views.cold_answer_ms(str(path), {"overview": questions["overview"]}) > 0
    assert len([row for row in sink_views.table(answered, 1.0) if row.target]) == len(answered)
    assert [
        row.ok
        for row in sink_views.postgres_table(
            {
                ("a", "last day"): sink_views.Answered(299, 1),
                ("b", "last day"): sink_views.Answered(301, 1),
                ("a", "30 days"): sink_views.Answered(300, 1),
            }
        )
    ] == [False, True]


@pytest.mark.postgres
def test_a_copy_in_postgres_gives_the_same_answers(tmp_path: Path) -> None:
    path = tmp_path / "day.sqlite"
    sink_state.make(path, 1, nodes=12)
    questions = sink_refresh.views(path)
    with running_server() as server:
        sink_views.copy(path, server.url("copied"))
        for view, question in questions.items():
            asked = view.partition(",")[0], asdict(question)
            both = [asking.ask(name, asked[0], **asked[1]) for name in (str(path), server.url("copied"))]
            for answer in both:
                answer.pop("changes")
                answer.get("meta", {}).pop("changes", None)
            assert both[0] == both[1], view


def test_events_of_a_mesh_with_a_history_are_watched_until_they_are_rows(tmp_path: Path) -> None:
    path = tmp_path / "day.sqlite"
    sink_state.make(path, 1, nodes=12)
    for boot in (2, 3):
        found = sink_latency.delays(
            tmp_path / f"live-{boot}", path, LOCAL_ENGINE, boot=boot, watch_s=2.0, warm_s=1.0
        )
        assert len(found.delays_s) > 100
        assert 0 < found.delays_s[0] <= found.delays_s[-1] < 60


def test_bronze_is_compared_with_sparks_own_way_and_cold_runs_are_only_shown() -> None:
    seconds = {"bronze": 1.0, "stream": 2.0, "land": 2.0, "processes": 1.0, "write": 2.5}
    warm = sink_bronze.compare("warm", 10, seconds, must=True)
    assert [(figure.value, figure.ok) for figure in warm if figure.target] == [
        (2.0, True),
        (1.25, False),
        (2.5, True),
    ]
    assert not any(figure.target for figure in sink_bronze.compare("cold", 10, seconds, must=False))


@pytest.mark.spark
def test_bronze_is_measured_by_all_ways(logs: Path, tmp_path: Path) -> None:
    bronze = tmp_path / "bronze"
    bronze.mkdir()
    found = sink_bronze.measure(logs, bronze, 1, *sink_bronze.WAYS)
    assert found.keys() == sink_bronze.WAYS.keys()
    assert all(len(seconds) == 1 for seconds in found.values())
