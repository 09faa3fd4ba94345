"""Several networks in one program: each hears its own, all share the air."""

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.lora import LoraSettings, airtime_us
from tests.nodes import AIR_PACKET_US, key_of, radio_profile
from tests.scheduling.test_ledger import HOUR_US, most_in_a_window
from tests.stations import KEYS, LINK, OPEN, VILLAGE, Channel, Station, talk
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import ChunkAppended, EntryAppended, FaceDown, PacketReceived, PacketSent
from tinyssb_node.daemon.verify import Verifier
from tinyssb_node.feeds.author import ComposedEntry, compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, NetworkName, PacketKind, Verdict
from tinyssb_node.scheduling.link import Allowance, air_profile, lan_profile, stream_profile

SECOND_US = 1_000_000
BEN = key_of("ben")


def of_network(key: SigningKey, network: NetworkName, contents: list[bytes]) -> list[ComposedEntry]:
    """A feed as its author publishes it in one network."""
    tip, feed = Tip(key.feed_id, Dialect.SPEC, 0, None), []
    for content in contents:
        feed.append(compose(KEYS[network], key, tip, content))
        tip = feed[-1].extended.tip
    return feed


def wired(name: str = "ana") -> Station:
    station = Station(name)
    station.up(stream_profile())
    return station


def verdicts(station: Station, network: NetworkName) -> list[Verdict]:
    return [event.verdict for event in station.seen(network, PacketReceived)]


# --- whose a packet is


def test_a_packet_reaches_the_network_whose_it_is_and_no_other() -> None:
    station = wired()
    for network in KEYS:
        station.follow(network, [BEN.feed_id])
    (entry,) = of_network(BEN, VILLAGE, [b"for the village"])
    station.hear(entry.packet)
    assert station.frontier(VILLAGE)[BEN.feed_id] == 1
    assert station.frontier(OPEN)[BEN.feed_id] == 0
    assert verdicts(station, VILLAGE) == [Verdict.NEW]
    assert verdicts(station, OPEN) == []
    station.hear(entry.packet)
    assert verdicts(station, VILLAGE) == [Verdict.NEW, Verdict.DUPLICATE]
    assert verdicts(station, OPEN) == []


@pytest.mark.parametrize("size", [20, 120])
def test_junk_is_counted_once(size: int) -> None:
    station = wired()
    station.hear(random.Random(1).randbytes(size))
    assert verdicts(station, OPEN) == [Verdict.NOT_OURS]
    assert verdicts(station, VILLAGE) == []
    station.perform(station.networks.junk(LINK, "CrcError", 7, 0), 0)
    assert verdicts(station, OPEN) == [Verdict.NOT_OURS, Verdict.INVALID]
    (face,) = station.networks.faces()
    assert face.counters.received == 2
    assert face.counters.invalid == 1


def test_an_entry_that_overtook_its_predecessor_waits_in_whichever_network_it_is_of() -> None:
    station = wired()
    station.follow(VILLAGE, [BEN.feed_id])
    first, second = of_network(BEN, VILLAGE, [b"first", b"second"])
    station.hear(second.packet)
    assert station.frontier(VILLAGE)[BEN.feed_id] == 0
    station.hear(first.packet)
    assert station.frontier(VILLAGE)[BEN.feed_id] == 2
    assert [event.seq for event in station.seen(VILLAGE, EntryAppended)] == [1, 2]


def test_a_chunk_that_two_networks_wait_for_is_taken_by_both() -> None:
    station = wired()
    content = b"the same map for all" * 12
    for network in KEYS:
        station.follow(network, [BEN.feed_id])
        station.hear(of_network(BEN, network, [content])[0].packet)
    for chunk in of_network(BEN, OPEN, [content])[0].chunks:
        station.hear(chunk)
    for network in KEYS:
        assert [event.complete for event in station.seen(network, ChunkAppended)][-1]


def test_a_fork_is_seen_in_its_own_network_only() -> None:
    station = wired()
    for network in KEYS:
        station.follow(network, [BEN.feed_id])
        station.hear(of_network(BEN, network, [b"one"])[0].packet)
    # The same key, the same place, other content: no fork, where the network is another one.
    assert not any(record.forked_at for network in KEYS for record in station.networks.node(network).feeds())
    station.hear(of_network(BEN, VILLAGE, [b"another"])[0].packet)
    assert [record.forked_at for record in station.networks.node(OPEN).feeds()] == [None, None]
    assert 1 in [record.forked_at for record in station.networks.node(VILLAGE).feeds()]


