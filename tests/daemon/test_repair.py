"""A store whose bytes were flipped: repaired, and made whole by a peer."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.daemon.fakes import KEY, NETWORK, OTHER
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.daemon.repair import plan_repair
from tinyssb_node.daemon.verify import Verifier
from tinyssb_node.errors import StoreDamagedError, StoreLockedError
from tinyssb_node.feeds.fork import ForkProof
from tinyssb_node.gossip.certainty import TipCertainty
from tinyssb_node.ids import Dialect, FaceName, MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import WIRED, stream_profile
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import Store
from tinyssb_node.store.repair import FeedCut, ForkCut, cut_store
from tinyssb_node.store.sqlite import SqliteStore

FACE = FaceName("wire")
STEP_US = 20_000
CONTENTS = [b"one", b"two", bytes(1000), b"four", random.Random(1).randbytes(700), b"six"]


def a_node(store: Store, key: SigningKey) -> Node:
    return Node(
        store=store,
        network=NETWORK,
        entropy=random.Random(1),
        key=key,
        certainty=TipCertainty(watch=False),
    )


def meet(left: Node, right: Node) -> None:
    """Two nodes talk over a wire for three virtual minutes."""
    waiting: list[tuple[Node, Effect]] = []
    for node in (left, right):
        waiting += [(node, effect) for effect in node.face_up(FACE, stream_profile(), "test", 0)]
    for now_us in range(0, 180_000_000, STEP_US):
        for node in (left, right):
            waiting += [(node, effect) for effect in node.wake(now_us)]
        while waiting:
            node, effect = waiting.pop(0)
            if isinstance(effect, Send):
                other = right if node is left else left
                waiting += [(node, new) for new in node.sent(FACE, 1, now_us)]
                waiting += [(other, new) for new in other.receive(effect.packet, FACE, WIRED, now_us)]


def damages(store: Store) -> list[str]:
    return [damage.problem for damage in Verifier(store, NETWORK).run()]


def content_of(store: Store) -> list[list[bytes]]:
    return [
        [entry.packet, *store.chunks(entry.feed, entry.seq, 0, 99)]
        for entry in store.entries(KEY.feed_id, 1, 99)
    ]


@pytest.fixture
def held(tmp_path: Path) -> tuple[Path, Node, list[list[bytes]]]:
    """A store that holds a feed, somebody else who holds it, and what it is."""
    path = tmp_path / "store.sqlite"
    source = MemoryStore()
    author = a_node(source, KEY)
    for content in CONTENTS:
        author.publish(content, 0)
    with closing(SqliteStore.open(path)) as store:
        meet(author, a_node(store, OTHER))
        store.commit(1)
        assert content_of(store) == content_of(source)
    author.face_down(FACE, "over", 180_000_000)
    return path, a_node(source, KEY), content_of(source)


def flip(path: Path, sql: str) -> None:
    with closing(sqlite3.connect(path)) as raw, raw:
        assert raw.execute(sql).rowcount


def repair(path: Path, *, own: bool = False) -> tuple[Path, list[FeedCut | ForkCut]]:
    with closing(SqliteStore.open_readonly(path)) as store:
        cuts, _ = plan_repair(store, NETWORK, list(Verifier(store, NETWORK).run()), own=own)
    return cut_store(path, cuts), cuts


@pytest.mark.parametrize(
    ("sql", "keeps"),
    [
        ("UPDATE entries SET packet = zeroblob(120) WHERE seq = 1", 0),
        ("UPDATE entries SET packet = zeroblob(120) WHERE seq = 4", 3),
        ("UPDATE entries SET id = zeroblob(20) WHERE seq = 6", 5),
        ("DELETE FROM entries WHERE seq = 2", 1),
        ("UPDATE chunks SET packet = zeroblob(120) WHERE seq = 3 AND chunk = 2", 6),
        ("UPDATE chunks SET packet = zeroblob(120) WHERE chunk = 0", 6),
        ("UPDATE feeds SET tip = zeroblob(20) WHERE seq", 6),
    ],
)
def test_what_was_damaged_comes_back(
    held: tuple[Path, Node, list[list[bytes]]], sql: str, keeps: int
) -> None:
    path, peer, whole = held
    with closing(SqliteStore.open_readonly(path)) as store:
        last = store.last_arrival()
    flip(path, sql)
    aside, cuts = repair(path)
    assert [(cut.feed, cut.keep) for cut in cuts if isinstance(cut, FeedCut)] == [(KEY.feed_id, keeps)]
    assert path.with_name("store.damaged-1.sqlite") == aside
    with closing(SqliteStore.open_readonly(aside)) as store:
        assert damages(store), "what was there is kept as it was"
    with closing(SqliteStore.open(path)) as store:
        assert damages(store) == []
        assert store.last_arrival() in {last, 0}
        meet(peer, a_node(store, OTHER))
        store.commit(2)
        assert damages(store) == []
        assert content_of(store) == whole


def test_our_own_feed_is_cut_only_when_told(held: tuple[Path, Node, list[list[bytes]]]) -> None:
    path, _, _ = held
    flip(path, "UPDATE feeds SET own = NOT own")
    flip(path, "UPDATE entries SET packet = zeroblob(120) WHERE seq = 4")
    with closing(SqliteStore.open_readonly(path)) as store:
        found = list(Verifier(store, NETWORK).run())
        assert plan_repair(store, NETWORK, found, own=False) == ([], [KEY.feed_id])
        cuts, spared = plan_repair(store, NETWORK, found, own=True)
        assert (cuts, spared) == ([FeedCut(KEY.feed_id, 3)], [])


def test_a_false_proof_goes(held: tuple[Path, Node, list[list[bytes]]]) -> None:
    path, _, whole = held
    proof = ForkProof(KEY.feed_id, 1, Dialect.SPEC, MessageId(bytes(20)), whole[0][0], bytes(120))
    with closing(SqliteStore.open(path)) as store:
        store.put_fork(proof)
        store.commit(1)
    assert repair(path)[1] == [ForkCut(KEY.feed_id, 1)]
    with closing(SqliteStore.open_readonly(path)) as store:
        assert damages(store) == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE forks SET proof = zeroblob(306)",
        "UPDATE forks SET proof = substr(proof, 1, 100)",
        "UPDATE forks SET proof = 'text'",
        "UPDATE forks SET seq = seq + 1",
        "UPDATE forks SET feed = zeroblob(32)",
    ],
)
def test_a_proof_that_cannot_be_read_stops_the_node_and_is_set_aside(
    held: tuple[Path, Node, list[list[bytes]]], sql: str
) -> None:
    path, _, whole = held
    proof = ForkProof(KEY.feed_id, 1, Dialect.SPEC, MessageId(bytes(20)), whole[0][0], bytes(120))
    with closing(SqliteStore.open(path)) as store:
        store.put_fork(proof)
        store.commit(1)
    flip(path, sql)
    with closing(SqliteStore.open(path)) as store, pytest.raises(StoreDamagedError, match="verify --repair"):
        a_node(store, OTHER)
    aside, cuts = repair(path)
    assert [type(cut) for cut in cuts] == [ForkCut]
    with closing(SqliteStore.open_readonly(aside)) as store:
        assert damages(store) == ["the proof of its fork cannot be read"]
    with closing(SqliteStore.open(path)) as store:
        assert damages(store) == []
        a_node(store, OTHER)


def test_a_proof_of_nobody_is_damage(held: tuple[Path, Node, list[list[bytes]]]) -> None:
    path, _, whole = held
    with closing(SqliteStore.open(path)) as store:
        store.put_fork(ForkProof(KEY.feed_id, 1, Dialect.SPEC, MessageId(bytes(20)), whole[0][0], bytes(120)))
        store.commit(1)
    flip(path, "UPDATE forks SET feed = zeroblob(3)")
    with (
        closing(SqliteStore.open_readonly(path)) as store,
        pytest.raises(StoreDamagedError, match="of no feed"),
    ):
        store.forks()


def test_a_store_in_use_is_not_cut(held: tuple[Path, Node, list[list[bytes]]]) -> None:
    path, _, _ = held
    with closing(SqliteStore.open(path)), pytest.raises(StoreLockedError):
        cut_store(path, [FeedCut(KEY.feed_id, 0)])
