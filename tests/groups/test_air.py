"""The cost of an exclusion on the air, and the time until all others know."""

from random import Random

from firmware_bridge.regions import Region
from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh
from tinyssb_node.codec.events import Send
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.options import RadioOptions
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import World

MEMBERS = "abcdefghijklmnop"
PACKETS_MAX = 16
"""Most packets of excluding one of 16."""


class Sendings(SimulationWatcher):
    """Entries and chunks that nodes sent, and when."""

    def __init__(self) -> None:
        self.first: dict[bytes, str] = {}
        """The first sender of each packet."""
        self.all = 0

    def sending(self, inhabitant: SimulatedNode, send: Send, *_: int) -> None:
        """See ``SimulationWatcher``."""
        if send.kind in {PacketKind.ENTRY, PacketKind.CHUNK}:
            self.first.setdefault(send.packet, inhabitant.name)
            self.all += 1


class OnAir(Mesh):
    """Nodes that all hear each other, under the law of EU868, with the simulator's usual settings."""

    def __init__(self, names: str, seed: int) -> None:
        self.sendings = Sendings()

        def medium(chance: Random) -> SimulatedMedium:
            return SimulatedMedium(MediumOptions(), chance)

        law = RadioOptions(region=Region.EU868).allowance
        self.world = World(seed, medium, allowance=law, watchers=[self.sendings])
        self.cables = set()
        self._keys: dict[str, GroupKeys] = {}
        for name in names:
            self.world.add(name)
        self.world.acquaint()


def test_excluding_one_of_sixteen_takes_sixteen_packets_and_seconds() -> None:
    mesh = OnAir(MEMBERS, 1)
    mesh.settle(10 * MINUTE_US)
    root = mesh.create("a")
    mesh.add("a", root, MEMBERS[1:])
    mesh.until(lambda: all(root in mesh[name].reader.groups for name in MEMBERS), 6 * HOUR_US)
    mesh.settle(HOUR_US)
    mesh.sendings.first.clear()
    mesh.sendings.all = 0
    cost = mesh["a"].cost_of_excluding(root, [mesh.id("p")])
    mesh.exclude("a", root, "p")
    remaining = MEMBERS[:-1]
    took_us = mesh.until(
        lambda: {mesh.members(name, root) for name in remaining} == {remaining}, HOUR_US, SECOND_US
    )
    assert len(mesh.sendings.first) == cost.packets <= PACKETS_MAX
    assert set(mesh.sendings.first.values()) == {"a"}
    assert mesh.sendings.all <= cost.packets + 3, "all hear the excluder, and next to nothing is said twice"
    assert took_us < MINUTE_US
