"""What nodes write that means harm, or that nobody thought of: the page stays up and tells the truth."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.spark_sink.page.asking import ask
from tests.spark_sink.page.book import feed_of
from tests.spark_sink.page.story import END_US, KEYS, PHONES, T0_US, Story

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


@pytest.mark.parametrize(("more", "told"), [(300, 301), (2_000_000, 1_000)])
def test_lines_that_are_not_listed_count(changed: Change, more: int, told: int) -> None:
    reason = f"and {more} more from here on in this file"
    path = changed(("INSERT INTO bad_lines VALUES ('x', 5, ?, '')", reason))
    assert ask(path, "overview")["totals"]["bad_lines"] == told
