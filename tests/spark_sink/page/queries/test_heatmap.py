"""The heat map against the story, now and at an earlier time."""

from collections import defaultdict
from pathlib import Path

from spark_sink.page import limits
from tests.spark_sink.page.asking import ask
from tests.spark_sink.page.book import Book, feed_of, node_of
from tests.spark_sink.page.story import HOUR_US, KEYS, PHONES, T0_US, Story

NAMES = (*KEYS, *PHONES)


def test_cells_now(database: Path, story: Story) -> None:
    found = ask(database, "heatmap")
    assert found["at_us"] is None
    newest: dict[str, int] = defaultdict(int)
    for (_node, feed), seq in story.frontiers.items():
        newest[feed_of(NAMES[feed])] = max(seq, newest[feed_of(NAMES[feed])])
    held = {(node_of(KEYS[node]), feed_of(NAMES[feed])): seq for (node, feed), seq in story.frontiers.items()}
    assert {feed["feed"]: feed["newest"] for feed in found["feeds"]} == newest
    for row, feed in zip(found["behind"], found["feeds"], strict=True):
        for missing, node in zip(row, found["nodes"], strict=True):
            assert missing == newest[feed["feed"]] - held.get((node["node"], feed["feed"]), 0)


def test_chunks_missing_are_of_entries_that_are_there(database: Path, story: Story) -> None:
    found = ask(database, "heatmap")
    chains = story.book.rows["side_chains"]
    for row, feed in zip(found["chunks_missing"], found["feeds"], strict=True):
        for missing, node in zip(row, found["nodes"], strict=True):
            place = next(i for i, key in enumerate(KEYS) if node_of(key) == node["node"])
            number = next(i for i, key in enumerate(NAMES) if feed_of(key) == feed["feed"])
            expected = sum(
                entry.chunks - chains[number, entry.seq, place]["held"]
                for entry in story.entries
                if entry.feed_no == number
                and entry.chunks
                and entry.seq <= story.frontiers.get((place, number), 0)
            )
            assert missing == expected


def test_cells_at_an_earlier_time(database: Path, story: Story) -> None:
    at_us = T0_US + 33 * HOUR_US
    found = ask(database, "heatmap", at_us=at_us + 1_234_567)
    assert (found["at_us"], found["chunks_missing"]) == (at_us, None)
    assert (found["first_us"], found["last_us"]) == (T0_US + HOUR_US, T0_US + 48 * HOUR_US)
    held: dict[tuple[str, str], int] = defaultdict(int)
    for copy in story.copies:
        if copy.t_us < at_us:
            key = (node_of(KEYS[copy.node_no]), feed_of(NAMES[copy.feed_no]))
            held[key] = max(held[key], copy.seq)
    newest = {
        feed["feed"]: max((seq for (_node, name), seq in held.items() if name == feed["feed"]), default=0)
        for feed in found["feeds"]
    }
    assert {feed["feed"]: feed["newest"] for feed in found["feeds"]} == newest
    cells = [
        newest[feed["feed"]] - held[node["node"], feed["feed"]]
        for feed in found["feeds"]
        for node in found["nodes"]
    ]
    assert [cell for row in found["behind"] for cell in row] == cells
    assert sum(cells) > 50  # it is the middle of the split
    now = ask(database, "heatmap")
    assert [node["node"] for node in now["nodes"]] == [node["node"] for node in found["nodes"]]


def test_before_the_first_hour_nobody_has_anything(database: Path) -> None:
    found = ask(database, "heatmap", at_us=T0_US)
    assert {cell for row in found["behind"] for cell in row} == {0}
    assert {feed["newest"] for feed in found["feeds"]} == {0}


def test_of_too_many_the_farthest_behind_are_shown(tmp_path: Path) -> None:
    book = Book()
    many = limits.NODES_SHOWN_MAX + 6
    for place in range(many):
        number = book.started_node(f"n{place}", HOUR_US)
        book.put("frontiers", node_no=number, feed_no=book.feed("n0"), seq=place + 1)
    book.write(tmp_path / "db")
    found = ask(tmp_path / "db", "heatmap")
    assert found["hidden"] == {"nodes": 6, "feeds": 0}
    assert {node["label"] for node in found["nodes"]} == {
        f"n{place}" for place in range(limits.NODES_SHOWN_MAX)
    }
    assert max(found["behind"][0]) == many - 1
