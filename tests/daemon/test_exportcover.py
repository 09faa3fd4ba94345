"""What some export files hold, and what a store has beyond it."""

import io
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.fakes import KEY, make_node
from tinyssb_node.daemon.exportcover import Cover, firsts_since
from tinyssb_node.daemon.exports import (
    ExportedChunk,
    ExportedEntry,
    FeedHeader,
    Piece,
    export_pieces,
    read_export,
    write_export,
)
from tinyssb_node.ids import Dialect, Seq
from tinyssb_node.store.memory import MemoryStore

SIZES = (3, 200, 3, 3, 500, 200, 3)
"""Bytes of the entries of the feed: those of 200 have side chains of two chunks, that of 500 one of five."""


def written_store() -> MemoryStore:
    store = MemoryStore()
    node = make_node(store, KEY)
    for number, size in enumerate(SIZES):
        node.publish(bytes([number]) * size, 0)
    return store


STORE = written_store()
PIECES = list(export_pieces(STORE, STORE.feeds()))
ENTRIES = [index for index, piece in enumerate(PIECES) if isinstance(piece, ExportedEntry)]


def file_of(first: int, last: int, short: Sequence[int]) -> list[Piece]:
    """Entries *first* to *last*, of which those in *short* lack the last of their chunks."""
    pieces: list[Piece] = [FeedHeader(KEY.feed_id, Dialect.SPEC, Seq(first))]
    bounds = [*ENTRIES, len(PIECES)]
    for seq in range(first, last + 1):
        entry = PIECES[bounds[seq - 1] : bounds[seq]]
        pieces += entry[:-1] if seq in short and len(entry) > 1 else entry
    return pieces


files = st.tuples(
    st.integers(1, len(SIZES)), st.integers(1, len(SIZES)), st.sets(st.integers(1, len(SIZES)))
).map(lambda drawn: file_of(min(drawn[:2]), max(drawn[:2]), sorted(drawn[2])))


def known(pieces: Sequence[Piece]) -> set[tuple[int, int]]:
    """The packets of a file as places: sequence number, and number in the side chain, 0 for the entry itself."""
    places = set()
    seq = part = 0
    for piece in pieces:
        if isinstance(piece, FeedHeader):
            seq = piece.first - 1
        elif isinstance(piece, ExportedEntry):
            seq, part = seq + 1, 0
            places.add((seq, 0))
        else:
            assert isinstance(piece, ExportedChunk)
            part += 1
            places.add((seq, part))
    return places


@given(st.lists(files, max_size=5))
def test_it_names_the_first_entry_of_which_the_store_has_more(drawn: list[list[Piece]]) -> None:
    cover = Cover()
    for pieces in drawn:
        cover.add(pieces)
    lacked = known(PIECES) - set().union(*(known(pieces) for pieces in drawn))
    (record,) = STORE.feeds()
    assert cover.first_lacked(STORE, record) == min((seq for seq, _ in lacked), default=len(SIZES) + 1)


@given(st.lists(files, max_size=4))
def test_a_file_behind_the_cover_makes_it_whole(drawn: list[list[Piece]]) -> None:
    cover = Cover()
    for pieces in drawn:
        cover.add(pieces)
    rest = io.BytesIO()
    write_export(export_pieces(STORE, STORE.feeds(), lambda record: cover.first_lacked(STORE, record)), rest)
    rest.seek(0)
    cover.add(read_export(rest))
    (record,) = STORE.feeds()
    assert cover.first_lacked(STORE, record) == record.seq + 1


def test_files_that_lack_the_end_of_a_chain_are_gone_on_with_there() -> None:
    (record,) = STORE.feeds()
    cover = Cover()
    cover.add(file_of(1, len(SIZES), (5,)))
    assert cover.first_lacked(STORE, record) == 5
    cover.add(file_of(5, 5, ()))
    assert cover.first_lacked(STORE, record) == record.seq + 1


def test_what_came_since_a_time_begins_with_the_earliest_of_it() -> None:
    store = MemoryStore()
    node = make_node(store, KEY)
    node.publish(b"old", 0)
    store.commit(1_000)
    node.publish(b"new", 0)
    store.commit(5_000)
    node.publish(b"with a clock that was set back", 0)
    store.commit(2_000)
    assert firsts_since(store, 5_001) == {}
    assert firsts_since(store, 5_000) == {KEY.feed_id: 2}
    assert firsts_since(store, 1_500) == {KEY.feed_id: 2}
    assert firsts_since(store, 0) == {KEY.feed_id: 1}
