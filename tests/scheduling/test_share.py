"""The share of the airtime that one kind of talk takes."""

from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.scheduling.link import Allowance
from tinyssb_node.scheduling.share import AirShare

ALLOWANCE = Allowance(band="g1", limit_us=36_000, window_us=3_600_000)


def test_it_is_there_until_it_is_spent_and_back_when_the_window_has_gone() -> None:
    share = AirShare(ALLOWANCE)
    assert share.has(500, 0)
    share.spent(17_999, 100)
    assert share.has(500, 100)
    share.spent(1, 200)
    assert not share.has(500, 200)
    assert share.has(501, 200)
    assert not share.has(125, 3_600_099)
    assert share.has(125, 3_600_100)
    assert share.has(500, 9_999_999)


@given(
    st.lists(st.tuples(st.integers(0, 2_000_000), st.integers(1, 9_000)), max_size=30), st.integers(0, 999)
)
def test_no_window_has_more_than_the_share_and_one_packet(
    spans: list[tuple[int, int]], permille: int
) -> None:
    share, now_us = AirShare(ALLOWANCE), 0
    taken: list[tuple[int, int]] = []
    for span_us, airtime_us in spans:
        now_us += span_us
        if share.has(permille, now_us):
            share.spent(airtime_us, now_us)
            taken.append((now_us, airtime_us))
        window = [one for at_us, one in taken if now_us - at_us < ALLOWANCE.window_us]
        assert sum(window) <= ALLOWANCE.limit_us * permille / 1_000 + max(window, default=0)
