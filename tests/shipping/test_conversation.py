"""Both sides over a broker that loses, repeats and reorders, while either side dies: in the end all is there."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from spark_sink.collect.messages import SegmentId as LandedId
from tests.shipping.world import BATCH, EVERY_US, LOG, World
from tinyssb_node.shipping import limits
from tinyssb_node.shipping.shipment import BandwidthLimit, LogShipment, ShippingState
from tinyssb_node.shipping.wire import SegmentId

pytestmark = pytest.mark.usefixtures("small")


def _hear(world: World, _number: int) -> None:
    world.hear()


def _forget(world: World, _number: int) -> None:
    world.forget_oldest()


def _grow(world: World, number: int) -> None:
    world.grow(1 + number)


def _ship_to_a_quick_one(world: World, number: int) -> None:
    world.ship(number, hasty=True)


USUAL = (_grow, World.ship, _ship_to_a_quick_one, World.collect, _hear)
LOSSES = (World.lose_up, World.lose_one, World.lose_down, World.repeat, World.swap, World.keep, _forget)
DEATHS = (World.collector_dies, World.collector_loses_disk, World.shipper_dies, World.reconnect)
STEPS = st.lists(
    st.tuples(st.sampled_from((*USUAL, *USUAL, *LOSSES, *DEATHS)), st.integers(0, 150)), max_size=60
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=500)
@given(st.integers(0, 2**32), STEPS)
@example(
    101,
    [
        (World.ship, 1),
        (_ship_to_a_quick_one, 50),
        (World.collector_loses_disk, 0),
        (_grow, 0),
        (_ship_to_a_quick_one, 100),
        (World.lose_up, 0),
    ],
)  # the question for all that the new collector has is lost
def test_whatever_happens_all_of_it_comes(
    seed: int, steps: list[tuple[Callable[[World, int], None], int]]
) -> None:
    world = World(seed)
    world.grow(120)
    for step, number in steps:
        world.now_us += number * 100_000
        step(world, number)
        assert len(world.shipping.saved().under_way) <= limits.UNDER_WAY_MAX
    # A collector that lost its disk is noticed by the next batch, and the log always grows.
    world.hear()
    world.grow(1)
    world.settle()
    world.check()


def test_nothing_is_sent_twice_without_need() -> None:
    world = World(1)
    for _ in range(40):
        world.grow(70)
        world.ship()
        world.collect()
        world.hear()
        world.now_us += EVERY_US
    world.settle()
    world.check()
    assert world.sent == sum(map(len, world.files.values()))
    assert world.shipping.counts.rewinds == 0
    assert world.shipping.counts.asks == 1


def test_days_without_a_connection_are_caught_up_with_from_the_place_that_was_acknowledged() -> None:
    world = World(2)
    world.grow(300)
    world.settle()
    before = world.sent
    kept = world.shipping.saved()
    for _ in range(50):
        world.grow(80)
    world.start_shipper(kept)
    world.shipping.connected()
    world.settle()
    world.check()
    assert before + world.sent - before == sum(map(len, world.files.values()))


def test_a_collector_that_is_away_is_sent_no_more_than_so_many_batches() -> None:
    world = World(3)
    for _ in range(30):
        world.grow(90)
    world.ship()
    assert len(world.up) == 1, "it waits for the answer a little"
    for _ in range(100):
        world.now_us += limits.ASK_WAIT_US
        world.ship()
    batches = [message for message in world.up if message[1] == 1]
    asks = [message for message in world.up if message[1] == 2]
    assert len(batches) == limits.UNDER_WAY_MAX
    # 500 seconds: after 30, 60, 120, 240 without an answer.
    assert len(asks) == 1 + 4
    world.settle()
    world.check()


def test_what_was_under_way_when_the_shipper_ended_is_not_sent_again() -> None:
    world = World(4)
    for _ in range(30):
        world.grow(90)
    for _ in range(20):
        world.now_us += limits.ASK_WAIT_US
        world.ship()
    sent, queued = world.sent, len(world.up)
    world.start_shipper(world.shipping.saved())
    world.shipping.connected()
    world.now_us += limits.ASK_WAIT_US
    world.ship()
    assert world.sent == sent
    assert len(world.up) == queued + 1, "a question"
    world.settle()
    world.check()
    assert world.sent == sum(map(len, world.files.values()))


def test_a_collector_that_answers_before_the_broker_leaves_nothing_under_way() -> None:
    world = World(13)
    world.grow(300)
    world.ship()
    world.collect()
    world.hear()
    world.ship(hasty=True)
    assert world.shipping.saved().under_way == ()
    assert world.shipping.lacking_bytes() == 0


def test_a_gap_is_closed_at_once() -> None:
    world = World(12)
    world.grow(100)
    world.settle()
    world.grow(200)
    world.ship()
    world.lose_one(0)
    asks = world.shipping.counts.asks
    assert world.settle() == 1
    world.check()
    assert world.shipping.counts.rewinds == 1
    assert world.shipping.counts.asks == asks


def test_a_collector_that_comes_is_asked_at_once() -> None:
    world = World(14)
    for _ in range(20):
        world.grow(90)
    for _ in range(100):
        world.now_us += limits.ASK_WAIT_US
        world.ship()
    world.up.clear()
    world.shipping.called()
    assert world.settle() < 100
    world.check()
    assert world.shipping.counts.rewinds == 1
    # Somebody who is not connected has nobody to ask.
    world.shipping.lost()
    world.shipping.called()
    assert world.shipping.ask(world.now_us) is None


def test_a_disk_that_is_lost_is_filled_again() -> None:
    world = World(5)
    for _ in range(20):
        world.grow(90)
    world.settle()
    world.landing.lose()
    world.start_collector()
    world.grow(10)
    world.now_us += EVERY_US
    world.ship()
    world.collect()
    world.hear()
    world.settle()
    world.check()


def test_small_pieces_wait_for_their_time() -> None:
    world = World(6)
    world.grow(60)
    world.settle()
    world.ship()
    (last,) = world.files
    batches = world.shipping.counts.batches
    world.files[last] += b"a few"
    world.ship()
    assert world.shipping.counts.batches == batches
    world.files[last] += bytes(BATCH)
    world.ship()
    assert world.shipping.counts.batches == batches + 1, "a full one does not wait"
    world.now_us += EVERY_US
    world.ship()
    assert world.shipping.counts.batches == batches + 2


def test_the_bandwidth_limit_is_kept() -> None:
    world = World(7, bytes_per_s=1_000)
    for _ in range(40):
        world.grow(90)
    began_us = world.now_us
    while world.shipping.lacking_bytes():
        world.ship()
        world.collect()
        world.hear()
        world.now_us += 1_000_000
    counts = world.shipping.counts
    cost = counts.wire_bytes + counts.batches * limits.OVERHEAD_BYTES
    assert cost / 1_000 <= (world.now_us - began_us) / 1e6 + 1
    assert cost / 1_000 >= (world.now_us - began_us) / 1e6 - 3


def test_the_bandwidth_limit_is_for_all_logs_together() -> None:
    pace = BandwidthLimit(1_000)
    logs = [LogShipment(ShippingState(), run=number, every_us=1, pace=pace) for number in range(2)]
    now_us = 2 * limits.ASK_WAIT_US
    for log in logs:
        log.look({SegmentId(1, 0): 500})
        log.connected()
        log.ask(0)
    piece = logs[0].next(now_us)
    assert piece is not None
    assert logs[1].next(now_us) is not None
    logs[0].handed(piece, logs[0].run, 880, now_us)
    for log in logs:
        assert log.next(now_us + 999_999) is None
        assert log.next(now_us + 1_000_000) is not None


def test_a_full_collector_is_asked_again_later() -> None:
    world = World(8)
    world.grow(400)
    world.landing.room = 120
    for _ in range(10):
        world.ship()
        world.collect()
        world.hear()
        world.now_us += 1_000_000
    assert world.shipping.full
    batches = world.shipping.counts.batches
    world.ship()
    assert world.shipping.counts.batches == batches
    world.landing.room = 10**9
    world.now_us += limits.FULL_WAIT_US
    world.settle()
    world.check()
    assert not world.shipping.full


def test_a_segment_of_which_the_collector_has_another_is_left_out_and_told_of() -> None:
    world = World(9)
    world.grow(300)
    first = next(iter(world.files))
    world.landing.write(LOG, LandedId(*first), 0, b"of a node that was set up anew with the same key")
    world.files[SegmentId(2, 0)] = b"what comes later"
    world.settle()
    assert world.shipping.refused == {first}
    assert bytes(world.landing.files[LOG, LandedId(2, 0)]) == b"what comes later"
    assert world.landing.files[LOG, LandedId(*first)].startswith(b"of a node")


def test_an_older_collector_is_noticed_and_nothing_counts_as_there() -> None:
    world = World(10)
    world.grow(300)
    world.ship()
    world.up = [b"\x02" + message[1:] for message in world.up]
    world.collect()
    world.hear()
    assert world.shipping.old_collector
    assert world.shipping.lacking_bytes() == 300


@given(st.lists(st.binary(max_size=80), max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_bytes_hurt_either_side(messages: list[bytes]) -> None:
    world = World(11)
    world.grow(200)
    for message in messages:
        world.up.append(message)
        world.shipping.heard(message, world.now_us)
    world.settle()
    world.check()
