"""Removal of what is damaged from a store in SQLite, so that peers can send it again.

The whole file is copied first: nothing is lost that could be read before, even if it is damaged.
"""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import FeedId
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.recovery import recover_log, take_lock
from tinyssb_node.store.sqlite_file import open_for_writing, store_faults


@dataclass(frozen=True, slots=True)
class ChainCut:
    """A side chain that is cut to its first packets."""

    seq: int
    """The entry it hangs on."""
    held: int
    """Number of packets kept."""
    chain: SideChain | None
    """The state of the chain then; None: the entry has no side chain."""


@dataclass(frozen=True, slots=True)
class FeedCut:
    """A feed that is cut to its intact part, without entries beyond its frontier."""

    feed: FeedId
    keep: int
    """The last entry it keeps; 0 for none."""
    chains: tuple[ChainCut, ...] = ()
    """Side chains of entries it keeps."""


@dataclass(frozen=True, slots=True)
class ForkCut:
    """A proof that proves nothing and is deleted; the feed is no longer frozen by it."""

    feed: FeedId
    seq: int


def cut_store(path: Path, cuts: Sequence[FeedCut | ForkCut]) -> Path:
    """Make *cuts* in the store at *path*, all of them or none. Returns where the store as it was is kept.

    Raises StoreLockedError while a node has it open, StoreDamagedError, StoreTooNewError, StoreFullError,
    StoreFailedError; then the store is as it was.
    """
    lock = take_lock(path)
    try:
        recover_log(path)
        with closing(open_for_writing(path)) as connection, store_faults(path, "repairing the store"):
            aside = _set_aside(path, connection)
            connection.execute("BEGIN IMMEDIATE")
            last = _last_arrival(connection)
            for cut in cuts:
                if isinstance(cut, ForkCut):
                    _drop_proof(connection, cut)
                else:
                    _shorten(connection, cut)
            _keep_counting(connection, last)
            connection.execute("COMMIT")
            return aside
    finally:
        lock.release()


def _set_aside(path: Path, connection: sqlite3.Connection) -> Path:
    number = 1
    while (aside := path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")).exists():
        number += 1
    with closing(sqlite3.connect(aside)) as copy:
        connection.backup(copy)
    sync_folder(path.parent)
    return aside


def _shorten(connection: sqlite3.Connection, cut: FeedCut) -> None:
    (number,) = connection.execute("SELECT number FROM feeds WHERE feed = ?", (bytes(cut.feed),)).fetchone()
    for table in ("entries", "chunks", "side_chains"):
        connection.execute(f"DELETE FROM {table} WHERE feed = ? AND seq > ?", (number, cut.keep))  # noqa: S608 - our names
    connection.execute("DELETE FROM newest_entries WHERE feed = ?", (number,))
    for short in cut.chains:
        place = (number, short.seq)
        connection.execute(
            "DELETE FROM chunks WHERE feed = ? AND seq = ? AND chunk >= ?", (*place, short.held)
        )
        connection.execute("DELETE FROM side_chains WHERE feed = ? AND seq = ?", place)
        if (chain := short.chain) is not None and not chain.complete:
            row = (*place, chain.chunks, chain.held, bytes(chain.next_hash), chain.content_size)
            connection.execute("INSERT INTO side_chains VALUES (?, ?, ?, ?, ?, ?)", row)
    connection.execute(
        "UPDATE feeds SET seq = ?1, tip = (SELECT id FROM entries WHERE feed = ?2 AND seq = ?1), "
        "dialect = iif(?1 OR own, dialect, NULL) WHERE number = ?2",
        (cut.keep, number),
    )


def _drop_proof(connection: sqlite3.Connection, cut: ForkCut) -> None:
    feed = bytes(cut.feed)
    connection.execute("DELETE FROM forks WHERE feed = ? AND seq = ?", (feed, cut.seq))
    connection.execute(
        "UPDATE feeds SET forked_at = (SELECT min(seq) FROM forks WHERE feed = ?1) WHERE feed = ?1", (feed,)
    )


def _last_arrival(connection: sqlite3.Connection) -> int:
    (last,) = connection.execute(
        "SELECT max((SELECT coalesce(max(arrival), 0) FROM entries), (SELECT coalesce(max(arrival), 0) FROM chunks))"
    ).fetchone()
    return int(last)


def _keep_counting(connection: sqlite3.Connection, last: int) -> None:
    """Keep arrival numbers from being given twice: the event log would take an append with an old number for one that
    it has. If the last append was deleted, the last one left gets its number."""
    left = _last_arrival(connection)
    for table in ("entries", "chunks"):
        connection.execute(f"UPDATE {table} SET arrival = ? WHERE arrival = ?", (last, left))  # noqa: S608 - our names
    if not left:
        connection.execute("DELETE FROM commits")
