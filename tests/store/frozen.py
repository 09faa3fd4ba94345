"""Calls that make the frozen stores in ``tests/vectors/store``."""

from pathlib import Path

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.feeds.author import compose, compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.feeds.fork import ForkProof
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.feeds.sidechain import ChunkAccepted, advance, begin
from tinyssb_node.ids import Dialect, FaceName, Origin
from tinyssb_node.store.port import AirtimeCharge, FeedRecord, NewestEntry, Receipt, Store

FOLDER = Path(__file__).parents[1] / "vectors" / "store"
NETWORK = Network()
OWN, PEER, FORKED, UNWANTED, CHILD, RETIRED, BEYOND, NAMED, NEWEST = (
    SigningKey(bytes((n,)) * 32) for n in range(1, 10)
)


def fill(store: Store, version: int) -> None:
    """All that a store of *version* can hold."""
    _fill(store)
    if version >= 2:
        _charge(store)
    if version >= 3:
        _receipts(store)
    if version >= 4:
        _children(store)
    if version >= 5:
        _beyond(store)
    if version >= 6:
        _newest(store)


def _newest(store: Store) -> None:
    """A feed that is followed newest first, with an entry beyond its frontier and part of that one's side chain."""
    tip = _put(store, NEWEST, Dialect.SPEC, newest=10)
    entries = []
    for content in (b"first", b"missing", b"last " * 70):
        entries.append(compose(NETWORK, NEWEST, tip, content))
        tip = entries[-1].extended.tip
    first, last = entries[0], entries[2]
    assert first.extended.tip.id is not None
    assert last.extended.tip.id is not None
    store.append_entry(NEWEST.feed_id, 1, first.packet, first.extended.tip.id, Origin.PEER, FaceName("udp"))
    store.put_newest_entry(
        NewestEntry(
            feed=NEWEST.feed_id,
            seq=3,
            prev=last.extended.prev,
            id=last.extended.tip.id,
            packet=last.packet,
            chunks=last.chunks[:2],
        )
    )
    store.commit(1_700_000_007_000_000)


def _beyond(store: Store) -> None:
    """A feed beyond the set that is followed, and one in the set that only a peer named, with an entry each."""
    for key, beyond in ((BEYOND, True), (NAMED, False)):
        tip = _put(store, key, Dialect.SPEC, beyond=beyond, followed=beyond)
        entry = compose(NETWORK, key, tip, b"short")
        assert entry.extended.tip.id is not None
        store.append_entry(key.feed_id, 1, entry.packet, entry.extended.tip.id, Origin.PEER, FaceName("udp"))
    store.commit(1_700_000_006_000_000)


def _children(store: Store) -> None:
    """A further feed of ours, and one that has left the set."""
    for key, child in ((CHILD, True), (RETIRED, False)):
        tip = _put(store, key, Dialect.SPEC, child=child, retired=not child)
        ended = compose_fixed(NETWORK, key, tip, serialize_continued(END), type_=EntryType.CONTINUED)
        assert ended.extended.tip.id is not None
        store.append_entry(key.feed_id, 1, ended.packet, ended.extended.tip.id, Origin.IMPORT, None)
    store.commit(1_700_000_005_000_000)


def _receipts(store: Store) -> None:
    """Put receipts: by signature, by packets heard with a speaker and without, and our own acknowledgements."""
    own, peer = OWN.feed_id, PEER.feed_id
    for number, feed, seq, holder, face, speaker in (
        (3, own, 2, None, FaceName("lora"), b"\x01\xfe"),
        (5, own, 3, None, FaceName("udp"), b""),
        (6, own, 3, peer, None, b""),
        (9, peer, 1, own, None, b""),
    ):
        receipt = Receipt(
            number=number, feed=feed, seq=seq, holder=holder, face=face, speaker=speaker, known_us=0
        )
        store.put_receipt(receipt)
    store.commit(1_700_000_004_000_000)


def _charge(store: Store) -> None:
    """A charge that has left, one that may not have, and one of another account."""
    for band, number, advert, ended_us in (
        ("EU868", 7, True, 500_000),
        ("EU868", 8, False, None),
        ("X", 1, False, 9),
    ):
        charge = AirtimeCharge(band=band, number=number, advert=advert, airtime_us=205_056, ended_us=ended_us)
        store.put_charge(charge)
    store.commit(1_700_000_003_000_000)


def _fill(store: Store) -> None:
    """An own feed with a side chain, a peer's with one under way, one that forked, one that is not wanted."""
    _write(store, OWN, Dialect.SPEC, Origin.OWN, None, chunks_max=99)
    store.commit(1_700_000_000_000_000)
    _write(store, PEER, Dialect.DEPLOYED, Origin.PEER, FaceName("ws:8080#3"), chunks_max=2)
    store.put_meta("boot", "1")
    store.commit(1_700_000_001_000_000)
    _fork(store, FORKED)
    record = FeedRecord(
        feed=UNWANTED.feed_id, dialect=None, seq=0, tip=None, own=False, wanted=False, forked_at=None
    )
    store.put_feed(record)
    store.commit(1_700_000_002_000_000)


def _put(
    store: Store,
    key: SigningKey,
    dialect: Dialect,
    forked_at: int | None = None,
    *,
    child: bool = False,
    retired: bool = False,
    beyond: bool = False,
    followed: bool = True,
    newest: int = 0,
) -> Tip:
    record = FeedRecord(
        feed=key.feed_id,
        dialect=dialect,
        seq=0,
        tip=None,
        own=key.feed_id == OWN.feed_id,
        wanted=True,
        forked_at=forked_at,
        child=child,
        retired=retired,
        beyond=beyond,
        followed=followed,
        newest=newest,
    )
    store.put_feed(record)
    return Tip(key.feed_id, dialect, 0, None)


def _write(
    store: Store, key: SigningKey, dialect: Dialect, origin: Origin, face: FaceName | None, chunks_max: int
) -> None:
    tip = _put(store, key, dialect)
    for content in (b"short", b"f" * 48, b"long" * 100):
        composed = compose(NETWORK, key, tip, content)
        tip = composed.extended.tip
        assert tip.id is not None
        store.append_entry(key.feed_id, tip.seq, composed.packet, tip.id, origin, face)
        layout = layout_of(composed.packet[7], composed.packet[8:56], dialect)
        chain = begin(key.feed_id, tip.seq, layout)
        for number, packet in enumerate(composed.chunks[:chunks_max]):
            assert chain is not None
            store.append_chunk(key.feed_id, tip.seq, number, packet, origin, face)
            advanced = advance(chain, packet)
            assert isinstance(advanced, ChunkAccepted)
            chain = advanced.chain
        if chain is not None:
            store.put_side_chain(chain)


def _fork(store: Store, key: SigningKey) -> None:
    tip = _put(store, key, Dialect.SPEC, forked_at=1)
    one, two = (compose(NETWORK, key, tip, content) for content in (b"one", b"two"))
    assert one.extended.tip.id is not None
    store.append_entry(key.feed_id, 1, one.packet, one.extended.tip.id, Origin.IMPORT, None)
    proof = ForkProof(key.feed_id, 1, Dialect.SPEC, one.extended.prev, one.packet, two.packet)
    store.put_fork(proof)
