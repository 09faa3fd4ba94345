"""Answers what the control protocol asks about forks (docs/formats/control.md), and dates them."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from tinyssb_node.codec.events import Effect, ForkFound
from tinyssb_node.control.rows import ForkRow
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.feeds.fork import ForkProof, fork_ids, verify_proof
from tinyssb_node.feeds.forkfile import ForkFile, network_tag, serialize_fork_file
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, Store

_META: Final = "fork {feed} {seq}"
"""The name under which the store keeps when a fork was found."""


def date_forks(store: Store, effects: Iterable[Effect], wall_us: int) -> None:
    """Keep when the forks among *effects* were found: to be committed along with them."""
    for effect in effects:
        if isinstance(effect, ForkFound):
            store.put_meta(_name(effect.feed, effect.seq), str(wall_us))


async def send_forks(
    place: NetworkStorage, records: Iterable[FeedRecord], send: Callable[[object], Awaitable[None]]
) -> int:
    """Send an item for every fork that *place* has a proof of, sorted by feed and place. Returns their number."""
    known = {record.feed: record for record in records}
    # A proof that was damaged on the disk is for `tinyssb verify` to tell.
    proofs = [
        proof for proof in place.store.forks() if proof.feed in known and verify_proof(place.network, proof)
    ]
    for proof in proofs:
        await send(_row(place, known[proof.feed], proof))
    return len(proofs)


def _row(place: NetworkStorage, record: FeedRecord, proof: ForkProof) -> ForkRow:
    held, other = fork_ids(place.network, proof)
    found = place.store.get_meta(_name(proof.feed, proof.seq))
    return ForkRow(
        feed=proof.feed.hex(),
        own=record.ours,
        seq=proof.seq,
        entries=record.seq,
        held=held.hex(),
        other=other.hex(),
        found_us=None if found is None else int(found),
        proof=serialize_fork_file(ForkFile(proof, network_tag(place.network))).decode("ascii"),
    )


def _name(feed: FeedId, seq: int) -> str:
    return _META.format(feed=feed.hex(), seq=seq)
