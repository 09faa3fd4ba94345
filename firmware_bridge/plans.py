"""Frequency plans: a radio's settings within the law of its region, or the rule that they break. Pure.

The names are those of the deployed tinySSB firmware. The same names changed their meaning between its versions, so a
name alone does not determine the settings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from firmware_bridge.lora import POWER_MIN_DBM, SPREADING_FACTORS, LoraSettings, airtime_us
from firmware_bridge.regions import (
    FRAME_SIZE,
    FREE_GAIN_CDBI,
    SUB_BANDS,
    Antenna,
    PowerBasis,
    Region,
    SubBand,
)

TINYSSB_SYNC_WORD: Final = 0x58
"""Sync word of tinySSB boards (their config-tSSB.cpp)."""
E22_SYNC_WORD: Final = 0x12
"""Sync word of EBYTE's E22 modules, and LoRa's own for private networks."""
TINYSSB_POWER_DBM: Final = 20
"""Power of tinySSB boards, in every plan."""
_HALF_WAVE: Final = Antenna()
COMMON_BANDWIDTHS_HZ: Final = (125_000, 250_000, 500_000)
"""Bandwidths proposed instead of an illegal one: those of all LoRa firmware."""


class FirmwareRelease(StrEnum):
    """The firmware that defines a plan's name."""

    FW2025 = "fw2025"
    """tinySSB/esp32-firmware of 2025."""
    FW2023 = "fw2023"
    """loramesh-TBeam in the repository of the app, 2023."""


def _plan(
    frequency_hz: int,
    bandwidth_hz: int,
    spreading_factor: int,
    coding_rate: int = 5,
    sync_word: int = TINYSSB_SYNC_WORD,
) -> LoraSettings:
    return LoraSettings(
        frequency_hz=frequency_hz,
        bandwidth_hz=bandwidth_hz,
        spreading_factor=spreading_factor,
        coding_rate=coding_rate,
        sync_word=sync_word,
    )


NAMED_PLANS: Final[Mapping[FirmwareRelease, Mapping[str, LoraSettings]]] = {
    FirmwareRelease.FW2025: {
        "US915.a": _plan(904_600_000, 125_000, 7),
        "US915.b": _plan(904_600_000, 250_000, 7),
        "US915.c": _plan(904_600_000, 500_000, 7),
        "AU915.a": _plan(917_500_000, 125_000, 7),
        "AU915.b": _plan(917_500_000, 250_000, 7),
        "EU868.a": _plan(868_300_000, 125_000, 7),
        "EU868.b": _plan(868_300_000, 250_000, 7),
        "EU868.c": _plan(868_300_000, 500_000, 7),
        "EU433.a": _plan(433_300_000, 125_000, 7),
        "E22-868": _plan(868_200_000, 125_000, 9, 7, E22_SYNC_WORD),
    },
    FirmwareRelease.FW2023: {
        "AU915.a": _plan(917_500_000, 500_000, 8),
        "AU915.b": _plan(917_500_000, 125_000, 7),
        "EU868.a": _plan(868_300_000, 250_000, 7),
        "EU868.b": _plan(868_300_000, 125_000, 7),
        "US915.a": _plan(904_600_000, 500_000, 8),
        "US915.b": _plan(904_600_000, 125_000, 7),
    },
}
"""The settings that two radios must share, by the names in config-tSSB.cpp and in loramesh-TBeam/config.cpp. tinySSB
boards send without the chip's CRC and with 8 preamble symbols."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioPlan:
    """Lawful settings of a radio in its region."""

    region: Region
    """The region whose law applies."""
    sub_band: SubBand
    """The sub-band of the channel; its name is the account that airtime is charged to."""
    lora: LoraSettings
    """The modem's settings."""
    power_dbm: int
    """The radio's power: as requested, or less where the law demands."""


class UnknownPlanError(ValueError):
    """A name that no plan of that firmware has."""

    def __init__(self, name: str, release: FirmwareRelease) -> None:
        super().__init__(f"{release} has no plan '{name}'; it has {', '.join(NAMED_PLANS[release])}")
        self.release = release
        """The firmware."""