HEADS = [b"", *(key.goset_dmx for key in KEYS.values()), of_network(BEN, VILLAGE, [b"x"])[0].packet[:7]]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(HEADS), st.binary(max_size=130)), max_size=12))
def test_whatever_a_stranger_sends_has_one_record(packets: list[tuple[bytes, bytes]]) -> None:
    station = wired()
    station.follow(VILLAGE, [BEN.feed_id])
    for head, rest in packets:
        station.hear(head + rest)
    assert len(verdicts(station, OPEN)) + len(verdicts(station, VILLAGE)) == len(packets)


# --- two stations, two networks


def test_nothing_of_one_network_gets_into_the_other() -> None:
    channel = Channel([Station("ana"), Station("ben")], radio_profile())
    ana, ben = channel.stations
    for station in channel.stations:
        for network in KEYS:
            for number in range(3):
                station.publish(network, f"{station.name} to {network} {number}".encode())
    channel.run_for(600 * SECOND_US)
    for network, key in KEYS.items():
        assert (
            ana.frontier(network) == ben.frontier(network) == dict.fromkeys((ana.key.feed_id, BEN.feed_id), 3)
        )
        for station in channel.stations:
            verifier = Verifier(station.stores[network], key)
            assert list(verifier.run()) == []
            assert verifier.entries == 6


def test_more_feeds_than_one_set_holds() -> None:
    ana, ben = wired("ana"), wired("ben")
    feeds = {
        network: [of_network(key_of(f"{network} {number}"), network, [b"hello"])[0] for number in range(200)]
        for network in KEYS
    }
    for network, entries in feeds.items():
        ana.follow(network, [entry.extended.tip.feed for entry in entries])
        for entry in entries:
            ana.hear(entry.packet)
    ana.take()
    talk((ana, ben), 30 * SECOND_US)
    for network, entries in feeds.items():
        held = ben.frontier(network)
        assert len(held) == 202
        assert all(held[entry.extended.tip.feed] == 1 for entry in entries)
    assert sum(len(ben.frontier(network)) for network in KEYS) > limits.SET_MAX


def test_a_station_without_the_key_learns_nothing_of_the_network() -> None:
    stranger = Station("eva", {OPEN: KEYS[OPEN]})
    channel = Channel([Station("ana"), stranger], radio_profile())
    channel.stations[0].publish(VILLAGE, b"only us")
    channel.run_for(300 * SECOND_US)
    assert set(stranger.frontier(OPEN)) == {key_of("ana").feed_id, key_of("eva").feed_id}
    assert stranger.stores[OPEN].last_arrival() == 0


# --- one radio, one law

ONE_PERCENT = Allowance(band="EU868 868.0-868.6", limit_us=36 * SECOND_US, window_us=HOUR_US)


def talkative(allowance: Allowance | None, seed: int = 1) -> Channel:
    """A station that has more to say in both networks than it may, and one that listens."""
    stations = [Station("ana", seed=seed), Station("ben", seed=seed)]
    channel = Channel(stations, replace(radio_profile(), allowance=allowance))
    for number in range(250):
        for network in KEYS:
            channel.stations[0].publish(network, b"%d" % number)
    return channel


@pytest.mark.parametrize("seed", [1, 2])
def test_two_networks_together_keep_the_law(seed: int) -> None:
    channel = talkative(ONE_PERCENT, seed)
    ana = channel.stations[0]
    channel.run_for(2 * HOUR_US)
    peak_us = most_in_a_window(
        [(begin, end) for sender, _, begin, end in channel.sent if sender is ana], HOUR_US
    )
    assert ONE_PERCENT.limit_us * 9 // 10 < peak_us <= ONE_PERCENT.limit_us
    (account,) = ana.networks.air(channel.now_us)
    spent_us = sum(
        end - max(begin, channel.now_us - HOUR_US)
        for sender, _, begin, end in channel.sent
        if sender is ana and end > channel.now_us - HOUR_US
    )
    assert account.used_us == spent_us


def test_two_networks_share_what_the_law_allows() -> None:
    # Who wins has a batch: 90 of them an hour are won by chance, so one hour is not enough to see it.
    shares = dict.fromkeys(KEYS, 0)
    for seed in range(6):
        channel = talkative(ONE_PERCENT, seed)
        channel.run_for(2 * HOUR_US)
        for network in KEYS:
            shares[network] += channel.airtime_us(channel.stations[0], network)
    # By chance alone: 0.36 to 0.50 in groups of four seeds.
    assert min(shares.values()) / sum(shares.values()) > 0.4


