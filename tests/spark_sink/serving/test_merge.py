"""Merging of batches: once each, and with the same result in any order."""

import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.errors import DatabaseFailedError, SinkError
from spark_sink.serving import totals
from spark_sink.serving.database import Database, Row
from spark_sink.serving.merge import last_batch, merge
from spark_sink.serving.names import NameNumbers
from spark_sink.serving.tables import TOTALS
from tests.spark_sink.serving.batches import FEEDS, NODES, batch, deliveries, name_columns, part
from tests.spark_sink.serving.content import empty, rows_of
from tests.spark_sink.serving.merge_oracle import KEYS, Fact, combined

HOUR_US = 3_600_000_000


def copy(node: str, seq: int = 1, t_us: int | None = 0, **changes: object) -> Fact:
    """A record that *node* has an entry of the first feed."""
    fact = {
        "feed": FEEDS[0],
        "seq": seq,
        "node": node,
        "boot": 1,
        "offset": seq,
        "t_us": t_us,
        "mono_us": t_us,
    }
    return fact | {"origin": "peer", "face": "lora"} | changes


def boot(node: str, **changes: object) -> Fact:
    """Return the fact of a boot in a batch that brought its first ten records."""
    fact = {"node": node, "boot": 1, "records": 10, "first_offset": 0, "first_us": 100, "first_mono_us": 0}
    return fact | {"last_offset": 9, "last_us": 109, "last_mono_us": 9} | changes


def sights(node: str, hour: int, rows: bytes = b"x") -> Fact:
    """Packed rows of one hour."""
    return {
        "node": node, "boot": 1, "hour_us": hour * HOUR_US, "n": 1, "low_us": 0, "high_us": 1, "rows": rows,
    }  # fmt: skip


@pytest.mark.parametrize("table", KEYS)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_table_is_what_the_rules_make_of_all_facts_in_any_order(
    database: Database, table: str, data: st.DataObject
) -> None:
    brought = data.draw(deliveries(table))
    empty(database)
    names = NameNumbers(database)
    for batch_id, facts in enumerate(data.draw(st.permutations(brought))):
        assert merge(database, names, batch(batch_id, {table: facts}))
    columns = name_columns(table)
    everything = combined(table, [fact for facts in brought for fact in facts])
    expected = [tuple(fact[column] for column in columns) for fact in everything]
    assert rows_of(database, table) == sorted(expected, key=repr)
    if table in totals.SOURCES.values():
        assert totals_of(database) == counted(database)


def totals_of(database: Database) -> list[list[Row]]:
    """The sums that the merge keeps."""
    return [
        sorted(database.rows("SELECT node_no, held FROM node_totals")),
        sorted(database.rows("SELECT feed_no, newest, held FROM feed_totals")),
        sorted(database.rows("SELECT node_no, feed_no, held FROM chunk_totals")),
    ]


def counted(database: Database) -> list[list[Row]]:
    """The same, counted."""
    return [
        sorted(database.rows(f"SELECT {columns} GROUP BY {by}"))
        for columns, by in (
            ("node_no, CAST(sum(seq) AS bigint) FROM frontiers", "node_no"),
            ("feed_no, max(seq), CAST(sum(seq) AS bigint) FROM frontiers", "feed_no"),
            ("node_no, feed_no, CAST(sum(held) AS bigint) FROM side_chains", "node_no, feed_no"),
        )
    ]


def test_sums_are_made_where_an_older_program_made_none(database: Database) -> None:
    frontiers = [
        {"node": node, "feed": feed, "seq": seq, "boot": 1, "t_us": 0}
        for node, feed, seq in ((NODES[0], FEEDS[0], 5), (NODES[1], FEEDS[0], 2), (NODES[1], FEEDS[1], 0))
    ]
    chains = [
        {"node": NODES[0], "feed": FEEDS[0], "seq": seq, "held": seq, "complete_us": None} for seq in (1, 2)
    ]
    merge(database, NameNumbers(database), batch(0, {"frontiers": frontiers, "side_chains": chains}))
    kept = totals_of(database)
    assert kept == counted(database) == [[(1, 5), (2, 2)], [(1, 5, 7), (2, 0, 0)], [(1, 1, 3)]]
    with database.transaction():
        for table in TOTALS:
            database.execute(f"DELETE FROM {table.name}")
            database.execute(totals.fill(table.name))
    assert totals_of(database) == kept


