"""Set reconciliation by CLAIMs and NOVELTYs (spec 3.3; docs/formats/packets.md).

A claim gives the lowest and highest id of a region, the XOR and the number of its ids. A receiver learns the two ids,
compares the rest, and answers with claims of smaller regions, until every difference is found.
"""

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from math import comb
from operator import xor

from tinyssb_node import limits
from tinyssb_node.codec.packets import Claim, Novelty
from tinyssb_node.errors import ImpossibleClaimError
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset, xor_of
from tinyssb_node.replication.limits import MISSING_MAX, MISSING_TRIED_MAX


def claim_of(feeds: Sequence[FeedId]) -> Claim:
    """Return the claim of a region, given as its ids in order; at least one."""
    return Claim(low=feeds[0], high=feeds[-1], xor=xor_of(feeds), count=len(feeds))


def named_feeds(claim: Claim) -> tuple[FeedId, ...]:
    """Return the ids that follow from a claim: its bounds, and the one between them if there are three.

    Raises ImpossibleClaimError for a claim that no set has.
    """
    low, high = claim.low, claim.high
    if claim.count == 0 or low > high or (claim.count == 1) != (low == high):
        raise ImpossibleClaimError(claim)
    if claim.count > 3:
        return (low, high)
    bounds = (low,) if low == high else (low, high)
    rest = xor_of((claim.xor, *bounds))
    if claim.count < 3:
        if any(rest):
            raise ImpossibleClaimError(claim)
        return bounds
    middle = FeedId(rest)
    if not low < middle < high:
        raise ImpossibleClaimError(claim)
    return (low, middle, high)


def agrees(goset: Goset, claim: Claim) -> bool:
    """Return True if our ids in the region of *claim* are exactly those it describes."""
    held = goset.region(claim.low, claim.high)
    return len(held) == claim.count and xor_of(held) == claim.xor


def as_claim(said: Claim | Novelty) -> Claim:
    """Return *said* as a claim: an id that is named is a set of one."""
    return claim_of([said.feed]) if isinstance(said, Novelty) else said


def covers(goset: Goset, claim: Claim) -> bool:
    """Return True if *claim* is about at least our whole set."""
    return len(goset) > 0 and claim.low <= goset[0] and claim.high >= goset[len(goset) - 1]


def reconciling_claims(
    goset: Goset, claim: Claim, *, can_learn: bool, helping: bool = True
) -> list[Claim | Novelty]:
    """Return the claims that answer a *claim* which differs from our set, after its named ids were added where there
    was room.

    A node with no more ids than the claimant asks, by claiming the same region. A node with no fewer helps, by claiming
    what lies between the bounds in two halves. With equal counts both know something, and both are sent. A node that
    cannot learn (a full set, a disk that cannot be written) does not ask, nor help a set that is full too: it would
    never end. Not *helping* is for nodes that help in another way.
    """
    if not can_learn and claim.count >= limits.SET_MAX:
        return []
    held = goset.region(claim.low, claim.high)
    said: list[Claim | Novelty] = []
    if can_learn and held and len(held) <= claim.count:
        said.append(claim_of(held))
    if helping and len(held) >= claim.count:
        between = [feed for feed in held if claim.low < feed < claim.high]
        half = len(between) // 2
        if len(between) == 1:
            said.append(Novelty(feed=between[0]))
        elif len(between) <= 3:
            said.extend([claim_of(between)] if between else [])
        else:
            said.extend([claim_of(between[:half]), claim_of(between[half:])])
    return said


def missing_feeds(goset: Goset, claim: Claim) -> tuple[FeedId, ...]:
    """Return our ids in the region of *claim* that the claimant lacks, in order: those whose XOR is the difference.
    Empty if it also has some that we lack, if more than a few are missing, or if too many sets of ids would have to be
    tried: of each, the last id follows from the others."""
    held = goset.region(claim.low, claim.high)
    count = len(held) - claim.count
    if not 1 <= count <= MISSING_MAX or comb(len(held), count - 1) > MISSING_TRIED_MAX:
        return ()
    difference = int.from_bytes(xor_of((claim.xor, *held)))
    ours = {int.from_bytes(feed): feed for feed in held}
    for chosen in combinations(ours, count - 1):
        last = reduce(xor, chosen, difference)
        if last in ours and last not in chosen:
            return tuple(sorted(ours[each] for each in (*chosen, last)))
    return ()


def claims_naming(goset: Goset, feeds: Sequence[FeedId]) -> list[Claim]:
    """Return claims whose bounds are *feeds*, ids of ours in order: two in each."""
    return [claim_of(goset.region(feeds[n], feeds[n : n + 2][-1])) for n in range(0, len(feeds), 2)]


def near_full_claims(goset: Goset, claim: Claim) -> list[Claim]:
    """Return claims of almost all our ids in *claim*'s region, largest first: the same question in several forms.

    A deployed pub answers three questions every 15 s, from any node, to one of its connections after the other: a node
    that asks one question at a time may never be answered.
    """
    held = goset.region(claim.low, claim.high)
    asked: list[Claim] = []
    for size in range(len(held) - 1, 2, -1):
        for first in range(len(held) - size + 1):
            if len(asked) == limits.INSISTING_MAX:
                return asked
            asked.append(claim_of(held[first : first + size]))
    return asked
