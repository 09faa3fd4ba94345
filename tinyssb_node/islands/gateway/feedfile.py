"""Feeds in the files of store and shelf, for the feed sync. Every query sees the file as it is then."""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.errors import LocalError
from tinyssb_node.feeds.fork import parse_proof
from tinyssb_node.feeds.layout import NO_CHUNK, layout_of
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.islands.feedsync import limits
from tinyssb_node.islands.feedsync.port import FeedState, ForkPair, KeptEntry
from tinyssb_node.store.sqlite_file import StoreFile, store_faults


class FeedFileSource(StoreFile):
    """``FeedSource`` of one file. Every query raises StoreDamagedError and StoreFailedError."""

    def feeds(self) -> Sequence[FeedId]:
        """Return all feeds with entries, sorted."""
        return [FeedId(feed) for (feed,) in self.select("SELECT feed FROM feeds WHERE seq ORDER BY feed")]

    def state(self, feed: FeedId) -> FeedState | None:
        """Return how much of *feed* is stored; None: nothing is known of it."""
        with self.snapshot():
            rows = self.select("SELECT number, seq, tip, forked_at FROM feeds WHERE feed = ?", bytes(feed))
            if not rows:
                return None
            number, seq, tip, forked_at = rows[0]
            chains = self.select(
                "SELECT seq, held FROM side_chains WHERE feed = ? AND next_hash != ? ORDER BY seq LIMIT ?",
                number, NO_CHUNK, limits.CHAINS_MAX + 1,
            )  # fmt: skip
            fork = None if forked_at is None else self._fork(feed)
        return FeedState(seq, None if tip is None else MessageId(tip), tuple(chains), fork)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """Return up to *limit* entries from sequence number *first* on, in order."""
        rows = self.select(
            "SELECT packet, id, dialect FROM entries JOIN feeds ON entries.feed = number "
            "WHERE feeds.feed = ? AND entries.seq >= ? AND entries.seq < ? ORDER BY entries.seq",
            bytes(feed), first, first + limit,
        )  # fmt: skip
        return [_kept(*row) for row in rows]

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Return up to *limit* packets of a side chain from number *first* on, in order, up to the first gap."""
        rows = self.select(
            "SELECT packet FROM chunks JOIN feeds ON chunks.feed = number "
            "WHERE feeds.feed = ? AND chunks.seq = ? AND chunk >= ? AND chunk < ? ORDER BY chunk",
            bytes(feed), seq, first, first + limit,
        )  # fmt: skip
        return [packet for (packet,) in rows]

    def _fork(self, feed: FeedId) -> ForkPair | None:
        for (row,) in self.select("SELECT proof FROM forks WHERE feed = ? ORDER BY seq LIMIT 1", bytes(feed)):
            proof = parse_proof(row)
            return ForkPair(proof.seq, proof.held, proof.other)
        return None

    def select(self, sql: str, *values: int | bytes) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises StoreDamagedError, StoreFailedError."""
        with store_faults(self._path, "reading"):
            return self._connection.execute(sql, values).fetchall()


def _kept(packet: bytes, id_: bytes, dialect: str) -> KeptEntry:
    parsed = parse_entry(packet)
    chunks = layout_of(parsed.type, parsed.content, Dialect(dialect)).chunks
    return KeptEntry(packet, MessageId(id_), chunks)


class StoreAndShelfSource:
    """``FeedSource`` of a store and its shelf; for a feed in both, of the file that has more of it."""

    def __init__(self, store: Path, shelf: Path) -> None:
        """Use the store at *store*, and the shelf at *shelf* once there is one. Raises StoreTooNewError,
        StoreDamagedError, StoreFailedError."""
        self._store = FeedFileSource(store)
        self._shelf_path = shelf
        self._shelf: FeedFileSource | None = None

    def close(self) -> None:
        """Close both files."""
        self._store.close()
        if self._shelf is not None:
            self._shelf.close()

    def shelved(self) -> Sequence[FeedId]:
        """Return the feeds of the shelf, sorted."""
        shelf = self._find_shelf()
        return () if shelf is None else shelf.feeds()

    def state(self, feed: FeedId) -> FeedState | None:
        """See ``FeedFileSource``."""
        return self._of(feed).state(feed)

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[KeptEntry]:
        """See ``FeedFileSource``."""
        return self._of(feed).entries(feed, first, limit)

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """See ``FeedFileSource``."""
        return self._of(feed).chunks(feed, seq, first, limit)

    def _find_shelf(self) -> FeedFileSource | None:
        if self._shelf is None and self._shelf_path.exists():
            # While it is being made, or if it cannot be read, it counts as absent.
            with suppress(LocalError):
                self._shelf = FeedFileSource(self._shelf_path)
        return self._shelf

    def _of(self, feed: FeedId) -> FeedFileSource:
        if (shelf := self._find_shelf()) is None or (second := shelf.state(feed)) is None:
            return self._store
        first = self._store.state(feed)
        return self._store if first is not None and first.seq >= second.seq else shelf
