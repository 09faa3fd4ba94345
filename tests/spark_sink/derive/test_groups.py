"""Contact groups, against walking from neighbour to neighbour."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink.arrays import components
from spark_sink.derive.facts import RX, TX, Facts
from spark_sink.derive.groups import groups
from spark_sink.serving.tables import TABLES
from tests.spark_sink.derive import oracle_b
from tests.spark_sink.derive.facts_of import sights_of, uptimes_of
from tests.spark_sink.derive.handmade import MINUTE_US, SINCE_US, facts, heard_facts
from tests.spark_sink.derive.worlds import BEGIN_US, WORLDS, by_the_hour, shuffled, world

KEY = TABLES["groups"].key


@WORLDS
def test_it_is_what_walking_finds(name: str) -> None:
    whole = world(name).facts
    assert oracle_b.rows(groups(whole), *KEY) == oracle_b.groups(whole)


@WORLDS
def test_hours_may_be_asked_for_one_by_one(name: str) -> None:
    parts = by_the_hour(groups, world(name).hours)
    assert oracle_b.rows(parts, *KEY) == oracle_b.rows(groups(world(name).facts), *KEY)


def test_the_order_of_what_ties_does_not_matter() -> None:
    whole = world("partition").facts
    assert groups(shuffled(whole, 1)) == groups(whole)


@settings(deadline=None)
@given(heard_facts())
def test_any_packets(some: Facts) -> None:
    assert oracle_b.rows(groups(some), *KEY) == oracle_b.groups(some)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19)), max_size=25))
def test_components_are_what_is_connected(edges: list[tuple[int, int]]) -> None:
    left, right = (np.array([edge[end] for edge in edges], np.int64) for end in (0, 1))
    connected = oracle_b.closed((*edges, *((other, one) for one, other in edges)))
    nearest = [min([place, *(one for one, other in connected if other == place)]) for place in range(20)]
    assert components(20, left, right).tolist() == nearest


def test_a_mesh_that_is_cut_is_in_two_groups_half_an_hour_later() -> None:
    """Cut from minute 10 to minute 60."""
    found: dict[int, set[int]] = {}
    for row in groups(world("partition").facts).to_pylist():
        found.setdefault((row["slot_us"] - BEGIN_US) // MINUTE_US, set()).add(row["group_no"])
    assert {slot: len(some) for slot, some in found.items()} == {
        0: 1, 10: 1, 20: 1, 30: 1, 40: 2, 50: 2, 60: 1, 70: 1, 80: 1, 90: 1,
    }  # fmt: skip


def test_groups_are_no_worse_for_being_idle() -> None:
    """Islands touch through one node each; who has nothing to say still says so."""
    assert set(groups(world("islands").facts)["group_no"].to_pylist()) == {1}


def test_contacts_count_longer_where_radios_are_slower() -> None:
    up = uptimes_of(
        [{"node_no": node, "since_us": SINCE_US, "until_us": SINCE_US + 110 * MINUTE_US} for node in (1, 2)]
    )

    def slots(airtime_us: int, length: int) -> int:
        packet = {"hash": 7, "mesh_us": SINCE_US, "airtime_us": airtime_us, "length": length}
        sent = {**packet, "kind": TX, "node_no": 1, "verdict": 4}
        heard = {**packet, "kind": RX, "node_no": 2, "verdict": 2}
        table = groups(facts(sights=sights_of([sent, heard]), uptimes=up))
        contacts: list[int] = table["contacts"].to_pylist()
        return sum(contacts) // 2

    assert slots(0, 120) == slots(205_056, 120) == slots(51_456, 16) == 4
    assert [slots(airtime_us, 120) for airtime_us in (370_688, 410_000, 500_000)] == [4, 5, 6]
    assert slots(6_000_000, 120) == 7


def test_who_hears_a_stranger_is_in_touch_with_somebody() -> None:
    up = uptimes_of([{"node_no": 1, "since_us": SINCE_US, "until_us": SINCE_US + MINUTE_US}])

    def last_us(verdict: int) -> int | None:
        heard = {"kind": RX, "node_no": 1, "verdict": verdict, "mesh_us": SINCE_US + 5}
        (row,) = groups(facts(sights=sights_of([heard]), uptimes=up)).to_pylist()
        assert (row["group_no"], row["contacts"]) == (1, 0)
        found: int | None = row["last_us"]
        return found

    assert [last_us(verdict) for verdict in range(4)] == [SINCE_US + 5, SINCE_US + 5, None, None]


def test_it_fits_its_table() -> None:
    assert set(groups(world("line8").facts).column_names) == {c.name for c in TABLES["groups"].columns}
