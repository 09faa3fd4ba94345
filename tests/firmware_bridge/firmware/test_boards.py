"""The boards' maps: each is consistent, says where it is from, and works on an emulated board wired like it."""

import re
from pathlib import Path

import pytest

from firmware_bridge.firmware import boards, kiss
from firmware_bridge.firmware.boards import (
    feather_rp2040_rfm95,
    heltec_v2,
    heltec_v3,
    lora32_v21,
    pico_rfm95,
    pico_waveshare_sx1262,
    tbeam_sx1262,
    tbeam_sx1276,
    waveshare_rp2040_lora,
)
from firmware_bridge.firmware.wiring import Board
from firmware_bridge.serial.kiss import Data
from tests.emulated.microcontroller import profile_of
from tests.firmware_bridge.firmware.bench import PACKET, SX126X, Air

MODULES = [
    feather_rp2040_rfm95,
    heltec_v2,
    heltec_v3,
    lora32_v21,
    pico_rfm95,
    pico_waveshare_sx1262,
    tbeam_sx1262,
    tbeam_sx1276,
    waveshare_rp2040_lora,
]
BOARDS = [pytest.param(module.BOARD, id=module.BOARD.name) for module in MODULES]
# SPI1 of a RP2040 and its SPI0: which GPIO can be what (RP2040 data sheet, table 2).
RP2040_SPI = {
    0: {"miso": {0, 4, 16, 20}, "sck": {2, 6, 18, 22}, "mosi": {3, 7, 19, 23}},
    1: {"miso": {8, 12, 24, 28}, "sck": {10, 14, 26}, "mosi": {11, 15, 27}},
}


def test_all_of_them_are_here() -> None:
    folder = Path(str(boards.__file__)).parent
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == {
        module.__name__.rpartition(".")[2] for module in MODULES
    }


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.BOARD.name)
def test_each_number_is_in_the_text_that_names_its_source(module: object) -> None:
    text = str(module.__doc__)
    board: Board = module.BOARD  # type: ignore[attr-defined] # loaded by path
    assert "Sources: " in text
    names = ("sck", "mosi", "miso", "cs", "irq", "reset", "busy", "rx_enable")
    numbers = [getattr(board, name) for name in names if getattr(board, name) is not None]
    missing = [number for number in numbers if not re.search(rf"\b{number}\b", text)]
    assert missing == []


@pytest.mark.parametrize("board", BOARDS)
def test_no_line_has_two_uses(board: Board) -> None:
    profile = profile_of(board)
    lines = [*profile.pins.used().values(), board.sck, board.mosi, board.miso, *(board.power_bus or ())]
    assert sorted(set(lines)) == sorted(lines)
    assert (board.busy is None) == profile.is_sx127x


@pytest.mark.parametrize("board", BOARDS)
def test_a_rp2040_s_bus_is_on_pins_that_it_can_be_on(board: Board) -> None:
    if "RP2040" not in board.name and "Pico" not in board.name:
        assert board.spi == 1, "an ESP32's units are 1 and 2"
        return
    unit = RP2040_SPI[board.spi]
    assert board.sck in unit["sck"]
    assert board.mosi in unit["mosi"]
    assert board.miso in unit["miso"]


@pytest.mark.parametrize("board", BOARDS)
def test_it_is_heard_and_hears(air: Air, board: Board) -> None:
    ana, ben = air.station(board, "ana"), air.station(SX126X, "ben")
    air.run(1_000)
    for station in (ana, ben):
        station.heard()
        station.set_up(cad=1)
    assert ana.send(PACKET) == kiss.SENT
    air.run(5_000)
    assert Data(PACKET) in ben.heard()
    assert ben.send(PACKET[::-1]) == kiss.SENT
    air.run(5_000)
    assert Data(PACKET[::-1]) in ana.heard()


@pytest.mark.parametrize("board", BOARDS)
def test_the_bus_is_what_both_chips_speak(air: Air, board: Board) -> None:
    station = air.station(board)
    assert station.controller.machine.bus is not None
    unit, settings = station.controller.machine.bus
    assert unit == board.spi
    assert (settings["polarity"], settings["phase"]) == (0, 0)
    assert 100_000 <= int(str(settings["baudrate"])) <= 10_000_000
