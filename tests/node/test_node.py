"""The node as its shell sees it: faces, packets of every kind, its user, its counters."""

from dataclasses import replace

import pytest

from tests.nodes import (
    AIR_PACKET_US,
    FACE,
    OTHER,
    Bench,
    feed_of,
    key_of,
    packets_of,
    pointing_to,
    radio_profile,
    written,
)
from tinyssb_node import limits
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX, Network, packet_hash
from tinyssb_node.codec.events import (
    ChunkAppended,
    EntryAppended,
    FaceDown,
    FaceUp,
    ForkFound,
    PacketReceived,
    PacketSent,
    Refused,
    SetChanged,
)
from tinyssb_node.codec.packets import (
    Claim,
    Novelty,
    Ping,
    Zap,
    serialize_claim,
    serialize_novelty,
    serialize_ping,
    serialize_zap,
)
from tinyssb_node.errors import ContentTooLongError, FeedForkedError, NodeReadOnlyError, SetFullError
from tinyssb_node.ids import Dialect, FaceName, FeedId, Origin, PacketKind, Verdict
from tinyssb_node.scheduling.link import Allowance, Reception, stream_profile
from tinyssb_node.store.memory import MemoryStore

NETWORK = Network()
ANA = key_of("ana")
BEN = key_of("ben")
SECOND_US = 1_000_000


def novelty(feed: FeedId) -> bytes:
    return serialize_novelty(NETWORK.goset_dmx, Novelty(feed=feed))


# --- faces


def test_a_face_that_came_up_is_shown_and_one_that_went_is_not() -> None:
    bench = Bench()
    assert bench.seen(FaceUp) == [FaceUp(face=FACE, spec=f"bench:{FACE}")]
    (status,) = bench.node.faces()
    assert (status.name, status.spec, status.profile) == (FACE, f"bench:{FACE}", stream_profile())
    bench.perform(bench.node.face_down(FACE, "unplugged", 0))
    assert bench.seen(FaceDown) == [FaceDown(face=FACE, reason="unplugged")]
    assert bench.node.faces() == []
    assert bench.node.next_wake_us() is None


def test_a_face_under_a_law_says_so() -> None:
    law = Allowance(band="EU868 868.0-868.6", limit_us=36_000_000, window_us=3_600_000_000)
    bench = Bench(profile=replace(radio_profile(), allowance=law))
    (up,) = bench.seen(FaceUp)
    assert (up.sub_band, up.limit_ppm, up.window_us) == ("EU868 868.0-868.6", 10_000, 3_600_000_000)


def test_too_many_faces_are_refused_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FACES_MAX", 1)
    bench = Bench()
    bench.up(OTHER, stream_profile())
    assert [status.name for status in bench.node.faces()] == [FACE]
    assert bench.seen(Refused) == [Refused(rule="faces", face=None, count=1)]
    assert bench.hear(novelty(feed_of(1)), OTHER) == []


def test_what_left_is_recorded_with_its_airtime() -> None:
    bench = Bench(key=ANA, profile=radio_profile())
    bench.publish(b"hello")
    bench.pass_time(5 * AIR_PACKET_US)
    (packet,) = bench.take(PacketKind.ENTRY)
    assert bench.seen(PacketSent)[-1] == PacketSent(
        face=FACE,
        packet=PacketKind.ENTRY,
        length=120,
        hash=packet_hash(packet),
        airtime_us=AIR_PACKET_US,
    )
    counters = bench.node.faces()[0].counters
    assert (counters.sent, counters.airtime_us) == (1, AIR_PACKET_US)


def test_what_a_face_holds_and_what_waits_is_shown() -> None:
    bench = Bench(key=ANA, profile=radio_profile())
    bench.reports_sent = False
    bench.publish(b"l" * 300)
    bench.pass_time(5 * AIR_PACKET_US)
    (status,) = bench.node.faces()
    assert (status.outstanding, status.queued) == (1, 3)


