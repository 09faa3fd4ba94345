import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load
from tests.feeds.builders import (
    KEY,
    OPEN,
    OTHER_KEY,
    Written,
    empty_tip,
    other_dialect,
    sign_anything,
)
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import PacketSizeError, SeqRangeError
from tinyssb_node.feeds.chain import (
    BehindEnd,
    Duplicate,
    Extended,
    Forked,
    Gap,
    HeldEntry,
    Tip,
    WrongDmx,
    WrongSignature,
    accept,
    expectations,
    extend,
)
from tinyssb_node.feeds.fork import ForkProof, verify_proof
from tinyssb_node.feeds.layout import LayoutKind
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.ids import Dialect, FeedId, MessageId

FEED = KEY.feed_id
VECTORS = Path(__file__).parent.parent / "vectors"


def extended(outcome: object) -> Extended:
    assert isinstance(outcome, Extended)
    return outcome


# --- vectors -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", list(Dialect))
def test_feeds_of_the_vectors_are_accepted_by_one_who_knows_nothing(dialect: Dialect) -> None:
    vectors = load(f"feed_{dialect}.json")
    tip = Tip(FeedId.from_hex(vectors["feed_id"]), None, 0, None)
    for message in vectors["messages"]:
        packet = bytes.fromhex(message["packet"])
        places = [place for place in expectations(OPEN, tip) if place.dmx == packet[:7]]
        outcome = extended(accept(places[0], packet))
        assert outcome == extend(OPEN, tip, message["seq"], packet)
        assert (outcome.tip.id, outcome.tip.seq) == (MessageId.from_hex(message["msg_id"]), message["seq"])
        assert (outcome.tip.dialect, outcome.type) == (dialect, message["type"])
        assert outcome.prev.hex() == message["prev"]
        assert outcome.entry.dmx.hex() == message["dmx"]
        chunks = list(map(bytes.fromhex, message["chunks"]))
        assert reassemble(outcome.layout, chunks).hex() == message["content"]
        tip = outcome.tip


# --- what is expected ----------------------------------------------------------------------------------------------


def test_of_an_unknown_feed_both_first_entries_are_expected() -> None:
    both = expectations(OPEN, empty_tip(dialect=None))
    assert [place.dialect for place in both] == [Dialect.SPEC, Dialect.DEPLOYED]
    assert [place.prev for place in both] == [bytes(20), FEED[:20]]
    assert {place.seq for place in both} == {1}
    assert both[0].dmx != both[1].dmx


@pytest.mark.parametrize("dialect", list(Dialect))
def test_of_an_empty_feed_of_known_dialect_one_entry_is_expected(dialect: Dialect) -> None:
    (place,) = expectations(OPEN, empty_tip(dialect=dialect))
    assert (place.dialect, place.seq, place.feed) == (dialect, 1, FEED)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_first_entry_fixes_the_dialect(dialect: Dialect) -> None:
    packet = Written(dialect).write(b"first").entries[0].packet
    tip = extended(extend(OPEN, empty_tip(dialect=None), 1, packet)).tip
    assert tip.dialect is dialect
    (place,) = expectations(OPEN, tip)
    assert (place.dialect, place.seq, place.prev) == (dialect, 2, tip.id)


def test_behind_the_last_sequence_number_nothing_is_expected() -> None:
    last = Tip(FEED, Dialect.SPEC, limits.SEQ_MAX, MessageId(bytes(20)))
    assert expectations(OPEN, last) == ()
    (place,) = expectations(OPEN, replace(last, seq=limits.SEQ_MAX - 1))
    assert extended(accept(place, sign_anything(place))).tip.seq == limits.SEQ_MAX


