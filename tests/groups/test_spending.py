"""The budget of what a node writes for a group by itself: members can make it write, within bounds."""

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh, begun
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.manager import GroupBudgetError
from tinyssb_node.groups.spending import GroupSpending
from tinyssb_node.ids import MessageId
from tinyssb_node.node.node import Node

ROOT, OTHER = MessageId(bytes(20)), MessageId(b"\x01" * 20)
BUDGET = 40


def written(mesh: Mesh, name: str) -> int:
    """Return the packets that a person's node wrote."""
    inhabitant = mesh.world.inhabitants[name]
    assert isinstance(inhabitant.node, Node)
    own = [record for record in inhabitant.node.feeds() if record.ours]
    return sum(inhabitant.node.replica.quota.packets.get(record.feed, 0) for record in own)


def inside(mesh: Mesh, name: str, root: MessageId) -> str:
    """Return the people in the epoch that a person prefers, without those excluded from it."""
    view = mesh.group(name, root).view
    epoch = view.preference(mesh.id(name)).epoch
    assert epoch is not None
    return mesh.names(view[epoch].members - view[epoch].excluded)


def fork(mesh: Mesh, root: MessageId) -> None:
    """Let *a* and *b* make forks that *v* has to join, since neither does it in time."""
    mesh.join("abv")
    mesh.settle()
    if lacking := set("st") - set(inside(mesh, "a", root)):
        mesh.add("a", root, "".join(sorted(lacking)))
        mesh.settle()
    mesh.join("v", "a", "b")
    for name, puppet in ("as", "bt"):
        if puppet in inside(mesh, name, root):
            mesh.exclude(name, root, puppet)
    mesh.join("abv")
    mesh.settle(20 * SECOND_US)
    mesh.join("v", "a", "b")
    mesh.settle(31 * MINUTE_US)


def attacked(rounds: int) -> tuple[Mesh, MessageId, int]:
    """A group whose members make *v* begin epochs. Returns what *v* wrote for that."""
    mesh, root = begun("abstv")
    mesh.settle()
    before = written(mesh, "v")
    for _ in range(rounds):
        fork(mesh, root)
    return mesh, root, written(mesh, "v") - before


def test_members_make_a_node_write_no_more_than_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as context:
        context.setattr(group_limits, "UNASKED_PACKETS_A_DAY", 10**6)
        assert attacked(8)[2] > 2 * BUDGET, "the attack works"
    monkeypatch.setattr(group_limits, "UNASKED_PACKETS_A_DAY", BUDGET)
    mesh, root, packets = attacked(8)
    assert 0 < packets <= BUDGET
    assert mesh["v"].spent(root, mesh.world.now_us) == packets
    node = mesh.world.inhabitants["v"].node
    assert isinstance(node, Node)
    assert isinstance(mesh["v"].problems[root], GroupBudgetError)
    assert "groups" in {one.rule for one in node.refusals()}
    # The user's own messages do not wait, and neither does what another group needs.
    mesh.say("v", root, "still here")
    other = mesh.create("v")
    mesh.add("v", other, "a")
    assert mesh["v"].spent(other, mesh.world.now_us) == 0
    assert written(mesh, "v") > BUDGET


def test_what_waited_for_the_budget_is_done_a_day_later_and_a_restart_refills_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_limits, "UNASKED_PACKETS_A_DAY", BUDGET)
    mesh, root, packets = attacked(8)
    mesh.crash("v", 10 * HOUR_US)
    mesh.settle(11 * HOUR_US)
    assert mesh["v"].spent(root, mesh.world.now_us) == packets
    assert written(mesh, "v") < 2 * BUDGET
    assert isinstance(mesh["v"].problems[root], GroupBudgetError)
    mesh.settle(25 * HOUR_US)
    assert root not in mesh["v"].problems
    assert written(mesh, "v") > BUDGET + 1


def test_packets_are_counted_for_a_day_and_for_each_group_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_limits, "UNASKED_PACKETS_A_DAY", 10)
    spending = GroupSpending({})
    assert spending.wait_us(ROOT, 25, 0) == 0, "an operation that takes more than all of it"
    spending.charge(ROOT, 4, 0)
    spending.charge(ROOT, 5, 2 * HOUR_US)
    assert spending.wait_us(ROOT, 1, 3 * HOUR_US) == 0
    assert spending.wait_us(ROOT, 5, 3 * HOUR_US) == 21 * HOUR_US
    assert spending.wait_us(ROOT, 25, 3 * HOUR_US) == 21 * HOUR_US, "half of it is left then"
    spending.charge(ROOT, 3, 3 * HOUR_US)
    assert spending.wait_us(ROOT, 5, 3 * HOUR_US) == 23 * HOUR_US
    spending = GroupSpending({ROOT: [(3 * HOUR_US, 4), (HOUR_US, 5)]})
    assert spending.used(ROOT, 3 * HOUR_US) == 9
    assert spending.wait_us(OTHER, 10, 3 * HOUR_US) == 0
    later = GroupSpending(spending.ago(3 * HOUR_US))
    assert later.used(ROOT, 0) == 9, "another clock, and no time has passed"
    assert later.used(ROOT, 21 * HOUR_US) == 5
    assert later.ago(30 * HOUR_US) == {}


def test_charges_at_about_the_same_time_are_kept_as_one() -> None:
    spending = GroupSpending({})
    for number in range(1_000):
        spending.charge(ROOT, 1, number * MINUTE_US)
    (charges,) = spending.ago(1_000 * MINUTE_US).values()
    assert len(charges) <= 144
    assert spending.used(ROOT, 1_000 * MINUTE_US) == 1_000
