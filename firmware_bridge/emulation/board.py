"""Emulated boards: a chip behind a bus and lines like those of ``drivers.linux``, and their faults."""

import os
from typing import Final, Self

from firmware_bridge.boards import BoardProfile
from firmware_bridge.drivers.wiring import idle_levels
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.sx126x import EmulatedSx126x
from firmware_bridge.emulation.sx127x import EmulatedSx127x

ISOLATION_DB: Final = -60.0
"""Gain of an antenna switch in the wrong position, or without supply."""


class EmulatedBoard:
    """A board wired as *profile* says. After ``open`` it implements ``drivers.hardware.Hardware``."""

    def __init__(self, profile: BoardProfile, ether: Ether, name: str) -> None:
        self.profile = profile
        self._ether = ether
        self.chip: EmulatedSx127x | EmulatedSx126x
        """The chip that *profile* names, on a module like the board's."""
        if profile.is_sx127x:
            self.chip = EmulatedSx127x(ether, name)
        else:
            low_power = profile.chip == "sx1261"
            self.chip = EmulatedSx126x(ether, name, tcxo_mv=profile.radio.tcxo_mv, low_power=low_power)
        self.chip.antenna.gain_db = self._gain_db
        self.stuck_at: int | None = None
        """Set by tests to 0x00 or 0xFF: nothing drives MISO, as without a board."""
        self.lose_edges = False
        """Set by tests: edges of the interrupt line do not reach the program."""
        self.bus_error: OSError | None = None
        """Set by tests: transfers fail with this error."""
        self.levels = idle_levels(profile)
        self._interrupt = "dio0" if profile.is_sx127x else "dio1"
        self._high = False
        self._edges: int | None = None
        self.chip.on_line = self._chip_line

    def open(self) -> Self:
        """Open bus and lines for a program."""
        self._edges = os.eventfd(0, os.EFD_NONBLOCK)
        self.levels = idle_levels(self.profile)
        return self

    def close(self) -> None:
        """See Hardware."""
        os.close(self.fd)
        self._edges = None

    @property
    def fd(self) -> int:
        """See Hardware."""
        assert self._edges is not None, "the board is open"
        return self._edges

    def take_edges(self) -> int:
        """See Hardware."""
        try:
            return os.eventfd_read(self.fd)
        except BlockingIOError:
            return 0

    def transfer(self, data: bytes) -> bytes:
        """See Hardware. Returns the chip's answer if the chip is selected."""
        if self.bus_error is not None:
            raise self.bus_error
        if self.stuck_at is not None:
            return bytes([self.stuck_at]) * len(data)
        selected = self.profile.pins.cs is None or not self.levels[self.profile.pins.cs]
        # Nothing drives the line: the Pi's input reads ones.
        return self.chip.transfer(data) if selected else b"\xff" * len(data)

    def set(self, line: int, high: bool) -> None:
        """See Hardware."""
        if line not in self.levels:
            raise PermissionError(1, f"GPIO {line} is no output")
        self.levels[line] = high
        if line == self.profile.pins.reset and self.stuck_at is None:
            self.chip.reset_line(high)

    def get(self, line: int) -> bool:
        """See Hardware."""
        self._ether.timeline.catch_up()
        if line == self.profile.pins.busy:
            return bool(self.stuck_at) if self.stuck_at is not None else self.chip.busy()
        if line == self.profile.pins.irq:
            return self._high
        return self.levels[line]

    def _chip_line(self, line: str, high: bool) -> None:
        if line != self._interrupt:
            return
        self._high = high
        if high and not self.lose_edges and self._edges is not None:
            os.eventfd_write(self._edges, 1)

    def _gain_db(self) -> float:
        """Return the gain of the antenna switch, by its lines and supplies."""
        pins = self.profile.pins
        needed = [*pins.enable, pins.tx_enable if self.chip.sending else pins.rx_enable]
        ready = all(self.levels[line] for line in needed if line is not None)
        if self.chip.sending and self.profile.radio.dio2_switch:
            ready = ready and self.chip.turns_switch
        return 0.0 if ready else ISOLATION_DB
