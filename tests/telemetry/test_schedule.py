"""How often records may be sent, and when they wait for messages."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.content.telemetry import PositionRecord, withdrawal
from tinyssb_node.control.rows import AirtimeRow, FaceRow
from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.schedule import Pace, air_us, busy, moved_m

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
NOW_US = 1_762_495_200_000_000


def account(
    limit_us: int, *, full_us: int = 200_000, left_us: int | None = None, wait_us: int | None = 0
) -> AirtimeRow:
    content_us = limit_us * 900 // 1_000 if left_us is None else left_us
    return AirtimeRow(
        "869.4-869.65", ["radio"], limit_us, HOUR_US, 0, limit_us, limit_us, content_us, full_us, wait_us
    )


def face(name: str = "radio", medium: str = "air", full_us: int | None = 200_000, **counts: int) -> FaceRow:
    zero = dict.fromkeys(("queued", "outstanding", "sent", "received", "new", "invalid"), 0)
    return FaceRow(face=name, spec=name, medium=medium, heard_us=None, full_us=full_us, **{**zero, **counts})


def test_ten_nodes_at_sf7_and_ten_percent_share_the_airtime_of_records() -> None:
    # 10 nodes x 200 ms, of 5 % of a tenth of the time.
    assert air_us(10, [face()], [account(360_000_000)]) == 400_000_000
    # SF9, 1 %: 3.5 hours.
    assert air_us(10, [face()], [account(36_000_000, full_us=636_000)]) == 12_720_000_000


def test_the_narrowest_radio_counts_and_wires_cost_nothing() -> None:
    assert air_us(10, [face("udp", "wire", None)], []) == 0
    free = face("us915", full_us=100_000)
    assert air_us(10, [face(), free], [account(360_000_000)]) == 400_000_000
    assert air_us(10, [face("us915", full_us=400_000)], []) == 800_000_000


def test_all_nodes_at_that_pace_take_no_more_than_their_share() -> None:
    limit_us, full_us, nodes = 36_000_000, 636_000, 25
    interval_us = air_us(nodes, [], [account(limit_us, full_us=full_us)])
    sent_us = nodes * full_us * HOUR_US // interval_us
    assert sent_us <= limit_us * limits.AIR_PERMILLE // 1_000


@pytest.mark.parametrize(
    ("faces", "accounts", "why"),
    [
        ([face()], [account(360_000_000)], None),
        ([face()], [account(360_000_000, left_us=100_000_000)], "messages need the airtime"),
        ([face()], [account(360_000_000, wait_us=5)], "messages need the airtime"),
        ([face()], [account(360_000_000, wait_us=None)], "messages need the airtime"),
        ([face(queued=1)], [account(360_000_000)], "radio has packets to send"),
        ([face(outstanding=1)], [], "radio has packets to send"),
        ([face("udp", "wire", None, queued=9)], [], None),
    ],
)
def test_records_wait_for_messages(faces: list[FaceRow], accounts: list[AirtimeRow], why: str | None) -> None:
    found = busy(faces, accounts)
    assert found is None if why is None else why in str(found)


PACES = st.builds(
    Pace,
    wished_us=st.integers(5, 10_080).map(lambda minutes: minutes * MINUTE_US),
    air_us=st.integers(0, 30 * HOUR_US),
    per_day=st.integers(1, 96),
)


@given(PACES, st.lists(st.booleans(), max_size=300))
def test_a_node_that_sends_whenever_it_may_keeps_all_limits(pace: Pace, kinds: list[bool]) -> None:
    sent: list[tuple[int, bool]] = []
    now_us = NOW_US
    for kind in kinds:
        latest_us = max((at for at, of in sent if of is kind), default=None)
        next_us = pace.next_us(latest_us, [at for at, _ in sent])
        now_us = max(now_us, next_us)
        sent.append((now_us, kind))
    times = [at for at, _ in sent]
    for at in times:
        assert sum(at - limits.DAY_US < one <= at for one in times) <= pace.per_day
    assert all(after - before >= pace.air_us for before, after in pairwise(times))
    for kind in (True, False):
        own = [at for at, of in sent if of is kind]
        assert all(after - before >= pace.wished_us for before, after in pairwise(own))


@given(PACES)
def test_a_record_outlives_several_intervals(pace: Pace) -> None:
    assert pace.interval_us % MINUTE_US == 0
    assert pace.valid_minutes * MINUTE_US >= 4 * pace.interval_us
    assert pace.valid_minutes >= 60


def test_distances_are_along_the_earth() -> None:
    zurich, bern = (
        PositionRecord(latitude=4_737_690, longitude=854_170),
        PositionRecord(latitude=4_694_810, longitude=744_740),
    )
    assert moved_m(zurich, bern) == pytest.approx(95_500, rel=0.01)
    assert moved_m(zurich, zurich) == 0
    assert math.isinf(moved_m(zurich, withdrawal()))
    antipode = PositionRecord(latitude=-4_737_690, longitude=854_170 - 18_000_000)
    assert moved_m(zurich, antipode) == pytest.approx(20_015_000, rel=0.001)
