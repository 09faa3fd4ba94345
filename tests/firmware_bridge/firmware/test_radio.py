"""Behaviour of the radio when chip or channel fail."""

import pytest

from firmware_bridge.chips.modem import EVENT_SENT, EVENT_TIMEOUT, Modem
from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.emulation.ether import Signal
from firmware_bridge.firmware import kiss, limits
from firmware_bridge.firmware.radio import Transceiver
from firmware_bridge.firmware.wiring import Board
from firmware_bridge.serial.kiss import Data, HardwareCommand, Setting
from tests.emulated.kiss_wire import serialize_radio
from tests.firmware_bridge.firmware.bench import (
    AIRTIME_US,
    EU868A,
    PACKET,
    SX126X,
    SX127X,
    Air,
    Station,
)

BOARDS = pytest.mark.parametrize("board", [SX127X, SX126X], ids=lambda board: board.name)


def pair(air: Air, board: Board, *, cad: int = 0) -> tuple[Station, Station]:
    """Two that hear each other."""
    stations = air.station(board, "ana"), air.station(SX127X, "ben")
    air.run(1_000)
    for station in stations:
        station.heard()
        station.set_up(cad=cad)
    return stations


def listens(air: Air, station: Station, other: Station) -> bool:
    """Return True if a packet of *other* arrives."""
    station.heard()
    assert other.send(PACKET) == kiss.SENT
    air.run(5_000)
    return Data(PACKET) in station.heard()


@BOARDS
@pytest.mark.parametrize("cad", [0, 2])
def test_a_chip_that_hangs_is_reset(air: Air, board: Board, cad: int) -> None:
    ana, ben = pair(air, board, cad=cad)
    ana.write(Data(PACKET))
    air.run(2_000)
    ana.chip.hung = True
    air.run(2_000_000)
    assert ana.heard() == [HardwareCommand(kiss.TX_DONE, bytes([kiss.FAILED]))]
    assert ana.program.radio.resets >= 1
    assert listens(air, ana, ben)
    assert ana.send(PACKET) == kiss.SENT


@BOARDS
def test_a_chip_that_forgot_is_set_up_anew(air: Air, board: Board) -> None:
    ana, ben = pair(air, board)
    ana.chip.brown_out()
    air.run(limits.CHECK_US + 100_000)
    assert listens(air, ana, ben)


@BOARDS
def test_a_chip_that_is_not_there_is_told_and_looked_for(air: Air, board: Board) -> None:
    ana, ben = air.station(board, "ana", stuck_at=0x00), air.station(SX127X, "ben")
    air.run(1_000)
    assert ana.heard() == [HardwareCommand(kiss.STARTED, b"\x00")]
    (bridge,) = ana.ask(kiss.GET_BRIDGE)
    assert isinstance(bridge, HardwareCommand)
    assert b"radio unusable: SX12" in bridge.data
    assert ana.ask(kiss.SET_RADIO, serialize_radio(EU868A)) == [
        HardwareCommand(kiss.ERROR, bytes([kiss.NO_RADIO]))
    ]
    assert ana.send(PACKET) == kiss.FAILED
    ana.controller.board.stuck_at = None
    ana.set_up()
    ben.set_up()
    assert listens(air, ana, ben)


@BOARDS
def test_a_chip_that_goes_while_it_is_set_is_told(air: Air, board: Board) -> None:
    ana, ben = pair(air, board)
    ana.chip.hung = True
    if board is SX126X:
        # Its BUSY stays high; an older chip takes what is written, and is found out at the next look.
        radio = serialize_radio(EU868A)
        assert ana.ask(kiss.SET_RADIO, radio) == [HardwareCommand(kiss.ERROR, bytes([kiss.NO_RADIO]))]
    air.run(2 * limits.CHECK_US)
    assert listens(air, ana, ben)


@BOARDS
def test_a_chip_that_comes_back_late_is_found_without_being_asked_for(air: Air, board: Board) -> None:
    ana, ben = pair(air, board)
    ana.controller.board.stuck_at = 0x00
    air.run(3 * limits.CHECK_US)
    ana.controller.board.stuck_at = None
    air.run(2 * limits.CHECK_US)
    assert listens(air, ana, ben)


