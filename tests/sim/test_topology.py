"""Every topology lays out what it is called."""

import math
import random
from itertools import combinations

import pytest

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.topology import (
    DomainTopology,
    ExplicitTopology,
    FieldTopology,
    GridTopology,
    IslandsTopology,
    LineTopology,
    RingTopology,
    StarTopology,
)

NAMES = tuple(f"n{number}" for number in range(9))


def pairs(topology, names=NAMES):
    placement = topology.place(names, random.Random(1))
    assert set(placement.sketch) == set(names)
    return {frozenset(pair) for pair in placement.links_dbm}


def as_pairs(*texts):
    return {frozenset(f"n{digit}" for digit in text) for text in texts}


def test_domain():
    assert pairs(DomainTopology()) == {frozenset(pair) for pair in combinations(NAMES, 2)}


def test_line():
    assert pairs(LineTopology(), NAMES[:4]) == as_pairs("01", "12", "23")


def test_ring():
    assert pairs(RingTopology(), NAMES[:4]) == as_pairs("01", "12", "23", "30")
    assert pairs(RingTopology(), NAMES[:1]) == set()


def test_grid():
    assert pairs(GridTopology(), NAMES[:8]) == as_pairs(
        "01", "12", "34", "45", "67", "03", "14", "25", "36", "47"
    )
    assert pairs(GridTopology(columns=4), NAMES[:8]) == as_pairs(
        "01", "12", "23", "45", "56", "67", "04", "15", "26", "37"
    )


def test_star():
    assert pairs(StarTopology(), NAMES[:4]) == as_pairs("01", "02", "03")


def test_islands():
    assert pairs(IslandsTopology(count=3), NAMES[:6]) == as_pairs("01", "23", "45", "12", "34")
    assert pairs(IslandsTopology(count=2, joined=False), NAMES[:4]) == as_pairs("01", "23")
    assert pairs(IslandsTopology(count=9), NAMES[:2]) == as_pairs("01")


@pytest.mark.parametrize(
    "topology",
    [DomainTopology(), LineTopology(), RingTopology(), GridTopology(), StarTopology(), IslandsTopology()],
)
def test_one_node_alone(topology):
    assert pairs(topology, NAMES[:1]) == set()


def test_a_field_leaves_nobody_out_of_reach():
    field = FieldTopology(width_m=500, height_m=300, reach_m=60, apart_m=20)
    places = field.place(NAMES, random.Random(1)).positions_m
    assert list(places) == list(NAMES)
    assert places != field.place(NAMES, random.Random(2)).positions_m
    for number, here in enumerate(places.values()):
        nearest = min((math.dist(here, other) for other in list(places.values())[:number]), default=60.0)
        assert 20 <= nearest <= 60
        assert 0 <= here[0] <= 500
        assert 0 <= here[1] <= 300


def test_a_field_without_room_says_so():
    with pytest.raises(SimulationOptionError, match="make it larger"):
        FieldTopology(width_m=10, height_m=10, reach_m=9, apart_m=9).place(NAMES, random.Random(1))


def test_given_links_and_given_places():
    given = ExplicitTopology(links=(("n0", "n2", -100.0),))
    assert given.place(NAMES[:3], random.Random(1)).links_dbm == {("n0", "n2"): -100.0}
    placed = ExplicitTopology(positions_m=(("n1", 1.0, 2.0), ("n0", 3.0, 4.0)))
    assert placed.place(NAMES[:2], random.Random(1)).positions_m == {"n1": (1.0, 2.0), "n0": (3.0, 4.0)}
    with pytest.raises(SimulationOptionError, match="no place is given for n2"):
        placed.place(NAMES[:3], random.Random(1))


@pytest.mark.parametrize(
    ("links", "reason"),
    [
        ((("n0", "n0", -80.0),), "two ends"),
        ((("n0", "n1", -80.0), ("n1", "n0", -90.0)), "n0 and n1 is there twice"),
        ((("n0", "n1", 99.0),), "it takes"),
        ((("n0", "ana", -80.0),), "names no node"),
        ((), "or both"),
    ],
)
def test_given_links_that_cannot_be(links, reason):
    with pytest.raises(SimulationOptionError, match=reason):
        ExplicitTopology(links=links)


def test_given_links_go_before_given_places_and_may_lose_more():
    given = ExplicitTopology(
        positions_m=(("n0", 0.0, 0.0), ("n1", 9.0, 0.0)),
        links=(("n0", "n1", -100.0),),
        losses=(("n1", "n0", 0.5),),
    )
    placement = given.place(NAMES[:2], random.Random(1))
    assert (len(placement.positions_m), placement.links_dbm) == (2, {("n0", "n1"): -100.0})
    assert placement.losses == {("n0", "n1"): 0.5}


@pytest.mark.parametrize(
    ("made", "key"),
    [
        ({"positions_m": (("n0", math.inf, 0.0),)}, "positions_m"),
        ({"positions_m": (("n0", math.nan, 0.0),)}, "positions_m"),
        ({"positions_m": (("n0", 0.0, 0.0),), "losses": (("n0", "n1", 0.5),)}, "losses"),
        ({"links": (("n0", "n1", -80.0),), "losses": (("n0", "n1", 1.5),)}, "losses"),
        ({"links": (("n0", "n1", -80.0),), "losses": (("n0", "n1", 0.5), ("n1", "n0", 0.1))}, "losses"),
    ],
)
def test_given_places_and_losses_that_cannot_be(made, key):
    with pytest.raises(SimulationOptionError) as error:
        ExplicitTopology(**made)
    assert error.value.key == key
