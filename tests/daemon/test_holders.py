"""Holders of each of our entries, counted from the contents of a store."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import key_of
from tinyssb_node.codec import bipf
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content import chat, limits
from tinyssb_node.content.acks import ACK_TYPE, ack_of, serialize_acks
from tinyssb_node.control.rows import HolderRow
from tinyssb_node.daemon.holders import Holders, first_of_newest, messages
from tinyssb_node.feeds.author import compose, compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.children import (
    END,
    ChildOf,
    EntryType,
    serialize_child_of,
    serialize_continued,
)
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.envelope import SlotKey, SlotScheme, box
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import FeedRecord, Receipt

OWN, ANA, BEN, CYD, DOT = (key_of(name) for name in ("own", "ana", "ben", "cyd", "dot"))
AIR, LAN = FaceName("lora"), FaceName("udp")
DAY_US = 86_400_000_000
NOW_US = 100 * DAY_US
ACK = serialize_acks([ack_of(1, MessageId(bytes(20)))])[0]
CHILD = serialize_child_of(ChildOf(ANA.feed_id, 1, bytes(20)))
ENDED = serialize_continued(END)
TYPES = {ACK: ACK_TYPE, CHILD: EntryType.CHILD_OF, ENDED: EntryType.CONTINUED}


class Known:
    """A store, filled by what a test says."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self._tips: dict[FeedId, Tip] = {}
        self._receipts = 0

    def write(self, key: SigningKey, *contents: bytes, at_us: int = NOW_US, wanted: bool = True) -> None:
        """Entries of *key*, kept at *at_us*."""
        feed = key.feed_id
        if feed not in self._tips:
            self._tips[feed] = Tip(feed, Dialect.SPEC, 0, None)
            record = FeedRecord(
                feed=feed,
                dialect=Dialect.SPEC,
                seq=0,
                tip=None,
                own=key is OWN,
                wanted=wanted,
                forked_at=None,
            )
            self.store.put_feed(record)
        for content in contents:
            tip = self._tips[feed]
            made = (
                compose_fixed(Network(), key, tip, content, type_=TYPES[content])
                if content in TYPES
                else compose(Network(), key, tip, content)
            )
            self._tips[feed] = made.extended.tip
            assert made.extended.tip.id is not None
            self.store.append_entry(
                feed, made.extended.tip.seq, made.packet, made.extended.tip.id, Origin.PEER, None
            )
        self.store.commit(at_us)

    def signs(self, key: SigningKey, seq: int, at_us: int = NOW_US) -> None:
        self._put(seq, at_us, key.feed_id, None, b"")

    def hears(self, face: str, speaker: bytes, seq: int, at_us: int = NOW_US) -> None:
        self._put(seq, at_us, None, FaceName(face), speaker)

    def _put(
        self, seq: int, at_us: int, holder: FeedId | None, face: FaceName | None, speaker: bytes
    ) -> None:
        self._receipts += 1
        receipt = Receipt(
            number=self._receipts,
            feed=OWN.feed_id,
            seq=seq,
            holder=holder,
            face=face,
            speaker=speaker,
            known_us=0,
        )
        self.store.put_receipt(receipt)
        self.store.commit(at_us)

    def row(self, seq: int = 1, up: Iterable[str] = ()):
        faces = {FaceName(face) for face in up}
        holders = Holders(self.store, self.store.feeds(), OWN.feed_id, faces)
        entry = self.store.entry(OWN.feed_id, seq)
        assert entry is not None
        return holders.row(entry)


@pytest.fixture
def known():
    """Two entries of ours; Ana, Ben and Cyd wrote something the same day."""
    made = Known()
    made.write(OWN, b"one", b"two")
    for key in (ANA, BEN, CYD):
        made.write(key, b"hello")
    return made


def counted(row):
    return row.held, row.expected, row.proven, row.inferred


