"""The order by time: a function of the set of messages, which wrong clocks do not upset."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.content.limits import CLAIM_TOLERANCE_US as HOUR_US
from tinyssb_node.content.time_order import (
    DatedMessage,
    OrderedMessages,
    append_time,
    claim_of,
    doubtful,
    is_contradicted,
    order_key,
    order_times,
    read_order_key,
    right_behind,
)

START_US = 1_760_000_000_000_000
YEAR_US = 365 * 24 * HOUR_US
MINUTE_US = 60_000_000


def id_of(author: int, seq: int) -> bytes:
    return sha256(repr((author, seq)).encode()).digest()[:20]


@dataclass
class Talk:
    """Messages of people; each follows what its author names."""

    said: list[DatedMessage] = field(default_factory=list)
    last: dict[int, int] = field(default_factory=dict)

    def say(self, author: int, claimed_us: int | None, *previous: DatedMessage) -> DatedMessage:
        seq = self.last[author] = self.last.get(author, 0) + 1
        follows = tuple(one.id for one in previous)
        message = DatedMessage(id_of(author, seq), author, seq, claimed_us, follows)
        self.said.append(message)
        return message

    def order(self, *left_out: DatedMessage) -> list[DatedMessage]:
        return in_order([one for one in self.said if one not in left_out])


def in_order(messages: Sequence[DatedMessage]) -> list[DatedMessage]:
    times = order_times(messages)
    return sorted(messages, key=lambda one: (times[one.id], one.id))


# --- by brute force


def before_of(message: DatedMessage, messages: Sequence[DatedMessage]) -> list[DatedMessage]:
    """Return the messages right before one."""
    own = [one for one in messages if one.author == message.author and one.seq < message.seq]
    return [one for one in messages if one.id in message.previous] + own


def second(of: Iterable[tuple[int, int]], *, latest: bool) -> int | None:
    """Return the second of the authors' latest, or earliest, times."""
    best: dict[int, int] = {}
    for author, time in of:
        best[author] = (max if latest else min)(best.get(author, time), time)
    return sorted(best.values(), reverse=latest)[1] if len(best) > 1 else None


@dataclass
class BruteForce:
    """The effective times by their definition, word for word."""

    messages: Sequence[DatedMessage]

    def is_before(self, one: DatedMessage, other: DatedMessage) -> bool:
        near = before_of(other, self.messages)
        return one in near or any(self.is_before(one, each) for each in near)

    def evidence(self, of: DatedMessage) -> int | None:
        claimed = claim_of(of.claimed_us)
        if claimed is None:
            return None
        earlier = [other for other in self.messages if self.is_before(other, of)]
        claims = [(one.author, claim) for one in earlier if (claim := claim_of(one.claimed_us))]
        return max(claimed, second(claims, latest=True) or 0)

    def time(self, of: DatedMessage) -> int:
        later = [other for other in self.messages if self.is_before(of, other)]
        claims = [(one.author, time) for one in later if (time := self.evidence(one)) is not None]
        cap, claimed = second(claims, latest=False), claim_of(of.claimed_us)
        own = -1 if claimed is None else claimed
        if cap is not None and own > cap + HOUR_US:
            own = cap
        return max([own, *(self.time(one) + 1 for one in before_of(of, self.messages)), 0])


CLOCKS = st.one_of(
    st.integers(0, 600).map(lambda minutes: START_US + minutes * MINUTE_US),
    st.sampled_from([None, 0, 1_000_000, START_US - 3 * YEAR_US, START_US + 70 * YEAR_US]),
)


@st.composite
def talks(draw: st.DrawFn) -> list[DatedMessage]:
    """Return messages of some people; each names some that were written before."""
    talk = Talk()
    for _ in range(draw(st.integers(1, 9))):
        known = st.lists(st.sampled_from(talk.said), max_size=3, unique=True) if talk.said else st.just([])
        talk.say(draw(st.integers(0, 3)), draw(CLOCKS), *draw(known))
    return talk.said


@settings(max_examples=300, deadline=None)
@given(talks(), st.data())
def test_any_set_of_messages_has_one_order(messages: list[DatedMessage], data: st.DataObject) -> None:
    some = data.draw(st.lists(st.sampled_from(messages), unique_by=lambda one: one.id))
    times = order_times(some)
    assert times == {one.id: BruteForce(some).time(one) for one in some}
    for one in some:
        for other in before_of(one, some):
            assert times[other.id] < times[one.id], "against a predecessor, or the author's own sequence"
    shuffled = data.draw(st.permutations(some))
    numbers = {author: 7 * (author + 1) for author in range(4)}
    other_numbers = [replace(one, author=numbers[one.author]) for one in shuffled]
    assert order_times(other_numbers) == times


@settings(max_examples=300, deadline=None)
@given(talks())
def test_an_added_message_has_its_time_at_once_unless_it_says_otherwise(
    messages: list[DatedMessage],
) -> None:
    """The shortcut agrees with the whole computation wherever it claims to be exact."""
    times: dict[bytes, int] = {}
    for count, one in enumerate(messages, 1):
        now = order_times(messages[:count])
        before_us = max((times[other.id] for other in before_of(one, messages[: count - 1])), default=-1)
        found = append_time(
            one.claimed_us, before_us, contradicted=is_contradicted(messages[: count - 1], times)
        )
        if found.exact:
            assert now == {**times, one.id: found.order_us}
        times = now


def test_right_clocks_give_the_order_of_writing() -> None:
    talk = Talk()
    messages = [talk.say(number % 3, START_US + number * MINUTE_US) for number in range(9)]
    assert talk.order() == messages
    assert order_times(messages) == {one.id: one.claimed_us for one in messages}


