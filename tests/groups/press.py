"""A group whose feeds are signed and kept in a store, as nodes keep them; one book reads for all of its members."""

from tests.groups.shelf import Scribe, Shelf, seed_of
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, first_prev
from tinyssb_node.feeds.author import compose, compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.layout import FIXED_TYPE, VARIABLE_TYPE
from tinyssb_node.groups.entry_source import SealedEntry, StoreEntrySource
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.reader_events import ReaderEvent
from tinyssb_node.ids import Dialect, EpochKey, FeedId, MessageId, Origin
from tinyssb_node.store.port import FeedRecord, Store

NETWORK = Network()
AT_ONCE = 256
"""Entries and packets that are read at a time."""


class Press(Shelf):
    """A source that writes into a store."""

    def __init__(self, store: Store, dialect: Dialect = Dialect.SPEC) -> None:
        self.store = store
        self.source = StoreEntrySource(store)
        self.signers: dict[FeedId, SigningKey] = {}
        self.tips: dict[FeedId, Tip] = {}
        self.dialect = dialect
        super().__init__()

    def place(self, feed: FeedId) -> tuple[int, MessageId]:
        """Number of the next entry, and id of the one before."""
        tip = self.tips.get(feed)
        if tip is None or tip.id is None:
            return 1, first_prev(feed, self.dialect)
        return tip.seq + 1, tip.id

    def append(self, feed: FeedId, type_: int, content: bytes) -> SealedEntry:
        """Write an entry."""
        seq, prev = self.place(feed)
        if feed not in self.tips:
            self.tips[feed] = Tip(feed, self.dialect, 0, None)
            self.feeds[feed] = {}
            self.store.put_feed(
                FeedRecord(
                    feed=feed, dialect=self.dialect, seq=0, tip=None, own=True, wanted=True, forked_at=None
                )
            )
        key, tip = self.signers[feed], self.tips[feed]
        if type_ in {FIXED_TYPE, VARIABLE_TYPE}:
            composed = compose(NETWORK, key, tip, content)
        else:
            composed = compose_fixed(NETWORK, key, tip, content, type_=type_)
        tip = self.tips[feed] = composed.extended.tip
        assert tip.id is not None
        self.store.append_entry(feed, seq, composed.packet, tip.id, Origin.OWN, None)
        for number, packet in enumerate(composed.chunks):
            self.store.append_chunk(feed, seq, number, packet, Origin.OWN, None)
        return SealedEntry(feed, seq, tip.id, prev, type_, content)

    def read(self, book: GroupReader) -> list[ReaderEvent]:
        """Let *book* take all that is to be handed out."""
        return read_all(self.source, book)


def read_all(source: StoreEntrySource, book: GroupReader) -> list[ReaderEvent]:
    """Let *book* take all that *source* has."""
    news: list[ReaderEvent] = []
    while not source.read_all or book.unfinished:
        news += book.go_on()
        for entry in source.next(AT_ONCE):
            news += book.take(entry)
    return news


class PressScribe(Scribe):
    """A member whose entries go into a store, and who has another one's book."""

    def __init__(self, name: str, press: Press, book: GroupReader | None = None) -> None:
        super().__init__(name)
        self.shelf = press
        self.reader = book or GroupReader(self.keys, press.source)
        main = SigningKey(seed_of(name))
        press.signers[main.feed_id] = main
        additions = self.keys.additions()
        press.signers[additions.feed_id] = additions

    def open_epoch(self, key: EpochKey, feed: FeedId | None = None) -> FeedId:
        """His feed in an epoch, announced."""
        signer = self.keys.epoch(key)
        assert isinstance(self.shelf, Press)
        self.shelf.signers[signer.feed_id] = signer
        return super().open_epoch(key, feed)
