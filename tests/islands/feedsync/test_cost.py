"""Cost of the sync beside entries and chunks (docs/formats/feed-sync.md)."""

import random

from tests.islands.feedsync.gateways import Gateway, connect
from tests.nodes import key_of, packets_of, written
from tinyssb_node import limits as field_limits

DAY_ENTRIES = 12
"""Entries that the author of a feed writes in 24 hours."""
HELD_ENTRIES = 60
"""Entries that both sides had before."""


def contents(chance: random.Random, count: int) -> list[bytes]:
    """Three short messages, and a longer one that takes some chunks, in turn."""
    sizes = [
        chance.choice((12, 25, 40)) if number % 4 else chance.randrange(100, 500) for number in range(count)
    ]
    return [chance.randbytes(size) for size in sizes]


def cost_of(feeds: int, day_entries: int) -> float:
    """Bytes that go over for each byte of entries and chunks that are lacking, half of them on either side."""
    one, other = Gateway(), Gateway()
    lacking = 0
    names = [key_of(f"author {number}") for number in range(feeds)]
    for number, key in enumerate(names):
        feed = written(key, contents(random.Random(number), HELD_ENTRIES + day_entries))
        held, ahead = packets_of(feed[:HELD_ENTRIES]), packets_of(feed)
        for gateway in (one, other):
            gateway.replica.add_feed(key.feed_id, None)
            gateway.take(*held)
        (one, other)[number % 2].take(*ahead[len(held) :])
        lacking += len(ahead) - len(held)
    assert connect(one, other, [key.feed_id for key in names]) == []
    assert one.sync is not None
    counts = one.sync.counts
    assert counts.got + counts.given == lacking
    return (counts.sent_bytes + counts.received_bytes) / (lacking * field_limits.PACKET_SIZE)


def test_a_day_apart_costs_little_more_than_what_was_written() -> None:
    assert cost_of(40, DAY_ENTRIES) < 1.03


def test_even_where_each_wrote_but_a_little() -> None:
    assert cost_of(40, 2) < 1.1
