"""`python -m tests.groups.ages`: a group of 20 on real nodes over 12 epochs, in all of which everybody writes.

Those are 240 feeds of epochs, beside 20 main feeds and feeds of additions; 255 fit in a set. Feeds end an hour after
the epoch behind theirs begins, and leave the set. Somebody is away for the second half, comes back, and reads it all.
"""

from dataclasses import dataclass
from random import Random

from tests.groups.live import Country
from tests.groups.mesh import HOUR_US, MINUTE_US
from tinyssb_node import limits
from tinyssb_node.ids import FeedId, MessageId

MEMBERS = "abcdefghijklmnopqrst"
EPOCHS = 12


@dataclass(frozen=True, slots=True)
class Aged:
    """The result of playing a group for a long time."""

    mesh: Country
    root: MessageId
    said: frozenset[str]
    """All that was written."""
    away: str
    """The person who was away for the second half."""
    largest: int
    """Most feeds that were in anybody's set until they came back."""
    largest_back: int
    """And since."""

    def sets(self) -> set[frozenset[FeedId]]:
        """The sets of all members."""
        return {
            frozenset(record.feed for record in self.mesh.records(name) if record.in_set)
            for name in self.mesh.world.inhabitants
        }

    def feeds(self) -> set[FeedId]:
        """All feeds there are."""
        return {record.feed for each in self.mesh.world.inhabitants.values() for record in each.node.feeds()}


def grow_old(members: str, epochs: int) -> Aged:
    """Let *members* exclude one of them, and add them again, once an epoch; three hours each."""
    chance, away, here = Random(1), members[-1], members
    mesh = Country(members, star=True)
    root = mesh.create(members[0])
    for at in range(1, len(members), limits.GROUP_ADD_MAX):
        mesh.add(members[0], root, members[at : at + limits.GROUP_ADD_MAX])
    largest, said = [0], set()

    def settle(halves: int) -> None:
        for _ in range(halves):
            mesh.settle(HOUR_US // 2)
            largest[-1] = max(largest[-1], *(len(mesh.records(name)) for name in members))

    for epoch in range(epochs):
        if epoch == epochs // 2:
            here = members[:-1]
        mesh.plant(chance, here, *([] if away in here else [away]))
        mesh.settle(10 * MINUTE_US)
        if epoch:
            by, whom, again = chance.sample(members[:-1], 3)
            mesh.exclude(by, root, whom)
            mesh.settle(10 * MINUTE_US)
            mesh.add(again, root, whom)
            mesh.settle(10 * MINUTE_US)
        for name in here:
            mesh.say(name, root, f"{name} in {epoch}")
            said.add(f"{name} in {epoch}")
        settle(5)
    mesh.plant(chance, members)
    mesh.settle(10 * MINUTE_US)
    largest.append(0)
    settle(12)
    return Aged(mesh, root, frozenset(said), away, *largest)


def check(aged: Aged, members: str, epochs: int) -> None:
    """Raises AssertionError if anybody lacks anything, or a set was full."""
    mesh, root = aged.mesh, aged.root
    for name in members:
        assert mesh.members(name, root) == members
        assert len(mesh.group(name, root).view.epochs) == epochs
        assert set(mesh.texts(name, root)) == aged.said, name
        assert not mesh[name].problems
    assert len(aged.sets()) == 1, "sets differ"
    assert max(aged.largest, aged.largest_back) < limits.SET_MAX, "a set was full"


def main() -> None:
    """Play it, and say what it took."""
    aged = grow_old(MEMBERS, EPOCHS)
    check(aged, MEMBERS, EPOCHS)
    print(
        f"{len(aged.feeds())} feeds; {aged.largest} at once in a set, {aged.largest_back} when somebody came back "
        f"who was away for {EPOCHS // 2} epochs, {len(aged.sets().pop())} in the end; "
        f"all {len(aged.said)} posts are read."
    )


if __name__ == "__main__":
    main()
