"""The verdict of the demonstration: it must be able to say no."""

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.spark_sink.page.book import Book, feed_of
from tinyssb_node.cli.demo.summary import DemoSummary, read_tables

ANA, BEN = "aa" * 32, "bb" * 32

AGREED = DemoSummary(
    published={"ana": 2, "ben": 1},
    held={"ana": {ANA: 2, BEN: 1}, "ben": {ANA: 2, BEN: 1}},
    tips={"ana": {ANA: "11", BEN: "22"}, "ben": {ANA: "11", BEN: "22"}},
    tabled={"ana": {ANA: 2, BEN: 1}, "ben": {ANA: 2, BEN: 1}},
    expected={ANA: 2, BEN: 1},
)


def test_all_is_well() -> None:
    assert AGREED.nodes_agree
    assert AGREED.tables_agree
    assert "ana           2  3 of 3  3 of 3" in AGREED.text()
    assert "NO" not in AGREED.text().split("agree")[1]
    assert AGREED.json()["nodes_agree"] is True


def test_a_node_that_lacks_an_entry_is_seen() -> None:
    behind = dataclasses.replace(AGREED, held={"ana": {ANA: 2, BEN: 1}, "ben": {ANA: 1, BEN: 1}})
    assert not behind.nodes_agree
    assert "2 of 3" in behind.text()
    assert "Nodes agree: NO" in behind.text()


def test_nodes_that_hold_as_many_but_other_entries_disagree() -> None:
    forked = dataclasses.replace(AGREED, tips={"ana": {ANA: "11"}, "ben": {ANA: "12"}})
    assert not forked.nodes_agree


def test_tables_that_count_an_entry_twice_or_never_are_seen() -> None:
    twice = dataclasses.replace(AGREED, tabled={"ana": {ANA: 3, BEN: 1}, "ben": {ANA: 2, BEN: 1}})
    never = dataclasses.replace(AGREED, tabled={"ana": {ANA: 2, BEN: 1}})
    assert not twice.tables_agree
    assert not never.tables_agree
    assert never.json()["tables"] == {"ana": 3, "ben": 0}


def test_tables_are_read_by_node_name(tmp_path: Path) -> None:
    path = tmp_path / "tables.sqlite"
    assert read_tables(path) == {}
    with closing(sqlite3.connect(path)):
        assert read_tables(path) == {}
    path.unlink()
    book = Book()
    for node_no, name in enumerate(("ana", "ben")):
        book.put("boots", node_no=book.node(name), boot=1, name=name, started_us=5)
        for seq in range(1, 4 - node_no):
            book.put("copies", feed_no=book.feed("ana"), seq=seq, node_no=node_no)
    for seq in range(1, 4):
        book.put("entries", feed_no=0, seq=seq, chunks=seq - 1)
    book.put("side_chains", feed_no=0, seq=2, node_no=0, held=1, complete_us=7)
    book.put("side_chains", feed_no=0, seq=3, node_no=0, held=1)
    book.write(path)
    # Side chains that lack a packet, or of which nothing came, are not whole.
    assert read_tables(path) == {"ana": {feed_of("ana"): 2}, "ben": {feed_of("ana"): 1}}
