from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load
from tests.feeds.builders import KEY
from tinyssb_node import limits
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.feeds.sidechain import (
    ChunkAccepted,
    SideChain,
    WrongHash,
    advance,
    begin,
    reassemble,
    split,
    split_variable,
)
from tinyssb_node.ids import Dialect

FEED = KEY.feed_id
DIALECTS = st.sampled_from(list(Dialect))
CONTENTS = st.integers(0, 1200).map(lambda size: bytes(index % 251 for index in range(size)))


def begun(content: bytes, dialect: Dialect = Dialect.SPEC) -> tuple[SideChain, tuple[bytes, ...]]:
    """A side chain none of which is known, and its packets."""
    field, chunks = split_variable(content, dialect)
    chain = begin(FEED, 3, layout_of(1, field, dialect))
    assert chain is not None
    return chain, chunks


def advanced(chain: SideChain, packet: bytes) -> ChunkAccepted:
    outcome = advance(chain, packet)
    assert isinstance(outcome, ChunkAccepted)
    return outcome


@pytest.mark.parametrize("dialect", list(Dialect))
def test_side_chains_of_the_vectors(dialect: Dialect) -> None:
    for message in load(f"feed_{dialect}.json")["messages"]:
        if message["type"] != 1:
            continue
        content, field = bytes.fromhex(message["content"]), bytes.fromhex(message["packet"])[8:56]
        chunks = tuple(map(bytes.fromhex, message["chunks"]))
        assert split_variable(content, dialect) == (field, chunks)
        assert reassemble(layout_of(1, field, dialect), chunks) == content


@given(CONTENTS, DIALECTS)
def test_what_is_split_comes_together_again(content: bytes, dialect: Dialect) -> None:
    type_, field, chunks = split(content, dialect)
    assert len(field) == limits.CONTENT_SIZE
    assert all(len(chunk) == limits.PACKET_SIZE for chunk in chunks)
    assert reassemble(layout_of(type_, field, dialect), chunks) == content


@given(CONTENTS, DIALECTS)
def test_every_chunk_is_recognised_in_its_turn_and_only_then(content: bytes, dialect: Dialect) -> None:
    type_, field, chunks = split(content, dialect)
    chain = begin(FEED, 3, layout_of(type_, field, dialect))
    assert (chain is None) == (not chunks)
    size = 0
    for number, packet in enumerate(chunks):
        assert chain is not None
        for early in chunks[number + 1 :]:
            assert advance(chain, early) == WrongHash(FEED, 3, number)
        outcome = advanced(chain, packet)
        assert (outcome.chunk, outcome.complete) == (number, number == len(chunks) - 1)
        assert advance(outcome.chain, packet) == WrongHash(FEED, 3, number + 1)
        chain, size = outcome.chain, size + outcome.size
    if chain is not None:
        assert chain.complete
        assert size == chain.content_size


def test_exactly_48_bytes_need_no_length() -> None:
    assert split(b"x" * 48, Dialect.DEPLOYED) == (0, b"x" * 48, ())
    assert split(b"x" * 47, Dialect.SPEC) == (1, b"\x2f" + b"x" * 47, ())


def test_what_is_known_while_a_chain_grows() -> None:
    chain, chunks = begun(b"y" * 250)
    assert chain == SideChain(FEED, 3, 3, 0, chunk_hash(chunks[0]), 224)
    first = advanced(chain, chunks[0])
    assert first == ChunkAccepted(SideChain(FEED, 3, 3, 1, chunk_hash(chunks[1]), 224), 0, 100, False)
    second = advanced(first.chain, chunks[1])
    last = advanced(second.chain, chunks[2])
    assert last == ChunkAccepted(SideChain(FEED, 3, 3, 3, bytes(20), 224), 2, 24, True)
    assert [step.chain.complete for step in (first, second, last)] == [False, False, True]
    assert not any(step.chain.broken for step in (first, second, last))


def test_a_chain_goes_on_from_what_was_kept() -> None:
    """All that is needed after a restart is the record itself."""
    chain, chunks = begun(b"y" * 250)
    kept = advanced(chain, chunks[0]).chain
    again = SideChain(kept.feed, kept.seq, kept.chunks, kept.held, kept.next_hash, kept.content_size)
    assert advanced(again, chunks[1]).chunk == 1


@given(st.integers(0, 119), st.integers(1, 255))
def test_a_changed_chunk_is_not_recognised(at: int, change: int) -> None:
    chain, chunks = begun(b"y" * 250)
    damaged = bytearray(chunks[0])
    damaged[at] ^= change
    assert advance(chain, bytes(damaged)) == WrongHash(FEED, 3, 0)


def test_a_chunk_has_120_bytes_whatever_its_hash() -> None:
    chain, _ = begun(b"y" * 250)
    short = b"s" * 119
    assert advance(replace(chain, next_hash=chunk_hash(short)), short) == WrongHash(FEED, 3, 0)


def test_a_pointer_that_ends_too_early_breaks_the_chain_for_ever() -> None:
    last = b"a" * 100 + bytes(20)
    chain = SideChain(FEED, 3, 2, 0, chunk_hash(last), 150)
    grown = advanced(chain, last)
    assert not grown.complete
    assert grown.chain.broken
    assert not grown.chain.complete
    assert not chain.broken


def test_a_pointer_in_the_last_packet_is_not_followed() -> None:
    last = b"a" * 100 + b"p" * 20
    grown = advanced(SideChain(FEED, 3, 1, 0, chunk_hash(last), 50), last)
    assert grown.complete
    assert grown.chain.next_hash == bytes(20)
    assert not grown.chain.broken


def test_padding_of_the_last_packet_is_no_content() -> None:
    packet = b"t" * 33 + b"junk behind it".ljust(67, b"!") + bytes(20)
    layout = layout_of(1, encode_varint(60) + b"h" * 27 + chunk_hash(packet), Dialect.SPEC)
    assert reassemble(layout, [packet]) == b"h" * 27 + b"t" * 33


def test_entries_without_side_chain_begin_none() -> None:
    assert begin(FEED, 1, layout_of(1, b"\x01a".ljust(48, b"\x00"), Dialect.SPEC)) is None
    assert begin(FEED, 1, layout_of(7, b"\x01a".ljust(48, b"\x00"), Dialect.SPEC)) is None


def test_all_packets_are_needed() -> None:
    field, chunks = split_variable(b"y" * 250, Dialect.SPEC)
    with pytest.raises(ValueError, match="has 3 packets, not 2"):
        reassemble(layout_of(1, field, Dialect.SPEC), chunks[:2])


def test_a_length_of_more_bytes_than_needed_keeps_the_sizes_right() -> None:
    body = b"abcdefghij" * 10
    packet = body + bytes(20)
    layout = layout_of(1, (b"\xff\x80\x00" + b"h" * 25) + chunk_hash(packet), Dialect.SPEC)
    chain = begin(FEED, 1, layout)
    assert chain is not None
    grown = advance(chain, packet)
    assert isinstance(grown, ChunkAccepted)
    assert (layout.size, chain.chunks, grown.size) == (127, 2, 100)