def test_at_first_nobody_is_known_to_have_it_and_of_nobody_is_it_known_that_they_would_say(known):
    row = known.row()
    assert counted(row) == (0, 3, 0, 0)
    assert row.holders == row.missing == []
    assert row.silent == sorted(key.feed_id.hex() for key in (ANA, BEN, CYD))


def test_who_signed_for_a_later_entry_holds_the_earlier_ones(known):
    known.signs(ANA, 2, at_us=NOW_US + 5)
    for seq in (1, 2):
        row = known.row(seq)
        assert counted(row) == (1, 3, 1, 0)
        assert row.holders == [
            HolderRow(
                kind="proven",
                feed=ANA.feed_id.hex(),
                face=None,
                speaker=None,
                since_us=NOW_US + 5,
            )
        ]


def test_each_entry_is_held_since_it_was_first_known(known):
    known.signs(ANA, 1, at_us=NOW_US + 5)
    known.signs(ANA, 2, at_us=NOW_US + 9)
    assert [known.row(seq).holders[0].since_us for seq in (1, 2)] == [NOW_US + 5, NOW_US + 9]


def test_who_acknowledged_others_is_missing_and_who_never_did_is_silent(known):
    known.signs(ANA, 1)
    row = known.row(2)
    assert row.missing == [ANA.feed_id.hex()]
    assert row.silent == sorted((BEN.feed_id.hex(), CYD.feed_id.hex()))


def test_what_was_heard_is_told_apart_and_not_added_to_what_was_signed(known):
    known.signs(ANA, 1)
    known.hears(AIR, b"\x01\x02", 1, at_us=NOW_US + 7)
    assert counted(known.row()) == (1, 3, 1, 0)
    known.hears(AIR, b"\x03\x04", 2)
    row = known.row()
    assert counted(row) == (2, 3, 1, 1)
    assert row.holders[1] == HolderRow(
        kind="inferred",
        feed=None,
        face="lora",
        speaker="0102",
        since_us=NOW_US + 7,
    )
    assert counted(known.row(2)) == (1, 3, 0, 1)


def test_stations_on_two_faces_may_be_the_same(known):
    known.hears(AIR, b"\x01\x02", 1)
    known.hears(AIR, b"\x03\x04", 1)
    known.hears(LAN, b"", 1)
    row = known.row()
    assert counted(row) == (2, 3, 0, 2)
    assert [holder.speaker for holder in row.holders] == ["0102", "0304", None]


def test_connections_that_are_no_more_count_as_one_if_none_is_there(known):
    for number in range(1, 4):
        known.hears(f"ws:80#{number}", b"", 1)
    assert known.row().held == 1
    assert known.row(up=["ws:80#3"]).held == 1
    assert known.row(up=["ws:80#2", "ws:80#3"]).held == 2


def test_names_drawn_anew_do_not_make_more_people_than_there_are(known):
    for number in range(9):
        known.hears(AIR, bytes((1, number)), 1)
    assert counted(known.row()) == (3, 3, 0, 3)


def test_where_nobody_is_expected_somebody_may_still_have_it():
    made = Known()
    made.write(OWN, b"one")
    assert counted(made.row()) == (0, 0, 0, 0)
    made.hears(AIR, b"\x01\x02", 1)
    made.hears(AIR, b"\x03\x04", 1)
    assert counted(made.row()) == (1, 1, 0, 1)


def test_expected_are_those_we_follow_who_wrote_since_a_month_before(known):
    old, new = Known(), Known()
    for made, since_us in ((old, limits.RECEIPT_ACTIVE_US + 1), (new, limits.RECEIPT_ACTIVE_US)):
        made.write(OWN, b"one")
        made.write(ANA, b"hello", at_us=NOW_US - since_us)
        made.write(BEN)
        made.write(CYD, b"hello", wanted=False)
    assert old.row().expected == 0
    assert new.row().silent == [ANA.feed_id.hex()]
    # Whoever proved it counts whatever else is known.
    old.signs(CYD, 1)
    assert counted(old.row()) == (1, 1, 1, 0)


