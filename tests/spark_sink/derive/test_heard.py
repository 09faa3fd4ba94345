"""Links, uses and hops: as plain Python finds them, hour by hour as all at once, whatever the order of rows."""

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.derive import delays
from spark_sink.derive import links as links_of
from spark_sink.derive import uses as uses_of
from spark_sink.derive.facts import ENTRY, HOUR_US, RX, TX, Facts
from spark_sink.derive.transmissions import transmissions
from tests.spark_sink.derive import oracle_a
from tests.spark_sink.derive.facts_of import copies_of, sights_of, uptimes_of
from tests.spark_sink.derive.handmade import HOURS, SINCE_US, facts
from tests.spark_sink.derive.worlds import by_the_hour, world

MESH = 2**40
MINUTE_US = 60_000_000


def links(of: Facts) -> pa.Table:
    return links_of.links(of, transmissions(of.sights))


def uses(of: Facts) -> pa.Table:
    return uses_of.uses(of, transmissions(of.sights))


def hops(of: Facts) -> pa.Table:
    return delays.hops(of, transmissions(of.sights))


def transmitted(of: Facts) -> pa.Table:
    return uses_of.transmitted(of)


TABLES = [
    (links, oracle_a.links),
    (transmitted, oracle_a.transmitted),
    (uses, oracle_a.uses),
    (hops, oracle_a.hops),
]
IDS = ["links", "transmitted", "uses", "hops"]

