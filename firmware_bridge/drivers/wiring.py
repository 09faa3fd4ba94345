"""The port from a chip's register driver to one board's bus and lines."""

import time
from collections.abc import Callable

from firmware_bridge.boards import BoardProfile
from firmware_bridge.chips import modem
from firmware_bridge.chips.errors import ChipBusyError, ChipError, OscillatorError, WrongChipError
from firmware_bridge.chips.modem import PATH_RECEIVE, PATH_SEND
from firmware_bridge.chips.port import LoraChip
from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.drivers.errors import RadioError, UnfitError, bus_failed, radio_hangs
from firmware_bridge.drivers.hardware import Hardware

SILENT = (0x00, 0xFF)
"""Values of a bus on which no chip answers."""


def idle_levels(profile: BoardProfile) -> dict[int, bool]:
    """Return the first level of each output: nothing selected, no reset, antenna switch off, supplies on."""
    pins = profile.pins
    levels = {number: True for number in (pins.cs, pins.reset, *pins.enable) if number is not None}
    return levels | {number: False for number in (pins.tx_enable, pins.rx_enable) if number is not None}


class HardwareChipPort:
    """The bus and lines of a board profile. Implements ``chips.port.ChipPort``; raises RadioError where they fail."""

    def __init__(
        self, profile: BoardProfile, hardware: Hardware, sleep_s: Callable[[float], None] = time.sleep
    ) -> None:
        self._profile = profile
        self._pins = profile.pins
        self._hardware = hardware
        self._sleep_s = sleep_s

    def transfer(self, data: bytes) -> bytes:
        """See ChipPort. A chip select that we drive is low from the first bit to the last."""
        try:
            if self._pins.cs is None:
                return self._hardware.transfer(data)
            self._hardware.set(self._pins.cs, False)
            try:
                return self._hardware.transfer(data)
            finally:
                self._hardware.set(self._pins.cs, True)
        except OSError as error:
            raise bus_failed(self._profile.bus.device, error) from error

    def busy(self) -> bool:
        """See ChipPort."""
        return self._pins.busy is not None and self._get(self._pins.busy)

    def interrupted(self) -> bool:
        """Return whether the interrupt line is high."""
        assert self._pins.irq is not None, "profiles without it are rejected"
        return self._get(self._pins.irq)

    def reset(self) -> bool:
        """See ChipPort."""
        if self._pins.reset is None:
            return False
        self._set(self._pins.reset, False)
        self.sleep_us(modem.RESET_LOW_US)
        self._set(self._pins.reset, True)
        self.sleep_us(modem.RESET_WAIT_US)
        return True

    def switch(self, path: int) -> None:
        """See ChipPort. Sets the low line first: both high at once short-circuit the antenna switch."""
        wanted = {self._pins.tx_enable: path == PATH_SEND, self._pins.rx_enable: path == PATH_RECEIVE}
        for number, high in sorted(wanted.items(), key=lambda item: item[1]):
            if number is not None:
                self._set(number, high)

    def sleep_us(self, us: int) -> None:
        """See ChipPort."""
        self._sleep_s(us / 1e6)

    def _get(self, line: int) -> bool:
        try:
            return self._hardware.get(line)
        except OSError as error:
            raise bus_failed(self._profile.bus.device, error) from error

    def _set(self, line: int, high: bool) -> None:
        try:
            self._hardware.set(line, high)
        except OSError as error:
            raise bus_failed(self._profile.bus.device, error) from error


def serial_board(profile: BoardProfile) -> UnfitError:
    """Return the error for a board whose chip is not on SPI."""
    return UnfitError(
        profile.name,
        "its chip is on a serial port, behind a microcontroller of its own",
        "Use a HAT whose chip is on SPI, or a radio on USB.",
    )


def make_chip(profile: BoardProfile, wiring: HardwareChipPort) -> LoraChip:
    """Make the driver of the board's chip. Raises UnfitError for a board whose chip is not on SPI."""
    if not profile.is_spi:
        raise serial_board(profile)
    if profile.is_sx127x:
        return Sx127x(wiring, profile.radio.boost)
    return Sx126x(
        wiring, profile.chip, profile.radio.tcxo_mv, profile.radio.tcxo_start_us, profile.radio.dio2_switch
    )


def explain(profile: BoardProfile, error: ChipError) -> RadioError:
    """Return what a chip's fault means to the person who connected the board."""
    chip = profile.chip.upper()
    if isinstance(error, WrongChipError) and error.found in SILENT:
        return RadioError(
            f"No {chip} answers: every bit reads {error.found & 1}",
            f"Push the board fully onto the header, and make sure that it is a '{profile.name}' and that nothing else "
            "drives its chip select.",
        )
    if isinstance(error, WrongChipError):
        hint = ". That is a SX1272" if (error.found, error.expected) == (0x22, 0x12) else ""
        return RadioError(
            f"The chip that answers is no {chip}: its {error.what} is 0x{error.found:02X}, not "
            f"0x{error.expected:02X}{hint}",
            f"Name the board that is there; '{profile.name}' has a {chip}.",
        )
    if isinstance(error, OscillatorError):
        guess = (
            f"its TCXO does not run at {profile.radio.tcxo_mv} mV"
            if profile.radio.tcxo_mv
            else "it may have a TCXO, and the profile has none"
        )
        return RadioError(
            f"The chip answers, but its clock does not start (device errors 0x{error.errors:04X}): {guess}",
            f"Check that the board is a '{profile.name}', and radio.tcxo_mv in its profile.",
        )
    if isinstance(error, ChipBusyError):
        return radio_hangs(f"BUSY has been high for {error.waited_us // 1_000} ms")
    return UnfitError(profile.name, str(error), "Choose another plan, power or board.")
