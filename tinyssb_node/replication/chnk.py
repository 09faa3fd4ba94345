"""CHNK: requests for packets of side chains (docs/formats/packets.md)."""

from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.codec.bipf import encoded_size
from tinyssb_node.codec.packets import Chnk
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset


def build_chnk(goset: Goset, chains: Sequence[SideChain], start: int) -> tuple[Chnk, int] | None:
    """Build a CHNK of as many unfinished side chains, of feeds in the set, from number *start* on as fit a packet, and
    where to start the next. None if there are none."""
    if not chains:
        return None
    asked: list[tuple[int, int, int]] = []
    size = 2
    while len(asked) < len(chains):
        chain = chains[(start + len(asked)) % len(chains)]
        item = (goset.index(chain.feed), chain.seq, chain.held)
        size += encoded_size(list(item))
        if size > limits.VECTOR_SIZE:
            break
        asked.append(item)
    return Chnk(wanted=tuple(asked)), (start + len(asked)) % len(chains)


def read_chnk(goset: Goset, chnk: Chnk) -> list[tuple[FeedId, int, int]]:
    """Return the requested (feed, sequence number, first chunk); indices beyond our set are left out."""
    return [(goset[index], seq, chunk) for index, seq, chunk in chnk.wanted if index < len(goset)]
