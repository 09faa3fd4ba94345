import random

import pytest

from tests.store.gaps import cut_and_given_again
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import ChunkAppended, EntryAppended
from tinyssb_node.daemon.eventlog import rederive
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin
from tinyssb_node.node.node import Node
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.sqlite import SqliteStore

KEY = SigningKey(b"\x07" * 32)
SIZES = [0, 1, 20, 27, 28, 29, 47, 48, 49, 127, 128, 129, 226, 227, 228, 1_000]


@pytest.mark.parametrize("dialect", Dialect)
def test_the_same_as_when_they_were_appended(dialect):
    store = MemoryStore()
    node = Node(store=store, network=Network(), entropy=random.Random(1), key=KEY, dialect=dialect)
    said = []
    for committed_us, size in enumerate(SIZES, start=1):
        _, effects = node.publish(bytes(size), 0)
        store.commit(committed_us)
        events = [effect for effect in effects if isinstance(effect, EntryAppended | ChunkAppended)]
        said += [(event, committed_us) for event in events]
    assert len(said) > len(SIZES), "some have side chains"
    assert list(rederive(store, 0)) == said
    assert list(rederive(store, 7)) == said[7:]
    assert list(rederive(store, len(said))) == []


def one_entry(store, type_):
    feed = FeedId(bytes(32))
    store.put_feed(
        FeedRecord(feed=feed, dialect=Dialect.SPEC, seq=0, tip=None, own=False, wanted=True, forked_at=None)
    )
    packet = bytes(7) + bytes((type_,)) + b"\xff" * 48 + bytes(64)
    store.append_entry(feed, 1, packet, MessageId(bytes(20)), Origin.PEER, FaceName("udp"))
    return feed


def test_an_entry_of_unknown_type_and_where_it_came_from():
    store = MemoryStore()
    feed = one_entry(store, 9)
    store.commit(5)
    expected = EntryAppended(
        feed=feed,
        seq=1,
        id=MessageId(bytes(20)),
        type=9,
        size=48,
        chunks=0,
        origin=Origin.PEER,
        face=FaceName("udp"),
        arrival=1,
    )
    assert list(rederive(store, 0)) == [(expected, 5)]


def test_what_is_not_committed_is_not_told():
    store = MemoryStore()
    one_entry(store, 0)
    assert list(rederive(store, 0)) == []


def test_more_than_one_page(monkeypatch):
    monkeypatch.setattr(limits, "EVENT_CATCH_UP_BATCH", 2)
    store = MemoryStore()
    feed = one_entry(store, 0)
    for seq in range(2, 6):
        store.append_entry(feed, seq, bytes(120), MessageId(bytes(20)), Origin.PEER, None)
    store.commit(1)
    assert [event.arrival for event, _ in rederive(store, 0)] == [1, 2, 3, 4, 5]


def test_numbers_that_are_missing_are_passed_over(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "EVENT_CATCH_UP_BATCH", 2)
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    feed = one_entry(store, 0)
    for seq in range(2, 6):
        store.append_entry(feed, seq, bytes(120), MessageId(bytes(20)), Origin.PEER, None)
    store.commit(1)
    store = cut_and_given_again(store, path, feed, 1)
    # What is left has the last number of before.
    assert [(event.arrival, event.seq) for event, _ in rederive(store, 0)] == [
        (5, 1),
        (6, 2),
        (7, 3),
        (8, 4),
        (9, 5),
    ]
    store.close()