def test_a_batch_that_comes_again_changes_nothing(database: Database) -> None:
    names = NameNumbers(database)
    parts = {"boots": [boot(NODES[0])], "sights": [sights(NODES[0], 1)]}
    assert merge(database, names, batch(0, parts))
    before = {
        table: rows_of(database, table) for table in ("boots", "sights", "batches", "batch_log", "meta")
    }
    assert not merge(database, names, batch(0, parts))
    assert before == {table: rows_of(database, table) for table in before}


def test_a_missing_batch_is_an_error_and_nothing_is_merged(database: Database) -> None:
    names = NameNumbers(database)
    merge(database, names, batch(0, {"boots": [boot(NODES[0])]}))
    with pytest.raises(SinkError, match="waits for batch 1"):
        merge(database, names, batch(2, {"boots": [boot(NODES[1])]}))
    assert [row[0] for row in rows_of(database, "boots")] == [NODES[0]]
    with pytest.raises(SinkError, match="waits for batch"):
        merge(database, names, batch(1, {}, query="another"))


def test_a_new_query_goes_on_where_the_one_before_it_ended(database: Database) -> None:
    names = NameNumbers(database)
    hour = {"sights": [sights(NODES[0], 1)], "boots": [boot(NODES[0])]}
    merge(database, names, batch(0, hour, query="old", offsets=json.dumps({"a": 1})))
    merge(database, names, batch(0, hour, query="new", offsets=json.dumps({"a": 2})))
    assert last_batch(database, "old") is None
    assert last_batch(database, "new") == 0
    columns = ("query", "batch_id", "records", "newest_us", "offsets")
    assert rows_of(database, "batches", columns) == [("new", 0, 20, 109, '{"a": 2}')]
    assert len(rows_of(database, "sights")) == 2


def test_a_batch_that_fails_leaves_nothing_and_names_are_numbered_anew(database: Database) -> None:
    names = NameNumbers(database)
    bad = {"boots": [boot(NODES[0])], "copies": [copy(NODES[0], t_us=None)]}
    with pytest.raises(DatabaseFailedError):
        merge(database, names, batch(0, bad))
    assert database.rows("SELECT * FROM nodes") == []
    assert rows_of(database, "batch_log") == []
    merge(database, names, batch(0, {"boots": [boot(NODES[1])]}))
    merge(database, names, batch(1, {"boots": [boot(NODES[0])]}))
    assert database.rows("SELECT node_no, node FROM nodes ORDER BY node_no") == [(1, NODES[1]), (2, NODES[0])]
    assert {row[0] for row in rows_of(database, "boots")} == set(NODES[:2])


def test_sums_are_never_negative_and_stop_before_they_overflow(database: Database) -> None:
    names = NameNumbers(database)
    row = {"node": NODES[0], "hour_us": 0, "kind": "want", "detail": "tx", "records": -5, "total": 2**63 - 1}
    for batch_id in range(3):
        merge(database, names, batch(batch_id, {"counts": [row]}))
    assert rows_of(database, "counts", ("records", "total")) == [(0, limits.SUM_MAX)]


def test_dictionaries_and_columns_left_out_are_understood(database: Database) -> None:
    """Parts come as Arrow made them: names by dictionary, in chunks, numbers in 32 bits, truth as such."""
    one = part("boots", [boot(NODES[0], name="hut", clean=1)])
    other = part("boots", [boot(NODES[1], name="pass", clean=0)])
    table = pa.concat_tables([one, other])
    table = table.set_column(table.column_names.index("node"), "node", table["node"].dictionary_encode())
    table = table.set_column(table.column_names.index("clean"), "clean", table["clean"].cast(pa.bool_()))
    table = table.set_column(table.column_names.index("boot"), "boot", table["boot"].cast(pa.int32()))
    merge(database, NameNumbers(database), batch(0, {}, parts={"boots": table}))
    assert rows_of(database, "boots", ("node_no", "name", "clean", "feed_no", "latitude")) == sorted(
        [(NODES[0], "hut", 1, None, None), (NODES[1], "pass", 0, None, None)]
    )


