"""Neighbours end with the same set in whatever order ids came and left (decision 0070)."""

import random

import pytest

from tests.meshes import HOUR_US, Mesh
from tests.nodes import feed_of, key_of, packets_of, radio_profile, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, Novelty, serialize_feeds, serialize_novelty
from tinyssb_node.gossip.admission import Admission, AdmissionPolicy
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import WIRED, stream_profile

DMX = Network().goset_dmx
STRANGER = FaceName("stranger")
WRITERS = [key_of(f"writer {number}") for number in range(12)]
NAMES = "abc"


class Histories(Mesh):
    """Nodes each of which meets strangers of its own."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self.chance = chance
        for name in NAMES:
            member = self.join(name, admission=Admission())
            self.do(name, member.node.face_up(STRANGER, stream_profile(), "stranger", 0))

    def suffer(self) -> None:
        """A stranger names made-up ids to one of them, or an id of a writer, at times with its entry."""
        chance, name = self.chance, self.chance.choice(NAMES)
        what, writer = chance.random(), chance.choice(WRITERS)
        if what < 0.7:
            for _ in range(chance.choice((1, 5, 20))):
                self.hear(name, serialize_novelty(DMX, Novelty(feed_of(chance.randrange(120)))))
        elif what < 0.9:
            if what < 0.8:
                self.hear(name, packets_of(written(writer, [b"one"]))[0])
            self.hear(name, serialize_feeds(DMX, Feeds((writer.feed_id,))))
        self.pass_time(int(chance.random() * HOUR_US / 6))

    def hear(self, name: str, packet: bytes) -> None:
        self.do(name, self[name].node.receive(packet, STRANGER, WIRED, self.now_us))

    def meet(self, *, on_air: bool) -> None:
        if on_air:
            self.radio()
        else:
            self.wire_all()

    def proven(self, name: str) -> set[bytes]:
        """The writers of whom an entry is here."""
        held = self[name].held()
        return {writer.feed_id for writer in WRITERS if held.get(writer.feed_id)}


@pytest.mark.parametrize(("on_air", "most_per_hour"), [(False, 120), (True, 210)])
@pytest.mark.parametrize("seed", [1, 2, 5, 12, 23])
def test_sets_end_the_same_whatever_the_order(seed: int, on_air: bool, most_per_hour: int) -> None:
    chance = random.Random(seed)
    mesh = Histories(chance)
    together = chance.random() < 0.5
    if together:
        mesh.meet(on_air=on_air)
    while mesh.now_us < 2 * HOUR_US:
        mesh.suffer()
    for name in NAMES:
        mesh.do(name, mesh[name].node.face_down(STRANGER, "gone", mesh.now_us))
    proven = set().union(*map(mesh.proven, NAMES))
    if not together:
        mesh.meet(on_air=on_air)
    mesh.pass_time(HOUR_US)
    assert len(mesh.sets()) == 1
    assert all(mesh.proven(name) == proven <= mesh[name].set for name in NAMES)
    before = mesh.sent
    mesh.pass_time(HOUR_US)
    assert len(mesh.sets()) == 1
    assert mesh.sent - before <= most_per_hour, (
        "an advert in five minutes on each wire, one a minute on the air"
    )


@pytest.mark.parametrize("feeds", [3, 40])
def test_on_the_air_sets_that_cannot_be_the_same_are_compared_ever_more_rarely(feeds: int) -> None:
    # Before, two nodes of which one refuses ids sent 36,000 packets of ids an hour.
    mesh = Mesh()
    mesh.join("a", admission=Admission())
    mesh.join("b", admission=Admission(AdmissionPolicy.INVITE))
    for number in range(feeds):
        writer = key_of(f"a's {number}")
        mesh.follow("a", writer.feed_id)
        for packet in packets_of(written(writer, [b"one"])):
            mesh.do("a", mesh["a"].node.import_packet(packet, mesh.now_us)[1])
    mesh.radio()
    mesh.pass_time(HOUR_US)
    intervals = HOUR_US // radio_profile().advert_max_us
    before = mesh.sent
    mesh.pass_time(HOUR_US)
    # Each shows its set and requests by name once in an interval; proofs of each feed come twice an hour.
    assert mesh.sent - before <= 2 * 2 * intervals + 8 * feeds + intervals
