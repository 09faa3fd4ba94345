"""Nodes stand where they can hear each other."""

import pytest

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.ground import diameter, place_nodes
from tinyssb_node.sim.options import ChannelOptions, SimulationOptions
from tinyssb_node.sim.topology import DomainTopology, FieldTopology, LineTopology, RingTopology


def test_diameter() -> None:
    assert diameter([()]) == 0
    assert diameter([(1,), (0,)]) == 1
    assert diameter([(1,), (0, 2), (1,)]) == 2
    assert diameter([(1,), (0,), ()]) is None


@pytest.mark.parametrize(
    ("topology", "hops"), [(DomainTopology(), 1), (LineTopology(), 9), (RingTopology(), 5)]
)
def test_shapes_are_as_wide_as_they_should_be(
    topology: DomainTopology | LineTopology | RingTopology, hops: int
) -> None:
    assert diameter(place_nodes(SimulationOptions(topology=topology)).neighbours) == hops


@pytest.mark.parametrize("seed", range(1, 9))
def test_a_field_is_whole_and_wide_whatever_hills_there_are(seed: int) -> None:
    field = FieldTopology(width_m=900, height_m=300, reach_m=110, hops_min=4)
    options = SimulationOptions(seed=seed, nodes=20, topology=field, channel=ChannelOptions(shadowing_db=7.8))
    ground = place_nodes(options)
    hops = diameter(ground.neighbours)
    assert hops is not None
    assert hops >= 4
    assert ground.neighbours == place_nodes(options).neighbours
    for number, others in enumerate(ground.neighbours):
        assert all(number in ground.neighbours[other] for other in others)


def test_a_field_that_cannot_be_is_refused() -> None:
    field = FieldTopology(width_m=100, height_m=100, reach_m=50, hops_min=7)
    with pytest.raises(SimulationOptionError, match="over 7 hops or more"):
        place_nodes(SimulationOptions(topology=field))
