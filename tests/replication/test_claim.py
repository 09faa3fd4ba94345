"""Claims: what they give away, and that they bring any two sets together."""

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codec import vectors
from tests.nodes import feed_of
from tests.replication.test_goset import feed_ids
from tinyssb_node import limits
from tinyssb_node.codec.packets import Claim, Novelty, parse_claim
from tinyssb_node.errors import ImpossibleClaimError
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.claim import (
    agrees,
    claim_of,
    claims_naming,
    covers,
    missing_feeds,
    named_feeds,
    reconciling_claims,
)
from tinyssb_node.replication.goset import Goset

FEEDS = sorted(feed_of(number) for number in range(12))


@pytest.mark.parametrize("number", range(6))
def test_claims_are_those_of_other_programs(number: int) -> None:
    vector = vectors.load("goset.json")["sets"][number]
    goset = Goset(FeedId.from_hex(text) for text in vector["feed_ids"])
    for region in vector["claims"]:
        claim = parse_claim(bytes.fromhex(region["packet"]))
        assert claim_of(goset.feeds[region["lo"] : region["hi"] + 1]) == claim
        assert agrees(goset, claim)
        assert covers(goset, claim) == (region["lo"] == 0 and region["hi"] == len(goset) - 1)


@given(st.sets(st.integers(1, 10), min_size=1, max_size=4))
def test_a_claim_shows_which_few_ids_are_missing(places: set[int]) -> None:
    goset, missing = Goset(FEEDS), tuple(FEEDS[place] for place in sorted(places))
    claim = claim_of([feed for feed in FEEDS if feed not in missing])
    assert missing_feeds(goset, claim) == missing
    assert {feed for each in claims_naming(goset, missing) for feed in (each.low, each.high)} == set(missing)
    assert all(agrees(goset, each) for each in claims_naming(goset, missing))


def test_a_claim_does_not_show_missing_ids_beside_others_or_too_many() -> None:
    goset = Goset(FEEDS)
    assert missing_feeds(goset, claim_of(FEEDS)) == ()
    assert missing_feeds(goset, claim_of([FEEDS[0], *FEEDS[6:]])) == ()
    assert missing_feeds(Goset(FEEDS[:6] + FEEDS[7:]), claim_of([FEEDS[0], *FEEDS[3:]])) == ()
    assert missing_feeds(Goset(), claim_of(FEEDS)) == ()


def test_so_many_ids_are_not_tried() -> None:
    feeds = sorted(feed_of(number) for number in range(limits.SET_MAX))
    lacking_two = claim_of([*feeds[:100], *feeds[102:]])
    assert missing_feeds(Goset(feeds), lacking_two) == (feeds[100], feeds[101])
    assert missing_feeds(Goset(feeds), claim_of([*feeds[:100], *feeds[103:]])) == ()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_claim_of_up_to_three_gives_all_away(count: int) -> None:
    assert named_feeds(claim_of(FEEDS[:count])) == tuple(FEEDS[:count])


def test_a_longer_claim_gives_its_bounds_away() -> None:
    assert named_feeds(claim_of(FEEDS[:4])) == (FEEDS[0], FEEDS[3])


@pytest.mark.parametrize(
    "claim",
    [
        Claim(low=FEEDS[0], high=FEEDS[1], xor=bytes(32), count=0),
        Claim(low=FEEDS[1], high=FEEDS[0], xor=bytes(32), count=5),
        Claim(low=FEEDS[0], high=FEEDS[1], xor=FEEDS[0], count=1),
        Claim(low=FEEDS[0], high=FEEDS[0], xor=FEEDS[0], count=2),
        Claim(low=FEEDS[0], high=FEEDS[0], xor=FEEDS[1], count=1),
        Claim(low=FEEDS[0], high=FEEDS[1], xor=FEEDS[0], count=2),
        claim_of((FEEDS[1], FEEDS[0], FEEDS[2])),
        claim_of((FEEDS[0], FEEDS[3], FEEDS[2])),
        claim_of((FEEDS[0], FEEDS[0], FEEDS[2])),
    ],
    ids=["none", "order", "one of two", "two of one", "one xor", "two xor", "below", "above", "bound twice"],
)
def test_claims_that_no_set_has_are_refused(claim: Claim) -> None:
    with pytest.raises(ImpossibleClaimError):
        named_feeds(claim)


def test_an_empty_set_covers_nothing() -> None:
    assert not covers(Goset(), claim_of(FEEDS[:2]))
    assert reconciling_claims(Goset(), claim_of(FEEDS[:2]), can_learn=True) == []


