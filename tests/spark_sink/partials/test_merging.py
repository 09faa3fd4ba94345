"""Partial rows: their columns, and which of two that differ counts."""

from itertools import permutations

import pyarrow as pa
import pytest

from spark_sink import limits
from spark_sink.partials.merging import KEYS, SCHEMAS, merge
from spark_sink.serving.tables import FACTS
from tests.spark_sink.logs import digits, feed_name, node_name

A, B, C = (digits(name, 40) for name in "abc")
LEAST, MIDDLE, GREATEST = sorted((A, B, C))
FEED = feed_name(0)


def rows(name: str, *some: dict[str, object]) -> pa.Table:
    return pa.Table.from_pylist(list(some), schema=SCHEMAS[name])


def test_columns_are_those_of_the_fact_tables_with_names_for_numbers() -> None:
    assert list(SCHEMAS) == [*(table.name for table in FACTS), "bad_lines"]
    copies = "feed", "seq", "node", "boot", "offset", "t_us", "mono_us", "origin", "face"
    assert tuple(SCHEMAS["copies"].names) == copies
    assert SCHEMAS["entries"].field("publisher").type == pa.string()
    assert SCHEMAS["boots"].field("latitude").type == pa.float64()
    assert SCHEMAS["sights"].names == ["node", "boot", "hour_us", "n", "low_us", "high_us", "rows"]
    assert "place" not in SCHEMAS["packets"].names
    assert KEYS["copies"] == ("feed", "seq", "node")
    assert (KEYS["sights"], KEYS["packets"]) == (("node", "boot", "hour_us"), ())


def entry(
    name: str, publisher: str | None = None, boot: int | None = None, size: int = 0
) -> dict[str, object]:
    told = None if publisher is None else 5
    return {
        "feed": FEED, "seq": 1, "id": name, "type": 0, "size": size, "chunks": 0,
        "publisher": publisher, "boot": boot, "t_us": told, "mono_us": told,
    }  # fmt: skip


@pytest.mark.parametrize(
    "best_first",
    [
        (entry(GREATEST, node_name(0), 1), entry(LEAST), entry(MIDDLE)),
        (entry(LEAST), entry(MIDDLE), entry(GREATEST)),
        (entry(LEAST, node_name(0), 2), entry(MIDDLE, node_name(0), 1), entry(LEAST)),
        (entry(LEAST, node_name(0), 1), entry(LEAST, node_name(0), 2)),
        (entry(LEAST, node_name(0), 1), entry(LEAST, node_name(1), 1)),
        (entry(LEAST, size=1), entry(LEAST, size=2), entry(MIDDLE, size=0)),
    ],
    ids=["publisher", "smallest id", "of two words", "first boot", "by name", "size"],
)
def test_of_entries_that_differ_one_counts(best_first: tuple[dict[str, object], ...]) -> None:
    for some in permutations(best_first):
        assert merge("entries", rows("entries", *some)).to_pylist() == [best_first[0]]


def test_the_latest_packets_are_kept() -> None:
    packet = {"node": node_name(0), "direction": "tx", "face": "ether", "packet": "want", "verdict": "sent"}
    some = [
        {**packet, "t_us": number, "length": 1, "airtime_us": 0} for number in range(limits.PACKETS_KEPT + 3)
    ]
    kept = merge("packets", rows("packets", *some))
    assert kept.column("t_us").to_pylist() == list(range(3, limits.PACKETS_KEPT + 3))
