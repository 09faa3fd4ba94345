"""Progress says what looking at every node would say."""

from itertools import pairwise

import pytest

from tinyssb_node.codec.events import ClockSet, Send
from tinyssb_node.sim import limits
from tinyssb_node.sim.progress import ConvergenceWatcher
from tinyssb_node.sim.runner import Simulation
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World

EVENT = ClockSet(step_us=1)
"""Nothing that changes how far anybody is."""


class Comparison(SimulationWatcher):
    """Looks at all nodes now and then."""

    def __init__(self) -> None:
        self.simulation: Simulation | None = None
        self.compared = 0

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        del inhabitant, send, begin_us, end_us
        assert self.simulation is not None
        self.compared += 1
        inhabitants = self.simulation.world.inhabitants.values()
        progress = self.simulation.progress
        held = sum(each.store.last_arrival() for each in inhabitants)
        ids = {record.feed for each in inhabitants for record in each.node.feeds()}
        known = sum(len(each.node.feeds()) for each in inhabitants)
        there = len(
            {
                (e.feed, e.seq, getattr(e, "chunk", None))
                for each in inhabitants
                for e in each.store.after(0, 9_999)
            }
        )
        assert (progress.held, progress.packets) == (held, there)
        assert progress.share == (held + known) / (len(inhabitants) * (there + len(ids)))
        assert progress.done == (progress.share == 1.0)


@pytest.mark.parametrize("name", ["newcomers", "partition", "goset", "random"])
def test_it_agrees_with_looking_at_everything(name: str) -> None:
    comparison = Comparison()
    simulation = Simulation(build(name, nodes=4, hours=1.5, seed=3), [comparison])
    comparison.simulation = simulation
    simulation.run()
    assert comparison.compared > 3


class Fake(ConvergenceWatcher):
    """Its share is what we say."""

    now = 0.0

    @property
    def share(self) -> float:
        return self.now


def test_the_curve_has_some_hundreds_of_points_however_long_it_takes() -> None:
    progress = Fake(1)
    inhabitant = World(1).add("n0")
    for second in range(100_000):
        progress.now = second / 100_000
        progress.recorded(inhabitant, EVENT, second * 1_000_000)
    times = [time_us for time_us, _ in progress.curve[:-1]]
    assert limits.SAMPLES_MAX / 3 < len(times) <= limits.SAMPLES_MAX
    assert times == sorted(times)
    assert times[0] == 0
    assert times[-1] > 99_000 * 1_000_000
    assert progress.curve[-1][1] == progress.now


def test_the_curve_is_as_fine_in_its_beginning_as_in_its_end() -> None:
    progress = Fake(1)
    inhabitant = World(1).add("n0")
    for second in range(3_000):
        progress.recorded(inhabitant, EVENT, second * 1_000_000)
    times = [time_us for time_us, _ in progress.curve[:-1]]
    assert max(after - before for before, after in pairwise(times)) <= 16_000_000