def test_a_claim_within_our_set_may_agree_without_covering() -> None:
    goset = Goset(FEEDS)
    assert agrees(goset, claim_of(FEEDS[2:5]))
    assert not covers(goset, claim_of(FEEDS[2:5]))
    assert not covers(goset, claim_of(FEEDS[1:]))
    assert not covers(goset, claim_of(FEEDS[:-1]))
    assert not agrees(goset, claim_of([FEEDS[2], FEEDS[5]]))


def test_who_holds_less_asks_for_the_region() -> None:
    assert reconciling_claims(Goset([FEEDS[0], FEEDS[3]]), claim_of(FEEDS[:4]), can_learn=True) == [
        claim_of([FEEDS[0], FEEDS[3]])
    ]


def test_who_holds_more_helps_with_what_lies_between() -> None:
    ends = claim_of([FEEDS[0], FEEDS[9]])
    assert reconciling_claims(Goset([FEEDS[0], FEEDS[4], FEEDS[9]]), ends, can_learn=True) == [
        Novelty(feed=FEEDS[4])
    ]
    assert reconciling_claims(Goset([*FEEDS[:4], FEEDS[9]]), ends, can_learn=True) == [claim_of(FEEDS[1:4])]
    assert reconciling_claims(Goset(FEEDS[:10]), ends, can_learn=True) == [
        claim_of(FEEDS[1:5]),
        claim_of(FEEDS[5:9]),
    ]


def test_with_equal_counts_both_ask_and_help() -> None:
    theirs = claim_of([FEEDS[0], FEEDS[2], FEEDS[3], FEEDS[5]])
    ours = [FEEDS[0], FEEDS[1], FEEDS[4], FEEDS[5]]
    assert reconciling_claims(Goset(ours), theirs, can_learn=True) == [
        claim_of(ours),
        claim_of([FEEDS[1], FEEDS[4]]),
    ]


class Talk:
    """Two sets that tell each other claims until neither has anything to say that it did not say before."""

    def __init__(self, left: Goset, right: Goset) -> None:
        self.sets = (left, right)
        self._said: tuple[set[Claim | Novelty], set[Claim | Novelty]] = (set(), set())
        self._on_the_way: deque[tuple[int, Claim | Novelty]] = deque()

    def say(self, who: int, word: Claim | Novelty) -> None:
        if word not in self._said[who]:
            self._said[who].add(word)
            self._on_the_way.append((1 - who, word))

    def hear(self, who: int, word: Claim | Novelty) -> None:
        goset = self.sets[who]
        if isinstance(word, Novelty):
            goset.add(word.feed)
            return
        for feed in named_feeds(word):
            goset.add(feed)
        if not agrees(goset, word):
            for answer in reconciling_claims(goset, word, can_learn=not goset.full):
                self.say(who, answer)

    def round(self) -> int:
        """Both advertise their sets; returns how many claims the talk took."""
        self._said = (set(), set())
        for who, goset in enumerate(self.sets):
            if len(goset):
                self.say(who, claim_of(goset.feeds))
        while self._on_the_way:
            self.hear(*self._on_the_way.popleft())
        return len(self._said[0]) + len(self._said[1])


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(feed_ids, st.sampled_from(["left", "right", "both"])), min_size=1, max_size=limits.SET_MAX
    )
)
def test_claims_alone_bring_any_two_sets_together(owners: list[tuple[FeedId, str]]) -> None:
    left = Goset(feed for feed, owner in owners if owner != "right")
    right = Goset(feed for feed, owner in owners if owner != "left")
    union = Goset(feed for feed, _ in owners)
    talk = Talk(left, right)
    for _ in range(4):
        # Few words: never more than these, whatever the sets.
        assert talk.round() <= 8 + 4 * len(union)
        if left.feeds == right.feeds:
            break
    assert left.feeds == right.feeds == union.feeds
    assert talk.round() == 2


def test_two_full_sets_that_differ_end_their_talk() -> None:
    left = Goset(feed_of(number) for number in range(limits.SET_MAX))
    right = Goset(feed_of(number) for number in range(1_000, 1_000 + limits.SET_MAX))
    assert Talk(left, right).round() == 2


def test_who_cannot_learn_helps_and_does_not_ask() -> None:
    ours = Goset(FEEDS[:10])
    assert reconciling_claims(ours, claim_of([FEEDS[0], FEEDS[1], FEEDS[11]]), can_learn=False) == [
        claim_of(FEEDS[1:5]),
        claim_of(FEEDS[5:10]),
    ]
    assert reconciling_claims(Goset(FEEDS[:2]), claim_of(FEEDS[:5]), can_learn=False) == []
