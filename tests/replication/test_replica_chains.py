"""Side chains in our copy of the feeds: resumed, shared, broken off, more than there is room for."""

import pytest

from tests.nodes import key_of, packets_of, pointing_to, written
from tests.replication.replicas import NETWORK, contents, offer, offer_all, replica_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.codec.events import ChunkAppended, EntryAppended
from tinyssb_node.feeds.author import sign_entry
from tinyssb_node.feeds.chain import Tip, expectations
from tinyssb_node.feeds.layout import VARIABLE_TYPE
from tinyssb_node.ids import Dialect, PacketKind, Verdict
from tinyssb_node.store.memory import MemoryStore

ANA = key_of("ana")
BEN = key_of("ben")


def test_side_chains_go_on_after_a_restart() -> None:
    entry, *chunks = packets_of(written(ANA, [b"x" * 500]))
    store = MemoryStore()
    offer_all(replica_of(store, ANA.feed_id), [entry, *chunks[:2]])
    store.commit(0)
    replica = replica_of(store)
    assert [chain.held for chain in replica.expectations.side_chains] == [2]
    finding = offer(replica, chunks[2])
    assert (finding.kind, finding.verdict, finding.chunk) == (PacketKind.CHUNK, Verdict.NEW, 2)
    offer_all(replica, chunks[3:])
    assert contents(store, ANA.feed_id) == [b"x" * 500]
    assert list(store.side_chains()) == []


def test_two_side_chains_that_expect_the_same_chunk_both_get_it() -> None:
    content = b"y" * 300
    (left, *chunks), (right, *same) = packets_of(written(ANA, [content])), packets_of(written(BEN, [content]))
    assert chunks == same
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id, BEN.feed_id)
    offer_all(replica, [left, right])
    finding = offer(replica, chunks[0])
    assert {event.feed for event in finding.events if isinstance(event, ChunkAppended)} == {
        ANA.feed_id,
        BEN.feed_id,
    }
    offer_all(replica, chunks[1:])
    assert contents(store, ANA.feed_id) == contents(store, BEN.feed_id) == [content]


def test_chunks_that_another_side_chain_brought_are_not_asked_for_again() -> None:
    content = b"z" * 500
    feed = packets_of(written(ANA, [content]))
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id, BEN.feed_id)
    offer_all(replica, feed)
    finding = offer(replica, packets_of(written(BEN, [content]))[0])
    assert [type(event) for event in finding.events] == [EntryAppended, *[ChunkAppended] * (len(feed) - 1)]
    assert contents(store, BEN.feed_id) == [content]
    assert replica.expectations.side_chains == ()


def test_one_entry_makes_us_copy_a_bounded_many_chunks() -> None:
    """120 bytes that point to a long side chain of somebody else must not cost us all of it at once."""
    content = b"".join(bytes((65 + number,)) * 100 for number in range(100)) * 2
    feed = packets_of(written(ANA, [content]))
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id, BEN.feed_id)
    offer_all(replica, feed)
    entry, *chunks = packets_of(written(BEN, [content]))
    assert len(offer(replica, entry).events) == 1 + limits.SHARED_CHUNKS_MAX
    held = limits.SHARED_CHUNKS_MAX
    while held < len(chunks):
        held += len(offer(replica, chunks[held]).events)
    assert contents(store, BEN.feed_id) == [content]


def test_a_side_chain_whose_end_came_before_its_begin_is_completed_by_what_is_held() -> None:
    tail = b"t" * 100
    feed = written(ANA, [b"a" * 27 + tail, b"b" * 26 + b"c" * 100 + tail])
    (first, last), (second, middle, same) = (packets_of(feed[:1]), packets_of(feed[1:]))
    assert last == same
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, [first, last, second, middle])
    assert list(store.side_chains()) == []


def test_side_chains_beyond_the_bound_get_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIDE_CHAINS_MAX", 4)
    feed = written(ANA, [bytes((65 + number,)) * 100 for number in range(10)])
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, [entry.packet for entry in feed])
    chunk_of = {entry.extended.tip.seq: entry.chunks[0] for entry in feed}
    turns = 0
    while replica.expectations.side_chains:
        assert len(replica.expectations.side_chains) <= 4
        offer(replica, chunk_of[replica.expectations.side_chains[0].seq])
        turns += 1
    assert turns == 10
    assert list(store.side_chains()) == []