def test_a_full_queue_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUEUE_MAX", 2)
    bench = Bench(key=ANA, profile=radio_profile())
    bench.reports_sent = False
    bench.publish(b"l" * 500)
    bench.publish(b"m" * 500)
    assert bench.seen(Refused) == [Refused(rule="queue", face=FACE, count=4)]
    assert bench.node.faces()[0].counters.refused == 10
    bench.now_us = limits.REFUSED_EVERY_US
    bench.hear(b"something else")
    assert [refused.count for refused in bench.seen(Refused)] == [4, 6]


# --- packets


def test_a_received_packet_is_recorded_with_how_it_was_heard() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    entry, chunk = packets_of(written(ANA, [b"l" * 100]))
    reception = Reception(rssi_dbm=-101, snr_db=-7.5, airtime_us=250_000)
    first, *events = bench.perform(bench.node.receive(entry, FACE, reception, 5))
    assert first == PacketReceived(
        face=FACE,
        packet=PacketKind.ENTRY,
        length=120,
        hash=packet_hash(entry),
        verdict=Verdict.NEW,
        rssi_dbm=-101,
        snr_db=-7.5,
        airtime_us=250_000,
        feed=ANA.feed_id,
        seq=1,
    )
    assert isinstance(events[0], EntryAppended)
    received = bench.verdict_of(chunk)
    assert (received.packet, received.feed, received.seq, received.chunk) == (
        PacketKind.CHUNK,
        ANA.feed_id,
        1,
        0,
    )
    assert bench.seen(ChunkAppended)[0].complete
    counters = bench.node.faces()[0].counters
    assert (counters.received, counters.new, counters.invalid, counters.last_heard_us) == (2, 2, 0, 0)


def test_what_comes_again_is_a_duplicate() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    packets = [*packets_of(written(ANA, [b"l" * 100])), novelty(feed_of(1))]
    assert [bench.verdict_of(packet).verdict for packet in packets] == [Verdict.NEW] * 3
    assert [bench.verdict_of(packet).verdict for packet in packets] == [Verdict.DUPLICATE] * 3
    bench.now_us += stream_profile().hold_us
    assert bench.verdict_of(packets[2]).verdict is Verdict.NEW
    assert bench.verdict_of(packets[0]).verdict is Verdict.DUPLICATE


@pytest.mark.parametrize(
    ("packet", "kind", "verdict", "reason"),
    [
        (b"", PacketKind.UNKNOWN, Verdict.INVALID, "PacketSizeError"),
        (b"1234567", PacketKind.UNKNOWN, Verdict.INVALID, "PacketSizeError"),
        (bytes(121), PacketKind.UNKNOWN, Verdict.INVALID, "PacketSizeError"),
        (b"12345678", PacketKind.UNKNOWN, Verdict.NOT_OURS, None),
        (bytes(120), PacketKind.UNKNOWN, Verdict.NOT_OURS, None),
        (NETWORK.goset_dmx + b"x", PacketKind.UNKNOWN, Verdict.INVALID, "PacketKindError"),
        (NETWORK.goset_dmx + b"c", PacketKind.CLAIM, Verdict.INVALID, "PacketSizeError"),
        (NETWORK.goset_dmx + b"n" + bytes(31), PacketKind.NOVELTY, Verdict.INVALID, "PacketSizeError"),
        (NETWORK.goset_dmx + b"n" + bytes(32), PacketKind.NOVELTY, Verdict.INVALID, "NobodyError"),
        (NETWORK.goset_dmx + b"z" + bytes(31), PacketKind.ZAP, Verdict.INVALID, "PacketSizeError"),
        (serialize_zap(NETWORK.goset_dmx, Zap(bytes(32))), PacketKind.ZAP, Verdict.NOT_OURS, None),
        (serialize_ping(Ping("0a1b", (("t", "7"),))), PacketKind.PING, Verdict.NOT_OURS, None),
        (PING_DMX + b"\xff", PacketKind.PING, Verdict.NOT_OURS, None),
        (PONG_DMX + b"R", PacketKind.PONG, Verdict.NOT_OURS, None),
        (
            serialize_claim(
                NETWORK.goset_dmx, Claim(low=feed_of(1), high=feed_of(1), xor=feed_of(1), count=2)
            ),
            PacketKind.CLAIM,
            Verdict.INVALID,
            "ImpossibleClaimError",
        ),
    ],
)
def test_what_is_of_no_use_is_dropped_and_counted(
    packet: bytes, kind: PacketKind, verdict: Verdict, reason: str | None
) -> None:
    bench = Bench(key=ANA)
    received = bench.verdict_of(packet)
    assert (received.packet, received.verdict, received.reason) == (kind, verdict, reason)
    counters = bench.node.faces()[0].counters
    assert (counters.received, counters.new) == (1, 0)
    assert counters.invalid == (verdict is Verdict.INVALID)
    assert [record.feed for record in bench.node.feeds()] == [ANA.feed_id]


