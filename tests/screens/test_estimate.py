"""Estimates of the cost of publishing, from what the daemon reports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.control.rows import AirtimeRow, FaceRow
from tinyssb_node.screens.estimate import (
    AirtimeCost,
    as_json,
    cost_line,
    costs_in_words,
    estimate,
    percent,
    seconds,
)

HOUR_US = 3_600_000_000
FULL_US = 205_056


def face(name: str, medium: str = "air", full_us: int | None = FULL_US) -> FaceRow:
    """A face as the daemon tells of it; one that is older than `full_us` with None."""
    return FaceRow(
        face=name,
        spec="",
        medium=medium,
        queued=0,
        outstanding=0,
        sent=0,
        received=0,
        new=0,
        invalid=0,
        heard_us=None,
        full_us=full_us,
    )


def account(*names: str, left_us: int = 32_400_000, limit_us: int = 36_000_000) -> AirtimeRow:
    """One sub-band's account."""
    return AirtimeRow(
        band="EU868 868.0-868.6",
        faces=list(names),
        limit_us=limit_us,
        window_us=HOUR_US,
        used_us=0,
        left_us=limit_us,
        advert_left_us=0,
        content_left_us=left_us,
        full_us=FULL_US,
        wait_us=0,
    )


def test_ninety_one_packets_are_half_an_hours_budget() -> None:
    (cost,) = estimate(91, [face("radio"), face("udp", "lan", 0)], [account("radio")])
    assert cost_line(cost) == "radio: 91 packets, 18.7 s of airtime, 52 % of this hour's budget"
    assert as_json(cost)["wait_us"] == 0


def test_without_a_radio_it_costs_nothing() -> None:
    costs = estimate(91, [face("udp", "lan", 0)], [])
    assert costs_in_words(91, costs) == ["91 packets; no radio face is up, so this costs no airtime"]
    assert costs_in_words(1, estimate(1, [face("udp", "lan", 0)], [account("gone")]))[0].startswith(
        "1 packet;"
    )


def test_what_may_not_go_at_once_is_told_with_the_time_it_takes() -> None:
    (cost,) = estimate(91, [face("radio")], [account("radio", left_us=12_000_000)])
    assert cost_line(cost).endswith("budget; 12.0 s may be sent now, the last packet within 1 h 0 min")
    (cost,) = estimate(656, [face("radio")], [account("radio")])
    assert cost_line(cost) == (
        "radio: 656 packets, 2 min 14 s of airtime, 374 % of this hour's budget; "
        "32.4 s may be sent now, the last packet within 4 h 0 min"
    )


def test_two_faces_in_one_sub_band_say_it_twice() -> None:
    (cost,) = estimate(10, [face("a"), face("b", full_us=100_000)], [account("a", "b")])
    assert (cost.faces, cost.air_us) == (("a", "b"), 10 * (FULL_US + 100_000))


def test_a_radio_without_a_limit_has_no_budget() -> None:
    (cost,) = estimate(10, [face("us")], [])
    assert cost_line(cost) == "us: 10 packets, 2.1 s of airtime, no limit"
    assert (cost.share, cost.wait_us, as_json(cost)["band"]) == (None, 0, None)


def test_a_daemon_that_does_not_tell_the_airtime_of_a_face_tells_that_of_its_sub_band() -> None:
    (cost,) = estimate(10, [face("radio", full_us=None)], [account("radio")])
    assert cost.air_us == 10 * FULL_US


def test_another_window_is_named_by_its_length() -> None:
    cost = AirtimeCost(faces=("r",), packets=1, air_us=1, limit_us=600, window_us=60_000_000, left_us=600)
    assert cost_line(cost) == "r: 1 packet, 0.0 s of airtime, less than 1 % of the budget for 1 min 0 s"


def test_a_name_that_would_move_the_cursor_does_not() -> None:
    assert "\x1b" not in cost_line(AirtimeCost(faces=("\x1b[2J",), packets=1, air_us=1))


@pytest.mark.parametrize(
    ("share", "words"), [(0, "0 %"), (0.009, "less than 1 %"), (0.52, "52 %"), (30, "3,000 %")]
)
def test_shares_in_words(share: float, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize(("us", "words"), [(0, "0.0 s"), (18_660_096, "18.7 s"), (600_000_000, "10 min 0 s")])
def test_times_in_words(us: int, words: str) -> None:
    assert seconds(us) == words


@given(st.integers(1, 10_000), st.integers(0, 36_000_000), st.integers(1, 36_000_000))
def test_within_the_time_told_the_law_lets_everything_go(packets: int, left_us: int, limit_us: int) -> None:
    (cost,) = estimate(packets, [face("radio")], [account("radio", left_us=left_us, limit_us=limit_us)])
    content_us = max(1, limit_us * limits.AIR_CONTENT_PERMILLE // 1_000)
    windows = cost.wait_us // HOUR_US
    assert left_us + windows * content_us >= cost.air_us
    assert windows == 0 or left_us + (windows - 1) * content_us < cost.air_us
