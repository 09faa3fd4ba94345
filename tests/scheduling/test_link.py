"""Faces' manners."""

import pytest

from tinyssb_node import limits
from tinyssb_node.scheduling.link import (
    LinkMedium,
    LinkProfile,
    air_profile,
    lan_profile,
    stream_profile,
)

AIRTIMES_US = [1_000 + 10 * length for length in range(limits.PACKET_SIZE + 1)]


@pytest.mark.parametrize(
    ("profile", "medium"),
    [
        (stream_profile(), LinkMedium.STREAM),
        (lan_profile(), LinkMedium.LAN),
        (air_profile(AIRTIMES_US), LinkMedium.AIR),
    ],
)
def test_every_length_has_an_airtime_and_numbers_make_sense(profile: LinkProfile, medium: LinkMedium) -> None:
    assert profile.medium is medium
    assert len(profile.airtime_us) == limits.PACKET_SIZE + 1
    assert 0 < profile.advert_min_us < profile.advert_max_us
    assert 0 < profile.burst <= profile.burst_max <= limits.QUEUE_MAX
    assert profile.answer_delay_us < profile.hold_us


def test_on_a_radio_all_times_follow_from_the_longest_packet() -> None:
    slow = air_profile([2 * airtime_us for airtime_us in AIRTIMES_US])
    quick = air_profile(AIRTIMES_US)
    assert slow.window == quick.window == 1
    assert quick.gap_us == AIRTIMES_US[limits.PACKET_SIZE]
    for name in ("gap_us", "answer_delay_us", "hold_us", "advert_min_us", "advert_max_us"):
        assert getattr(slow, name) == 2 * getattr(quick, name)


@pytest.mark.parametrize("count", [0, limits.PACKET_SIZE, limits.PACKET_SIZE + 2])
def test_a_table_of_another_length_is_refused(count: int) -> None:
    with pytest.raises(ValueError, match="121 values"):
        air_profile([1] * count)
