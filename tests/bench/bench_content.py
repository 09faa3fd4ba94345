"""Content at scale: messages placed in a tangle of 100,000, its canonical order, the times by which people read it."""

import time
from random import Random
from statistics import median

from tests.bench.figure import Figure
from tests.content.graphs import braid
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.limits import CLAIM_MIN_US
from tinyssb_node.content.note import Note, parse_note, serialize_compact, serialize_map
from tinyssb_node.content.tangle import Candidates, Tangle, TangleData
from tinyssb_node.content.time_order import DatedMessage, order_times
from tinyssb_node.ids import MessageId

MESSAGES = 100_000
"""In the tangle: a mesh of fifty people that write twenty messages a day has them after a hundred days."""
PLACE_US = 50
ORDER_S = 0.5


def placed(
    messages: list[tuple[MessageId, TangleData]], root: MessageId, waiting_max: int
) -> tuple[Tangle[TangleData], float]:
    """A tangle of them, and the microseconds each took."""
    tangle = Tangle(root, Candidates[TangleData](lambda place: place), waiting_max=waiting_max)
    begun_s = time.perf_counter()
    for id_, place in messages:
        tangle.add(id_, place)
    each_us = 1e6 * (time.perf_counter() - begun_s) / len(messages)
    if len(tangle) != len(messages):
        raise ValueError(f"{len(tangle)} of {len(messages)} messages have a place")
    return tangle, each_us


def ordered(tangle: Tangle[TangleData]) -> tuple[list[MessageId], float]:
    """Its canonical order, and the median of the seconds that it took three times."""
    took_s = []
    for _ in range(3):
        begun_s = time.perf_counter()
        order = tangle.order()
        took_s.append(time.perf_counter() - begun_s)
    return order, median(took_s)


def timed(tangle: Tangle[TangleData]) -> float:
    """Seconds to compute the times of all messages, of fifty authors, by which people read them."""
    places = [(id_, *divmod(number, 50)) for number, id_ in enumerate(tangle)]
    messages = [
        DatedMessage(id_, author, seq, CLAIM_MIN_US + seq * 3_600_000_000, tangle.previous(id_))
        for id_, seq, author in places
    ]
    begun_s = time.perf_counter()
    order_times(messages)
    return time.perf_counter() - begun_s


def parsed(messages: list[tuple[MessageId, TangleData]]) -> tuple[float, float]:
    """Microseconds to read the ties of a message in a map, and in a compact list."""
    each_us = []
    for contents in (
        [serialize_map(Note({"chat": place}, {"text": "a sentence"})) for _, place in messages],
        [
            serialize_compact(Note({"c": TangleData(None, place.previous)}, "a sentence"))
            for _, place in messages
        ],
    ):
        begun_s = time.perf_counter()
        for content in contents:
            parse_note(content)
        each_us.append(1e6 * (time.perf_counter() - begun_s) / len(contents))
    return each_us[0], each_us[1]


def run() -> list[Figure]:
    """All of it."""
    graph = list(braid(MESSAGES, Random(1)).items())
    root = graph[0][0]
    tangle, in_order_us = placed(graph, root, content_limits.TANGLE_WAITING_MAX)
    order, order_s = ordered(tangle)
    shuffled = list(graph)
    Random(2).shuffle(shuffled)
    mixed, mixed_us = placed(shuffled, root, MESSAGES)
    reverse, reverse_us = placed(graph[::-1], root, MESSAGES)
    same = order == mixed.order() == reverse.order() and tangle.tips == mixed.tips == reverse.tips
    timed_s = timed(tangle)
    map_us, compact_us = parsed(graph[: MESSAGES // 10])
    at_most = f"at most {PLACE_US} µs"
    return [
        Figure(
            "message placed in a tangle of 100,000, in order",
            in_order_us,
            "µs",
            at_most,
            in_order_us <= PLACE_US,
        ),
        Figure("the same, arriving in any order", mixed_us, "µs", at_most, mixed_us <= PLACE_US),
        Figure("the same, arriving from its end", reverse_us, "µs", at_most, reverse_us <= PLACE_US),
        Figure(
            "canonical order of it, the same for all three (median of three)",
            order_s,
            "s",
            f"at most {ORDER_S} s",
            same and order_s <= ORDER_S,
        ),
        Figure("effective times of all of them", timed_s, "s"),
        Figure("ties read from a map", map_us, "µs"),
        Figure("ties read from a compact list", compact_us, "µs"),
    ]
