"""WANT: built into a packet whatever the set and the numbers, and read back as meant."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec import vectors
from tests.nodes import feed_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.packets import Want, parse_want, serialize_want
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.want import NOT_WANTED, build_want, read_want

FEEDS = sorted(feed_of(number) for number in range(limits.SET_MAX))
DMX = want_dmx(Network(), bytes(32))

seqs = st.one_of(st.integers(0, 300), st.integers(0, limits.SEQ_MAX))


def numbers(goset: Goset, values: list[int]) -> dict[FeedId, int]:
    return dict(zip(goset.feeds, values, strict=True))


@given(st.lists(seqs, min_size=1, max_size=limits.SET_MAX), st.integers(0, 600))
def test_any_set_fits_and_every_feed_gets_its_turn(values: list[int], start: int) -> None:
    goset = Goset(FEEDS[: len(values)])
    wanted = numbers(goset, values)
    spoken_of: dict[FeedId, int] = {}
    built = build_want(goset, wanted.__getitem__, start)
    for _ in range(len(goset)):
        assert built is not None
        want, following = built
        assert parse_want(serialize_want(DMX, want)) == want
        assert len(want.seqs) >= 1
        for number, seq in enumerate(want.seqs):
            spoken_of[goset[(want.offset + number) % len(goset)]] = seq
        if len(spoken_of) == len(goset):
            break
        assert following == (want.offset + len(want.seqs)) % len(goset)
        built = build_want(goset, wanted.__getitem__, following)
    assert spoken_of == wanted


@pytest.mark.parametrize(("count", "spoken_of"), [(1, 1), (20, 20), (52, 52), (53, 52), (255, 52)])
def test_small_numbers_of_up_to_52_feeds_go_into_one_packet(count: int, spoken_of: int) -> None:
    goset = Goset(FEEDS[:count])
    built = build_want(goset, lambda _: 1, 0)
    assert built is not None
    assert len(built[0].seqs) == spoken_of


def test_as_many_large_numbers_as_fit_are_said() -> None:
    goset = Goset(FEEDS)
    built = build_want(goset, lambda _: limits.SEQ_MAX, 254)
    assert built is not None
    named = replace(built[0], speaker=b"me", asks=b"it")
    assert len(serialize_want(DMX, named)) <= limits.PACKET_SIZE
    too_long = replace(named, seqs=(*named.seqs, limits.SEQ_MAX))
    with pytest.raises(ValueError, match="at most 120 bytes"):
        serialize_want(DMX, too_long)


def test_an_empty_set_wants_nothing() -> None:
    assert build_want(Goset(), lambda _: 1, 0) is None


@given(st.lists(seqs, min_size=1, max_size=80), st.integers(0, limits.SEQ_MAX))
def test_what_is_read_is_what_was_written(values: list[int], offset: int) -> None:
    goset = Goset(FEEDS[: len(values)])
    want = Want(offset=offset, seqs=tuple(values))
    reading = read_want(goset, want, lambda _: 1)
    expected = [
        (goset[(offset + number) % len(goset)], seq) for number, seq in enumerate(values) if seq != NOT_WANTED
    ]
    assert list(reading.wanted) == expected


@given(st.lists(seqs, min_size=1, max_size=50))
def test_our_own_words_are_the_same_and_not_behind(values: list[int]) -> None:
    goset = Goset(FEEDS[: len(values)])
    wanted = numbers(goset, values)
    built = build_want(goset, wanted.__getitem__, 3)
    assert built is not None
    reading = read_want(goset, built[0], wanted.__getitem__)
    assert reading.same
    assert not reading.behind


@pytest.mark.parametrize(
    ("ours", "theirs", "behind", "same", "serves"),
    [
        (5, 5, False, True, True),
        (5, 6, True, False, False),
        (5, 4, False, False, True),
        (5, NOT_WANTED, False, False, False),
        (NOT_WANTED, 6, False, False, True),
        (NOT_WANTED, NOT_WANTED, False, True, True),
    ],
)
def test_what_their_number_means_to_us(
    ours: int, theirs: int, behind: bool, same: bool, serves: bool
) -> None:
    reading = read_want(Goset(FEEDS[:1]), Want(offset=0, seqs=(theirs,)), lambda _: ours)
    assert (reading.behind, reading.same, reading.serves) == (behind, same, serves)


@pytest.mark.parametrize(("theirs", "serves"), [((4, 5, 1), True), ((4, 6, 1), False), ((6, 4, 1), False)])
def test_answers_to_it_serve_us_if_they_do_for_every_feed(theirs: tuple[int, ...], serves: bool) -> None:
    reading = read_want(Goset(FEEDS[:3]), Want(offset=0, seqs=theirs), lambda _: 5)
    assert reading.serves is serves


def test_a_want_that_names_no_feed_is_no_agreement() -> None:
    reading = read_want(Goset(FEEDS[:1]), Want(offset=0, seqs=()), lambda _: 1)
    assert not reading.same
    assert not reading.serves


def test_more_numbers_than_feeds_are_not_read() -> None:
    reading = read_want(Goset(FEEDS[:2]), Want(offset=1, seqs=(1, 2, 3, 4)), lambda _: 1)
    assert reading.wanted == ((FEEDS[1], 1), (FEEDS[0], 2))


def test_vectors_of_other_programs_are_read() -> None:
    goset = Goset(FEEDS[:5])
    for vector in vectors.load("want_chnk.json")["want"]:
        want = parse_want(bytes.fromhex(vector["packet"]))
        offset, *values = vector["vector"]
        reading = read_want(goset, want, lambda _: 1)
        assert dict(reading.wanted) == {
            goset[(offset + number) % 5]: seq for number, seq in enumerate(values) if seq
        }