def test_a_further_feed_of_somebody_is_nobody_who_should_have_it(known):
    known.write(DOT, CHILD, b"hello")
    assert known.row().expected == 3


@pytest.mark.parametrize("size", [1, 64, 5_000])
def test_what_a_member_of_a_private_group_writes_is_nobody_who_should_have_it(known, size):
    content = box(
        bytes(size),
        context_of(DOT.feed_id, MessageId(bytes(20))),
        [SlotKey(bytes(32), SlotScheme.GROUP)],
        b"k" * 32,
    )
    known.write(DOT, content, b"hello")
    assert known.row().expected == 3
    assert DOT.feed_id.hex() not in known.row().silent
    # Who acknowledges is somebody, whatever he began with.
    known.signs(DOT, 1)
    assert counted(known.row(2)) == (0, 4, 0, 0)
    assert known.row(2).missing == [DOT.feed_id.hex()]


@pytest.mark.parametrize(
    "content",
    [
        b"g" * 48,
        b"a long text of somebody who has a lot to say and says it all at once, without anything around it",
        "é".encode() * 100,
        b"x" + "é".encode() * 100,
        chat.serialize(chat.Text(text="a long text " * 20)),
        bipf.encode([bytes(range(256))] * 3),
    ],
)
def test_who_begins_with_much_that_anybody_can_read_is_somebody(known, content):
    known.write(DOT, content)
    assert known.row().expected == 4


def test_a_feed_that_has_ended_will_acknowledge_nothing(known):
    known.write(DOT, b"hello", ENDED)
    assert known.row().expected == 3
    known.signs(DOT, 1)
    assert counted(known.row()) == (1, 4, 1, 0)


def test_acknowledgements_of_our_own_are_not_listed():
    made = Known()
    made.write(OWN, b"one", ACK, b"two", ACK, ACK, b"three")
    own = OWN.feed_id
    assert [entry.seq for entry in messages(made.store, own, 1)] == [1, 3, 6]
    assert [entry.seq for entry in messages(made.store, own, 4)] == [6]
    assert [first_of_newest(made.store, own, 6, count) for count in (1, 2, 3, 4, 99)] == [6, 3, 1, 1, 1]
    assert first_of_newest(made.store, DOT.feed_id, 0, 5) == 1


who = st.tuples(st.sampled_from([ANA, BEN, DOT]), st.none()) | st.tuples(
    st.none(), st.tuples(st.sampled_from([AIR, LAN, "ws:80#1", "ws:80#2"]), st.sampled_from([b"", b"ab"]))
)


@given(
    st.lists(st.tuples(who, st.integers(1, 3)), max_size=12), st.sets(st.sampled_from(["ws:80#1", "ws:80#2"]))
)
def test_counts_fit_together_and_earlier_entries_are_never_held_by_fewer(said, up):
    made = Known()
    made.write(OWN, b"one", b"two", b"three")
    for key in (ANA, BEN, CYD):
        made.write(key, b"hello")
    known: dict[object, int] = {}
    for (key, station), seq in said:
        if seq <= known.get((key, station), 0):
            continue
        known[key, station] = seq
        if key is not None:
            made.signs(key, seq)
        else:
            face, speaker = station
            made.hears(face, speaker, seq)
    made.write(DOT)
    rows = [made.row(seq, up) for seq in (1, 2, 3)]
    for row in rows:
        assert row.held == row.proven + row.inferred <= row.expected
        feeds = [holder.feed for holder in row.holders if holder.feed]
        assert len(feeds) == row.proven
        assert not set(feeds) & {*row.missing, *row.silent}
        assert row.proven + len(row.missing) + len(row.silent) <= row.expected
    assert all(first.proven >= second.proven for first, second in pairwise(rows))
