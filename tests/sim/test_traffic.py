"""Traffic: entries, their authors and times."""

from itertools import pairwise

import pytest

from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.traffic import (
    BacklogTraffic,
    FeedIdTraffic,
    PeriodicPostTraffic,
    PostTraffic,
    content,
)
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000


class Editor(SimulationWatcher):
    """Notes who published when, and how much."""

    def __init__(self) -> None:
        self.published: list[tuple[str, int, int]] = []

    def acknowledged(self, inhabitant: SimulatedNode, entry: EntryAppended, now_us: int) -> None:
        self.published.append((inhabitant.name, now_us, entry.size))


@pytest.fixture
def editor() -> Editor:
    return Editor()


@pytest.fixture
def world(editor: Editor) -> World:
    made = World(1, watchers=[editor])
    for number in range(3):
        made.add(f"n{number}")
    return made


def test_a_backlog_is_there_from_the_beginning(world: World, editor: Editor) -> None:
    BacklogTraffic(nodes=("n0", "n2"), entries=2, size=400).schedule(world)
    assert editor.published == [("n0", 0, 400), ("n0", 0, 400), ("n2", 0, 400), ("n2", 0, 400)]


def test_posts_come_every_so_often_within_their_time(world: World, editor: Editor) -> None:
    PeriodicPostTraffic(nodes=("n0-n1",), every_s=100, at_s=1_000, until_s=11_000, size=33).schedule(world)
    world.run_for(20_000 * SECOND_US)
    for name in ("n0", "n1"):
        times = [now_us / SECOND_US for who, now_us, size in editor.published if who == name and size == 33]
        assert 90 <= len(times) <= 110
        assert 1_000 <= times[0] <= 1_100
        assert times[-1] < 11_000
        gaps = [after - before for before, after in pairwise(times)]
        assert 50 <= min(gaps) < 60
        assert 140 < max(gaps) <= 150


def test_one_post_is_one_entry_at_its_time(world: World, editor: Editor) -> None:
    PostTraffic(nodes=("n1-n2",), at_s=7.5, size=10).schedule(world)
    world.run_for(100 * SECOND_US)
    assert editor.published == [("n1", 7_500_000, 10), ("n2", 7_500_000, 10)]


def test_a_node_that_is_off_publishes_nothing(world: World, editor: Editor) -> None:
    PeriodicPostTraffic(nodes=("n0",), every_s=10, until_s=100).schedule(world)
    world.crash("n0", 50 * SECOND_US)
    world.run_for(200 * SECOND_US)
    assert {now_us > 50 * SECOND_US for _, now_us, _ in editor.published} == {True}


def test_numbers_are_the_same_ids_for_all_who_know_them(world: World) -> None:
    FeedIdTraffic(nodes=("n0",), count=5).schedule(world)
    FeedIdTraffic(nodes=("n1",), first=3, count=5).schedule(world)
    known = [{record.feed for record in world.inhabitants[name].node.feeds()} for name in ("n0", "n1")]
    assert [len(feeds) for feeds in known] == [6, 6]
    assert len(known[0] & known[1]) == 2


def test_no_two_contents_have_anything_in_common() -> None:
    contents = [content(name, number, 400) for name in ("n0", "n1") for number in range(50)]
    chunks = {text[at : at + 100] for text in contents for at in range(0, 400, 100)}
    assert len(chunks) == 400
    assert content("n0", 1, 0) == b""


@pytest.mark.parametrize(
    ("make", "key"),
    [
        (lambda: BacklogTraffic(nodes=("n0",), entries=0), "entries"),
        (lambda: BacklogTraffic(nodes=("n0",), entries=1, size=65_537), "size"),
        (lambda: BacklogTraffic(nodes=("ana",), entries=1), "nodes"),
        (lambda: PeriodicPostTraffic(nodes=("n0",), every_s=0.1, until_s=1e6), "every_s"),
        (lambda: PeriodicPostTraffic(nodes=("n0",), every_s=1, at_s=5, until_s=4), "until_s"),
        (lambda: PostTraffic(nodes=("n0",), at_s=-1), "at_s"),
        (lambda: FeedIdTraffic(nodes=("n0",), count=256), "count"),
    ],
)
def test_traffic_that_cannot_be(make, key: str) -> None:
    with pytest.raises(SimulationOptionError) as error:
        make()
    assert error.value.key == key
