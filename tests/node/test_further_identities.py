"""A node that writes for several identities."""

import pytest

from tests.nodes import FACE, Bench, feed_of, key_of, packets_of, written
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.errors import FeedForkedError, SetFullError
from tinyssb_node.gossip.certainty import TipCertainty, TipUncertainError, TipUncertainty
from tinyssb_node.ids import Dialect
from tinyssb_node.node.further_identities import FurtherIdentity
from tinyssb_node.store.memory import MemoryStore

ANA, CLUB, BOT, BEN = key_of("ana"), key_of("club"), key_of("bot"), key_of("ben")
SECOND = 1_000_000


def author(
    key: SigningKey, doubt: TipUncertainty | None = None, known: int = 0, **options: Dialect
) -> FurtherIdentity:
    dialect = options.get("dialect", Dialect.SPEC)
    return FurtherIdentity(key=key, dialect=dialect, certainty=TipCertainty(doubt, known))


def node_of(
    *authors: FurtherIdentity, doubt: TipUncertainty | None = None, store: MemoryStore | None = None
) -> Bench:
    """Ana's node, who writes for *authors*, too."""
    bench = Bench(key=ANA, certainty=TipCertainty(doubt), store=store, authors=authors)
    bench.take()
    return bench


def say(bench: Bench, key: SigningKey, content: bytes) -> int:
    """Publish as somebody; returns the number of the entry."""
    entry, effects = bench.node.append_to_feed(key, content, bench.now_us)
    bench.perform(effects)
    return entry.seq


