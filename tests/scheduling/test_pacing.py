"""How fast a face is fed."""

import random
from dataclasses import replace

import pytest

from tests.nodes import AIR_PACKET_US, radio_profile
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.scheduling.pacing import Pacer

GAP_US = AIR_PACKET_US


def pacer(profile: LinkProfile) -> Pacer:
    return Pacer(profile, random.Random(1), 0)


def test_a_face_holds_as_many_as_its_window() -> None:
    two = pacer(replace(stream_profile(), window=2))
    two.handed()
    assert two.may_send(0)
    two.handed()
    assert not two.may_send(0)
    assert two.next_us is None
    two.sent(1, 5)
    assert two.may_send(5)
    assert two.outstanding == 1


def test_more_sent_than_handed_is_the_faces_mistake() -> None:
    with pytest.raises(AssertionError):
        pacer(stream_profile()).sent(1, 0)


def test_a_stream_needs_no_silence() -> None:
    stream = pacer(stream_profile())
    stream.handed()
    stream.sent(1, 7)
    stream.heard(7, answered_for_us=True)
    assert stream.may_send(7)


def test_a_local_network_gets_its_gap_and_no_more() -> None:
    lan = pacer(lan_profile())
    lan.handed()
    lan.sent(1, 10)
    lan.heard(10, answered_for_us=True)
    assert lan.next_us == 10 + lan_profile().gap_us


def test_the_air_is_left_to_others_for_one_to_two_gaps() -> None:
    waits_us = []
    air = pacer(radio_profile())
    for turn in range(200):
        now_us = turn * 10 * GAP_US
        air.handed()
        air.sent(1, now_us)
        assert air.next_us is not None
        waits_us.append(air.next_us - now_us)
    assert GAP_US <= min(waits_us) < 1.1 * GAP_US
    assert 1.9 * GAP_US < max(waits_us) < 2 * GAP_US


@pytest.mark.parametrize(("answered_for_us", "least", "most"), [(False, 0, 1), (True, 2, 3)])
def test_who_hears_steps_back_more_when_answered_for(answered_for_us: bool, least: int, most: int) -> None:
    waits_us = []
    air = pacer(radio_profile())
    for turn in range(200):
        now_us = turn * 10 * GAP_US
        air.heard(now_us, answered_for_us=answered_for_us)
        assert air.next_us is not None
        waits_us.append(air.next_us - now_us)
    assert least * GAP_US <= min(waits_us) < (least + 0.1) * GAP_US
    assert (most - 0.1) * GAP_US < max(waits_us) < most * GAP_US


def test_hearing_does_not_shorten_a_silence() -> None:
    air = pacer(radio_profile())
    air.heard(0, answered_for_us=True)
    due_us = air.next_us
    air.heard(0, answered_for_us=False)
    assert air.next_us == due_us
