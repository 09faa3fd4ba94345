"""The verdict of the demonstration: it must be able to say no."""

import dataclasses
import sqlite3
from contextlib import closing
from pathlib import Path

from tinyssb_node.cli.demo.summary import Summary, read_tables

ANA, BEN = "aa" * 32, "bb" * 32

AGREED = Summary(
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
    with closing(sqlite3.connect(path)) as tables:
        assert read_tables(path) == {}
        tables.executescript(
            f"""
            CREATE TABLE nodes (node TEXT, name TEXT);
            CREATE TABLE copies (node TEXT, feed TEXT, seq INT);
            INSERT INTO nodes VALUES ('01', 'ana'), ('02', 'ben');
            INSERT INTO copies VALUES ('01', '{ANA}', 1), ('01', '{ANA}', 2), ('02', '{ANA}', 1);
            """
        )
    assert read_tables(path) == {"ana": {ANA: 2}, "ben": {ANA: 1}}
