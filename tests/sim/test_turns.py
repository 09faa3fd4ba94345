"""Stations that do not hear each other, around one that hears them all: one of them is asked, and it alone answers."""

from collections.abc import Callable, Sequence

import pytest

from tests.nodes import key_of, written
from tinyssb_node import limits
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.codec.packets import Want, parse_want
from tinyssb_node.ids import Dialect, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.sim.deployed_board import DeployedBoard
from tinyssb_node.sim.links import LinkQuality
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World

MINUTE_US = 60_000_000
WRITER = key_of("writer")
TEXTS = [b"entry %d" % number for number in range(1, 61)]
ENTRIES = written(WRITER, TEXTS)
FOR_BOARDS = written(WRITER, TEXTS, Dialect.DEPLOYED)
SEEDS = range(1, 6)
GIVEN = {PacketKind.ENTRY, PacketKind.CODED}


class Turns(SimulationWatcher):
    """Packets on the air with their senders, in order."""

    def __init__(self) -> None:
        self.said: list[tuple[str, PacketKind, bytes]] = []
        self.names: dict[bytes, str] = {}

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        del begin_us, end_us
        self.said.append((inhabitant.name, send.kind, send.packet))
        if send.kind is PacketKind.WANT and (speaker := parse_want(send.packet).speaker):
            self.names[speaker] = inhabitant.name

    def wants(self, name: str) -> list[Want]:
        return [
            parse_want(packet) for who, kind, packet in self.said if (who, kind) == (name, PacketKind.WANT)
        ]

    def asked(self, name: str) -> list[str]:
        """Return the addressees of a station's WANTs, one after the other; nobody is left out."""
        return [self.names[want.asks] for want in self.wants(name) if want.asks]

    def entries(self, name: str) -> int:
        return sum(who == name and kind in GIVEN for who, kind, _ in self.said)

    def answers(self, name: str) -> list[tuple[str, str]]:
        """Return the stations asked, each with the station that sent an entry before it sent something else."""
        asked, answers = "", []
        for who, kind, packet in self.said:
            if kind is PacketKind.WANT:
                asks = parse_want(packet).asks
                asked = self.names.get(asks, "") if who == name else ""
            elif kind in GIVEN and asked:
                answers.append((asked, who))
        return answers


def importing(packet: bytes) -> Callable[[Node | DeployedBoard, int], Sequence[Effect]]:
    """Return the deed of a user who imports an entry from a file."""

    def deed(node: Node | DeployedBoard, now_us: int) -> Sequence[Effect]:
        assert isinstance(node, Node)
        return node.import_packet(packet, now_us)[1]

    return deed


def star(seed: int, turns: Turns, *, around: int = 2, board: bool = False) -> World:
    """Stations that hold a feed, and one in the middle that lacks it; those around do not hear each other."""
    world = World(
        seed,
        lambda chance: SimulatedMedium(MediumOptions(default_rssi_dbm=None), chance),
        watchers=[turns],
        keep_events=False,
    )
    world.add("middle", on_air=False, board=board)
    for number in range(around):
        world.add(f"n{number}", on_air=False)
    world.acquaint()
    for name in world.inhabitants:
        world.follow(name, WRITER.feed_id)
        if name != "middle":
            for entry in FOR_BOARDS if board else ENTRIES:
                world.act(name, importing(entry.packet))
    for name in world.inhabitants:
        world.switch_on_air(name)
        if name != "middle":
            _medium(world).set_link("middle", name, LinkQuality(rssi_dbm=-80.0, loss=0.0))
    return world


def _medium(world: World) -> SimulatedMedium:
    assert world.medium is not None
    return world.medium


def holds(world: World, name: str, count: int = len(ENTRIES)) -> Callable[[], bool]:
    store = world.inhabitants[name].store
    return lambda: store.entry(WRITER.feed_id, count) is not None


@pytest.mark.parametrize("seed", SEEDS)
def test_of_two_that_do_not_hear_each_other_one_is_asked_and_answers_alone(seed: int) -> None:
    turns = Turns()
    world = star(seed, turns)
    assert world.run(holds(world, "middle"), 10 * MINUTE_US)
    answers = turns.answers("middle")
    assert len(answers) > len(ENTRIES) // 2
    assert {asked for asked, who in answers if asked != who} == set()
    assert turns.entries("n0") + turns.entries("n1") <= 1.45 * len(ENTRIES)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_asked_gives_a_row(seed: int) -> None:
    turns = Turns()
    world = star(seed, turns, around=1)
    assert world.run(holds(world, "middle"), 10 * MINUTE_US)
    rows = len(turns.asked("middle"))
    assert rows > 0
    assert len(turns.answers("middle")) > 0.8 * limits.FLOOR_PACKETS * rows
    assert turns.entries("n0") <= 1.1 * len(ENTRIES)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_is_gone_is_forgotten_and_another_is_asked(seed: int) -> None:
    turns = Turns()
    world = star(seed, turns)
    assert world.run(lambda: bool(turns.asked("middle")), 10 * MINUTE_US)
    (gone,) = set(turns.asked("middle"))
    _medium(world).cut(["middle"], [gone])
    assert world.run(holds(world, "middle"), 20 * MINUTE_US)
    (other,) = {"n0", "n1"} - {gone}
    asked = turns.asked("middle")
    assert other in asked
    # Once more at most, for the turn in which it went.
    assert asked.count(gone) <= 2 + turns.entries(gone) // limits.FLOOR_PACKETS


@pytest.mark.parametrize("seed", SEEDS)
def test_a_deployed_board_is_given_what_it_asks_for(seed: int) -> None:
    turns = Turns()
    world = star(seed, turns, around=1, board=True)
    assert world.run(holds(world, "middle"), 20 * MINUTE_US)
    assert turns.wants("middle")
    assert {(want.speaker, want.asks) for want in turns.wants("middle")} == {(b"", b"")}
