"""Holders of our feed, by packets heard and by signed acknowledgements."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import FACE, OTHER, Bench, key_of, packets_of, radio_profile, written
from tinyssb_node.codec import bipf
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.acks import ACK_TYPE, ack_of, serialize_acks
from tinyssb_node.content.references import message_text
from tinyssb_node.feeds.author import compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.layout import FIXED_TYPE
from tinyssb_node.ids import Dialect, FaceName
from tinyssb_node.replication.coded_entries import code
from tinyssb_node.scheduling.link import stream_profile
from tinyssb_node.store.memory import MemoryStore

ANA, BEN, CYD = (key_of(name) for name in ("ana", "ben", "cyd"))
OWN = ANA.feed_id


@pytest.fixture
def bench():
    """Ana's node with four entries, on a radio and on a wire; it follows Ben."""
    made = Bench(key=ANA, profile=radio_profile())
    made.up(OTHER, stream_profile())
    for number in range(4):
        made.publish(bytes((number,)))
    made.follow(BEN.feed_id)
    return made


def want(bench: Bench, seq: int, speaker: bytes = b"", offset: int = 0) -> bytes:
    """A WANT whose number for our feed is *seq*."""
    feeds = [record.feed for record in bench.node.feeds()]
    place = feeds.index(OWN)
    seqs = [0] * len(feeds)
    seqs[(place - offset) % len(feeds)] = seq
    said = Want(offset=offset, seqs=tuple(seqs), speaker=speaker)
    return serialize_want(want_dmx(Network(), bench.node.set_state), said)


def known(bench: Bench):
    """(who, up to which entry, since when), in the order in which it was learnt."""
    return [
        (each.holder or (each.face, each.speaker), each.seq, each.known_us)
        for each in bench.store.receipts()
        if each.feed == OWN
    ]


def ids_of(bench: Bench):
    return {entry.seq: entry.id for entry in bench.store.entries(OWN, 1, 100)}


def signed(key: SigningKey, *contents: tuple[int, bytes]) -> list[bytes]:
    """Entries of the given types and contents, as their author would publish them."""
    tip, packets = Tip(key.feed_id, Dialect.SPEC, 0, None), []
    for type_, content in contents:
        composed = compose_fixed(Network(), key, tip, content, type_=type_)
        packets.append(composed.packet)
        tip = composed.extended.tip
    return packets


def acks(bench: Bench, *seqs: int) -> bytes:
    ids = ids_of(bench)
    return serialize_acks([ack_of(seq, ids[seq]) for seq in seqs])[0]


# Heard


def test_a_want_tells_what_its_sender_holds(bench):
    bench.now_us = 5
    bench.hear(want(bench, 3, b"ab"))
    bench.hear(want(bench, 5, offset=1), OTHER)
    assert known(bench) == [((FACE, b"ab"), 2, 5), ((OTHER, b""), 4, 5)]


def test_only_what_is_more_than_before_is_kept(bench):
    for now_us, seq in ((10, 3), (20, 2), (30, 3), (40, 5)):
        bench.now_us = now_us
        bench.hear(want(bench, seq, b"ab"))
    assert known(bench) == [((FACE, b"ab"), 2, 10), ((FACE, b"ab"), 4, 40)]


@pytest.mark.parametrize("seq", [0, 1])
def test_who_asks_for_all_or_nothing_holds_nothing(bench, seq):
    bench.hear(want(bench, seq, b"ab"))
    assert known(bench) == []


def test_who_claims_more_than_there_is_is_not_believed(bench):
    bench.hear(want(bench, 6, b"ab"))
    assert known(bench) == []


def test_a_want_that_ends_before_our_feed_says_nothing_of_it(bench):
    feeds = [record.feed for record in bench.node.feeds()]
    said = Want(offset=(feeds.index(OWN) + 1) % len(feeds), seqs=(3,))
    bench.hear(serialize_want(want_dmx(Network(), bench.node.set_state), said))
    assert known(bench) == []


