"""The bridge as its host sees it: every request of docs/formats/kiss.md, and any bytes at all."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firmware_bridge.firmware import kiss, limits
from firmware_bridge.firmware.wiring import Board
from firmware_bridge.serial.framing import serialize_frame
from firmware_bridge.serial.kiss import Data, HardwareCommand, KissMessage
from tests.docs.pages import read
from tests.emulated.kiss_wire import Phy, RadioSettings, serialize_phy, serialize_radio
from tests.firmware_bridge.firmware.bench import (
    AIRTIME_US,
    EU868A,
    PACKET,
    SX126X,
    SX127X,
    TINYSSB,
    Air,
    Station,
)
from tests.firmware_bridge.serial.test_kiss import SUBS

BOARDS = pytest.mark.parametrize("board", [SX127X, SX126X], ids=lambda board: board.name)


def error(code: int) -> list[KissMessage]:
    return [HardwareCommand(kiss.ERROR, bytes([code]))]


def awake(air: Air, board: Board = SX127X, name: str = "ana") -> Station:
    """One whose start has been noticed."""
    station = air.station(board, name)
    air.run(1_000)
    station.heard()
    return station


def ready(
    air: Air, board: Board = SX127X, name: str = "ana", *, cad: int = 0, duty_permille: int = 0
) -> Station:
    station = awake(air, board, name)
    station.set_up(cad=cad, duty_permille=duty_permille)
    return station


@pytest.mark.parametrize("by_watchdog", [False, True])
def test_a_start_is_told_with_its_cause(air: Air, by_watchdog: bool) -> None:
    station = air.station(by_watchdog=by_watchdog)
    air.run(1_000)
    assert station.heard() == [HardwareCommand(kiss.STARTED, bytes([by_watchdog]))]


def test_it_says_what_it_is(air: Air) -> None:
    station = awake(air)
    assert station.ask(kiss.PING) == [HardwareCommand(kiss.PONG)]
    assert station.ask(kiss.GET_VERSION) == [HardwareCommand(kiss.VERSION, b"\x02\x00")]
    assert station.ask(kiss.GET_BRIDGE) == [
        HardwareCommand(kiss.BRIDGE, b"\x01\x10tinySSB bridge on Pico with RFM95")
    ]


@BOARDS
def test_the_conversation_of_the_format_s_page(air: Air, board: Board) -> None:
    ana, ben = awake(air, board), awake(air, board, "ben")
    lines = re.findall(r"^([<>]) ((?:[0-9A-F]{2} )+)", read("docs/formats/kiss.md"), re.MULTILINE)
    assert len(lines) == 12
    said = [(direction, bytes.fromhex(data)) for direction, data in lines]
    for station in (ana, ben):
        for _, request in [line for line in said[:8] if line[0] == ">"]:
            station.host.to_board += request
            air.run(20_000)
    answers = [data for direction, data in said[:8] if direction == "<" and data[2] != kiss.BRIDGE]
    for answer in answers:
        assert answer in bytes(ana.host.to_host)
    ana.host.to_host.clear()
    ana.host.to_board += said[8][1]
    air.run(5_000_000)
    assert bytes(ana.host.to_host) == said[9][1]
    assert serialize_frame(b"\x00\x01\x02\xc0\x03") in bytes(ben.host.to_host)


@BOARDS
def test_settings_are_told_back(air: Air, board: Board) -> None:
    station = awake(air, board)
    assert station.ask(kiss.GET_RADIO) == error(kiss.NOT_AVAILABLE)
    station.set_up(cad=2, duty_permille=10)
    assert station.ask(kiss.GET_RADIO) == [HardwareCommand(kiss.RADIO, serialize_radio(EU868A))]
    assert station.ask(kiss.GET_PHY) == [HardwareCommand(kiss.PHY, serialize_phy(TINYSSB))]
    assert station.ask(kiss.GET_DUTY) == [HardwareCommand(kiss.DUTY, b"\x0a\x00" + bytes(4))]
    assert station.ask(kiss.SET_SIGNAL_REPORT, b"\x00") == [HardwareCommand(kiss.SIGNAL_REPORT, b"\x00")]


@BOARDS
@pytest.mark.parametrize(
    "radio",
    [
        {"frequency_hz": 100_000_000},
        {"frequency_hz": 0},
        {"bandwidth_hz": 0},
        {"bandwidth_hz": 200_000},
        {"spreading_factor": 13},
        {"spreading_factor": 0},
        {"coding_rate": 9},
    ],
    ids=str,
)
def test_what_a_chip_cannot_do_is_refused_and_changes_nothing(
    air: Air, board: Board, radio: dict[str, int]
) -> None:
    ana, ben = ready(air, board), ready(air, board, "ben")
    fields = {name: getattr(EU868A, name) for name in RadioSettings.__slots__}
    assert ana.ask(kiss.SET_RADIO, serialize_radio(RadioSettings(**fields | radio))) == error(
        kiss.INVALID_PARAM
    )
    assert ana.ask(kiss.GET_RADIO) == [HardwareCommand(kiss.RADIO, serialize_radio(EU868A))]
    assert ben.send(PACKET) == kiss.SENT
    air.run(5_000)
    assert Data(PACKET) in ana.heard()


@BOARDS
def test_each_setting_takes_effect_at_once_and_leaves_the_others(air: Air, board: Board) -> None:
    ana, ben = ready(air, board), ready(air, board, "ben")
    ana.ask(kiss.SET_POWER, b"\x0a")
    assert ana.chip.power_dbm() == 10
    assert ana.ask(kiss.SET_RADIO, serialize_radio(EU868A)) == [HardwareCommand(kiss.OK)]
    assert ana.chip.power_dbm() == 10
    other = Phy(sync_word=0x34, crc=False, preamble_symbols=8, low_data_rate=False)
    ana.ask(kiss.SET_PHY, serialize_phy(other))
    ben.send(PACKET)
    air.run(5_000)
    assert ana.heard() == [], "that was for other sync words"
    ben.ask(kiss.SET_PHY, serialize_phy(other))
    ben.send(PACKET)
    air.run(5_000)
    assert Data(PACKET) in ana.heard()


@pytest.mark.parametrize("set_up", [False, True])
@pytest.mark.parametrize(
    ("sub", "data", "code"),
    [
        (kiss.SET_PHY, bytes(4), kiss.INVALID_LENGTH),
        (kiss.SET_PHY, b"\x58\x02\x08\x00\x00", kiss.INVALID_PARAM),
        (kiss.SET_PHY, b"\x58\x00\x05\x00\x00", kiss.INVALID_PARAM),
        (kiss.SET_PHY, b"\x58\x00\x08\x00\x02", kiss.INVALID_PARAM),
        (kiss.SET_RADIO, bytes(9), kiss.INVALID_LENGTH),
        (kiss.SET_POWER, b"", kiss.INVALID_LENGTH),
        (kiss.SET_POWER, b"\x15", kiss.INVALID_PARAM),
        (kiss.SET_SIGNAL_REPORT, b"", kiss.INVALID_LENGTH),
        (kiss.SET_DUTY, b"\x01", kiss.INVALID_LENGTH),
        (kiss.SET_DUTY, b"\xe9\x03", kiss.INVALID_PARAM),
        (kiss.SET_CAD, b"", kiss.INVALID_LENGTH),
        (kiss.SET_CAD, b"\x09", kiss.INVALID_PARAM),
        (0x0E, b"", kiss.UNKNOWN_COMMAND),
    ],
)
def test_what_makes_no_sense_is_refused(air: Air, set_up: bool, sub: int, data: bytes, code: int) -> None:
    station = ready(air) if set_up else awake(air)
    assert station.ask(sub, data) == error(code)


@pytest.mark.parametrize(("sender", "receiver"), [(SX127X, SX126X), (SX126X, SX127X)])
def test_a_packet_goes_from_host_to_host(air: Air, sender: Board, receiver: Board) -> None:
    ana, ben = ready(air, sender), ready(air, receiver, "ben")
    before_us = air.timeline.now_us()
    assert ana.send(PACKET) == kiss.SENT
    assert AIRTIME_US <= air.timeline.now_us() - before_us <= AIRTIME_US + 5_000
    air.run(1_000)
    data, meta = ben.heard()
    assert (data, meta) == (Data(PACKET), HardwareCommand(kiss.RX_META, bytes([48, 256 - 86])))


def test_without_reports_of_signals_there_are_packets_alone(air: Air) -> None:
    ana, ben = ready(air), ready(air, name="ben")
    ben.ask(kiss.SET_SIGNAL_REPORT, b"\x00")
    ana.send(PACKET)
    air.run(1_000)
    assert ben.heard() == [Data(PACKET)]


def test_nothing_is_sent_before_the_radio_is_set(air: Air) -> None:
    assert awake(air).send(PACKET) == kiss.FAILED
    assert not air.ether.sent


@pytest.mark.parametrize("sub", [kiss.SET_RADIO, kiss.SET_PHY, kiss.SET_POWER])
def test_while_it_sends_it_takes_neither_packets_nor_settings(air: Air, sub: int) -> None:
    station = ready(air)
    station.write(Data(PACKET))
    air.run(20_000)
    station.write(Data(b"another"))
    data = {
        kiss.SET_RADIO: serialize_radio(EU868A),
        kiss.SET_PHY: serialize_phy(TINYSSB),
        kiss.SET_POWER: b"\x02",
    }
    assert station.ask(sub, data[sub]) == 2 * error(kiss.TX_BUSY)
    air.run(AIRTIME_US)
    assert station.heard() == [HardwareCommand(kiss.TX_DONE, bytes([kiss.SENT]))]
    assert [signal.payload for _, signal in air.ether.sent] == [PACKET]


def test_the_hour_s_airtime_is_held_to_the_limit(air: Air) -> None:
    station = ready(air, duty_permille=1)
    # 3.6 s are 17 packets of 205 ms.
    results = [station.send(PACKET) for _ in range(19)]
    assert results == [kiss.SENT] * 17 + [kiss.DUTY_SPENT] * 2
    first_us = air.ether.sent[0][1].start_us
    used_ms = -(-17 * AIRTIME_US // 1_000)
    assert station.ask(kiss.GET_DUTY) == [
        HardwareCommand(kiss.DUTY, b"\x01\x00" + used_ms.to_bytes(4, "little"))
    ]
    assert station.ask(kiss.SET_DUTY, b"\x00\x00")[0] == HardwareCommand(
        kiss.DUTY, b"\x00\x00" + used_ms.to_bytes(4, "little")
    )
    assert station.send(PACKET) == kiss.SENT
    station.ask(kiss.SET_DUTY, b"\x01\x00")
    # The window holds 18, and may hold 3.6 s at the end of the next: 91 ms of the second must have left it by then.
    air.timeline.advance(first_us + limits.WINDOW_US + 80_000 - air.timeline.now_us())
    assert station.send(PACKET) == kiss.DUTY_SPENT
    air.timeline.advance(first_us + limits.WINDOW_US + 105_000 - air.timeline.now_us())
    assert station.send(PACKET) == kiss.SENT


@BOARDS
def test_who_hears_somebody_keeps_the_packet(air: Air, board: Board) -> None:
    ana, ben = ready(air, board, cad=2), ready(air, board, "ben")
    ben.write(Data(PACKET))
    air.run(3_000)
    assert ana.send(PACKET) == kiss.BUSY
    air.run(AIRTIME_US)
    assert ana.send(PACKET) == kiss.SENT


@BOARDS
def test_a_packet_that_is_coming_in_is_not_broken_off(air: Air, board: Board) -> None:
    ana, ben = ready(air, board, cad=2), ready(air, board, "ben")
    ben.write(Data(PACKET))
    air.run(100_000)
    assert ana.send(b"wait") == kiss.BUSY
    air.run(AIRTIME_US)
    assert Data(PACKET) in ana.heard()


def test_a_packet_with_a_wrong_crc_is_dropped(air: Air) -> None:
    phy = Phy(sync_word=0x58, crc=True, preamble_symbols=8, low_data_rate=False)
    ana, ben, cleo = (awake(air, name=name) for name in ("ana", "ben", "cleo"))
    for station in (ana, ben, cleo):
        station.set_up(phy=phy)
    ana.write(Data(PACKET))
    air.run(100_000)
    ben.write(Data(PACKET))
    air.run(2 * AIRTIME_US)
    assert cleo.heard() == []
    assert cleo.program.radio.damaged == 1


def test_packets_wait_in_a_ring_for_a_host_that_does_not_read(air: Air) -> None:
    ana, ben = ready(air), ready(air, name="ben")
    ben.host.reads = False
    for number in range(limits.RING_SLOTS + 3):
        assert ana.send(bytes([number]) * 9) == kiss.SENT
    air.run(5_000)
    ben.host.reads = True
    air.run(50_000)
    packets = [message.packet[0] for message in ben.heard() if isinstance(message, Data)]
    assert packets == list(range(3, limits.RING_SLOTS + 3))


def test_a_host_that_asks_and_does_not_listen_is_not_heard_any_more(air: Air) -> None:
    station = awake(air)
    station.host.reads = False
    for _ in range(1_000):
        station.write(HardwareCommand(kiss.PING))
    air.run(2_000_000)
    left = len(station.host.to_board)
    assert left > 0, "what it does not read stays where it is, and the cable is full"
    station.host.reads = True
    air.run(2_000_000)
    assert len(station.heard()) == 1_000


def test_a_host_that_leaves_gets_the_prompt(air: Air) -> None:
    station = awake(air)
    station.host.to_board += b"\xc0\xff\x00\xc0"
    air.run(2_000)
    assert station.running
    station.host.to_board += b"\xc0\xff\xc0"
    air.run(2_000)
    assert not station.running


def test_the_watchdog_is_fed_with_each_turn(air: Air) -> None:
    station = awake(air)
    before = station.controller.machine.fed
    air.run(100_000)
    assert station.controller.machine.fed == before + 100


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    noise=st.lists(
        st.one_of(
            st.binary(max_size=40),
            st.tuples(st.sampled_from(sorted(SUBS)), st.binary(max_size=12)).map(
                lambda pair: serialize_frame(bytes([6, pair[0]]) + pair[1])
            ),
            st.tuples(st.integers(0, 255), st.binary(max_size=3)).map(
                lambda pair: serialize_frame(bytes([pair[0]]) + pair[1])
            ),
        ),
        max_size=30,
    )
)
def test_whatever_the_host_says_it_goes_on(noise: list[bytes]) -> None:
    air = Air()
    station = ready(air)
    for data in noise:
        station.host.to_board += data
        air.run(3_000)
    if station.running:
        air.run(20_000_000 if station.program.radio.sending else 0)
        station.host.to_board += b"\xc0"
        station.heard()
        assert HardwareCommand(kiss.PONG) in station.ask(kiss.PING)
    air.close()
    assert station.chip.violations == []
