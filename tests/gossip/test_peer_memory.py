"""The memory of a face's peers."""

import pytest

from tests.gossip.test_gossip_turns import Station
from tests.nodes import AIR_PACKET_US, feed_of, radio_profile
from tests.scheduling.test_transmit_queue import PACKET, SILENCE_US, queue_of, settle
from tinyssb_node import limits
from tinyssb_node.gossip.peer_memory import PeerMemory, RequestCursor
from tinyssb_node.ids import PacketKind, Verdict
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.scheduling.budget import AirUse
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.scheduling.transmit_queue import HandedPacket, TransmitQueue

FEED = feed_of(1)
ANSWERS_US = limits.ANSWERS_PACKETS * AIR_PACKET_US


class Face:
    """A queue and its memory."""

    def __init__(self, profile: LinkProfile) -> None:
        self.queue: TransmitQueue = queue_of(profile)
        self.peers = PeerMemory(self.queue)

    def wake(self, now_us: int) -> None:
        for kind in self.queue.wake(now_us):
            self.peers.timer_requested(kind)


@pytest.fixture
def air() -> Face:
    return Face(radio_profile())


@pytest.fixture
def stream() -> Face:
    return Face(stream_profile())


# --- what was given


@pytest.mark.parametrize("profile", [radio_profile(), lan_profile()])
def test_what_was_heard_on_a_shared_medium_is_given(profile: LinkProfile) -> None:
    peers = Face(profile).peers
    peers.took_entry(FEED, 5, 0, chained=False)
    peers.took_chunk(FEED, 5, 2, 0)
    assert peers.given_entries.first_to_give(FEED, 5, 1) == 6
    assert peers.given_chunks.first_to_give((FEED, 5), 2, 1) == 3


def test_a_stream_gives_no_other_peer_what_its_peer_gave(stream: Face) -> None:
    stream.peers.took_entry(FEED, 5, 0, chained=False)
    stream.peers.took_chunk(FEED, 5, 2, 0)
    assert stream.peers.given_entries.first_to_give(FEED, 5, 1) == 5
    assert stream.peers.given_chunks.first_to_give((FEED, 5), 2, 1) == 2
    assert stream.peers.next_entry[FEED] == 6


def test_what_we_gave_is_what_the_peer_takes_next(stream: Face) -> None:
    stream.peers.gave_entries(FEED, 2, 4, 0)
    stream.peers.gave_chunks((FEED, 2), 3, 2, 0)
    stream.peers.gave_chunks((FEED, 9), 3, 0, 0)
    assert (stream.peers.next_entry[FEED], stream.peers.next_chunk[FEED, 2]) == (5, 5)
    assert stream.peers.next_chunk[FEED, 9] == 3
    assert stream.peers.given_chunks.first_to_give((FEED, 2), 3, 1) == 5
    assert stream.peers.given_chunks.first_to_give((FEED, 9), 3, 1) == 3


def test_each_reply_begins_with_another_feed(stream: Face) -> None:
    feeds = [feed_of(number) for number in range(3)]
    assert stream.peers.rotate(feeds, 4) == feeds
    assert stream.peers.rotate(feeds, 1) == [feeds[1], feeds[2], feeds[0]]
    assert stream.peers.rotate(feeds[:2], 1) == [feeds[1], feeds[0]]


def test_the_next_request_begins_behind_the_one_that_left() -> None:
    cursor = RequestCursor()
    cursor.built(7)
    assert cursor.start == 0
    cursor.sent()
    assert cursor.start == 7


# --- requesting more


def test_off_the_air_more_is_requested_when_half_an_answer_came(air: Face, stream: Face) -> None:
    assert [stream.peers.took_entry(FEED, seq, 0, chained=False) for seq in (1, 2, 3)] == [False, False, True]
    assert [stream.peers.took_chunk(FEED, 1, chunk, 0) for chunk in (0, 1, 2)] == [False, False, True]
    assert not any(air.peers.took_entry(FEED, seq, 0, chained=False) for seq in range(1, 100))
    assert not any(air.peers.took_chunk(FEED, 1, chunk, 0) for chunk in range(100))


def test_the_timers_requests_count_as_requests(stream: Face) -> None:
    for seq in (1, 2):
        stream.peers.took_entry(FEED, seq, 0, chained=False)
        stream.peers.took_chunk(FEED, 1, seq, 0)
    stream.wake(stream.queue.profile.advert_min_us)
    assert list(stream.queue.adverts) == [PacketKind.CLAIM, PacketKind.WANT, PacketKind.CHNK]
    assert not stream.peers.took_entry(FEED, 3, 0, chained=False)
    assert not stream.peers.took_chunk(FEED, 1, 3, 0)


