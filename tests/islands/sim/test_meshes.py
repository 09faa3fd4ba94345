"""Islands of radio with a gateway each: what crosses the internet between them, and what that costs their air."""

from collections.abc import Sequence

import pytest

from tests.islands.sim.busy_shelf import ISLAND, play
from tests.islands.sim.meshes import InternetLink, SimulatedGateway
from tests.nodes import key_of
from tinyssb_node import limits
from tinyssb_node.codec.events import Effect
from tinyssb_node.gossip.admission import Admission, AdmissionPolicy
from tinyssb_node.ids import FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.sim.checkers import AirtimeLaw, DutyCycleChecker, FeedChecker
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.traffic import content
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
DUTY = Allowance(band="g1", limit_us=36 * SECOND_US, window_us=HOUR_US)
EAST, WEST = ("e0", "e1", "e2"), ("w0", "w1", "w2")


class TwoIslands:
    """Three nodes and a gateway on either side."""

    def __init__(self, seed: int = 1) -> None:
        everybody = (*EAST, "ge", *WEST, "gw")
        self.world = world = World(
            seed,
            lambda chance: SimulatedMedium(MediumOptions(), chance),
            allowance=DUTY,
            admission=Admission,
            watchers=[
                DutyCycleChecker(dict.fromkeys(everybody, AirtimeLaw(most_us=DUTY.limit_us))),
                FeedChecker(),
            ],
            keep_events=False,
        )
        for name in (*EAST, *WEST):
            world.add(name)
        self.east, self.west = SimulatedGateway(world, "ge"), SimulatedGateway(world, "gw")
        world.cut((*EAST, "ge"), (*WEST, "gw"))
        self.links = 0

    def feed(self, name: str) -> FeedId:
        return self.world.inhabitants[name].feed

    def seq(self, name: str, feed: FeedId) -> int:
        held = {record.feed: record for record in self.world.inhabitants[name].node.feeds()}
        return held[feed].seq if feed in held else -1

    def follow(self, name: str, other: str, *, pending: bool = False) -> None:
        feed = self.feed(other)

        def follow(node: Node | DeployedBoard, now_us: int) -> Sequence[Effect]:
            assert isinstance(node, Node)
            return node.follow(feed, now_us, pending=pending)

        self.world.act(name, follow)

    def link(self) -> InternetLink:
        self.links += 1
        return InternetLink(self.world, self.east, self.west, number=self.links)

    def chains_open(self) -> int:
        return sum(one.node.side_chains_open() for one in self.world.inhabitants.values())


@pytest.mark.parametrize("pending", [False, True])
def test_what_somebody_follows_crosses_within_seconds_and_nothing_else(pending: bool) -> None:
    islands = TwoIslands()
    world = islands.world
    islands.follow("w1", "e1", pending=pending)
    islands.follow("e2", "w2", pending=pending)
    world.run_for(600 * SECOND_US)
    assert islands.seq("gw", islands.feed("e1")) == 0, "its gateway knows that somebody wants it"
    world.inject("e1", b"before")
    world.inject("e0", b"for nobody over there")
    world.run_for(60 * SECOND_US)
    link = islands.link()
    begun_us = world.now_us
    assert world.run(lambda: islands.seq("gw", islands.feed("e1")) == 1, 5 * SECOND_US)
    world.inject("w2", b"a message over the internet, and longer than one entry " * 3)
    sent_us = world.now_us
    assert world.run(lambda: islands.seq("gw", islands.feed("w2")) == 1, 10 * SECOND_US), "by its own radio"
    assert world.run(lambda: islands.seq("ge", islands.feed("w2")) == 1, 5 * SECOND_US)
    assert world.run(lambda: islands.seq("e2", islands.feed("w2")) == 1, 60 * SECOND_US)
    assert world.run(lambda: islands.seq("w1", islands.feed("e1")) == 1, 60 * SECOND_US)
    assert world.run(lambda: not islands.chains_open(), 120 * SECOND_US)
    assert world.now_us > sent_us > begun_us
    assert islands.seq("gw", islands.feed("e0")) == islands.seq("w1", islands.feed("e0")) == -1
    assert link.broken == []


def test_after_a_day_apart_all_that_is_wanted_crosses_and_hardly_a_byte_more() -> None:
    islands = TwoIslands(2)
    world = islands.world
    for west, east in zip(WEST, EAST, strict=True):
        islands.follow(west, east)
        islands.follow(east, west)
    world.run_for(1_800 * SECOND_US)
    first = islands.link()
    for name in (*EAST, *WEST):
        world.inject(name, b"hello from " + name.encode())
    wanted = [
        *((one, other) for one in EAST for other in WEST),
        *((one, other) for one in WEST for other in EAST),
    ]
    assert world.run(
        lambda: all(islands.seq(one, islands.feed(other)) == 1 for one, other in wanted), HOUR_US
    )
    first.cut()
    for hour in range(24):
        for name in (*EAST, *WEST):
            world.inject(name, content(name, hour, 150 if hour % 6 == 0 else 40))
        world.run_for(HOUR_US)
    assert {islands.seq(one, islands.feed(other)) for one, other in wanted} == {1}
    second = islands.link()
    done = lambda: all(islands.seq(one, islands.feed(other)) == 25 for one, other in wanted)  # noqa: E731 - asked twice
    assert world.run(done, 3 * HOUR_US)
    assert world.run(lambda: not islands.chains_open(), HOUR_US)
    assert second.given == 2 * 3 * (24 + 4 * 2), "each packet once"
    assert second.sent_bytes <= 1.1 * second.given * limits.PACKET_SIZE
    assert second.broken == []


def test_what_a_gateway_fetches_besides_costs_the_island_no_airtime() -> None:
    alone, beside = play(4, 4, 1.0), play(80, 4, 1.0)
    assert beside.shelved == 76
    assert beside.brought > 15 * alone.brought
    assert beside.airtime_us <= 1.15 * alone.airtime_us
    assert (alone.complete, beside.complete) == (True, True)
    assert beside.arrived >= 0.8 * beside.wanted * len(ISLAND)


def island_beside_a_hub(across: AdmissionPolicy) -> World:
    """Four nodes on the air, one of them on a wire to somebody with 40 feeds; after a quarter of an hour."""
    world = World(
        1,
        lambda chance: SimulatedMedium(MediumOptions(), chance),
        allowance=DUTY,
        admission=lambda: Admission(across=across),
        keep_events=False,
    )
    for name in (*EAST, "gate"):
        world.add(name)
    world.add("hub", on_air=False)
    for number in range(40):
        world.follow("hub", key_of(f"far {number}").feed_id)
    world.connect("gate", "hub")
    world.run_for(HOUR_US // 4)
    return world


def test_what_is_named_on_a_wire_takes_no_airtime_where_the_gateway_says_so() -> None:
    shut, ajar = island_beside_a_hub(AdmissionPolicy.INVITE), island_beside_a_hub(AdmissionPolicy.OPEN)
    assert [len(shut.inhabitants[name].node.feeds()) for name in (*EAST, "gate")] == [4] * 4
    assert [len(ajar.inhabitants[name].node.feeds()) for name in (*EAST, "gate")] == [45] * 4
    assert shut.airtime_us < ajar.airtime_us / 2
    wanted = key_of("far 7").feed_id
    shut.follow("e1", wanted)
    assert shut.run(
        lambda: wanted in {record.feed for record in shut.inhabitants["gate"].node.feeds()}, HOUR_US
    )
