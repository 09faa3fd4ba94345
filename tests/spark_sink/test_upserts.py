"""Batches into tables: in any order and any cut the same figures, each batch once, all of it or nothing."""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink import limits, tables, upserts
from spark_sink.errors import BatchGapError
from tests.spark_sink import oracle
from tests.spark_sink.logs import Record, feed_name, node_name


def batch_of(records: list[Record], batch_id: int = 0) -> upserts.Batch:
    """What the transforms make of *records*, the plain way."""
    found: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for node in {record["node"] for record in records}:
        own = [record for record in records if record["node"] == node]
        found["nodes"].append((node, None, None, 1, max(record["t_us"] for record in own), None))
    fields = ("node", "feed", "seq", "id", "size", "chunks", "t_us", "origin", "face")
    found["appended"] = [tuple(e.get(name) for name in fields) for e in oracle.entries(records)]
    names = ("hash", "node", "kind", "face", "t_us", "rssi_dbm", "snr_db")
    found["sightings"] = [tuple(p.get(name) for name in names) for p in oracle.packets(records)]
    for table in ("frontier", "traffic", "events_count"):
        found[table] = sorted(getattr(oracle, table)(records))
    return upserts.Batch("query", batch_id, found, 1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    connection = tables.open_for_writing(tmp_path / "db.sqlite")
    yield connection
    connection.close()


def rows(connection: sqlite3.Connection, sql: str) -> set[tuple[Any, ...]]:
    found = connection.execute(sql).fetchall()
    assert len(found) == len(set(found))
    return set(found)


NODES = st.integers(0, 3)
TIMES = st.integers(0, 3 * limits.LINK_WINDOW_US)


@st.composite
def logs(draw: st.DrawFn) -> list[Record]:
    found: list[Record] = []
    for seq in range(1, draw(st.integers(0, 4)) + 1):
        for number in draw(st.sets(NODES)):
            entry = {"feed": feed_name(0), "seq": seq, "id": f"{seq:040x}", "size": 1, "chunks": 0}
            origin = "own" if number == 0 else "peer"
            t_us = draw(TIMES)
            found.append(
                {"kind": "entry", "node": node_name(number), "t_us": t_us, "origin": origin, **entry}
            )
    packets = st.tuples(
        NODES, st.sampled_from(["rx", "tx"]), TIMES, st.integers(0, 1), st.integers(-120, -60)
    )
    for number, kind, t_us, packet, signal in draw(st.lists(packets, max_size=12)):
        heard = {"verdict": "new", "rssi_dbm": signal, "snr_db": signal / 4} if kind == "rx" else {}
        place = {"kind": kind, "node": node_name(number), "t_us": t_us, "face": "ether", "packet": "want"}
        found.append({**place, "length": 30, "hash": f"{packet:016x}", "airtime_us": 5, **heard})
    return found


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(logs(), st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_order_and_any_cut_give_the_same_figures(
    tmp_path_factory: pytest.TempPathFactory, records: list[Record], chance: Any, count: int
) -> None:
    connection = tables.open_for_writing(tmp_path_factory.mktemp("db") / "db.sqlite")
    shuffled = list(records)
    chance.shuffle(shuffled)
    for batch_id in range(count):
        assert upserts.add(connection, batch_of(shuffled[batch_id::count], batch_id))
    assert rows(connection, "SELECT * FROM frontier") == oracle.frontier(records)
    assert rows(connection, "SELECT node, feed, behind FROM behind") == oracle.behind(records)
    assert rows(connection, "SELECT node, feed, seq, delay_us FROM delays") == oracle.delays(records)
    assert rows(connection, "SELECT * FROM traffic") == oracle.traffic(records)
    assert rows(connection, "SELECT * FROM links") == oracle.links(records)
    assert rows(connection, "SELECT * FROM events_count") == oracle.events_count(records)
    changes = (
        "SELECT * FROM convergence WHERE t_us IN (SELECT second_us FROM progress WHERE published OR copied)"
    )
    assert rows(connection, changes) == oracle.convergence(records)
    connection.close()


def packet(kind: str, number: int, t_us: int, hash_: int = 1) -> Record:
    place = {
        "kind": kind,
        "node": node_name(number),
        "t_us": t_us,
        "face": "f",
        "packet": "want",
        "length": 9,
    }
    return {**place, "hash": f"{hash_:016x}", **({"verdict": "new"} if kind == "rx" else {})}


def test_a_packet_moves_to_a_better_sender_that_is_read_later(database: sqlite3.Connection) -> None:
    upserts.add(database, batch_of([packet("tx", 1, 100), packet("rx", 0, 900)], 0))
    assert rows(database, "SELECT sender, packets, last_us FROM links") == {(node_name(1), 1, 900)}
    upserts.add(database, batch_of([packet("tx", 2, 800)], 1))
    assert rows(database, "SELECT sender, packets, last_us FROM links") == {(node_name(2), 1, 900)}


def test_forgotten_packets_stay_counted(
    database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SIGHTINGS_MAX", 2)
    for batch_id in range(4):
        t_us = 1_000 * batch_id
        upserts.add(
            database,
            batch_of([packet("tx", 1, t_us, batch_id), packet("rx", 0, t_us + 9, batch_id)], batch_id),
        )
    assert rows(database, "SELECT count(*) FROM sightings") == {(2,)}
    assert rows(database, "SELECT sender, packets, last_us FROM links") == {(node_name(1), 4, 3_009)}
    upserts.add(database, batch_of([packet("tx", 3, 1, 77), packet("rx", 2, 2, 77)], 4))
    assert (node_name(1), 4, 3_009) in rows(database, "SELECT sender, packets, last_us FROM links")


def test_a_batch_that_comes_again_changes_nothing(database: sqlite3.Connection) -> None:
    records = [packet("tx", 1, 100), packet("rx", 0, 900)]
    assert upserts.last_batch(database, "query") is None
    assert upserts.add(database, batch_of(records, 0))
    before = list(database.iterdump())
    assert not upserts.add(database, batch_of(records, 0))
    assert list(database.iterdump()) == before
    assert upserts.last_batch(database, "query") == 0


def test_a_missing_batch_is_refused(database: sqlite3.Connection) -> None:
    with pytest.raises(BatchGapError, match=r"waits for batch 0 .* is at batch 3"):
        upserts.add(database, batch_of([], 3))
    assert not database.in_transaction


def test_a_batch_that_fails_leaves_nothing(database: sqlite3.Connection) -> None:
    before = list(database.iterdump())
    broken = batch_of([packet("tx", 1, 100)], 0)
    with pytest.raises(sqlite3.IntegrityError):
        upserts.add(database, upserts.Batch("query", 0, {**broken.tables, "sightings": [(None,) * 7]}, 1))
    assert list(database.iterdump()) == before
    assert upserts.add(database, broken)


def test_what_a_node_says_of_itself_is_kept_until_it_says_otherwise(database: sqlite3.Connection) -> None:
    node = node_name(1)
    for batch_id, row in enumerate(
        [(node, None, None, 1, 50, None), (node, "ana", "f" * 64, 1, 40, 1), (node, None, None, 2, 60, 0)]
    ):
        upserts.add(database, upserts.Batch("query", batch_id, {"nodes": [row]}, 1))
    assert rows(database, "SELECT * FROM nodes") == {(node, "ana", "f" * 64, 2, 60, 0)}


def test_the_batch_row_counts_records_and_knows_the_newest(database: sqlite3.Connection) -> None:
    upserts.add(database, batch_of([packet("tx", 1, 100), packet("rx", 0, 900)], 0))
    upserts.add(database, batch_of([packet("tx", 1, 300)], 1))
    assert rows(database, "SELECT * FROM batches") == {("query", 1, 3, 1, 300)}
