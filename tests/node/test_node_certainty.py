"""A node that may not know the end of its own feed, among others that do."""

import pytest

from tests.nodes import FACE, OTHER, Bench, key_of, packets_of, written
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.errors import FeedForkedError
from tinyssb_node.gossip.certainty import TipCertainty, TipUncertainError, TipUncertainty
from tinyssb_node.ids import Dialect
from tinyssb_node.scheduling.link import stream_profile

ANA, BEN = key_of("ana"), key_of("ben")
SECOND = 1_000_000
FEED = written(ANA, [b"one", b"two", b"x" * 200])


def doubtful(doubt: TipUncertainty | None = TipUncertainty.RESTORED, known: int = 0) -> Bench:
    return Bench(key=ANA, certainty=TipCertainty(doubt, known))


def with_feed(key: SigningKey = BEN) -> Bench:
    """Somebody who holds all of Ana's feed."""
    bench = Bench(key=key)
    bench.follow(ANA.feed_id)
    for packet in packets_of(FEED):
        bench.hear(packet)
    bench.take()
    return bench


def converse(one: Bench, other: Bench, seconds: int) -> None:
    """Let two talk over a wire for so long."""
    for _ in range(seconds * 10):
        for here, there in ((one, other), (other, one)):
            here.pass_time(SECOND // 10)
            for packet in here.take(face=FACE):
                there.hear(packet)


def test_it_writes_nothing_and_says_why() -> None:
    bench = doubtful()
    with pytest.raises(TipUncertainError, match="restored from a backup") as caught:
        bench.publish(b"no")
    assert caught.value.waiting.doubt is TipUncertainty.RESTORED
    with pytest.raises(TipUncertainError):
        bench.node.append_to_feed(key_of("child"), b"no", bench.now_us)
    assert bench.seq_of(ANA.feed_id) == 0


def test_its_feed_comes_back_and_is_gone_on_with() -> None:
    ana, ben = doubtful(), with_feed()
    converse(ana, ben, 20)
    assert ana.seq_of(ANA.feed_id) == 3
    with pytest.raises(TipUncertainError, match="listening for"):
        ana.publish(b"too early")
    converse(ana, ben, 120)
    ana.publish(b"four")
    converse(ana, ben, 5)
    assert ben.seq_of(ANA.feed_id) == 4
    assert not any(record.forked_at for record in ben.node.feeds())


def test_meanwhile_it_serves_others() -> None:
    ana = doubtful(TipUncertainty.BEHIND, known=9)
    ana.follow(BEN.feed_id)
    for packet in packets_of(written(BEN, [b"news"])):
        ana.hear(packet)
    carol = Bench(key=key_of("carol"))
    carol.follow(BEN.feed_id)
    converse(ana, carol, 20)
    assert carol.seq_of(BEN.feed_id) == 1


def test_nobody_in_reach_is_no_answer() -> None:
    ana = doubtful(TipUncertainty.COPIED)
    ana.pass_time(3600 * SECOND)
    with pytest.raises(TipUncertainError, match="waiting to hear somebody"):
        ana.publish(b"no")
    ana.node.be_sure()
    ana.publish(b"yes")
    assert ana.seq_of(ANA.feed_id) == 1


def test_it_acknowledges_nothing_before_and_does_not_spin() -> None:
    ana = Bench(key=ANA, certainty=TipCertainty(TipUncertainty.MOVED), acknowledge_permille=100)
    ana.follow(BEN.feed_id)
    for packet in packets_of(written(BEN, [b"news"])):
        ana.hear(packet)
    ana.pass_time(3600 * SECOND)
    assert ana.seq_of(ANA.feed_id) == 0
    ana.node.be_sure()
    ana.pass_time(3600 * SECOND)
    assert ana.seq_of(ANA.feed_id) == 1


def test_nor_does_it_do_what_is_due_in_its_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    class Eager:
        """Groups in which something is due from the beginning."""

        woken = 0
        next_us: int | None = 0

        def due(self, _now_us: int) -> bool:
            return self.next_us is not None

        def wake(self, _writer: object, _now_us: int) -> None:
            self.woken, self.next_us = self.woken + 1, None

    ana, groups = doubtful(), Eager()
    monkeypatch.setattr(ana.node, "_groups", groups)
    ana.pass_time(60 * SECOND)
    assert groups.woken == 0
    ana.node.be_sure()
    ana.pass_time(SECOND)
    assert groups.woken == 1


def test_a_certain_node_is_warned_by_what_others_want() -> None:
    """An old image of a disk: nothing on it tells that it is old."""
    ana, ben = doubtful(None), with_feed()
    for packet in packets_of(FEED[:1]):
        ana.hear(packet)
    ana.node.be_sure()
    converse(ana, ben, 3)
    assert ana.node.waiting(ana.now_us) is not None
    converse(ana, ben, 140)
    assert ana.seq_of(ANA.feed_id) == 3
    ana.publish(b"four")


def test_a_liar_costs_minutes_once() -> None:
    """The lie is to hold four billion entries of ours."""
    certainty = TipCertainty(None, 0)
    ana, ben = Bench(key=ANA, certainty=certainty), with_feed()
    for packet in packets_of(FEED):
        ana.hear(packet)
    ana.node.be_sure()
    converse(ana, ben, 60)
    goset = sorted([ANA.feed_id, BEN.feed_id])
    lie = Want(offset=0, seqs=tuple(2**32 - 1 if feed == ANA.feed_id else 1 for feed in goset))
    packet = serialize_want(want_dmx(Network(), ana.node.set_state), lie)
    certainty.took(ana.now_us - 3600 * SECOND)
    converse(ana, ben, 60)
    assert ana.node.waiting(ana.now_us) is None
    ana.hear(packet)
    with pytest.raises(TipUncertainError, match="waiting for entries 4 to"):
        ana.publish(b"four")
    ana.pass_time(61 * SECOND)
    ana.publish(b"four")
    ana.hear(packet)
    ana.publish(b"five")


def test_a_liar_that_hangs_up_costs_nothing() -> None:
    ana = Bench(key=ANA, certainty=TipCertainty())
    ana.publish(b"one")
    lie = serialize_want(want_dmx(Network(), ana.node.set_state), Want(offset=0, seqs=(2**31,)))
    ana.hear(lie)
    assert ana.node.waiting(ana.now_us) is not None
    ana.perform(ana.node.face_down(FACE, "gone", ana.now_us))
    ana.publish(b"two")


def test_a_frozen_feed_is_told_as_such() -> None:
    ana = doubtful()
    for packet in packets_of(written(ANA, [b"one"])) + packets_of(written(ANA, [b"other"])):
        ana.hear(packet)
    assert ana.node.waiting(ana.now_us) is None
    with pytest.raises(FeedForkedError):
        ana.publish(b"no")


def test_a_node_without_a_key_waits_for_nothing() -> None:
    assert Bench(certainty=TipCertainty(TipUncertainty.UNMARKED)).node.own() is None


def test_a_link_that_comes_later_is_listened_to_as_well() -> None:
    ana, ben = doubtful(), with_feed()
    converse(ana, ben, 25)
    ana.up(OTHER, stream_profile())
    converse(ana, ben, 10)
    assert ana.node.waiting(ana.now_us) is not None


def test_the_other_dialect_is_not_mistaken_for_a_fork() -> None:
    ana = Bench(key=ANA, dialect=Dialect.DEPLOYED, certainty=TipCertainty(TipUncertainty.RESTORED))
    for packet in packets_of(FEED):
        ana.hear(packet)
    assert ana.seq_of(ANA.feed_id) == 0
    assert not any(record.forked_at for record in ana.node.feeds())
