"""A board that is not there: its chip behind a bus and lines like those of ``drivers.linux``, and what can go wrong."""

import os
from typing import Final

from firmware_bridge.boards import BoardProfile
from firmware_bridge.drivers.wiring import idle_levels
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.sx126x import EmulatedSx126x
from firmware_bridge.emulation.sx127x import EmulatedSx127x

ISOLATION_DB: Final = -60.0
"""What gets through an antenna switch that is turned the wrong way, or has no supply."""

EmulatedChip = EmulatedSx127x | EmulatedSx126x


def make_emulated_chip(profile: BoardProfile, ether: Ether, name: str) -> EmulatedChip:
    """The chip that *profile* names, on a module like the board's."""
    if profile.is_sx127x:
        return EmulatedSx127x(ether, name)
    return EmulatedSx126x(ether, name, tcxo_mv=profile.tcxo_mv, low_power=profile.chip == "sx1261")


class EmulatedBoard:
    """A board wired as *profile* says. Each ``open`` is one program's use of it."""

    def __init__(
        self, profile: BoardProfile, ether: Ether, name: str, chip: EmulatedChip | None = None
    ) -> None:
        self.profile = profile
        self._ether = ether
        self.chip = chip or make_emulated_chip(profile, ether, name)
        self.chip.antenna.gain_db = self._gain_db
        self.stuck_at: int | None = None
        """Set to 0x00 or 0xFF: nothing drives MISO, as without a board."""
        self.lose_edges = False
        """Set: edges of the interrupt line do not reach the program."""
        self.bus_error: OSError | None = None
        """Set: transfers fail with it."""
        self.levels = idle_levels(profile)
        self._interrupt = "dio0" if profile.is_sx127x else "dio1"
        self._dio = {self._interrupt: False}
        self._edges: int | None = None
        self.chip.on_line = self._chip_line

    def open(self) -> "EmulatedHardware":
        """Its bus and lines."""
        self._edges = os.eventfd(0, os.EFD_NONBLOCK)
        self.levels = idle_levels(self.profile)
        return EmulatedHardware(self, self._edges)

    def closed(self) -> None:
        """The program is done with it."""
        self._edges = None

    def transfer(self, data: bytes) -> bytes:
        """What the chip answers, if it is selected."""
        if self.bus_error is not None:
            raise self.bus_error
        if self.stuck_at is not None:
            return bytes([self.stuck_at]) * len(data)
        selected = self.profile.pins.cs is None or not self.levels[self.profile.pins.cs]
        # Nobody drives the line: the Pi's input reads ones.
        return self.chip.transfer(data) if selected else b"\xff" * len(data)

    def set(self, line: int, high: bool) -> None:
        """Drive an output."""
        if line not in self.levels:
            raise PermissionError(1, f"GPIO {line} is no output")
        self.levels[line] = high
        if line == self.profile.pins.reset and self.stuck_at is None:
            self.chip.reset_line(high)

    def get(self, line: int) -> bool:
        """Read a line."""
        self._ether.timeline.catch_up()
        if line == self.profile.pins.busy:
            return bool(self.stuck_at) if self.stuck_at is not None else self.chip.busy()
        if line == self.profile.pins.irq:
            return self._dio[self._interrupt]
        return self.levels[line]

    def _chip_line(self, line: str, high: bool) -> None:
        if line != self._interrupt:
            return
        self._dio[line] = high
        if high and not self.lose_edges and self._edges is not None:
            os.eventfd_write(self._edges, 1)

    def _gain_db(self) -> float:
        """Whether supplies and antenna switch are as they must be for what the chip is doing."""
        pins = self.profile.pins
        needed = [*pins.enable, pins.tx_enable if self.chip.sending else pins.rx_enable]
        ready = all(self.levels[line] for line in needed if line is not None)
        if self.chip.sending and self.profile.dio2_switch:
            ready = ready and self.chip.turns_switch
        return 0.0 if ready else ISOLATION_DB


class EmulatedBus:
    """Implements ``drivers.hardware.Bus``."""

    def __init__(self, board: EmulatedBoard) -> None:
        self._board = board

    def transfer(self, data: bytes) -> bytes:
        """See Bus."""
        return self._board.transfer(data)

    def close(self) -> None:
        """See Bus."""


class EmulatedLines:
    """Implements ``drivers.hardware.Lines``."""

    def __init__(self, board: EmulatedBoard, fd: int) -> None:
        self.fd = fd
        self._board = board

    def set(self, line: int, high: bool) -> None:
        """See Lines."""
        self._board.set(line, high)

    def get(self, line: int) -> bool:
        """See Lines."""
        return self._board.get(line)

    def take_edges(self) -> int:
        """See Lines."""
        try:
            return os.eventfd_read(self.fd)
        except BlockingIOError:
            return 0

    def close(self) -> None:
        """See Lines."""
        os.close(self.fd)


class EmulatedHardware:
    """Implements ``drivers.hardware.Hardware``."""

    def __init__(self, board: EmulatedBoard, fd: int) -> None:
        self._board = board
        self.bus = EmulatedBus(board)
        self.lines = EmulatedLines(board, fd)

    def close(self) -> None:
        """See Hardware."""
        self._board.closed()
        self.lines.close()
