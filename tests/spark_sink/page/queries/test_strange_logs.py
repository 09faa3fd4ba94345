"""Logs of hostile or faulty nodes: the page stays up and shows the truth."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from spark_sink.page import metrics
from spark_sink.page.limits import SLOT_US
from tests.spark_sink.page.asking import ask, opened
from tests.spark_sink.page.book import feed_of, node_of
from tests.spark_sink.page.story import END_US, HOUR_US, KEYS, PHONES, T0_US, WRONG, Story

SLOW, SLOW_US = 1, 9 * 3_600_000_000
Change: TypeAlias = Callable[..., Path]


@pytest.fixture
def changed(database: Path, tmp_path: Path) -> Change:
    """A copy of the story's database in which statements were run."""

    def change(*statements: tuple[Any, ...]) -> Path:
        path = tmp_path / "changed.sqlite"
        shutil.copy(database, path)
        connection = sqlite3.connect(path)
        with connection:
            for sql, *parameters in statements:
                connection.execute(sql, parameters)
        connection.close()
        return path

    return change


def test_what_a_phone_wrote_came_when_the_first_copy_did_by_clocks_put_right(
    changed: Change, story: Story
) -> None:
    """A clock that is hours slow says less than the others of when that was."""
    feed_no, seq = len(KEYS), max(copy.seq for copy in story.copies if copy.feed_no == len(KEYS))
    key = f"feed_no = {feed_no} AND seq = {seq}"
    first_us = END_US - 5_000_000
    path = changed(
        (f"UPDATE entries SET publisher = NULL, boot = NULL, t_us = NULL, mono_us = NULL WHERE {key}",),
        (f"DELETE FROM copies WHERE {key}",),
        *(
            ("INSERT INTO copies VALUES (?, ?, ?, 1, 900000, ?, ?, 'peer', 'lora')", feed_no, seq, node_no,
             story.own_us(node_no, t_us), t_us - T0_US)
            for node_no, t_us in ((0, first_us + 1_000), (SLOW, first_us + 2_000_000), (2, first_us))
        ),
        ("UPDATE clocks SET offset_us = offset_us - ? WHERE node_no = ?", SLOW_US, SLOW),
        (f"UPDATE copies SET t_us = t_us - ? WHERE {key} AND node_no = ?", SLOW_US, SLOW),
    )  # fmt: skip
    (row,) = [row for row in ask(path, "overview")["recent"] if row["feed"] == feed_of(PHONES[0])]
    (same,) = [row for row in ask(path, "feed", name=feed_of(PHONES[0]))["entries"] if row["seq"] == seq]
    assert row["t_us"] == same["t_us"] == pytest.approx(first_us, abs=1_000)


def air(path: Path) -> dict[tuple[str, str], float]:
    """Shares of the law's windows, as they are scraped."""
    with opened(str(path)) as source:
        figures = source.read(metrics.figures)
    assert figures is not None
    return {(row["node"], row["face"]): row["share"] for row in figures["air"]}


LAW = "UPDATE faces SET window_us = ? WHERE node_no = 1 AND face = 'lora'"
BUSY = node_of(KEYS[1]), "lora"


def test_a_law_without_a_window_is_none(changed: Change, database: Path) -> None:
    path = changed((LAW, 0))
    assert set(air(database)) - set(air(path)) == {BUSY}
    (row,) = [row for row in ask(path, "airtime")["nodes"] if (row["node"], row["face"]) == BUSY]
    assert (row["limit_ppm"], row["window_us"]) == (None, None)


def test_a_window_shorter_than_a_slot_is_a_slot(changed: Change) -> None:
    short, slot = (changed((LAW, window_us)) for window_us in (20_000_000, SLOT_US))
    assert air(short) == air(slot)


@pytest.mark.parametrize("window_us", [2**40, 2**53])
def test_a_window_of_ages_costs_no_more_than_what_is_known(changed: Change, window_us: int) -> None:
    path = changed((LAW, window_us))
    began_s = time.process_time()
    assert 0 <= air(path)[BUSY] < 1
    assert ask(path, "airtime")
    assert time.process_time() - began_s < 2


def test_a_range_shorter_than_the_window_knows_what_was_sent_before(database: Path) -> None:
    day = {(row["node"], row["face"]): row for row in ask(database, "airtime")["nodes"]}
    found = ask(database, "airtime", from_us=END_US - 2 * SLOT_US)["nodes"]
    assert len(found) > 3
    for row in found:
        wide = day[row["node"], row["face"]]
        assert row["now_ppm"] == wide["now_ppm"] <= row["fullest_ppm"] <= wide["fullest_ppm"]


def test_who_is_no_longer_up_is_not_isolated_any_more(changed: Change) -> None:
    """Its alert ends when its log does, though nothing tells that it is back."""
    over = "UPDATE alerts SET until_us = ? WHERE rule = 'isolated' AND until_us IS NULL"
    found = ask(changed((over, END_US)), "overview")["nodes"]
    assert [row["node"] for row in found if row["isolated_since_us"] is not None] == []


def test_all_there_is_begins_with_the_first_record(database: Path, story: Story) -> None:
    """A request for everything begins at 0; a line over time then has its points where something happened."""
    found = ask(database, "overview", from_us=0)
    began_us = min(row["first_us"] for row in story.book.rows["boots"].values() if row["node_no"] != WRONG)
    assert began_us - 2 * HOUR_US <= found["from_us"] <= began_us - HOUR_US
    assert sum(t_us >= began_us for t_us, _missing in found["convergence"]) > 200
    sent_us = sum(row["airtime_us"] for row in story.book.rows["transmitted"].values())
    assert ask(database, "airtime", from_us=0)["airtime_us"] == sent_us


def test_a_range_before_all_records_stays_as_it_was_asked(database: Path) -> None:
    found = ask(database, "overview", from_us=5, to_us=10)
    assert (found["from_us"], found["to_us"]) == (5, 10)


@pytest.mark.parametrize(("more", "told"), [(300, 301), (2_000_000, 1_000)])
def test_lines_that_are_not_listed_count(changed: Change, more: int, told: int) -> None:
    reason = f"and {more} more from here on in this file"
    path = changed(("INSERT INTO bad_lines VALUES ('x', 5, ?, '')", reason))
    assert ask(path, "overview")["totals"]["bad_lines"] == told
