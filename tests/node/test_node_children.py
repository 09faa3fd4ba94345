"""A node writes several feeds: the main one stands for its user, the others are children."""

import pytest

from tests.nodes import FACE, OTHER, Bench, key_of, packets_of, written
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, first_prev
from tinyssb_node.codec.events import EntryAppended, PacketReceived, SetChanged
from tinyssb_node.codec.packets import Novelty, serialize_novelty
from tinyssb_node.errors import FeedEndedError, NodeReadOnlyError, SetFullError
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.ids import Dialect, FeedId, PacketKind, Verdict
from tinyssb_node.node.node import NodeGroupWriter
from tinyssb_node.scheduling.link import stream_profile
from tinyssb_node.store.port import FeedRecord

ANA, CHILD, BEN = key_of("ana"), key_of("ana's child"), key_of("ben")
SECOND_US = 1_000_000


def write(bench: Bench, content: bytes, type_: int | None = None) -> EntryAppended:
    """Ana's node writes to her child."""
    first, effects = bench.node.append_to_feed(CHILD, content, bench.now_us, type_)
    bench.perform(effects)
    return first


def record_of(bench: Bench, feed: FeedId) -> FeedRecord:
    return next(record for record in bench.node.feeds() if record.feed == feed)


def test_a_child_is_ours_and_is_not_us() -> None:
    bench = Bench(key=ANA)
    bench.up(OTHER, stream_profile())
    bench.take()
    write(bench, b"c" * 300)
    assert [event.feed for event in bench.seen(SetChanged)] == [CHILD.feed_id]
    entry = bench.store.entry(CHILD.feed_id, 1)
    assert entry is not None
    for face in (FACE, OTHER):
        assert [
            send.packet for send in bench.outgoing if send.face == face and send.kind is PacketKind.ENTRY
        ] == [entry.packet]
    child, main = record_of(bench, CHILD.feed_id), record_of(bench, ANA.feed_id)
    assert (child.own, child.child, child.ours, child.wanted, child.seq) == (False, True, True, True, 1)
    assert (main.own, main.child, main.ours) == (True, False, True)


def test_a_child_is_written_in_the_dialect_that_no_phone_reads() -> None:
    bench = Bench(key=ANA, dialect=Dialect.DEPLOYED)
    write(bench, b"hidden")
    assert record_of(bench, CHILD.feed_id).dialect is Dialect.SPEC


def test_a_child_that_others_told_of_becomes_ours() -> None:
    bench = Bench(key=ANA)
    bench.follow(CHILD.feed_id)
    write(bench, b"mine")
    assert record_of(bench, CHILD.feed_id).child


def test_where_the_next_entry_goes() -> None:
    bench = Bench(key=ANA)
    place = bench.node.replica.place
    assert place(CHILD.feed_id) == (1, first_prev(CHILD.feed_id, Dialect.SPEC))
    first = write(bench, b"one")
    assert place(CHILD.feed_id) == (2, first.id)
    assert not bench.node.replica.holds(ANA.feed_id)
    assert bench.node.replica.holds(CHILD.feed_id)
    deployed = Bench(key=ANA, dialect=Dialect.DEPLOYED).node.replica
    assert deployed.place(ANA.feed_id) == (1, first_prev(ANA.feed_id, Dialect.DEPLOYED))


def test_nothing_is_written_behind_the_end_of_a_child() -> None:
    bench = Bench(key=ANA)
    write(bench, serialize_continued(END), EntryType.CONTINUED)
    assert bench.node.replica.ended(CHILD.feed_id)
    assert not bench.node.replica.ended(ANA.feed_id)
    assert not bench.node.replica.ended(BEN.feed_id)
    with pytest.raises(FeedEndedError):
        write(bench, b"one more")
    assert record_of(bench, CHILD.feed_id).seq == 1


def test_after_a_restart_a_child_is_a_child_and_has_ended() -> None:
    bench = Bench(key=ANA)
    write(bench, serialize_continued(END), EntryType.CONTINUED)
    again = Bench(key=ANA, store=bench.store)
    assert record_of(again, CHILD.feed_id).child
    with pytest.raises(FeedEndedError):
        write(again, b"one more")


