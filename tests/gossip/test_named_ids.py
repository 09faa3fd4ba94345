"""Ids that are named again and again on the air: a fair number at once, and then ever more rarely."""

from tests.nodes import AIR_PACKET_US, feed_of
from tinyssb_node.gossip.named_ids import NamedIds
from tinyssb_node.replication import limits

FEED, OTHER = feed_of(1), feed_of(2)
LONGEST_US = limits.NAME_WAIT_MAX_PACKETS * AIR_PACKET_US


def named_in(ids: NamedIds, begin_us: int, packets: int) -> int:
    """Ask for an id without end, for the time of so many packets. Return how often it is named."""
    count = 0
    for now_us in range(begin_us, begin_us + packets * AIR_PACKET_US, AIR_PACKET_US):
        if ids.allows(FEED, now_us):
            ids.record([FEED], now_us)
            count += 1
    return count


def test_a_fair_number_is_named_at_once_and_then_ever_fewer() -> None:
    ids = NamedIds(AIR_PACKET_US)
    first = named_in(ids, 0, 64)
    later = named_in(ids, 64 * AIR_PACKET_US, 64)
    assert limits.NAMES_EXPECTED < first < 12
    assert later <= 1
    assert ids.allows(OTHER, 0)


def test_what_was_named_too_often_is_named_again_after_the_longest_wait() -> None:
    ids = NamedIds(AIR_PACKET_US)
    for _ in range(100):
        ids.record([FEED, OTHER], 0)
    assert not ids.allows(FEED, LONGEST_US - 1)
    assert ids.allows(FEED, LONGEST_US)
