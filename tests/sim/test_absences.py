"""Nodes that are asleep, or elsewhere, most of the time: nothing reaches them then, and they agree all the same."""

from collections.abc import Callable

import pytest

from tinyssb_node.codec.events import Send
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.absences import Sleep, Visits
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
NIGHT = Sleep(nodes=("n0",), at_s=100, awake_s=10, every_s=100)


class Diary(SimulationWatcher):
    """Writes down when each node was on the air, in seconds."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, float, float]] = []

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        del send
        self.sent.append((inhabitant.name, begin_us / SECOND_US, end_us / SECOND_US))


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def world(diary: Diary) -> World:
    made = World(1, lambda chance: SimulatedMedium(MediumOptions(), chance), watchers=[diary])
    for number in range(3):
        made.add(f"n{number}")
    return made


def entries_of(world: World, holder: str, author: str) -> int:
    feed = world.inhabitants[author].feed
    return next((each.seq for each in world.inhabitants[holder].node.feeds() if each.feed == feed), 0)


def test_asleep_a_node_neither_sends_nor_hears_and_awake_it_catches_up(world: World, diary: Diary) -> None:
    NIGHT.schedule(world)
    world.inject("n0", b"from the sleeper")
    world.inject("n1", b"to the sleeper")
    world.run_for(99 * SECOND_US)
    assert entries_of(world, "n2", "n1") == 1
    assert (entries_of(world, "n0", "n1"), entries_of(world, "n1", "n0")) == (0, 0)
    assert world.run(world.agreed, HOUR_US)
    assert (entries_of(world, "n0", "n1"), entries_of(world, "n1", "n0")) == (1, 1)
    begun_s = [begin_s for name, begin_s, _ in diary.sent if name == "n0"]
    assert begun_s
    assert all(begin_s >= 100 and begin_s % 100 <= 10 for begin_s in begun_s)


def test_how_long_a_node_slept_is_counted(world: World) -> None:
    NIGHT.schedule(world)
    world.run_for(350 * SECOND_US)
    sleeper = world.inhabitants["n0"]
    assert sleeper.woken == 3
    # A packet that is on the air at the end of a window is sent to its end.
    assert sleeper.asleep_us(world.now_us) == pytest.approx(320 * SECOND_US, abs=3 * 300_000)
    assert world.inhabitants["n1"].asleep_us(world.now_us) == 0


def test_a_packet_on_the_air_is_sent_to_its_end(world: World, diary: Diary) -> None:
    world.acquaint()
    world.run_for(300 * SECOND_US)
    before = len(diary.sent)
    world.inject("n0", b"the last before the night")
    assert world.run(lambda: len(diary.sent) > before, HOUR_US)
    name, _, end_s = diary.sent[-1]
    assert name == "n0"
    world.sleep("n0")
    world.run_for(10 * SECOND_US)
    assert entries_of(world, "n1", "n0") == 1
    assert world.inhabitants["n0"].asleep_since_us == end_s * SECOND_US


@pytest.mark.parametrize("fault", [World.crash, lambda world, name, _: world.move(name, (0.0, 0.0))])
def test_a_sleeper_that_loses_power_or_is_carried_away_sleeps_on(
    world: World, diary: Diary, fault: Callable[[World, str, int], None]
) -> None:
    world.sleep("n0")
    fault(world, "n0", 5 * SECOND_US)
    world.run_for(60 * SECOND_US)
    assert world.medium is not None
    assert not world.medium.reaches("n0", "n1")
    assert "n0" not in {name for name, _, _ in diary.sent}
    world.wake("n0")
    world.run_for(60 * SECOND_US)
    assert "n0" in {name for name, _, _ in diary.sent}


def test_a_node_that_is_off_when_it_should_wake_is_on_the_air_once_it_is_back(
    world: World, diary: Diary
) -> None:
    world.sleep("n0")
    world.crash("n0", 60 * SECOND_US)
    world.run_for(30 * SECOND_US)
    world.wake("n0")
    world.run_for(29 * SECOND_US)
    assert "n0" not in {name for name, _, _ in diary.sent}
    world.run_for(60 * SECOND_US)
    assert "n0" in {name for name, _, _ in diary.sent}


def test_a_visitor_is_at_one_place_at_a_time_and_between_visits_nowhere(world: World) -> None:
    Visits(node="n0", places=("n1", "n2"), at_s=10, stay_s=40, every_s=100).schedule(world)
    medium = world.medium
    assert medium is not None
    seen = []
    for _ in range(6):
        world.run_for(25 * SECOND_US)
        seen.append([name for name in ("n1", "n2") if medium.reaches("n0", name)])
        world.run_for(25 * SECOND_US)
        seen.append([name for name in ("n1", "n2") if medium.reaches("n0", name)])
    assert seen == [["n1"], [], [], [], ["n2"], [], [], [], ["n1"], [], [], []]


def test_a_place_may_have_several_nodes() -> None:
    visits = Visits(node="n0", places=("n1-n2", "n3"), stay_s=40, every_s=100)
    assert visits.named() == ("n0", "n1", "n2", "n3")
    assert SimulationOptions(nodes=4, absences=(visits, NIGHT)).visitors == ("n0",)


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(SimulationOptionError, match="awake_s"):
        Sleep(nodes=("n0",), awake_s=11, every_s=10)
    with pytest.raises(SimulationOptionError, match="stay_s"):
        Visits(node="n0", places=("n1",), stay_s=11, every_s=10)
    with pytest.raises(SimulationOptionError, match="more than one"):
        Visits(node="n0-n1", places=("n2",), stay_s=1, every_s=10)
    with pytest.raises(SimulationOptionError, match="itself"):
        Visits(node="n1", places=("n0-n2",), stay_s=1, every_s=10)
    with pytest.raises(SimulationOptionError, match="n0 sleeps by another schedule already"):
        SimulationOptions(absences=(NIGHT, Sleep(nodes=("n0-n3",), awake_s=1, every_s=10)))
    with pytest.raises(SimulationOptionError, match="there is no node n4"):
        SimulationOptions(nodes=4, absences=(Visits(node="n0", places=("n4",), stay_s=1, every_s=10),))
