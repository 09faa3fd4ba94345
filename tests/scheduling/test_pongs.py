"""Boards that ping are answered where that is asked for, and never more often than is worth it."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import AIR_PACKET_US, radio_profile
from tinyssb_node import limits
from tinyssb_node.codec.dmx import PING_DMX, PONG_DMX
from tinyssb_node.codec.packets import Ping, Pong, parse_pong, serialize_ping
from tinyssb_node.ids import FaceName, PacketKind
from tinyssb_node.scheduling.budget import AirBudgets, BootReference
from tinyssb_node.scheduling.link import Allowance, Reception
from tinyssb_node.scheduling.pongs import PongHistory
from tinyssb_node.scheduling.transmit_queue import TransmitQueue
from tinyssb_node.store.memory import MemoryStore

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
QUIET_US = 20 * SECOND_US
"""Long enough for every draw of the contention to be over, and no time at all to a pong."""
HEARD = Reception(rssi_dbm=-87, snr_db=9.5)
PING = PING_DMX + b"Q 3fa2 t=17"


def line_of(*, answers_pings: bool = True, name: str = "radio") -> TransmitQueue:
    profile = replace(radio_profile(), answers_pings=answers_pings)
    return TransmitQueue(FaceName(name), profile, "bench", random.Random(1), 0)


def ping_of(board: int) -> bytes:
    return serialize_ping(Ping(f"{board:04x}", (("t", "17"),)))


def said(queue: TransmitQueue, now_us: int) -> bytes | None:
    """The pong that goes when the channel has fallen silent, if any."""
    assert queue.pop(now_us + QUIET_US) is None
    kind = queue.pop_advert(now_us + QUIET_US)
    assert kind in {None, PacketKind.PONG}
    built = None if kind is None else queue.build_pong()
    if built is None:
        return None
    queue.hand_advert(built)
    queue.sent(1, now_us + QUIET_US)
    return built[0]


def test_a_ping_is_answered_as_boards_answer_it() -> None:
    queue = line_of()
    PongHistory("00ff").heard(queue, PING, HEARD, 4 * SECOND_US)
    assert said(queue, 4 * SECOND_US) == PONG_DMX + b"R 00ff t=4 rssi=-87dBm snr=9.5 [Q 3fa2 t=17]"


def test_what_is_not_known_of_the_reception_is_left_out() -> None:
    queue = line_of()
    PongHistory("00ff").heard(queue, PING + b"\0\0", Reception(), 0)
    assert said(queue, 0) == PONG_DMX + b"R 00ff t=0 [Q 3fa2 t=17]"


def test_a_long_ping_is_quoted_as_far_as_a_board_has_room() -> None:
    queue = line_of()
    PongHistory("00ff").heard(queue, PING + b" gps=" + b"1" * 90, HEARD, 0)
    pong = said(queue, 0)
    assert pong is not None
    assert len(pong) == limits.PONG_OWN_MAX_SIZE
    assert parse_pong(pong).request.startswith("Q 3fa2 t=17 gps=1")


@pytest.mark.parametrize(
    ("name", "answers_pings", "packet"),
    [
        ("00ff", False, PING),
        (None, True, PING),
        ("00ff", True, PONG_DMX + b"R 3fa2 t=17"),
        ("00ff", True, PING_DMX + b"R 3fa2 t=17"),
        ("00ff", True, PING_DMX + b"Q \xff"),
        ("00ff", True, PING_DMX),
        ("00ff", True, b"Q 3fa2 t=17"),
    ],
)
def test_nobody_else_is_answered(name: str | None, answers_pings: bool, packet: bytes) -> None:
    queue = line_of(answers_pings=answers_pings)
    PongHistory(name).heard(queue, packet, HEARD, 0)
    assert said(queue, 0) is None


def test_a_board_is_answered_once_a_minute_and_others_in_between() -> None:
    queue, pongs, answered = line_of(), PongHistory("00ff"), []
    for second in range(0, 180, 5):
        board = second // 5 % 2
        pongs.heard(queue, ping_of(board), HEARD, second * SECOND_US)
        pong = said(queue, second * SECOND_US)
        if pong is not None:
            answered.append((second, parse_pong(pong).request))
    assert answered == [
        (0, "Q 0000 t=17"),
        (15, "Q 0001 t=17"),
        (60, "Q 0000 t=17"),
        (75, "Q 0001 t=17"),
        (120, "Q 0000 t=17"),
        (135, "Q 0001 t=17"),
    ]


def test_each_face_has_boards_of_its_own() -> None:
    pongs, roof, cellar = PongHistory("00ff"), line_of(name="roof"), line_of(name="cellar")
    for queue in (roof, cellar):
        pongs.heard(queue, PING, HEARD, 0)
        assert said(queue, 0) is not None


def test_made_up_names_bring_no_more_than_one_pong_every_ten_seconds() -> None:
    queue, pongs = line_of(), PongHistory("00ff")
    answers = 0
    for number in range(600):
        now_us = number * SECOND_US // 10
        pongs.heard(queue, ping_of(number), HEARD, now_us)
        answers += PacketKind.PONG in queue.adverts
        queue.adverts.clear()
    assert answers == 6


def test_a_pong_waits_for_the_advert_share_and_is_dropped_when_that_takes_too_long() -> None:
    allowance = Allowance(band="x", limit_us=2 * AIR_PACKET_US, window_us=HOUR_US)
    budget = AirBudgets(MemoryStore(), BootReference("a", 0)).open(allowance, AIR_PACKET_US, 0)
    profile = replace(radio_profile(), allowance=allowance, answers_pings=True)
    queue = TransmitQueue(FaceName("radio"), profile, "bench", random.Random(1), 0, budget)
    pongs = PongHistory("00ff")
    pongs.heard(queue, PING, HEARD, 0)
    pong = said(queue, 0)
    assert pong is not None
    spent_us = profile.airtime_us[len(pong)]
    assert budget.status(QUIET_US).advert_left_us == AIR_PACKET_US - spent_us
    assert budget.status(QUIET_US).content_left_us == 2 * AIR_PACKET_US - spent_us
    pongs.heard(queue, PING, HEARD, 120 * SECOND_US)
    assert said(queue, 120 * SECOND_US) is None
    assert queue.counters.held_back == 1
    assert said(queue, 2 * HOUR_US) is None
    assert not queue.adverts


def test_a_pong_that_found_the_channel_busy_is_tried_again() -> None:
    queue = line_of()
    PongHistory("00ff").heard(queue, PING, HEARD, 0)
    assert queue.pop_advert(QUIET_US) is PacketKind.PONG
    built = queue.build_pong()
    assert built is not None
    queue.hand_advert(built)
    queue.give_back(QUIET_US)
    assert queue.pop_advert(QUIET_US + 9 * SECOND_US) is PacketKind.PONG
    assert queue.build_pong() == built


@given(
    st.binary(max_size=limits.PACKET_SIZE), st.none() | st.integers(-200, 50), st.none() | st.floats(-40, 40)
)
def test_any_ping_is_answered_by_a_pong_or_by_nothing(
    text: bytes, rssi_dbm: int | None, snr_db: float | None
) -> None:
    queue = line_of()
    PongHistory("00ff").heard(queue, PING_DMX + b"Q " + text, Reception(rssi_dbm=rssi_dbm, snr_db=snr_db), 0)
    pong = said(queue, 0)
    if pong is not None:
        assert len(pong) <= limits.PONG_OWN_MAX_SIZE
        parsed = parse_pong(pong)
        assert parsed == Pong("00ff", parsed.fields, parsed.request)