@pytest.mark.parametrize("years", [1, 70, 7_000])
def test_a_clock_far_ahead_does_not_take_along_what_follows(years: int) -> None:
    """Two others have answered: their clocks count, and later messages that know nothing of it come behind."""
    talk = Talk()
    first = talk.say(0, START_US)
    wrong = talk.say(1, START_US + years * YEAR_US, first)
    alone = talk.say(2, START_US + 30 * MINUTE_US, wrong)
    assert talk.order() == [first, wrong, alone]
    later = talk.say(0, START_US + 40 * MINUTE_US, alone)
    apart = talk.say(3, START_US + 50 * MINUTE_US, first)
    again = talk.say(1, START_US + years * YEAR_US, later)
    answer = talk.say(2, START_US + 60 * MINUTE_US, again)
    end = talk.say(3, START_US + 70 * MINUTE_US, answer)
    assert talk.order() == [first, wrong, alone, later, apart, again, answer, end]
    assert order_times(talk.said)[end.id] - START_US < 71 * MINUTE_US


def test_a_clock_that_was_never_set_comes_behind_what_it_answers() -> None:
    talk = Talk()
    first = talk.say(0, START_US)
    reset = talk.say(1, 5_000_000, first)
    other = talk.say(2, START_US + MINUTE_US, first)
    assert talk.order() == [first, reset, other]


def test_two_clocks_years_behind_do_not_pull_right_ones_back() -> None:
    """Boards without a battery: they follow two people's later clocks, which shows that theirs are wrong."""
    talk = Talk()
    first, second = talk.say(0, START_US), talk.say(1, START_US + MINUTE_US)
    late = [talk.say(board, START_US - 3 * YEAR_US, first, second) for board in (2, 3)]
    times = order_times(talk.said)
    assert [times[first.id], times[second.id]] == [first.claimed_us, second.claimed_us]
    assert set(talk.order()[2:]) == set(late)


def test_one_author_alone_cannot_move_the_messages_of_others() -> None:
    """However many messages of theirs contradict them."""
    talk = Talk()
    honest = talk.say(0, START_US)
    for _ in range(9):
        talk.say(1, START_US - YEAR_US, honest)
    assert order_times(talk.said)[honest.id] == START_US


def test_a_message_without_time_comes_right_behind_its_predecessor() -> None:
    talk = Talk()
    first = talk.say(0, START_US)
    bare = talk.say(0, None)
    other = talk.say(1, START_US + 1_000_000)
    assert talk.order() == [first, bare, other]
    assert order_times([bare])[bare.id] == 0


def test_times_are_doubtful_where_others_contradict_them() -> None:
    assert doubtful(None, START_US)
    assert doubtful(5_000_000, START_US)
    assert doubtful(START_US + YEAR_US, START_US)
    assert not doubtful(START_US - HOUR_US, START_US)


def test_messages_before_themselves_have_an_order_all_the_same() -> None:
    """A forged id for a brief tie can close a circle."""
    one, other = id_of(1, 1), id_of(2, 1)
    circle = [
        DatedMessage(one, 1, 1, START_US, (other,)),
        DatedMessage(other, 2, 1, START_US + 1, (one,)),
        DatedMessage(id_of(3, 1), 3, 1, START_US, (other,)),
        DatedMessage(id_of(1, 2), 1, 2, START_US, ()),
    ]
    times = order_times(circle)
    assert order_times(circle[::-1]) == times
    assert times[one] < times[other] < times[id_of(3, 1)]
    assert times[one] < times[id_of(1, 2)], "never against an author's own sequence"


# --- kept while messages come


@settings(max_examples=200, deadline=None)
@given(talks(), st.data())
def test_an_order_that_is_kept_is_that_of_all_messages(
    messages: list[DatedMessage], data: st.DataObject
) -> None:
    kept = OrderedMessages()
    waiting = data.draw(st.permutations(messages))
    added: list[DatedMessage] = []
    while waiting:
        ids = {one.id for one in added}
        ready = [one for one in waiting if ids.issuperset(one.previous)]
        kept.add(ready[0])
        added.append(ready[0])
        waiting.remove(ready[0])
        if data.draw(st.booleans()) or not waiting:
            kept.settle()
            times = order_times(added)
            assert kept.positions == sorted((time, id_) for id_, time in times.items())
            assert {one.id: kept.time(one.id) for one in added} == times
    assert not kept.settle()


def test_feeds_of_one_author_are_sequences_of_their_own_and_have_one_vote() -> None:
    talk = Talk()
    ahead = talk.say(1, START_US + 30 * YEAR_US)
    witness = DatedMessage(id_of(2, 1), 2, 1, START_US, (ahead.id,))
    other_feed = DatedMessage(id_of(2, 2), 2, 1, START_US + 1, (ahead.id,), feed=1)
    times = order_times([ahead, witness, other_feed])
    assert times[ahead.id] == START_US + 30 * YEAR_US, "an author contradicts once"
    later = DatedMessage(id_of(2, 3), 2, 2, START_US - HOUR_US, (), feed=1)
    times = order_times([witness, later, replace(other_feed, previous=())])
    assert times[later.id] == START_US + 2, "right behind the one before in its feed"
    assert times[witness.id] == START_US


@pytest.mark.parametrize("text", ["", "1", "x" * 18, "²" * 18, "0" * 18 + "zz", "0" * 18 + "00" * 22])
def test_what_is_no_position_is_refused(text: str) -> None:
    assert read_order_key(text) is None


def test_positions_as_text_compare_as_the_order_is() -> None:
    one, other = order_key(5, b"\x01" * 20), order_key(5, b"\x02" * 20)
    assert one < right_behind(one) < other < order_key(6, bytes(20))
    assert read_order_key(one) == (5, b"\x01" * 20)
    assert read_order_key(right_behind(one)) == (5, b"\x01" * 20 + b"\x00")
