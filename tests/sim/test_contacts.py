"""Packets that crossed in a contact, and the time that they had."""

from dataclasses import replace

import pytest

from tests.nodes import key_of
from tinyssb_node.codec.events import ClockSet
from tinyssb_node.sim.contacts import ContactFigures, ContactWatcher
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
NAMES = ("n0", "n1", "n2")


class Meeting:
    """A visitor, n0, two nodes that hear each other, and a meter of the visitor's contacts."""

    def __init__(self) -> None:
        self.watcher = ContactWatcher(["n0"], NAMES, self._reaches)
        self.world = World(
            1, lambda chance: SimulatedMedium(MediumOptions(), chance), watchers=[self.watcher]
        )
        assert self.world.medium is not None
        self._medium = self.world.medium
        for name in NAMES:
            self.world.add(name, key=key_of(name))
        self.world.cut(["n0"], ["n1", "n2"])

    def _reaches(self, left: str, right: str) -> bool:
        return self._medium.reaches(left, right)

    def publish(self, name: str, count: int) -> None:
        for number in range(count):
            assert self.world.inject(name, b"%d" % number)

    def meet(self, seconds: int) -> ContactFigures:
        self.world.uncut(["n0"], ["n1", "n2"])
        self.world.run_for(seconds * SECOND_US)
        self.world.cut(["n0"], ["n1", "n2"])
        return self.contact()

    def contact(self) -> ContactFigures:
        return self.watcher.figures(lambda _: 200_000, self.world.now_us)["n0"]


@pytest.fixture
def meeting() -> Meeting:
    return Meeting()


def test_each_packet_counts_once_and_both_ways(meeting: Meeting) -> None:
    meeting.publish("n0", 3)
    meeting.publish("n1", 4)
    meeting.world.run_for(600 * SECOND_US)  # n1 and n2 agree
    assert meeting.contact() == ContactFigures(contact_us=0, packets=0, least_us=0)
    contact = meeting.meet(300)
    assert (contact.packets, contact.least_us) == (7, 1_400_000)


def test_time_counts_while_something_is_to_cross(meeting: Meeting) -> None:
    meeting.publish("n0", 3)
    contact = meeting.meet(300)
    assert contact.packets == 3
    assert 3 * 200_000 < contact.contact_us < 200 * SECOND_US
    assert contact.share == contact.least_us / contact.contact_us
    assert meeting.meet(300) == contact


def test_a_contact_too_short_counts_in_full(meeting: Meeting) -> None:
    meeting.publish("n0", 3)
    meeting.meet(0)
    meeting.world.cut(["n1"], ["n2"])
    assert meeting.contact().share == 0
    meeting.world.run_for(600 * SECOND_US)
    assert meeting.contact() == ContactFigures(contact_us=0, packets=0, least_us=0)


def test_other_events_and_meshes_without_visitors_cost_nothing(meeting: Meeting) -> None:
    nobody = ContactWatcher([], NAMES, lambda *_: True)
    nobody.recorded(meeting.world.inhabitants["n0"], ClockSet(step_us=1), 5)
    assert nobody.figures(lambda _: 1, 9) == {}


@pytest.mark.parametrize(("name", "least"), [("mobile", 0.25), ("solar", 0.4)])
def test_contacts_of_the_scenarios_are_used(name: str, least: float) -> None:
    report = run_scenario(build(name))
    assert report.converged
    assert least < report.contacts["n0"].share < 1
    # All that n1 and n2 have came to n0, and all else went from it; some packets end behind a contact's end.
    wanted = {"mobile": report.delivered, "solar": report.messages}[name]
    assert report.contacts["n0"].packets == pytest.approx(wanted, rel=0.02)


def test_nodes_that_stay_have_no_contacts() -> None:
    assert run_scenario(replace(build("domain10", nodes=3), hours=0.1)).contacts == {}