def test_a_zap_wipes_nothing() -> None:
    bench = Bench(key=ANA)
    bench.publish(b"still here")
    before = (bench.node.feeds(), bench.node.set_state, bench.store.last_arrival())
    for payload in (bytes(32), ANA.feed_id):
        bench.hear(serialize_zap(NETWORK.goset_dmx, Zap(payload)))
    assert (bench.node.feeds(), bench.node.set_state, bench.store.last_arrival()) == before


def test_frames_that_were_none_are_counted_by_the_rule_they_broke() -> None:
    bench = Bench()
    (received,) = bench.perform(bench.node.junk(FACE, "CrcError", 33, 0))
    assert isinstance(received, PacketReceived)
    assert (received.verdict, received.reason, received.length) == (Verdict.INVALID, "CrcError", 33)
    assert bench.node.faces()[0].counters.invalid == 1
    assert bench.node.junk(OTHER, "CrcError", 33, 0) == []


def test_a_flood_of_junk_is_recorded_at_a_bounded_rate() -> None:
    bench = Bench()
    for number in range(2_000):
        bench.now_us = number * SECOND_US // 100
        bench.hear(b"junk %4d" % number)
        bench.perform(bench.node.junk(FACE, "CrcError", 9, bench.now_us))
    assert len(bench.seen(PacketReceived)) <= limits.JUNK_BURST + 20 * limits.JUNK_PER_S + 1
    assert {refused.rule for refused in bench.seen(Refused)} == {"rate"}
    assert len(bench.seen(Refused)) == 1
    assert bench.node.faces()[0].counters.received == 4_000


def test_what_is_new_is_recorded_in_a_flood_too() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    for number in range(500):
        bench.hear(b"junk %4d" % number)
    assert bench.verdict_of(written(ANA, [b"news"])[0].packet).verdict is Verdict.NEW


def test_orphans_that_had_to_go_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ORPHANS_MAX", 3)
    bench = Bench()
    for number in range(5):
        bench.hear(number.to_bytes(120, "big"))
    assert bench.seen(Refused) == [Refused(rule="orphans", face=FACE, count=1)]
    bench.now_us = limits.REFUSED_EVERY_US
    bench.pass_time(0)
    assert bench.seen(Refused)[-1].count == 1


def test_a_claim_that_some_author_points_to_is_still_a_claim() -> None:
    """A pointer may be the hash of anything; what is not 120 bytes long is no chunk."""
    bench = Bench()
    bench.follow(ANA.feed_id, BEN.feed_id)
    low, high = sorted((ANA.feed_id, BEN.feed_id))
    xor = bytes(a ^ b for a, b in zip(low, high, strict=True))
    packet = serialize_claim(NETWORK.goset_dmx, Claim(low=low, high=high, xor=xor, count=2))
    bench.hear(pointing_to(ANA, packet))
    assert bench.node.side_chains_open() == 1
    assert bench.verdict_of(packet).packet is PacketKind.CLAIM