class IllegalPlanError(ValueError):
    """Settings that break the law of the region."""

    def __init__(self, region: Region, settings: LoraSettings, reason: str, nearest: LoraSettings) -> None:
        proposal = describe(nearest) + _also_known_as(nearest)
        super().__init__(
            f"{describe(settings)} is not legal in {region}: {reason}. The nearest legal choice is {proposal}"
        )
        self.settings = settings
        """The requested settings."""
        self.reason = reason
        """The rule it breaks, in plain words."""
        self.nearest = nearest
        """The nearest legal settings."""
        self.proposal = proposal
        """The nearest legal settings for people, with the names of equal plans."""


class IllegalPowerError(ValueError):
    """A power that breaks the law of the region on this antenna."""

    def __init__(self, band: SubBand, power_dbm: int, antenna: Antenna, limit_dbm: int) -> None:
        self.reason = f"{power_dbm} dBm {_on(antenna)} is more than {_limit(band)} ({band.source})"
        """The rule it breaks, in plain words."""
        self.proposal = (
            f"{limit_dbm} dBm or less"
            if limit_dbm >= POWER_MIN_DBM
            else f"an antenna with less gain: no radio can send with the {limit_dbm} dBm that this one requires"
        )
        """The nearest legal choice."""
        super().__init__(f"{self.reason}. The nearest legal choice is {self.proposal}")
        self.limit_dbm = limit_dbm
        """Greatest legal power with this antenna."""


def named_plan(name: str, release: FirmwareRelease = FirmwareRelease.FW2025) -> LoraSettings:
    """Return the settings of the plan *name* of a *release*. Raises UnknownPlanError."""
    plan = NAMED_PLANS[release].get(name)
    if plan is None:
        raise UnknownPlanError(name, release)
    return plan


def resolve(
    region: Region,
    settings: LoraSettings,
    power_dbm: int = TINYSSB_POWER_DBM,
    antenna: Antenna = _HALF_WAVE,
    *,
    lower_power: bool = True,
) -> RadioPlan:
    """Find the sub-band of *settings*, and limit *power_dbm* on this *antenna* to the legal power.

    Lowers a power above the limit, since receivers need not know it. Raises IllegalPowerError instead if *lower_power*
    is off, or if no radio can send with so little. Other changes would prevent reception: raises IllegalPlanError with
    the nearest legal choice.
    """
    found = _find_sub_band(region, settings)
    if isinstance(found, str):
        raise IllegalPlanError(region, settings, found, _nearest(region, settings))
    limit_dbm = found.conducted_cdbm(antenna) // 100
    if limit_dbm < POWER_MIN_DBM or (not lower_power and power_dbm > limit_dbm):
        raise IllegalPowerError(found, power_dbm, antenna, limit_dbm)
    return RadioPlan(
        region=region,
        sub_band=found,
        lora=settings,
        power_dbm=min(power_dbm, limit_dbm),
    )


def describe(settings: LoraSettings) -> str:
    """Describe the settings that matter to the law, for people: ``868.3 MHz, 125 kHz, SF7``."""
    return f"{_mhz(settings.frequency_hz)} MHz, {_khz(settings)} kHz, SF{settings.spreading_factor}"


def _on(antenna: Antenna) -> str:
    cable = f" behind a cable that takes {antenna.loss_cdb / 100:g} dB" if antenna.loss_cdb else ""
    return f"on an antenna of {antenna.gain_cdbi / 100:g} dBi{cable}"


def _limit(band: SubBand) -> str:
    most = f"{band.power_cdbm / 100:g} dBm"
    if band.power_basis is PowerBasis.CONDUCTED:
        return f"{most} at the radio, less what the antenna has over {FREE_GAIN_CDBI / 100:g} dBi"
    return f"{most} {band.power_basis.upper()}"


def _mhz(frequency_hz: int) -> str:
    return f"{frequency_hz / 1e6:.6f}".rstrip("0").rstrip(".")


def _khz(settings: LoraSettings) -> str:
    return f"{settings.bandwidth_hz / 1e3:g}"


