"""Groups of clocks that can be compared, directly or through others, and the reference of each group."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from spark_sink import limits
from spark_sink.arrays import components, take
from spark_sink.clocks.matches import Matches, match
from spark_sink.clocks.shared_packets import ClockPairs, SharedPackets, best_partners

_AGREE_US: Final = 5_000_000  # some clocks are set by hand, by looking at another
LinksByClock: TypeAlias = Mapping[int, Mapping[int, Matches]]
"""For each clock, its links by the clock at the other end."""


@dataclass(frozen=True, slots=True)
class ClockGroup:
    """Clocks that are related, the reference first, each other one next to one that comes before it."""

    clocks: Sequence[int]
    parents: Sequence[int]
    """For each of `clocks`, the clock before it that it shares most with; for the reference, itself."""
    ahead_us: Sequence[int]
    """Rough offsets against the reference."""


def links(packets: SharedPackets, pairs: ClockPairs, clocks: int) -> list[Matches]:
    """Match clocks with their best partners; groups that are still apart then try their next best ones."""
    found: list[Matches] = []
    labels, most = np.arange(clocks), limits.PARTNERS_MAX
    for _ in range(8):  # chains of neighbours join by doubling
        chosen = best_partners(pairs, labels, most)
        if not chosen.any():
            break
        for left, right in zip(pairs.left[chosen].tolist(), pairs.right[chosen].tolist(), strict=True):
            link = match(packets, left, right)
            if link is not None:
                found.append(link)
        pairs = take(pairs, ~chosen)
        left, right = (
            np.array([getattr(link, end) for link in found], np.int64) for end in ("left", "right")
        )
        labels = components(clocks, left, right)
    return sorted(found, key=lambda link: (link.left, link.right))


def neighbours(found: Sequence[Matches]) -> dict[int, dict[int, Matches]]:
    """Index links by the clocks at either end."""
    near: dict[int, dict[int, Matches]] = {}
    for link in found:
        near.setdefault(link.left, {})[link.right] = link
        near.setdefault(link.right, {})[link.left] = link
    return near


def groups(near: LinksByClock) -> list[ClockGroup]:
    """Group all clocks that have links.

    The reference is chosen among the clocks with a quarter of the most matches or more. It is the one that most others
    agree with, within 5 s; among several, the smallest.
    """
    left = set(near)
    found = []
    while left:
        group = _outwards(min(left), near)
        found.append(_outwards(_reference(group, near), near))
        left.difference_update(group.clocks)
    return found


def _outwards(reference: int, near: LinksByClock) -> ClockGroup:
    """Build a group from the *reference* on: each next clock is the one that shares most with those already in it."""
    ahead = {reference: 0}
    order, parents = [reference], [reference]
    waiting: list[tuple[int, int, int]] = []

    def reach(clock: int) -> None:
        for other, link in near[clock].items():
            if other not in ahead:
                heapq.heappush(waiting, (-len(link), other, clock))

    reach(reference)
    while waiting:
        _, clock, parent = heapq.heappop(waiting)
        if clock in ahead:
            continue
        link = near[clock][parent]
        more_us = int(np.median(link.right_us - link.left_us))
        ahead[clock] = ahead[parent] + (more_us if link.left == parent else -more_us)
        order.append(clock)
        parents.append(parent)
        reach(clock)
    return ClockGroup(order, parents, [ahead[clock] for clock in order])


def _reference(group: ClockGroup, near: LinksByClock) -> int:
    known_by = [sum(map(len, near[clock].values())) for clock in group.clocks]
    enough = max(known_by) / 4
    ahead = np.array(group.ahead_us)
    ordered = np.sort(ahead)
    low, high = ahead - _AGREE_US, ahead + _AGREE_US
    agree = np.searchsorted(ordered, high, "right") - np.searchsorted(ordered, low, "left")
    choice = zip(group.clocks, known_by, agree.tolist(), strict=True)
    return min((-count, clock) for clock, known, count in choice if known >= enough)[1]
