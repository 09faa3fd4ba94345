"""Which gossip packets are repeats, and which copies of entries are second ones."""

import random

from tests.nodes import FACE, radio_profile
from tinyssb_node import limits
from tinyssb_node.node.reception_log import ReceptionLog
from tinyssb_node.scheduling.refusals import RefusalLog
from tinyssb_node.scheduling.transmit_queue import TransmitQueue


def on_air() -> tuple[TransmitQueue, ReceptionLog]:
    """A face on the air, and a log."""
    log = ReceptionLog(RefusalLog())
    log.face_up(FACE, 0)
    return TransmitQueue(FACE, radio_profile(), "bench", random.Random(1), 0), log


def test_the_same_packet_is_a_repeat_for_a_hold() -> None:
    air, log = on_air()
    hold_us = air.profile.hold_us
    assert not log.is_repeat(air, b"hash", 0)
    assert log.is_repeat(air, b"hash", hold_us - 1)
    assert not log.is_repeat(air, b"hash", 2 * hold_us)
    assert not log.is_repeat(air, b"another", 2 * hold_us)


def test_a_copy_heard_before_within_ten_minutes_is_a_second_one() -> None:
    air, log = on_air()
    assert not log.is_second_copy(air, b"hash", 0)
    assert not log.is_second_copy(air, b"another", 0)
    assert log.is_second_copy(air, b"hash", limits.COPIES_US - 1)
    assert not log.is_second_copy(air, b"hash", 2 * limits.COPIES_US)
