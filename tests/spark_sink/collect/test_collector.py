import random

from hypothesis import given
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.collect.collector import Collector
from spark_sink.collect.messages import FINE, FULL, GAP, OTHER, Log, SegmentId
from tests.shipping.memory_landing import MemoryLanding
from tests.spark_sink.shipped import FIRST, NODE, UP, ask, batch, have

LOG = Log("open", NODE)
CONTENT = random.Random(1).randbytes(2_000)


def told(collector: Collector, message: bytes) -> tuple[int, int]:
    """Return the size of the first segment here, and its state, as answered."""
    answer = collector.receive(UP, message)
    assert answer is not None
    assert answer.topic == LOG.topic_down
    ((boot, first, size, state),) = have(answer.message)
    assert (boot, first) == FIRST
    return size, state


def landed(landing: MemoryLanding) -> bytes:
    return bytes(landing.files.get((LOG, FIRST), b""))


@given(st.lists(st.tuples(st.integers(0, 1_999), st.integers(1, 800)), max_size=40))
def test_in_any_order_and_however_often_what_is_here_is_a_beginning_of_the_segment(
    pieces: list[tuple[int, int]],
) -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    longest = 0
    for at, size in pieces:
        end = min(at + size, len(CONTENT))
        expected = max(longest, end) if at <= longest else longest
        assert told(collector, batch(CONTENT, at, size)) == (expected, FINE if at <= longest else GAP)
        longest = expected
        assert landed(landing) == CONTENT[:longest]
    counts = collector.counts
    assert counts["bytes"] == longest
    assert counts["new"] + counts["known"] + counts["gap"] == len(pieces)


def test_other_bytes_are_refused_wherever_they_begin() -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    assert told(collector, batch(CONTENT, 0, 1_000)) == (1_000, FINE)
    other = bytes([CONTENT[0] ^ 1]) + CONTENT[1:]
    for at, size in ((0, 1_000), (0, 2_000), (1_000, 500), (300, 100)):
        assert told(collector, batch(other, at, size)) == (1_000, OTHER)
    assert landed(landing) == CONTENT[:1_000]
    assert told(collector, batch(CONTENT, 900, 500)) == (1_400, FINE)


def test_what_changes_in_the_middle_is_seen_where_it_overlaps() -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    told(collector, batch(CONTENT, 0, 1_000))
    other = CONTENT[:999] + bytes([CONTENT[999] ^ 1]) + CONTENT[1_000:]
    assert told(collector, batch(other, 500, 600)) == (1_000, OTHER)


def test_a_segment_that_was_archived_is_not_asked_for_again() -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    told(collector, batch(CONTENT, 0, 1_000))
    landing.files.clear()
    assert told(collector, batch(CONTENT, 500, 500)) == (1_000, FINE)
    assert landed(landing) == b""


def test_one_that_was_archived_too_early_comes_again_from_its_beginning() -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    told(collector, batch(CONTENT, 0, 1_000))
    landing.files.clear()
    assert told(collector, batch(CONTENT, 1_000, 500)) == (0, GAP)
    assert told(collector, batch(CONTENT, 0, 1_500)) == (1_500, FINE)
    assert landed(landing) == CONTENT[:1_500]


def test_one_that_was_cut_comes_again_from_its_beginning() -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    told(collector, batch(CONTENT, 0, 1_000))
    del landing.files[LOG, FIRST][700:]
    assert told(collector, batch(CONTENT, 1_000, 500)) == (0, GAP)
    assert told(collector, batch(CONTENT, 0, 1_500)) == (1_500, FINE)
    assert landed(landing) == CONTENT[:1_500]


def test_no_room_is_told_and_nothing_is_half_there() -> None:
    landing = MemoryLanding(room=1_100)
    collector = Collector(landing, life=1)
    assert told(collector, batch(CONTENT, 0, 1_000)) == (1_000, FINE)
    assert told(collector, batch(CONTENT, 1_000, 500)) == (1_000, FULL)
    landing.room = 10_000
    assert told(collector, batch(CONTENT, 1_000, 500)) == (1_500, FINE)


def test_a_listing_names_what_is_here_from_the_segment_asked_for_on() -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=9)
    for boot in range(1, limits.ROWS_MAX + 10):
        landing.write(LOG, SegmentId(boot, 0), 0, b"x" * (boot % 5 + 1))
    answer = collector.receive(UP, ask(SegmentId(5, 0), run=77))
    assert answer is not None
    # Version 1, kind 3, run 77, life 9, a listing of which there is more.
    assert answer.message[:11].hex() == "0103" + "0000004d" + "00000009" + "03"
    rows = have(answer.message)
    assert rows == [(boot, 0, boot % 5 + 1, FINE) for boot in range(5, limits.ROWS_MAX + 5)]
    rest = collector.receive(UP, ask(SegmentId(rows[-1][0], 0)))
    assert rest is not None
    assert rest.message[10] == 1
    assert [boot for boot, *_ in have(rest.message)] == list(range(1_004, 1_010))
    other = collector.receive(UP.replace("open", "0123456789abcd"), ask())
    assert other is not None
    assert have(other.message) == []


@given(st.text(max_size=60), st.binary(max_size=200))
def test_bytes_of_strangers_change_nothing_and_are_counted(topic: str, message: bytes) -> None:
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    for where in (topic, UP):
        answer = collector.receive(where, message)
        assert answer is None or message[:2] == b"\x01\x02" or message[:1] != b"\x01"
    assert landing.files == {}
    assert sum(collector.counts.values()) >= 1


def test_a_newer_version_is_told_so() -> None:
    answer = Collector(MemoryLanding(), life=1).receive(UP, b"\x02\x01\x00\x00\x00\x05whatever")
    assert answer is not None
    assert answer.message.hex() == "0103" + "00000005" + "00000001" + "04" + "0000"