def converse(one: Bench, other: Bench, seconds: int) -> None:
    """Let two talk over a wire for so long."""
    for _ in range(seconds * 10):
        for here, there in ((one, other), (other, one)):
            here.pass_time(SECOND // 10)
            for packet in here.take(face=FACE):
                there.hear(packet)


def holder_of(*keys: SigningKey) -> Bench:
    """Somebody who has three entries of each of *keys*."""
    bench = Bench(key=BEN)
    for key in keys:
        bench.follow(key.feed_id)
        for packet in packets_of(written(key, [b"one", b"two", b"three"])):
            bench.hear(packet)
    bench.take()
    return bench


def test_each_writes_its_own_feed_and_others_take_all() -> None:
    ana, ben = node_of(author(CLUB), author(BOT, dialect=Dialect.DEPLOYED)), Bench(key=BEN)
    for key in (CLUB, BOT, CLUB):
        say(ana, key, b"x" * 200)
    ana.publish(b"main")
    converse(ana, ben, 20)
    assert [ben.seq_of(key.feed_id) for key in (ANA, CLUB, BOT)] == [1, 2, 1]
    dialects = {record.feed: record.dialect for record in ben.node.feeds()}
    assert (dialects[CLUB.feed_id], dialects[BOT.feed_id]) == (Dialect.SPEC, Dialect.DEPLOYED)


def test_they_are_ours_and_none_is_the_main_one() -> None:
    ana = node_of(author(CLUB))
    records = {record.feed: record for record in ana.node.feeds()}
    assert (records[CLUB.feed_id].own, records[CLUB.feed_id].ours) == (False, True)
    assert records[ANA.feed_id].own
    assert ana.node.own(CLUB.feed_id) == records[CLUB.feed_id]


def test_the_feed_of_somebody_else_becomes_ours() -> None:
    """Its key was restored where its entries already are."""
    store = MemoryStore()
    before = Bench(key=ANA, store=store)
    before.follow(CLUB.feed_id)
    before.node.unfollow(CLUB.feed_id, before.now_us)
    for packet in packets_of(written(CLUB, [b"one"])):
        before.hear(packet)
    ana = node_of(author(CLUB), store=store)
    (record,) = [record for record in ana.node.feeds() if record.feed == CLUB.feed_id]
    assert record.ours
    assert record.wanted


@pytest.mark.parametrize("doubtful", [ANA, CLUB])
def test_neither_is_held_up_by_the_other(doubtful: SigningKey) -> None:
    ana = node_of(
        author(CLUB, TipUncertainty.RESTORED if doubtful is CLUB else None),
        doubt=TipUncertainty.COPIED if doubtful is ANA else None,
    )
    other = CLUB if doubtful is ANA else ANA
    assert say(ana, other, b"goes on") == 1
    with pytest.raises(TipUncertainError):
        say(ana, doubtful, b"waits")
    with pytest.raises(TipUncertainError) as refused:
        say(ana, key_of("a group's") if doubtful is ANA else CLUB, b"waits")
    assert refused.value.waiting.doubt is (
        TipUncertainty.COPIED if doubtful is ANA else TipUncertainty.RESTORED
    )
    assert ana.node.waiting(ana.now_us, other.feed_id) is None
    ana.node.be_sure(doubtful.feed_id)
    assert say(ana, doubtful, b"sure") == 1


def test_after_a_backup_each_comes_back_by_itself_and_nothing_forks() -> None:
    """Of the one somebody has three entries, the other nobody ever heard of; ours nobody doubts."""
    ana = node_of(author(CLUB, TipUncertainty.RESTORED), author(BOT, TipUncertainty.RESTORED))
    ben = holder_of(CLUB)
    converse(ana, ben, 20)
    with pytest.raises(TipUncertainError, match="listening"):
        say(ana, CLUB, b"too early")
    converse(ana, ben, 120)
    assert say(ana, CLUB, b"four") == 4
    with pytest.raises(TipUncertainError, match="waiting to hear somebody"):
        say(ana, BOT, b"never heard")
    converse(ana, ben, 5)
    assert ben.seq_of(CLUB.feed_id) == 4
    assert not any(record.forked_at for record in [*ana.node.feeds(), *ben.node.feeds()])


def test_a_twin_of_one_stops_that_one() -> None:
    """Somebody else writes with its key now."""
    ana = node_of(author(CLUB), author(BOT))
    for packet in packets_of(written(CLUB, [b"elsewhere"])):
        ana.hear(packet)
    waiting = ana.node.waiting(ana.now_us, CLUB.feed_id)
    assert waiting is not None
    assert waiting.doubt is TipUncertainty.TWIN
    assert say(ana, BOT, b"goes on") == 1
    ana.publish(b"so does the main one")


def test_a_neighbour_who_has_more_of_one_warns_that_one() -> None:
    """An old image of the disk, on which nothing tells that it is old."""
    ana, ben = node_of(author(CLUB), author(BOT)), holder_of(CLUB)
    converse(ana, ben, 3)
    assert ana.node.waiting(ana.now_us, CLUB.feed_id) is not None
    assert ana.node.waiting(ana.now_us, BOT.feed_id) is None
    assert ana.node.waiting(ana.now_us) is None


def test_of_each_what_others_want_is_heard() -> None:
    """Before any entry comes: of one somebody has as much as we do, of another one more."""
    ana = node_of(author(CLUB), author(BOT))
    for key in (CLUB, BOT):
        say(ana, key, b"one")
    again = node_of(author(CLUB, TipUncertainty.MOVED, 1), author(BOT, None, 1), store=ana.store)
    goset = sorted([ANA.feed_id, CLUB.feed_id, BOT.feed_id])
    wanted = {ANA.feed_id: 1, CLUB.feed_id: 2, BOT.feed_id: 3}
    said = Want(offset=0, seqs=tuple(wanted[feed] for feed in goset))
    again.hear(serialize_want(want_dmx(Network(), again.node.set_state), said))
    of_club, of_bot = (again.node.waiting(again.now_us, key.feed_id) for key in (CLUB, BOT))
    assert of_club is not None
    assert of_bot is not None
    assert (of_club.heard, of_club.expected) == (True, 1)
    assert (of_bot.doubt, of_bot.expected) == (TipUncertainty.CLAIMED, 2)
    assert again.node.waiting(again.now_us) is None


def test_a_forked_one_is_told_as_such_and_stops_nobody() -> None:
    ana = node_of(author(CLUB, TipUncertainty.RESTORED), author(BOT))
    for packet in packets_of(written(CLUB, [b"one"])) + packets_of(written(CLUB, [b"other"])):
        ana.hear(packet)
    assert ana.node.waiting(ana.now_us, CLUB.feed_id) is None
    with pytest.raises(FeedForkedError):
        say(ana, CLUB, b"no")
    assert say(ana, BOT, b"yes") == 1


def test_a_full_set_keeps_out_the_further_one_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", limits.SET_MAX)
    store = MemoryStore()
    full = Bench(key=ANA, store=store)
    for number in range(limits.SET_MAX - 1):
        full.follow(feed_of(number))
    ana = node_of(author(CLUB), store=store)
    ana.publish(b"main")
    assert ana.node.own(CLUB.feed_id) is None
    with pytest.raises(SetFullError):
        say(ana, CLUB, b"no room")


def test_while_the_disk_is_full_nothing_is_made() -> None:
    ana = Bench(key=ANA, read_only=True, authors=[author(CLUB)])
    assert ana.node.feeds() == []
    assert ana.node.waiting(ana.now_us, CLUB.feed_id) is None


def test_it_is_not_acknowledged_and_acknowledges_nobody() -> None:
    ana = Bench(key=ANA, authors=[author(CLUB)], acknowledge_permille=100)
    say(ana, CLUB, b"ours")
    ana.pass_time(3600 * SECOND)
    assert ana.seq_of(ANA.feed_id) == 0
    ana.follow(BEN.feed_id)
    for packet in packets_of(written(BEN, [b"news"])):
        ana.hear(packet)
    ana.pass_time(3600 * SECOND)
    assert (ana.seq_of(ANA.feed_id), ana.seq_of(CLUB.feed_id)) == (1, 1)


def test_a_face_that_goes_is_not_listened_to() -> None:
    ana = node_of(author(CLUB, TipUncertainty.RESTORED))
    ana.perform(ana.node.face_down(FACE, "unplugged", ana.now_us))
    waiting = ana.node.waiting(ana.now_us, CLUB.feed_id)
    assert waiting is not None
    assert waiting.faces == 0


def test_the_key_is_not_shown() -> None:
    assert "key" not in repr(author(CLUB))
