import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load
from tests.feeds.builders import KEY, OPEN, OTHER_KEY, Written, empty_tip
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import ContentTooLongError, FeedEndedError, FeedFullError, LocalError
from tinyssb_node.feeds.author import ComposedEntry, compose, compose_fixed, sign_entry
from tinyssb_node.feeds.chain import Tip, expectations, extend
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.feeds.sidechain import reassemble, split_variable
from tinyssb_node.ids import Dialect, MessageId


def composed_again(key: SigningKey, tip: Tip, type_: int, content: bytes) -> ComposedEntry:
    """Compose an entry again. Of 48 bytes the vectors have both types, and ``compose`` makes type 0 only."""
    if type_ == 0:
        return compose_fixed(OPEN, key, tip, content)
    if len(content) == limits.CONTENT_SIZE:
        (place,) = expectations(OPEN, tip)
        return sign_entry(key, place, type_, *split_variable(content, place.dialect))
    return compose(OPEN, key, tip, content)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_feeds_of_the_vectors_are_written_byte_for_byte(dialect: Dialect) -> None:
    vectors = load(f"feed_{dialect}.json")
    key = SigningKey(bytes.fromhex(vectors["seed"]))
    tip = empty_tip(key, dialect)
    for message in vectors["messages"]:
        composed = composed_again(key, tip, message["type"], bytes.fromhex(message["content"]))
        assert composed.packet.hex() == message["packet"]
        assert [chunk.hex() for chunk in composed.chunks] == message["chunks"]
        tip = composed.extended.tip
        assert tip == Tip(key.feed_id, dialect, message["seq"], MessageId.from_hex(message["msg_id"]))


@given(st.binary(max_size=600), st.sampled_from(list(Dialect)))
def test_what_we_write_a_reader_accepts(content: bytes, dialect: Dialect) -> None:
    composed = compose(OPEN, KEY, empty_tip(dialect=dialect), content)
    assert extend(OPEN, empty_tip(dialect=None), 1, composed.packet) == composed.extended
    assert reassemble(composed.extended.layout, composed.chunks) == content


def test_exactly_48_bytes_become_type_0() -> None:
    assert compose(OPEN, KEY, empty_tip(), b"x" * 48).extended.type == 0
    assert compose(OPEN, KEY, empty_tip(), b"x" * 47).extended.type == 1
    assert compose(OPEN, KEY, empty_tip(), b"x" * 49).extended.type == 1


def test_fixed_content_is_padded_and_may_have_another_type() -> None:
    composed = compose_fixed(OPEN, KEY, empty_tip(), b"hello", type_=6)
    assert (composed.extended.type, composed.chunks) == (6, ())
    assert composed.extended.layout.head == b"hello".ljust(48, b"\x00")
    assert compose_fixed(OPEN, KEY, empty_tip(), b"hello").extended.type == 0


def test_entries_follow_each_other() -> None:
    feed = Written().write(b"one", b"two" * 100, b"three")
    assert feed.tip.seq == 3
    assert [composed.extended.tip.seq for composed in feed.entries] == [1, 2, 3]
    assert feed.entries[2].extended.prev == feed.entries[1].extended.tip.id


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_limit_and_the_cost_are_told(dialect: Dialect) -> None:
    longest = compose(OPEN, KEY, empty_tip(dialect=dialect), bytes(limits.CONTENT_PUBLISH_MAX))
    assert 1 + len(longest.chunks) == 657
    with pytest.raises(ContentTooLongError) as caught:
        compose(OPEN, KEY, empty_tip(dialect=dialect), bytes(limits.CONTENT_PUBLISH_MAX + 100))
    error = caught.value
    assert (error.size, error.limit, error.packets) == (65_636, 65_536, 658)
    assert "65636 bytes" in str(error)
    assert "658 packets" in str(error)
    assert isinstance(error, LocalError)


def test_fixed_content_has_at_most_48_bytes() -> None:
    with pytest.raises(ContentTooLongError) as caught:
        compose_fixed(OPEN, KEY, empty_tip(), bytes(49))
    assert (caught.value.size, caught.value.limit, caught.value.packets) == (49, 48, 2)


def test_a_feed_can_be_full() -> None:
    last = Tip(KEY.feed_id, Dialect.SPEC, limits.SEQ_MAX, MessageId(bytes(20)))
    with pytest.raises(FeedFullError) as caught:
        compose(OPEN, KEY, last, b"one more")
    assert caught.value.seq == limits.SEQ_MAX


def test_nothing_is_written_behind_the_end() -> None:
    end = compose_fixed(OPEN, KEY, empty_tip(), serialize_continued(END), type_=EntryType.CONTINUED)
    for write in (compose, compose_fixed):
        with pytest.raises(FeedEndedError) as caught:
            write(OPEN, KEY, end.extended.tip, b"one more")
        assert (caught.value.feed, caught.value.seq) == (KEY.feed_id, 1)


def test_the_key_is_the_feeds() -> None:
    with pytest.raises(ValueError, match="not that of the feed"):
        compose(OPEN, OTHER_KEY, empty_tip(), b"mine?")


def test_a_dialect_is_chosen_before() -> None:
    with pytest.raises(ValueError, match="dialect"):
        compose(OPEN, KEY, empty_tip(dialect=None), b"in which?")
