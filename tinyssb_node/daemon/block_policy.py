"""The feeds that the node blocks: those that its user blocked, and those named by blocklists that its user follows.

Both sources are read again when they have changed: the contacts file, which screens write, and the feeds of the lists.
"""

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path

from tinyssb_node import limits
from tinyssb_node.codec.events import Effect
from tinyssb_node.content.blocklist import BlockStep, fold_blocks, may_be_block_step, parse_block_step
from tinyssb_node.content.contacts import CONTACTS_FILE, Contact, ContactsError, read_contacts
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.errors import StoreFullError
from tinyssb_node.ids import Dialect, FeedId, NetworkName, blocked_short
from tinyssb_node.node.node import Node
from tinyssb_node.store.entries import entry_layout, read_whole_content
from tinyssb_node.store.port import Store, StoredEntry


class _FollowedList:
    """A blocklist that the user follows, as far as its feed was read."""

    def __init__(self, feed: FeedId) -> None:
        self._feed = feed
        self._read_seq = 0
        self._steps: dict[int, BlockStep] = {}
        self._waiting: dict[int, StoredEntry] = {}
        """Entries whose side chains are not complete."""
        self.shorts: frozenset[bytes] = frozenset()

    def read_new(self, store: Store) -> None:
        """Read the entries that came to *store* since the last call."""
        steps = len(self._steps)
        new = store.entries(self._feed, self._read_seq + 1, limits.CONTROL_PAGE)
        if not (new or self._waiting):
            return
        dialect = next(record.dialect for record in store.feeds() if record.feed == self._feed)
        for entry in [*self._waiting.values()]:
            self._read_entry(store, entry, dialect)
        while new:
            for entry in new:
                self._read_entry(store, entry, dialect)
            self._read_seq = new[-1].seq
            new = store.entries(self._feed, self._read_seq + 1, limits.CONTROL_PAGE)
        if len(self._steps) > steps:
            self.shorts = fold_blocks(step for _, step in sorted(self._steps.items()))

    def _read_entry(self, store: Store, entry: StoredEntry, dialect: Dialect | None) -> None:
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
    """The blocked feeds of each network, handed to its node when they change."""

    def __init__(self, home: Path, places: Iterable[NetworkStorage], logger: Logger) -> None:
        """Read nothing yet. *home* has the contacts file."""
        self._home = home
        self._logger = logger
        self._stores = {place.name: place.store for place in places}
        self._contacts: dict[FeedId, Contact] = {}
        self._seen: tuple[int, int, int] | None = None
        """The state of the contacts file that was read: its inode, size and time of change."""
        self._lists: dict[NetworkName, dict[FeedId, _FollowedList]] = {name: {} for name in self._stores}
        self._applied: dict[NetworkName, frozenset[bytes]] = {}

    def tick(self, runtime: Runtime) -> None:
        """Hand changes to the nodes."""
        for network in self._stores:
            before = self._applied.get(network)
            if (shorts := self.for_node(network)) != before:
                # If the disk is full now, the nodes are loaded again, and then ask for the blocks.
                with suppress(StoreFullError):
                    runtime.do(partial(_block, shorts), network)

    def for_node(self, network: NetworkName) -> frozenset[bytes]:
        """Return the same as ``blocked``, for the node of *network*, and remember that it has it."""
        shorts = self._applied[network] = self.blocked(network)
        return shorts

    def blocked(self, network: NetworkName) -> frozenset[bytes]:
        """Return the first bytes of the ids of the feeds that are blocked in *network* now."""
        self._read_contacts()
        followed = [feed for feed, contact in self._contacts.items() if contact.list_followed]
        known = self._lists[network]
        lists = self._lists[network] = {feed: known.get(feed) or _FollowedList(feed) for feed in followed}
        for each in lists.values():
            each.read_new(self._stores[network])
        named = frozenset[bytes]().union(*(each.shorts for each in lists.values()))
        return (named - self._decided(blocked=False)) | self._decided(blocked=True)

    def _decided(self, *, blocked: bool) -> set[bytes]:
        """Return the contacts that the user blocked, or said not to block, by *blocked*."""
        return {blocked_short(feed) for feed, contact in self._contacts.items() if contact.blocked is blocked}

    def _read_contacts(self) -> None:
        """Read the contacts file again if it has changed. If it cannot be read, log that once and change nothing."""
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
                "the contacts file cannot be read: blocked feeds stay as they were", error=str(error)
            )


def _block(shorts: frozenset[bytes], node: Node, now_us: int) -> tuple[None, list[Effect]]:
    return None, node.block(shorts, now_us)
