"""Coded chunks on the air: who is given rows, how many, and which."""

import pytest

from tests.nodes import AIR_PACKET_US, FACE, Bench, radio_profile, written
from tests.words import ANA, NETWORK, holding
from tinyssb_node import limits
from tinyssb_node.codec.dmx import chnk_dmx
from tinyssb_node.codec.packets import Chnk, parse_chnk, parse_coded_chunk, serialize_chnk
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.ids import PacketKind
from tinyssb_node.replication.chunk_blocks import ChunkBlockId, code_chunks
from tinyssb_node.scheduling.link import lan_profile

AIR = radio_profile()
FEED = written(ANA, [*(bytes((number,)) * 326 for number in range(1, 7)), b"long" * 500])
"""Chunk block 0: entries 1 to 5, 15 chunks. Chunk block 1: entry 6. Entry 7, of 20 chunks, is in none."""
FIRST = [chunk for entry in FEED[:5] for chunk in entry.chunks]
SOON_US = 20 * AIR_PACKET_US


def row(number: int, length: int = 15) -> bytes:
    """Return a coded chunk of chunk block 0."""
    bodies = [chunk[: limits.CHUNK_CONTENT_SIZE] for chunk in FIRST[:length]]
    return code_chunks(NETWORK, ChunkBlockId(ANA.feed_id, 0, 0), number, bodies)


def quiet(entries: tuple[ComposedEntry, ...] = FEED) -> Bench:
    """A node on the air that has nothing to say for a while."""
    bench = holding(entries, AIR)
    bench.pass_time(10 * AIR.advert_max_us)
    bench.take()
    return bench


def ask(bench: Bench, *wanted: tuple[int, int], lacking: tuple[int, ...] | None = ()) -> None:
    """A peer lacks chunks: entry and first chunk missing of each side chain."""
    chnk = Chnk(tuple((0, seq, chunk) for seq, chunk in wanted), lacking)
    bench.hear(serialize_chnk(chnk_dmx(NETWORK, bench.node.set_state), chnk))


def rows(bench: Bench) -> list[tuple[int, int, int]]:
    """Return chunk block, length and row of the coded chunks that the node sends soon."""
    bench.pass_time(SOON_US)
    coded = [parse_coded_chunk(packet) for packet in bench.take(PacketKind.CODED_CHUNK)]
    assert None not in coded
    return [(each.part, each.length, each.row) for each in coded if each is not None]


def plain(bench: Bench) -> list[bytes]:
    """Return the chunks that the node sends soon, and no coded ones."""
    bench.pass_time(SOON_US)
    assert not [send for send in bench.outgoing if send.kind is PacketKind.CODED_CHUNK]
    return bench.take(PacketKind.CHUNK)


@pytest.fixture
def bench() -> Bench:
    return quiet()


def following(first: int, count: int) -> list[int]:
    """Return *count* rows that are sums, from *first* on."""
    return [16 + (first - 16 + number) % 240 for number in range(count)]


# --- giving


def test_a_peer_that_reads_coded_chunks_is_given_as_many_sums_as_it_lacks(bench: Bench) -> None:
    ask(bench, (2, 1), (6, 0), lacking=(4, 2))
    given = rows(bench)
    first, second = ([each for each in given if each[0] == part] for part in (0, 1))
    assert [number for _, _, number in first] == following(first[0][2], 4)
    assert {length for _, length, _ in first} == {15}
    assert [number for _, _, number in second] == following(second[0][2], 2)
    assert {length for _, length, _ in second} == {3}


def test_zero_stands_for_all(bench: Bench) -> None:
    ask(bench, (6, 0))
    assert len(rows(bench)) == 3


def test_each_request_gets_further_rows(bench: Bench) -> None:
    ask(bench, (2, 1), lacking=(2,))
    before = rows(bench)
    ask(bench, (2, 1), lacking=(2,))
    assert [number for _, _, number in rows(bench)] == following(before[-1][2] + 1, 2)


def test_what_waits_counts_against_what_another_one_lacks(bench: Bench) -> None:
    ask(bench, (2, 1), lacking=(3,))
    ask(bench, (1, 0), lacking=(5,))
    ask(bench, (3, 0), lacking=(2,))
    assert len(rows(bench)) == 5


def test_a_chnk_without_the_byte_is_answered_by_chunks(bench: Bench) -> None:
    ask(bench, (2, 1), lacking=None)
    assert plain(bench) == [*FEED[1].chunks[1:]]


def test_where_somebody_reads_none_all_get_chunks_for_a_while(bench: Bench) -> None:
    ask(bench, (6, 2), lacking=None)
    plain(bench)
    ask(bench, (2, 1), lacking=(2,))
    assert plain(bench) == [*FEED[1].chunks[1:]]
    bench.pass_time(limits.KNOWN_PACKETS * AIR_PACKET_US)
    bench.take()
    ask(bench, (2, 1), lacking=(2,))
    assert len(rows(bench)) == 2


