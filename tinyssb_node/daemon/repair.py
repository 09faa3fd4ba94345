"""Plan of the cuts that leave only valid data in a store, from the damage that ``verify`` found."""

from collections.abc import Iterable, Sequence

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.verify import Damage, judge_packet
from tinyssb_node.feeds.chain import Extended, Tip
from tinyssb_node.feeds.sidechain import ChunkAccepted, SideChain, advance, begin
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, Store
from tinyssb_node.store.repair import ChainCut, FeedCut, ForkCut


def plan_repair(
    store: Store, network: Network, damages: Iterable[Damage], *, own: bool
) -> tuple[list[FeedCut | ForkCut], list[FeedId]]:
    """Return the cuts for *damages*, and our own feeds that stay as they are because *own* is false.

    A feed is cut before its first damaged entry, because peers send it again in order; a side chain before its first
    damaged packet.
    """
    by_feed: dict[FeedId, list[Damage]] = {}
    cuts: list[FeedCut | ForkCut] = []
    for damage in damages:
        if damage.proof:
            cuts.append(ForkCut(damage.feed, damage.seq))
        else:
            by_feed.setdefault(damage.feed, []).append(damage)
    spared: list[FeedId] = []
    for record in store.feeds():
        found = by_feed.get(record.feed)
        if found is None:
            continue
        if record.ours and not own:
            spared.append(record.feed)
        else:
            cuts.append(_cut(store, network, record, found))
    return cuts, spared


def _cut(store: Store, network: Network, record: FeedRecord, damages: Sequence[Damage]) -> FeedCut:
    entries = [damage.seq for damage in damages if damage.seq and damage.chunk is None]
    # Damaged entries beyond the frontier come again, and so do those that are not: all are removed with every cut.
    keep = min([_last(store, record.feed), *(seq - 1 for seq in entries)])
    chains = [
        ChainCut(damage.seq, *_whole(store, network, record, damage.seq, damage.chunk))
        for damage in damages
        if damage.chunk is not None and damage.seq <= keep
    ]
    return FeedCut(record.feed, keep, tuple(chains))


def _last(store: Store, feed: FeedId) -> int:
    """Return the number of the last stored entry."""
    last = 0
    while page := store.entries(feed, last + 1, limits.CONTROL_PAGE):
        last = page[-1].seq
    return last


def _whole(
    store: Store, network: Network, record: FeedRecord, seq: int, held: int
) -> tuple[int, SideChain | None]:
    """Return how many packets of an entry's side chain are valid, and the state of the side chain after them."""
    entry, before = store.entry(record.feed, seq), store.entry(record.feed, seq - 1)
    assert entry is not None
    tip = Tip(record.feed, record.dialect, seq - 1, None if before is None else before.id)
    outcome = judge_packet(network, tip, entry.packet)
    assert isinstance(outcome, Extended)
    chain = begin(record.feed, seq, outcome.layout)
    if chain is None:
        return 0, None
    for number in range(held):
        packet = store.chunk(record.feed, seq, number)
        assert packet is not None
        grown = advance(chain, packet)
        assert isinstance(grown, ChunkAccepted)
        chain = grown.chain
    return held, chain
