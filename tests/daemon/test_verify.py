"""A store's faults are found, each where it is."""

from dataclasses import replace

import pytest

from tests.daemon.fakes import KEY, NETWORK, OTHER, make_node
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.verify import Verifier, check_entry
from tinyssb_node.feeds.fork import ForkProof
from tinyssb_node.ids import Dialect, MessageId, Origin
from tinyssb_node.store.memory import MemoryStore


def filled(contents: list[bytes]) -> MemoryStore:
    store = MemoryStore()
    node = make_node(store)
    for content in contents:
        node.publish(content, 0)
    store.commit(0)
    return store


def found(store: MemoryStore) -> list[tuple[int, str]]:
    verifier = Verifier(store, NETWORK)
    damages = [(damage.seq, damage.problem) for damage in verifier.run()]
    assert verifier.problems == len(damages)
    return damages


def copy(
    store: MemoryStore, changed: dict[int, bytes], chunks: dict[tuple[int, int], bytes] | None = None
) -> MemoryStore:
    """*store* with some packets replaced, as a disk might do it."""
    damaged = MemoryStore()
    (record,) = store.feeds()
    damaged.put_feed(replace(record, seq=0, tip=None))
    for entry in store.entries(record.feed, 1, 9999):
        packet = changed.get(entry.seq, entry.packet)
        damaged.append_entry(record.feed, entry.seq, packet, entry.id, Origin.OWN, None)
        for number, chunk in enumerate(store.chunks(record.feed, entry.seq, 0, 999)):
            kept = (chunks or {}).get((entry.seq, number), chunk)
            damaged.append_chunk(record.feed, entry.seq, number, kept, Origin.OWN, None)
    return damaged


def test_a_whole_store_has_no_faults_and_is_counted() -> None:
    store = filled([b"%d" % number for number in range(limits.CONTROL_PAGE + 2)] + [bytes(1000)])
    verifier = Verifier(store, NETWORK)
    assert list(verifier.run()) == []
    assert (verifier.feeds, verifier.entries, verifier.chunks) == (1, limits.CONTROL_PAGE + 3, 10)


@pytest.mark.parametrize(
    ("place", "problem"),
    [(0, "it does not follow"), (10, "its signature is wrong"), (100, "its signature is wrong")],
)
def test_a_flipped_byte_is_told_once(place: int, problem: str) -> None:
    store = filled([b"a", b"b", b"c"])
    entry = store.entry(KEY.feed_id, 2)
    assert entry is not None
    packet = bytearray(entry.packet)
    packet[place] ^= 1
    ((seq, told),) = found(copy(store, {2: bytes(packet)}))
    assert seq == 2
    assert problem in told


def test_a_chunk_that_is_another_is_told() -> None:
    store = filled([bytes(1000)])
    assert found(copy(store, {}, {(1, 3): b"x" * 120})) == [
        (1, "chunk 3 is not the one that the packet before names")
    ]


def test_a_chunk_too_many_is_told() -> None:
    store = filled([b"small"])
    store.append_chunk(KEY.feed_id, 1, 0, bytes(120), Origin.OWN, None)
    assert found(store) == [(1, "chunk 0 is not the one that the packet before names")]


def test_a_frontier_that_is_wrong_is_told() -> None:
    store = filled([b"a"])
    (record,) = store.feeds()
    store.put_feed(replace(record, tip=MessageId(bytes(20))))
    assert [seq for seq, _ in found(store)] == [0]


def test_another_network_sees_foreign_entries() -> None:
    store = filled([b"a"])
    assert len(list(Verifier(store, Network(b"other")).run())) == 1


def test_a_proof_that_proves_nothing_is_told() -> None:
    store = filled([b"a"])
    entry = store.entry(KEY.feed_id, 1)
    assert entry is not None
    proof = ForkProof(KEY.feed_id, 1, Dialect.SPEC, MessageId(bytes(20)), entry.packet, bytes(120))
    store.put_fork(proof)
    assert found(store) == [(1, "the proof of its fork does not hold")]


def test_one_entry_is_checked_in_its_place() -> None:
    store = filled([b"a", b"b"])
    (record,) = store.feeds()
    first, second = store.entries(KEY.feed_id, 1, 2)
    assert check_entry(NETWORK, store, record, second)
    assert not check_entry(NETWORK, store, record, replace(second, packet=first.packet))
    assert not check_entry(NETWORK, store, record, replace(second, id=first.id))
    assert not check_entry(
        NETWORK, store, replace(record, feed=OTHER.feed_id), replace(first, feed=OTHER.feed_id)
    )
