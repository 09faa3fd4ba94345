"""The overview's figures against counts of the story in plain Python."""

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.spark_sink.page.asking import ask
from tests.spark_sink.page.book import Book, feed_of, node_of
from tests.spark_sink.page.story import (
    ALONE,
    END_US,
    HOUR_US,
    KEYS,
    LORA,
    NODES,
    PHONES,
    SLOT_US,
    WRONG,
    WRONG_US,
    Story,
)

DAY = (END_US + 1 - 24 * HOUR_US, END_US + 1)


@pytest.fixture(scope="module")
def found(database: Path) -> dict[str, Any]:
    return ask(database, "overview")


def behind(story: Story) -> dict[tuple[int, int], int]:
    newest: dict[int, int] = defaultdict(int)
    for (_node, feed), seq in story.frontiers.items():
        newest[feed] = max(newest[feed], seq)
    return {
        (node, feed): newest[feed] - story.frontiers.get((node, feed), 0)
        for node in range(len(NODES))
        for feed in newest
    }


def test_the_head_says_what_the_figures_are_of(found: dict[str, Any]) -> None:
    assert (found["v"], found["state"], found["as_of_us"]) == (2, "ready", END_US)
    assert (found["from_us"], found["to_us"]) == DAY


def test_totals(found: dict[str, Any], story: Story) -> None:
    cells = behind(story)
    by_node: dict[int, int] = defaultdict(int)
    for (node, _feed), missing in cells.items():
        by_node[node] += missing
    entries = {entry.feed_no: entry.seq for entry in story.entries}
    held: dict[int, int] = defaultdict(int)
    for (_node, feed), seq in story.frontiers.items():
        held[feed] = max(held[feed], seq)
    assert found["totals"] == {
        "nodes": 12,
        "running": 12,
        "feeds": len(held),
        "entries": sum(held.values()),
        "behind": sum(cells.values()),
        "behind_nodes": sum(missing > 0 for missing in by_node.values()),
        "forks": 1,
        "bad_lines": 1,
        "gaps": 1,
        "oddities": 1,
    }
    assert sum(held.values()) <= sum(entries.values())
    rows = {row["node"]: row["behind"] for row in found["nodes"]}
    assert rows == {node_of(key): by_node[place] for place, key in enumerate(KEYS)}
    feeds = {row["feed"]: (row["behind"], row["newest"]) for row in found["feeds"]}
    for feed, newest in held.items():
        key = (*KEYS, *PHONES)[feed]
        assert feeds[feed_of(key)] == (sum(cells[node, feed] for node in range(len(NODES))), newest)


def test_convergence_counts_what_is_missing_at_each_point(found: dict[str, Any], story: Story) -> None:
    known: dict[tuple[int, int], int] = {}
    for copy in story.copies:
        place = (copy.feed_no, copy.seq)
        known[place] = min(copy.t_us, known.get(place, copy.t_us))
    points = found["convergence"]
    assert points[-1] == (END_US, found["totals"]["behind"])
    assert points[0][0] >= DAY[0] - 60_000_000
    for t_us, missing in points[:-1]:
        # A step ends before the minute that begins there.
        copies = sum(copy.t_us < t_us for copy in story.copies)
        assert missing == len(NODES) * sum(first < t_us for first in known.values()) - copies