def test_names_mean_nothing_on_a_wire(bench):
    for name in (b"ab", b"cd"):
        bench.hear(want(bench, 3, name), OTHER)
    assert known(bench) == [((OTHER, b""), 2, 0)]


def test_a_crowd_of_made_up_names_pushes_out_the_oldest_heard_and_nobody_who_signed(bench):
    bench.hear(signed(BEN, (ACK_TYPE, acks(bench, 2)))[0])
    for number in range(content_limits.RECEIPTS_HEARD_MAX + 10):
        bench.hear(want(bench, 3, (number + 1).to_bytes(2, "big")))
    rows = known(bench)
    assert len(rows) == content_limits.RECEIPTS_HEARD_MAX + 1
    assert rows[0][:2] == (BEN.feed_id, 2)
    assert rows[1][0] == (FACE, (11).to_bytes(2, "big"))
    # Who was forgotten is noted anew.
    bench.hear(want(bench, 3, b"\x00\x01"))
    assert known(bench)[-1][0] == (FACE, b"\x00\x01")


# Signed


def test_an_acknowledgement_proves_that_its_author_holds_our_entries(bench):
    bench.now_us = 7
    bench.hear(signed(BEN, (ACK_TYPE, acks(bench, 3)))[0])
    assert known(bench) == [(BEN.feed_id, 3, 7)]


def test_of_several_items_the_last_of_ours_counts(bench):
    ids = ids_of(bench)
    content = serialize_acks([ack_of(2, ids[2]), ack_of(3, ids[3]), ack_of(4, ids[1])])[0]
    bench.hear(signed(BEN, (ACK_TYPE, content))[0])
    assert known(bench) == [(BEN.feed_id, 3, 0)]


def test_an_acknowledgement_of_another_entry_proves_nothing(bench):
    ids = ids_of(bench)
    said = [ack_of(seq, ids[1 + seq % 4]) for seq in (1, 2, 3, 4, 99)]
    bench.hear(signed(BEN, (ACK_TYPE, serialize_acks(said)[0]))[0])
    assert known(bench) == []


@pytest.mark.parametrize("content", [b"", BEN.feed_id, b"\x01", b"\x01\x07"])
def test_what_is_no_acknowledgement_is_kept_and_proves_nothing(bench, content):
    (packet,) = signed(BEN, (ACK_TYPE, content))
    bench.hear(packet)
    assert bench.seq_of(BEN.feed_id) == 1
    assert known(bench) == []


def test_the_same_bytes_under_another_type_are_no_acknowledgement(bench):
    bench.hear(signed(BEN, (FIXED_TYPE, acks(bench, 3)))[0])
    assert known(bench) == []


def test_acknowledgements_that_came_too_early_count_when_their_turn_has_come(bench):
    first, second = signed(BEN, (FIXED_TYPE, b"x"), (ACK_TYPE, acks(bench, 4)))
    bench.hear(second)
    assert known(bench) == []
    bench.hear(first)
    assert known(bench) == [(BEN.feed_id, 4, 0)]


def test_acknowledgements_in_a_file_count(bench):
    (packet,) = signed(BEN, (ACK_TYPE, acks(bench, 4)))
    bench.perform(bench.node.import_packet(packet, 0)[1])
    assert known(bench) == [(BEN.feed_id, 4, 0)]


@pytest.mark.parametrize("dialect", Dialect)
@pytest.mark.parametrize("word", ["DLV", "ACK"])
def test_messages_of_the_phone_app_prove_it_too(bench, word, dialect):
    for content in (
        bipf.encode([word, ids_of(bench)[2]]),
        bipf.encode([word, message_text(ids_of(bench)[2])]),
    ):
        made = Bench(key=ANA, store=_copy_of_own(4))
        made.follow(BEN.feed_id)
        for packet in packets_of(written(BEN, [content], dialect)):
            made.hear(packet)
        assert [row[:2] for row in known(made)] == [(BEN.feed_id, 2)]


