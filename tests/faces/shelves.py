"""Stores with feeds in them, as faces may look into them."""

from collections.abc import Sequence

from tests.nodes import key_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.face_store_reader import FaceStoreReader
from tinyssb_node.ids import Dialect, FaceName, FeedId, Origin, Seq
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord


class Shelf(FaceStoreReader):
    """A Library on a store in memory that a test fills."""

    def __init__(self, network: Network | None = None, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.known: set[bytes] = set()
        """The packets for which ``knows`` returns True."""
        super().__init__(network or Network(), self.store, self.known.__contains__, self.store.put_meta)

    def fill(
        self, name: str, contents: Sequence[bytes], *, face: str | None = None, wanted: bool = True
    ) -> list[bytes]:
        """Put the feed of *name* in, as it came by *face*, or as ours. Returns its packets in order of arrival."""
        origin = Origin.OWN if face is None else Origin.PEER
        came = None if face is None else FaceName(face)
        feed, packets = self.follow(name, wanted=wanted), []
        for seq, entry in enumerate(written(key_of(name), contents), start=1):
            assert entry.extended.tip.id is not None
            self.store.append_entry(feed, Seq(seq), entry.packet, entry.extended.tip.id, origin, came)
            packets.append(entry.packet)
            for number, chunk in enumerate(entry.chunks):
                self.store.append_chunk(feed, Seq(seq), number, chunk, origin, came)
                packets.append(chunk)
        self.store.commit(0)
        return packets

    def follow(self, name: str, *, wanted: bool = True) -> FeedId:
        """Put the feed of *name* into the set, or say whether it is wanted."""
        feed = key_of(name).feed_id
        known = {record.feed: record for record in self.store.feeds()}.get(feed)
        self.store.put_feed(
            FeedRecord(
                feed=feed,
                dialect=known.dialect if known else Dialect.SPEC,
                seq=known.seq if known else 0,
                tip=known.tip if known else None,
                own=False,
                wanted=wanted,
                forked_at=None,
            )
        )
        return feed
