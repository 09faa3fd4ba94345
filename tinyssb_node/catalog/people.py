"""People: feeds with what they call themselves, and what our user thinks of them."""

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tinyssb_node.catalog.contacts import CONTACTS_FILE, NOBODY, Contact, read_contacts
from tinyssb_node.catalog.rows import Kind, PersonRow
from tinyssb_node.ids import FeedId
from tinyssb_node.store.glance import Glance, Glimpse

_SEALED: Final = """
SELECT people.feed FROM people JOIN messages ON messages.feed = people.number AND seq = 1
WHERE NOT own AND kind = ? AND NOT cut AND chunks > 0
"""
"""Feeds that begin with something long that nobody here can read: what somebody says to a private group, probably."""


class People:
    """Contacts as the file has them now, and the feeds of the store."""

    def __init__(self, home: Path, glance: Glance) -> None:
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

    def blocked(self) -> list[FeedId]:
        """Whose messages are not shown. Raises ContactsError."""
        return [feed for feed, contact in self.contacts().items() if contact.blocked]

    def all(self, connection: sqlite3.Connection) -> Sequence[PersonRow]:
        """Everybody of whom the node knows, sorted by feed; further feeds of people are nobody. Raises ContactsError,
        sqlite3.Error, StoreFailedError."""
        kept = {glimpse.feed: glimpse for glimpse in self._glance.feeds()}
        told = {
            FeedId(feed): (said, last_us)
            for feed, said, last_us in connection.execute("SELECT feed, said, last_us FROM people")
        }
        sealed = {FeedId(feed) for (feed,) in connection.execute(_SEALED, (Kind.OPAQUE,))}
        named = {feed for feed, (said, _) in told.items() if said is not None}
        everybody = sorted((kept.keys() - sealed) | named | self.contacts().keys())
        return [self._row(feed, kept.get(feed), *told.get(feed, (None, None))) for feed in everybody]

    def one(self, connection: sqlite3.Connection, feed: FeedId) -> PersonRow | None:
        """One of them. Raises as ``all`` does."""
        return next((person for person in self.all(connection) if person.feed == feed), None)

    def _row(self, feed: FeedId, glimpse: Glimpse | None, said: str | None, last_us: int | None) -> PersonRow:
        contact = self._contacts.get(feed, NOBODY)
        return PersonRow(
            feed=feed,
            alias=contact.name if contact.name is not None else said,
            said=said,
            own=glimpse is not None and glimpse.own,
            entries=0 if glimpse is None else glimpse.seq,
            last_us=last_us,
            blocked=contact.blocked,
        )