def test_a_chunk_that_begins_like_a_claim_is_taken_as_the_chunk() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    entry, chunk = packets_of(written(ANA, [b"h" * 27 + NETWORK.goset_dmx + b"c" + b"z" * 60]))
    assert chunk.startswith(NETWORK.goset_dmx)
    bench.hear(entry)
    assert bench.verdict_of(chunk).packet is PacketKind.CHUNK


def test_a_fork_is_told_and_both_branches_are_kept() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    held, other = (written(ANA, [text])[0] for text in (b"one", b"another"))
    bench.hear(held.packet)
    received = bench.verdict_of(other.packet)
    assert (received.verdict, received.reason) == (Verdict.INVALID, "Forked")
    assert [event.feed for event in bench.seen(ForkFound)] == [ANA.feed_id]
    assert bench.node.feeds()[0].forked_at == 1
    assert len(bench.store.forks()) == 1


def test_a_set_that_is_full_is_told() -> None:
    bench = Bench()
    for number in range(limits.SET_MAX + 3):
        bench.hear(novelty(feed_of(number)))
    assert len(bench.node.feeds()) == limits.SET_MAX
    assert bench.seen(Refused) == [Refused(rule="set", face=FACE, count=1)]


# --- the user


@pytest.mark.parametrize("dialect", list(Dialect))
def test_what_the_user_publishes_is_recorded_and_another_node_reads_it(dialect: Dialect) -> None:
    bench = Bench(key=ANA, dialect=dialect)
    entry, effects = bench.node.publish(b"l" * 300, 0)
    bench.perform(effects)
    assert (entry.feed, entry.seq, entry.size, entry.origin, entry.face) == (
        ANA.feed_id,
        1,
        300,
        Origin.OWN,
        None,
    )
    assert bench.seen(EntryAppended) == [entry]
    assert len(bench.seen(ChunkAppended)) == entry.chunks
    reader = Bench()
    reader.follow(ANA.feed_id)
    for packet in bench.take():
        reader.hear(packet)
    assert reader.seq_of(ANA.feed_id) == 1
    assert reader.node.side_chains_open() == 0
    assert reader.node.feeds()[0].dialect is dialect


def test_a_node_without_a_key_or_a_disk_publishes_nothing() -> None:
    with pytest.raises(NodeReadOnlyError):
        Bench().publish(b"no key")
    with pytest.raises(NodeReadOnlyError):
        Bench(key=ANA, read_only=True).publish(b"no disk, and no feed yet")


def test_too_much_content_is_refused_and_changes_nothing() -> None:
    bench = Bench(key=ANA)
    with pytest.raises(ContentTooLongError):
        bench.publish(bytes(limits.CONTENT_PUBLISH_MAX + 1))
    assert bench.node.feeds()[0].seq == 0


def test_a_forked_identity_publishes_no_more() -> None:
    bench = Bench(key=ANA)
    bench.publish(b"here")
    bench.hear(written(ANA, [b"elsewhere"])[0].packet)
    with pytest.raises(FeedForkedError):
        bench.publish(b"here again")


def test_there_must_be_room_for_our_own_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.follow(*(feed_of(number) for number in range(limits.SET_MAX)))
    assert not Bench(store=bench.store).node.feeds()[0].beyond
    own = Bench(key=ANA, store=bench.store).node.own()
    assert own is not None
    assert own.beyond, "in a full set there is none, and nodes of ours exchange it all the same"
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", limits.SET_MAX + 1)
    with pytest.raises(SetFullError):
        Bench(key=BEN, store=bench.store)


def test_following_takes_a_feed_into_the_set_once() -> None:
    bench = Bench()
    bench.follow(feed_of(1), feed_of(1))
    assert [event.face for event in bench.seen(SetChanged)] == [None]
    assert bench.node.set_state == feed_of(1)