def _find_sub_band(region: Region, settings: LoraSettings) -> SubBand | str:
    """Return the sub-band that allows *settings*, or the rule that they break."""
    half_hz = -(-settings.bandwidth_hz // 2)
    low_hz, high_hz = settings.frequency_hz - half_hz, settings.frequency_hz + half_hz
    for band in SUB_BANDS[region]:
        if band.low_hz <= low_hz and high_hz <= band.high_hz:
            return _broken_rule(band, settings) or band
    edges = ", ".join(band.name.removeprefix(f"{region} ") for band in SUB_BANDS[region])
    return f"its channel, {_mhz(low_hz)} to {_mhz(high_hz)} MHz, lies in none of the sub-bands, which are {edges} MHz"


def _broken_rule(band: SubBand, settings: LoraSettings) -> str | None:
    """Return the rule of *band* that *settings* break, whose channel lies inside it; None for none."""
    width = f"{_khz(settings)} kHz"
    if settings.bandwidth_hz < band.bandwidth_min_hz:
        return (
            f"a channel of {width} that stays where it is counts neither as frequency hopping nor as digital "
            f"modulation, which needs {band.bandwidth_min_hz // 1_000} kHz ({band.source})"
        )
    if settings.bandwidth_hz > band.bandwidth_max_hz:
        return f"a channel of {width} is wider than {band.bandwidth_max_hz // 1_000} kHz ({band.source})"
    frame_us = airtime_us(settings, FRAME_SIZE)
    if band.dwell_us is not None and frame_us > band.dwell_us:
        return (
            f"a frame of {FRAME_SIZE} bytes takes {frame_us / 1e3:.0f} ms, and {band.dwell_us // 1_000} ms is the "
            f"longest transmission ({band.source})"
        )
    if band.airtime_limit_us is not None and frame_us > band.airtime_limit_us:
        return (
            f"a frame of {FRAME_SIZE} bytes takes {frame_us / 1e3:.0f} ms, and an hour has "
            f"{band.airtime_limit_us // 1_000} ms ({band.source})"
        )
    return None


def _nearest(region: Region, wanted: LoraSettings) -> LoraSettings:
    """Return the nearest legal settings: in the same sub-band if possible, then by bandwidth, spreading factor and
    frequency."""

    def apart(choice: LoraSettings) -> tuple[bool, float, int, int]:
        band = _find_sub_band(region, choice)
        assert isinstance(band, SubBand)
        return (
            not band.low_hz <= wanted.frequency_hz <= band.high_hz,
            max(choice.bandwidth_hz, wanted.bandwidth_hz) / min(choice.bandwidth_hz, wanted.bandwidth_hz),
            abs(choice.spreading_factor - wanted.spreading_factor),
            abs(choice.frequency_hz - wanted.frequency_hz),
        )

    return min(
        (
            choice
            for choice in _choices(region, wanted)
            if isinstance(_find_sub_band(region, choice), SubBand)
        ),
        key=apart,
    )


def _choices(region: Region, wanted: LoraSettings) -> Iterator[LoraSettings]:
    """Yield about a hundred settings near *wanted*, legal or not."""
    for band in SUB_BANDS[region]:
        for bandwidth_hz in {wanted.bandwidth_hz, *COMMON_BANDWIDTHS_HZ}:
            half_hz = -(-bandwidth_hz // 2)
            # Moved inside the band; _find_sub_band rejects a channel that does not fit at all.
            frequency_hz = max(band.low_hz + half_hz, min(wanted.frequency_hz, band.high_hz - half_hz))
            for spreading_factor in SPREADING_FACTORS:
                yield replace(
                    wanted,
                    frequency_hz=frequency_hz,
                    bandwidth_hz=bandwidth_hz,
                    spreading_factor=spreading_factor,
                )


def _also_known_as(settings: LoraSettings) -> str:
    """Return the names of plans with the same settings."""
    names = [
        f"{name} of {release}"
        for release, plans in NAMED_PLANS.items()
        for name, plan in plans.items()
        if plan == settings
    ]
    return f" ({', '.join(names)})" if names else ""
