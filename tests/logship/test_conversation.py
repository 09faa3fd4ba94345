"""Both sides over a broker that loses, repeats and reorders, while either side dies: in the end all is there."""

import random
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink import limits as sink_limits
from spark_sink.collect_core import Collector
from spark_sink.collect_wire import Log
from spark_sink.collect_wire import SegmentId as LandedId
from tests.logship.memory_landing import MemoryLanding
from tinyssb_node.logship import limits
from tinyssb_node.logship.shipping import Pace, Saved, Shipping
from tinyssb_node.logship.wire import SegmentId, fingerprint, serialize_batch

LOG = Log("open", "3f0a1b2c4d5e6f70")
UP = "tinyssb-log/open/3f0a1b2c4d5e6f70/up"
BATCH = 50
EVERY_US = 10_000_000


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches and answers so small that few bytes make many."""
    monkeypatch.setattr(limits, "BATCH_BYTES", BATCH)
    monkeypatch.setattr(limits, "UNDER_WAY_MAX", 6)
    monkeypatch.setattr(limits, "UNDER_WAY_SMALL", 3)
    monkeypatch.setattr(sink_limits, "ROWS_MAX", 2)


class World:
    """A node, a broker, and a collector."""

    def __init__(self, seed: int, *, life: int = 0, bytes_per_s: int = 0) -> None:
        self.random = random.Random(seed)
        self.now_us = 1_000_000
        self.files: dict[SegmentId, bytes] = {}
        self.up: list[bytes] = []
        self.down: list[bytes] = []
        self.landing = MemoryLanding()
        self.lives = life
        self.pace = Pace(bytes_per_s)
        self.sent = 0
        self.start_collector()
        self.kept = Saved()
        self.start_shipper(self.kept)
        self.shipping.connected()

    # --- the node

    def grow(self, size: int) -> None:
        """The log grows: sometimes in a new segment, or in a new boot."""
        last = max(self.files, default=None)
        how = self.random.random()
        if last is None or how < 0.2:
            last = SegmentId((last.boot if last else 0) + 1, 0)
        elif how < 0.5:
            last = SegmentId(last.boot, last.first + len(self.files[last]) + 1)
        self.files[last] = self.files.get(last, b"") + self.random.randbytes(size)

    def forget_oldest(self) -> None:
        if len(self.files) > 1:
            del self.files[min(self.files)]

    def start_shipper(self, saved: Saved) -> None:
        self.shipping = Shipping(saved, run=self.random.getrandbits(32), every_us=EVERY_US, pace=self.pace)
        self.look()

    def look(self) -> None:
        self.shipping.look({segment: len(content) for segment, content in sorted(self.files.items())})

    def ship(self, most: int = 100, *, hasty: bool = False) -> None:
        """What the shipper's process does when it has its turn. *hasty*: the collector is quicker than the broker."""
        self.look()
        for _ in range(most):
            if (question := self.shipping.ask(self.now_us)) is not None:
                self.up.append(question)
            if (piece := self.shipping.next(self.now_us)) is None:
                return
            content = self.files[piece.segment]
            near = min(piece.at, limits.PRINT_BYTES)
            before = fingerprint(content[:near], content[piece.at - near : piece.at])
            run = self.shipping.run
            batch = serialize_batch(run, piece, before, content[piece.at : piece.end])
            self.up.append(batch)
            if hasty:
                self.collect()
                self.hear()
            self.shipping.handed(piece, run, len(batch), self.now_us)
            self.sent += piece.size

    def hear(self) -> None:
        while self.down:
            self.shipping.heard(self.down.pop(0), self.now_us)

    # --- the collector

    def start_collector(self) -> None:
        self.lives += 1
        self.collector = Collector(self.landing, life=self.lives)

    def collect(self, most: int = 100, *, answering: bool = True) -> None:
        """Land what waits; it dies before it syncs unless it is *answering*."""
        answers = [self.collector.receive(UP, message) for message in self.up[:most]]
        if answering:
            self.landing.sync()
            del self.up[:most]
            self.down += [answer.message for answer in answers if answer is not None]
        else:
            self.landing.crash()
            self.start_collector()

    # --- all

    def settle(self) -> int:
        """Everybody works and nothing is lost from now on. Returns the turns it took until all was there."""
        for turn in range(200):
            self.ship()
            self.collect()
            self.hear()
            asking = self.shipping._ask is not None or self.shipping._asked.open
            if not self.shipping.lacking_bytes() and not self.up and not asking:
                return turn
            self.now_us += EVERY_US
        raise AssertionError(f"{self.shipping.lacking_bytes()} bytes are still lacking")

    def check(self) -> None:
        for segment, content in self.files.items():
            assert bytes(self.landing.files[LOG, LandedId(*segment)]) == content, segment

    # --- what goes wrong

    def lose_up(self, number: int) -> None:
        del self.up[number % (len(self.up) + 1) :]

    def lose_one(self, number: int) -> None:
        if self.up:
            del self.up[number % len(self.up)]

    def lose_down(self, number: int) -> None:
        del self.down[number % (len(self.down) + 1) :]

    def repeat(self, number: int) -> None:
        if self.up:
            place = number % len(self.up)
            self.up.insert(place + self.random.randrange(3), self.up[place])

    def swap(self, number: int) -> None:
        if len(self.up) > 1:
            place = number % (len(self.up) - 1)
            self.up[place : place + 2] = reversed(self.up[place : place + 2])

    def collector_dies(self, number: int) -> None:
        self.collect(number, answering=False)

    def collector_loses_disk(self, _number: int) -> None:
        self.landing.lose()
        self.start_collector()

    def keep(self, _number: int) -> None:
        self.kept = self.shipping.saved()

    def shipper_dies(self, number: int) -> None:
        self.start_shipper(self.kept if number % 3 else Saved())
        self.shipping.connected()

    def reconnect(self, _number: int) -> None:
        self.shipping.lost()
        self.shipping.connected()


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
    pace = Pace(1_000)
    logs = [Shipping(Saved(), run=number, every_us=1, pace=pace) for number in range(2)]
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


def test_a_collector_that_is_started_again_and_again_is_not_asked_each_time() -> None:
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
