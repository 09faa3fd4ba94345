"""Packets on others' sets, to a node that holds feeds that have ended (decision 0036)."""

import pytest

from tests.nodes import FACE, OTHER, Bench, feed_of, key_of, radio_profile
from tests.words import NETWORK, claim, feeds_packet, novelty, sketch_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import want_dmx
from tinyssb_node.codec.events import Effect, SetChanged
from tinyssb_node.codec.packets import Want, parse_claim, parse_feeds, serialize_want
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.replication.limits import LEAVE_FOLLOW_US
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

OVER = [key_of(f"over {number}") for number in range(3)]
OTHERS = [feed_of(number) for number in range(9)]
EVERYBODY = sorted([*OTHERS, *(key.feed_id for key in OVER)])
SECOND_US = 1_000_000
PROFILES = [stream_profile(), lan_profile(), radio_profile()]


def node(profile: LinkProfile, *, awaited: FeedId | None = None) -> Bench:
    """A node that holds three feeds which ended long ago and which its neighbour has, but for *awaited*."""
    bench = Bench(profile=profile)
    bench.follow(*OTHERS)
    effects: list[Effect] = []
    for key in OVER:
        effects += bench.node.append_to_feed(
            key, serialize_continued(END), bench.now_us, EntryType.CONTINUED
        )[1]
    bench.perform(effects)
    hear_want(bench, None)
    bench.pass_time(LEAVE_FOLLOW_US)
    if awaited is not None:
        hear_want(bench, awaited)
    bench.pass_time(20 * SECOND_US)
    bench.take()
    bench.events.clear()
    return bench


def hear_want(bench: Bench, awaited: FeedId | None) -> None:
    """A neighbour asks for the first entry of one feed, or of none."""
    seqs = tuple(int(feed == awaited) for feed in EVERYBODY)
    bench.hear(serialize_want(want_dmx(NETWORK, bench.node.set_state), Want(0, seqs)))


def set_of(bench: Bench) -> list[FeedId]:
    return [record.feed for record in bench.node.feeds() if not record.retired]


def without(*gone: FeedId) -> list[FeedId]:
    return [feed for feed in EVERYBODY if feed not in gone]


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.medium.value)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_a_neighbour_lacks_leaves_here_too(profile: LinkProfile, count: int) -> None:
    bench = node(profile)
    gone = [key.feed_id for key in OVER[:count]]
    if profile.medium is radio_profile().medium:
        bench.hear(sketch_of(b"salt", limits.SKETCH_CAPACITY, *without(*gone)))
    else:
        bench.hear(claim(claim_of(without(*gone))))
    assert set_of(bench) == without(*gone)
    assert {event.feed for event in bench.seen(SetChanged) if event.left} == set(gone)
    bench.pass_time(30 * SECOND_US)
    assert {feed for packet in bench.take(PacketKind.FEEDS) for feed in parse_feeds(packet).feeds} == set()


@pytest.mark.parametrize("at", [0, -1])
def test_what_lies_beyond_a_neighbours_bounds_leaves_too(at: int) -> None:
    """A claim does not say whether it is of the whole set."""
    bench = Bench()
    keys = sorted((key_of(f"edge {number}") for number in range(5)), key=lambda key: key.feed_id)
    effects: list[Effect] = []
    for key in keys:
        effects += bench.node.append_to_feed(
            key, serialize_continued(END), bench.now_us, EntryType.CONTINUED
        )[1]
    bench.perform(effects)
    state = bench.node.set_state
    bench.hear(serialize_want(want_dmx(NETWORK, state), Want(0, (0,) * 5)))
    bench.pass_time(LEAVE_FOLLOW_US)
    rest = [key.feed_id for key in keys if key is not keys[at]]
    bench.hear(claim(claim_of(rest)))
    assert set_of(bench) == rest


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.medium.value)
def test_what_may_not_leave_is_named(profile: LinkProfile) -> None:
    needed, over = OVER[0].feed_id, OVER[1].feed_id
    bench = node(profile, awaited=needed)
    on_air = profile.medium is radio_profile().medium
    rest = without(needed, over)
    bench.hear(sketch_of(b"salt", limits.SKETCH_CAPACITY, *rest) if on_air else claim(claim_of(rest)))
    assert set_of(bench) == without(over)
    bench.pass_time(30 * SECOND_US)
    if on_air:
        assert [parse_feeds(packet).feeds for packet in bench.take(PacketKind.FEEDS)] == [(needed,)]
    else:
        assert claim(claim_of([needed])) in bench.take(PacketKind.CLAIM)


def test_a_difference_that_closed_feeds_do_not_explain_is_repaired_as_ever() -> None:
    bench = node(stream_profile())
    bench.hear(claim(claim_of(without(OTHERS[3], OVER[0].feed_id))))
    assert set_of(bench) == EVERYBODY
    bench.pass_time(SECOND_US)
    assert len(bench.take(PacketKind.CLAIM)) > 0


def test_the_change_is_shown_on_every_face_at_once() -> None:
    bench = node(stream_profile())
    bench.up(OTHER, stream_profile())
    bench.pass_time(60 * SECOND_US)
    bench.take()
    rest = without(OVER[0].feed_id)
    bench.hear(claim(claim_of(rest)))
    said = [parse_claim(packet) for packet in bench.take(PacketKind.CLAIM, OTHER)]
    assert claim_of(rest) in said


@pytest.fixture
def left() -> Bench:
    """A node whose closed feeds have left, the one that comes first in the set among them."""
    bench = node(stream_profile())
    bench.hear(claim(claim_of(without(*(key.feed_id for key in OVER)))))
    assert len(set_of(bench)) == len(OTHERS)
    return bench


def test_bounds_of_a_claim_of_many_bring_nothing_back(left: Bench) -> None:
    """Peers that have not heard yet that a feed left name it as the bound of their set."""
    low, high = sorted(key.feed_id for key in OVER)[::2]
    left.hear(claim(claim_of([feed for feed in EVERYBODY if low <= feed <= high])))
    assert not set(set_of(left)).intersection(key.feed_id for key in OVER)


@pytest.mark.parametrize("word", ["claim", "novelty", "feeds", "follow"])
def test_whoever_names_a_feed_brings_it_back(left: Bench, word: str) -> None:
    feed = OVER[1].feed_id
    if word == "follow":
        left.follow(feed)
    else:
        packet = {"claim": claim(claim_of([feed])), "novelty": novelty(feed), "feeds": feeds_packet(feed)}[
            word
        ]
        left.hear(packet)
    assert feed in set_of(left)
    back = left.seen(SetChanged)[-1]
    assert (back.feed, back.left, back.face) == (feed, None, None if word == "follow" else FACE)
    assert left.seq_of(feed) == 1


def test_who_shows_what_left_here_is_not_asked_for_it() -> None:
    """It may not have heard yet; if it cannot do without, it says so by name."""
    bench = node(radio_profile())
    gone = [key.feed_id for key in OVER]
    bench.hear(sketch_of(b"salt", limits.SKETCH_CAPACITY, *without(*gone)))
    bench.pass_time(60 * SECOND_US)
    bench.take()
    bench.hear(sketch_of(b"late", limits.SKETCH_CAPACITY, *EVERYBODY))
    bench.pass_time(60 * SECOND_US)
    assert bench.take(PacketKind.ASK) == []
    assert set_of(bench) == without(*gone)