def test_vectors_of_a_feed_that_ended() -> None:
    child = json.loads((VECTORS / "children" / "children_v1.json").read_text())
    tip = Tip(FeedId.from_hex(child["child"]), None, 0, None)
    for name in ("ischild", "end"):
        assert not tip.ended
        outcome = extended(extend(OPEN, tip, child[name]["seq"], bytes.fromhex(child[name]["packet"])))
        assert (outcome.tip.id, outcome.type) == (MessageId.from_hex(child[name]["id"]), child[name]["type"])
        tip = outcome.tip
    assert tip.ended
    assert extend(OPEN, tip, 3, bytes.fromhex(child["behind_end"]["packet"])) == BehindEnd(tip.feed, 3)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_nothing_follows_the_end(dialect: Dialect) -> None:
    feed = Written(dialect).write(b"one")
    end = sign_anything(feed.place(2), type_=5)
    tip = extended(extend(OPEN, feed.tip, 2, end)).tip
    first_id = feed.tip.id
    assert first_id is not None
    assert tip.ended
    (place,) = expectations(OPEN, tip)
    assert accept(place, sign_anything(place)) == BehindEnd(FEED, 3)
    assert accept(place, sign_anything(place, key=OTHER_KEY)) == WrongSignature(FEED, 3)
    assert extend(OPEN, tip, 2, end, HeldEntry(first_id, end)) == Duplicate(FEED, 2)


def test_a_feed_that_goes_on_elsewhere_has_not_ended() -> None:
    place = Written().place(1)
    tip = extended(accept(place, sign_anything(place, b"x" * 32, type_=5))).tip
    assert not tip.ended
    assert not expectations(OPEN, tip)[0].behind_end


def test_another_network_expects_something_else() -> None:
    packet = Written().write(b"first").entries[0].packet
    closed = Network(b"valley")
    assert isinstance(extend(closed, empty_tip(dialect=None), 1, packet), WrongDmx)


# --- accept --------------------------------------------------------------------------------------------------------


def test_an_entry_for_another_place_begins_otherwise() -> None:
    feed = Written().write(b"one", b"two")
    assert accept(feed.place(1), feed.entries[1].packet) == WrongDmx(FEED, 1, feed.place(2).dmx)


def test_an_entry_that_somebody_else_signed() -> None:
    place = Written().place(1)
    assert accept(place, sign_anything(place, key=OTHER_KEY)) == WrongSignature(FEED, 1)


def test_a_signature_counts_for_its_place_only() -> None:
    """The header is signed as well as hashed: what was signed for entry 1 is not good for entry 2."""
    feed = Written().write(b"one")
    first, second = feed.entries[0].packet, feed.place(2)
    assert accept(second, second.dmx + first[7:]) == WrongSignature(FEED, 2)


@pytest.mark.parametrize("size", [0, 7, 119, 121])
def test_an_entry_has_120_bytes(size: int) -> None:
    with pytest.raises(PacketSizeError):
        accept(Written().place(1), bytes(size))
    with pytest.raises(PacketSizeError):
        extend(OPEN, empty_tip(), 1, bytes(size))


@given(st.integers(0, 119), st.integers(1, 255), st.sampled_from(list(Dialect)), st.booleans())
def test_a_changed_byte_never_extends(at: int, change: int, dialect: Dialect, known: bool) -> None:
    feed = Written(dialect).write(b"one", b"two")
    damaged = bytearray(feed.entries[1 if known else 0].packet)
    damaged[at] ^= change
    tip, seq = (feed.tip_at(1), 2) if known else (empty_tip(dialect=None), 1)
    assert isinstance(extend(OPEN, tip, seq, bytes(damaged)), WrongDmx | WrongSignature)


@given(st.binary(min_size=113, max_size=113), st.integers(0, 1))
def test_junk_behind_the_right_dmx_never_extends(junk: bytes, dialect: int) -> None:
    place = expectations(OPEN, empty_tip(dialect=None))[dialect]
    assert accept(place, place.dmx + junk) == WrongSignature(FEED, 1)


@pytest.mark.parametrize("type_", [2, 3, 7, 255])
def test_an_unknown_type_extends_and_stays_opaque(type_: int) -> None:
    place = Written().place(1)
    outcome = extended(accept(place, sign_anything(place, b"from the future", type_)))
    assert (outcome.type, outcome.layout.form, outcome.layout.chunks) == (type_, LayoutKind.OPAQUE, 0)
    assert outcome.layout.head == b"from the future".ljust(48, b"\x00")


def test_a_broken_length_extends_and_stays_opaque() -> None:
    place = Written().place(1)
    outcome = extended(accept(place, sign_anything(place, b"\xff" * 48, 1)))
    assert outcome.layout.form is LayoutKind.OPAQUE