def test_there_must_be_room_for_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", limits.SET_MAX)
    bench = Bench(key=ANA)
    bench.follow(*(FeedId(bytes((number, 1)) * 16) for number in range(1, limits.SET_MAX)))
    with pytest.raises(SetFullError):
        write(bench, b"no room")
    with pytest.raises(NodeReadOnlyError):
        write(Bench(key=ANA, read_only=True), b"no disk")


def test_what_we_write_ourselves_is_not_acknowledged_wherever_it_comes_from() -> None:
    before = Bench(key=ANA)
    write(before, b"written before the disk was lost")
    packet = before.store.entry(CHILD.feed_id, 1)
    assert packet is not None
    bench = Bench(key=ANA, acknowledge_permille=100)
    bench.perform(bench.node.replica.own_feed(CHILD.feed_id, Dialect.SPEC, child=True))
    bench.hear(packet.packet)
    bench.pass_time(7_200 * SECOND_US)
    assert record_of(bench, ANA.feed_id).seq == 0
    bench.follow(BEN.feed_id)
    bench.hear(written(BEN, [b"hello"])[0].packet)
    bench.pass_time(7_200 * SECOND_US)
    assert record_of(bench, ANA.feed_id).seq == 1


def test_an_entry_behind_the_end_is_invalid_and_kept_from_nobody() -> None:
    ana = Bench(key=ANA)
    write(ana, serialize_continued(END), EntryType.CONTINUED)
    end = ana.store.entry(CHILD.feed_id, 1)
    assert end is not None
    bench = Bench()
    bench.follow(CHILD.feed_id)
    assert bench.verdict_of(end.packet).verdict is Verdict.NEW
    behind = behind_end(CHILD, bench)
    for _ in range(2):
        found = bench.verdict_of(behind)
        assert (found.packet, found.verdict, found.reason) == (PacketKind.ENTRY, Verdict.INVALID, "BehindEnd")
        assert (found.feed, found.seq) == (CHILD.feed_id, 2)
    assert record_of(bench, CHILD.feed_id).seq == 1
    assert record_of(bench, CHILD.feed_id).forked_at is None


def behind_end(key: SigningKey, bench: Bench) -> bytes:
    """Sign an entry behind the END of a feed, as only a faulty author does."""
    record = record_of(bench, key.feed_id)
    tip = Tip(record.feed, record.dialect, record.seq, record.tip)
    return compose(Network(), key, tip, b"one more").packet


def test_following_takes_in_what_came_before() -> None:
    feed = packets_of(written(BEN, [b"one", b"t" * 300]))
    bench = Bench()
    for packet in feed:
        assert bench.verdict_of(packet).verdict is Verdict.NOT_OURS
    bench.up(OTHER, stream_profile())
    bench.follow(BEN.feed_id)
    assert bench.seq_of(BEN.feed_id) == 2
    assert bench.node.side_chains_open() == 0


def test_being_told_of_a_feed_takes_in_what_came_before() -> None:
    bench = Bench()
    bench.hear(written(BEN, [b"one"])[0].packet)
    bench.hear(serialize_novelty(Network().goset_dmx, Novelty(BEN.feed_id)))
    assert bench.seq_of(BEN.feed_id) == 1
    assert [event.verdict for event in bench.seen(PacketReceived)] == [Verdict.NOT_OURS, Verdict.NEW]


def test_groups_do_not_bring_back_what_has_left() -> None:
    """They want every feed of a member, and of one that has ended all is here."""
    bench = Bench(key=ANA)
    write(bench, serialize_continued(END), EntryType.CONTINUED)
    replica = bench.node.replica
    replica.retire(CHILD.feed_id)
    writer = NodeGroupWriter(bench.node, replica, ANA, (), bench.now_us)
    assert writer.want(CHILD.feed_id, wanted=True)
    assert (writer.effects, list(replica.retired)) == ([], [CHILD.feed_id])
    assert writer.want(BEN.feed_id, wanted=True)
    assert BEN.feed_id in replica.followed_beyond