def test_side_chains_that_nobody_has_do_not_stop_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIDE_CHAINS_MAX", 4)
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id, BEN.feed_id)
    offer_all(replica, [entry.packet for entry in written(ANA, [b"%03d" % post * 50 for post in range(10)])])
    offer_all(replica, packets_of(written(BEN, [b"c" * 300])))
    assert contents(store, BEN.feed_id) == [b"c" * 300]
    store.commit(0)
    assert len(replica_of(store).expectations.side_chains) == 4


def test_unfollowing_makes_room_for_side_chains_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIDE_CHAINS_MAX", 1)
    replica = replica_of(MemoryStore(), ANA.feed_id, BEN.feed_id)
    offer_all(replica, [written(author, [b"a" * 100])[0].packet for author in (ANA, BEN)])
    assert {chain.feed for chain in replica.expectations.side_chains} == {ANA.feed_id}
    replica.set_wanted(ANA.feed_id, wanted=False)
    assert {chain.feed for chain in replica.expectations.side_chains} == {BEN.feed_id}


def broken_chain(key=ANA) -> tuple[bytes, bytes]:
    """An entry that declares two chunks, and a first chunk that points nowhere."""
    chunk = b"q" * limits.CHUNK_CONTENT_SIZE + bytes(limits.MESSAGE_ID_SIZE)
    place = expectations(NETWORK, Tip(key.feed_id, Dialect.SPEC, 0, None))[0]
    head = b"\xc8\x01".ljust(limits.HEAD_SIZE, b"q")
    return sign_entry(key, place, VARIABLE_TYPE, head + chunk_hash(chunk), ()).packet, chunk


def test_a_side_chain_that_breaks_off_is_not_asked_for() -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    entry, chunk = broken_chain()
    offer_all(replica, [entry, chunk])
    assert replica.expectations.side_chains == ()
    store.commit(0)
    assert replica_of(store).expectations.side_chains == ()


def test_a_side_chain_that_breaks_off_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SIDE_CHAINS_MAX", 1)
    entry, chunk = broken_chain()
    replica = replica_of(MemoryStore(), ANA.feed_id, BEN.feed_id)
    offer_all(replica, [entry, written(BEN, [b"c" * 100])[0].packet])
    offer(replica, chunk)
    assert {chain.feed for chain in replica.expectations.side_chains} == {BEN.feed_id}


def test_a_packet_may_be_an_entry_and_a_chunk() -> None:
    """An author may hang any bytes on an entry, another feed's next entry too."""
    entry = written(BEN, [b"two in one"])[0].packet
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id, BEN.feed_id)
    offer(replica, pointing_to(ANA, entry))
    finding = offer(replica, entry)
    assert [type(event) for event in finding.events] == [EntryAppended, ChunkAppended]
    assert (finding.kind, finding.verdict) == (PacketKind.ENTRY, Verdict.NEW)
    assert list(store.side_chains()) == []


def test_a_chunk_that_begins_like_an_expected_entry_is_taken_as_the_chunk() -> None:
    dmx = expectations(NETWORK, Tip(BEN.feed_id, Dialect.SPEC, 0, None))[0].dmx
    entry, chunk = packets_of(written(ANA, [b"h" * 27 + dmx + b"the rest of it" * 2]))
    assert chunk.startswith(dmx)
    replica = replica_of(MemoryStore(), ANA.feed_id, BEN.feed_id)
    offer(replica, entry)
    finding = offer(replica, chunk)
    assert (finding.kind, finding.verdict) == (PacketKind.CHUNK, Verdict.NEW)
    assert replica.frontier(BEN.feed_id) == 0


def test_a_chunk_held_that_begins_like_an_entry_held_is_a_duplicate() -> None:
    held = written(BEN, [b"first"])[0].packet
    entry, chunk = packets_of(written(ANA, [b"h" * 27 + held[:7] + b"the rest of it" * 2]))
    replica = replica_of(MemoryStore(), ANA.feed_id, BEN.feed_id)
    offer_all(replica, [held, entry, chunk])
    again = offer(replica, chunk)
    assert (again.kind, again.verdict, again.feed) == (PacketKind.CHUNK, Verdict.DUPLICATE, ANA.feed_id)