# --- extend --------------------------------------------------------------------------------------------------------


def test_what_we_hold_is_a_duplicate() -> None:
    feed = Written().write(b"one", b"two", b"three")
    for seq in (1, 2, 3):
        packet = feed.entries[seq - 1].packet
        assert extend(OPEN, feed.tip, seq, packet, feed.held(seq)) == Duplicate(FEED, seq)


def test_what_comes_too_early_is_a_gap() -> None:
    feed = Written().write(b"one", b"two", b"three")
    assert extend(OPEN, feed.tip_at(1), 3, feed.entries[2].packet) == Gap(FEED, 3, 2)
    assert extend(OPEN, empty_tip(dialect=None), limits.SEQ_MAX, bytes(120)) == Gap(FEED, limits.SEQ_MAX, 1)


@pytest.mark.parametrize("seq", [-1, 0, limits.SEQ_MAX + 1])
def test_a_sequence_number_that_no_entry_has(seq: int) -> None:
    with pytest.raises(SeqRangeError) as caught:
        extend(OPEN, empty_tip(), seq, bytes(120))
    assert caught.value.seq == seq


def test_a_sequence_number_behind_the_last() -> None:
    last = Tip(FEED, Dialect.SPEC, limits.SEQ_MAX, MessageId(bytes(20)))
    with pytest.raises(SeqRangeError):
        extend(OPEN, last, limits.SEQ_MAX + 1, bytes(120))


def test_an_entry_that_is_held_has_to_be_given() -> None:
    feed = Written().write(b"one")
    with pytest.raises(ValueError, match="entry 1 of"):
        extend(OPEN, feed.tip, 1, feed.entries[0].packet)


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("seq", [1, 2, 3])
def test_another_entry_for_a_taken_place_is_a_fork(seq: int, dialect: Dialect) -> None:
    feed = Written(dialect).write(b"one", b"two", b"three")
    other = sign_anything(feed.place(seq), b"another story")
    outcome = extend(OPEN, feed.tip, seq, other, feed.held(seq))
    held = feed.held(seq)
    assert outcome == Forked(ForkProof(FEED, seq, dialect, held.prev, held.packet, other))
    assert isinstance(outcome, Forked)
    assert verify_proof(OPEN, outcome.proof)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_a_first_entry_in_the_other_dialect_is_a_fork(dialect: Dialect) -> None:
    feed = Written(dialect).write(b"one", b"two")
    other = Written(other_dialect(dialect)).write(b"one").entries[0].packet
    outcome = extend(OPEN, feed.tip, 1, other, feed.held(1))
    assert isinstance(outcome, Forked)
    assert outcome.proof.dialect is dialect
    assert verify_proof(OPEN, outcome.proof)


def test_the_other_branch_further_on_does_not_begin_like_ours() -> None:
    """It continues an entry that we do not hold: the fork shows where the branches part."""
    ours = Written().write(b"one", b"two", b"three")
    theirs = Written().write(b"one", b"zwei", b"drei")
    outcome = extend(OPEN, ours.tip, 3, theirs.entries[2].packet, ours.held(3))
    assert outcome == WrongDmx(FEED, 3, theirs.place(3).dmx)
    assert isinstance(extend(OPEN, ours.tip, 2, theirs.entries[1].packet, ours.held(2)), Forked)


@given(st.integers(7, 119), st.integers(1, 255), st.sampled_from([1, 2]))
def test_damage_to_what_we_hold_is_no_fork(at: int, change: int, seq: int) -> None:
    feed = Written().write(b"one", b"two")
    damaged = bytearray(feed.entries[seq - 1].packet)
    damaged[at] ^= change
    assert extend(OPEN, feed.tip, seq, bytes(damaged), feed.held(seq)) == WrongSignature(FEED, seq)


def test_any_place_of_a_feed_is_reached_by_one_rule() -> None:
    """``extend`` agrees with ``accept`` on the next entry."""
    feed = Written(Dialect.DEPLOYED).write(b"one", b"two" * 100, b"three")
    for seq in (1, 2, 3):
        packet, place = feed.entries[seq - 1].packet, feed.place(seq)
        assert extend(OPEN, feed.tip_at(seq - 1), seq, packet) == accept(place, packet)