times = st.one_of(
    st.integers(-8, 8).map(lambda number: SINCE_US + HOUR_US + number * MINUTE_US // 2),
    st.integers(SINCE_US - HOUR_US, SINCE_US + HOURS * HOUR_US),
    st.sampled_from([SINCE_US, SINCE_US + HOUR_US, SINCE_US + HOURS * HOUR_US]),
)
lates = st.sampled_from([0, 0, 0, 1, 300, 1_000_000, 70_000_000])


@st.composite
def told(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Packets of few entries sent by some nodes and heard by others, who may commit what is in them."""
    rows: list[dict[str, Any]] = []
    clock = {node: draw(st.sampled_from([MESH, MESH, MESH, MESH + 1, node])) for node in range(1, 5)}

    def log(node: int, kind: int, t_us: int, **more: Any) -> None:
        row = {
            "node_no": node,
            "kind": kind,
            "mesh_us": t_us,
            "mesh": clock[node],
            "offset": len(rows),
            **more,
        }
        rows.append(row)

    for _ in range(draw(st.integers(0, 8))):
        sender, t_us, number = draw(st.integers(1, 4)), draw(times), draw(st.integers(1, 2))
        kind = draw(st.sampled_from([0, 0, 0, 1, 8, 255]))
        packet = {"hash": number, "packet": kind, "face": draw(st.integers(-1, 1)), "airtime_us": 100}
        log(sender, TX, t_us, verdict=4, **packet)
        for receiver in draw(st.sets(st.integers(1, 4), max_size=3)) - {sender}:
            verdict, came_us = draw(st.sampled_from([0, 0, 1])), t_us + draw(lates)
            signal = {
                "rssi_dbm": draw(st.sampled_from([-32_768, -90])),
                "snr_db": draw(st.sampled_from([0.1, 0.7])),
            }
            known = {"feed_no": draw(st.sampled_from([-1, 7, 7])), "seq": number}
            log(receiver, RX, came_us, verdict=verdict, **packet, **signal, **known)
            if verdict == 0 and kind == 0:
                committed = {"verdict": draw(st.sampled_from([6, 6, 5])), "feed_no": 7, "seq": number}
                log(receiver, ENTRY, came_us + draw(lates), **committed)
    return rows


def facts_with(rows: list[dict[str, Any]], **more: Any) -> Facts:
    first: dict[tuple[int, int], dict[str, Any]] = {}
    for row in rows:
        if row["kind"] == ENTRY:
            place = row["seq"], row["node_no"]
            first[place] = min(first.get(place, row), row, key=lambda one: int(one["offset"]))
    copies = [{**first[place], "own": 0} for place in sorted(first)]
    ups = [{"node_no": node, "since_us": SINCE_US, "until_us": SINCE_US + HOUR_US} for node in (1, 2, 4)]
    ups.insert(
        2,
        {"node_no": 2, "boot": 2, "since_us": SINCE_US + 70 * MINUTE_US, "until_us": SINCE_US + 3 * HOUR_US},
    )
    everything = {
        "copies": copies_of(copies),
        "uptimes": uptimes_of(ups),
        "sights": sights_of(rows, ("air", "line")),
    }
    return facts(**{**everything, **more})


@pytest.mark.parametrize(("transform", "oracle"), TABLES, ids=IDS)
@settings(max_examples=150, deadline=None)
@given(told(), st.randoms(use_true_random=False))
def test_as_plain_python_finds_it(
    transform: Callable[[Facts], pa.Table],
    oracle: Callable[[oracle_a.Heard], list[oracle_a.Row]],
    rows: list[dict[str, Any]],
    chance: random.Random,
) -> None:
    found = transform(facts_with(chance.sample(rows, len(rows))))
    assert oracle_a.same(found, oracle(oracle_a.Heard(facts_with(rows))))
    hours = [
        transform(facts_with(rows, since_us=hour_us, until_us=hour_us + HOUR_US))
        for hour_us in range(SINCE_US, SINCE_US + HOURS * HOUR_US, HOUR_US)
    ]
    assert oracle_a.same(pa.concat_tables(hours), found.to_pylist())


@pytest.mark.parametrize("name", ["partition", "faults"])
@pytest.mark.parametrize(("transform", "oracle"), TABLES, ids=IDS)
def test_as_plain_python_finds_it_in_simulations(
    transform: Callable[[Facts], pa.Table], oracle: Callable[[oracle_a.Heard], list[oracle_a.Row]], name: str
) -> None:
    found = transform(world(name).facts)
    assert found.num_rows > 20
    assert oracle_a.same(found, oracle(oracle_a.Heard(world(name).facts)))
    assert oracle_a.same(by_the_hour(transform, world(name).hours), found.to_pylist())


START_US = SINCE_US + HOUR_US
AIR = {"mesh": MESH, "hash": 5, "face": 0, "airtime_us": 9, "feed_no": 7, "seq": 1}
SENT = {**AIR, "node_no": 1, "kind": TX, "mesh_us": START_US, "verdict": 4}
HEARD = {**AIR, "node_no": 2, "kind": RX, "mesh_us": START_US, "verdict": 0, "offset": 1}
COMMITTED = {**AIR, "node_no": 2, "kind": ENTRY, "mesh_us": START_US, "verdict": 6, "offset": 2}
THEIRS = {"feed_no": 7, "seq": 1, "node_no": 1, "own": 1, "mesh_us": START_US - 5_000, "mesh": MESH}
OURS = {**THEIRS, "own": 0, "node_no": 2, "mesh_us": START_US}


def counted(
    transform: Callable[[Facts], pa.Table], *rows: dict[str, Any], **theirs: Any
) -> list[dict[str, Any]]:
    copies = copies_of([{**THEIRS, **theirs}, OURS])
    rows_found: list[dict[str, Any]] = transform(facts_with(list(rows), copies=copies)).to_pylist()
    return rows_found


def test_a_hop_is_from_having_it_to_having_it() -> None:
    row = {"hour_us": START_US, "scope": "hop", "a": 1, "b": 2, "bucket": 41, "n": 1}
    assert counted(hops, SENT, HEARD, COMMITTED) == [row]
    again = {**COMMITTED, "boot": 2, "offset": 0}
    assert counted(hops, SENT, HEARD, COMMITTED, again) == [row]
    assert counted(hops, SENT, HEARD, COMMITTED, mesh=MESH + 1) == []
    assert counted(hops, SENT, HEARD, COMMITTED, node_no=3) == []


def test_what_was_committed_before_does_not_arrive_again() -> None:
    later = {**COMMITTED, "mesh_us": START_US + 9, "offset": 3}
    assert counted(hops, SENT, HEARD, later) == []


def test_a_packet_of_more_than_an_hour_ago_did_not_bring_it() -> None:
    for early_us, number in ((HOUR_US, 1), (HOUR_US + 1, 0)):
        rows = [{**row, "mesh_us": START_US - early_us} for row in (SENT, HEARD)]
        assert len(counted(hops, *rows, COMMITTED)) == number


def test_of_two_packets_at_once_the_later_record_brought_it() -> None:
    other = {**SENT, "node_no": 3, "hash": 6}, {**HEARD, "hash": 6, "offset": 0}
    assert [row["a"] for row in counted(hops, SENT, HEARD, *other, COMMITTED)] == [1]
    assert [row["a"] for row in counted(hops, *other, SENT, HEARD, COMMITTED)] == [1]


def test_what_its_sender_had_for_more_than_an_hour_is_a_repair() -> None:
    for held_us, use in ((HOUR_US, "news"), (HOUR_US + 1, "repair")):
        found = counted(uses, SENT, HEARD, COMMITTED, mesh_us=START_US - held_us)
        assert [(row["use"], row["airtime_us"]) for row in found] == [(use, 9)]


def test_one_sending_heard_on_two_faces_is_heard_once() -> None:
    found = counted(links, SENT, HEARD, {**HEARD, "face": 1, "offset": 4})
    assert [(row["heard"], row["sent"]) for row in found] == [(1, 1)]
