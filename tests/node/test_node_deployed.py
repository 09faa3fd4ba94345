"""The node beside programs of the deployed dialect: recorded, and emulated."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.nodes import FACE, Bench, key_of, packets_of, written
from tests.peers.simplepub import ASK_US, KEYS_MAX, ROUND_US, SimplePub
from tinyssb_node.codec.dmx import Network, chunk_hash, want_dmx
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.feeds.layout import layout_of
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import Dialect, FeedId, PacketKind, Verdict
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.store.memory import MemoryStore

VECTORS = Path(__file__).parents[1] / "vectors" / "tinyssb"
STEP_US = 100_000
TRACE_TEXTS = [b"one", b"two", b"three"]
"""Contents of feeds that stand for those of the node in the phone's trace."""
MINUTE_US = 60_000_000

# --- a recorded conversation


def recorded(sender: str) -> list[tuple[int, bytes]]:
    lines = (VECTORS / "trace_pub.ndjson").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    return [
        (record["t_ms"] * 1_000, bytes.fromhex(record["packet"]))
        for record in records
        if record["from"] == sender
    ]


def expected() -> Any:
    return json.loads((VECTORS / "trace_pub_expected.json").read_text())


def content_of(store: MemoryStore, feed: FeedId, seq: int) -> bytes:
    entry = store.entry(feed, seq)
    assert entry is not None
    layout = layout_of(entry.packet[7], entry.packet[8:56], Dialect.DEPLOYED)
    return reassemble(layout, store.chunks(feed, seq, 0, layout.chunks))


def assert_holds_expected(store: MemoryStore) -> None:
    wanted = expected()["feeds"]
    records = {record.feed: record for record in store.feeds()}
    assert set(records) == {FeedId.from_hex(feed["feed_id"]) for feed in wanted}
    for feed in wanted:
        record = records[FeedId.from_hex(feed["feed_id"])]
        assert record.tip is not None
        assert record.tip.hex() == feed["tip_msg_id"]
        assert record.dialect is Dialect.DEPLOYED
        contents = [content_of(store, record.feed, seq).hex() for seq in range(1, record.seq + 1)]
        # A deployed program keeps the padding of the last chunk with the content.
        assert all(theirs.startswith(ours) for ours, theirs in zip(contents, feed["contents"], strict=True))
    assert list(store.side_chains()) == []


def test_all_packets_of_a_conversation_give_a_stranger_all_that_was_said() -> None:
    bench = Bench()
    for now_us, packet in sorted(recorded("newcomer") + recorded("pub")):
        bench.now_us = now_us
        bench.hear(packet)
    assert_holds_expected(bench.store)


def test_the_pubs_packets_give_the_newcomer_all_that_the_pub_had() -> None:
    bench = Bench()
    own = FeedId.from_hex(expected()["own_feed"])
    bench.follow(own)
    for _, packet in recorded("newcomer"):
        if len(packet) == 120:
            bench.perform(bench.node.import_packet(packet, 0)[1])
    assert {record.feed for record in bench.node.feeds()} == {own}
    assert bench.seq_of(own) == 5
    for now_us, packet in recorded("pub"):
        bench.now_us = now_us
        bench.hear(packet)
    assert_holds_expected(bench.store)


def test_no_packet_of_a_deployed_program_is_invalid() -> None:
    bench = Bench()
    for now_us, packet in sorted(recorded("newcomer") + recorded("pub")):
        bench.now_us = now_us
        assert bench.verdict_of(packet).verdict is not Verdict.INVALID


# --- an emulated pub


def converse(bench: Bench, pub: SimplePub, span_us: int) -> None:
    """Let the two talk over a stream."""
    end_us = bench.now_us + span_us
    while bench.now_us < end_us:
        bench.pass_time(STEP_US)
        to_node = pub.tick(bench.now_us)
        to_pub = bench.take()
        while to_node or to_pub:
            answers = [answer for packet in to_pub for answer in pub.hear(packet)]
            for packet in to_node:
                bench.hear(packet)
            to_node, to_pub = answers, bench.take()


def late_chains(pub: SimplePub) -> list[tuple[int, int]]:
    """Return the entries whose side chain is not whole though a later entry of the feed is: phones name that one
    wrongly then."""
    return [
        (seq, len(log.entries))
        for log in pub.logs.values()
        for seq in log.pending
        if any(later not in log.pending for later in range(seq + 1, len(log.entries) + 1))
    ]


def nothing(packet: bytes) -> bool:
    return not packet


