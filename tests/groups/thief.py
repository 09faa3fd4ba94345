"""A thief with all that a device has: its seed, its store with all entries and secrets, and nothing in memory.

The thief does not use the program's rules of what to keep. Whatever 32 bytes they have, they try as every kind of key.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from tinyssb_node.groups.entry_source import StoreEntrySource
from tinyssb_node.groups.keys import GroupKeys
from tinyssb_node.groups.messages import GroupContent, OpenedGroupMessage, text_of
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.text_chains import (
    ChainDelivery,
    next_key,
    open_delivery,
    parse_delivery,
    parse_prekey,
    parse_text,
    text_key,
    uncover,
)
from tinyssb_node.ids import MessageId
from tinyssb_node.store.port import Store

Parsed = TypeVar("Parsed")
STEPS = 12
"""Steps of a chain that the thief computes from each key."""


class Thief:
    """All keys that follow from a seed, a store and its secrets, and the messages of a group that they open."""

    def __init__(self, seed: bytes, store: Store, root: MessageId, more: Iterable[bytes] = ()) -> None:
        """Take all of it; *more* are other bytes to try as keys."""
        self.keys = GroupKeys(seed, bytes)
        source = StoreEntrySource(store)
        reader = GroupReader(self.keys, source)
        while not source.read_all or reader.unfinished:
            reader.go_on()
            for entry in source.next(256):
                reader.take(entry)
        self.reader = reader
        group = reader.groups[root].group
        self.said = [line.said for line in group.audit()]
        secrets = store.get_secret() or b""
        windows = {secrets[at : at + 32] for at in range(len(secrets) - 31)}
        people = [self.keys.member(person) for person in reader.people_of(root) if person != self.keys.main]
        slots = [self.keys.own, *(slot for slot in people if slot is not None)]
        self.pool: set[bytes] = {seed, self.keys.waits_seed, *windows, *more}
        self.pool |= {slot.key for slot in slots} | {bytes(key) for key in reader.keys_of(root)}
        self._open_deliveries()

    def _open_deliveries(self) -> None:
        """Try every key as a prekey on every delivery."""
        prekeys = {one.public for said in self.said if (one := self._content(said, parse_prekey)) is not None}
        for said in self.said:
            delivery = self._content(said, parse_delivery)
            if delivery is not None:
                self.pool |= set(self._opened(said, delivery, prekeys))

    def _opened(
        self, said: OpenedGroupMessage, delivery: ChainDelivery, prekeys: set[bytes]
    ) -> Iterable[bytes]:
        named = [prekey for prekey in prekeys if prekey[:4] in delivery.slots]
        for secret in list(self.pool):
            for prekey in named:
                key = open_delivery(delivery, secret, prekey, said.author)
                if key is not None:
                    yield key

    @staticmethod
    def _content(said: OpenedGroupMessage, parse: Callable[[GroupContent], Parsed | None]) -> Parsed | None:
        return parse(said.message) if isinstance(said.message, GroupContent) else None

    def texts(self) -> set[str]:
        """Return all texts that any of the keys opens, as a step of a chain or as the key of a text."""
        found = set()
        tried = self.pool.union(*map(_steps, self.pool))
        for said in self.said:
            text = self._content(said, parse_text)
            content = said.message
            if isinstance(content, GroupContent) and (plain := text_of(content)) is not None:
                found.add(plain)
            for key in tried if text is not None and isinstance(content, GroupContent) else ():
                assert text is not None
                assert isinstance(content, GroupContent)
                opened = uncover(text, content, key, said.author)
                if opened is not None:
                    found.add(text_of(opened) or "")
        return found


def _steps(key: bytes) -> Iterable[bytes]:
    """Return the keys of texts of a chain from *key* on."""
    for _ in range(STEPS):
        yield text_key(key)
        key = next_key(key)