def test_the_silence_behind_an_answer_makes_a_stream_request_the_next(stream: Face) -> None:
    quiet_us = stream.queue.profile.quiet_us
    assert quiet_us is not None
    for now_us in (0, quiet_us // 2):
        stream.peers.took_entry(FEED, 1, now_us, chained=False)
        stream.peers.took_chunk(FEED, 1, 1, now_us)
    due_us = quiet_us // 2 + quiet_us
    assert not stream.queue.want_timer.wake(due_us - 1)
    assert not stream.queue.chnk_timer.wake(due_us - 1)
    assert stream.queue.want_timer.wake(due_us)
    assert stream.queue.chnk_timer.wake(due_us)


def test_what_comes_makes_us_request_soon(stream: Face) -> None:
    queue = stream.queue
    now_us = settle(queue)
    soon_us = now_us + queue.profile.advert_min_us
    assert queue.next_us > soon_us
    stream.peers.took_entry(FEED, 1, now_us, chained=False)
    assert queue.want_timer.next_us <= soon_us
    assert queue.chnk_timer.next_us > soon_us
    stream.peers.took_entry(FEED, 2, now_us, chained=True)
    assert queue.chnk_timer.next_us <= soon_us


def test_a_chunk_makes_us_request_chunks_soon(stream: Face) -> None:
    now_us = settle(stream.queue)
    stream.peers.took_chunk(FEED, 1, 0, now_us)
    assert stream.queue.chnk_timer.next_us <= now_us + stream.queue.profile.advert_min_us
    assert stream.queue.want_timer.next_us > now_us + stream.queue.profile.advert_min_us


def test_a_new_entry_on_the_air_is_followed_by_a_want(air: Face, stream: Face) -> None:
    for face in (air, stream):
        face.peers.took_entry(FEED, 1, 0, chained=False)
    assert (list(air.queue.adverts), list(stream.queue.adverts)) == ([PacketKind.WANT], [])


# --- entries to relay


def test_isolated_entries_are_relayed(air: Face) -> None:
    air.peers.heard_content(PACKET, 0, new=True)
    assert air.queue.pop(SILENCE_US) is None
    assert air.queue.pop_relayed(SILENCE_US) == PACKET


def test_what_is_known_is_not_relayed(air: Face) -> None:
    air.peers.heard_content(PACKET, 0, new=False)
    assert len(air.queue.relay) == 0


def test_answers_are_not_relayed_for_as_long_as_they_come(air: Face) -> None:
    air.peers.expect_answers(0)
    for now_us, new in ((ANSWERS_US - 1, True), (2 * ANSWERS_US - 3, False), (3 * ANSWERS_US - 5, True)):
        air.peers.heard_content(PACKET, now_us, new=new)
        assert len(air.queue.relay) == 0
    air.peers.heard_content(PACKET, 4 * ANSWERS_US - 5, new=True)
    assert len(air.queue.relay) == 1


def test_of_what_comes_in_a_row_only_the_first_is_relayed(air: Face) -> None:
    for number in range(3 * limits.CARRY_MAX):
        air.peers.heard_content(b"%d" % number, number * AIR_PACKET_US, new=True)
    assert len(air.queue.relay) == 1
    assert air.queue.pop_relayed(2 * SILENCE_US) == b"0"


@pytest.mark.parametrize(
    ("kind", "addressed", "expects"),
    [
        (PacketKind.WANT, True, True),
        (PacketKind.WANT, False, False),
        (PacketKind.CHNK, False, False),
        (PacketKind.CLAIM, False, False),
    ],
)
def test_answers_are_expected_once_a_neighbour_was_asked_by_name(
    kind: PacketKind, addressed: bool, expects: bool
) -> None:
    station = Station()
    new = PacketOutcome(PacketKind.ENTRY, Verdict.NEW, None, feed_of(9), 1)
    station.gossip.heard_content(station.queue, b"while another station sent", new, 1)
    assert len(station.queue.relay) == 1
    sent = HandedPacket(b"advert", kind, AirUse.ADVERT, None, addressed)
    station.gossip.sent(station.queue, sent, ANSWERS_US + 1)
    station.gossip.heard_content(station.queue, b"then", new, ANSWERS_US + 2)
    assert len(station.queue.relay) == (1 if expects else 2)
