"""Rows about feeds for the control socket (docs/formats/control.md)."""

from collections.abc import Iterator, Mapping

from tinyssb_node.control.rows import FeedRow
from tinyssb_node.ids import FeedId
from tinyssb_node.node.node import Node
from tinyssb_node.store.port import FeedRecord


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
            writable=None if identity is None else _is_writable(node, record, now_us),
            retired=record.retired,
        )


def _is_writable(node: Node, record: FeedRecord, now_us: int) -> bool:
    """Return True if something can be published in *record*, a feed of an identity of ours."""
    return not node.read_only and record.forked_at is None and node.waiting(now_us, record.feed) is None
