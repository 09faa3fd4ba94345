"""Tangles for tests: made by chance, and put together by the letter of the specification."""

import hashlib
from collections.abc import Mapping, Sequence
from random import Random

from hypothesis import strategies as st

from tinyssb_node.content.tangle import FIRST, Candidates, Tangle, TangleData
from tinyssb_node.ids import MessageId


def id_of(name: object) -> MessageId:
    """An id, the same for the same name."""
    return MessageId(hashlib.sha256(f"test/{name}".encode()).digest()[: MessageId.SIZE])


Graph = Mapping[MessageId, TangleData]
"""Messages that are nothing but their place. The first is the root."""


def by_place(root: MessageId, waiting_max: int = 1_000_000) -> Tangle[TangleData]:
    """A tangle of messages that are nothing but their place."""
    return Tangle(root, Candidates[TangleData](lambda place: place), waiting_max=waiting_max)


@st.composite
def graphs(draw: st.DrawFn, most: int = 12) -> Graph:
    """A root and messages that follow some before them, or something that is not there."""
    count = draw(st.integers(1, most))
    ids = [id_of(number) for number in range(count)]
    lost = [id_of("lost"), id_of("lost too")]
    graph = {ids[0]: FIRST}
    for number in range(1, count):
        follows = draw(
            st.lists(st.sampled_from(ids[:number] * 4 + lost), min_size=1, max_size=4, unique=True)
        )
        root = draw(st.sampled_from([ids[0], ids[0], None, lost[0]]))
        graph[ids[number]] = TangleData(root, tuple(follows))
    return graph


def braid(count: int, chance: Random) -> dict[MessageId, TangleData]:
    """*count* messages that follow one to three of the latest ones."""
    ids = [id_of(number) for number in range(count)]
    graph = {ids[0]: FIRST}
    for number in range(1, count):
        latest = ids[max(0, number - 8) : number]
        graph[ids[number]] = TangleData(
            ids[0], tuple(chance.sample(latest, chance.randint(1, min(3, len(latest)))))
        )
    return graph


def literal_tips(root: MessageId, graph: Graph) -> tuple[set[MessageId], set[MessageId]]:
    """Tips and nodes as section 4.10 of the exclusion document works them out, step by step."""
    tips, nodes = {root}, {root}
    while True:
        before = (set(tips), set(nodes))
        for tip in sorted(tips):
            found = {
                id_
                for id_, place in graph.items()
                if place.root in {None, root} and tip in place.previous and set(place.previous) <= nodes
            }
            if found:
                tips.discard(tip)
                tips |= found
                nodes |= found
        if (tips, nodes) == before:
            return tips, nodes


def literal_order(nodes: set[MessageId], graph: Graph) -> list[MessageId]:
    """Again and again the smallest id of those whose predecessors all stand already."""
    order: list[MessageId] = []
    while len(order) < len(nodes):
        order.append(min(id_ for id_ in nodes - set(order) if set(graph[id_].previous) <= set(order)))
    return order


def ancestors(id_: MessageId, previous: Mapping[MessageId, Sequence[MessageId]]) -> set[MessageId]:
    """All that a message follows, directly or not."""
    found: set[MessageId] = set()
    for one in previous[id_]:
        found |= {one} | ancestors(one, previous)
    return found
