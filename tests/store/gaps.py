"""Stores that were repaired: arrival numbers are missing."""

from pathlib import Path

from tinyssb_node.ids import FeedId, Origin
from tinyssb_node.store.repair import FeedCut, cut_store
from tinyssb_node.store.sqlite import SqliteStore


def cut_and_given_again(store: SqliteStore, path: Path, feed: FeedId, keep: int) -> SqliteStore:
    """*store* at *path*, all of it committed, anew, after a repair cut *feed* behind its entry *keep*, and a peer gave
    again what was cut. What arrived in one go leaves a gap of its length."""
    gone = [(entry, store.chunks(feed, entry.seq, 0, 999)) for entry in store.entries(feed, keep + 1, 9_999)]
    assert gone, "something is cut"
    store.close()
    cut_store(path, [FeedCut(feed, keep)])
    store = SqliteStore.open(path)
    for entry, chunks in gone:
        store.append_entry(feed, entry.seq, entry.packet, entry.id, Origin.PEER, None)
        for number, packet in enumerate(chunks):
            store.append_chunk(feed, entry.seq, number, packet, Origin.PEER, None)
    store.commit(2_000)
    return store
