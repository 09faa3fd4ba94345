"""An emulated microcontroller: MicroPython's ``machine`` for the bridge firmware, with an emulated chip behind it.

The pins are those of the board's own map: using a line that is not wired, or driving an input, fails.
"""

import os
import pty
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Final

from firmware_bridge.boards import BoardProfile, Bus, Pins, Radio
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.firmware.wiring import Board

BANDS_HZ: Final = ((410_000_000, 525_000_000), (862_000_000, 960_000_000))
"""Bands of all variants of the boards."""


def profile_of(board: Board) -> BoardProfile:
    """Return *board*'s map as the profile of an emulated board."""
    sx127x = board.busy is None
    return BoardProfile(
        name=board.name,
        title=board.name,
        chip="sx1276" if sx127x else str(board.options["chip"]),
        bus=Bus(device=""),
        pins=Pins(
            cs=board.cs,
            irq=board.irq,
            reset=board.reset,
            busy=board.busy,
            tx_enable=board.tx_enable,
            rx_enable=board.rx_enable,
            enable=board.enable,
        ),
        radio=Radio(
            bands_hz=BANDS_HZ,
            power_max_dbm=board.power_max_dbm,
            tcxo_mv=int(str(board.options.get("tcxo_mv", 0))),
            dio2_switch=bool(board.options.get("dio2_switch")),
        ),
    )


class EmulatedPin:
    """An object of the class ``machine.Pin``."""

    def __init__(self, hardware: EmulatedBoard, number: int) -> None:
        self._hardware = hardware
        self._number = number

    def __call__(self, value: int | None = None, /) -> int | None:
        """See PinLike."""
        if value is None:
            return int(self._hardware.get(self._number))
        self._hardware.set(self._number, bool(value))
        return None


class EmulatedPins:
    """The class ``machine.Pin``."""

    IN = 0
    OUT = 1

    def __init__(self, hardware: EmulatedBoard) -> None:
        self._hardware = hardware

    def __call__(self, number: int, mode: int = -1, /, *, value: int | None = None) -> EmulatedPin:
        """See PinMaker."""
        pin = EmulatedPin(self._hardware, number)
        if mode == self.OUT:
            pin(value)
        return pin


class EmulatedSpi:
    """``machine.SPI``."""

    def __init__(self, hardware: EmulatedBoard) -> None:
        self._hardware = hardware

    def write_readinto(self, data: bytes, answer: bytearray, /) -> None:
        """See SpiLike."""
        answer[:] = self._hardware.transfer(data)


class EmulatedMachine:
    """The module ``machine`` of one board."""

    def __init__(self, hardware: EmulatedBoard) -> None:
        self._hardware = hardware
        self.Pin = EmulatedPins(hardware)
        self.bus: tuple[int, dict[str, object]] | None = None
        """The SPI unit and its settings, as requested."""
        self.fed = 0
        """Number of times that the watchdog was fed."""

    def SPI(self, unit: int, /, **settings: object) -> EmulatedSpi:
        """See SpiMaker."""
        self.bus = (unit, settings)
        return EmulatedSpi(self._hardware)

    def feed(self) -> None:
        """See Watchdog: the machine is its own watchdog."""
        self.fed += 1


class Cable:
    """A console on a pseudo-terminal: daemons open ``path`` like a board's port."""

    def __init__(self, link: Path | None = None) -> None:
        """*link*: another name of the port, as udev makes them."""
        self._master, self._slave = pty.openpty()
        tty.setraw(self._master)
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        """The name of the port."""
        if link is not None:
            link.unlink(missing_ok=True)
            link.symlink_to(self.path)

    def read(self, most: int) -> bytes:
        """See Console."""
        try:
            return os.read(self._master, most)
        except BlockingIOError:
            return b""

    def writable(self) -> bool:
        """See Console: a pseudo-terminal holds 4 KB, more than hosts leave unread here."""
        return True

    def write(self, data: bytes) -> None:
        """See Console."""
        os.write(self._master, data)

    def close(self) -> None:
        """Unplug the cable."""
        os.close(self._slave)
        os.close(self._master)


class EmulatedController:
    """One board on *ether*: a machine for the firmware, with the chip that its map names."""

    def __init__(self, board: Board, ether: Ether, name: str, sleep_us: Callable[[int], None]) -> None:
        self.board = EmulatedBoard(profile_of(board), ether, name)
        """The emulated board, whose chip tests can make fail."""
        self.map = board
        """The board's map."""
        self.sleep_us = sleep_us
        """Lets time pass."""
        self._hardware = self.board.open()
        self.machine = EmulatedMachine(self._hardware)
        """MicroPython's module ``machine``."""

    def close(self) -> None:
        """Release the board."""
        self._hardware.close()
