"""Simulated faults: they happen, and last as long as they were set to."""

import random

import pytest

from tinyssb_node.codec.events import ClockSet, EntryAppended, PacketReceived, Send
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.faults import (
    BrownOut,
    Churn,
    ClockJump,
    LateStart,
    LyingDisk,
    NodeCrash,
    Partition,
    RadioHang,
)
from tinyssb_node.sim.limits import EPOCH_US
from tinyssb_node.sim.links import LinkQuality
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


class Diary(SimulationWatcher):
    """Writes down who was switched on, and who sent, and when, in seconds."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, float]] = []
        self.sent: list[tuple[str, float]] = []

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        self.begun.append((inhabitant.name, now_us / SECOND_US))

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        del send, end_us
        self.sent.append((inhabitant.name, begin_us / SECOND_US))

    def sent_between(self, name: str, low_s: float, high_s: float) -> int:
        return sum(who == name and low_s <= at_s < high_s for who, at_s in self.sent)


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def world(diary: Diary) -> World:
    made = World(1, lambda chance: SimulatedMedium(MediumOptions(), chance), watchers=[diary])
    for number in range(3):
        made.add(f"n{number}")
    return made


def agree(world: World) -> bool:
    return world.run(
        lambda: world.agreed() and all(len(each.node.feeds()) == 3 for each in world.inhabitants.values()),
        30 * MINUTE_US,
    )


def is_up(world: World, name: str) -> bool:
    return world.inhabitants[name].up


def entries_of(world: World, holder: str, author: str) -> int:
    records = world.inhabitants[holder].node.feeds()
    return next((record.seq for record in records if record.feed == world.inhabitants[author].feed), 0)


def test_a_cut_lasts_from_its_beginning_to_its_end(world: World) -> None:
    assert agree(world)
    begin_s = world.now_us / SECOND_US
    Partition(left=("n0",), right=("n1-n2",), at_s=begin_s + 10, until_s=begin_s + 100).schedule(world)
    world.run_for(9 * SECOND_US)
    world.inject("n0", b"in time")
    world.run_for(2 * SECOND_US)
    world.inject("n0", b"to nobody")
    world.run_for(88 * SECOND_US)
    assert entries_of(world, "n1", "n0") == 1
    world.run_for(2 * SECOND_US)
    assert agree(world)
    assert entries_of(world, "n1", "n0") == 2


def test_a_crashed_node_says_nothing_and_comes_back_with_all_it_held(world: World, diary: Diary) -> None:
    assert agree(world)
    world.inject("n0", b"kept" * 50)
    assert agree(world)
    at_s = world.now_us / SECOND_US + 1
    NodeCrash(nodes=("n0",), at_s=at_s, down_s=300).schedule(world)
    world.run_for(2 * SECOND_US)
    assert not is_up(world, "n0")
    assert not world.inject("n0", b"by nobody")
    world.inject("n1", b"missed")
    world.run_for(290 * SECOND_US)
    assert diary.sent_between("n0", at_s, at_s + 300) == 0
    world.run_for(20 * SECOND_US)
    name, begun_s = diary.begun[-1]
    assert name == "n0"
    assert begun_s == pytest.approx(at_s + 300)
    assert world.inhabitants["n0"].boot == 2
    assert entries_of(world, "n0", "n0") == 1
    assert agree(world)
    assert entries_of(world, "n0", "n1") == 1
    assert world.inject("n0", b"again")


def test_a_torn_crash_loses_what_was_not_committed_and_nobody_was_told_of_it(world: World) -> None:
    assert agree(world)
    NodeCrash(nodes=("n0",), at_s=world.now_us / SECOND_US, down_s=60, torn=True).schedule(world)
    world.run_for(1)
    assert is_up(world, "n0")
    assert not world.inject("n0", b"lost")
    assert not is_up(world, "n0")
    assert world.inhabitants["n0"].store.last_arrival() == 0
    assert not any(isinstance(event, EntryAppended) for event in world.inhabitants["n0"].events)
    world.run_for(61 * SECOND_US)
    assert world.inject("n0", b"in its place")
    assert agree(world)
    assert entries_of(world, "n2", "n0") == 1


def test_a_brown_out_ends_a_packet_in_the_middle(world: World, diary: Diary) -> None:
    assert agree(world)
    at_s = world.now_us / SECOND_US
    BrownOut(nodes=("n0",), at_s=at_s, down_s=60).schedule(world)
    world.run_for(1)
    heard = sum(isinstance(event, PacketReceived) for event in world.inhabitants["n1"].events)
    world.inject("n0", b"half of it")
    world.run(lambda: not world.inhabitants["n0"].up, MINUTE_US)
    sender, begun_s = diary.sent[-1]
    assert sender == "n0"
    assert 0.02 < world.now_us / SECOND_US - begun_s < 0.15
    world.run_for(SECOND_US // 2)
    assert sum(isinstance(event, PacketReceived) for event in world.inhabitants["n1"].events) == heard
    assert entries_of(world, "n0", "n0") == 1  # it was on the disk before it was on the air
    world.run_for(2 * MINUTE_US)
    assert agree(world)
    assert entries_of(world, "n1", "n0") == 1


def test_a_radio_that_hangs_neither_sends_nor_hears(world: World, diary: Diary) -> None:
    assert agree(world)
    at_s = world.now_us / SECOND_US
    RadioHang(nodes=("n0",), at_s=at_s, for_s=100).schedule(world)
    world.run_for(1)
    world.inject("n0", b"waits")
    world.inject("n1", b"unheard")
    world.run_for(99 * SECOND_US)
    assert diary.sent_between("n0", at_s, at_s + 100) == 0
    assert entries_of(world, "n0", "n1") == 0
    assert agree(world)
    assert entries_of(world, "n1", "n0") == 1


def test_clocks_jump_and_nothing_but_the_records_shows_it(world: World) -> None:
    ClockJump(nodes=("n0",), at_s=10, step_s=-3_600).schedule(world)
    ClockJump(nodes=("n1",), at_s=10).schedule(world)
    assert agree(world)
    world.run_for(10 * SECOND_US)
    steps = {
        name: [event.step_us for event in world.inhabitants[name].events if isinstance(event, ClockSet)]
        for name in ("n0", "n1", "n2")
    }
    assert steps == {"n0": [-3_600 * SECOND_US], "n1": [-EPOCH_US - 10 * SECOND_US], "n2": []}
    world.inject("n1", b"in 1970")
    stored = world.inhabitants["n1"].store.entry(world.inhabitants["n1"].feed, 1)
    assert stored is not None
    assert stored.committed_us < 3_600 * SECOND_US


def test_latecomers_come_late(world: World, diary: Diary) -> None:
    LateStart(nodes=("n2",), at_s=500).schedule(world)
    world.run_for(499 * SECOND_US)
    assert diary.sent_between("n2", 1, 499) == 0
    assert agree(world)
    assert diary.begun[-1] == ("n2", 500.0)


def test_churn_ends_with_everybody_there(world: World, diary: Diary) -> None:
    churn = Churn(nodes=("n0-n1",), at_s=10, until_s=4_000, up_s=300, down_s=100)
    churn.schedule(world)
    world.run_for(4_001 * SECOND_US)
    assert all(inhabitant.up for inhabitant in world.inhabitants.values())
    absences = [name for name, at_s in diary.begun if at_s]
    assert 10 < len(absences) < 50
    assert set(absences) == {"n0", "n1"}
    assert max(at_s for _, at_s in diary.begun) <= 4_000
    assert agree(world)


def test_streams_end_with_a_node_and_come_back_with_it() -> None:
    world = World(2)
    world.add("n0")
    world.add("n1")
    world.connect("n0", "n1", latency_us=1_000, jitter_us=50_000)
    world.inject("n1", b"x" * 900)
    world.run_for(SECOND_US // 50)
    world.crash("n0", 10 * SECOND_US)
    assert len(world.inhabitants["n1"].node.faces()) == 0  # type: ignore[union-attr]  # no board
    world.run_for(11 * SECOND_US)
    assert world.run(world.agreed, MINUTE_US)
    assert entries_of(world, "n0", "n1") == 1


def test_packets_that_overtake_each_other_on_a_stream_arrive_all_the_same() -> None:
    world = World(3)
    world.add("n0")
    world.add("n1")
    world.connect("n0", "n1", latency_us=1_000, jitter_us=500_000)
    for number in range(50):
        world.inject("n0", random.Random(number).randbytes(400))
    world.run_for(SECOND_US)
    assert world.run(world.agreed, 5 * MINUTE_US)


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: Partition(left=("n0",), right=("n0-n2",), until_s=1), "right"),
        (lambda: Partition(left=("n0",), right=("n1",), at_s=2, until_s=1), "until_s"),
        (lambda: Partition(left=("ana",), right=("n1",), until_s=1), "left"),
        (lambda: NodeCrash(nodes=("n3-n1",), at_s=1), "nodes"),
        (lambda: NodeCrash(nodes=("n1",), at_s=-1), "at_s"),
        (lambda: RadioHang(nodes=("n1",), at_s=1, for_s=-1), "for_s"),
        (lambda: LyingDisk(nodes=("n1",), at_s=2, until_s=1), "until_s"),
        (lambda: LyingDisk(nodes=("n1",), at_s=1, until_s=2, down_s=1e9), "down_s"),
        (lambda: ClockJump(nodes=("n1",), at_s=1, step_s=1e12), "step_s"),
        (lambda: Churn(nodes=("n1",), until_s=1, up_s=0), "up_s"),
        (lambda: LateStart(nodes=("n999",), at_s=1), "nodes"),
    ],
)
def test_faults_that_cannot_be(make, key) -> None:
    with pytest.raises(SimulationOptionError) as error:
        make()
    assert error.value.key == key


def test_a_link_of_its_own_stays_when_a_node_comes_back() -> None:
    world = World(4, lambda chance: SimulatedMedium(MediumOptions(default_rssi_dbm=None), chance))
    world.add("n0")
    world.add("n1")
    assert world.medium is not None
    world.medium.set_link("n0", "n1", LinkQuality(-90.0, 0.0))
    world.crash("n0", SECOND_US)
    assert world.medium.link("n0", "n1") == LinkQuality(-90.0, 0.0)
    world.run_for(2 * SECOND_US)
    assert world.run(world.agreed, 10 * MINUTE_US)
