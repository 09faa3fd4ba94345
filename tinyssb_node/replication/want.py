"""WANT: requests for entries (spec 3.4)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tinyssb_node import limits
from tinyssb_node.codec.bipf import encoded_size
from tinyssb_node.codec.packets import Want
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset

NOT_WANTED = 0
"""The number that asks for nothing."""


@dataclass(frozen=True, slots=True)
class WantReading:
    """A WANT compared with our own entries."""

    wanted: tuple[tuple[FeedId, int], ...]
    """(feed, next wanted sequence number) of every feed it asks for."""
    unwanted: tuple[FeedId, ...]
    """Feeds that it asks nothing of."""
    serves: bool
    """True if replies to it bring all that we would request of these feeds: it requests nothing later than we do."""
    behind: bool
    """True if its sender has entries that we want and lack."""
    same: bool
    """True if our own WANT would request the same of these feeds."""
    lacking: Mapping[FeedId, int] | None = None
    """How many rows of a generation it lacks, where it says that; None if its sender reads no coded entries."""


def build_want(
    goset: Goset,
    next_wanted: Callable[[FeedId], int],
    start: int,
    lacking: Callable[[FeedId], int] | None = None,
) -> tuple[Want, int] | None:
    """Build a WANT of as many feeds from index *start* on as fit a packet, and the index to start the next one from.

    *next_wanted* returns the next sequence number wanted of a feed, NOT_WANTED for none; *lacking* how many coded
    entries of its generation are missing, as far as is known. None for an empty set.
    """
    if not len(goset):
        return None
    start %= len(goset)
    seqs: list[int] = []
    # A list's tag takes up to two bytes in a packet; the offset is the first item.
    size = 2 + encoded_size(start)
    while len(seqs) < len(goset):
        seq = next_wanted(goset[(start + len(seqs)) % len(goset)])
        size += encoded_size(seq)
        if lacking is not None and len(seqs) % 2 == 0:
            size += 1
        if size > limits.WANT_VECTOR_SIZE:
            break
        seqs.append(seq)
    rows = None
    if lacking is not None:
        rows = tuple(lacking(goset[(start + number) % len(goset)]) for number in range(len(seqs)))
    return Want(offset=start, seqs=tuple(seqs), lacking=rows), (start + len(seqs)) % len(goset)


def read_want(goset: Goset, want: Want, next_wanted: Callable[[FeedId], int]) -> WantReading:
    """Compare a WANT about our very set with our entries. The set is not empty."""
    feeds = [goset.feeds[number % len(goset)] for number in range(want.offset, want.offset + len(goset))]
    reading = read_numbers([*zip(feeds, want.seqs, strict=False)], next_wanted)
    if want.lacking is None:
        return reading
    lacking = {feed: rows for feed, rows in zip(feeds, want.lacking, strict=False) if rows}
    return replace(reading, lacking=lacking)


def read_numbers(numbers: Sequence[tuple[FeedId, int]], next_wanted: Callable[[FeedId], int]) -> WantReading:
    """Compare what a peer requests with our entries: *numbers* are (feed, next wanted sequence number)."""
    wanted: list[tuple[FeedId, int]] = []
    unwanted: list[FeedId] = []
    behind = False
    same = serves = len(numbers) > 0
    for feed, seq in numbers:
        ours = next_wanted(feed)
        same = same and seq == ours
        serves = serves and (ours == NOT_WANTED or NOT_WANTED < seq <= ours)
        if seq != NOT_WANTED:
            wanted.append((feed, seq))
            behind = behind or (ours != NOT_WANTED and seq > ours)
        else:
            unwanted.append(feed)
    return WantReading(
        wanted=tuple(wanted), unwanted=tuple(unwanted), serves=serves, behind=behind, same=same
    )
