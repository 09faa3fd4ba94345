"""Transforms against the plain count, over logs with everything in them."""

from pathlib import Path
from typing import Any

import pytest

from spark_sink.transforms import air, nodes, replication
from tests.spark_sink import oracle
from tests.spark_sink.logs import NodeLog, Record, digits, feed_name, mesh

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[NodeLog]]:
    root = tmp_path_factory.mktemp("logs")
    logs = mesh(root, nodes=4, posts=30, seed=7)
    logs[0].add("set", feed=feed_name(1), count=1, state=digits("1", 64))
    logs[0].add("set", feed=feed_name(2), count=2, state=digits("2", 64))
    logs[1].add("fork", feed=feed_name(2), seq=3, held=digits("a", 40), other=digits("b", 40))
    logs[3].add("tx_more", face="ws:1", packet="entry", count=512, size=61_440)
    logs[3].add("tx_more", face="ether", packet="entry", count=3, size=360)
    logs[2].add("stop", reason="signal")
    logs[3].restart()
    logs[3].add("start", name="renamed", feed=feed_name(3), dialect="spec", version="1", clean=False)
    logs[3].raw(b"nonsense\n")
    return root, logs


@pytest.fixture(scope="module")
def records(written: tuple[Path, list[NodeLog]]) -> list[Record]:
    return [record for log in written[1] for record in log.records]


@pytest.fixture(scope="module")
def rows(spark: Any, written: tuple[Path, list[NodeLog]]) -> Any:
    return spark.read.format("tinyssb").load(str(written[0])).cache()


@pytest.fixture(scope="module")
def frame(rows: Any) -> Any:
    return rows.where("bad_path is null")


def found(frame: Any) -> set[tuple[Any, ...]]:
    collected = [tuple(row) for row in frame.collect()]
    assert len(collected) == len(set(collected))
    return set(collected)


def test_frontier(frame: Any, records: list[Record]) -> None:
    assert found(replication.frontier(frame)) == oracle.frontier(records)


def test_behind(frame: Any, records: list[Record]) -> None:
    assert found(replication.behind(replication.frontier(frame), frame)) == oracle.behind(records)


def test_appended(frame: Any, records: list[Record]) -> None:
    fields = ("node", "feed", "seq", "id", "size", "chunks", "t_us", "origin", "face")
    expected = {tuple(entry.get(name) for name in fields) for entry in oracle.entries(records)}
    assert found(replication.appended(frame)) == expected


def test_delays(frame: Any, records: list[Record]) -> None:
    assert found(replication.delays(replication.appended(frame))) == oracle.delays(records)


def test_traffic(frame: Any, records: list[Record]) -> None:
    assert found(air.traffic(frame)) == oracle.traffic(records)


def test_sightings(frame: Any, records: list[Record]) -> None:
    fields = ("hash", "node", "kind", "face", "t_us", "rssi_dbm", "snr_db")
    expected = {tuple(packet.get(name) for name in fields) for packet in oracle.packets(records)}
    assert found(air.sightings(frame)) == expected


def test_events_count(frame: Any, records: list[Record]) -> None:
    assert found(nodes.events_count(frame)) == oracle.events_count(records)


def test_nodes(frame: Any, written: tuple[Path, list[NodeLog]]) -> None:
    expected = {
        (log.node, name, feed_name(number), log.boot, max(record["t_us"] for record in log.records), running)
        for number, (log, name, running) in enumerate(
            zip(written[1], ("n0", "n1", "n2", "renamed"), (1, 1, 0, 1), strict=True)
        )
    }
    assert found(nodes.nodes(frame)) == expected


def test_a_node_that_says_nothing_of_itself_has_no_name(frame: Any) -> None:
    (row,) = nodes.nodes(frame.where("kind = 'set'")).collect()
    assert (row.name, row.feed, row.running) == (None, None, None)


def test_sets_and_forks(frame: Any, written: tuple[Path, list[NodeLog]]) -> None:
    one, two = written[1][0], written[1][1]
    assert found(nodes.sets(frame)) == {(one.node, 2, digits("2", 64), one.records[-1]["t_us"])}
    fork = (two.node, feed_name(2), 3, digits("a", 40), digits("b", 40), two.records[-1]["t_us"])
    assert found(nodes.forks(frame)) == {fork}


def test_bad_lines(rows: Any, written: tuple[Path, list[NodeLog]]) -> None:
    path = written[1][3].path
    byte = path.read_bytes().index(b"nonsense")
    assert found(nodes.bad_lines(rows)) == {(str(path), byte, "not JSON", "nonsense")}
