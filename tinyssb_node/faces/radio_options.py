"""The options of a spec string for a radio's settings and region."""

import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from firmware_bridge.lora import (
    BANDWIDTHS_HZ,
    CODING_RATES,
    FREQUENCY_MAX_HZ,
    FREQUENCY_MIN_HZ,
    POWER_MAX_DBM,
    POWER_MIN_DBM,
    SPREADING_FACTORS,
    LoraSettings,
)
from firmware_bridge.plans import (
    NAMED_PLANS,
    FirmwareRelease,
    IllegalPlanError,
    IllegalPowerError,
    UnknownPlanError,
    describe,
)
from firmware_bridge.regions import Antenna, Region
from tinyssb_node.faces.radio import RadioChoice
from tinyssb_node.faces.spec_reader import SpecReader, member_of

RADIO_OPTIONS: Final = "region, plan, firmware, frequency, bandwidth, sf, cr, sync, power, gain, loss, pongs"
"""All of them, as errors show them."""
GAIN_MIN_CDBI: Final = -2_000
"""Least antenna gain that is believed, in hundredths of dBi: a coil inside a case."""
GAIN_MAX_CDBI: Final = 3_000
"""Most, in hundredths of dBi: a dish."""
LOSS_MAX_CDB: Final = 3_000
"""Most loss of a cable that is believed, in hundredths of dB."""

_DEFAULT: Final = LoraSettings()
_HALF_WAVE: Final = Antenna()


def read_radio(reader: SpecReader) -> RadioChoice | None:
    """Parse the options of a radio; None if there is not even a region.

    Raises FaceSpecError for settings that no radio has, and for those that the law forbids, before any radio is
    touched.
    """
    region = reader.option("region", None, member_of(Region), ", ".join(Region))
    plan = reader.option("plan", None, str, "")
    firmware = reader.option("firmware", None, member_of(FirmwareRelease), ", ".join(FirmwareRelease))
    lora = _read_lora(reader)
    power_dbm = reader.option(
        "power",
        None,
        _whole(range(POWER_MIN_DBM, POWER_MAX_DBM + 1)),
        f"{POWER_MIN_DBM} to {POWER_MAX_DBM} dBm",
    )
    antenna = _read_antenna(reader)
    pongs = reader.switch("pongs", default=False)
    given = [plan, firmware, lora, power_dbm, antenna, pongs or None]
    if region is None:
        if any(value is not None for value in given):
            reader.fail("it sets up a radio but names no region", f"&region= and one of {', '.join(Region)}")
        return None
    if plan is None and firmware is not None:
        reader.fail(
            "it names a firmware but no plan", f"&plan= and one of {', '.join(NAMED_PLANS[firmware])}"
        )
    if plan is not None and lora is not None:
        reader.fail("it names a plan and other settings", "either the plan, or the settings themselves")
    choice = RadioChoice(
        region=region,
        plan=plan,
        firmware=firmware or FirmwareRelease.FW2025,
        lora=lora,
        power_dbm=power_dbm,
        antenna=antenna or _HALF_WAVE,
        pongs=pongs,
    )
    _check(reader, choice)
    return choice


def _read_lora(reader: SpecReader) -> LoraSettings | None:
    """Return the modem's settings; None if none is given."""
    frequency_hz = reader.option(
        "frequency",
        None,
        _decimal(1_000_000, range(FREQUENCY_MIN_HZ, FREQUENCY_MAX_HZ + 1)),
        f"{FREQUENCY_MIN_HZ // 1_000_000} to {FREQUENCY_MAX_HZ // 1_000_000} MHz, such as 869.525",
    )
    bandwidths = ", ".join(f"{value / 1_000:g}" for value in BANDWIDTHS_HZ)
    bandwidth_hz = reader.option("bandwidth", None, _decimal(1_000, BANDWIDTHS_HZ), f"{bandwidths} kHz")
    spreading_factor = reader.option("sf", None, _whole(SPREADING_FACTORS), "7 to 12")
    coding_rate = reader.option("cr", None, _whole(CODING_RATES), "5 to 8, for 4/5 to 4/8")
    sync_word = reader.option("sync", None, _read_sync, "0x00 to 0xff")
    if frequency_hz is None:
        if any(value is not None for value in (bandwidth_hz, spreading_factor, coding_rate, sync_word)):
            reader.fail("it sets the modem but gives no frequency", "&frequency= in MHz, such as 869.525")
        return None
    return LoraSettings(
        frequency_hz=frequency_hz,
        bandwidth_hz=bandwidth_hz or _DEFAULT.bandwidth_hz,
        spreading_factor=spreading_factor or _DEFAULT.spreading_factor,
        coding_rate=coding_rate or _DEFAULT.coding_rate,
        sync_word=_DEFAULT.sync_word if sync_word is None else sync_word,
    )


def _read_antenna(reader: SpecReader) -> Antenna | None:
    gain_cdbi = reader.option(
        "gain",
        None,
        _decimal(100, range(GAIN_MIN_CDBI, GAIN_MAX_CDBI + 1)),
        f"{GAIN_MIN_CDBI // 100} to {GAIN_MAX_CDBI // 100} dBi, such as 2.15",
    )
    loss_cdb = reader.option(
        "loss", None, _decimal(100, range(LOSS_MAX_CDB + 1)), f"0 to {LOSS_MAX_CDB // 100} dB, such as 0.5"
    )
    if gain_cdbi is None and loss_cdb is None:
        return None
    return Antenna(gain_cdbi=_HALF_WAVE.gain_cdbi if gain_cdbi is None else gain_cdbi, loss_cdb=loss_cdb or 0)


def _check(reader: SpecReader, choice: RadioChoice) -> None:
    """Refuse a plan that is not known, and settings that are not legal."""
    try:
        wanted = choice.wanted
        if wanted is not None:
            choice.resolve(wanted)
    except UnknownPlanError as error:
        reader.fail(
            f"there is no plan '{choice.plan}' in {choice.firmware}", ", ".join(NAMED_PLANS[error.release])
        )
    except IllegalPlanError as error:
        what = describe(error.settings) if choice.plan is None else f"{choice.plan} of {choice.firmware}"
        reader.fail(f"{what} is not legal in {choice.region}: {error.reason}", error.proposal)
    except IllegalPowerError as error:
        reader.fail(f"it is not legal in {choice.region}: {error.reason}", error.proposal)


def _decimal(unit: int, allowed: range | tuple[int, ...]) -> Callable[[str], int | None]:
    """Reads a number of large units as a whole number of small ones."""

    def read(text: str) -> int | None:
        if not re.fullmatch(r"-?[0-9]{1,4}(\.[0-9]{1,6})?", text):
            return None
        value = Decimal(text) * unit
        return int(value) if value == int(value) and int(value) in allowed else None

    return read


def _whole(allowed: range) -> Callable[[str], int | None]:
    return _decimal(1, allowed)


def _read_sync(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r"0x[0-9a-fA-F]{1,2}", text) else None
