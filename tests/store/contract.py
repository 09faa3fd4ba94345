"""Contract of all stores. ``test_memory`` and ``test_sqlite`` run it against theirs."""

from hashlib import sha256
from typing import Any

import pytest

from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.feeds.fork import ForkProof
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin
from tinyssb_node.store.port import (
    AirtimeCharge,
    FeedRecord,
    FeedUsage,
    NewestEntry,
    Receipt,
    Store,
    StoredChunk,
    StoredEntry,
)

ANA, BOB, EVE = sorted(FeedId(sha256(name).digest()) for name in (b"ana", b"bob", b"eve"))
UDP = FaceName("udp")


def packet_of(*place: object) -> bytes:
    """120 bytes that no other place has."""
    return (sha256(repr(place).encode()).digest() * 4)[:120]


def id_of(feed: FeedId, seq: int) -> MessageId:
    return MessageId(sha256(feed + bytes((seq % 256,))).digest()[:20])


def feed_record(feed: FeedId, **changes: object) -> FeedRecord:
    values: dict[str, Any] = {
        "dialect": None,
        "seq": 0,
        "tip": None,
        "own": False,
        "wanted": True,
        "forked_at": None,
    }
    return FeedRecord(feed=feed, **(values | changes))


def put_entry(store: Store, feed: FeedId, seq: int, packet: bytes | None = None) -> int:
    return store.append_entry(feed, seq, packet or packet_of(feed, seq), id_of(feed, seq), Origin.PEER, UDP)


def put_chunk(store: Store, feed: FeedId, seq: int, chunk: int) -> int:
    return store.append_chunk(feed, seq, chunk, packet_of(feed, seq, chunk), Origin.PEER, UDP)


def side_chain(feed: FeedId, seq: int, held: int, chunks: int = 3) -> SideChain:
    return SideChain(feed, seq, chunks, held, bytes(20) if held == chunks else b"h" * 20, 100 * chunks - 7)


def fork_proof(feed: FeedId, seq: int, other: bytes = b"o" * 120) -> ForkProof:
    return ForkProof(feed, seq, Dialect.SPEC, id_of(feed, seq - 1), b"h" * 120, other)


def charge(band: str, number: int, ended_us: int | None = None, *, advert: bool = False) -> AirtimeCharge:
    return AirtimeCharge(band=band, number=number, advert=advert, airtime_us=205_056, ended_us=ended_us)


def receipt(number: int, seq: int = 1, known_us: int = 0, **changes: object) -> Receipt:
    values: dict[str, Any] = {"feed": ANA, "holder": BOB, "face": None, "speaker": b""}
    return Receipt(number=number, seq=seq, known_us=known_us, **(values | changes))


def newest_entry(feed: FeedId, seq: int, **changes: object) -> NewestEntry:
    values: dict[str, Any] = {"prev": id_of(feed, seq - 1), "id": id_of(feed, seq)}
    return NewestEntry(feed=feed, seq=seq, packet=packet_of(feed, seq), **(values | changes))


