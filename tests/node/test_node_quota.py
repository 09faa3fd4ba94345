"""A node with a quota for strangers' feeds: its neighbours get no more requests for what it deleted."""

from tests.nodes import FACE, OTHER, Bench, key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Refused
from tinyssb_node.codec.packets import Feeds, parse_named_want, serialize_feeds
from tinyssb_node.ids import PacketKind
from tinyssb_node.replication.quota import QuotaLimits
from tinyssb_node.replication.salted import short_id
from tinyssb_node.replication.want import NOT_WANTED
from tinyssb_node.scheduling.link import stream_profile

ANA, BEN, EVE = key_of("ana"), key_of("ben"), key_of("eve")
MINUTE_US = 60_000_000


def bench_of(quota: QuotaLimits) -> Bench:
    """A node with a quota, on two wires; a stranger gave it twenty entries."""
    bench = Bench(key=ANA)
    bench.perform(bench.node.set_quota(quota, bench.now_us))
    bench.up(OTHER, stream_profile())
    bench.hear(serialize_feeds(Network().goset_dmx, Feeds((EVE.feed_id,), more=True)))
    for packet in packets_of(written(EVE, [b"junk"] * 20)):
        bench.hear(packet)
    return bench


def test_what_a_full_disk_share_evicts_is_deleted_by_and_by_and_never_requested_again() -> None:
    bench = bench_of(QuotaLimits(total_packets=15))
    bench.pass_time(1)
    assert bench.seq_of(EVE.feed_id) == 0
    bench.take()
    bench.hear(packets_of(written(EVE, [b"junk"] * 21))[20])
    bench.hear(serialize_feeds(Network().goset_dmx, Feeds((EVE.feed_id,), more=True)), OTHER)
    bench.pass_time(30 * MINUTE_US)
    wants = [parse_named_want(packet) for packet in bench.take(PacketKind.NAMED_WANT)]
    named = [(want.salt, *item) for want in wants for item in want.wanted]
    assert all(short != short_id(salt, EVE.feed_id) or seq == NOT_WANTED for salt, short, seq in named)


def test_reaching_the_quota_is_seen_by_whose_face_it_was() -> None:
    bench = bench_of(QuotaLimits(feed_packets=20))
    bench.pass_time(2 * MINUTE_US)
    refused = [event for event in bench.seen(Refused) if event.rule == "quota"]
    assert [(event.face, event.count) for event in refused] == [(FACE, 1)]


def test_our_own_entries_are_written_whatever_strangers_do() -> None:
    bench = bench_of(QuotaLimits(total_packets=0, closed=True))
    bench.publish(b"mine")
    assert bench.seq_of(ANA.feed_id) == 1


def test_a_purged_feed_is_gone_and_what_it_had_is_told() -> None:
    bench = bench_of(QuotaLimits())
    packets, effects = bench.node.purge(EVE.feed_id, bench.now_us)
    bench.perform(effects)
    assert packets == 20
    bench.pass_time(1)
    assert bench.seq_of(EVE.feed_id) == 0
    assert bench.store.usage() == []
