"""One board's bus and lines as its chip's driver wants them."""

import time
from collections.abc import Callable

from firmware_bridge.boards import BoardProfile
from firmware_bridge.chips.errors import ChipBusyError, ChipError, OscillatorError, WrongChipError
from firmware_bridge.chips.modem import PATH_RECEIVE, PATH_SEND, Modem
from firmware_bridge.chips.port import LoraChip
from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.drivers import limits
from firmware_bridge.drivers.errors import (
    BusFailedError,
    ChipSilentError,
    ClockError,
    OtherChipError,
    RadioError,
    StuckError,
    UnfitError,
)
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.lora import LoraSettings

SILENT = (0x00, 0xFF)
"""What a bus reads on which nobody answers."""


def idle_levels(profile: BoardProfile) -> dict[int, bool]:
    """The board's outputs and how they begin: nothing selected, no reset, antenna switch off, supplies on."""
    pins = profile.pins
    levels = {number: True for number in (pins.cs, pins.reset, *pins.enable) if number is not None}
    return levels | {number: False for number in (pins.tx_enable, pins.rx_enable) if number is not None}


class Wiring:
    """Implements ``chips.port.ChipPort``. Every method raises BusFailedError where bus or lines fail."""

    def __init__(
        self, profile: BoardProfile, hardware: Hardware, sleep_s: Callable[[float], None] = time.sleep
    ) -> None:
        self._profile = profile
        self._pins = profile.pins
        self._hardware = hardware
        self._sleep_s = sleep_s

    def transfer(self, data: bytes) -> bytes:
        """See ChipPort. A chip select of our own is low from the first bit to the last."""
        try:
            if self._pins.cs is None:
                return self._hardware.bus.transfer(data)
            self._hardware.lines.set(self._pins.cs, False)
            try:
                return self._hardware.bus.transfer(data)
            finally:
                self._hardware.lines.set(self._pins.cs, True)
        except OSError as error:
            raise self._failed(error) from error

    def busy(self) -> bool:
        """See ChipPort."""
        return self._pins.busy is not None and self._get(self._pins.busy)

    def interrupted(self) -> bool:
        """Whether the interrupt line is high."""
        assert self._pins.irq is not None, "profiles without it are refused"
        return self._get(self._pins.irq)

    def reset(self) -> bool:
        """See ChipPort."""
        if self._pins.reset is None:
            return False
        self._set(self._pins.reset, False)
        self.sleep_us(limits.RESET_LOW_US)
        self._set(self._pins.reset, True)
        self.sleep_us(limits.RESET_WAIT_US)
        return True

    def switch(self, path: int) -> None:
        """See ChipPort. The line that goes low goes first: both high at once shorts the antenna's switch."""
        wanted = {self._pins.tx_enable: path == PATH_SEND, self._pins.rx_enable: path == PATH_RECEIVE}
        for number, high in sorted(wanted.items(), key=lambda item: item[1]):
            if number is not None:
                self._set(number, high)

    def sleep_us(self, us: int) -> None:
        """See ChipPort."""
        self._sleep_s(us / 1e6)

    def _get(self, line: int) -> bool:
        try:
            return self._hardware.lines.get(line)
        except OSError as error:
            raise self._failed(error) from error

    def _set(self, line: int, high: bool) -> None:
        try:
            self._hardware.lines.set(line, high)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> BusFailedError:
        return BusFailedError(self._profile.device, error.strerror or str(error))


def modem_of(settings: LoraSettings) -> Modem:
    """The chip's settings for *settings*."""
    return Modem(
        frequency_hz=settings.frequency_hz,
        bandwidth_hz=settings.bandwidth_hz,
        spreading_factor=settings.spreading_factor,
        coding_rate=settings.coding_rate,
        preamble_symbols=settings.preamble_symbols,
        sync_word=settings.sync_word,
        crc=settings.crc,
        explicit_header=settings.explicit_header,
        low_data_rate=settings.low_data_rate,
    )


def serial_board(profile: BoardProfile) -> UnfitError:
    """What is said of a board whose chip is not on SPI."""
    return UnfitError(
        profile.name,
        "its chip hangs on a serial port, behind a microcontroller of its own",
        "Use a HAT whose chip is on SPI, or a radio on USB.",
    )


def make_chip(profile: BoardProfile, wiring: Wiring) -> LoraChip:
    """The driver of the board's chip. Raises UnfitError for a board whose chip is not on SPI."""
    if not profile.is_spi:
        raise serial_board(profile)
    if profile.is_sx127x:
        return Sx127x(wiring, profile.boost)
    return Sx126x(wiring, profile.chip, profile.tcxo_mv, profile.tcxo_start_us, profile.dio2_switch)


def explain(profile: BoardProfile, error: ChipError) -> RadioError:
    """What a chip's fault means for whoever plugged the board in."""
    if isinstance(error, WrongChipError):
        if error.found in SILENT:
            return ChipSilentError(profile.name, profile.chip.upper(), error.found)
        return OtherChipError(profile.name, profile.chip.upper(), error.what, error.found, error.expected)
    if isinstance(error, OscillatorError):
        return ClockError(profile.name, profile.tcxo_mv, error.errors)
    if isinstance(error, ChipBusyError):
        return StuckError(f"BUSY has been high for {error.waited_us // 1_000} ms", 1)
    return UnfitError(profile.name, str(error), "Choose another plan, power or board.")
