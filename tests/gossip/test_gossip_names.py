"""How a set is told by names where air costs nothing."""

from tests.nodes import AIR_PACKET_US, FACE, Bench, feed_of, radio_profile
from tests.words import claim
from tinyssb_node import limits
from tinyssb_node.codec.packets import parse_claim
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication import limits as replication_limits
from tinyssb_node.replication.claim import claim_of
from tinyssb_node.scheduling.link import LinkProfile, stream_profile

MINUTE_US = 60_000_000


def with_feeds(count: int, profile: LinkProfile) -> tuple[Bench, list[FeedId]]:
    """A node with so many feeds in its set, on a face that just came up."""
    feeds = sorted(feed_of(number) for number in range(count))
    bench = Bench(profile=profile)
    bench.follow(*feeds)
    bench.node.face_down(FACE, "gone", bench.now_us)
    bench.up(FACE, profile)
    bench.pass_time(0)
    bench.take()
    return bench, feeds


def named(packets: list[bytes]) -> list[FeedId]:
    """The feeds of claims of one id."""
    return [said.low for said in map(parse_claim, packets) if said.count == 1]


def test_who_knows_less_is_told_all_our_ids_and_once() -> None:
    bench, feeds = with_feeds(40, stream_profile())
    bench.hear(claim(claim_of([feed_of(99)])))
    assert named(bench.take(PacketKind.CLAIM)) == feeds
    bench.now_us += MINUTE_US
    bench.hear(claim(claim_of(sorted([feed_of(98), feed_of(99)]))))
    assert not set(named(bench.take(PacketKind.CLAIM))) & set(feeds)


def test_who_knew_our_ids_and_let_some_go_is_told_them_again() -> None:
    bench, feeds = with_feeds(40, stream_profile())
    for _ in range(2):
        bench.hear(claim(claim_of([feed_of(99)])))
        assert set(feeds) <= set(named(bench.take(PacketKind.CLAIM)))
        bench.now_us += replication_limits.NAMES_AGAIN_US


def test_names_are_told_a_bounded_many_at_a_time() -> None:
    bench, _ = with_feeds(limits.NAMES_MAX + 20, stream_profile())
    told = []
    for number in (900, 901):
        bench.hear(claim(claim_of([feed_of(number)])))
        told.append(len(named(bench.take(PacketKind.CLAIM))))
    assert told == [limits.NAMES_MAX, 20 + 1]


def test_who_has_our_very_set_is_told_no_names() -> None:
    bench, feeds = with_feeds(40, stream_profile())
    bench.hear(claim(claim_of(feeds)))
    assert bench.take() == []


def test_on_the_air_nobody_is_told_all_ids() -> None:
    bench, _ = with_feeds(40, radio_profile())
    bench.hear(claim(claim_of([feed_of(99)])))
    bench.pass_time(60 * AIR_PACKET_US)
    assert len(bench.take()) < 20


def test_a_question_that_stays_unanswered_is_put_in_several_words() -> None:
    bench, feeds = with_feeds(8, stream_profile())
    larger = claim(claim_of(sorted([*feeds, feed_of(50), feed_of(51)])))
    counts = []
    for _ in range(3):
        bench.hear(larger)
        ours = len(bench.node.feeds())
        counts.append([said.count for said in map(parse_claim, bench.take()) if said.count > 1])
        bench.now_us += 15_000_000
    insisting = [ours, *[ours - 1] * 2, *[ours - 2] * 3, *[ours - 3] * 3]
    assert counts == [[ours], insisting, insisting]
    assert len(insisting) == 1 + limits.INSISTING_MAX


def test_a_peer_that_knows_less_is_not_insisted_with() -> None:
    bench, feeds = with_feeds(8, stream_profile())
    for _ in range(3):
        bench.hear(claim(claim_of(feeds[:6])))
        assert all(said.count == 1 for said in map(parse_claim, bench.take(PacketKind.CLAIM)))
        bench.now_us += 15_000_000
