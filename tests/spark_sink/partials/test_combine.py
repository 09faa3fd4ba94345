"""Partial rows: their columns, and which of two that differ counts."""

from itertools import permutations

import pyarrow as pa
import pytest

from spark_sink import limits
from spark_sink.partials.combine import KEYS, SCHEMAS, merge
from spark_sink.serving.tables import FACE_LAW, FACTS, SIDE
from tests.spark_sink.logs import digits, feed_name, node_name

A, B, C = (digits(name, 40) for name in "abc")
LEAST, MIDDLE, GREATEST = sorted((A, B, C))
FEED = feed_name(0)

Row = dict[str, object]


def rows(name: str, *some: Row) -> pa.Table:
    return pa.Table.from_pylist(list(some), schema=SCHEMAS[name])


def test_columns_are_those_of_the_fact_tables_with_names_for_numbers() -> None:
    assert list(SCHEMAS) == [table.name for table in (*FACTS, *SIDE)]
    copies = "feed", "seq", "node", "boot", "offset", "t_us", "mono_us", "origin", "face"
    assert tuple(SCHEMAS["copies"].names) == copies
    assert SCHEMAS["entries"].field("publisher").type == pa.string()
    assert SCHEMAS["boots"].field("latitude").type == pa.float64()
    assert SCHEMAS["sights"].names == ["node", "boot", "hour_us", "n", "low_us", "high_us", "rows"]
    assert "place" not in SCHEMAS["packets"].names
    assert KEYS["copies"] == ("feed", "seq", "node")
    assert (KEYS["sights"], KEYS["packets"]) == (("node", "boot", "hour_us"), ())


def entry(name: str, publisher: str | None = None, boot: int | None = None, size: int = 0) -> Row:
    told = None if publisher is None else 5
    return {
        "feed": FEED, "seq": 1, "id": name, "type": 0, "size": size, "chunks": 0,
        "publisher": publisher, "boot": boot, "t_us": told, "mono_us": told,
    }  # fmt: skip


def copy(boot: int, offset: int, t_us: int, origin: str = "peer") -> Row:
    key = {"feed": FEED, "seq": 1, "node": node_name(0)}
    return {**key, "boot": boot, "offset": offset, "t_us": t_us, "mono_us": 0, "origin": origin, "face": None}


def frontier(seq: int, boot: int, t_us: int) -> Row:
    return {"node": node_name(0), "feed": FEED, "seq": seq, "boot": boot, "t_us": t_us}


def change(boot: int, offset: int, up: int, region: str | None = None) -> Row:
    law = {"region": region, "sub_band": None, "limit_ppm": None, "window_us": None}
    place = {"node": node_name(0), "face": "ether", "boot": boot, "offset": offset}
    told = {"law_boot": boot if up else None, "law_offset": offset if up else None}
    return {**place, "t_us": 100 - offset, "up": up, **told, "spec": None, **law}


def of_set(boot: int, offset: int, feeds: int) -> Row:
    return {
        "node": node_name(0),
        "boot": boot,
        "offset": offset,
        "feeds": feeds,
        "state": FEED,
        "t_us": 100 - offset,
    }


@pytest.mark.parametrize(
    ("table", "best_first"),
    [
        ("entries", (entry(GREATEST, node_name(0), 1), entry(LEAST), entry(MIDDLE))),
        ("entries", (entry(LEAST), entry(MIDDLE), entry(GREATEST))),
        ("entries", (entry(LEAST, node_name(0), 2), entry(MIDDLE, node_name(0), 1), entry(LEAST))),
        ("entries", (entry(LEAST, node_name(0), 1), entry(LEAST, node_name(0), 2))),
        ("entries", (entry(LEAST, node_name(0), 1), entry(LEAST, node_name(1), 1))),
        ("entries", (entry(LEAST, size=1), entry(LEAST, size=2), entry(MIDDLE, size=0))),
        ("copies", (copy(1, 5, 30, "own"), copy(1, 6, 10), copy(2, 0, 20))),
        ("frontiers", (frontier(3, 1, 9), frontier(3, 2, 5), frontier(2, 1, 1))),
        ("frontiers", (frontier(3, 1, 5), frontier(3, 1, 9))),
        ("faces", (change(2, 4, 1), change(2, 3, 1, "US915"), change(1, 9, 1, "EU868"))),
        ("sets", (of_set(2, 1, 2), of_set(2, 0, 3), of_set(1, 9, 4))),
    ],
)
def test_of_rows_that_differ_one_counts(table: str, best_first: tuple[Row, ...]) -> None:
    for some in permutations(best_first):
        assert merge(table, rows(table, *some)).to_pylist() == [best_first[0]]


def test_a_face_that_is_down_keeps_the_law_of_the_last_time_it_was_up() -> None:
    down, up = change(2, 4, 0), change(2, 3, 1, "EU868")
    law = {name: up[name] for name in FACE_LAW}
    for some in permutations((down, up, change(1, 9, 1, "US915"))):
        assert merge("faces", rows("faces", *some)).to_pylist() == [down | law]


def test_of_a_side_chain_the_most_is_held_and_the_first_time_counts() -> None:
    key = {"feed": FEED, "seq": 1, "node": node_name(0)}
    told: tuple[Row, ...] = (
        {"held": 1, "complete_us": None},
        {"held": 3, "complete_us": 9},
        {"held": 3, "complete_us": 7},
    )
    for some in permutations(told):
        merged = merge("side_chains", rows("side_chains", *({**key, **row} for row in some)))
        assert merged.to_pylist() == [{**key, "held": 3, "complete_us": 7}]
    merged = merge("side_chains", rows("side_chains", *[{**key, **told[0]}] * 2))
    assert merged.to_pylist() == [{**key, "held": 1, "complete_us": None}]


def boot(records: int, first: int, last: int, **told: object) -> Row:
    ends = {f"{end}_{name}": value for end, value in (("first", first), ("last", last)) for name in ENDS}
    return {
        **dict.fromkeys(SCHEMAS["boots"].names),
        "node": node_name(0),
        "boot": 1,
        "records": records,
        **ends,
        **told,
    }


ENDS = "offset", "us", "mono_us"


def test_of_a_boot_everything_known_is_kept() -> None:
    started, stopped = {"name": "n", "started_us": 0}, {"stopped_us": 9, "stop_reason": "signal"}
    parts = boot(3, 4, 6), boot(1, 0, 0, **started), boot(2, 8, 9, **stopped)
    for some in permutations(parts):
        assert merge("boots", rows("boots", *some)).to_pylist() == [boot(6, 0, 9, **started, **stopped)]


def test_the_latest_packets_are_kept() -> None:
    packet = {"node": node_name(0), "direction": "tx", "face": "ether", "packet": "want", "verdict": "sent"}
    some = [
        {**packet, "t_us": number, "length": 1, "airtime_us": 0} for number in range(limits.PACKETS_KEPT + 3)
    ]
    kept = merge("packets", rows("packets", *some))
    assert kept.column("t_us").to_pylist() == list(range(3, limits.PACKETS_KEPT + 3))
