"""Export files: whole, damaged, foreign."""

import io
from collections.abc import Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.fakes import KEY, OTHER, make_node
from tinyssb_node import limits
from tinyssb_node.daemon.exports import (
    ExportedChunk,
    ExportedEntry,
    ExportFileError,
    FeedHeader,
    Piece,
    export_pieces,
    read_export,
    write_export,
)
from tinyssb_node.ids import Dialect, FeedId, Seq
from tinyssb_node.store.memory import MemoryStore

packets = st.binary(min_size=limits.PACKET_SIZE, max_size=limits.PACKET_SIZE)
headers = st.builds(
    FeedHeader,
    st.binary(min_size=32, max_size=32).map(FeedId),
    st.sampled_from(Dialect),
    st.integers(1, limits.SEQ_MAX).map(Seq),
)
entries = st.tuples(packets.map(ExportedEntry), st.lists(packets.map(ExportedChunk), max_size=3)).map(
    lambda pair: [pair[0], *pair[1]]
)
feeds = st.tuples(headers, st.lists(entries, max_size=3)).map(
    lambda pair: [pair[0], *chain.from_iterable(pair[1])]
)
exports = st.lists(feeds, max_size=3).map(lambda parts: list(chain.from_iterable(parts)))


def written(pieces: Iterator[Piece]) -> bytes:
    file = io.BytesIO()
    write_export(pieces, file)
    return file.getvalue()


def example() -> bytes:
    store = MemoryStore()
    make_node(store, OTHER).publish(bytes(200), 0)
    return written(export_pieces(store, store.feeds()))


@given(exports)
def test_what_was_written_is_read(pieces: list[Piece]) -> None:
    assert list(read_export(io.BytesIO(written(iter(pieces))))) == pieces


def test_a_store_is_exported_in_order_and_empty_feeds_are_left_out() -> None:
    store = MemoryStore()
    node = make_node(store, KEY)
    for number in range(limits.CONTROL_PAGE + 3):
        node.publish(b"%d" % number, 0)
    node.publish(bytes(range(200)) + b"x", 0)
    node.follow(OTHER.feed_id, 0)
    header, *rest = export_pieces(store, store.feeds())
    assert header == FeedHeader(KEY.feed_id, Dialect.SPEC, Seq(1))
    assert [type(piece) for piece in rest[-3:]] == [ExportedEntry, ExportedChunk, ExportedChunk]
    assert len(rest) == limits.CONTROL_PAGE + 6


def test_every_cut_and_every_flipped_byte_is_noticed() -> None:
    whole = example()
    assert list(read_export(io.BytesIO(whole)))
    for length in range(len(whole)):
        with pytest.raises(ExportFileError):
            list(read_export(io.BytesIO(whole[:length])))
    for place in range(len(whole)):
        flipped = whole[:place] + bytes((whole[place] ^ 1,)) + whole[place + 1 :]
        with pytest.raises(ExportFileError):
            list(read_export(io.BytesIO(flipped)))
    with pytest.raises(ExportFileError, match="more bytes"):
        list(read_export(io.BytesIO(whole + b"\0")))


@pytest.mark.parametrize("pieces", [[ExportedEntry(bytes(120))], [ExportedChunk(bytes(120))]])
def test_pieces_out_of_place_are_refused(pieces: list[Piece]) -> None:
    with pytest.raises(ExportFileError, match="does not belong"):
        list(read_export(io.BytesIO(written(iter(pieces)))))


def test_a_newer_version_is_refused_by_name() -> None:
    with pytest.raises(ExportFileError, match="format 2"):
        list(read_export(io.BytesIO(b"tinySSB export\n\x02")))
