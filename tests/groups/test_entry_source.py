"""Entries out of a store: each whole, with its place, once; and again if it is asked for."""

from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from tests.groups.press import NETWORK, Press
from tests.groups.shelf import keys_of
from tests.store.gaps import cut_and_given_again
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.groups.entry_source import SealedEntry, StoreEntrySource
from tinyssb_node.ids import Dialect, FeedId, Origin
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord, Store
from tinyssb_node.store.sqlite import SqliteStore

SIZES = (0, 20, 48, 81, 100, 300, 1_000)


def filled(dialect: Dialect, feeds: int = 2, store: Store | None = None) -> tuple[Press, list[SealedEntry]]:
    """A store with some feeds, and what was written."""
    press, chance = Press(store or MemoryStore(), dialect), Random(1)
    keys = [SigningKey(bytes([number]) * 32) for number in range(feeds)]
    for key in keys:
        press.signers[key.feed_id] = key
    written = [
        press.append(key.feed_id, 0 if size == 48 else 1, chance.randbytes(size))
        for size in SIZES
        for key in keys
    ]
    return press, written


def drain(source: StoreEntrySource, limit: int) -> list[SealedEntry]:
    """All that a source hands out."""
    found = []
    while not source.read_all:
        found += source.next(limit)
    return found


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_all_that_came_is_handed_out_whole_and_in_order(dialect: Dialect, limit: int) -> None:
    press, written = filled(dialect)
    source = StoreEntrySource(press.store)
    assert drain(source, limit) == written
    assert source.next(limit) == []
    assert [source.entry(one.feed, one.seq) for one in written] == written
    assert source.entry(written[0].feed, len(SIZES) + 1) is None
    more = press.append(written[0].feed, 1, bytes(400))
    assert not source.read_all
    assert drain(source, limit) == [more]


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_each_is_handed_out_once_behind_numbers_that_are_missing(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    _, written = filled(Dialect.SPEC, store=store)
    store.commit(1)
    first = written[0].feed
    with closing(cut_and_given_again(store, path, first, 1)) as store:
        source = StoreEntrySource(store)
        found = drain(source, limit)
        assert sorted(found, key=repr) == sorted(written, key=repr)
        source.again(first)
        assert drain(source, limit) == [one for one in written if one.feed == first]


@pytest.mark.parametrize("limit", [1, 3, 1_000])
def test_a_feed_is_handed_out_again(limit: int) -> None:
    press, written = filled(Dialect.SPEC)
    source = StoreEntrySource(press.store)
    feed = written[1].feed
    first = [source.next(limit) for _ in range(3)]
    seen = [one for some in first for one in some]
    source.again(feed)
    source.again(feed)
    before = [one for one in seen if one.feed == feed]
    rest = drain(source, limit)
    assert rest[: len(before)] == before
    assert set(rest[len(before) :]) == set(written[len(seen) :])  # one of which was half here may come twice
    source.again(feed, 0)
    source.again(FeedId(bytes(32)))
    assert drain(source, limit) == [one for one in written if one.feed == feed and one.type == 0]
    source.again(feed)
    source.restart()
    assert drain(source, limit) == written


def test_an_entry_comes_when_its_last_packet_does() -> None:
    store, source = MemoryStore(), None
    key = keys_of("a").additions()
    tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
    store.put_feed(
        FeedRecord(
            feed=key.feed_id,
            dialect=Dialect.SPEC,
            seq=0,
            tip=None,
            own=False,
            wanted=True,
            forked_at=None,
        )
    )
    source = StoreEntrySource(store)
    entries = []
    for size in (300, 10, 200):
        composed = compose(NETWORK, key, tip, bytes(size))
        tip = composed.extended.tip
        assert tip.id is not None
        store.append_entry(key.feed_id, tip.seq, composed.packet, tip.id, Origin.PEER, None)
        entries.append(composed)
    assert [(one.seq, one.prev) for one in drain(source, 10)] == [(2, entries[0].extended.tip.id)]
    assert source.entry(key.feed_id, 1) is None
    for number in range(3):
        for seq in (3, 1):
            chunks = entries[seq - 1].chunks
            if number < len(chunks):
                store.append_chunk(key.feed_id, seq, number, chunks[number], Origin.PEER, None)
    found = drain(source, 1)
    assert [(one.seq, len(one.content)) for one in found] == [(3, 200), (1, 300)]
    assert found[0].prev == entries[1].extended.tip.id
    source.again(key.feed_id)
    assert [one.seq for one in drain(source, 2)] == [1, 2, 3]