def give_whole(bench: Bench, pub: SimplePub, span_us: int, lost: Callable[[bytes], bool]) -> list[object]:
    """Let the node serve the peer, which loses some packets. Return what `late_chains` found after each packet."""
    late: list[object] = []
    end_us = bench.now_us + span_us
    while bench.now_us < end_us:
        bench.pass_time(STEP_US)
        for packet in pub.tick(bench.now_us):
            bench.hear(packet)
        for packet in bench.take():
            if not lost(packet):
                pub.hear(packet)
                late += late_chains(pub)
    return late


@pytest.mark.parametrize("profile", [stream_profile(), lan_profile()], ids=["stream", "lan"])
def test_deployed_peers_get_side_chains_before_later_entries(profile: LinkProfile) -> None:
    """With a later entry first, the phone app names operations on boards wrongly."""
    bench, pub = Bench(profile=profile), SimplePub()
    feeds = {f"chained {number}": feed_called(f"chained {number}", 20) for number in range(3)}
    long = written(key_of("long"), [b"%d" % number * 900 for number in range(8)], Dialect.DEPLOYED)
    for name, feed in feeds.items():
        give_node(bench, feed, key_of(name).feed_id)
    give_node(bench, long, key_of("long").feed_id)
    assert give_whole(bench, pub, 4 * MINUTE_US, lost=nothing) == []
    for name, feed in feeds.items():
        assert_pub_holds(pub, feed, key_of(name).feed_id)
    assert_pub_holds(pub, long, key_of("long").feed_id)


NEWS = written(key_of("news"), [b"%d" % number * 60 for number in range(4)], Dialect.DEPLOYED)


