"""Whom the node takes nothing from: whom its user blocked, and whom lists of blocks name that its user follows.

Both are looked at again when they changed: the file of contacts, which screens write, and the feeds of the lists.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from tinyssb_node import limits
from tinyssb_node.content.blocklist import BlockStep, fold_blocks, may_be_block_step, parse_block_step
from tinyssb_node.content.contacts import CONTACTS_FILE, Contact, ContactsError, read_contacts
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.effects import Effect
from tinyssb_node.errors import StoreFullError
from tinyssb_node.ids import Dialect, FeedId, NetworkName, blocked_short
from tinyssb_node.node.node import Node
from tinyssb_node.store.entries import entry_layout, read_whole_content
from tinyssb_node.store.port import Store, StoredEntry


class _List:
    """One list, as far as its feed was read."""

    def __init__(self, feed: FeedId) -> None:
        self._feed = feed
        self._read = 0
        self._steps: dict[int, BlockStep] = {}
        self._waiting: dict[int, StoredEntry] = {}
        """Entries whose side chains are not whole."""
        self.shorts: frozenset[bytes] = frozenset()

    def look(self, store: Store) -> None:
        """Read what *store* has of it, and did not have before."""
        steps = len(self._steps)
        new = store.entries(self._feed, self._read + 1, limits.CONTROL_PAGE)
        if not (new or self._waiting):
            return
        dialect = next(record.dialect for record in store.feeds() if record.feed == self._feed)
        for entry in [*self._waiting.values()]:
            self._take(store, entry, dialect)
        while new:
            for entry in new:
                self._take(store, entry, dialect)
            self._read = new[-1].seq
            new = store.entries(self._feed, self._read + 1, limits.CONTROL_PAGE)
        if len(self._steps) > steps:
            self.shorts = fold_blocks(step for _, step in sorted(self._steps.items()))

    def _take(self, store: Store, entry: StoredEntry, dialect: Dialect | None) -> None:
        layout = entry_layout(entry, dialect)
        if not may_be_block_step(layout.head):
            return
        content = read_whole_content(store, entry, layout)
        if content is None:
            self._waiting[entry.seq] = entry
            return
        self._waiting.pop(entry.seq, None)
        if (step := parse_block_step(content)) is not None:
            self._steps[entry.seq] = step


class BlockPolicy:
    """Tells nodes whom to take nothing from."""

    def __init__(self, home: Path, places: Iterable[NetworkStorage], logger: Logger) -> None:
        """*home* has the file of contacts. Nothing is read yet."""
        self._home = home
        self._logger = logger
        self._stores = {place.name: place.store for place in places}
        self._contacts: dict[FeedId, Contact] = {}
        self._seen: tuple[int, int, int] | None = None
        """Which state of the file of contacts was read: its node, size and time of change."""
        self._lists: dict[NetworkName, dict[FeedId, _List]] = {name: {} for name in self._stores}
        self._told: dict[NetworkName, frozenset[bytes]] = {}

    def tick(self, runtime: Runtime) -> None:
        """Tell the nodes what has changed."""
        for network in self._stores:
            before = self._told.get(network)
            if (shorts := self.for_node(network)) != before:
                # On a disk that is full meanwhile, nodes are loaded anew, and ask.
                with suppress(StoreFullError):
                    runtime.do(partial(_block, shorts), network)

    def for_node(self, network: NetworkName) -> frozenset[bytes]:
        """The same as ``blocked``, for the node of *network*, which is told it or asks: it is told no more of it."""
        shorts = self._told[network] = self.blocked(network)
        return shorts

    def blocked(self, network: NetworkName) -> frozenset[bytes]:
        """How the ids of feeds begin that are blocked in *network*, as of now."""
        self._look_at_contacts()
        followed = [feed for feed, contact in self._contacts.items() if contact.list_followed]
        known = self._lists[network]
        lists = self._lists[network] = {feed: known.get(feed) or _List(feed) for feed in followed}
        for each in lists.values():
            each.look(self._stores[network])
        named = frozenset[bytes]().union(*(each.shorts for each in lists.values()))
        return (named - self._decided(blocked=False)) | self._decided(blocked=True)

    def _decided(self, *, blocked: bool) -> set[bytes]:
        """Of whom our user said that they are *blocked*, or are not."""
        return {blocked_short(feed) for feed, contact in self._contacts.items() if contact.blocked is blocked}

    def _look_at_contacts(self) -> None:
        """Read the file again if it is another one. One that cannot be read changes nothing, and is told of once."""
        try:
            status = (self._home / CONTACTS_FILE).stat()
            seen = (status.st_ino, status.st_size, status.st_mtime_ns)
        except OSError:
            seen = (0, 0, 0)
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._contacts = read_contacts(self._home)
        except ContactsError as error:
            self._logger.warning(
                "whom the user blocked cannot be read: blocks stay as they were", error=str(error)
            )


def _block(shorts: frozenset[bytes], node: Node, now_us: int) -> tuple[None, list[Effect]]:
    return None, node.block(shorts, now_us)