@BOARDS
def test_a_broken_interrupt_line_costs_seconds_and_no_packet(
    air: Air, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, ben = pair(air, board)
    level = ana.controller.board.get
    monkeypatch.setattr(ana.controller.board, "get", lambda line: line != board.irq and level(line))
    assert ana.send(PACKET) == kiss.SENT
    assert ben.send(PACKET) == kiss.SENT
    ana.heard()
    air.run(limits.CHECK_US)
    assert Data(PACKET) in ana.heard()


def half_duplex(station: Station, persistence: int, tx_delay: int) -> None:
    """Set *station* as MeshCore's hosts do."""
    for command, value in (
        (kiss.FULL_DUPLEX, 0),
        (kiss.PERSISTENCE, persistence),
        (kiss.TX_DELAY, tx_delay),
        (kiss.SLOT_TIME, 3),
    ):
        station.write(Setting(command, value))


def test_in_half_duplex_it_waits_for_a_clear_channel(air: Air) -> None:
    ana, ben = pair(air, SX127X)
    half_duplex(ana, 255, 5)
    ben.write(Data(PACKET))
    air.run(50_000)
    assert ana.send(b"after you") == kiss.SENT
    (_, first), (_, second) = air.ether.sent
    assert first.end_us + 50_000 <= second.start_us <= first.end_us + 50_000 + 30_000 + 5_000


def test_a_clear_channel_is_not_taken_by_everybody_at_once(air: Air) -> None:
    ana, _ = pair(air, SX127X)
    ana.local.draws = iter([200, 100, 20])
    half_duplex(ana, 63, 0)
    before_us = air.timeline.now_us()
    assert ana.send(b"my turn") == kiss.SENT
    start_us = air.ether.sent[-1][1].start_us
    assert 2 * 30_000 <= start_us - before_us <= 2 * 30_000 + 10_000


def test_in_full_duplex_it_still_waits_for_the_transmitter(air: Air) -> None:
    ana, _ = pair(air, SX127X)
    ana.write(Setting(kiss.TX_DELAY, 5))
    air.run(2_000)
    before_us = air.timeline.now_us()
    assert ana.send(b"keyed up") == kiss.SENT
    assert 50_000 <= air.ether.sent[-1][1].start_us - before_us <= 55_000


@BOARDS
def test_who_found_somebody_listens_to_them(air: Air, board: Board) -> None:
    ana, ben = pair(air, board, cad=2)
    ben.ask(kiss.SET_CAD, b"\x00")
    ben.write(Data(PACKET))
    air.run(3_000)
    assert ana.send(b"wait") == kiss.BUSY
    air.run(2 * AIRTIME_US)
    ben.heard()
    assert listens(air, ana, ben)


def test_it_listens_as_often_as_it_was_told(air: Air, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, _ = pair(air, SX127X, cad=3)
    starts, start_cad = list[None](), Sx127x.start_cad

    def start(chip: Sx127x) -> None:
        starts.append(None)
        start_cad(chip)

    monkeypatch.setattr(Sx127x, "start_cad", start)
    assert ana.send(PACKET) == kiss.SENT
    assert len(starts) == 3


def test_a_frame_of_no_bytes_is_no_packet(air: Air) -> None:
    ana, ben = pair(air, SX127X)
    for payload, heard in ((b"", []), (b"x", [Data(b"x")])):
        now_us = air.timeline.now_us()
        signal = Signal(modem=ben.chip.modem(), payload=payload, power_dbm=14, start_us=now_us)
        air.ether.transmit(ben.chip.antenna, signal)
        air.run(100_000)
        assert ana.heard()[:1] == heard


def test_after_a_reset_a_frame_that_comes_in_is_as_young_as_it_is(air: Air) -> None:
    ana, ben = pair(air, SX127X, cad=1)
    ben.write(Data(PACKET))
    air.run(50_000)
    assert ana.send(b"wait") == kiss.BUSY
    ana.chip.brown_out()
    air.run(limits.CHECK_US)
    ben.write(Data(PACKET[::-1]))
    air.run(50_000)
    assert ana.send(b"wait") == kiss.BUSY
    air.run(AIRTIME_US)
    assert Data(PACKET[::-1]) in ana.heard()


def test_a_receiver_that_believes_for_ever_that_something_comes_is_started_anew(
    air: Air, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, _ = pair(air, SX127X)
    half_duplex(ana, 255, 0)
    starts, start_receive = list[None](), Sx127x.start_receive

    def restart(chip: Sx127x) -> None:
        starts.append(None)
        start_receive(chip)

    monkeypatch.setattr(Sx127x, "receiving", lambda _chip: not starts)
    monkeypatch.setattr(Sx127x, "start_receive", restart)
    assert ana.send(b"at last") == kiss.SENT


def test_a_chip_s_own_time_out_is_no_success(air: Air, monkeypatch: pytest.MonkeyPatch) -> None:
    ana, _ = pair(air, SX127X)
    take_events = Sx127x.take_events
    monkeypatch.setattr(
        Sx127x, "take_events", lambda chip: EVENT_TIMEOUT if take_events(chip) & EVENT_SENT else 0
    )
    assert ana.send(PACKET) == kiss.FAILED


def test_what_was_sent_counts_from_its_beginning_even_if_the_chip_hangs(air: Air) -> None:
    ana, _ = pair(air, SX127X)
    ana.write(Data(PACKET))
    air.run(5_000)
    ana.chip.hung = True
    air.run(2_000_000)
    assert ana.program.radio.duty_cycle.used_us(air.timeline.now_us()) == AIRTIME_US


def test_settings_cannot_be_changed_under_a_packet(air: Air) -> None:
    ana, _ = pair(air, SX127X)
    radio: Transceiver = ana.program.radio
    radio.send(PACKET, air.timeline.now_us())
    with pytest.raises(AssertionError):
        radio.configure(Modem(frequency_hz=868_300_000), 14, air.timeline.now_us())
