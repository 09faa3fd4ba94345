"""Import of packets by the user, checked before their feed is followed.

The set has few places, they are never given back, and neighbours take over its members. Anybody can make up an id, so
an id alone gets no place: the feed's key must have signed an entry.
"""

from collections.abc import Collection, Sequence
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chunk_hash
from tinyssb_node.codec.events import ChunkAppended, Effect, EntryAppended
from tinyssb_node.control.rows import ImportedRow, RefusedRow
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.errors import NodeReadOnlyError
from tinyssb_node.feeds.chain import Extended, Tip, accept, expectations
from tinyssb_node.ids import FeedId, Verdict, blocked_short
from tinyssb_node.node.node import Node
from tinyssb_node.store.port import FeedRecord, Store

BLOCKED: Final = "blocked"
"""Reason to refuse packets of a feed that the user blocks."""
UNPROVEN: Final = "it is not the next entry that the feed signed, and the feed was not followed"
"""Reason to refuse packets of a feed that is not followed yet."""


def import_packets(
    node: Node,
    storage: NetworkStorage,
    feed: FeedId,
    packets: Sequence[bytes],
    blocked: Collection[bytes],
    now_us: int,
) -> tuple[ImportedRow, list[Effect]]:
    """Import packets of *feed* into *node*, which then follows it, up to the first packet that it refuses. Feeds whose
    ids begin with one of *blocked* are refused (``content.blocklist``).

    Raises SetFullError, NodeReadOnlyError; then nothing was changed.
    """
    if node.read_only:
        raise NodeReadOnlyError
    record = next((record for record in node.feeds() if record.feed == feed), None)
    if not packets:
        return _imported(), []
    if not (record is not None and record.ours) and blocked_short(feed) in blocked:
        return _imported(refused=RefusedRow(packet=0, reason=BLOCKED)), []
    followed = record is not None and record.wanted and not record.retired
    if not (followed or _is_of(feed, record, packets[0], storage.network, storage.store)):
        return _imported(refused=RefusedRow(packet=0, reason=UNPROVEN)), []
    effects = node.follow(feed, now_us)
    entries = chunks = held = 0
    refused = None
    for index, packet in enumerate(packets):
        finding, more = node.import_packet(packet, now_us)
        effects += more
        if finding.verdict is Verdict.DUPLICATE:
            held += 1
        elif finding.verdict is not Verdict.NEW:
            reason = finding.reason or "nothing the node holds leads to it"
            refused = RefusedRow(packet=index, reason=reason)
            break
        entries += sum(isinstance(event, EntryAppended) for event in finding.events)
        chunks += sum(isinstance(event, ChunkAppended) for event in finding.events)
    return _imported(entries, chunks, held, refused), effects


def _imported(
    entries: int = 0, chunks: int = 0, held: int = 0, refused: RefusedRow | None = None
) -> ImportedRow:
    return ImportedRow(entries=entries, chunks=chunks, held=held, refused=refused)


def _is_of(feed: FeedId, record: FeedRecord | None, packet: bytes, network: Network, store: Store) -> bool:
    """Return True if *packet* is stored of *feed*, or comes next after what is stored, which may be nothing."""
    dmx, hash_ = packet[: limits.DMX_SIZE], chunk_hash(packet)
    tip = Tip(feed, None, 0, None) if record is None else Tip(feed, record.dialect, record.seq, record.tip)
    places = [place for place in expectations(network, tip) if place.dmx == dmx]
    if any(isinstance(accept(place, packet), Extended) for place in places):
        return True
    stored = [store.entry(owner, seq) for owner, seq in store.find_entries(dmx) if owner == feed]
    return (
        any(entry is not None and entry.packet == packet for entry in stored)
        or any(owner == feed for owner, _, _ in store.find_chunks(hash_))
        or any(chain.next_hash == hash_ for chain in store.side_chains(feed))
    )
