"""Sets of more feeds than one WANT can name."""

from collections.abc import Callable, Sequence

from tests.nodes import Bench, key_of, radio_profile, written
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.events import Effect, WantSeen
from tinyssb_node.codec.packets import Want, parse_want, serialize_want
from tinyssb_node.ids import Direction, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.world import World

FEEDS = 150
HOUR_US = 3_600_000_000


def importing(packet: bytes) -> Callable[[Node | DeployedBoard, int], Sequence[Effect]]:
    """Return the deed of a user who imports an entry from a file."""

    def deed(node: Node | DeployedBoard, now_us: int) -> Sequence[Effect]:
        assert isinstance(node, Node)
        return node.import_packet(packet, now_us)[1]

    return deed


def a_world(lacking: int) -> World:
    """Two stations with the same set of 150 feeds. One has an entry of each, the other lacks those of the first
    so many."""
    world = World(1, lambda chance: SimulatedMedium(MediumOptions(), chance))
    keys = [key_of(f"writer {number}") for number in range(FEEDS)]
    for name in ("full", "lacking"):
        world.add(name, on_air=False)
        for key in keys:
            world.follow(name, key.feed_id)
    for number, key in enumerate(keys):
        (entry,) = written(key, [b"a word"])
        for name in ("full", *(("lacking",) if number >= lacking else ())):
            world.act(name, importing(entry.packet))
    world.acquaint()
    for name in ("full", "lacking"):
        world.switch_on_air(name)
    return world


def said(world: World, name: str) -> list[WantSeen]:
    events = world.inhabitants[name].events
    return [event for event in events if isinstance(event, WantSeen) and event.direction is Direction.TX]


def test_a_set_of_several_wants_comes_together() -> None:
    world = a_world(lacking=FEEDS)
    assert world.run(world.agreed, HOUR_US)


def test_the_whole_set_is_told_again_and_again() -> None:
    world = a_world(lacking=0)
    world.run_for(HOUR_US)
    wants = [want for name in ("full", "lacking") for want in said(world, name)]
    size = FEEDS + 2
    told = [(want.offset_index + number) % size for want in wants for number in range(len(want.seqs))]
    rounds = sum(len(want.seqs) for want in wants) / size
    assert rounds > 10
    for index in range(size):
        # Every second WANT goes round: each feed is named at least that often, give or take the round under way.
        assert told.count(index) >= rounds / 2 - 2


def test_every_second_want_jumps_to_where_somebody_has_something() -> None:
    bench = Bench(profile=radio_profile())
    for number in range(FEEDS):
        bench.perform(bench.node.follow(key_of(f"writer {number}").feed_id, bench.now_us))
    size = len(bench.node.feeds())
    dmx = want_dmx(Network(), bench.node.set_state)
    bench.take()

    told: list[Want] = []
    for _ in range(60):
        bench.hear(serialize_want(dmx, Want(offset=100, seqs=(2,), speaker=b"me")))
        bench.pass_time(radio_profile().advert_max_us)
        told += [parse_want(packet) for packet in bench.take(PacketKind.WANT)]
    # Who does not answer is forgotten until it speaks again, so that some WANTs have nowhere to jump to.
    assert [want.offset for want in told].count(100) >= 60
    going_round = [want for want in told if want.offset != 100]
    ends = [(want.offset + len(want.seqs)) % size for want in going_round]
    assert [want.offset for want in going_round[:10]] == [0, *ends[:9]]
