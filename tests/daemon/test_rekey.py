"""A set full of junk is left for a fresh one: what is kept, and that it is the old or the new one whatever happens."""

import random
from pathlib import Path

import pytest

from tests.nodes import FACE, feed_of, key_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Effect, Send, SetChanged
from tinyssb_node.daemon.rekey import effective_network, plan_rekey, rekey, set_key_of
from tinyssb_node.errors import StoreDamagedError
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED, stream_profile
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import Store
from tinyssb_node.store.sqlite import SqliteStore

ANA, BEN, EVE = key_of("ana"), key_of("ben"), key_of("eve")
JUNK = [feed_of(number) for number in range(20)]
PATH = Path("store.sqlite")
FRESH = b"a fresh key"
SECOND_US = 1_000_000


def load(store: Store, key: bytes = b"", seed: int = 1) -> Node:
    node = Node(
        store=store, network=Network(b"", key), entropy=random.Random(seed), key=ANA if seed == 1 else BEN
    )
    store.commit(0)
    return node


def filled(store: Store) -> Node:
    """Ana's node: two entries of hers, three of Ben's, one of Eve's, and junk."""
    node = load(store)
    for text in (b"one", b"two"):
        node.publish(text, 0)
    for key, texts in ((BEN, [b"1", b"2", b"3"]), (EVE, [b"x"])):
        node.follow(key.feed_id, 0)
        for entry in written(key, texts):
            node.import_packet(entry.packet, 0)
    for feed in JUNK:
        node.follow(feed, 0)
    store.commit(1)
    return node


def left_by(store: Store, **choice: object) -> set[FeedId]:
    return {record.feed for record in plan_rekey(store.feeds(), **choice).left}  # type: ignore[arg-type]  # made of parts


def test_feeds_that_said_something_are_kept_and_silent_ones_left() -> None:
    store = MemoryStore()
    filled(store)
    assert left_by(store) == set(JUNK)
    assert left_by(store, known={JUNK[0]}) == set(JUNK[1:])
    assert left_by(store, refused={EVE.feed_id, ANA.feed_id}) == {*JUNK, EVE.feed_id}, "ours is always kept"
    assert left_by(store, only_known=True, known={BEN.feed_id}) == {*JUNK, EVE.feed_id}


def test_who_is_not_wanted_is_left() -> None:
    store = MemoryStore()
    filled(store).unfollow(EVE.feed_id, 0)
    assert EVE.feed_id in left_by(store)


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return MemoryStore() if request.param == "memory" else SqliteStore.open(tmp_path / "store.sqlite")


def test_what_was_held_is_held_and_the_feed_goes_on(store: Store) -> None:
    filled(store)
    events = rekey(store, FRESH, [*JUNK, EVE.feed_id])
    store.commit(2)
    assert all(isinstance(event, SetChanged) and event.left for event in events)
    node = load(store, FRESH)
    assert events[-1] == SetChanged(feed=EVE.feed_id, count=2, state=node.set_state, face=None, left=True)
    assert {record.feed for record in node.feeds()} == {ANA.feed_id, BEN.feed_id, EVE.feed_id}
    assert [record.feed for record in node.feeds() if record.retired] == [EVE.feed_id]
    assert store.entry(EVE.feed_id, 1) is not None, "it can be read"
    assert node.publish(b"three", 3)[0].seq == 3
    (next_of_eve,) = written(EVE, [b"x", b"y"])[1:]
    node.import_packet(next_of_eve.packet, 3)
    assert store.entry(EVE.feed_id, 2) is None, "nothing is taken of what was left"
    node.follow(EVE.feed_id, 4)
    assert store.entry(EVE.feed_id, 2) is not None, "until it is back"


def test_until_the_commit_it_is_the_old_set_and_then_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    before = {record.feed for record in filled(store).feeds()}
    rekey(store, FRESH, JUNK)
    store.close()
    store = SqliteStore.open(path)
    assert (set_key_of(store, path), {record.feed for record in store.feeds()}) == (b"", before)
    rekey(store, FRESH, JUNK)
    store.commit(2)
    store.close()
    store = SqliteStore.open(path)
    assert (set_key_of(store, path), {record.feed for record in store.feeds()}) == (FRESH, before - set(JUNK))
    store.close()


def test_a_key_that_is_none_is_damage() -> None:
    store = MemoryStore()
    assert effective_network(Network(b"valley"), store, PATH) == Network(b"valley")
    for wrong in ("no hex", "00" * 65):
        store.put_meta("set_key", wrong)
        with pytest.raises(StoreDamagedError):
            set_key_of(store, PATH)


class Wire:
    """Two nodes on a cable."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = nodes
        self.now_us = 0
        for node in nodes:
            self._do(node, node.face_up(FACE, stream_profile(), "wire", 0))

    def _do(self, node: Node, effects: list[Effect]) -> None:
        (other,) = (each for each in self.nodes if each is not node)
        for effect in effects:
            if isinstance(effect, Send):
                self._do(node, node.sent(FaceName(effect.face), 1, self.now_us))
                self._do(other, other.receive(effect.packet, FACE, WIRED, self.now_us))

    def _due_us(self, node: Node, never_us: int) -> int:
        due_us = node.next_wake_us()
        return never_us if due_us is None else due_us

    def publish(self, node: Node, content: bytes) -> None:
        self._do(node, node.publish(content, self.now_us)[1])

    def run(self, seconds: int) -> None:
        end_us = self.now_us + seconds * SECOND_US
        while (due_us := min(self._due_us(node, end_us + 1) for node in self.nodes)) <= end_us:
            self.now_us = max(self.now_us, due_us)
            for node in self.nodes:
                self._do(node, node.wake(self.now_us))


def test_between_the_old_set_and_the_new_one_only_what_is_heard_passes() -> None:
    ana_store, ben_store = MemoryStore(), MemoryStore()
    filled(ana_store)
    ben = load(ben_store, seed=2)
    ben.follow(ANA.feed_id, 0)
    for entry in written(ANA, [b"one", b"two"])[:1]:
        ben.import_packet(entry.packet, 0)
    rekey(ana_store, FRESH, JUNK)
    ana_store.commit(2)
    wire = Wire(load(ana_store, FRESH), ben)
    wire.run(60)
    assert ben_store.entry(ANA.feed_id, 2) is None, "he can ask for nothing"
    assert len([record for record in ben.feeds() if not record.retired]) == 2, "and learns of nobody"


def test_those_who_did_the_same_have_one_set_again() -> None:
    ana_store, ben_store = MemoryStore(), MemoryStore()
    filled(ana_store)
    ben = load(ben_store, seed=2)
    for feed in JUNK[5:]:
        ben.follow(feed, 0)
    for each, left in ((ana_store, JUNK), (ben_store, JUNK[5:])):
        rekey(each, FRESH, left)
        each.commit(2)
    ana, ben = load(ana_store, FRESH), load(ben_store, FRESH, seed=2)
    wire = Wire(ana, ben)
    wire.run(60)
    assert ana.set_state == ben.set_state
    assert ben_store.entry(ANA.feed_id, 2) is not None
    assert not set(JUNK) & {record.feed for record in (*ana.feeds(), *ben.feeds())}
    wire.publish(ana, b"three")
    assert ben_store.entry(ANA.feed_id, 3) is not None
