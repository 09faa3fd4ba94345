"""Choice of the packets of a file that a store lacks, and of those that are skipped."""

from dataclasses import replace

import pytest

from tests.daemon.fakes import KEY, OTHER, make_node
from tests.nodes import packets_of, written
from tinyssb_node.cli.packet_import import ImportResult, lacked
from tinyssb_node.daemon.exports import ExportedChunk, ExportedEntry, FeedHeader, Piece
from tinyssb_node.ids import Dialect, Seq
from tinyssb_node.store.memory import MemoryStore

FEED = written(OTHER, [b"1", bytes(300), b"3", bytes(300), b"5"])
"""Entries 2 and 4 have three chunks each."""
NAME = OTHER.feed_id.hex()


def file_of(first: int, last: int) -> list[Piece]:
    pieces: list[Piece] = [FeedHeader(OTHER.feed_id, Dialect.SPEC, Seq(first))]
    for composed in FEED[first - 1 : last]:
        pieces += [ExportedEntry(composed.packet), *map(ExportedChunk, composed.chunks)]
    return pieces


@pytest.fixture
def store() -> MemoryStore:
    """Holds entries 1 to 3, and of the chunks of 2 the first."""
    store = MemoryStore()
    node = make_node(store, KEY)
    node.follow(OTHER.feed_id, 0)
    first, second, third = FEED[:3]
    for packet in [*packets_of([first]), second.packet, second.chunks[0], third.packet]:
        node.import_packet(packet, 0)
    return store


def learnt(store: MemoryStore, pieces: list[Piece], taken: ImportResult, *blocked: str) -> list[Piece]:
    return [*lacked("a.tssb", iter(pieces), store, blocked, taken)][1:]


@pytest.mark.parametrize(
    ("first", "last", "seqs", "early"),
    [(1, 5, (2, 4, 5), False), (1, 3, (2,), False), (4, 4, (4,), False), (5, 5, (), True), (3, 3, (), False)],
)
def test_what_is_new_and_what_grows(
    store: MemoryStore, first: int, last: int, seqs: tuple[int, ...], early: bool
) -> None:
    taken = ImportResult()
    expected = [piece for seq in seqs for piece in file_of(seq, seq)[1:]]
    assert learnt(store, file_of(first, last), taken) == expected
    assert taken.early == ({NAME} if early else set())
    assert not taken.passed


@pytest.mark.parametrize("word", ["unfollowed", "retired", "forked", "blocked"])
def test_of_what_is_not_taken_it_is_told_where_there_is_some(store: MemoryStore, word: str) -> None:
    (record,) = (record for record in store.feeds() if record.feed == OTHER.feed_id)
    changes = {
        "unfollowed": replace(record, wanted=False),
        "retired": replace(record, retired=True),
        "forked": replace(record, forked_at=3),
        "blocked": record,
    }
    store.put_feed(changes[word])
    blocked = [NAME] if word == "blocked" else []
    taken = ImportResult()
    grown = file_of(2, 2)[1:] if word == "forked" else []
    assert learnt(store, file_of(1, 5), taken, *blocked) == grown, "side chains of a fork are fetched, too"
    assert taken.passed == {NAME: word}
    taken = ImportResult()
    assert learnt(store, file_of(1, 1), taken, *blocked) == []
    assert not taken.passed