def test_unfollowing_is_undone_by_following() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    packet = written(ANA, [b"first"])[0].packet
    bench.perform(bench.node.unfollow(ANA.feed_id, 0))
    assert not bench.node.feeds()[0].wanted
    assert bench.verdict_of(packet).verdict is Verdict.NOT_OURS
    bench.follow(ANA.feed_id)
    assert bench.node.feeds()[0].wanted
    assert bench.verdict_of(packet).verdict is Verdict.NEW


def test_what_cannot_be_followed_or_unfollowed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    with pytest.raises(KeyError):
        bench.node.unfollow(feed_of(1), 0)
    bench.follow(*(feed_of(number) for number in range(limits.SET_MAX)))
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", limits.SET_MAX + 1)
    bench.follow(feed_of(1_000))
    with pytest.raises(SetFullError):
        bench.node.follow(feed_of(1_001), 0)
    frozen = Bench(read_only=True)
    assert frozen.node.read_only
    with pytest.raises(NodeReadOnlyError):
        frozen.node.follow(feed_of(1), 0)
    with pytest.raises(NodeReadOnlyError):
        frozen.node.unfollow(feed_of(1), 0)


def test_read_only_refuses_new_feeds_of_strangers_and_says_so() -> None:
    bench = Bench(read_only=True)
    bench.hear(novelty(feed_of(1)))
    assert bench.node.feeds() == []
    assert bench.seen(Refused) == [Refused(rule="read_only", face=FACE, count=1)]


def test_imported_packets_are_kept_and_offered() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    bench.take()
    entry, *chunks = packets_of(written(ANA, [b"l" * 200]))
    for packet in (entry, *chunks):
        finding, effects = bench.node.import_packet(packet, 0)
        assert finding.verdict is Verdict.NEW
        bench.perform(effects)
    finding, effects = bench.node.import_packet(entry, 0)
    assert (finding.verdict, effects) == (Verdict.DUPLICATE, [])
    assert {event.origin for event in bench.seen(EntryAppended)} == {Origin.IMPORT}
    bench.pass_time(SECOND_US)
    told = [send.kind for send in bench.outgoing if send.kind in {PacketKind.WANT, PacketKind.NAMED_WANT}]
    assert told


def test_an_imported_fork_is_kept_as_proof() -> None:
    bench = Bench()
    bench.follow(ANA.feed_id)
    held, other = (written(ANA, [text])[0] for text in (b"one", b"another"))
    for entry in (held, other):
        bench.perform(bench.node.import_packet(entry.packet, 0)[1])
    assert len(bench.seen(ForkFound)) == 1
    assert len(bench.store.forks()) == 1


# --- starting again


def test_a_node_goes_on_where_it_was() -> None:
    store = MemoryStore()
    bench = Bench(key=ANA, store=store)
    bench.follow(BEN.feed_id)
    bench.publish(b"before")
    entry, *chunks = packets_of(written(BEN, [b"l" * 300]))
    bench.hear(entry)
    bench.hear(chunks[0])
    again = Bench(key=ANA, store=store)
    assert again.node.feeds() == bench.node.feeds()
    assert again.node.set_state == bench.node.set_state
    assert again.node.side_chains_open() == 1
    again.publish(b"after")
    assert again.seen(EntryAppended)[-1].seq == 2
    for packet in chunks[1:]:
        again.hear(packet)
    assert again.node.side_chains_open() == 0
    assert list(store.side_chains()) == []


def test_a_network_key_makes_another_network() -> None:
    here, there = Bench(key=ANA), Bench()
    there.follow(ANA.feed_id)
    packet = serialize_novelty(Network(b"club").goset_dmx, Novelty(feed=feed_of(1)))
    assert there.verdict_of(packet).verdict is Verdict.NOT_OURS
    here.publish(b"in the open")
    assert there.verdict_of(here.take(PacketKind.ENTRY)[0]).verdict is Verdict.NEW


def test_names_of_faces_may_come_back() -> None:
    bench = Bench()
    bench.perform(bench.node.face_down(FACE, "reset", 0))
    bench.up(FaceName(FACE), stream_profile())
    assert bench.verdict_of(novelty(feed_of(1))).verdict is Verdict.NEW