def test_what_came_in_coded_form_proves_it_too(bench):
    packets = packets_of(written(BEN, [bipf.encode(["DLV", ids_of(bench)[2]])]))
    bench.hear(code(Network(), BEN.feed_id, 0, 77, packets))
    assert known(bench) == [(BEN.feed_id, 2, 0)]


def _copy_of_own(entries: int) -> MemoryStore:
    made = Bench(key=ANA)
    for number in range(entries):
        made.publish(bytes((number,)))
    return made.store


def test_a_message_that_came_too_early_proves_it_when_its_turn_has_come(bench):
    first, second = written(BEN, [b"x" * 30, bipf.encode(["DLV", ids_of(bench)[2]])])
    bench.hear(second.packet)
    bench.hear(first.packet)
    assert known(bench) == [(BEN.feed_id, 2, 0)]


def test_a_message_that_confirms_anothers_proves_nothing(bench):
    other = written(CYD, [b"x"])[0].extended.tip.id
    texts = [bipf.encode(["DLV", other]), bipf.encode("DLV and so on and on and on.."), b"\x00" * 30]
    for packet in packets_of(written(BEN, texts)):
        bench.hear(packet)
    assert bench.seq_of(BEN.feed_id) == 3
    assert known(bench) == []


def test_of_those_who_signed_the_latest_is_never_dropped(monkeypatch):
    monkeypatch.setattr(content_limits, "RECEIPTS_SIGNED_MAX", 3)
    made = Bench(key=ANA)
    made.follow(BEN.feed_id, CYD.feed_id)
    for _ in range(6):
        made.publish(b"x")
    made.hear(signed(CYD, (ACK_TYPE, acks(made, 1)))[0])
    for packet in signed(BEN, *((ACK_TYPE, acks(made, seq)) for seq in range(1, 7))):
        made.hear(packet)
    assert [row[:2] for row in known(made)] == [(CYD.feed_id, 1), (BEN.feed_id, 5), (BEN.feed_id, 6)]


# Starting anew


def test_after_a_restart_only_more_than_before_is_kept(bench):
    bench.hear(want(bench, 3, b"ab"))
    bench.hear(signed(BEN, (ACK_TYPE, acks(bench, 3)))[0])
    again = Bench(key=ANA, store=bench.store, profile=radio_profile())
    again.now_us = 50
    again.hear(want(again, 3, b"ab"))
    assert len(known(again)) == 2
    again.hear(want(again, 4, b"ab"))
    assert known(again)[-1] == ((FACE, b"ab"), 3, 50)
    numbers = [each.number for each in again.store.receipts()]
    assert numbers == sorted(set(numbers))


def test_a_node_that_cannot_write_keeps_nothing(bench):
    packet = want(bench, 3, b"ab")
    full = Bench(key=ANA, store=bench.store, profile=radio_profile(), read_only=True)
    full.hear(packet)
    assert known(full) == []


def test_a_node_without_a_feed_of_its_own_keeps_nothing():
    made = Bench()
    made.follow(OWN, BEN.feed_id)
    made.hear(want(made, 3))
    made.hear(signed(BEN, (ACK_TYPE, serialize_acks([ack_of(1, _id())])[0]))[0])
    assert made.store.receipts() == []


def _id():
    identity = written(ANA, [b"x"])[0].extended.tip.id
    assert identity is not None
    return identity


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([FACE, OTHER]), st.sampled_from([b"ab", b"cd"]), st.integers(0, 8)),
        max_size=12,
    )
)
def test_whatever_is_said_what_is_known_only_grows_and_is_never_more_than_there_is(said):
    made = Bench(key=ANA, profile=radio_profile())
    made.up(OTHER, stream_profile())
    for number in range(4):
        made.publish(bytes((number,)))
    expected: dict[tuple[FaceName, bytes], int] = {}
    for face, name, seq in said:
        made.hear(want(made, seq, name), face)
        who = (face, name if face == FACE else b"")
        if expected.get(who, 0) < seq - 1 <= 4:
            expected[who] = seq - 1
    latest = {each[0]: each[1] for each in known(made)}
    assert latest == expected
