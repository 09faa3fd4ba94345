"""Contents of export files, and what a store has beyond them."""

import io
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.fakes import KEY, OTHER, make_node
from tests.nodes import packets_of, written
from tests.store.gaps import cut_and_given_again
from tinyssb_node import limits
from tinyssb_node.daemon.exports import (
    ExportCoverage,
    ExportedChunk,
    ExportedEntry,
    FeedHeader,
    Piece,
    export_pieces,
    firsts_since,
    read_export,
    write_export,
)
from tinyssb_node.ids import Dialect, Seq
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore

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
    cover = ExportCoverage(STORE)
    for pieces in drawn:
        cover.add(pieces)
    lacked = known(PIECES) - set().union(*(known(pieces) for pieces in drawn))
    (record,) = STORE.feeds()
    assert cover.first_lacked(record) == min((seq for seq, _ in lacked), default=len(SIZES) + 1)


@given(st.lists(files, max_size=4))
def test_a_file_behind_the_cover_makes_it_whole(drawn: list[list[Piece]]) -> None:
    cover = ExportCoverage(STORE)
    for pieces in drawn:
        cover.add(pieces)
    rest = io.BytesIO()
    write_export(export_pieces(STORE, STORE.feeds(), cover.first_lacked), rest)
    rest.seek(0)
    cover.add(read_export(rest))
    (record,) = STORE.feeds()
    assert cover.first_lacked(record) == record.seq + 1


def changed(pieces: Sequence[Piece], places: Collection[int]) -> list[Piece]:
    """*pieces* of which those at *places* are others, by a bit of what was signed or pointed to."""
    return [
        type(piece)(bytes([*piece.packet[:-1], piece.packet[-1] ^ 1]))
        if number in places and not isinstance(piece, FeedHeader)
        else piece
        for number, piece in enumerate(pieces)
    ]


@given(st.lists(st.tuples(files, st.sets(st.integers(1, 20))), max_size=4))
def test_what_is_not_as_the_store_has_it_does_not_count(drawn: list[tuple[list[Piece], set[int]]]) -> None:
    cover = ExportCoverage(STORE)
    true: set[tuple[int, int]] = set()
    for pieces, places in drawn:
        shown = changed(pieces, places)
        cover.add(shown)
        true |= agreeing(pieces, shown)
    (record,) = STORE.feeds()
    assert cover.first_lacked(record) == min((seq for seq, _ in known(PIECES) - true), default=len(SIZES) + 1)


def agreeing(pieces: Sequence[Piece], shown: Sequence[Piece]) -> set[tuple[int, int]]:
    """The places up to the first difference in each entry, itself and then its chunks."""
    places: set[tuple[int, int]] = set()
    whole = False
    for number, (piece, other) in enumerate(zip(pieces, shown, strict=True)):
        whole = piece == other and (whole or isinstance(piece, ExportedEntry))
        if whole:
            places |= known(pieces[: number + 1]) - known(pieces[:number])
    return places


def test_the_other_dialect_in_a_header_hides_no_side_chain() -> None:
    store = MemoryStore()
    node = make_node(store, KEY)
    node.follow(OTHER.feed_id, 0)
    # 40 bytes are all in the entry in one dialect, and have a chunk in the other.
    (composed,) = written(OTHER, [bytes(40)], Dialect.DEPLOYED)
    for packet in packets_of([composed]):
        node.import_packet(packet, 0)
    cover = ExportCoverage(store)
    cover.add([FeedHeader(OTHER.feed_id, Dialect.SPEC, Seq(1)), ExportedEntry(composed.packet)])
    (record,) = (record for record in store.feeds() if record.feed == OTHER.feed_id)
    assert cover.first_lacked(record) == 1


def test_files_that_lack_the_end_of_a_chain_are_gone_on_with_there() -> None:
    (record,) = STORE.feeds()
    cover = ExportCoverage(STORE)
    cover.add(file_of(1, len(SIZES), (5,)))
    assert cover.first_lacked(record) == 5
    cover.add(file_of(5, 5, ()))
    assert cover.first_lacked(record) == record.seq + 1


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


def test_what_came_since_a_time_is_found_behind_numbers_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONTROL_PAGE", 2)
    path = tmp_path / "store.sqlite"
    store = SqliteStore.open(path)
    node = make_node(store, KEY)
    for _ in range(6):
        node.publish(b"old", 0)
    store.commit(1_000)
    with closing(cut_and_given_again(store, path, KEY.feed_id, 1)) as store:
        assert firsts_since(store, 2_000) == {KEY.feed_id: 2}
        assert firsts_since(store, 2_001) == {}
