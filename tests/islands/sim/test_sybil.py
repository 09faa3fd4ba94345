"""A thousand made-up ids, named as fast as a face allows: they leave again, and keep nobody out."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from tests.islands.sim.test_strangers import DUTY, HONEST, HOUR_US, SECOND_US, Stranger, settle_here
from tests.nodes import radio_profile
from tinyssb_node import limits
from tinyssb_node.codec.events import Send
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.limits import CLAIMS_AT_ONCE
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World

IDS = [FeedId(random.Random(number).randbytes(limits.FEED_ID_SIZE)) for number in range(1_000)]


class Sybil(Stranger):
    """Names a thousand ids, again and again, until told to be silent."""

    def __init__(self, every_us: int) -> None:
        super().__init__(every_us)
        self._turn = 0

    def be_silent(self) -> None:
        self._faces = []

    def _id(self) -> FeedId:
        self._turn += 1
        return IDS[self._turn % len(IDS)]


def on_air(stranger: Stranger) -> World:
    world = World(
        1,
        lambda chance: SimulatedMedium(MediumOptions(), chance),
        allowance=DUTY,
        admission=Admission,
        keep_events=False,
    )
    for name in HONEST:
        world.add(name)
    settle_here(world, stranger)
    world.switch_on_air("mallory")
    return world


def on_wires(stranger: Stranger) -> World:
    world = World(1, admission=Admission, keep_events=False)
    for name in HONEST:
        world.add(name, on_air=False)
    for left, right in pairwise(HONEST):
        world.connect(left, right)
    settle_here(world, stranger)
    world.connect("mallory", "n1")
    return world


def set_of(world: World, name: str) -> set[FeedId]:
    return {record.feed for record in world.inhabitants[name].node.feeds() if record.in_set}


@pytest.mark.parametrize(
    ("make", "every_us"),
    [pytest.param(on_air, SECOND_US // 2, marks=pytest.mark.slow), (on_wires, SECOND_US // 10)],
)
def test_nobody_is_kept_out_for_an_hour_and_sets_agree_when_it_ends(
    make: Callable[[Stranger], World], every_us: int
) -> None:
    stranger = Sybil(every_us)
    world = make(stranger)
    junk = set(IDS)
    world.run_for(HOUR_US // 4)
    most = max(len(set_of(world, name) & junk) for name in HONEST)
    assert most == 0 if make is on_air else most > 64, "on a wire the attack works"
    world.run_for(HOUR_US * 3 // 4)
    # A newcomer, who has an entry, in reach of some.
    world.add("late", on_air=make is on_air)
    if make is on_wires:
        world.connect("late", "n3")
    assert world.inject("late", b"hello")
    late = world.inhabitants["late"].feed
    assert world.run(lambda: all(late in set_of(world, name) for name in HONEST), HOUR_US)
    assert world.run(lambda: all(_held(world, name, late) for name in HONEST), HOUR_US)
    assert max(len(set_of(world, name)) for name in HONEST) < limits.SET_MAX, "it never fills"
    stranger.be_silent()
    world.run_for(HOUR_US * 3 // 2)
    names = (*HONEST, "late")
    assert len({frozenset(set_of(world, name)) for name in names}) == 1, "they agree"
    assert len(set_of(world, "late") & junk) <= 16


def _held(world: World, name: str, feed: FeedId) -> bool:
    return any(record.feed == feed and record.seq for record in world.inhabitants[name].node.feeds())


class Claims(SimulationWatcher):
    """Counts the claims of each node."""

    def __init__(self) -> None:
        self.sent: Counter[str] = Counter()

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        del begin_us, end_us
        self.sent[inhabitant.name] += send.kind is PacketKind.CLAIM


def test_a_board_that_keeps_made_up_ids_gets_a_claim_in_an_interval() -> None:
    watcher, stranger = Claims(), Sybil(SECOND_US)
    world = World(
        1,
        lambda chance: SimulatedMedium(MediumOptions(), chance),
        admission=Admission,
        watchers=[watcher],
        keep_events=False,
    )
    for name in HONEST[:2]:
        world.add(name)
    world.add("board", board=True)
    settle_here(world, stranger)
    world.switch_on_air("mallory")
    world.run_for(HOUR_US // 12)
    stranger.be_silent()
    world.run_for(HOUR_US)
    watcher.sent.clear()
    world.run_for(2 * HOUR_US)
    assert set_of(world, "board") - set_of(world, "n0"), "they can never agree"
    intervals = 2 * HOUR_US // radio_profile().advert_max_us
    assert max(watcher.sent[name] for name in HONEST[:2]) <= 1.1 * intervals + CLAIMS_AT_ONCE