def test_a_long_side_chain_is_given_as_it_is(bench: Bench) -> None:
    ask(bench, (7, 17))
    assert plain(bench) == [*FEED[6].chunks[17:]]


def test_on_a_wire_chunks_are_given_as_they_are() -> None:
    bench = holding(FEED, lan_profile())
    bench.pass_time(AIR.advert_max_us)
    bench.take()
    ask(bench, (2, 1))
    assert plain(bench) == [*FEED[1].chunks[1:]]


def test_behind_the_first_chunk_that_is_not_here_chunks_are_given_as_they_are() -> None:
    bench = quiet(())
    for entry in FEED[:3]:
        bench.hear(entry.packet)
    for chunk in (*FEED[0].chunks, *FEED[2].chunks):
        bench.hear(chunk)
    bench.pass_time(SOON_US)
    bench.take()
    ask(bench, (1, 0), lacking=(9,))
    assert [(part, length) for part, length, _ in rows(bench)] == [(0, 3)] * 3
    ask(bench, (3, 1), lacking=(9,))
    assert plain(bench) == [*FEED[2].chunks[1:]]


def test_a_row_that_was_heard_spares_it_and_those_before(bench: Bench) -> None:
    bench.hear(row(250))
    bench.reports_sent = False
    ask(bench, (1, 0), lacking=(8,))
    queue = bench.node.transmit_queue(FACE)
    assert queue is not None
    assert len(queue.waiting) == 8
    bench.hear(row(17))
    assert (len(queue.waiting), queue.counters.spared) == (1, 7)
    bench.hear(row(16))
    bench.reports_sent = True
    assert [number for _, _, number in rows(bench)] == [18]
    ask(bench, (1, 0), lacking=(1,))
    assert [number for _, _, number in rows(bench)] == [19]
    bench.hear(row(3))
    bench.hear(row(30, length=2))
    ask(bench, (1, 0), lacking=(1,))
    assert [number for _, _, number in rows(bench)] == [31]


# --- asking


def needy() -> Bench:
    """A node on the air that lacks chunks."""
    bench = quiet(())
    for entry in FEED:
        bench.hear(entry.packet)
    bench.take()
    return bench


def asked(bench: Bench) -> list[Chnk]:
    bench.take()
    bench.pass_time(AIR.advert_max_us)
    return [parse_chnk(packet) for packet in bench.take(PacketKind.CHNK)]


def lacked(chnk: Chnk) -> dict[int, int]:
    assert chnk.lacking is not None
    padded = (*chnk.lacking, *([0] * len(chnk.wanted)))
    return {seq: lacking for (_, seq, _), lacking in zip(chnk.wanted, padded, strict=False)}


def test_a_chnk_names_one_side_chain_of_each_chunk_block() -> None:
    bench = needy()
    for chnk in asked(bench):
        first, *others = sorted(lacked(chnk).items())
        assert first[0] < 6
        assert (first[1], *others) == (0, (6, 0), (7, 0))


def test_in_time_each_side_chain_is_named() -> None:
    bench = needy()
    assert {seq for _ in range(40) for chnk in asked(bench) for seq in lacked(chnk)} == set(range(1, 8))


def test_a_chnk_says_how_many_rows_lack() -> None:
    bench = needy()
    bench.hear(FEED[0].chunks[0])
    bench.hear(row(77))
    chnks = asked(bench)
    assert {lacking for chnk in chnks for seq, lacking in lacked(chnk).items() if seq < 6} == {13}


def test_after_a_lie_chunks_are_asked_for_as_they_are() -> None:
    bench = needy()
    bench.hear(FEED[0].chunks[0])
    bench.hear(row(0)[:-1] + b"?")
    assert {chnk.lacking for chnk in asked(bench)} == {None}
    bench.pass_time(limits.CODED_DISTRUST_US)
    assert {chnk.lacking is None for chnk in asked(bench) + asked(bench)} == {False}


def test_where_a_peer_reads_none_all_side_chains_are_named() -> None:
    bench = needy()
    ask(bench, (6, 2), lacking=None)
    chnk = asked(bench)[0]
    assert len(chnk.wanted) == 7
    assert chnk.lacking is not None


@pytest.mark.parametrize(("lacking", "spared"), [((14,), True), ((13,), True), ((12,), False), (None, False)])
def test_a_request_for_as_many_rows_spares_ours(lacking: tuple[int, ...] | None, spared: bool) -> None:
    bench = quiet(())
    for entry in FEED[:5]:
        bench.hear(entry.packet)
    for chunk in FEED[0].chunks[:2]:
        bench.hear(chunk)
    queue = bench.node.transmit_queue(FACE)
    assert queue is not None
    queue.advertise(PacketKind.CHNK, bench.now_us)
    ask(bench, (2, 0), lacking=lacking)
    assert (PacketKind.CHNK not in queue.adverts) is spared
