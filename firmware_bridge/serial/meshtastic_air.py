"""The configuration of a Meshtastic device's radio, and the modem settings that follow from it. Pure.

Source: Meshtastic firmware, RadioInterface.cpp (regions, frequency slots) and MeshRadio.h (presets).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from firmware_bridge.lora import BANDWIDTHS_HZ, LoraSettings
from firmware_bridge.serial import limits

SYNC_WORD: Final = 0x2B
"""The sync word of all Meshtastic devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """The radio's part of a device's configuration (config.proto)."""

    use_preset: bool
    preset: int
    bandwidth_code: int
    spreading_factor: int
    coding_rate: int
    region: int
    transmits: bool
    power_dbm: int
    slot: int
    """Frequency slot, from 1; 0: by the name of the primary channel."""
    override_mhz: float
    """The frequency, if not 0."""


@dataclass(frozen=True, slots=True)
class MeshRegion:
    """A region as this firmware defines it; the law may differ."""

    name: str
    low_hz: int
    high_hz: int
    power_dbm: int
    """Greatest power, which is also the default."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A named set of modem settings."""

    name: str
    """The name, which is hashed into the frequency slot."""
    bandwidth_hz: int
    spreading_factor: int
    coding_rate: int


REGIONS: Final[Mapping[int, MeshRegion]] = {
    1: MeshRegion("US", 902_000_000, 928_000_000, 30),
    2: MeshRegion("EU_433", 433_000_000, 434_000_000, 10),
    3: MeshRegion("EU_868", 869_400_000, 869_650_000, 27),
    5: MeshRegion("JP", 920_500_000, 923_500_000, 13),
    6: MeshRegion("ANZ", 915_000_000, 928_000_000, 30),
    7: MeshRegion("KR", 920_000_000, 923_000_000, 23),
    8: MeshRegion("TW", 920_000_000, 925_000_000, 27),
    10: MeshRegion("IN", 865_000_000, 867_000_000, 30),
    12: MeshRegion("TH", 920_000_000, 925_000_000, 27),
    17: MeshRegion("MY_919", 919_000_000, 924_000_000, 27),
    18: MeshRegion("SG_923", 917_000_000, 925_000_000, 20),
}
"""Those in a region whose law is in ``regions``; devices in others are refused."""
PRESETS: Final[Mapping[int, Preset]] = {
    0: Preset("LongFast", 250_000, 11, 5),
    1: Preset("LongSlow", 125_000, 12, 8),
    2: Preset("VLongSlow", 62_500, 12, 8),
    3: Preset("MediumSlow", 250_000, 10, 5),
    4: Preset("MediumFast", 250_000, 9, 5),
    5: Preset("ShortSlow", 250_000, 8, 5),
    6: Preset("ShortFast", 250_000, 7, 5),
    7: Preset("LongMod", 125_000, 11, 8),
    8: Preset("ShortTurbo", 500_000, 7, 5),
    9: Preset("LongTurbo", 500_000, 11, 8),
}
"""Presets by their number in config.proto."""
_BANDWIDTH_CODES: Final = {31: 31_250, 62: 62_500}


class MeshSetupError(ValueError):
    """A device whose modem settings are unknown, or that does not send."""


def slot_hash(name: str) -> int:
    """Hash a channel's name by djb2 in 32 bits; the frequency slot is a remainder of it."""
    value = 5_381
    for byte in name.encode():
        value = (33 * value + byte) & 0xFFFF_FFFF
    return value


def on_air(config: LoraConfig, primary: str) -> tuple[LoraSettings, int]:
    """Return a device's modem settings and its power in dBm. *primary*: the name of its first channel, maybe empty.

    Raises MeshSetupError.
    """
    region = REGIONS.get(config.region)
    if config.region == 0:
        raise MeshSetupError("it has no region set, so it does not send")
    if region is None:
        raise MeshSetupError(f"its region (number {config.region}) is one whose law is not known here")
    if not config.transmits:
        raise MeshSetupError("its transmitter is switched off")
    preset = _modem(config)
    if preset.bandwidth_hz not in BANDWIDTHS_HZ or not math.isfinite(config.override_mhz):
        raise MeshSetupError("a LoRa chip cannot have its bandwidth or frequency")
    slots = max(1, round((region.high_hz - region.low_hz) / preset.bandwidth_hz))
    slot = config.slot - 1 if config.slot else slot_hash(primary or preset.name) % slots
    frequency_hz = (
        round(config.override_mhz * 1_000) * 1_000
        if config.override_mhz
        else region.low_hz + preset.bandwidth_hz // 2 + slot * preset.bandwidth_hz
    )
    power_dbm = min(config.power_dbm, region.power_dbm) if config.power_dbm else region.power_dbm
    try:
        settings = LoraSettings(
            frequency_hz=frequency_hz,
            bandwidth_hz=preset.bandwidth_hz,
            spreading_factor=preset.spreading_factor,
            coding_rate=preset.coding_rate,
            preamble_symbols=limits.MESHTASTIC_PREAMBLE,
            sync_word=SYNC_WORD,
            crc=True,
        )
    except ValueError as error:
        raise MeshSetupError(f"its modem settings are not known: {error}") from error
    return settings, power_dbm


def _modem(config: LoraConfig) -> Preset:
    """Return the settings of a preset, or the single settings. Raises MeshSetupError."""
    if not config.use_preset:
        bandwidth_hz = _BANDWIDTH_CODES.get(config.bandwidth_code, 1_000 * config.bandwidth_code)
        return Preset("Custom", bandwidth_hz, config.spreading_factor, config.coding_rate)
    preset = PRESETS.get(config.preset)
    if preset is None:
        raise MeshSetupError(f"its modem preset (number {config.preset}) is not known")
    coding_rate = (
        max(preset.coding_rate, config.coding_rate) if 5 <= config.coding_rate <= 8 else preset.coding_rate
    )
    return Preset(preset.name, preset.bandwidth_hz, preset.spreading_factor, coding_rate)
