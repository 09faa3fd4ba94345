"""The rhythm of asking and answering."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.scheduling.requester import ReplyCredit, RequestPacer, share_out, take_turns


def asked_after(requester: RequestPacer, count: int) -> list[int]:
    return [number for number in range(1, count + 1) if requester.got()]


def test_asking_again_takes_ever_more_packets_up_to_half_the_longest_answer() -> None:
    for longest, first_gaps in ((512, [3, 6, 12, 24, 48, 96, 192, 256, 256]), (64, [3, 6, 12, 24, 32, 32])):
        asked = asked_after(RequestPacer(longest), 2_000)
        gaps = [asked[0], *(later - earlier for earlier, later in itertools.pairwise(asked))]
        assert gaps[: len(first_gaps)] == first_gaps


def test_when_the_timer_had_to_ask_what_came_was_a_whole_answer() -> None:
    requester = RequestPacer(512)
    asked_after(requester, 3 + 6 + 12)
    asked_after(requester, 5)
    requester.timer_asked()
    assert asked_after(requester, 5) == [5]


def test_after_a_failed_attempt_at_more_it_stays_with_what_came_for_a_while() -> None:
    requester = RequestPacer(512)
    asked_after(requester, 3 + 3)
    requester.timer_asked()
    asked = [0, *asked_after(requester, 3 * RequestPacer.STEADY + 3 + 6)]
    assert [later - earlier for earlier, later in itertools.pairwise(asked)] == [3] * (
        RequestPacer.STEADY + 1
    ) + [6]


def test_silence_falls_back_to_the_least() -> None:
    requester = RequestPacer(512)
    asked_after(requester, 500)
    requester.timer_asked()
    requester.timer_asked()
    assert asked_after(requester, 3) == [3]


def test_credit_doubles_while_the_asker_takes_what_it_is_given() -> None:
    credit: ReplyCredit[str] = ReplyCredit(5, 40)
    assert [credit.grant({"feed": seq}) for seq in (1, 6, 16, 36, 76)] == [5, 10, 20, 40, 40]


def test_credit_falls_back_when_the_very_same_is_asked_anew() -> None:
    credit: ReplyCredit[str] = ReplyCredit(5, 40)
    for seq in (1, 6, 16):
        credit.grant({"feed": seq})
    assert credit.grant({"feed": 16}) == 5


def test_a_chain_no_longer_asked_for_was_taken() -> None:
    credit: ReplyCredit[str] = ReplyCredit(5, 40)
    credit.grant({"a": 1, "b": 1})
    assert credit.grant({"b": 1}) == 10


def test_asking_for_less_than_before_keeps_the_credit() -> None:
    credit: ReplyCredit[str] = ReplyCredit(5, 40)
    credit.grant({"a": 9})
    assert credit.grant({"a": 3}) == 5
    assert credit.grant({"a": 5}) == 10


def test_room_is_spread_over_chains_first() -> None:
    assert share_out(5, [9, 9, 9]) == [2, 2, 1]
    assert share_out(5, [1, 0, 9]) == [1, 0, 4]
    assert share_out(2, [9, 9, 9]) == [1, 1, 0]
    assert share_out(9, [1, -3, 2]) == [1, 0, 2]
    assert share_out(0, [9]) == [0]
    assert share_out(4, []) == []


@given(st.integers(0, 600), st.lists(st.integers(-3, 60), max_size=40))
def test_shares_use_the_room_and_are_even(room: int, available: list[int]) -> None:
    shares = share_out(room, available)
    assert sum(shares) == min(room, sum(max(0, most) for most in available))
    assert all(0 <= share <= max(0, most) for share, most in zip(shares, available, strict=True))
    unsated = [share for share, most in zip(shares, available, strict=True) if share < most]
    assert not unsated or max(shares) - min(unsated) <= 1


def test_chains_take_turns() -> None:
    assert take_turns([[b"a1", b"a2", b"a3"], [], [b"b1"], [b"c1", b"c2"]]) == [
        b"a1",
        b"b1",
        b"c1",
        b"a2",
        b"c2",
        b"a3",
    ]
    assert take_turns([]) == []
