"""Facts read from a database: those that were merged."""

import pytest

from spark_sink import limits
from spark_sink.serving import facts
from spark_sink.serving.connect import open_for_reading
from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.serving.names import NameNumbers
from tests.spark_sink.serving.batches import FEEDS, NODES, batch

HOUR_US = 3_600_000_000


@pytest.fixture(autouse=True)
def few_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a question takes several queries."""
    monkeypatch.setattr(limits, "KEYS_AT_A_TIME", 2)


def test_sights_of_some_hours(name: str, database: Database) -> None:
    rows = [
        {
            "node": node,
            "boot": 1,
            "hour_us": hour * HOUR_US,
            "n": 1,
            "low_us": 0,
            "high_us": 1,
            "rows": b"\0%d" % hour,
        }
        for node in NODES
        for hour in range(3)
    ]
    names = NameNumbers(database)
    merge(database, names, batch(0, {"sights": rows}))
    merge(database, names, batch(1, {"sights": rows[:1]}))
    reader = open_for_reading(name)
    found = facts.sights_of(
        reader, [(3, 1, 0), (1, 1, 0), (1, 1, 0), (2, 1, 2 * HOUR_US), (2, 2, 0), (9, 1, 0)]
    )
    reader.close()
    assert found.select(["node_no", "hour_us", "part", "rows"]).to_pylist() == [
        {"node_no": 1, "hour_us": 0, "part": 0, "rows": b"\x000"},
        {"node_no": 1, "hour_us": 0, "part": 0, "rows": b"\x000"},
        {"node_no": 2, "hour_us": 2 * HOUR_US, "part": 5, "rows": b"\x002"},
        {"node_no": 3, "hour_us": 0, "part": 6, "rows": b"\x000"},
    ]
    assert facts.sights_of(database, []).num_rows == 0


def test_all_copies_of_some_entries(database: Database) -> None:
    copies = [
        {
            "feed": feed, "seq": seq, "node": node, "boot": 1, "offset": seq, "t_us": seq, "mono_us": seq,
            "origin": "own", "face": None,
        }
        for feed in FEEDS
        for seq in (1, 2)
        for node in NODES
    ]  # fmt: skip
    merge(database, NameNumbers(database), batch(0, {"copies": copies}))
    found = facts.copies_of(database, [(2, 1), (1, 2), (1, 1), (1, 3)])
    keys = list(zip(*(found[column].to_pylist() for column in ("feed_no", "seq", "node_no")), strict=True))
    assert keys == [
        (1, 1, 1),
        (1, 1, 2),
        (1, 1, 3),
        (1, 2, 1),
        (1, 2, 2),
        (1, 2, 3),
        (2, 1, 1),
        (2, 1, 2),
        (2, 1, 3),
    ]
    assert found["face"].null_count == len(keys)
    assert found["origin"].to_pylist() == ["own"] * 9


def test_boots(database: Database) -> None:
    ends = {
        "first_offset": 0,
        "first_us": 1,
        "first_mono_us": 2,
        "last_offset": 3,
        "last_us": 4,
        "last_mono_us": 5,
    }
    rows = [{"node": NODES[0], "boot": boot, "records": 1, **ends} for boot in (2, 1)]
    merge(database, NameNumbers(database), batch(0, {"boots": rows}))
    found = facts.boots(database)
    assert found["boot"].to_pylist() == [1, 2]
    assert found["last_us"].to_pylist() == [4, 4]
    assert found["latitude"].to_pylist() == [None, None]
