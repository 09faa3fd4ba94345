"""Our copy of the feeds: what comes in any order is held in the end, and what must not be taken is not."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codec import vectors
from tests.nodes import feed_of, key_of, packets_of, written
from tests.replication.replicas import FACE, NETWORK, contents, offer, offer_all, replica_of
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.codec.events import EntryAppended, ForkFound, SetChanged
from tinyssb_node.errors import ContentTooLongError, FeedForkedError, NodeReadOnlyError, SetFullError
from tinyssb_node.feeds.author import ComposedEntry, compose, compose_fixed, sign_entry
from tinyssb_node.feeds.chain import Tip, expectations
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.feeds.fork import verify_proof
from tinyssb_node.ids import Dialect, FeedId, Origin, PacketKind, Verdict, blocked_short
from tinyssb_node.replication.frontiers import Frontiers
from tinyssb_node.replication.packet_outcome import FORKED, ORPHANS_FULL, READ_ONLY
from tinyssb_node.replication.salted import short_id
from tinyssb_node.replication.want import NOT_WANTED
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.sqlite import SqliteStore

ANA = key_of("ana")
BEN = key_of("ben")


def vector_feed(dialect: Dialect) -> tuple[FeedId, list[bytes], list[str]]:
    vector = vectors.load(f"feed_{dialect}.json")
    packets = [
        bytes.fromhex(packet)
        for message in vector["messages"]
        for packet in (message["packet"], *message["chunks"])
    ]
    return (
        FeedId.from_hex(vector["feed_id"]),
        packets,
        [message["msg_id"] for message in vector["messages"]],
    )


# --- any order


@pytest.mark.parametrize("dialect", list(Dialect))
def test_feeds_of_other_programs_are_taken_whole(dialect: Dialect) -> None:
    feed, packets, ids = vector_feed(dialect)
    store = MemoryStore()
    replica = replica_of(store, feed)
    findings = offer_all(replica, packets)
    assert {finding.verdict for finding in findings} == {Verdict.NEW}
    assert [entry.id.hex() for entry in store.entries(feed, 1, 100)] == ids
    assert replica.record(feed).dialect is dialect
    assert list(store.side_chains()) == []
    assert {finding.verdict for finding in offer_all(replica, packets)} == {Verdict.DUPLICATE}


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(list(Dialect)), st.randoms(use_true_random=False))
def test_packets_in_any_order_are_all_held_in_the_end(dialect: Dialect, chance) -> None:
    feed, packets, ids = vector_feed(dialect)
    assert len(packets) <= limits.ORPHANS_MAX
    shuffled = list(packets)
    chance.shuffle(shuffled)
    store = MemoryStore()
    replica = replica_of(store, feed)
    appended = [event for finding in offer_all(replica, shuffled) for event in finding.events]
    assert [entry.id.hex() for entry in store.entries(feed, 1, 100)] == ids
    assert list(store.side_chains()) == []
    assert len(replica.orphans) == 0
    assert len(appended) == len(packets) == store.last_arrival()
    assert [event.arrival for event in appended] == list(range(1, len(packets) + 1))  # type: ignore[union-attr] # EntryAppended


def test_a_packet_that_overtook_its_predecessor_is_kept_for_it() -> None:
    first, second = packets_of(written(ANA, [b"one", b"two"]))
    replica = replica_of(MemoryStore(), ANA.feed_id)
    early = offer(replica, second)
    assert (early.kind, early.verdict, early.events) == (PacketKind.UNKNOWN, Verdict.NOT_OURS, [])
    late = offer(replica, first)
    assert [event.seq for event in late.events if isinstance(event, EntryAppended)] == [1, 2]
    assert replica.frontier(ANA.feed_id) == 2


def test_a_forgery_under_the_right_dmx_does_not_displace_the_orphan() -> None:
    first, second = packets_of(written(ANA, [b"one", b"two"]))
    for last_byte in range(4):
        forged = second[:-1] + bytes((second[-1] ^ (1 + last_byte),))
        replica = replica_of(MemoryStore(), ANA.feed_id)
        offer_all(replica, [forged, second, first])
        assert replica.frontier(ANA.feed_id) == 2


def test_too_many_early_packets_push_the_oldest_out() -> None:
    replica = replica_of(MemoryStore(), ANA.feed_id)
    junk = [number.to_bytes(limits.PACKET_SIZE, "big") for number in range(1, limits.ORPHANS_MAX + 2)]
    findings = offer_all(replica, junk)
    assert {finding.reason for finding in findings[:-1]} == {None}
    assert findings[-1].reason == ORPHANS_FULL
    assert len(replica.orphans) == limits.ORPHANS_MAX


def test_entries_that_came_before_their_feed_id_are_appended_with_it() -> None:
    packets = packets_of(written(ANA, [b"one" * 50, b"two", b"three"]))
    store = MemoryStore()
    replica = replica_of(store)
    assert {finding.verdict for finding in offer_all(replica, packets[::-1])} == {Verdict.NOT_OURS}
    replica.add_feed(ANA.feed_id, FACE)
    events = replica.adopt_orphans(ANA.feed_id, FACE)
    assert len(events) == len(packets)
    assert contents(store, ANA.feed_id) == [b"one" * 50, b"two", b"three"]
    assert len(replica.orphans) == 0
    assert replica.adopt_orphans(ANA.feed_id, FACE) == []


def test_a_forgery_that_came_before_its_feed_id_is_not_appended() -> None:
    packet = written(ANA, [b"one"])[0].packet
    replica = replica_of(MemoryStore())
    offer(replica, packet[:-1] + bytes((packet[-1] ^ 1,)))
    replica.add_feed(ANA.feed_id, FACE)
    assert replica.adopt_orphans(ANA.feed_id, FACE) == []
    assert offer(replica, packet).verdict is Verdict.NEW


def test_two_first_entries_that_came_before_their_feed_id_are_a_fork() -> None:
    replica = replica_of(MemoryStore())
    offer_all(replica, [written(ANA, [text])[0].packet for text in (b"one", b"another")])
    replica.add_feed(ANA.feed_id, FACE)
    appended, found = replica.adopt_orphans(ANA.feed_id, FACE)
    assert isinstance(appended, EntryAppended)
    assert isinstance(found, ForkFound)
    assert replica.frontier(ANA.feed_id) == 1


# --- types, dialects, signatures


@pytest.mark.parametrize("type_", [2, 3, 7, 255])
def test_entries_of_unknown_types_are_kept_as_they_are(type_: int) -> None:
    first = compose_fixed(NETWORK, ANA, Tip(ANA.feed_id, Dialect.SPEC, 0, None), b"opaque" * 8, type_=type_)
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    finding = offer(replica, first.packet)
    event = finding.events[0]
    assert isinstance(event, EntryAppended)
    assert (event.type, event.size, event.chunks) == (type_, 48, 0)
    assert contents(store, ANA.feed_id) == [b"opaque" * 8]
    following = compose(NETWORK, ANA, first.extended.tip, b"and so on")
    assert offer(replica, following.packet).verdict is Verdict.NEW


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_first_entry_fixes_the_dialect(dialect: Dialect) -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    assert replica.record(ANA.feed_id).dialect is None
    offer(replica, written(ANA, [b"first"], dialect)[0].packet)
    assert replica.record(ANA.feed_id).dialect is dialect
    store.commit(0)
    assert replica_of(store).record(ANA.feed_id).dialect is dialect


def test_a_broken_signature_is_refused_and_the_place_stays_open() -> None:
    packet = written(ANA, [b"first"])[0].packet
    replica = replica_of(MemoryStore(), ANA.feed_id)
    finding = offer(replica, packet[:-1] + bytes((packet[-1] ^ 1,)))
    assert (finding.verdict, finding.reason) == (Verdict.INVALID, "WrongSignature")
    assert (finding.feed, finding.seq) == (ANA.feed_id, 1)
    assert offer(replica, packet).verdict is Verdict.NEW


def test_a_held_entry_with_a_broken_signature_is_invalid() -> None:
    packet = written(ANA, [b"first"])[0].packet
    replica = replica_of(MemoryStore(), ANA.feed_id)
    offer(replica, packet)
    finding = offer(replica, packet[:-1] + bytes((packet[-1] ^ 1,)))
    assert (finding.verdict, finding.reason, finding.events) == (Verdict.INVALID, "WrongSignature", [])
    assert len(replica.orphans) == 0


# --- forks


def forked(at: int, key=ANA) -> tuple[tuple[ComposedEntry, ...], ComposedEntry]:
    """A feed, and another entry for one of its places."""
    feed = written(key, [b"entry %d" % number for number in range(1, 6)])
    tip = feed[at - 2].extended.tip if at > 1 else Tip(key.feed_id, Dialect.SPEC, 0, None)
    return feed, compose(NETWORK, key, tip, b"another one")


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_fork_is_proved_and_freezes_the_feed(at: int) -> None:
    feed, other = forked(at)
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, packets_of(feed[:4] if at < 5 else feed))
    finding = offer(replica, other.packet)
    assert (finding.verdict, finding.reason, finding.seq) == (Verdict.INVALID, FORKED, at)
    assert finding.events == [
        ForkFound(
            feed=ANA.feed_id,
            seq=at,
            held=feed[at - 1].extended.tip.id,  # type: ignore[arg-type] # not None
            other=other.extended.tip.id,  # type: ignore[arg-type] # not None
        )
    ]
    (proof,) = store.forks()
    assert verify_proof(NETWORK, proof)
    assert {proof.held, proof.other} == {feed[at - 1].packet, other.packet}
    assert replica.next_wanted(ANA.feed_id) == NOT_WANTED
    assert replica.record(ANA.feed_id).forked_at == at
    if at < 5:
        assert offer(replica, feed[4].packet).verdict is Verdict.NOT_OURS
        assert replica.frontier(ANA.feed_id) == 4


def test_a_first_entry_in_each_dialect_is_a_fork() -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer(replica, written(ANA, [b"first"], Dialect.DEPLOYED)[0].packet)
    finding = offer(replica, written(ANA, [b"first"], Dialect.SPEC)[0].packet)
    assert finding.reason == FORKED
    assert verify_proof(NETWORK, store.forks()[0])


def test_a_first_entry_in_each_dialect_is_a_fork_after_a_restart_too() -> None:
    store = MemoryStore()
    offer(replica_of(store, ANA.feed_id), written(ANA, [b"first"])[0].packet)
    store.commit(0)
    finding = offer(replica_of(store), written(ANA, [b"first"], Dialect.DEPLOYED)[0].packet)
    assert finding.reason == FORKED


def test_a_second_fork_changes_nothing() -> None:
    feed, other = forked(2)
    another = compose(NETWORK, ANA, feed[2].extended.tip, b"a third one")
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, [*packets_of(feed), other.packet])
    finding = offer(replica, another.packet)
    assert (finding.reason, finding.events) == (FORKED, [])
    assert [proof.seq for proof in store.forks()] == [2]


def test_a_forked_feed_stays_frozen_after_a_restart_and_when_followed_again() -> None:
    feed, other = forked(2)
    store = MemoryStore()
    offer_all(replica_of(store, ANA.feed_id), [*packets_of(feed[:4]), other.packet])
    store.commit(0)
    replica = replica_of(store)
    replica.set_wanted(ANA.feed_id, wanted=False)
    replica.set_wanted(ANA.feed_id, wanted=True)
    assert replica.next_wanted(ANA.feed_id) == NOT_WANTED
    assert offer(replica, feed[4].packet).verdict is Verdict.NOT_OURS


def test_side_chains_of_a_forked_feed_are_still_completed() -> None:
    first = written(ANA, [b"l" * 300])
    other = compose(NETWORK, ANA, Tip(ANA.feed_id, Dialect.SPEC, 0, None), b"another one")
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    entry, *chunks = packets_of(first)
    offer_all(replica, [entry, other.packet, *chunks])
    assert contents(store, ANA.feed_id) == [b"l" * 300]


def test_our_own_fork_stops_us_from_publishing() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    replica.own_feed(ANA.feed_id, Dialect.SPEC)
    replica.append(ANA, b"entry 1")
    offer(replica, written(ANA, [b"written elsewhere"])[0].packet)
    with pytest.raises(FeedForkedError) as raised:
        replica.append(ANA, b"entry 2")
    assert (raised.value.feed, raised.value.seq) == (ANA.feed_id, 1)
    assert replica.frontier(ANA.feed_id) == 1


# --- the set


def test_a_new_feed_is_told_with_the_state_it_makes() -> None:
    replica = replica_of(MemoryStore())
    (event,) = replica.add_feed(feed_of(1), FACE)
    assert event == SetChanged(feed=feed_of(1), count=1, state=feed_of(1), face=FACE)
    assert replica.add_feed(feed_of(1), FACE) == []


def test_a_full_set_takes_no_feed() -> None:
    store = MemoryStore()
    replica = replica_of(store, *(feed_of(number) for number in range(limits.SET_MAX)))
    assert replica.add_feed(feed_of(999), FACE) == []
    assert len(store.feeds()) == limits.SET_MAX
    state = replica.goset.state
    assert replica.own_feed(ANA.feed_id, Dialect.SPEC) == []
    record = replica.record(ANA.feed_id)
    assert (record.own, record.beyond, record.in_set, replica.goset.state) == (True, True, False, state)


def test_no_more_feeds_are_known_than_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", 3)
    replica = replica_of(MemoryStore(), feed_of(1))
    assert replica.add_beyond(feed_of(2), keep=True)
    assert replica.add_beyond(feed_of(3), keep=False)
    assert replica.add_beyond(feed_of(4), keep=True), "a feed that only a peer named makes room"
    assert not replica.knows(feed_of(3))
    assert not replica.add_beyond(feed_of(5), keep=True)
    with pytest.raises(SetFullError):
        replica.own_feed(ANA.feed_id, Dialect.SPEC, beyond=True)
    assert len(replica.frontiers) == 3


# --- beyond the set


@pytest.mark.parametrize("sqlite", [False, True])
def test_strangers_with_entries_do_not_keep_our_user_from_following(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, sqlite: bool
) -> None:
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", 3)
    store = SqliteStore.open(tmp_path / "store.sqlite") if sqlite else MemoryStore()
    replica = replica_of(store)
    strangers = [key_of(f"stranger {number}") for number in range(3)]
    for stranger, entries in zip(strangers, (1, 2, 1), strict=True):
        replica.add_beyond(stranger.feed_id, keep=False)
        for entry in written(stranger, [b"junk"] * entries):
            offer(replica, entry.packet)
    assert not replica.add_beyond(feed_of(1), keep=False), "another stranger waits"
    for number in range(2):
        assert replica.add_beyond(feed_of(number), keep=True)
    assert {record.feed for record in replica.records()} == {strangers[1].feed_id, feed_of(0), feed_of(1)}
    store.commit(0)
    assert {record.feed for record in replica_of(store).records()} == {
        record.feed for record in replica.records()
    }
    # Deleted ones are known only so that they are not requested again.
    replica.purge(strangers[1].feed_id)
    while replica.quota.is_due:
        replica.evict(1)
    assert replica.add_beyond(feed_of(2), keep=False)
    assert not replica.knows(strangers[1].feed_id)


def test_a_feed_beyond_the_set_is_stored_once_an_entry_of_it_comes() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    assert replica.add_beyond(ANA.feed_id, keep=False)
    assert not replica.add_beyond(ANA.feed_id, keep=False)
    assert (store.feeds(), replica.named_only_beyond, replica.next_wanted(ANA.feed_id)) == ([], 1, 1)
    (entry,) = written(ANA, [b"one"])
    assert offer(replica, entry.packet).verdict is Verdict.NEW
    (record,) = store.feeds()
    assert (record.beyond, record.followed, record.seq, replica.named_only_beyond) == (True, False, 1, 0)
    again = replica_of(store)
    assert (len(again.goset), again.next_wanted(ANA.feed_id), again.followed_beyond) == (0, 2, set())


def test_a_feed_that_is_asked_for_beyond_the_set_is_stored_at_once() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    assert replica.add_beyond(feed_of(1), keep=False)
    assert replica.add_beyond(feed_of(1), keep=True), "now it is asked for"
    assert replica.add_beyond(feed_of(2), keep=True)
    assert not replica.add_beyond(feed_of(2), keep=True)
    assert {record.feed: record.followed for record in store.feeds()} == {feed_of(1): True, feed_of(2): True}
    assert (replica.followed_beyond, replica.named_only_beyond) == ({feed_of(1), feed_of(2)}, 0)
    assert replica_of(store).followed_beyond == {feed_of(1), feed_of(2)}
    replica.set_wanted(feed_of(1), wanted=False)
    assert replica.followed_beyond == {feed_of(2)}


def test_of_feeds_that_only_peers_named_the_oldest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMPTY_FEEDS_MAX", 2)
    replica = replica_of(MemoryStore())
    authors = [key_of(f"author {number}") for number in range(4)]
    for author in authors[:2]:
        replica.add_beyond(author.feed_id, keep=False)
    offer(replica, written(authors[0], [b"one"])[0].packet)
    for author in authors[2:]:
        replica.add_beyond(author.feed_id, keep=False)
    known = [author for author in authors if replica.knows(author.feed_id)]
    assert known == [authors[0], authors[2], authors[3]]
    assert offer(replica, written(authors[1], [b"one"])[0].packet).verdict is not Verdict.NEW


def test_a_feed_that_peers_named_beyond_the_set_may_enter_it() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    replica.add_beyond(feed_of(1), keep=False)
    (event,) = replica.add_feed(feed_of(1), FACE)
    assert event == SetChanged(feed=feed_of(1), count=1, state=feed_of(1), face=FACE)
    (record,) = store.feeds()
    assert (record.beyond, record.followed, replica.named_only) == (False, False, 1)
    assert not replica.add_beyond(feed_of(1), keep=True)


def test_a_read_only_copy_takes_nothing_beyond_the_set() -> None:
    replica = replica_of(MemoryStore(), read_only=True)
    assert not replica.add_beyond(feed_of(1), keep=True)
    assert not replica_of(MemoryStore()).add_beyond(FeedId(bytes(32)), keep=True)


def test_a_closed_feed_beyond_the_set_leaves_and_comes_back_without_an_event() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    replica.own_feed(ANA.feed_id, Dialect.SPEC, child=True, beyond=True)
    replica.append(ANA, serialize_continued(END), EntryType.CONTINUED)
    assert replica.followed_beyond == set()
    assert replica.frontiers.under(b"salt").diff(0, 0).count == 1
    assert replica.retire(ANA.feed_id) == []
    assert not replica.is_current(ANA.feed_id)
    assert replica.frontiers.under(b"salt").diff(0, 0).count == 0, "it is given no more"
    assert replica.add_beyond(ANA.feed_id, keep=False)
    assert replica.is_current(ANA.feed_id)
    assert replica.frontiers.under(b"salt").diff(0, 0).count == 1
    (record,) = store.feeds()
    assert (record.retired, record.beyond, record.seq) == (False, True, 1)


def test_frontiers_are_those_of_all_feeds_that_are_given() -> None:
    store = MemoryStore()
    replica = replica_of(store, BEN.feed_id, feed_of(1))
    replica.add_beyond(ANA.feed_id, keep=False)
    anas, bens = written(ANA, [b"one", b"two"]), written(BEN, [b"one"])
    offer_all(replica, packets_of([*anas, *bens]))
    expected = Frontiers()
    for last in (anas[-1].extended.tip, bens[-1].extended.tip):
        expected.set(last.feed, last.seq, last.id or b"")
    for each in (replica, replica_of(store)):
        assert each.frontiers.under(b"salt").diff(0, 0) == expected.under(b"salt").diff(0, 0)
        assert each.frontiers.under(b"salt").find(short_id(b"salt", feed_of(1))) == feed_of(1)
    replica.set_blocked({blocked_short(BEN.feed_id)})
    expected.set(BEN.feed_id, 0)
    assert replica.frontiers.under(b"salt").diff(0, 0) == expected.under(b"salt").diff(0, 0)


def test_feeds_are_asked_for_from_their_frontier_on_unless_unfollowed() -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    packets = packets_of(written(ANA, [b"one", b"t" * 200, b"three"]))
    offer_all(replica, packets[:2])
    assert replica.next_wanted(ANA.feed_id) == 3
    replica.set_wanted(ANA.feed_id, wanted=False)
    assert replica.next_wanted(ANA.feed_id) == NOT_WANTED
    assert replica.expectations.side_chains == ()
    assert {finding.verdict for finding in offer_all(replica, packets[2:])} == {Verdict.NOT_OURS}
    store.commit(0)
    restarted = replica_of(store)
    assert restarted.next_wanted(ANA.feed_id) == NOT_WANTED
    assert restarted.expectations.side_chains == ()
    restarted.set_wanted(ANA.feed_id, wanted=True)
    assert restarted.next_wanted(ANA.feed_id) == 3
    offer_all(restarted, packets[2:])
    assert restarted.frontier(ANA.feed_id) == 3
    assert list(store.side_chains()) == []


def test_wanting_what_is_wanted_changes_nothing() -> None:
    replica = replica_of(MemoryStore(), ANA.feed_id)
    replica.set_wanted(ANA.feed_id, wanted=True)
    assert replica.next_wanted(ANA.feed_id) == 1


def test_a_feed_that_is_not_in_the_set_is_an_error() -> None:
    replica = replica_of(MemoryStore())
    with pytest.raises(KeyError):
        replica.set_wanted(ANA.feed_id, wanted=False)
    with pytest.raises(KeyError):
        replica.record(ANA.feed_id)


def test_records_are_sorted_and_up_to_date() -> None:
    replica = replica_of(MemoryStore(), BEN.feed_id, ANA.feed_id)
    feed = written(ANA, [b"one", b"two"])
    offer_all(replica, packets_of(feed))
    records = replica.records()
    assert [record.feed for record in records] == sorted((ANA.feed_id, BEN.feed_id))
    assert replica.record(ANA.feed_id) == FeedRecord(
        feed=ANA.feed_id,
        dialect=Dialect.SPEC,
        seq=2,
        tip=feed[1].extended.tip.id,
        own=False,
        wanted=True,
        forked_at=None,
        followed=False,
    )


# --- our own feed


@pytest.mark.parametrize("dialect", list(Dialect))
def test_what_we_publish_is_held_whole_and_readable_by_others(dialect: Dialect) -> None:
    ours = [b"", b"short", b"m" * 48, b"n" * 29, b"o" * 5_000]
    store, their_store = MemoryStore(), MemoryStore()
    replica = replica_of(store)
    replica.own_feed(ANA.feed_id, dialect)
    for content in ours:
        events = replica.append(ANA, content)
        assert {event.origin for event in events} == {Origin.OWN}
    assert contents(store, ANA.feed_id) == ours
    assert list(store.side_chains()) == []
    assert replica.expectations.side_chains == ()
    theirs = replica_of(their_store, ANA.feed_id)
    offer_all(theirs, [append.packet for append in store.after(0, 1_000)])
    assert contents(their_store, ANA.feed_id) == ours
    assert theirs.record(ANA.feed_id).dialect is dialect


def test_our_feed_keeps_the_dialect_it_began_in() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    replica.own_feed(ANA.feed_id, Dialect.DEPLOYED)
    store.commit(0)
    restarted = replica_of(store)
    assert restarted.own_feed(ANA.feed_id, Dialect.SPEC) == []
    assert restarted.record(ANA.feed_id).dialect is Dialect.DEPLOYED
    assert restarted.record(ANA.feed_id).own


def test_a_feed_that_came_from_peers_becomes_ours_as_it_is() -> None:
    replica = replica_of(MemoryStore(), ANA.feed_id)
    offer(replica, written(ANA, [b"before the move"], Dialect.DEPLOYED)[0].packet)
    replica.own_feed(ANA.feed_id, Dialect.SPEC)
    (event,) = replica.append(ANA, b"after the move")
    assert event.seq == 2
    assert replica.record(ANA.feed_id).dialect is Dialect.DEPLOYED


def test_too_much_content_changes_nothing() -> None:
    store = MemoryStore()
    replica = replica_of(store)
    replica.own_feed(ANA.feed_id, Dialect.SPEC)
    with pytest.raises(ContentTooLongError):
        replica.append(ANA, bytes(limits.CONTENT_PUBLISH_MAX + 1))
    assert replica.frontier(ANA.feed_id) == 0 == store.last_arrival()


# --- read-only


def test_read_only_judges_and_keeps_nothing() -> None:
    entry, chunk, following = packets_of(written(ANA, [b"l" * 100, b"two"]))
    store = MemoryStore()
    writable = replica_of(store, ANA.feed_id)
    offer(writable, entry)
    other = compose(NETWORK, ANA, Tip(ANA.feed_id, Dialect.SPEC, 0, None), b"another one")
    store.commit(0)
    replica = replica_of(store, read_only=True)
    for packet in (chunk, following):
        finding = offer(replica, packet)
        assert (finding.verdict, finding.reason, finding.events) == (Verdict.NOT_OURS, READ_ONLY, [])
    assert offer(replica, entry).verdict is Verdict.DUPLICATE
    assert offer(replica, other.packet).events == []
    assert replica.add_feed(BEN.feed_id, FACE) == []
    assert (store.last_arrival(), len(store.feeds()), store.forks()) == (1, 1, [])
    assert replica.frontier(ANA.feed_id) == 1


def test_read_only_signs_nothing_known_or_not() -> None:
    with pytest.raises(NodeReadOnlyError):
        replica_of(MemoryStore(), read_only=True).append(ANA, b"no")


# --- what has ended


def ended(key: SigningKey, contents: list[bytes]) -> list[bytes]:
    """A feed and its END."""
    feed = written(key, contents)
    end = compose_fixed(
        NETWORK, key, feed[-1].extended.tip, serialize_continued(END), type_=EntryType.CONTINUED
    )
    return [*packets_of(feed), end.packet]


def test_a_feed_that_left_is_kept_known_and_found() -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id, BEN.feed_id)
    packets = ended(ANA, [b"one", b"l" * 150])
    offer_all(replica, packets)
    (left,) = replica.retire(ANA.feed_id)
    assert left == SetChanged(feed=ANA.feed_id, count=1, state=BEN.feed_id, face=None, left=True)
    for _ in range(2):
        assert replica.goset.feeds == (BEN.feed_id,)
        assert list(replica.retired) == [ANA.feed_id]
        assert [record.retired for record in replica.records() if record.feed == ANA.feed_id] == [True]
        assert replica.is_closed(ANA.feed_id)
        assert {finding.verdict for finding in offer_all(replica, packets)} == {Verdict.DUPLICATE}
        assert contents(store, ANA.feed_id)[:2] == [b"one", b"l" * 150]
        replica = replica_of(store)


@pytest.mark.parametrize("restarted", [False, True])
def test_a_feed_that_is_named_again_comes_back_with_all_it_had(restarted: bool) -> None:
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, ended(ANA, [b"one"]))
    before = replica.record(ANA.feed_id)
    replica.retire(ANA.feed_id)
    if restarted:
        replica = replica_of(store)
    (back,) = replica.add_feed(ANA.feed_id, FACE)
    assert back == SetChanged(feed=ANA.feed_id, count=1, state=ANA.feed_id, face=FACE)
    assert replica.record(ANA.feed_id) == before
    assert (replica.frontier(ANA.feed_id), replica.next_wanted(ANA.feed_id)) == (2, NOT_WANTED)
    assert not replica.retired


def test_a_fork_is_seen_in_a_feed_that_left() -> None:
    replica = replica_of(MemoryStore(), ANA.feed_id)
    offer_all(replica, ended(ANA, [b"one"]))
    replica.retire(ANA.feed_id)
    finding = offer(replica, written(ANA, [b"another one"])[0].packet)
    assert (finding.verdict, finding.reason) == (Verdict.INVALID, "Forked")
    assert replica.record(ANA.feed_id).forked_at == 1


def test_a_side_chain_that_nobody_can_have_keeps_no_feed_open() -> None:
    place = expectations(NETWORK, Tip(ANA.feed_id, Dialect.SPEC, 0, None))[0]
    broken = bytes(120)
    head = bytes((255, 1)).ljust(28, b"q")
    entry = sign_entry(ANA, place, 1, head + chunk_hash(broken), ())
    end = compose_fixed(NETWORK, ANA, entry.extended.tip, b"", type_=EntryType.CONTINUED)
    store = MemoryStore()
    replica = replica_of(store, ANA.feed_id)
    offer_all(replica, [entry.packet, end.packet])
    assert not replica.is_closed(ANA.feed_id)
    offer(replica, broken)
    assert replica.is_closed(ANA.feed_id)
    assert replica_of(store).is_closed(ANA.feed_id)
