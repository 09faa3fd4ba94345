"""Feeds that are followed newest first: their last entries come before their history, whatever is between the nodes."""

from collections.abc import Sequence

import pytest

from tests.meshes import SECOND_US, Mesh
from tests.nodes import Bench, feed_of, key_of, packets_of, radio_profile, written
from tests.words import NETWORK
from tinyssb_node import limits
from tinyssb_node.codec.packets import (
    NamedWant,
    Newest,
    parse_newest,
    serialize_named_want,
    serialize_newest,
)
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.salted import short_id
from tinyssb_node.scheduling.link import LinkProfile, lan_profile

ANA = key_of("ana")
LAST = 200
SALT = b"salt"
FEED = written(ANA, [b"%d" % number for number in range(40)])


def author_and_reader(text: int = 1, loss: float = 0.0) -> Mesh:
    """Ana, who has written for long, and Bob, who follows her newest first."""
    mesh = Mesh(["ana", "bob"], loss)
    for number in range(LAST):
        _, effects = mesh["ana"].node.publish(b"%d " % number * text, mesh.now_us)
        mesh.do("ana", effects)
    mesh.do("bob", mesh["bob"].node.follow(ANA.feed_id, mesh.now_us, newest=10))
    return mesh


def newest_of(mesh: Mesh) -> list[int]:
    """Return those of the last ten that Bob has, side chains included."""
    replica = mesh["bob"].node.replica
    ahead = replica.newest.of_feed(ANA.feed_id)
    growing = {chain.seq for chain in replica.expectations.side_chains}
    return [entry.seq for entry in ahead if entry.seq > LAST - 10 and entry.seq not in growing]


def until_newest(mesh: Mesh, most_s: int) -> int:
    """Let time pass until Bob has the last ten, and return how far the history is then."""
    for _ in range(10 * most_s):
        mesh.pass_time(SECOND_US // 10)
        if len(newest_of(mesh)) == 10:
            return mesh["bob"].node.replica.frontier(ANA.feed_id)
    pytest.fail(f"{newest_of(mesh)} of the last ten came in {most_s} s")


@pytest.mark.parametrize("text", [1, 40], ids=["short", "with side chains"])
def test_on_the_air_the_newest_come_before_the_history(text: int) -> None:
    mesh = author_and_reader(text)
    mesh.radio()
    assert until_newest(mesh, 40) <= 50
    mesh.pass_time(600 * SECOND_US)
    assert mesh["bob"].held()[ANA.feed_id] == LAST
    assert not len(mesh["bob"].node.replica.newest)


def test_on_the_air_losses_are_made_good() -> None:
    mesh = author_and_reader(loss=0.2)
    mesh.radio()
    assert until_newest(mesh, 60) < LAST - 10


@pytest.mark.parametrize("profile", [None, lan_profile()], ids=["stream", "lan"])
def test_on_wires_both_come_and_nothing_is_left_over(profile: LinkProfile | None) -> None:
    mesh = author_and_reader(text=40)
    mesh.wire(("ana", "bob"), profile=profile)
    mesh.pass_time(30 * SECOND_US)
    assert mesh["bob"].held()[ANA.feed_id] == LAST
    assert not len(mesh["bob"].node.replica.newest)
    assert not mesh["bob"].node.replica.expectations.side_chains


def reader(profile: LinkProfile | None = None) -> Bench:
    """A node that has entry 1 of Ana's feed, and wants its newest."""
    bench = Bench(profile=profile)
    bench.perform(bench.node.follow(ANA.feed_id, bench.now_us, newest=10))
    bench.hear(FEED[0].packet)
    bench.take()
    return bench


def claim(bench: Bench, seq: int) -> None:
    """A peer requests entry *seq*, and so has all before."""
    bench.hear(
        serialize_named_want(NETWORK.goset_dmx, NamedWant(SALT, ((short_id(SALT, ANA.feed_id), seq),)))
    )


def test_a_claim_that_brings_nothing_is_asked_about_ever_more_rarely() -> None:
    for profile in (None, radio_profile()):
        bench = reader(profile)
        asked = 0
        for _ in range(3_600):
            claim(bench, 2**31)
            bench.pass_time(SECOND_US)
            asked += len(bench.take(PacketKind.NEWEST))
        assert 3 <= asked <= 13


def test_a_peer_that_has_little_more_is_asked_in_order_only() -> None:
    bench = reader()
    claim(bench, 12)
    bench.pass_time(SECOND_US)
    assert not bench.take(PacketKind.NEWEST)
    claim(bench, 13)
    (packet,) = [packet for packet in bench.take(PacketKind.NEWEST) if packet]
    assert [(seq, count) for _, seq, count in parse_newest(packet).wanted] == [(2, 10)]


def giver(*feeds: Sequence[ComposedEntry]) -> Bench:
    """A node that has *feeds*."""
    bench = Bench()
    for feed in feeds:
        bench.follow(feed[0].extended.tip.feed)
        for packet in packets_of(feed):
            bench.perform(bench.node.import_packet(packet, bench.now_us)[1])
    bench.pass_time(60 * SECOND_US)
    bench.take()
    return bench


def ask(bench: Bench, *wanted: tuple[FeedId, int, int]) -> list[bytes]:
    """Return the entries that a NEWEST brings."""
    bench.take()
    items = tuple((short_id(SALT, feed), seq, count) for feed, seq, count in wanted)
    bench.hear(serialize_newest(NETWORK.goset_dmx, Newest(SALT, items)))
    bench.pass_time(0)
    return bench.take(PacketKind.ENTRY)


@pytest.mark.parametrize(
    ("seq", "count", "given"),
    [
        (1, 3, [1, 38, 39, 40]),
        (5, 3, [38, 39, 40]),
        (39, 3, [39, 40]),
        (41, 3, []),
        (38, 10**6, [38, 39, 40]),
        (0, 2, [1, 39, 40]),
        (1, 0, []),
        (2**32 - 1, 32, []),
    ],
)
def test_what_a_newest_brings(seq: int, count: int, given: list[int]) -> None:
    bench = giver(FEED)
    brought = ask(bench, (ANA.feed_id, seq, count))
    assert brought == [FEED[number - 1].packet for number in given]


def test_no_request_brings_more_than_one_feeds_share() -> None:
    feeds = [
        written(key_of(f"author {number}"), [b"%d" % entry for entry in range(40)]) for number in range(6)
    ]
    bench = giver(*feeds)
    wanted = [(feed[0].extended.tip.feed, 2, 32) for feed in feeds]
    assert len(ask(bench, *wanted)) <= limits.NEWEST_MAX
    assert len(ask(bench, *wanted[:1])) == 0  # it was given a moment ago


def test_a_feed_that_is_unknown_or_has_no_entry_brings_nothing() -> None:
    bench = giver(FEED)
    bench.follow(feed_of(1))
    assert ask(bench, (feed_of(1), 1, 10), (feed_of(2), 1, 10)) == []
