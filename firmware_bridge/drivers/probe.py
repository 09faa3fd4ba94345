"""The self-test of a board, from the bus to the receiver. It sends nothing by radio."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from firmware_bridge.boards import BoardProfile
from firmware_bridge.chips.errors import ChipError
from firmware_bridge.chips.modem import EVENT_CAD_DONE, Modem, RegisterMismatch
from firmware_bridge.chips.port import LoraChip
from firmware_bridge.drivers.errors import RadioError
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.drivers.wiring import HardwareChipPort, explain, make_chip, serial_board

# Channel activity detection at SF7 takes 2 to 5 ms; a receiver just switched on needs time.
_SETTLE_US: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one check."""

    check: str
    """The name of the check."""
    ok: bool
    """True if the check passed."""
    found: str
    """The observation, in plain words."""
    advice: str = ""
    """The next step, if the check failed."""
    registers: tuple[RegisterMismatch, ...] = ()
    """Registers with a wrong value."""


def probe(
    profile: BoardProfile,
    open_hardware: Callable[[BoardProfile], Hardware],
    sleep_s: Callable[[float], None] = time.sleep,
) -> Iterator[Finding]:
    """Check the board that *profile* describes, step by step. Ends where further steps make no sense."""
    if not profile.is_spi:
        error = serial_board(profile)
        yield Finding(check="board", ok=False, found=error.found, advice=error.remedy)
        return
    try:
        hardware = open_hardware(profile)
    except RadioError as error:
        yield Finding(check="devices", ok=False, found=error.found, advice=error.remedy)
        return
    try:
        lines = ", ".join(f"{name} GPIO {number}" for name, number in profile.pins.used().items())
        yield Finding(
            check="devices",
            ok=True,
            found=f"{profile.bus.device} and the lines can be used: {lines or 'none'}",
        )
        wiring = HardwareChipPort(profile, hardware, sleep_s)
        yield from _probe_chip(profile, wiring, make_chip(profile, wiring))
    except (ChipError, RadioError) as error:
        explained = explain(profile, error) if isinstance(error, ChipError) else error
        yield Finding(check="chip", ok=False, found=explained.found, advice=explained.remedy)
    finally:
        hardware.close()


def _probe_chip(profile: BoardProfile, wiring: HardwareChipPort, chip: LoraChip) -> Iterator[Finding]:
    """Check the chip. Raises ChipError and RadioError where further steps make no sense."""
    chip.begin()
    yield Finding(check="chip", ok=True, found=f"it answers as a {chip.name} does")
    yield _registers(
        "reset",
        chip.after_reset(),
        "after a reset its registers hold the right values",
        "Check the reset line: it may not reset the chip, or the chip is another one of its family.",
    )
    chip.begin()
    low_hz, high_hz = profile.radio.bands_hz[0]
    modem = Modem(frequency_hz=(low_hz + high_hz) // 2)
    chip.configure(modem, profile.power_min_dbm)
    yield _registers(
        "settings",
        chip.differences(),
        "its registers hold what was written to them",
        "Bits are lost on the bus: seat the board again, or lower bus.speed_hz in its profile.",
    )
    yield _interrupt(profile, wiring, chip)
    chip.start_receive()
    wiring.sleep_us(_SETTLE_US)
    yield _noise(chip.rssi_dbm(), modem.frequency_hz)
    chip.sleep()


def _registers(check: str, differences: list[RegisterMismatch], good: str, advice: str) -> Finding:
    if not differences:
        return Finding(check=check, ok=True, found=good)
    return Finding(
        check=check,
        ok=False,
        found="; ".join(
            f"{wrong.name} (0x{wrong.address:02X}) is 0x{wrong.found:02X}, not 0x{wrong.expected:02X}"
            for wrong in differences
        ),
        advice=advice,
        registers=tuple(differences),
    )


def _interrupt(profile: BoardProfile, wiring: HardwareChipPort, chip: LoraChip) -> Finding:
    """Check that the interrupt line rises, by channel activity detection, which sends nothing."""
    line = f"GPIO {profile.pins.irq}"
    if wiring.interrupted():
        return Finding(
            check="interrupt",
            ok=False,
            found=f"{line} is high although the chip has no event",
            advice="The profile may name the wrong line for pins.irq.",
        )
    chip.start_cad()
    wiring.sleep_us(_SETTLE_US)
    rose = wiring.interrupted()
    done = bool(chip.take_events() & EVENT_CAD_DONE)
    if rose:
        return Finding(check="interrupt", ok=True, found=f"{line} rose when the chip had finished listening")
    told = "the chip had finished listening" if done else "the chip did not finish listening, either"
    return Finding(
        check="interrupt",
        ok=False,
        found=f"{line} did not rise: {told}",
        advice="The profile may name the wrong line for pins.irq, or the line is not soldered.",
    )


def _noise(rssi_dbm: int, frequency_hz: int) -> Finding:
    """Check that the receiver measures a plausible noise level."""
    # Thermal noise in 125 kHz is -123 dBm; -60 dBm is still a free channel, in a house full of electronics.
    ok = -140 <= rssi_dbm <= -60
    return Finding(
        check="receiver",
        ok=ok,
        found=f"{rssi_dbm} dBm at {frequency_hz / 1e6:g} MHz",
        advice=""
        if ok
        else "A quiet channel has another level: something close by may be sending, or the antenna switch is wrong.",
    )
