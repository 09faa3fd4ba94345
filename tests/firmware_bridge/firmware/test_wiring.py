"""Lines that are driven by hand: the antenna's switch, reset, and supplies."""

import pytest

from firmware_bridge.chips.modem import PATH_OFF, PATH_RECEIVE, PATH_SEND
from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.firmware.boards.pico_rfm95 import BOARD
from firmware_bridge.firmware.wiring import Board, MachineChipPort
from tests.emulated.microcontroller import EmulatedController
from tests.emulated.timeline import VirtualTimeline

SWITCHED = Board(
    name="a board with an amplifier",
    chip=Sx127x,
    power_max_dbm=20,
    spi=0,
    sck=18,
    mosi=19,
    miso=16,
    cs=17,
    irq=21,
    tx_enable=2,
    rx_enable=3,
    enable=(4, 5),
)


@pytest.fixture
def timeline() -> VirtualTimeline:
    return VirtualTimeline()


def controller(board: Board, timeline: VirtualTimeline) -> EmulatedController:
    return EmulatedController(board, Ether(timeline), "ana", timeline.advance)


@pytest.mark.parametrize(
    ("path", "levels"),
    [(PATH_OFF, (False, False)), (PATH_SEND, (True, False)), (PATH_RECEIVE, (False, True))],
)
@pytest.mark.parametrize("before", [PATH_OFF, PATH_SEND, PATH_RECEIVE])
def test_the_antenna_s_switch_is_never_both_ways(
    timeline: VirtualTimeline,
    monkeypatch: pytest.MonkeyPatch,
    before: int,
    path: int,
    levels: tuple[bool, bool],
) -> None:
    board = controller(SWITCHED, timeline)
    wiring = MachineChipPort(SWITCHED, board.machine, board.sleep_us)
    wiring.switch(before)
    emulated, seen = board.board, list[tuple[bool, bool]]()
    drive = emulated.set

    def driven(line: int, high: bool) -> None:
        drive(line, high)
        seen.append((emulated.levels[2], emulated.levels[3]))

    monkeypatch.setattr(emulated, "set", driven)
    wiring.switch(path)
    assert (emulated.levels[2], emulated.levels[3]) == levels
    assert (True, True) not in seen
    board.close()


def test_supplies_are_on_and_without_a_reset_line_there_is_no_reset(timeline: VirtualTimeline) -> None:
    board = controller(SWITCHED, timeline)
    wiring = MachineChipPort(SWITCHED, board.machine, board.sleep_us)
    assert board.board.levels[4]
    assert board.board.levels[5]
    assert not wiring.reset()
    assert not wiring.busy()
    board.close()


def test_a_reset_takes_as_long_as_the_chip_needs(timeline: VirtualTimeline) -> None:
    board = controller(BOARD, timeline)
    wiring = MachineChipPort(BOARD, board.machine, board.sleep_us)
    wiring.reset()
    assert wiring.transfer(b"\x42\x00")[1] == 0x12
    board.close()