def test_packets_are_counted_up_and_only_the_latest_kept(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PACKETS_KEPT", 3)
    names = NameNumbers(database)
    packet = {
        "node": NODES[0], "direction": "rx", "face": "lora", "packet": "entry", "verdict": "new", "length": 120,
        "airtime_us": 5, "snr_db": float("nan"),
    }  # fmt: skip
    for batch_id, count in enumerate((2, 2, 5)):
        rows = [packet | {"t_us": 10 * batch_id + index} for index in range(count)]
        merge(database, names, batch(batch_id, {"packets": rows}))
        if batch_id == 1:
            assert rows_of(database, "packets", ("place", "t_us")) == [(1, 1), (2, 10), (3, 11)]
    assert rows_of(database, "packets", ("place", "t_us", "snr_db")) == [
        (6, 22, None),
        (7, 23, None),
        (8, 24, None),
    ]


def test_side_tables(database: Database) -> None:
    """Gaps and oddities are all there are now; bad lines stay."""
    names = NameNumbers(database)
    line = {"path": "n/0-0.jsonl", "byte": 7, "reason": "no JSON", "text": "\0<b>␀'\""}
    gap = {"node": NODES[0], "boot": 1, "first_offset": 3, "next_offset": None}
    odd = {"node": "n", "path": "n/0-0.jsonl", "reason": "newer"}
    sides = {"gaps": part("gaps", [gap]), "oddities": part("oddities", [odd])}
    merge(database, names, batch(0, {}, bad_lines=part("bad_lines", [line]), **sides))
    again = part("bad_lines", [line | {"reason": "other"}, line | {"byte": 9}])
    later = part("gaps", [gap | {"boot": 2, "next_offset": 9}])
    merge(database, names, batch(1, {}, bad_lines=again, gaps=later))
    merge(database, names, batch(2, {}))
    assert rows_of(database, "bad_lines", ("byte", "reason")) == [(7, "no JSON"), (9, "no JSON")]
    assert rows_of(database, "gaps") == [(NODES[0], 2, 3, 9)]
    assert rows_of(database, "oddities") == [("n", "n/0-0.jsonl", "newer")]
    merge(database, names, batch(3, {}, oddities=part("oddities", [odd]).slice(1), gaps=later.slice(1)))
    assert rows_of(database, "gaps") == rows_of(database, "oddities") == []


def test_of_a_file_with_many_bad_lines_the_first_are_listed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "BAD_LINES_LISTED", 2)
    names = NameNumbers(database)
    line = {"reason": "no JSON", "text": "x"}
    for number, places in enumerate([[("a", 8), ("b", 5)], [("a", 4)], [("a", 6), ("a", 9)], [("b", 3)]]):
        found = [line | {"path": path, "byte": byte} for path, byte in places]
        merge(database, names, batch(number, {}, bad_lines=part("bad_lines", found)))
    assert sorted(rows_of(database, "bad_lines")) == [
        ("a", 4, "no JSON", "x"),
        ("a", 6, "no JSON", "x"),
        ("a", 8, "and 2 more from here on in this file", ""),
        ("b", 3, "no JSON", "x"),
        ("b", 5, "no JSON", "x"),
    ]


def test_the_log_of_batches(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOG_KEPT", 2)
    names = NameNumbers(database)
    for batch_id in range(4):
        part_of_boot = {"boots": [boot(NODES[0])]}
        merge(
            database, names, batch(batch_id, part_of_boot, bytes=100, behind_bytes=50 - batch_id, read_us=7)
        )
    columns = ("committed_us", "batch_id", "records", "bytes", "behind_bytes", "read_us", "newest_us")
    assert rows_of(database, "batch_log", columns) == [
        (3, 2, 10, 100, 48, 7, 109),
        (4, 3, 10, 100, 47, 7, 109),
    ]
    assert database.rows("SELECT count(*) FROM batch_log WHERE merge_us BETWEEN 1 AND 60000000") == [(2,)]
    assert rows_of(database, "batches", ("batch_id", "records")) == [(3, 40)]


def test_every_transaction_is_a_change_and_every_delivery_another(database: Database) -> None:
    names = NameNumbers(database)
    changes = [database.changes()]
    for batch_id in range(2):
        merge(
            database, names, batch(batch_id, {"sights": [sights(NODES[0], 1, b"a\0"), sights(NODES[0], 1)]})
        )
        changes.append(database.changes())
    assert np.all(np.diff(changes) > 0)
    assert rows_of(database, "sights", ("batch", "part", "rows")) == [
        (delivery, index, rows) for delivery in changes[1:] for index, rows in enumerate((b"a\0", b"x"))
    ]
