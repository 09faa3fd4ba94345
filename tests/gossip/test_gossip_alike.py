"""Side chains that are alike, as those of entries with the same content: a packet of one is a packet of all."""

from dataclasses import replace

import pytest

from tests.node.test_node_deployed import STEP_US, converse
from tests.nodes import FACE, Bench, key_of, radio_profile, written
from tests.peers.simplepub import ASK_US, SimplePub
from tests.words import ANA, chnk, holding
from tinyssb_node import limits
from tinyssb_node.codec.events import PacketSent
from tinyssb_node.faces.ble import ble_profile
from tinyssb_node.ids import Dialect, PacketKind
from tinyssb_node.scheduling.link import LinkProfile, stream_profile

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
DATA = {PacketKind.ENTRY, PacketKind.CODED, PacketKind.CHUNK, PacketKind.CODED_CHUNK}
CONTENT = b"x" * 600
FEED = written(ANA, [CONTENT] * 5)
CHUNKS = list(FEED[0].chunks)
ONE_AT_A_TIME = replace(stream_profile(), window=1)


@pytest.mark.parametrize("profile", [stream_profile(), radio_profile()], ids=["stream", "air"])
def test_an_answer_holds_as_many_different_chunks_as_if_one_side_chain_were_asked_for(
    profile: LinkProfile,
) -> None:
    bench = holding(FEED, profile)
    bench.hear(chnk(bench, *((ANA.feed_id, seq, 0) for seq in range(1, 6))))
    bench.pass_time(20 * SECOND_US)
    assert bench.take(PacketKind.CHUNK) == CHUNKS[: profile.burst]


def test_what_is_alike_at_different_places_is_given_from_the_least_on() -> None:
    bench = holding(FEED)
    bench.hear(chnk(bench, (ANA.feed_id, 1, 3), (ANA.feed_id, 2, 1)))
    assert sorted(bench.take(PacketKind.CHUNK)) == sorted(CHUNKS[1:])


@pytest.mark.parametrize("profile", [ONE_AT_A_TIME, radio_profile()], ids=["stream", "air"])
def test_a_chunk_that_waits_goes_behind_the_newest_entry_it_belongs_to(profile: LinkProfile) -> None:
    """Peers that hear the entries first can take the chunk for all of them."""
    bench = Bench(key=ANA, profile=profile)
    bench.take()
    bench.reports_sent = False
    for _ in range(5):
        bench.publish(CONTENT)
    bench.reports_sent = True
    bench.perform(bench.node.sent(FACE, len(bench.outgoing), bench.now_us))
    bench.pass_time(20 * SECOND_US)
    sent = [send.packet for send in bench.outgoing if send.kind in DATA]
    entries = [entry.packet for entry in bench.store.entries(ANA.feed_id, 1, 5)]
    assert sent == [*entries, *CHUNKS]


@pytest.mark.parametrize("live", [False, True], ids=["before", "while they talk"])
def test_a_phone_is_given_entries_that_say_the_same_as_soon_as_others(live: bool) -> None:
    """It copies nothing from one side chain to another: a packet counts for those that wait for it when it comes."""
    key = key_of("our own")
    profile = ble_profile(limits.BLE_PHONE_GAP_US, limits.BLE_PHONE_QUIET_US)
    bench, phone = Bench(key=key, dialect=Dialect.DEPLOYED, profile=profile), SimplePub()
    if live:
        converse(bench, phone, 30 * SECOND_US)
    for _ in range(20):
        bench.publish(CONTENT)
    converse(bench, phone, 3 * ASK_US if live else 30 * SECOND_US)
    log = phone.logs[key.feed_id]
    assert len(log.entries) == 20
    assert not log.pending


@pytest.mark.parametrize("profile", [stream_profile(), radio_profile()], ids=["stream", "air"])
def test_a_node_is_given_entries_that_say_the_same_with_few_packets(profile: LinkProfile) -> None:
    giver, taker = holding(FEED, profile), Bench(profile=profile)
    taker.follow(ANA.feed_id)
    while giver.now_us < MINUTE_US:
        for bench in (giver, taker):
            bench.pass_time(STEP_US)
        for sender, receiver in ((giver, taker), (taker, giver)):
            for packet in sender.take():
                receiver.hear(packet)
    assert [list(taker.store.chunks(ANA.feed_id, seq, 0, 9)) for seq in range(1, 6)] == [CHUNKS] * 5
    assert sum(sent.packet in DATA for sent in giver.seen(PacketSent)) == len(FEED) + len(CHUNKS)
