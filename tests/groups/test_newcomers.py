"""The cost of adding a person to a group of many epochs."""

import pytest

from tests.groups.mesh import begun


@pytest.mark.parametrize("epochs", [1, 8, 65])
def test_a_newcomer_costs_four_packets_however_many_epochs_there_are(epochs: int) -> None:
    mesh, root = begun("abc", "de", star=True)
    for _ in range(epochs - 1):
        mesh.exclude("a", root, "c")
        mesh.add("a", root, "c")
    mesh.say("b", root, "before")
    mesh.settle()
    cost = mesh["a"].cost_of_adding(root, [mesh.id("d")], None)
    assert (cost.messages, cost.packets) == (1, 4)
    mesh.add("a", root, "d")
    mesh.settle()
    mesh.say("b", root, "after")
    mesh.settle()
    assert mesh.texts("d", root) == ["before", "after"]
    assert len(mesh.group("d", root).view.epochs) == epochs
    assert mesh["d"].cost_of_adding(root, [mesh.id("e")], None).packets <= 4 + 2, (
        "and a feed of additions for d"
    )
