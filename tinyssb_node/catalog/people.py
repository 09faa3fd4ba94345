"""People: feeds with the names they give themselves, and the user's contacts."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tinyssb_node.catalog.rows import MessageKind, PersonRow
from tinyssb_node.content.blocklist import fold_blocks, parse_block_step
from tinyssb_node.content.contacts import CONTACTS_FILE, NOBODY, Contact, read_contacts
from tinyssb_node.ids import FeedId, blocked_short
from tinyssb_node.store.summary import FeedSummary, StoreSummary

_SEALED: Final = """
SELECT people.feed FROM people JOIN messages ON messages.feed = people.number AND seq = 1
WHERE NOT own AND kind = ? AND NOT cut AND chunks > 0
"""
"""Feeds that begin with long content that nobody here can read: probably messages to a private group."""

_BLOCKS: Final = """
SELECT content FROM messages WHERE feed = (SELECT number FROM people WHERE feed = ?) AND kind = 'BLK' ORDER BY seq
"""


class ContactBook:
    """The contacts as they are in the file now, and the feeds of the store."""

    def __init__(self, home: Path, summary: StoreSummary) -> None:
        self._home = home
        self._summary = summary
        self._contacts: dict[FeedId, Contact] = {}
        self._seen: tuple[int, int, int] | None = None
        """The version of the file that was read: its inode, size and time of change."""

    def contacts(self) -> Mapping[FeedId, Contact]:
        """Return the user's contacts. Raises ContactsError."""
        try:
            status = (self._home / CONTACTS_FILE).stat()
            seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        except FileNotFoundError:
            seen = (0, 0, 0)
        if seen != self._seen:
            self._contacts = read_contacts(self._home)
            self._seen = seen
        return self._contacts

    def blocked(self, connection: sqlite3.Connection) -> list[FeedId]:
        """Return the people whose messages are hidden: blocked by the user, or by a blocklist that the user follows,
        unless the user decided otherwise. Raises ContactsError, sqlite3.Error."""
        contacts = self.contacts()
        blocked = [feed for feed, contact in contacts.items() if contact.blocked]
        if lists := self._lists(connection):
            known = connection.execute("SELECT feed FROM people WHERE NOT own")
            feeds = (FeedId(feed) for (feed,) in known)
            blocked += [feed for feed in feeds if self._blocked_by(lists, feed)]
        return blocked

    def _lists(self, connection: sqlite3.Connection) -> dict[FeedId, frozenset[bytes]]:
        """Return the blocklists that the user follows."""
        followed = (feed for feed, contact in self.contacts().items() if contact.list_followed)
        return {feed: blocklist(connection, feed) for feed in followed}

    def _blocked_by(self, lists: Mapping[FeedId, frozenset[bytes]], feed: FeedId) -> tuple[FeedId, ...]:
        """Return the authors of *lists* that block *feed*; none if the user decided about it."""
        if self._contacts.get(feed, NOBODY).blocked is not None:
            return ()
        short = blocked_short(feed)
        return tuple(author for author, shorts in lists.items() if short in shorts)

    def all(self, connection: sqlite3.Connection) -> Sequence[PersonRow]:
        """Return all known people, sorted by feed, without further feeds of theirs. Raises ContactsError,
        sqlite3.Error, StoreFailedError."""
        kept = {feed_summary.feed: feed_summary for feed_summary in self._summary.feeds()}
        said_by_feed = {
            FeedId(feed): (said, last_us)
            for feed, said, last_us in connection.execute("SELECT feed, said, last_us FROM people")
        }
        sealed = {FeedId(feed) for (feed,) in connection.execute(_SEALED, (MessageKind.OPAQUE,))}
        named = {feed for feed, (said, _) in said_by_feed.items() if said is not None}
        everybody = sorted((kept.keys() - sealed) | named | self.contacts().keys())
        lists = self._lists(connection)
        return [
            self._row(feed, kept.get(feed), lists, *said_by_feed.get(feed, (None, None)))
            for feed in everybody
        ]

    def one(self, connection: sqlite3.Connection, feed: FeedId) -> PersonRow | None:
        """Return one person. Raises as ``all`` does."""
        return next((person for person in self.all(connection) if person.feed == feed), None)

    def _row(
        self,
        feed: FeedId,
        feed_summary: FeedSummary | None,
        lists: Mapping[FeedId, frozenset[bytes]],
        said: str | None,
        last_us: int | None,
    ) -> PersonRow:
        contact = self._contacts.get(feed, NOBODY)
        own = feed_summary is not None and feed_summary.own
        blocked_by = () if own else self._blocked_by(lists, feed)
        return PersonRow(
            feed=feed,
            alias=contact.name if contact.name is not None else said,
            said=said,
            own=own,
            entries=0 if feed_summary is None else feed_summary.seq,
            last_us=last_us,
            blocked=bool(contact.blocked) or bool(blocked_by),
            blocked_by=blocked_by,
            list_followed=contact.list_followed,
            wanted=feed_summary is not None and feed_summary.wanted,
            pending=feed_summary is not None and feed_summary.pending,
        )


def blocklist(connection: sqlite3.Connection, feed: FeedId) -> frozenset[bytes]:
    """Return the blocklist that the author of *feed* published, as beginnings of feed ids. Raises sqlite3.Error."""
    steps = (parse_block_step(content) for (content,) in connection.execute(_BLOCKS, (bytes(feed),)))
    return fold_blocks(step for step in steps if step is not None)
