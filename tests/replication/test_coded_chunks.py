"""Coded chunks: any rows of a chunk block, as many as lack, give its side chains, and a lie costs only the rows."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import key_of, written
from tests.replication.replicas import FACE, NETWORK, contents, offer, replica_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import coded_chunk_tag
from tinyssb_node.codec.events import ChunkAppended
from tinyssb_node.codec.packets import CodedChunk, serialize_coded_chunk
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.ids import Origin, PacketKind, Verdict
from tinyssb_node.replication.chunk_blocks import Chained, ChunkBlockId, code_chunks, lay_out, link
from tinyssb_node.replication.coded_chunks import CodedChunks
from tinyssb_node.replication.erasure import LENGTH_MAX, ROWS
from tinyssb_node.replication.packet_outcome import MALFORMED, POISONED, PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.store.memory import MemoryStore

KEY = key_of("ana")
TEXTS = [bytes((number,)) * (26 + 100 * chunks) for number, chunks in enumerate((3, 5, 1, 7, 9, 20, 2), 1)]
FEED = written(KEY, TEXTS)
"""Chunk block 0: entries 1 to 4, 16 chunks. Chunk block 1: entries 5 and 7. Entry 6 is in none."""
FIRST = [chunk for entry in FEED[:4] for chunk in entry.chunks]


def row(number: int, *, length: int = LENGTH_MAX, part: int = 0, chunks: Sequence[bytes] = FIRST) -> bytes:
    """Return a coded chunk of the first *length* of *chunks*, those of a chunk block."""
    bodies = [chunk[: limits.CHUNK_CONTENT_SIZE] for chunk in chunks[:length]]
    return code_chunks(NETWORK, ChunkBlockId(KEY.feed_id, 0, part), number, bodies)


def hear(replica: Replica, packet: bytes) -> PacketOutcome:
    """A peer sends a coded chunk."""
    feed = replica.coded_chunks.feed_of(packet)
    assert feed is not None
    return replica.offer_coded_chunk(feed, packet, Origin.PEER, FACE)


def holding(entries: Sequence[ComposedEntry], chunks: Sequence[bytes] = ()) -> tuple[Replica, MemoryStore]:
    """A replica that holds *entries*, and of side chains only *chunks*."""
    store = MemoryStore()
    replica = replica_of(store, KEY.feed_id)
    for packet in (*(entry.packet for entry in entries), *chunks):
        offer(replica, packet)
    return replica, store


def lacking(replica: Replica, seq: int) -> int:
    block = replica.coded_chunks.block_with(KEY.feed_id, seq)
    assert block is not None
    return replica.chunk_rows_lacking(block)


# --- layout


SIZES = st.lists(st.tuples(st.integers(1, 20), st.binary(min_size=1, max_size=1)), max_size=16)


@given(SIZES)
def test_a_layout_divides_no_side_chain_and_grows_at_its_end(sizes: list[tuple[int, bytes]]) -> None:
    chained = [Chained(seq, chunks, first_hash) for seq, (chunks, first_hash) in enumerate(sizes, 1)]
    feed = KEY.feed_id
    whole = lay_out(feed, 0, 16, chained)
    short = {each.first_hash: each.seq for each in reversed(chained) if each.chunks <= LENGTH_MAX}
    assert sorted(chain.seq for block in whole for chain in block.chains) == sorted(short.values())
    for part, block in enumerate(whole):
        assert block.id == (feed, 0, part)
        assert block.final
        assert block.length <= LENGTH_MAX
        at = 0
        for chain in block.chains:
            assert chain.first == at
            assert chain.chunks == chained[chain.seq - 1].chunks
            at += chain.chunks
    for held in range(len(chained)):
        known = lay_out(feed, 0, held, chained[:held])
        assert not known or known[-1].final is (known[-1].length == LENGTH_MAX)
        for block, later in zip(known, whole, strict=False):
            assert later.chains[: len(block.chains)] == block.chains
            assert not block.final or later == block


def test_pointers_are_computed_from_the_last_chunk_on() -> None:
    bodies = [chunk[: limits.CHUNK_CONTENT_SIZE] for chunk in FEED[1].chunks]
    assert [packet for _, packet in link(bodies)] == [*FEED[1].chunks]
    assert [packet for _, packet in link(bodies[3:])] == [*FEED[1].chunks[3:]]


# --- rows


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_any_rows_and_plain_chunks_give_the_side_chains(data: st.DataObject) -> None:
    replica, store = holding(FEED[:4], FIRST[: data.draw(st.integers(0, 3))])
    for seq in (2, 4):
        for chunk in FEED[seq - 1].chunks[: data.draw(st.integers(0, 5))]:
            offer(replica, chunk)
    while rows := lacking(replica, 1):
        number = data.draw(st.sampled_from(range(ROWS)))
        new = hear(replica, row(number)).verdict is Verdict.NEW
        assert new or number < LENGTH_MAX or rows < LENGTH_MAX
        if not replica.expectations.has_chains:
            break
        assert lacking(replica, 1) == rows - new
    for number in range(LENGTH_MAX, 2 * LENGTH_MAX):
        hear(replica, row(number))
    assert contents(store, KEY.feed_id) == TEXTS[:4]
    assert not len(replica.coded_chunks)


def test_a_row_says_what_came_of_it() -> None:
    replica, store = holding(FEED, [*FEED[0].chunks, *FEED[2].chunks, *FEED[3].chunks])
    assert lacking(replica, 2) == 5
    for number in range(20, 24):
        outcome = hear(replica, row(number))
        assert (outcome.kind, outcome.verdict, outcome.events) == (PacketKind.CODED_CHUNK, Verdict.NEW, [])
        assert (outcome.feed, outcome.chunk_block) == (KEY.feed_id, (KEY.feed_id, 0, 0))
    assert lacking(replica, 2) == 1
    assert hear(replica, row(20)).verdict is Verdict.DUPLICATE
    appended = [event for event in hear(replica, row(200)).events if isinstance(event, ChunkAppended)]
    assert [(event.seq, event.chunk, event.complete) for event in appended] == [
        (2, chunk, chunk == 4) for chunk in range(5)
    ]
    assert hear(replica, row(201)).verdict is Verdict.DUPLICATE
    assert list(store.chunks(KEY.feed_id, 2, 0, 9)) == [*FEED[1].chunks]


def test_rows_that_come_before_the_entries_wait_for_them() -> None:
    replica, store = holding(FEED[:1])
    for number in range(LENGTH_MAX, 2 * LENGTH_MAX):
        hear(replica, row(number))
    assert len(replica.coded_chunks) == 1
    for entry in FEED[1:4]:
        offer(replica, entry.packet)
    assert contents(store, KEY.feed_id) == TEXTS[:4]


def test_a_node_without_entries_keeps_rows_too() -> None:
    replica, store = holding([])
    for number in range(LENGTH_MAX, 2 * LENGTH_MAX):
        assert hear(replica, row(number)).verdict is Verdict.NEW
    for entry in FEED[:4]:
        offer(replica, entry.packet)
    assert contents(store, KEY.feed_id) == TEXTS[:4]


def test_rows_of_the_first_part_of_a_chunk_block_help_too() -> None:
    replica, store = holding(FEED[:4])
    for number in (30, 31, 32):
        hear(replica, row(number, length=3))
    assert list(store.chunks(KEY.feed_id, 1, 0, 9)) == [*FEED[0].chunks]
    for number in range(40, 53):
        hear(replica, row(number))
    assert contents(store, KEY.feed_id) == TEXTS[:4]


def test_chunks_that_came_plain_complete_what_rows_began() -> None:
    replica, store = holding(FEED[:4])
    for number in range(LENGTH_MAX, 2 * LENGTH_MAX - 3):
        hear(replica, row(number))
    for chunk in FEED[3].chunks[:3]:
        offer(replica, chunk)
    assert contents(store, KEY.feed_id) == TEXTS[:4]


def test_a_long_side_chain_is_in_no_chunk_block_and_the_next_one_is_behind_the_one_before() -> None:
    replica, store = holding(FEED, [*FIRST, *FEED[5].chunks])
    assert replica.coded_chunks.block_with(KEY.feed_id, 6) is None
    second = [*FEED[4].chunks, *FEED[6].chunks]
    for number in range(16, 27):
        hear(replica, row(number, part=1, length=11, chunks=second))
    assert contents(store, KEY.feed_id) == TEXTS


def test_equal_side_chains_are_coded_once() -> None:
    same = written(KEY, [b"a" * 326, b"a" * 326, b"b" * 326])
    replica, store = holding(same)
    assert replica.coded_chunks.block_with(KEY.feed_id, 2) is None
    chunks = [*same[0].chunks, *same[2].chunks]
    for number in range(16, 22):
        hear(replica, row(number, length=6, chunks=chunks))
    assert contents(store, KEY.feed_id) == [b"a" * 326, b"a" * 326, b"b" * 326]


# --- lies


@pytest.mark.parametrize("lie", [30, 1])
def test_a_lie_costs_the_rows_of_its_chunk_block_and_nothing_else(lie: int) -> None:
    replica, store = holding(FEED[:1])
    wrong = row(lie, length=3)
    packets = [wrong[:-1] + bytes((wrong[-1] ^ 1,)), row(31, length=3), row(32, length=3), row(33, length=3)]
    outcomes = [hear(replica, packet) for packet in packets]
    assert (Verdict.INVALID, POISONED) in [(each.verdict, each.reason) for each in outcomes]
    for number in (33, 34, 35):
        hear(replica, row(number, length=3))
    assert contents(store, KEY.feed_id) == TEXTS[:1]


def test_a_row_that_does_not_fit_those_before_is_a_lie() -> None:
    replica, _ = holding(FEED[:4], FEED[0].chunks)
    wrong = row(2)
    assert hear(replica, wrong[:-1] + bytes((wrong[-1] ^ 1,))).reason == POISONED
    assert not len(replica.coded_chunks)


def test_a_row_of_more_chunks_than_there_can_be_is_a_lie() -> None:
    short = written(KEY, [b"a" * 326, *(b"%d" % number for number in range(15))])
    replica, _ = holding(short)
    assert hear(replica, row(77)).reason == POISONED
    assert hear(replica, row(77, length=3, chunks=short[0].chunks)).verdict is Verdict.NEW


def test_a_plain_chunk_shows_that_rows_were_lies() -> None:
    replica, store = holding(FEED[:1])
    wrong = row(1, length=3)
    hear(replica, wrong[:-1] + bytes((wrong[-1] ^ 1,)))
    for chunk in FEED[0].chunks[:2]:
        offer(replica, chunk)
    assert not len(replica.coded_chunks)
    hear(replica, row(50, length=3))
    assert contents(store, KEY.feed_id) == TEXTS[:1]


def test_an_impossible_row_is_malformed() -> None:
    replica, _ = holding(FEED[:1])
    packet = bytearray(row(20, length=3))
    packet[7] = 3
    outcome = hear(replica, bytes(packet))
    assert (outcome.verdict, outcome.reason, outcome.chunk_block) == (Verdict.INVALID, MALFORMED, None)


# --- what is not kept


def test_of_a_feed_that_is_not_wanted_nothing_is_kept() -> None:
    replica, store = holding(FEED[:4])
    replica.set_wanted(KEY.feed_id, wanted=False)
    assert hear(replica, row(20)).verdict is Verdict.NOT_OURS
    assert hear(replica_of(store, read_only=True), row(20)).verdict is Verdict.NOT_OURS


def test_generations_before_the_first_are_none() -> None:
    replica, _ = holding(FEED[:4])
    packet = serialize_coded_chunk(
        CodedChunk(coded_chunk_tag(NETWORK, KEY.feed_id), 0xFFFF, 0, 1, 0, bytes(100))
    )
    assert hear(replica, packet).verdict is Verdict.NOT_OURS


def test_only_so_many_chunk_blocks_are_kept() -> None:
    coded_chunks = CodedChunks(MemoryStore(), NETWORK, lambda _feed: (0, None))
    feed = KEY.feed_id
    for generation in range(limits.CHUNK_BLOCKS_MAX + 5):
        coded = CodedChunk(b"tags", generation, 0, 4, 20, bytes(100))
        assert coded_chunks.id_of(feed, coded) == (feed, generation, 0)
        coded_chunks.add(ChunkBlockId(feed, generation, 0), coded)
    assert len(coded_chunks) == limits.CHUNK_BLOCKS_MAX
    coded_chunks.forget(feed)
    assert not len(coded_chunks)


def test_a_feed_that_is_forgotten_is_not_recognised() -> None:
    coded_chunks = CodedChunks(MemoryStore(), NETWORK, lambda _feed: (0, None))
    packet = row(20)
    assert coded_chunks.feed_of(packet) is None
    coded_chunks.watch(KEY.feed_id)
    assert coded_chunks.feed_of(packet) == KEY.feed_id
    assert coded_chunks.feed_of(packet + b"?") is None
    coded_chunks.forget(KEY.feed_id)
    assert coded_chunks.feed_of(packet) is None


def test_the_bytes_of_a_coded_chunk() -> None:
    """Frozen: what other programs have to make."""
    assert coded_chunk_tag(NETWORK, KEY.feed_id).hex() == "0ca0e5ef"
    assert row(1, length=3) == coded_chunk_tag(NETWORK, KEY.feed_id) + b"\x00\x00\x02\x01" + FIRST[1][:100]
    assert row(255)[:20].hex() == "0ca0e5ef00000fffc2c2c2c2c2c2c2c2c2c2c2c2"
