"""Frontiers under a salt, against a plain model: a set of marks, and the difference of two of them."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from itertools import pairwise
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.nodes import feed_of
from tinyssb_node import limits
from tinyssb_node.codec.packets import Diff, parse_diff, serialize_diff
from tinyssb_node.ids import Dmx, FeedId
from tinyssb_node.replication import frontiers
from tinyssb_node.replication.frontiers import (
    FrontierReading,
    Frontiers,
    FrontiersDiffer,
    FrontiersEqual,
    FrontiersTooFarApart,
    SaltedFrontiers,
    mark_of,
)
from tinyssb_node.replication.salted import short_id

SALT = b"salt"
TIP = b"t" * 20
FEEDS = [feed_of(number) for number in range(80)]
MANY = [feed_of(number) for number in range(3_000)]
Seqs = Mapping[FeedId, int]


# --- the model


def marks(held: Seqs, depth: int = 0, prefix: int = 0, salt: bytes = SALT) -> dict[int, FeedId]:
    """The marks of a range, and what they stand for: feeds of which nothing is given have none."""
    inside = {feed: seq for feed, seq in held.items() if short_id(salt, feed) >> (32 - depth) == prefix}
    return {mark_of(salt, feed, seq): feed for feed, seq in inside.items() if seq}


def expected(ours: dict[int, FeedId], theirs: Iterable[int]) -> FrontierReading:
    """Return in which marks *ours* and *theirs* differ."""
    if ours.keys() == set(theirs):
        return FrontiersEqual()
    return FrontiersDiffer(
        tuple(sorted(ours[mark] for mark in ours.keys() - set(theirs))),
        tuple(sorted(set(theirs) - ours.keys())),
    )


def salted(held: Seqs, salt: bytes = SALT) -> SaltedFrontiers:
    return SaltedFrontiers(salt, held.items())


def over_the_air(diff: Diff) -> Diff:
    """Write and parse a DIFF."""
    return parse_diff(serialize_diff(Dmx(bytes(7)), diff))


@st.composite
def two_nodes(draw: st.DrawFn) -> tuple[dict[FeedId, int], dict[FeedId, int]]:
    """Draw the feeds of two nodes: much in common, some of it by one of them only or up to another entry."""
    order = draw(st.permutations(FEEDS))
    common, mine, yours, apart = (draw(st.integers(0, most)) for most in (40, 15, 15, 10))
    chance = draw(st.randoms(use_true_random=False))
    ours, theirs = {}, {}
    for place, feed in enumerate(order[: common + mine + yours + apart]):
        seq = chance.choice([0, 1, 2, 300, limits.SEQ_MAX])
        if place < common + mine or place >= common + mine + yours:
            ours[feed] = seq
        if place < common or place >= common + mine:
            theirs[feed] = seq + (place >= common + mine + yours) if seq < limits.SEQ_MAX else seq
    return ours, theirs


RANGES = st.integers(0, 5).flatmap(lambda depth: st.tuples(st.just(depth), st.integers(0, 2**depth - 1)))


# --- marks


def test_a_mark_is_of_the_salt_the_feed_the_number_and_the_last_entry() -> None:
    feed = FEEDS[0]
    in_full = sha256(SALT + feed + b"\x00\x00\x01\x2c" + TIP).digest()
    assert mark_of(SALT, feed, 300, TIP) == int.from_bytes(in_full[:4], "big")
    assert mark_of(SALT, feed, 300) == int.from_bytes(
        sha256(SALT + feed + b"\x00\x00\x01\x2c").digest()[:4], "big"
    )
    others = {mark_of(SALT, feed, 301), mark_of(SALT, FEEDS[1], 300), mark_of(b"seas", feed, 300)}
    assert mark_of(SALT, feed, 300) not in others


def test_no_mark_is_zero() -> None:
    with patch.object(frontiers, "sha256") as made:
        made.return_value.digest.return_value = bytes(32)
        assert mark_of(SALT, FEEDS[0], 1) == 1


# --- reading


@settings(max_examples=300, deadline=None)
@given(two_nodes(), st.integers(1, limits.DIFF_SUMS_MAX), RANGES)
def test_a_reading_is_exact_or_too_far_apart(
    both: tuple[dict[FeedId, int], dict[FeedId, int]], sums: int, place: tuple[int, int]
) -> None:
    ours, theirs = (marks(held, *place) for held in both)
    diff = over_the_air(salted(both[1]).diff(*place, sums))
    assert diff.count == len(theirs)
    reading = salted(both[0]).read(diff)
    capacity = sums - 1
    if len(ours.keys() ^ theirs.keys()) <= capacity or len(theirs) <= capacity:
        assert reading == expected(ours, theirs)
    else:
        assert reading == FrontiersTooFarApart()


@pytest.mark.parametrize("sums", range(1, limits.DIFF_SUMS_MAX + 1))
def test_one_sum_less_than_there_are_differences_is_too_far_apart(sums: int) -> None:
    common = dict.fromkeys(FEEDS[:30], 7)
    reader = salted(common)
    for extra in range(sums + 4):
        theirs = common | dict.fromkeys(FEEDS[30 : 30 + extra], 2)
        reading = reader.read(salted(theirs).diff(0, 0, sums))
        exact = expected(marks(common), marks(theirs))
        assert reading == (exact if extra < sums else FrontiersTooFarApart())


def test_a_node_without_anything_reads_small_ranges_in_full() -> None:
    most = limits.DIFF_SUMS_MAX - 1
    for count in (0, 1, most, most + 1):
        held = dict.fromkeys(FEEDS[:count], 3)
        exact = expected({}, marks(held))
        reading = SaltedFrontiers(SALT, ()).read(salted(held).diff(0, 0))
        assert reading == (exact if count <= most else FrontiersTooFarApart())


def test_sums_that_do_not_fit_their_count_are_too_far_apart() -> None:
    held = dict.fromkeys(FEEDS, 3)
    diff = salted(held).diff(0, 0)
    lie = Diff(diff.salt, 0, 0, diff.count + 1, diff.sums)
    assert salted(held).read(lie) == FrontiersTooFarApart()
    few = salted(dict.fromkeys(FEEDS[:3], 3)).diff(0, 0)
    assert salted({}).read(Diff(SALT, 0, 0, 2, few.sums)) == FrontiersTooFarApart()


@pytest.mark.parametrize("count", [0, 24, 25, 60])
def test_what_is_small_is_told_in_full_by_one_packet(count: int) -> None:
    held = dict.fromkeys(FEEDS[:count], 3)
    diff = salted(held).diff(0, 0)
    is_small = count < limits.DIFF_SUMS_MAX
    assert salted(held).is_small(diff) is is_small
    strangers = dict.fromkeys(MANY[1_000:1_200], 9)
    reading = salted(strangers).read(diff)
    assert (reading == FrontiersTooFarApart()) is not is_small


# --- any bytes


@settings(max_examples=150, deadline=None)
@given(
    st.binary(min_size=4 * limits.DIFF_SUMS_MAX, max_size=4 * limits.DIFF_SUMS_MAX),
    st.integers(1, limits.DIFF_SUMS_MAX),
    st.one_of(st.integers(0, 60), st.integers(0, 2**24 - 1)),
    st.integers(0, 16).flatmap(lambda depth: st.tuples(st.just(depth), st.integers(0, 2**depth - 1))),
)
@example(bytes(100), 25, 0, (0, 0))
@example(bytes(100), 25, 2**24 - 1, (16, 2**16 - 1))
@example(b"\x01\x00\x00\x00" * 25, 25, 1, (0, 0))
@example(b"\xff" * 100, 25, 24, (0, 0))
def test_any_bytes_as_sums_have_a_reading_in_bounded_time(
    sums: bytes, many: int, count: int, place: tuple[int, int]
) -> None:
    diff = Diff(SALT, *place, count, sums[: 4 * many])
    begun_s = time.process_time()
    reading = BUSY.read(diff)
    parts = BUSY.parts(diff)
    assert time.process_time() - begun_s < 1.0  # 5 ms are usual, on a PC
    assert len(parts) in {0, 8}
    assert all(1 <= len(part.sums) // 4 <= limits.DIFF_SUMS_MAX for part in parts)
    held = marks(dict.fromkeys(FEEDS, 5))
    if isinstance(reading, FrontiersDiffer):
        assert set(reading.ours) <= set(held.values())
        assert not {*reading.theirs} & held.keys()
        assert len(reading.theirs) < limits.DIFF_SUMS_MAX
        assert all(0 < mark < 2**32 for mark in reading.theirs)


BUSY = salted(dict.fromkeys(FEEDS, 5))


# --- parts


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(MANY), max_size=300, unique=True),
    st.integers(0, 2**24 - 1),
    st.integers(0, 13).flatmap(lambda depth: st.tuples(st.just(depth), st.integers(0, 2**depth - 1))),
)
def test_parts_cover_the_range_and_nothing_twice(
    feeds: list[FeedId], their_count: int, place: tuple[int, int]
) -> None:
    depth, prefix = place
    held = dict.fromkeys(feeds, 4)
    ours = salted(held)
    parts = ours.parts(Diff(SALT, depth, prefix, their_count, bytes(100)))
    ranges = [(part.prefix << 32 - part.depth, part.prefix + 1 << 32 - part.depth) for part in parts]
    assert ranges[0][0] == prefix << 32 - depth
    assert ranges[-1][1] == prefix + 1 << 32 - depth
    assert all(end == begin for (_, end), (begin, _) in pairwise(ranges))
    inside = marks(held, depth, prefix)
    assert sum(part.count for part in parts) == len(inside)
    for part in parts:
        assert part.salt == SALT
        assert part.sums == ours.diff(part.depth, part.prefix).sums[: len(part.sums)]
        assert part.count == len(marks(held, part.depth, part.prefix))
    if depth == 0:
        assert sum(part.count for part in parts) == ours.diff(0, 0).count


@pytest.mark.parametrize(("depth", "number"), [(13, 8), (14, 0), (16, 0)])
def test_ranges_are_divided_up_to_sixteen_bits(depth: int, number: int) -> None:
    assert len(BUSY.parts(Diff(SALT, depth, 0, 99, bytes(100)))) == number


class Side:
    """One of two nodes that exchange DIFFs, and what it found out."""

    def __init__(self, held: Seqs) -> None:
        self.ours = salted(held)
        self.found_ours: set[FeedId] = set()
        self.found_theirs: set[int] = set()

    def hear(self, diff: Diff) -> Iterable[Diff]:
        """Read a DIFF and return the replies."""
        match self.ours.read(diff):
            case FrontiersDiffer(ours, theirs):
                self.found_ours |= {*ours}
                self.found_theirs |= {*theirs}
            case FrontiersTooFarApart():
                if self.ours.is_small(diff):
                    return [self.ours.diff(diff.depth, diff.prefix)]
                return self.ours.parts(diff)
        return []


@pytest.mark.parametrize(
    ("common", "left", "right", "packets"),
    [
        (0, 0, 0, 1),
        (2_000, 0, 0, 1),
        (2_000, 1, 0, 1),
        (2_000, 12, 12, 1),
        (0, 300, 0, 2),
        (0, 0, 24, 2),
        (0, 300, 300, 150),
        (1_000, 40, 40, 20),
        (2_000, 400, 100, 200),
    ],
)
def test_two_nodes_find_all_in_which_they_differ(common: int, left: int, right: int, packets: int) -> None:
    shared = dict.fromkeys(MANY[:common], 5)
    mine = shared | dict.fromkeys(MANY[common : common + left], 3)
    yours = shared | dict.fromkeys(MANY[common + left : common + left + right], 4)
    sides = Side(mine), Side(yours)
    said = deque([(1, sides[0].ours.diff(0, 0))])
    count = 0
    while said:
        to, diff = said.popleft()
        count += 1
        said.extend((1 - to, reply) for reply in sides[to].hear(over_the_air(diff)))
        assert count < 1_000
    only_mine, only_yours = marks(mine).keys() - marks(yours).keys(), marks(yours).keys() - marks(mine).keys()
    found_mine = {marks(mine)[mark] for mark in sides[1].found_theirs} | sides[0].found_ours
    found_yours = {marks(yours)[mark] for mark in sides[0].found_theirs} | sides[1].found_ours
    assert found_mine == {marks(mine)[mark] for mark in only_mine}
    assert found_yours == {marks(yours)[mark] for mark in only_yours}
    assert count <= packets, count


# --- changes


CHANGES = st.lists(st.tuples(st.sampled_from(FEEDS[:12]), st.integers(0, 3)), max_size=30)


def looks(of: SaltedFrontiers) -> object:
    """All that can be asked of one."""
    ranges = [(0, 0), *((depth, prefix) for depth in (1, 3) for prefix in range(2**depth))]
    return (
        [of.diff(*place) for place in ranges],
        [of.find(short_id(of.salt, feed)) for feed in FEEDS[:12]],
        {
            mark_of(of.salt, feed, seq): of.find_marked(mark_of(of.salt, feed, seq))
            for feed in FEEDS[:12]
            for seq in range(1, 4)
        },
    )


@settings(max_examples=150, deadline=None)
@given(CHANGES, st.lists(CHANGES, max_size=4))
def test_what_was_changed_is_what_would_be_built_anew(
    begun: list[tuple[FeedId, int]], later: list[list[tuple[FeedId, int]]]
) -> None:
    known = dict(begun)
    changed = salted(known)
    for changes in later:
        looks(changed)  # sums of ranges are kept from now on
        for feed, seq in changes:
            changed.set(feed, seq)
        known.update(changes)
        changed.catch_up()
        assert looks(changed) == looks(salted(known))
    assert not changed.ambiguous


def test_changes_count_once_they_are_caught_up_with() -> None:
    held = Frontiers()
    under = held.under(SALT)
    held.set(FEEDS[0], 4)
    assert under.diff(0, 0).count == 0
    assert held.under(SALT) is under
    assert under.diff(0, 0) == salted({FEEDS[0]: 4}).diff(0, 0)


def test_a_feed_that_is_forgotten_is_unknown_under_every_salt() -> None:
    held = Frontiers()
    for feed in FEEDS[:3]:
        held.set(feed, 2)
    assert len(held) == 3
    assert held.under(SALT).find(short_id(SALT, FEEDS[0])) == FEEDS[0]
    held.forget(FEEDS[0])
    assert len(held) == 2
    assert held.under(SALT).find(short_id(SALT, FEEDS[0])) is None
    assert held.under(SALT).diff(0, 0) == salted(dict.fromkeys(FEEDS[1:3], 2)).diff(0, 0)


def test_a_feed_of_which_nothing_is_given_is_known_and_has_no_mark() -> None:
    held = salted({FEEDS[0]: 0})
    assert held.find(short_id(SALT, FEEDS[0])) == FEEDS[0]
    assert held.find(short_id(SALT, FEEDS[1])) is None
    assert held.diff(0, 0) == Diff(SALT, 0, 0, 0, bytes(4 * limits.DIFF_SUMS_MAX))
    held.set(FEEDS[0], 1)
    held.catch_up()
    assert held.find_marked(mark_of(SALT, FEEDS[0], 1)) == FEEDS[0]


def test_few_salts_are_kept_and_the_one_unused_for_longest_goes() -> None:
    held = Frontiers()
    held.set(FEEDS[0], 2)
    salts = [bytes((number,)) * 4 for number in range(40)]
    for salt in salts:
        held.under(salts[0])
        held.under(salt)
    kept = [salt for salt in salts if held.knows_salt(salt)]
    assert 2 < len(kept) <= 16
    assert kept == [salts[0], *salts[1 - len(kept) :]]
    assert held.under(salts[1]).diff(0, 0) == salted({FEEDS[0]: 2}, salts[1]).diff(0, 0)


# --- two feeds that look alike


def looking_alike(bits: int) -> Callable[[bytes, FeedId], int]:
    """Short ids of so few bits that some are the same."""
    return lambda salt, feed: short_id(salt, feed) >> 32 - bits << 32 - bits or 1


@settings(max_examples=100, deadline=None)
@given(st.sets(st.sampled_from(FEEDS), max_size=30), st.integers(2, 12), CHANGES)
def test_a_salt_under_which_two_feeds_have_one_short_id_is_ambiguous(
    feeds: set[FeedId], bits: int, changes: list[tuple[FeedId, int]]
) -> None:
    with patch.object(frontiers, "short_id", looking_alike(bits)):
        held = salted(dict.fromkeys(sorted(feeds), 1))
        for feed, seq in changes:
            held.set(feed, seq)
        held.catch_up()
        known = {*feeds, *dict(changes)}
        shorts = [looking_alike(bits)(SALT, feed) for feed in known]
        assert held.ambiguous is (len({*shorts}) < len(shorts))
        for feed in known:
            short = looking_alike(bits)(SALT, feed)
            assert held.find(short) == (feed if shorts.count(short) == 1 else None)
        for place in ((0, 0), (2, 1), (2, 3)):
            held.read(held.diff(*place))
            held.parts(held.diff(*place))


def test_two_branches_of_the_same_length_differ_and_a_known_fork_does_not() -> None:
    feed, other = FEEDS[:2]
    held, theirs = Frontiers(), Frontiers()
    for tip, each in ((TIP, held), (b"u" * 20, theirs)):
        each.set(feed, 7, tip)
        each.set(other, 3, TIP)
    reading = held.under(SALT).read(theirs.under(SALT).diff(0, 0))
    assert reading == FrontiersDiffer((feed,), (mark_of(SALT, feed, 7, b"u" * 20),))
    for each in (held, theirs):
        each.set(feed, 7)
    assert held.under(SALT).read(theirs.under(SALT).diff(0, 0)) == FrontiersEqual()


@settings(max_examples=100, deadline=None)
@given(CHANGES, st.integers(1, 6))
def test_a_salt_under_which_two_feeds_have_one_mark_is_ambiguous(
    changes: list[tuple[FeedId, int]], bits: int
) -> None:
    with patch.object(
        frontiers, "mark_of", lambda salt, feed, seq, tip=b"": mark_of(salt, feed, seq, tip) >> 32 - bits or 1
    ):
        held = salted({})
        for feed, seq in changes:
            held.set(feed, seq)
            held.catch_up()
            held.diff(0, 0)
        last = dict(changes)
        found = [frontiers.mark_of(SALT, feed, seq) for feed, seq in last.items() if seq]
        assert held.ambiguous or len({*found}) == len(found)
        diff = held.diff(0, 0)
        assert diff.count <= len(found)
        assert held.read(diff) == FrontiersEqual()


def test_a_reading_under_a_salt_that_is_ambiguous_to_the_reader_only_is_exact_or_too_far_apart() -> None:
    """With 32,768 feeds two look alike under one salt of eight."""
    alike = looking_alike(4)
    first = FEEDS[0]
    second = next(feed for feed in FEEDS[1:] if alike(SALT, feed) == alike(SALT, first))
    others = [feed for feed in FEEDS if alike(SALT, feed) not in {alike(SALT, first), 1}]
    single = list({alike(SALT, feed): feed for feed in others}.values())
    with patch.object(frontiers, "short_id", alike):
        theirs = dict.fromkeys([first, *single], 1)
        ours = theirs | {second: 1}
        reader, sender = salted(ours), salted(theirs)
        assert (reader.ambiguous, sender.ambiguous) == (True, False)
        depth = 1
        prefix = alike(SALT, first) >> 31
        reading = reader.read(sender.diff(depth, prefix))
        assert reading in (FrontiersDiffer((second,), ()), FrontiersTooFarApart())


@settings(max_examples=100, deadline=None)
@given(CHANGES, st.lists(CHANGES, max_size=3), st.integers(2, 6))
def test_what_was_changed_under_an_ambiguous_salt_is_what_would_be_built_anew(
    begun: list[tuple[FeedId, int]], later: list[list[tuple[FeedId, int]]], bits: int
) -> None:
    with patch.object(frontiers, "short_id", looking_alike(bits)):
        known = dict(begun)
        changed = salted(known)
        for changes in later:
            ranges = [(0, 0), *((1, prefix) for prefix in range(2))]
            for place in ranges:
                changed.diff(*place)
            for feed, seq in changes:
                changed.set(feed, seq)
            known.update(changes)
            changed.catch_up()
            anew = salted(known)
            assert [changed.diff(*place) for place in ranges] == [anew.diff(*place) for place in ranges]