def test_a_short_range_of_a_small_mesh_is_exact_to_the_second(tmp_path: Path) -> None:
    second_us = 1_000_000
    now_us = 100 * HOUR_US + 90 * second_us
    book = Book()
    for name in ("ana", "ben"):
        book.put("boots", node_no=book.node(name), boot=1, name=name, first_us=100 * HOUR_US, last_us=now_us)
    feed_no = book.feed("ana")
    book.put("entries", feed_no=feed_no, seq=1)
    for node_no, after_s, origin in ((0, 20, "own"), (1, 47, "peer")):
        t_us = 100 * HOUR_US + after_s * second_us
        book.put("copies", feed_no=feed_no, seq=1, node_no=node_no, t_us=t_us, origin=origin)
        book.put("frontiers", node_no=node_no, feed_no=feed_no, seq=1)
    book.write(tmp_path / "db")
    points = ask(tmp_path / "db", "overview")["convergence"]
    missing = [(t_us - 100 * HOUR_US) // second_us for t_us, lacked in points if lacked]
    assert missing == list(range(21, 48)), "from the end of the second in which it was published"
    assert {lacked for _, lacked in points} == {0, 1}
    assert points[-1][0] == now_us


def test_labels_tell_namesakes_and_the_nameless_apart(found: dict[str, Any]) -> None:
    labels = {row["node"]: row["label"] for row in found["nodes"]}
    assert labels[node_of(KEYS[9])] == f"jo {node_of(KEYS[9])[:4]}"
    assert labels[node_of(KEYS[10])] == f"jo {node_of(KEYS[10])[:4]}"
    assert labels[node_of(KEYS[11])] == node_of(KEYS[11])[:8]
    assert labels[node_of(KEYS[3])] == NODES[3]


def row_of(found: dict[str, Any], place: int) -> dict[str, Any]:
    (row,) = [row for row in found["nodes"] if row["node"] == node_of(KEYS[place])]
    return dict(row)


def test_a_wrong_clock_is_told_and_put_right(found: dict[str, Any]) -> None:
    row = row_of(found, WRONG)
    assert row["clock_offset_us"] == pytest.approx(WRONG_US + 47.95 * 3600e6 * 35e-6, abs=1_000)
    assert row["clock_drift_ppm"] == 35.0
    assert row["last_us"] == pytest.approx(END_US - WRONG * 1_000_000, abs=10)
    assert 900 < row["clock_error_us"] < 2_100
    assert row_of(found, 0)["clock_offset_us"] == 0


@pytest.mark.parametrize("place", [0, WRONG])
def test_airtime_of_the_last_hour_by_mesh_time(found: dict[str, Any], story: Story, place: int) -> None:
    from_us = END_US - END_US % SLOT_US + SLOT_US - HOUR_US
    expected = 0
    for row in story.book.rows["transmitted"].values():
        if row["node_no"] == place:
            expected += row["airtime_us"] if from_us <= row["slot_us"] < from_us + HOUR_US else 0
    assert expected > 0
    assert row_of(found, place)["airtime_us"] == expected
    assert {key: row_of(found, place)[key] for key in LORA} == LORA


def test_delays_are_those_of_copies_in_the_range(found: dict[str, Any], story: Story) -> None:
    first_us = DAY[0] - DAY[0] % HOUR_US
    published = {(entry.feed_no, entry.seq): entry for entry in story.entries}
    for place in range(len(NODES)):
        delays = sorted(
            copy.t_us - published[copy.feed_no, copy.seq].t_us
            for copy in story.copies
            if copy.node_no == place
            and published[copy.feed_no, copy.seq].owner not in (-1, place)
            and copy.t_us >= first_us
        )
        row = row_of(found, place)
        assert row["delay_count"] == len(delays)
        # A bucket is 4.4 % wide.
        assert row["delay_median_us"] == pytest.approx(delays[(len(delays) - 1) // 2], rel=0.12)


def test_alerts_open_ones_first_and_only_of_the_range(found: dict[str, Any]) -> None:
    rules = [(alert["rule"], alert["until_us"] is None) for alert in found["alerts"]]
    assert rules == [("duty", True), ("isolated", True), ("fork", True), ("split", False)]
    assert [alert["text"] for alert in found["alerts"]] == [
        "lora of ben has used 93 % of the airtime that the law allows.",
        f"{node_of(KEYS[ALONE])[:8]} has been out of contact with all other nodes for 4.0 h.",
        f"{feed_of(PHONES[1])[:8]} has two entries with one sequence number: its key was used twice. 2 nodes saw it.",
        "The mesh is split into 2 parts.",
    ]
    assert found["level"] == "alarm"
    assert found["sentence"].endswith(
        f"{node_of(KEYS[ALONE])[:8]} is out of contact with all others; 1 alarm is open."
    )
    by_rule = {alert["rule"]: alert for alert in found["alerts"]}
    assert by_rule["isolated"]["node"] == node_of(KEYS[ALONE])
    assert by_rule["fork"]["feed"] == feed_of(PHONES[1])
    assert row_of(found, ALONE)["isolated_since_us"] == by_rule["isolated"]["since_us"]


def test_the_latest_entries_and_how_far_they_came(found: dict[str, Any], story: Story) -> None:
    rows = found["recent"]
    assert len(rows) == 12
    assert [row["t_us"] for row in rows] == sorted((row["t_us"] for row in rows), reverse=True)
    numbers = {feed_of(key): number for number, key in enumerate((*KEYS, *PHONES))}
    latest = sorted((entry.t_us for entry in story.entries if entry.owner >= 0), reverse=True)
    assert max(row["t_us"] for row in rows if row["publisher"]) == pytest.approx(latest[0], abs=10)
    for row in rows:
        place = (numbers[row["feed"]], row["seq"])
        copies = [copy for copy in story.copies if (copy.feed_no, copy.seq) == place]
        assert set(row["held_by"]) == {node_of(KEYS[copy.node_no]) for copy in copies}
        assert row["reached_us"] == pytest.approx(max(copy.t_us for copy in copies), abs=10)


def test_nobody_lacks_anything(tmp_path: Path) -> None:
    book = Book()
    for name in ("ana", "ben"):
        number = book.node(name)
        book.put(
            "boots",
            node_no=number,
            boot=1,
            name=name,
            started_us=HOUR_US,
            first_us=HOUR_US,
            last_us=2 * HOUR_US,
        )
        book.put("frontiers", node_no=number, feed_no=book.feed("ana"), seq=3)
    book.write(tmp_path / "db")
    found = ask(tmp_path / "db", "overview")
    assert (found["sentence"], found["level"]) == ("Both nodes have everything.", "good")
    assert found["committed_us"] is None
    assert found["convergence"][-1][1] == 0


def test_a_clock_far_ahead_does_not_set_now(tmp_path: Path) -> None:
    book = Book()
    for name, last_us in (("ana", 100 * HOUR_US), ("ben", 900 * HOUR_US)):
        book.put("boots", node_no=book.node(name), boot=1, first_us=90 * HOUR_US, last_us=last_us)
    book.put("batches", query="q", committed_us=100 * HOUR_US + 5, offsets="")
    book.write(tmp_path / "db")
    assert ask(tmp_path / "db", "overview")["as_of_us"] == 100 * HOUR_US


def test_a_clock_that_is_put_right_does_not_set_now(tmp_path: Path) -> None:
    book = Book()
    for name, last_us, ahead_us in (("ana", 100 * HOUR_US, 0), ("ben", 111 * HOUR_US, 12 * HOUR_US)):
        number = book.node(name)
        first_us = 90 * HOUR_US + ahead_us
        times = {"first_us": first_us, "first_mono_us": 1, "last_us": last_us, "last_mono_us": 2}
        book.put("boots", node_no=number, boot=1, **times)
        book.put("clocks", node_no=number, boot=1, mesh=2**40, offset_us=ahead_us, matches=9)
    book.put("batches", query="q", committed_us=999 * HOUR_US, offsets="")
    book.write(tmp_path / "db")
    found = ask(tmp_path / "db", "overview")
    assert (found["as_of_us"], found["from_us"]) == (100 * HOUR_US, 90 * HOUR_US)
    ben = next(node for node in found["nodes"] if node["clock_offset_us"])
    assert ben["last_us"] == 99 * HOUR_US


@pytest.mark.parametrize("newest_is_known", [True, False])
def test_a_boot_before_with_a_clock_far_ahead_does_not_set_the_last_record(
    tmp_path: Path, newest_is_known: bool
) -> None:
    book = Book()
    number, ahead_us = book.node("ana"), 600_000 * HOUR_US
    for boot, last_us in ((1, 100 * HOUR_US + ahead_us), (2, 200 * HOUR_US)):
        book.put("boots", node_no=number, boot=boot, first_us=last_us - 5, last_us=last_us, last_mono_us=5)
        if boot == 1 or newest_is_known:
            offset_us = ahead_us if boot == 1 else HOUR_US
            book.put("clocks", node_no=number, boot=boot, mesh=2**40, offset_us=offset_us, matches=9)
    book.put("batches", query="q", committed_us=300 * HOUR_US, offsets="")
    book.write(tmp_path / "db")
    (ana,) = ask(tmp_path / "db", "overview")["nodes"]
    assert ana["last_us"] == (199 if newest_is_known else 200) * HOUR_US


def test_a_mesh_in_parts_is_told_with_the_time(tmp_path: Path) -> None:
    book = Book()
    book.put(
        "boots", node_no=book.node("ana"), boot=1, name="ana", started_us=HOUR_US, first_us=1, last_us=END_US
    )
    book.put(
        "alerts", rule="split", subject="mesh", since_us=HOUR_US * 14, level="warning", value=2.0, peak=2.0
    )
    book.put(
        "alerts",
        rule="stuck",
        subject="node 0",
        since_us=HOUR_US * 15,
        level="warning",
        value=12.0,
        peak=12.0,
    )
    book.write(tmp_path / "db")
    found = ask(tmp_path / "db", "overview")
    assert "the mesh is split since 1 Jan 14:00 UTC; 1 warning is open." in found["sentence"]
    assert found["level"] == "warning"
