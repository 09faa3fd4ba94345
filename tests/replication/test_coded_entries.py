"""Coded entries: any rows of a generation, as many as lack, give its entries, and a lie costs only the rows."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import key_of, packets_of, written
from tests.replication.replicas import NETWORK, contents, offer, replica_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import coded_tag
from tinyssb_node.codec.packets import GENERATION_SIZE, parse_coded
from tinyssb_node.ids import Dialect, PacketKind, Verdict
from tinyssb_node.replication.coded_entries import CodedEntries, code
from tinyssb_node.replication.erasure import ROWS
from tinyssb_node.replication.packet_outcome import FORKED, POISONED
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.memory import MemoryStore

KEY = key_of("ana")
CONTENTS = [b"entry %d" % number for number in range(1, 41)]
FEED = packets_of(written(KEY, CONTENTS))


def row(
    number: int, *, generation: int = 0, length: int = GENERATION_SIZE, feed: Sequence[bytes] = FEED
) -> bytes:
    """Return a coded entry: *number* below 16 for one of them, from 16 on for a sum."""
    first = generation * GENERATION_SIZE
    return code(NETWORK, KEY.feed_id, generation, number, feed[first : first + length])


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def replica(store: MemoryStore) -> Replica:
    return replica_of(store, KEY.feed_id)


@given(st.sampled_from(Dialect), st.integers(1, 16), st.data())
def test_any_rows_and_plain_entries_give_the_block(
    dialect: Dialect, length: int, data: st.DataObject
) -> None:
    feed = packets_of(written(KEY, CONTENTS[:length], dialect))
    store = MemoryStore()
    replica = replica_of(store, KEY.feed_id)
    rows = [*range(length), *range(GENERATION_SIZE, ROWS)]
    chosen = data.draw(st.lists(st.sampled_from(rows), min_size=length, max_size=length, unique=True))
    plain = data.draw(st.integers(0, length))
    for packet in feed[:plain]:
        offer(replica, packet)
    for number in chosen:
        offer(replica, row(number, length=length, feed=feed))
    assert contents(store, KEY.feed_id) == CONTENTS[:length]
    assert replica.rows_lacking(KEY.feed_id) == 0


def test_a_row_says_what_came_of_it(replica: Replica) -> None:
    outcome = offer(replica, row(2, length=3))
    assert (outcome.kind, outcome.verdict) == (PacketKind.CODED, Verdict.NEW)
    assert (outcome.feed, outcome.seq, outcome.generation, outcome.events) == (KEY.feed_id, 3, 0, [])
    assert replica.rows_lacking(KEY.feed_id) == 2
    assert offer(replica, row(2, length=3)).verdict is Verdict.DUPLICATE
    outcome = offer(replica, row(99, length=3))
    assert (outcome.verdict, outcome.seq, outcome.generation) == (Verdict.NEW, None, 0)
    outcome = offer(replica, row(200, length=3))
    assert [event.seq for event in outcome.events] == [1, 2, 3]  # type: ignore[union-attr]
    assert offer(replica, row(201, length=3)).verdict is Verdict.DUPLICATE


def test_a_later_block_waits_for_the_one_before(replica: Replica, store: MemoryStore) -> None:
    for number in range(16, 32):
        assert offer(replica, row(number, generation=1)).events == []
    for number in range(16, 32):
        offer(replica, row(number))
    assert contents(store, KEY.feed_id) == CONTENTS[:32]
    assert offer(replica, row(7)).verdict is Verdict.DUPLICATE


def test_plain_entries_that_came_early_follow_coded_ones(replica: Replica, store: MemoryStore) -> None:
    for packet in FEED[2:4]:
        offer(replica, packet)
    for number in (77, 78):
        offer(replica, row(number, length=2))
    assert contents(store, KEY.feed_id) == CONTENTS[:4]


@pytest.mark.parametrize("lie", [30, 1])
def test_a_lie_costs_the_rows_of_its_generation_and_nothing_else(
    replica: Replica, store: MemoryStore, lie: int
) -> None:
    offer(replica, FEED[0])
    offer(replica, row(0, generation=1))
    wrong = row(lie, length=3)
    packets = [wrong[:-1] + bytes((wrong[-1] ^ 1,)), row(31, length=3)]
    outcomes = [offer(replica, packet) for packet in packets]
    assert (Verdict.INVALID, POISONED) in [(each.verdict, each.reason) for each in outcomes]
    for number in (33, 34):
        offer(replica, row(number, length=3))
    assert contents(store, KEY.feed_id) == CONTENTS[:3]


def test_a_plain_entry_shows_that_rows_were_lies(replica: Replica, store: MemoryStore) -> None:
    wrong = row(1, length=3)
    offer(replica, wrong[:-1] + bytes((wrong[-1] ^ 1,)))
    for packet in FEED[:2]:
        offer(replica, packet)
    offer(replica, row(50, length=3))
    assert contents(store, KEY.feed_id) == CONTENTS[:3]


@pytest.mark.parametrize("generation", [0, 1])
def test_a_row_of_another_branch_proves_the_fork(replica: Replica, generation: int) -> None:
    at = generation * GENERATION_SIZE + 2
    for packet in FEED[: at + 20]:
        offer(replica, packet)
    other = packets_of(written(KEY, [*CONTENTS[:at], b"two", b"behind it"]))
    common, behind, first = (
        offer(replica, row(number, generation=generation, length=4, feed=other)) for number in (1, 3, 2)
    )
    assert (common.verdict, behind.events) == (Verdict.DUPLICATE, [])
    assert (first.kind, first.verdict, first.reason) == (PacketKind.CODED, Verdict.INVALID, FORKED)
    assert replica.forks[KEY.feed_id].seq == at + 1


def test_of_a_feed_that_is_not_wanted_nothing_is_kept(replica: Replica) -> None:
    replica.set_wanted(KEY.feed_id, wanted=False)
    assert offer(replica, row(0)).verdict is Verdict.NOT_OURS
    assert replica.rows_lacking(KEY.feed_id) == 0


def test_a_node_that_cannot_write_keeps_nothing(store: MemoryStore) -> None:
    replica_of(store, KEY.feed_id)
    assert offer(replica_of(store, read_only=True), row(0)).verdict is Verdict.NOT_OURS


def test_only_so_many_blocks_are_kept() -> None:
    generations = CodedEntries(NETWORK)
    coded = parse_coded(row(16))
    assert coded is not None
    for generation in range(limits.GENERATIONS_MAX + 5):
        generations.add(KEY.feed_id, generation, coded, list)
    assert len(generations) == limits.GENERATIONS_MAX
    assert generations.lacking(KEY.feed_id, 1) == 0
    assert generations.lacking(KEY.feed_id, 5 * GENERATION_SIZE + 1) == limits.LACKING_MAX


def test_the_bytes_of_a_coded_entry() -> None:
    """Frozen: what other programs have to make."""
    assert coded_tag(NETWORK, KEY.feed_id).hex() == "ea56e81f"
    assert row(1, length=3) == coded_tag(NETWORK, KEY.feed_id) + b"\x00\x02\x01" + FEED[1][7:]
    assert row(255, generation=1, length=2)[:20].hex() == "ea56e81f0011ff836c5fab0429ddadf66b000000"