class StoreContract:
    """Subclasses give a fixture ``store``: an empty store, open for writing."""

    @pytest.fixture
    def filled(self, store):
        """Two feeds of three and one entries, with two chunks, all committed at 1,000."""
        for feed in (BOB, ANA):
            store.put_feed(feed_record(feed))
        for seq in (1, 2):
            put_entry(store, ANA, seq)
        put_chunk(store, ANA, 2, 0)
        put_entry(store, BOB, 1)
        put_chunk(store, ANA, 2, 1)
        put_entry(store, ANA, 3)
        store.commit(1_000)
        return store

    # Cutting

    def test_a_feed_is_cut_behind_an_entry_and_goes_on_from_there(self, filled):
        filled.put_side_chain(side_chain(ANA, 2, 2))
        filled.put_fork(fork_proof(ANA, 3))
        filled.put_fork(fork_proof(ANA, 1))
        assert filled.cut_feed(ANA, 1) == 4
        left = [(each.feed, each.seq) for each in filled.after(0, 10)]
        assert left == [(ANA, 1), (BOB, 1)]
        assert list(filled.side_chains()) == []
        assert [proof.seq for proof in filled.forks()] == [1]
        assert filled.find_entries(packet_of(ANA, 2)[:7]) == []
        assert filled.find_chunks(chunk_hash(packet_of(ANA, 2, 0))) == []
        assert next(each for each in filled.feeds() if each.feed == ANA).tip == id_of(ANA, 1)
        assert put_entry(filled, ANA, 2) == 7
        filled.commit(2_000)
        assert [each.committed_us for each in filled.after(0, 10)] == [1_000, 1_000, 2_000]

    def test_nothing_is_left_of_one_that_is_cut_altogether(self, filled):
        assert filled.cut_feed(ANA, 0) == 5
        record = next(each for each in filled.feeds() if each.feed == ANA)
        assert (record.seq, record.tip) == (0, None)
        assert filled.entry(ANA, 1) is None
        assert filled.cut_feed(ANA, 0) == 0

    def test_a_cut_is_undone_like_any_write(self, filled):
        before = snapshot(filled)
        filled.cut_feed(ANA, 2)
        put_entry(filled, ANA, 3)
        filled.rollback()
        assert snapshot(filled) == before
        assert put_entry(filled, ANA, 4) == 7

    def test_arrival_numbers_are_not_given_again_after_a_cut(self, filled):
        filled.cut_feed(ANA, 0)
        filled.commit(2_000)
        assert filled.last_arrival() == 6
        assert put_entry(filled, BOB, 2) == 7

    def test_the_room_of_each_feed_is_counted(self, store):
        assert store.usage() == []
        for feed in (EVE, BOB, ANA):
            store.put_feed(feed_record(feed))
        put_entry(store, BOB, 1)
        for seq in (1, 2):
            put_entry(store, ANA, seq)
        put_chunk(store, ANA, 2, 0)
        assert store.usage() == [
            FeedUsage(feed=ANA, packets=3, begun=2),
            FeedUsage(feed=BOB, packets=1, begun=1),
        ]
        store.cut_feed(ANA, 0)
        assert store.usage() == [FeedUsage(feed=BOB, packets=1, begun=1)]

    # Airtime

    def test_charges_are_kept_by_account_and_number(self, store):
        assert store.charges() == []
        charges = [charge("b", 1), charge("a", 2, advert=True), charge("a", 10, 7_000), charge("a", 1)]
        for each in charges:
            store.put_charge(each)
        store.commit(1)
        assert store.charges() == [charges[3], charges[1], charges[2], charges[0]]

    def test_a_charge_put_again_takes_the_place_of_the_first(self, store):
        store.put_charge(charge("a", 1))
        store.commit(1)
        store.put_charge(charge("a", 1, 9))
        assert store.charges() == [charge("a", 1, 9)]
        store.rollback()
        assert store.charges() == [charge("a", 1)]

    def test_old_charges_of_one_account_are_dropped(self, store):
        for number in (1, 2, 3):
            store.put_charge(charge("a", number))
            store.put_charge(charge("b", number))
        store.commit(1)
        store.drop_charges("a", 2)
        left = [charge("a", 3), charge("b", 1), charge("b", 2), charge("b", 3)]
        assert store.charges() == left
        store.rollback()
        assert len(store.charges()) == 6
        store.drop_charges("a", 2)
        store.commit(2)
        store.rollback()
        assert store.charges() == left

    # Receipts

    def test_receipts_are_kept_by_number_and_dated_by_their_commit(self, filled):
        heard = receipt(9, 3, holder=None, face=UDP, speaker=b"xy")
        filled.put_receipt(heard)
        filled.put_receipt(receipt(2))
        assert filled.receipts() == [receipt(2), heard]
        filled.commit(5)
        filled.put_receipt(receipt(3, 2))
        filled.commit(6)
        assert [each.known_us for each in filled.receipts()] == [5, 6, 5]
        assert filled.receipts()[2].speaker == b"xy"

    def test_a_receipt_put_again_takes_the_place_of_the_first(self, filled):
        filled.put_receipt(receipt(1, 1))
        filled.commit(5)
        filled.put_receipt(receipt(1, 2, 5))
        assert filled.receipts() == [receipt(1, 2)]
        filled.rollback()
        assert filled.receipts() == [receipt(1, 1, 5)]
        filled.commit(7)
        assert filled.receipts() == [receipt(1, 1, 5)]

    def test_receipts_are_dropped_by_number(self, filled):
        for number in (1, 2, 3):
            filled.put_receipt(receipt(number))
        filled.drop_receipts([2])
        filled.commit(5)
        filled.put_receipt(receipt(4))
        filled.drop_receipts([1, 4, 77])
        assert filled.receipts() == [receipt(3, known_us=5)]
        filled.rollback()
        assert filled.receipts() == [receipt(1, known_us=5), receipt(3, known_us=5)]
        filled.drop_receipts([1])
        filled.commit(6)
        filled.rollback()
        assert filled.receipts() == [receipt(3, known_us=5)]

    # Entries beyond a frontier

    def test_entries_beyond_a_frontier_come_back_sorted_and_dated_by_their_commit(self, filled):
        later, earlier = newest_entry(BOB, 9), newest_entry(BOB, 7, chunks=(packet_of(1), packet_of(2)))
        filled.put_newest_entry(later)
        filled.put_newest_entry(earlier)
        filled.put_newest_entry(newest_entry(ANA, 30))
        assert filled.newest_entries() == [newest_entry(ANA, 30), earlier, later]
        filled.commit(5)
        assert {entry.known_us for entry in filled.newest_entries()} == {5}
        assert filled.entries(BOB, 1, 100) == filled.entries(BOB, 1, 1)

    def test_an_entry_beyond_a_frontier_can_be_replaced_dropped_and_undone(self, filled):
        filled.put_newest_entry(newest_entry(BOB, 7))
        filled.put_newest_entry(newest_entry(BOB, 8))
        filled.commit(5)
        filled.put_newest_entry(newest_entry(BOB, 7, chunks=(packet_of(1),)))
        filled.drop_newest_entry(BOB, 8)
        filled.put_newest_entry(newest_entry(BOB, 9))
        filled.drop_newest_entry(BOB, 9)
        assert filled.newest_entries() == [newest_entry(BOB, 7, chunks=(packet_of(1),))]
        filled.rollback()
        assert [(entry.seq, entry.chunks) for entry in filled.newest_entries()] == [(7, ()), (8, ())]
        filled.drop_newest_entry(BOB, 7)
        filled.commit(6)
        assert filled.newest_entries() == [newest_entry(BOB, 8, known_us=5)]

    # Feeds

    def test_an_empty_store_has_nothing(self, store):
        assert store.feeds() == []
        assert list(store.side_chains()) == []
        assert store.forks() == []
        assert store.after(0, 10) == []
        assert store.last_arrival() == 0
        assert store.get_meta("boot") is None
        assert store.entry(ANA, 1) is None
        assert store.entries(ANA, 1, 10) == []
        assert store.chunk(ANA, 1, 0) is None
        assert store.chunks(ANA, 1, 0, 10) == []
        assert store.find_entries(bytes(7)) == []
        assert store.find_chunks(bytes(20)) == []

    def test_feeds_come_back_as_they_were_put_sorted(self, store):
        records = [
            feed_record(EVE, dialect=Dialect.DEPLOYED, own=True),
            feed_record(BOB, dialect=Dialect.SPEC, wanted=False, forked_at=7, retired=True),
            feed_record(ANA, child=True, beyond=True, followed=False),
        ]
        for record in records:
            store.put_feed(record)
        assert store.feeds() == records[::-1]
        store.commit(1)
        assert store.feeds() == records[::-1]

    def test_a_feed_put_again_is_replaced(self, filled):
        changed = feed_record(ANA, dialect=Dialect.SPEC, seq=3, tip=id_of(ANA, 3), wanted=False)
        filled.put_feed(changed)
        assert filled.feeds()[0] == changed
        assert filled.entry(ANA, 2).packet == packet_of(ANA, 2), "its entries stay"

    def test_a_feed_of_which_nothing_is_held_can_be_dropped_and_is_new_when_it_comes_again(self, store):
        for feed in (ANA, BOB, EVE):
            store.put_feed(feed_record(feed))
        put_entry(store, BOB, 1)
        store.put_receipt(receipt(1, feed=BOB, holder=EVE))
        store.commit(1)
        store.drop_feed(EVE)
        store.rollback()
        assert len(store.feeds()) == 3
        store.drop_feed(EVE)
        store.drop_feed(ANA)
        store.commit(2)
        assert [record.feed for record in store.feeds()] == [BOB]
        assert store.receipts() == []
        store.put_feed(feed_record(EVE, dialect=Dialect.SPEC))
        put_entry(store, EVE, 1)
        store.commit(3)
        assert [record.feed for record in store.feeds()] == sorted([BOB, EVE])
        assert [store.entry(feed, 1).packet for feed in (BOB, EVE)] == [packet_of(BOB, 1), packet_of(EVE, 1)]

    def test_appending_moves_the_frontier(self, filled):
        ana, bob = filled.feeds()
        assert (ana.seq, ana.tip) == (3, id_of(ANA, 3))
        assert (bob.seq, bob.tip) == (1, id_of(BOB, 1))
        put_entry(filled, BOB, 2)
        assert filled.feeds()[1] == feed_record(BOB, seq=2, tip=id_of(BOB, 2)), "before the commit too"

    @pytest.mark.parametrize("seq", [0, 1, 3, 5])
    def test_an_entry_that_does_not_follow_is_our_own_mistake(self, filled, seq):
        with pytest.raises(AssertionError, match=f"entry {seq} does not follow 3"):
            put_entry(filled, ANA, seq)
        assert filled.last_arrival() == 6

    def test_a_feed_is_put_before_its_entries(self, store):
        with pytest.raises(AssertionError, match="put before"):
            put_entry(store, ANA, 1)

    # Entries and chunks

    def test_an_entry_comes_back_whole(self, store):
        store.put_feed(feed_record(ANA))
        packet = packet_of("entry")
        assert store.append_entry(ANA, 1, packet, id_of(ANA, 1), Origin.OWN, None) == 1
        expected: dict[str, Any] = {
            "feed": ANA,
            "seq": 1,
            "packet": packet,
            "id": id_of(ANA, 1),
            "origin": Origin.OWN,
        }
        assert store.entry(ANA, 1) == StoredEntry(**expected, face=None, arrival=1, committed_us=0)
        store.commit(1_700_000_000_000_000)
        found = store.entry(ANA, 1)
        assert found == StoredEntry(**expected, face=None, arrival=1, committed_us=1_700_000_000_000_000)
        assert type(found.feed) is FeedId
        assert type(found.id) is MessageId
        assert type(found.origin) is Origin

    def test_each_append_has_the_time_of_its_own_commit(self, filled):
        put_entry(filled, BOB, 2)
        filled.commit(900)
        put_entry(filled, BOB, 3)
        assert [filled.entry(BOB, seq).committed_us for seq in (1, 2, 3)] == [1_000, 900, 0]

    def test_a_commit_of_nothing_changes_no_time(self, filled):
        filled.commit(2_000)
        put_entry(filled, BOB, 2)
        filled.commit(3_000)
        assert [filled.entry(BOB, seq).committed_us for seq in (1, 2)] == [1_000, 3_000]

    @pytest.mark.parametrize(
        ("first", "limit", "seqs"),
        [(1, 10, [1, 2, 3]), (2, 1, [2]), (0, 2, [1]), (3, 5, [3]), (4, 5, []), (1, 0, [])],
    )
    def test_a_range_of_entries(self, filled, first, limit, seqs):
        assert [entry.seq for entry in filled.entries(ANA, first, limit)] == seqs
        assert all(entry == filled.entry(ANA, entry.seq) for entry in filled.entries(ANA, first, limit))

    def test_no_entry_beyond_the_ends(self, filled):
        assert filled.entry(ANA, 0) is None
        assert filled.entry(ANA, 4) is None
        assert filled.entry(EVE, 1) is None

    def test_chunks_come_back(self, filled):
        packets = [packet_of(ANA, 2, chunk) for chunk in (0, 1)]
        assert filled.chunk(ANA, 2, 1) == packets[1]
        assert filled.chunk(ANA, 2, 2) is None
        assert filled.chunk(ANA, 1, 0) is None
        assert filled.chunks(ANA, 2, 0, 10) == packets
        assert filled.chunks(ANA, 2, 1, 10) == packets[1:]
        assert filled.chunks(ANA, 2, 0, 1) == packets[:1]

    def test_the_last_packet_of_an_entry_is_known_by_its_arrival(self, filled):
        rows = filled.after(0, 100)
        for entry in filled.entries(ANA, 1, 9):
            of_entry = [row.arrival for row in rows if (row.feed, row.seq) == (ANA, entry.seq)]
            assert filled.last_packet(ANA, entry.seq) == max(of_entry)
        assert filled.last_packet(ANA, 2) > filled.entry(BOB, 1).arrival > filled.entry(ANA, 2).arrival
        assert filled.last_packet(ANA, 4) == filled.last_packet(EVE, 1) == 0

    def test_what_was_just_written_can_be_read(self, filled):
        put_entry(filled, BOB, 2)
        put_chunk(filled, BOB, 2, 0)
        assert filled.entry(BOB, 2).packet == packet_of(BOB, 2)
        assert filled.chunk(BOB, 2, 0) == packet_of(BOB, 2, 0)
        put_entry(filled, BOB, 3)
        put_chunk(filled, BOB, 3, 0)
        assert [entry.seq for entry in filled.entries(BOB, 1, 9)] == [1, 2, 3]
        assert filled.find_chunks(chunk_hash(packet_of(BOB, 3, 0))) == [(BOB, 3, 0)]

    # Looking up by what a packet begins with, or hashes to

    def test_nothing_that_is_held_is_ever_said_not_to_be(self, filled):
        nothing = b"\x55" * 7, b"\x55" * 20
        assert not filled.may_hold(*nothing)
        for _ in range(2):
            assert filled.may_hold(packet_of(ANA, 2)[:7], nothing[1])
            assert filled.may_hold(nothing[0], chunk_hash(packet_of(ANA, 2, 1)))
            filled.commit(2)
        put_entry(filled, BOB, 2, b"\xff" * 7 + bytes(113))
        put_chunk(filled, BOB, 2, 0)
        assert filled.may_hold(b"\xff" * 7, nothing[1])
        assert filled.may_hold(nothing[0], chunk_hash(packet_of(BOB, 2, 0)))
        assert not filled.may_hold(*nothing)

    def test_entries_are_found_by_dmx(self, filled):
        assert filled.find_entries(packet_of(ANA, 2)[:7]) == [(ANA, 2)]
        assert filled.find_entries(b"\xff" * 7) == []

    def test_two_entries_with_one_dmx_are_both_found(self, filled):
        packet = packet_of(ANA, 2)[:7] + bytes(113)
        put_entry(filled, BOB, 2, packet)
        assert filled.find_entries(packet[:7]) == [(ANA, 2), (BOB, 2)]

    @pytest.mark.parametrize("dmx", [bytes(7), b"\xff" * 7, b"\x80" + bytes(6)])
    def test_any_dmx_can_be_found(self, filled, dmx):
        put_entry(filled, BOB, 2, dmx + bytes(113))
        filled.commit(2)
        assert filled.find_entries(dmx) == [(BOB, 2)]

    def test_chunks_are_found_by_hash(self, filled):
        assert filled.find_chunks(chunk_hash(packet_of(ANA, 2, 1))) == [(ANA, 2, 1)]

    def test_the_whole_hash_counts(self, filled):
        hash_ = chunk_hash(packet_of(ANA, 2, 1))
        assert filled.find_chunks(hash_[:19] + bytes((hash_[19] ^ 1,))) == []

    def test_one_packet_in_two_side_chains_is_found_in_both(self, filled):
        packet = packet_of(ANA, 2, 0)
        filled.append_chunk(BOB, 1, 0, packet, Origin.PEER, UDP)
        assert filled.find_chunks(chunk_hash(packet)) == [(ANA, 2, 0), (BOB, 1, 0)]

    # Arrivals

    def test_arrivals_count_entries_and_chunks_together(self, filled):
        assert filled.last_arrival() == 6
        assert put_chunk(filled, BOB, 1, 0) == 7
        assert put_entry(filled, BOB, 2) == 8
        assert filled.last_arrival() == 8

    def test_after_gives_both_in_order(self, filled):
        found = filled.after(0, 100)
        assert [append.arrival for append in found] == [1, 2, 3, 4, 5, 6]
        kinds = [StoredEntry, StoredEntry, StoredChunk, StoredEntry, StoredChunk, StoredEntry]
        assert [type(append) for append in found] == kinds
        assert found[3] == filled.entry(BOB, 1)
        assert found[4] == StoredChunk(
            feed=ANA,
            seq=2,
            chunk=1,
            packet=packet_of(ANA, 2, 1),
            origin=Origin.PEER,
            face=UDP,
            arrival=5,
            committed_us=1_000,
        )

    @pytest.mark.parametrize(
        ("arrival", "limit", "arrivals"),
        [(0, 2, [1, 2]), (2, 3, [3, 4, 5]), (5, 9, [6]), (6, 9, []), (9, 9, [])],
    )
    def test_after_in_pieces(self, filled, arrival, limit, arrivals):
        assert [append.arrival for append in filled.after(arrival, limit)] == arrivals

    def with_gaps(self, store):
        """*store* with arrival numbers missing, if it is of a kind that can be repaired."""
        return store

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_after_leaves_nothing_out_for_numbers_that_are_missing(self, filled, limit):
        store = self.with_gaps(filled)
        numbers = [append.arrival for append in store.after(0, 100)]
        assert len(numbers) == 6
        pages = [[0]]
        while page := store.after(pages[-1][-1], limit):
            pages.append([append.arrival for append in page])
        assert pages[1:] == [numbers[first : first + limit] for first in range(0, 6, limit)]
        assert numbers[-1] == store.last_arrival()

    def test_after_sees_what_is_not_committed(self, filled):
        put_entry(filled, BOB, 2)
        assert [(append.arrival, append.committed_us) for append in filled.after(5, 9)] == [
            (6, 1_000),
            (7, 0),
        ]

    # Side chains, forks, meta

    def test_side_chains_under_way_come_back_by_feed_and_in_order(self, filled):
        of_bob, of_ana = [side_chain(BOB, 1, 0)], [side_chain(ANA, seq, 1) for seq in range(2, 700)]
        for chain in (*of_bob, *reversed(of_ana)):
            filled.put_side_chain(chain)
        for _ in range(2):
            found = list(filled.side_chains())
            assert found in ([*of_ana, *of_bob], [*of_bob, *of_ana])
            assert list(filled.side_chains(ANA)) == of_ana
            assert list(filled.side_chains(BOB)) == of_bob
            assert list(filled.side_chains(EVE)) == []
            filled.commit(2)

    def test_a_side_chain_is_kept_as_last_put_and_forgotten_when_complete(self, filled):
        for held in (0, 1, 2):
            filled.put_side_chain(side_chain(ANA, 2, held))
        assert list(filled.side_chains()) == [side_chain(ANA, 2, 2)]
        filled.commit(2)
        filled.put_side_chain(side_chain(ANA, 2, 3))
        assert list(filled.side_chains()) == []
        filled.commit(3)
        assert list(filled.side_chains()) == []

    def test_a_side_chain_complete_from_the_start_is_not_kept(self, filled):
        filled.put_side_chain(side_chain(ANA, 2, 3))
        filled.commit(2)
        assert list(filled.side_chains()) == []

    def test_fork_proofs_come_back_sorted(self, filled):
        proofs = [fork_proof(EVE, 2), fork_proof(ANA, 3), fork_proof(ANA, 2)]
        for proof in proofs:
            filled.put_fork(proof)
        filled.commit(2)
        assert filled.forks() == proofs[::-1]

    def test_a_place_keeps_its_first_proof(self, filled):
        filled.put_fork(fork_proof(ANA, 2))
        filled.put_fork(fork_proof(ANA, 2))
        filled.put_fork(fork_proof(ANA, 2, other=b"x" * 120))
        assert filled.forks() == [fork_proof(ANA, 2)]

    def test_meta_values_are_kept_by_name(self, store):
        store.put_meta("boot", "7")
        store.put_meta("ünïcode", "")
        assert store.get_meta("boot") == "7"
        store.put_meta("boot", "8")
        store.commit(1)
        assert store.get_meta("boot") == "8"
        assert store.get_meta("ünïcode") == ""

    def test_secrets_are_replaced_and_undone_with_the_rest(self, store):
        assert store.get_secret() is None
        store.put_secret(b"one")
        assert store.get_secret() == b"one"
        store.commit(1)
        store.put_secret(b"two")
        store.put_secret(b"three")
        store.rollback()
        assert store.get_secret() == b"one"
        store.put_secret(b"four")
        store.commit(2)
        assert store.get_secret() == b"four"

    # Transactions

    def test_rollback_forgets_everything_since_the_commit(self, filled):
        filled.put_meta("boot", "1")
        filled.put_side_chain(side_chain(ANA, 2, 1))
        filled.put_fork(fork_proof(BOB, 1))
        filled.commit(2_000)
        before = snapshot(filled)
        filled.put_feed(feed_record(EVE))
        filled.put_feed(feed_record(BOB, seq=1, tip=id_of(BOB, 1), wanted=False))
        put_entry(filled, ANA, 4)
        put_entry(filled, EVE, 1)
        put_chunk(filled, ANA, 2, 2)
        filled.put_side_chain(side_chain(ANA, 2, 3))
        filled.put_side_chain(side_chain(ANA, 3, 1))
        filled.put_fork(fork_proof(ANA, 1))
        filled.put_meta("boot", "2")
        filled.put_meta("new", "x")
        filled.rollback()
        assert snapshot(filled) == before
        assert filled.get_meta("new") is None
        assert filled.entry(ANA, 4) is None
        assert filled.chunk(ANA, 2, 2) is None
        assert filled.find_entries(packet_of(ANA, 4)[:7]) == []
        assert filled.find_chunks(chunk_hash(packet_of(ANA, 2, 2))) == []

    def test_rollback_forgets_what_was_read_in_between_too(self, filled):
        before = snapshot(filled)
        put_entry(filled, ANA, 4)
        assert filled.entry(ANA, 4) is not None
        put_chunk(filled, ANA, 4, 0)
        assert filled.chunk(ANA, 4, 0) is not None
        filled.put_side_chain(side_chain(ANA, 4, 1))
        assert len(list(filled.side_chains())) == 1
        filled.rollback()
        assert snapshot(filled) == before

    def test_arrivals_go_on_without_a_gap_after_a_rollback(self, filled):
        put_entry(filled, ANA, 4)
        filled.rollback()
        assert put_entry(filled, ANA, 4) == 7
        filled.commit(5)
        assert [append.arrival for append in filled.after(0, 100)] == [1, 2, 3, 4, 5, 6, 7]

    def test_rollback_of_nothing_changes_nothing(self, filled):
        before = snapshot(filled)
        filled.rollback()
        filled.rollback()
        assert snapshot(filled) == before


def snapshot(store: Store) -> tuple[object, ...]:
    """All that a store says when asked for everything."""
    appends = store.after(0, 1_000)
    entries = [append for append in appends if isinstance(append, StoredEntry)]
    chunks = [append for append in appends if isinstance(append, StoredChunk)]
    return (
        list(store.feeds()),
        list(appends),
        [list(store.entries(record.feed, 1, 1_000)) for record in store.feeds()],
        [list(store.find_entries(entry.packet[:7])) for entry in entries],
        [list(store.find_chunks(chunk_hash(chunk.packet))) for chunk in chunks],
        [store.chunk(chunk.feed, chunk.seq, chunk.chunk) for chunk in chunks],
        list(store.side_chains()),
        list(store.forks()),
        store.last_arrival(),
        list(store.charges()),
        list(store.receipts()),
        list(store.newest_entries()),
        store.get_meta("boot"),
    )
