"""A lower bound on the cost of replication, by the shape of the mesh and the loss on its links.

The bound: each entry and chunk is sent once by every node of a minimum connected dominating set, times the expected
number of sends until all receivers have it. It holds even for nodes that know everything: no advertisement, no request,
no collision. Where the minimum set cannot be found within BOUND_STEPS, the bound takes the largest size that was proved
to be too small, plus one: the bound may then be lower than the truth, never higher.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinyssb_node.sim import limits as sim_limits

_SENDS_PRECISION = 1e-12


@dataclass(frozen=True, slots=True)
class RelaySet:
    """The number of nodes that must send a packet so that all receive it."""

    least: int
    """No smaller set connects and dominates: proved."""
    chosen: tuple[int, ...] | None
    """A set of that size; None if the search was given up before it found one."""


def expected_sends(receivers: int, loss: float) -> float:
    """Return the sends until all of *receivers* have a packet of which each misses each send with probability *loss* <
    1."""
    total, term, missed = 0.0, 1.0, 1.0
    while term > _SENDS_PRECISION:
        total += term
        missed *= loss
        term = 1.0 - (1.0 - missed) ** receivers
    return total


def relays(neighbours: Sequence[Iterable[int]]) -> list[RelaySet]:
    """Return the minimum connected dominating set of each connected part of a mesh; *neighbours* by node number."""
    masks = [sum(1 << other for other in set(others)) for others in neighbours]
    return [_part_relays(masks, part) for part in _parts(masks)]


def sends_at_least(neighbours: Sequence[Iterable[int]], loss: float) -> float:
    """Return the expected sends of one packet until every node has it, for any author.

    A node of the set counts the receivers that hear no other node of it, at least one.
    """
    masks = [sum(1 << other for other in set(others)) for others in neighbours]
    total = 0.0
    for part, found in zip(_parts(masks), relays(neighbours), strict=True):
        if part.bit_count() == 1:
            continue
        if found.chosen is None:
            total += found.least * expected_sends(1, loss)
        elif len(found.chosen) == 1:
            total += expected_sends(part.bit_count() - 1, loss)
        else:
            total += sum(expected_sends(count, loss) for count in _private(masks, part, found.chosen))
    return total


def sends_by_relays(neighbours: Sequence[Iterable[int]], loss: float) -> float:
    """Return the expected sends of one packet if each node of the set sends it until all in its reach have it from that
    very node.

    More than is needed where receivers hear two of the set: the cost of relays that know nothing of each other. Where
    the set cannot be found, ``sends_at_least``.
    """
    heard_by = [set(others) for others in neighbours]
    total = 0.0
    for found in relays(neighbours):
        if found.chosen is None:
            return sends_at_least(neighbours, loss)
        total += sum(expected_sends(len(heard_by[relay]), loss) for relay in found.chosen)
    return total


def sends_in_busiest_reach(neighbours: Sequence[Iterable[int]], loss: float) -> float:
    """Return the expected sends of one packet that the node hears, or sends, that hears most of them.

    Nodes in reach of one node cannot send at the same time without a collision there, so this is the least time on the
    air between the first packet and the last, by the relay set that was found. Where none was, one send.
    """
    masks = [sum(1 << other for other in set(others)) for others in neighbours]
    busiest = 0.0
    for part, found in zip(_parts(masks), relays(neighbours), strict=True):
        if part.bit_count() == 1:
            continue
        if found.chosen is None:
            sends = {part.bit_length() - 1: expected_sends(1, loss)}
        elif len(found.chosen) == 1:
            sends = {found.chosen[0]: expected_sends(part.bit_count() - 1, loss)}
        else:
            private = _private(masks, part, found.chosen)
            sends = {
                relay: expected_sends(count, loss) for relay, count in zip(found.chosen, private, strict=True)
            }
        for node in _bits(part):
            heard = sum(each for relay, each in sends.items() if (masks[node] | 1 << node) >> relay & 1)
            busiest = max(busiest, heard)
    return busiest


def _private(masks: Sequence[int], part: int, chosen: Sequence[int]) -> list[int]:
    """Return for each of *chosen* how many nodes hear no other one of them, at least 1."""
    counts = []
    for relay in chosen:
        others = 0
        for other in chosen:
            if other != relay:
                others |= masks[other] | 1 << other
        counts.append(max(1, (masks[relay] & part & ~others & ~(1 << relay)).bit_count()))
    return counts


def _parts(masks: Sequence[int]) -> list[int]:
    """Return the connected parts, as bit masks, by their lowest node."""
    left, parts = (1 << len(masks)) - 1, []
    while left:
        part = left & -left
        while (grown := part | _around(masks, part) & left) != part:
            part = grown
        parts.append(part)
        left &= ~part
    return parts


def _around(masks: Sequence[int], nodes: int) -> int:
    around = 0
    for node in _bits(nodes):
        around |= masks[node]
    return around


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _part_relays(masks: Sequence[int], part: int) -> RelaySet:
    if part.bit_count() <= 2:
        return RelaySet(1, (_bits(part)[0],))
    search = _Search(masks, part)
    size = 1
    while search.steps < sim_limits.BOUND_STEPS:
        chosen = search.find(size)
        if chosen is not None:
            return RelaySet(size, tuple(_bits(chosen)))
        if search.steps < sim_limits.BOUND_STEPS:
            size += 1
    return RelaySet(size, None)


class _Search:
    """A search for connected dominating sets of a given size, smallest size first."""

    def __init__(self, masks: Sequence[int], part: int) -> None:
        self._closed = {node: (masks[node] | 1 << node) & part for node in _bits(part)}
        self._part = part
        self._widest = max(closed.bit_count() for closed in self._closed.values())
        self.steps = 0

    def find(self, size: int) -> int | None:
        """Return a set of *size*, or None. The search begins around the node with fewest neighbours, since one of them
        must be in the set."""
        rarest = min(self._closed.values(), key=int.bit_count)
        banned = 0
        for start in _bits(rarest):
            found = self._grow(1 << start, self._closed[start], size - 1, banned)
            if found is not None:
                return found
            banned |= 1 << start
        return None

    def _grow(self, chosen: int, covered: int, left: int, banned: int) -> int | None:
        """Extend the connected set *chosen* by *left* nodes, none of them *banned*, so that it covers the part."""
        missing = self._part & ~covered
        if not missing:
            return chosen
        self.steps += 1
        # A further node is a neighbour of the set, so it covers itself and one more already.
        if missing.bit_count() > left * (self._widest - 2) or self.steps > sim_limits.BOUND_STEPS:
            return None
        candidates = sorted(
            _bits(covered & ~chosen & ~banned),
            key=lambda node: -(self._closed[node] & missing).bit_count(),
        )
        for node in candidates:
            found = self._grow(chosen | 1 << node, covered | self._closed[node], left - 1, banned)
            if found is not None:
                return found
            banned |= 1 << node
        return None
