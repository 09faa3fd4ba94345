"""People: feeds with what they call themselves, and what our user thinks of them."""

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
"""Feeds that begin with something long that nobody here can read: what somebody says to a private group, probably."""

_BLOCKS: Final = """
SELECT content FROM messages WHERE feed = (SELECT number FROM people WHERE feed = ?) AND kind = 'BLK' ORDER BY seq
"""


class ContactBook:
    """Contacts as the file has them now, and the feeds of the store."""

    def __init__(self, home: Path, glance: StoreSummary) -> None:
        self._home = home
        self._glance = glance
        self._contacts: dict[FeedId, Contact] = {}
        self._seen: tuple[int, int, int] | None = None
        """Which state of the file that is: its node, size and time of change."""

    def contacts(self) -> Mapping[FeedId, Contact]:
        """What our user thinks of whom. Raises ContactsError."""
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
        """Whose messages are not shown: whom our user blocked, and whom a list names that our user follows, unless our
        user decided otherwise. Raises ContactsError, sqlite3.Error."""
        contacts = self.contacts()
        blocked = [feed for feed, contact in contacts.items() if contact.blocked]
        if lists := self._lists(connection):
            known = connection.execute("SELECT feed FROM people WHERE NOT own")
            feeds = (FeedId(feed) for (feed,) in known)
            blocked += [feed for feed in feeds if self._blocked_by(lists, feed)]
        return blocked

    def _lists(self, connection: sqlite3.Connection) -> dict[FeedId, frozenset[bytes]]:
        """The lists of blocks that our user follows."""
        followed = (feed for feed, contact in self.contacts().items() if contact.list_followed)
        return {feed: blocklist(connection, feed) for feed in followed}

    def _blocked_by(self, lists: Mapping[FeedId, frozenset[bytes]], feed: FeedId) -> tuple[FeedId, ...]:
        """By whose of *lists* somebody's *feed* is blocked, about which our user decided nothing."""
        if self._contacts.get(feed, NOBODY).blocked is not None:
            return ()
        short = blocked_short(feed)
        return tuple(author for author, shorts in lists.items() if short in shorts)

    def all(self, connection: sqlite3.Connection) -> Sequence[PersonRow]:
        """Everybody of whom the node knows, sorted by feed; further feeds of people are nobody. Raises ContactsError,
        sqlite3.Error, StoreFailedError."""
        kept = {glimpse.feed: glimpse for glimpse in self._glance.feeds()}
        told = {
            FeedId(feed): (said, last_us)
            for feed, said, last_us in connection.execute("SELECT feed, said, last_us FROM people")
        }
        sealed = {FeedId(feed) for (feed,) in connection.execute(_SEALED, (MessageKind.OPAQUE,))}
        named = {feed for feed, (said, _) in told.items() if said is not None}
        everybody = sorted((kept.keys() - sealed) | named | self.contacts().keys())
        lists = self._lists(connection)
        return [self._row(feed, kept.get(feed), lists, *told.get(feed, (None, None))) for feed in everybody]

    def one(self, connection: sqlite3.Connection, feed: FeedId) -> PersonRow | None:
        """One of them. Raises as ``all`` does."""
        return next((person for person in self.all(connection) if person.feed == feed), None)

    def _row(
        self,
        feed: FeedId,
        glimpse: FeedSummary | None,
        lists: Mapping[FeedId, frozenset[bytes]],
        said: str | None,
        last_us: int | None,
    ) -> PersonRow:
        contact = self._contacts.get(feed, NOBODY)
        own = glimpse is not None and glimpse.own
        blocked_by = () if own else self._blocked_by(lists, feed)
        return PersonRow(
            feed=feed,
            alias=contact.name if contact.name is not None else said,
            said=said,
            own=own,
            entries=0 if glimpse is None else glimpse.seq,
            last_us=last_us,
            blocked=bool(contact.blocked) or bool(blocked_by),
            blocked_by=blocked_by,
            list_followed=contact.list_followed,
        )


def blocklist(connection: sqlite3.Connection, feed: FeedId) -> frozenset[bytes]:
    """The list of blocks that the author of *feed* published, as beginnings of feed ids. Raises sqlite3.Error."""
    steps = (parse_block_step(content) for (content,) in connection.execute(_BLOCKS, (bytes(feed),)))
    return fold_blocks(step for step in steps if step is not None)
