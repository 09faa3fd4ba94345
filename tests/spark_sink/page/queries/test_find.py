"""A search reaches the rows that a list has no room for."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_sink.page import limits
from tests.spark_sink.page.asking import ask
from tests.spark_sink.page.book import feed_of, node_of
from tests.spark_sink.page.story import KEYS, NODES, PHONES


@pytest.fixture(autouse=True)
def _little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NODES_SHOWN_MAX", "FEEDS_SHOWN_MAX", "ROWS_MAX"):
        monkeypatch.setattr(limits, name, 2)


@pytest.mark.parametrize("view", ["overview", "topology", "airtime", "gossip"])
def test_every_node_can_be_found_by_its_id(database: Path, view: str) -> None:
    assert ask(database, view)["hidden"]["nodes"] > 0
    for key in KEYS:
        found = ask(database, view, find=node_of(key)[:9])
        assert {row["node"] for row in found["nodes"]} == {node_of(key)}
        assert found["hidden"]["nodes"] == 0


def test_names_are_found_by_any_of_the_words_and_in_any_case(database: Path) -> None:
    found = ask(database, "overview", find="  CHLOÉ emil ")
    assert {row["label"] for row in found["nodes"]} == {"chloé", "emil"}
    assert found["totals"] == ask(database, "overview")["totals"], "of the whole mesh, whatever is searched"
    assert ask(database, "overview", find="nobody")["nodes"] == []


def test_every_cell_of_the_heat_map_can_be_found(database: Path) -> None:
    for name in (*KEYS, *PHONES):
        for node in KEYS[:3]:
            found = ask(database, "heatmap", find=f"{feed_of(name)} {node_of(node)}")
            assert feed_of(name) in {row["feed"] for row in found["feeds"]}
            assert node_of(node) in {row["node"] for row in found["nodes"]}


def test_words_that_name_one_side_of_the_heat_map_leave_the_other_as_it_is(database: Path) -> None:
    usual = ask(database, "heatmap")
    found = ask(database, "heatmap", find=feed_of(PHONES[0]))
    assert [row["feed"] for row in found["feeds"]] == [feed_of(PHONES[0])]
    assert found["nodes"] == usual["nodes"]
    assert found["hidden"] == {"nodes": len(NODES) - 2, "feeds": 0}
    nothing = ask(database, "heatmap", find="nobody")
    assert (nothing["nodes"], nothing["hidden"]) == ([], {"nodes": 0, "feeds": 0})


@pytest.mark.parametrize("scope", ["node", "hop", "feed"])
def test_every_delay_can_be_found(database: Path, scope: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as wide:
        wide.setattr(limits, "ROWS_MAX", 10_000)
        rows = ask(database, "delays", scope=scope)["rows"]
    for row in _some(rows):
        with monkeypatch.context() as wide:
            wide.setattr(limits, "ROWS_MAX", 100)
            assert row in ask(database, "delays", scope=scope, find=row["a"])["rows"]


def _some(rows: list[dict[str, str]]) -> Iterator[dict[str, str]]:
    yield from rows[::7]


def test_lists_of_one_node_and_one_feed_are_searched(database: Path) -> None:
    usual = ask(database, "feed", name=feed_of(KEYS[0]))
    assert usual["hidden"]["nodes"] > 0
    found = ask(database, "feed", name=feed_of(KEYS[0]), find=node_of(KEYS[4]))
    assert [row["node"] for row in found["nodes"]] == [node_of(KEYS[4])]
    lacking = ask(database, "node", name=node_of(KEYS[11]))["feeds_behind"]
    assert len(lacking) == 2
    some = ask(database, "node", name=node_of(KEYS[11]), find=feed_of(KEYS[1]))["feeds_behind"]
    assert [row["feed"] for row in some] == [feed_of(KEYS[1])]


def test_faults_of_a_node_are_found(database: Path) -> None:
    for row in ask(database, "faults", from_us=0)["incidents"]:
        found = ask(database, "faults", from_us=0, find=row["node"])
        assert row in found["incidents"]
        assert {each["node"] for each in found["incidents"]} == {row["node"]}
    for alert in ask(database, "faults")["alerts"]:
        assert alert in ask(database, "faults", find=alert["label"])["alerts"]