def test_where_the_law_leaves_one_packet_at_a_time_networks_take_turns() -> None:
    channel = talkative(Allowance(band="narrow", limit_us=AIR_PACKET_US, window_us=10 * SECOND_US))
    channel.run_for(400 * SECOND_US)
    whose = [network for sender, network, _, _ in channel.sent if sender is channel.stations[0]]
    assert len(whose) >= 38
    assert abs(whose.count(OPEN) - whose.count(VILLAGE)) <= 2


def test_two_networks_share_a_free_channel_fairly() -> None:
    shares = dict.fromkeys(KEYS, 0)
    seeds = range(8)
    for seed in seeds:
        channel = talkative(None, seed)
        channel.run_for(90 * SECOND_US)
        for network in KEYS:
            shares[network] += channel.airtime_us(channel.stations[0], network)
    # By chance alone: 0.36 to 0.50 in groups of four seeds.
    assert min(shares.values()) / sum(shares.values()) > 0.4
    # Half of the time is silence: nobody knows of the other, so each spreads over all the time of a crowd.
    assert sum(shares.values()) > len(seeds) * 45 * SECOND_US


def test_a_radio_is_handed_one_packet_at_a_time() -> None:
    station = Station("ana")
    station.up(radio_profile())
    for network in KEYS:
        station.publish(network, b"news")
    now_us, taken = 0, []
    while (wake_us := station.networks.next_wake_us()) is not None and wake_us < 60 * SECOND_US:
        now_us = wake_us
        station.perform(station.networks.wake(now_us), now_us)
        taken += station.take()
    assert len(taken) == 1
    # Carrier sense kept it: both wait anew, and it is not the other's that is given back.
    assert station.networks.faces()[0].outstanding == 1
    station.perform(station.networks.busy(LINK, now_us), now_us)
    assert station.networks.faces()[0].outstanding == 0
    assert station.networks.next_wake_us() is not None


def test_idle_networks_use_a_thousandth_of_the_air_each() -> None:
    profile = air_profile([airtime_us(LoraSettings(), length) for length in range(121)])
    channel = Channel([Station("ana"), Station("ben")], profile)
    for station in channel.stations:
        for network in KEYS:
            station.publish(network, b"hello")
    channel.run_for(HOUR_US)
    settled_us = channel.now_us
    channel.run_for(5 * HOUR_US)
    for network in KEYS:
        # Of the two, which take turns by chance, one may send a fifth more than the other.
        shares = [channel.airtime_us(station, network, settled_us) for station in channel.stations]
        assert all(shares)
        assert sum(shares) / len(shares) <= 5 * HOUR_US / 1000


# --- a face in common


def test_what_has_left_is_told_to_whose_it_was() -> None:
    station = wired()
    station.perform(station.networks.wake(0), 0)
    assert [send.kind for _, send in station.take()] == [PacketKind.DIFF] * len(KEYS)
    station.perform(station.networks.sent(LINK, 2, 0), 0)
    station.events.clear()
    for network, count in ((OPEN, 3), (VILLAGE, 2), (OPEN, 1)):
        for _ in range(count):
            station.publish(network, b"x")
    (face,) = station.networks.faces()
    assert face.outstanding == len(station.outgoing) == 6
    assert [network for network, _ in station.take()] == [OPEN] * 3 + [VILLAGE] * 2 + [OPEN]
    station.perform(station.networks.sent(LINK, 4, 0), 0)
    sent = {network: len(station.seen(network, PacketSent)) for network in KEYS}
    assert sent == {OPEN: 3, VILLAGE: 1}
    (face,) = station.networks.faces()
    assert (face.counters.sent, face.outstanding) == (2 + 4, 2)


def test_a_wire_has_room_for_every_network() -> None:
    station = Station("ana")
    station.up(replace(lan_profile(), window=9))
    for _ in range(20):
        station.publish(OPEN, b"x")
    assert len(station.take()) == 4
    station.publish(VILLAGE, b"x")
    assert {network for network, _ in station.take()} == {VILLAGE}


def test_a_face_that_is_gone_is_gone_for_all() -> None:
    station = wired()
    station.publish(VILLAGE, b"x")
    station.perform(station.networks.face_down(LINK, "unplugged", 0), 0)
    assert station.networks.faces() == []
    assert station.networks.sent(LINK, 1, 0) == station.networks.busy(LINK, 0) == []
    assert all(effects == [] for _, effects in station.hear(b"x" * 120))
    assert station.networks.next_wake_us() is None
    assert [len(station.seen(network, FaceDown)) for network in KEYS] == [1, 1]
