"""CHNK: requests for packets of side chains (docs/formats/packets.md)."""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from tinyssb_node import limits
from tinyssb_node.codec.bipf import encoded_size
from tinyssb_node.codec.packets import Chnk
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset


class Coding(NamedTuple):
    """The part of a CHNK that is about coded chunks."""

    block_of: Callable[[SideChain], Hashable]
    """Returns which chunk block a side chain is in: the CHNK names one side chain of each. None for a side chain that
    it need not name."""
    lacking: Callable[[SideChain], int]
    """Returns how many rows of that block are missing; 0 for all."""


def build_chnk(
    goset: Goset, chains: Sequence[SideChain], start: int, coding: Coding | None = None
) -> tuple[Chnk, int] | None:
    """Build a CHNK of as many unfinished side chains, of feeds in the set, from number *start* on as fit a packet, and
    where to start the next. None if there are none. *coding* is None where no coded chunks are read."""
    if not chains:
        return None
    asked: list[tuple[int, int, int]] = []
    rows: list[int] = []
    blocks: set[Hashable] = set()
    size = 2 if coding is None else 3
    passed = 0
    for passed in range(len(chains)):
        chain = chains[(start + passed) % len(chains)]
        item = (goset.index(chain.feed), chain.seq, chain.held)
        if coding is not None:
            if (block := coding.block_of(chain)) is None or block in blocks:
                continue
            blocks.add(block)
            size += 1 - len(asked) % 2
        size += encoded_size(list(item))
        if size > limits.VECTOR_SIZE:
            break
        asked.append(item)
        if coding is not None:
            lacking = coding.lacking(chain)
            rows.append(lacking if lacking <= limits.LACKING_MAX else 0)
    else:
        passed = len(chains)
    chnk = Chnk(wanted=tuple(asked), lacking=None if coding is None else tuple(rows))
    return chnk, (start + passed) % len(chains)


def read_chnk(goset: Goset, chnk: Chnk) -> list[tuple[FeedId, int, int]]:
    """Return the requested (feed, sequence number, first chunk); indices beyond our set are left out."""
    return [(goset[index], seq, chunk) for index, seq, chunk in chnk.wanted if index < len(goset)]
