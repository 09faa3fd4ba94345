"""Collectors that come and go, and two at once: whose answers count."""

import pytest

from spark_sink import limits as sink_limits
from spark_sink.collect.collector import Collector
from spark_sink.collect.messages import SegmentId as LandedId
from tests.shipping.memory_landing import MemoryLanding
from tests.shipping.world import EVERY_US, LOG, UP, World
from tinyssb_node.shipping import limits

pytestmark = pytest.mark.usefixtures("small")


def test_what_was_refused_comes_to_a_collector_that_has_nothing_any_more() -> None:
    world = World(17)
    world.grow(300)
    (first,) = world.files
    world.landing.write(LOG, LandedId(*first), 0, b"of a node that was set up anew with the same key")
    world.settle()
    assert world.shipping.refused == {first}
    # Its index and what it has are deleted by hand, and it is started anew.
    world.landing.lose()
    world.start_collector()
    world.now_us += limits.ASK_AGAIN_US
    world.shipping.called()
    world.settle()
    world.check()
    assert world.shipping.refused == frozenset()


@pytest.mark.parametrize("first", [True, False])
def test_of_two_collectors_one_counts_and_nodes_do_not_ask_for_ever(first: bool) -> None:
    world, landing = World(15), MemoryLanding()
    other = Collector(landing, life=1_000)

    def turn(*, two: bool) -> None:
        world.grow(60)
        world.ship()
        for message in world.up if two else ():
            answer = other.receive(UP, message)
            landing.sync()
            if answer is not None:
                world.down.append(answer.message)
        theirs, world.down = world.down, []
        world.collect()
        world.down = [*theirs, *world.down] if first else [*world.down, *theirs]
        world.hear()
        world.now_us += EVERY_US

    for _ in range(5):
        turn(two=False)
    before = world.shipping.two_collectors
    asks = world.shipping.counts.asks
    for _ in range(60):
        turn(two=True)
    # For 600 s: of both orders in which they may answer, the worse.
    assert world.shipping.counts.asks - asks <= 2
    assert (before, world.shipping.two_collectors) == (False, True)
    world.settle()
    # What one of them said is what that one has.
    counting = landing if world.shipping.saved().life == 1_000 else world.landing
    for segment, content in world.files.items():
        assert bytes(counting.files[LOG, LandedId(*segment)]) == content
    # The other one ends, and if it was the one that counts, the one that is left takes its place.
    for _ in range(40):
        turn(two=False)
    assert not world.shipping.two_collectors
    world.settle()
    world.check()


def test_a_collector_that_is_started_again_and_again_is_not_asked_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sink_limits, "ROWS_MAX", 1_000)  # one question, one reply
    world = World(16)
    began_us = world.now_us
    for _ in range(120):
        world.grow(60)
        world.ship()
        world.collect()
        world.hear()
        world.start_collector()
        world.now_us += 1_000_000
    # Once in 30 s because of that, once because nothing is acknowledged meanwhile, and four at the beginning.
    assert world.shipping.counts.asks <= 2 * (world.now_us - began_us) / limits.ASK_AGAIN_US + 4
    assert not world.shipping.two_collectors
    world.settle()
    world.check()
