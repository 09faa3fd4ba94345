"""Which gossip packets are repeats."""

import random

from tests.nodes import FACE, radio_profile
from tinyssb_node.node.reception_log import ReceptionLog
from tinyssb_node.scheduling.refusals import RefusalLog
from tinyssb_node.scheduling.transmit_queue import TransmitQueue


def test_the_same_packet_is_a_repeat_for_a_hold() -> None:
    air = TransmitQueue(FACE, radio_profile(), "bench", random.Random(1), 0)
    log = ReceptionLog(RefusalLog())
    log.face_up(FACE, 0)
    hold_us = air.profile.hold_us
    assert not log.is_repeat(air, b"hash", 0)
    assert log.is_repeat(air, b"hash", hold_us - 1)
    assert not log.is_repeat(air, b"hash", 2 * hold_us)
    assert not log.is_repeat(air, b"another", 2 * hold_us)
