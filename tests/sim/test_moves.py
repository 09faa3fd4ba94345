"""Nodes that move lose touch, and find it again."""

import pytest

from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.links import Position
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.moves import NodeMove
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.topology import ExplicitTopology
from tinyssb_node.sim.traffic import PeriodicPostTraffic
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000


def test_a_node_goes_straight_and_steadily() -> None:
    world = World(1, lambda chance: SimulatedMedium(MediumOptions(), chance))
    world.add("n0", position_m=(0.0, 100.0))
    NodeMove(node="n0", at_s=10, until_s=110, to_m=(200.0, 0.0)).schedule(world)
    seen: list[Position | None] = []
    for _ in range(13):
        seen.append(world.inhabitants["n0"].position_m)
        world.run_for(10 * SECOND_US)
    assert seen == [(0.0, 100.0)] + [(20.0 * step, 100.0 - 10.0 * step) for step in range(11)] + [
        (200.0, 0.0)
    ]


def test_a_second_move_begins_where_the_first_ended() -> None:
    world = World(1, lambda chance: SimulatedMedium(MediumOptions(), chance))
    world.add("n0", position_m=(0.0, 0.0))
    NodeMove(node="n0", at_s=0, until_s=7, to_m=(70.0, 0.0)).schedule(world)
    NodeMove(node="n0", at_s=7, until_s=8, to_m=(70.0, 10.0)).schedule(world)
    world.run_for(6 * SECOND_US)
    assert world.inhabitants["n0"].position_m == (35.0, 0.0)  # two steps of 3.5 s
    world.run_for(3 * SECOND_US)
    assert world.inhabitants["n0"].position_m == (70.0, 10.0)


def test_a_move_of_many_steps_begins_where_the_one_before_ended() -> None:
    world = World(1, lambda chance: SimulatedMedium(MediumOptions(), chance))
    world.add("n0", position_m=(0.0, 0.0))
    NodeMove(node="n0", at_s=0, until_s=7, to_m=(70.0, 0.0)).schedule(world)
    NodeMove(node="n0", at_s=7, until_s=17, to_m=(70.0, 10.0)).schedule(world)
    world.run_for(13 * SECOND_US)
    assert world.inhabitants["n0"].position_m == (70.0, 5.0)


def test_who_drives_away_misses_what_is_said_until_it_is_back() -> None:
    report = run_scenario(
        SimulationOptions(
            nodes=2,
            hours=3,
            topology=ExplicitTopology(positions_m=(("n0", 0.0, 0.0), ("n1", 50.0, 0.0))),
            traffic=(PeriodicPostTraffic(nodes=("n0",), every_s=100, at_s=1_000, until_s=1_200),),
            moves=(
                NodeMove(node="n1", at_s=500, until_s=900, to_m=(5_000.0, 0.0)),
                NodeMove(node="n1", at_s=4_000, until_s=4_400, to_m=(50.0, 0.0)),
            ),
        )
    )
    assert report.converged
    assert report.messages >= 1
    assert min(report.delays_us) > 2_900 * SECOND_US


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"node": "n0-n1"}, "node"),
        ({"node": "ana"}, "node"),
        ({"at_s": -1}, "at_s"),
        ({"until_s": 1}, "until_s"),
        ({"to_m": (2e6, 0.0)}, "to_m"),
    ],
)
def test_moves_that_cannot_be(given: dict[str, object], key: str) -> None:
    values = {"node": "n0", "at_s": 1, "until_s": 2, "to_m": (0.0, 0.0), **given}
    with pytest.raises(SimulationOptionError) as error:
        NodeMove(**values)  # type: ignore[arg-type]  # that is the point
    assert error.value.key == key