def pub_without_the_second_side_chain() -> tuple[Bench, SimplePub]:
    """A deployed peer that took two entries of `NEWS`, of which the second one's chunks were lost."""
    bench, pub = Bench(profile=lan_profile()), SimplePub()
    give_node(bench, NEWS[:2], key_of("news").feed_id)
    give_whole(bench, pub, MINUTE_US // 2, lost=lambda packet: packet in NEWS[1].chunks)
    return bench, pub


def test_a_deployed_peer_that_lost_a_chunk_gets_it_before_later_entries() -> None:
    bench, pub = pub_without_the_second_side_chain()
    feed, feed_id = NEWS, key_of("news").feed_id
    assert list(pub.logs[feed_id].pending) == [2]
    for packet in packets_of(feed[2:]):
        bench.perform(bench.node.import_packet(packet, bench.now_us)[1])
    assert give_whole(bench, pub, MINUTE_US, lost=nothing) == []
    assert_pub_holds(pub, feed, feed_id)


def test_a_side_chain_that_a_peer_never_takes_holds_up_later_entries_for_a_minute_only() -> None:
    bench, pub = pub_without_the_second_side_chain()
    feed, feed_id = NEWS, key_of("news").feed_id
    chunks = set(feed[1].chunks)
    for packet in packets_of(feed[2:]):
        bench.perform(bench.node.import_packet(packet, bench.now_us)[1])
    give_whole(bench, pub, MINUTE_US // 4, lost=lambda packet: packet in chunks)
    assert len(pub.logs[feed_id].entries) == 2
    give_whole(bench, pub, 2 * MINUTE_US, lost=lambda packet: packet in chunks)
    assert len(pub.logs[feed_id].entries) == 4


def feed_called(name: str, entries: int, dialect: Dialect = Dialect.DEPLOYED) -> tuple[ComposedEntry, ...]:
    contents = [f"{name} {number}".encode() * (1 if number % 3 else 9) for number in range(entries)]
    return written(key_of(name), contents, dialect)


def give_pub(pub: SimplePub, feed: tuple[ComposedEntry, ...], key: bytes) -> None:
    pub.add(key)
    log = pub.logs[key]
    for entry in feed:
        assert log.take_entry(entry.packet)
        assert all(log.take_chunk(packet, chunk_hash(packet)) for packet in entry.chunks)


def give_node(bench: Bench, feed: tuple[ComposedEntry, ...], key: FeedId) -> None:
    bench.follow(key)
    for packet in packets_of(feed):
        bench.perform(bench.node.import_packet(packet, bench.now_us)[1])


def assert_pub_holds(pub: SimplePub, feed: tuple[ComposedEntry, ...], key: bytes) -> None:
    log = pub.logs[key]
    assert log.entries == [entry.packet for entry in feed]
    assert [log.chunks[seq + 1] for seq in range(len(feed))] == [list(entry.chunks) for entry in feed]
    assert not log.pending


def assert_node_holds(bench: Bench, feed: tuple[ComposedEntry, ...], key: FeedId) -> None:
    assert [entry.packet for entry in bench.store.entries(key, 1, 100)] == [entry.packet for entry in feed]
    for seq, entry in enumerate(feed, start=1):
        assert bench.store.chunks(key, seq, 0, 100) == list(entry.chunks)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_pub_and_a_node_with_many_feeds_give_each_other_all(seed: int) -> None:
    bench, pub = Bench(seed=seed), SimplePub()
    ours = {f"ours {number}": feed_called(f"ours {number}", 4) for number in range(18)}
    theirs = {f"theirs {number}": feed_called(f"theirs {number}", 4) for number in range(18)}
    common = {f"common {number}": feed_called(f"common {number}", 6) for number in range(14)}
    spec = {f"spec {number}": feed_called(f"spec {number}", 4, Dialect.SPEC) for number in range(4)}
    for name, feed in (ours | spec).items():
        give_node(bench, feed, key_of(name).feed_id)
    for name, feed in theirs.items():
        give_pub(pub, feed, key_of(name).feed_id)
    for number, (name, feed) in enumerate(common.items()):
        give_node(bench, feed[: number % 7], key_of(name).feed_id)
        give_pub(pub, feed[: 6 - number % 7], key_of(name).feed_id)
    bench.take()
    assert len(bench.node.feeds()) > 30 < len(pub.logs)

    converse(bench, pub, 4 * MINUTE_US)

    assert pub.keys == [record.feed for record in bench.node.feeds()]
    for name, feed in (ours | theirs).items():
        assert_pub_holds(pub, feed, key_of(name).feed_id)
        assert_node_holds(bench, feed, key_of(name).feed_id)
    for number, (name, feed) in enumerate(common.items()):
        longest = feed[: max(number % 7, 6 - number % 7)]
        assert_pub_holds(pub, longest, key_of(name).feed_id)
        assert_node_holds(bench, longest, key_of(name).feed_id)
    for name in spec:
        assert pub.logs[key_of(name).feed_id].entries == []
    assert pub.vetoed == []


def test_with_one_set_a_pub_that_gives_three_packets_at_a_time_is_soon_read_to_its_end() -> None:
    bench, pub = Bench(), SimplePub()
    long = feed_called("long", 250)
    key = key_of("long").feed_id
    give_pub(pub, long, key)
    bench.follow(key)
    converse(bench, pub, 10_000_000)
    assert bench.seq_of(key) == len(long)
    assert list(bench.store.side_chains()) == []


def test_a_pub_learns_all_our_ids_within_its_first_round() -> None:
    bench, pub = Bench(), SimplePub()
    bench.follow(*(key_of(f"ours {number}").feed_id for number in range(60)))
    pub.add(key_of("theirs").feed_id)
    converse(bench, pub, ROUND_US - STEP_US)
    assert len(pub.logs) == 61


def test_a_newcomer_learns_the_pubs_set_though_a_neighbour_gets_the_answers() -> None:
    """A pub answers questions about its set to whichever connection's turn comes next, and this one's comes late."""
    bench, pub = Bench(), SimplePub()
    bench.follow(*(key_of(f"ours {number}").feed_id for number in range(5)))
    for number in range(4):
        pub.add(key_of(f"theirs {number}").feed_id)
    for _ in range(8):
        said = pub.tick(bench.now_us)
        for packet in said:
            bench.hear(packet)
        bench.pass_time(ROUND_US - STEP_US)
        for packet in bench.take():
            pub.hear(packet)
        pub.round_for_another()
        bench.now_us += STEP_US
    assert pub.keys == [record.feed for record in bench.node.feeds()]


def test_a_phone_that_says_the_same_twice_and_seldom_is_served_well() -> None:
    """It sends one packet a second from a queue: what it wants now is heard seconds later, perhaps after the answer."""
    long = feed_called("long", 200)
    bench, key = Bench(profile=lan_profile()), key_of("long").feed_id
    give_node(bench, long, key)
    bench.take()
    held: set[bytes] = set()
    for _ in range(6):
        asked = Want(offset=0, seqs=(len(held) + 1,))
        for _ in range(2):
            bench.hear(serialize_want(want_dmx(Network(), bench.node.set_state), asked))
            bench.pass_time(5_000_000)
            held |= set(bench.take(PacketKind.ENTRY))
    assert held == {entry.packet for entry in long}


def test_what_either_publishes_reaches_the_other() -> None:
    key = key_of("our own")
    bench, pub = Bench(key=key, dialect=Dialect.DEPLOYED), SimplePub()
    name = "theirs"
    theirs = feed_called(name, 5)
    give_pub(pub, theirs[:2], key_of(name).feed_id)
    converse(bench, pub, 2 * MINUTE_US)
    bench.publish(b"news of ours" * 40)
    log = pub.logs[key_of(name).feed_id]
    assert log.take_entry(theirs[2].packet)
    converse(bench, pub, 2 * MINUTE_US)
    assert len(pub.logs[key.feed_id].entries) == 1
    assert not pub.logs[key.feed_id].pending
    assert bench.seq_of(key_of(name).feed_id) == 3


def test_a_feed_that_a_pub_cannot_read_costs_a_bounded_many_packets() -> None:
    """It asks for entry 1 for ever; each time it is given what it cannot use, and no more than a few."""
    key = key_of("our own")
    bench, pub = Bench(key=key, dialect=Dialect.SPEC), SimplePub()
    for number in range(50):
        bench.publish(b"%d" % number)
    converse(bench, pub, 2 * MINUTE_US)
    sent = sum(1 for event in bench.events if getattr(event, "packet", None) is PacketKind.ENTRY)
    converse(bench, pub, 5 * MINUTE_US)
    later = sum(1 for event in bench.events if getattr(event, "packet", None) is PacketKind.ENTRY)
    assert pub.logs[key.feed_id].entries == []
    assert later - sent <= 6 * (5 * MINUTE_US // ASK_US + 1)


def test_a_pub_that_is_full_and_a_larger_set_do_not_shout_at_each_other() -> None:
    bench, pub = Bench(), SimplePub()
    feeds = [key_of(f"feed {number}").feed_id for number in range(KEYS_MAX + 30)]
    bench.follow(*feeds)
    for feed in feeds[:KEYS_MAX]:
        pub.add(feed)
    converse(bench, pub, 5 * MINUTE_US)
    bench.events.clear()
    converse(bench, pub, 5 * MINUTE_US)
    sent = sum(1 for event in bench.events if type(event).__name__ == "PacketSent")
    assert len(pub.logs) == KEYS_MAX
    assert sent <= 5 * 60


def test_a_set_with_few_places_keeps_small_what_deployed_peers_get() -> None:
    """Nodes of ours exchange the other feeds by name; what the peer claims is added all the same."""
    bench, other, pub = Bench(places=4), Bench(seed=2), SimplePub()
    feeds = {f"feed {number}": feed_called(f"feed {number}", 2) for number in range(10)}
    for name, feed in feeds.items():
        give_node(other, feed, key_of(name).feed_id)
    for _ in range(600):
        for sender, receiver in ((bench, other), (other, bench)):
            sender.pass_time(STEP_US)
            for packet in sender.take():
                receiver.hear(packet)
    assert len(bench.node.replica.goset) == 4
    assert all(bench.seq_of(key_of(name).feed_id) == 2 for name in feeds)
    assert bench.node.deployed_faces(bench.now_us) == ()
    bench.perform(bench.node.face_down(FACE, "bench", bench.now_us))
    bench.up(FACE, stream_profile())
    for name in ("theirs", "theirs, too"):
        give_pub(pub, feed_called(name, 2), key_of(name).feed_id)
    converse(bench, pub, 3 * MINUTE_US)
    assert bench.node.deployed_faces(bench.now_us) == (FACE,)
    assert len(bench.node.replica.goset) == 6
    assert pub.keys == [*bench.node.replica.goset.feeds]
    assert bench.seq_of(key_of("theirs").feed_id) == 2


def test_the_packets_of_a_phones_own_code_are_all_read() -> None:
    trace = json.loads((VECTORS / "trace_phone.json").read_text())
    feed = FeedId.from_hex(trace["feed_id"])
    bench = Bench(profile=lan_profile())
    for number in range(2):
        name = f"f{number}"
        give_node(bench, written(key_of(name), TRACE_TEXTS, Dialect.DEPLOYED), key_of(name).feed_id)
    for at_ms, packet in trace["packets"]:
        bench.pass_time(max(0, at_ms * 1_000 - bench.now_us))
        assert bench.verdict_of(bytes.fromhex(packet)).verdict is not Verdict.INVALID
    contents = [content_of(bench.store, feed, seq).hex() for seq in range(1, bench.seq_of(feed) + 1)]
    assert contents == trace["contents"]
    assert bench.node.deployed_faces(bench.now_us) == (FACE,)
