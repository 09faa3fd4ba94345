"""Rows about feeds and entries for the control socket (docs/formats/control.md)."""

from collections.abc import Iterator, Mapping

from tinyssb_node.codec.events import EntryAppended
from tinyssb_node.control.rows import DiskUseRow, FeedRow, FeedUseRow, PublishedRow
from tinyssb_node.ids import FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.store.limits import STORE_PACKET_BYTES


def feed_rows(node: Node, identities: Mapping[FeedId, str], now_us: int) -> Iterator[FeedRow]:
    """An item for each feed that *node* knows, sorted by feed; *identities* are the names of our own."""
    for record in node.feeds():
        identity = identities.get(record.feed)
        yield FeedRow(
            feed=record.feed.hex(),
            dialect=None if record.dialect is None else record.dialect.value,
            seq=record.seq,
            tip=None if record.tip is None else record.tip.hex(),
            own=record.own,
            wanted=record.wanted,
            blocked=node.is_blocked(record.feed),
            forked_at=record.forked_at,
            child=record.child,
            identity=identity,
            writable=None
            if identity is None
            else not (node.read_only or record.forked_at is not None or node.waiting(now_us, record.feed)),
            retired=record.retired,
            beyond=record.beyond,
            newest=record.newest,
            newest_held=len(node.replica.newest.of_feed(record.feed)),
            followed=record.followed or record.ours,
            bytes=node.replica.quota.packets.get(record.feed, 0) * STORE_PACKET_BYTES,
            evicted=record.evicted,
            pending=node.is_pending(record.feed),
            of_group=node.is_of_group(record.feed),
        )


def disk_use_row(node: Node) -> DiskUseRow:
    """Return the room that the feeds of *node* take: as much as rows take on average."""
    quota = node.replica.quota
    use = dict.fromkeys(("own", "followed", "groups", "others"), 0)
    for feed, packets in quota.packets.items():
        record = node.replica.record(feed)
        if feed in quota.others:
            use["others"] += packets
        elif node.is_of_group(feed):
            use["groups"] += packets
        else:
            use["own" if record.ours else "followed"] += packets
    biggest = sorted(quota.others & quota.packets.keys(), key=lambda feed: (-quota.packets[feed], feed))
    return DiskUseRow(
        **{whose: packets * STORE_PACKET_BYTES for whose, packets in use.items()},
        others_max=quota.limits.total_packets * STORE_PACKET_BYTES,
        biggest=[FeedUseRow(feed.hex(), quota.packets[feed] * STORE_PACKET_BYTES) for feed in biggest[:5]],
        evicted=len(quota.evicted),
        closed=quota.limits.closed,
    )


def published_row(event: EntryAppended) -> PublishedRow:
    """Return the row of an entry of ours."""
    return PublishedRow(
        feed=event.feed.hex(),
        seq=event.seq,
        id=event.id.hex(),
        type=event.type,
        size=event.size,
        chunks=event.chunks,
    )
