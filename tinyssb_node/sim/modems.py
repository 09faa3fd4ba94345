"""Modems of different settings in one band: which of them understand each other, and how much others interfere. Pure.

- Only modems with the same spreading factor, bandwidth and sync word, and centre frequencies less than about a quarter
  of the bandwidth apart, hear each other.
- Another spreading factor at the same frequency is almost orthogonal: it destroys a packet only when it is much
  stronger, by a margin from the table of Goursaud and Gorce.
- A signal of another bandwidth, or at another frequency, acts as noise, with that part of its power that falls into the
  receiver's band.
"""

import math
from dataclasses import dataclass, field

from firmware_bridge import lora
from firmware_bridge.lora import LoraSettings
from tinyssb_node.sim import limits as sim_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ModemOptions:
    """The settings of a node's modem."""

    lora: LoraSettings = field(default_factory=LoraSettings)
    """Frequency, bandwidth, spreading factor and the like."""
    power_dbm: float = 14.0
    """Radiated power, antenna included."""
    turnaround_us: int = 1_000
    """Time for which it is deaf after sending."""


class Modem:
    """Values computed from a modem's settings."""

    __slots__ = (
        "_airtimes_us",
        "noise_dbm",
        "options",
        "preamble_us",
        "sense_us",
        "sensitivity_dbm",
        "turnaround_us",
    )

    def __init__(self, options: ModemOptions) -> None:
        settings = options.lora
        self.options = options
        self.noise_dbm = lora.noise_floor_dbm(settings)
        self.sensitivity_dbm = lora.sensitivity_dbm(settings)
        self.preamble_us = lora.preamble_us(settings)
        self.sense_us = lora.symbols_us(settings, 4 * sim_limits.SENSE_SYMBOLS)
        """Its carrier sense does not detect transmissions that began more recently."""
        self.turnaround_us = options.turnaround_us
        self._airtimes_us: dict[int, int] = {}

    def airtime_us(self, length: int) -> int:
        """Microseconds a frame of *length* bytes is on the air, all framing included."""
        known_us = self._airtimes_us.get(length)
        if known_us is None:
            known_us = self._airtimes_us[length] = lora.airtime_us(self.options.lora, length)
        return known_us


def can_demodulate(ear: LoraSettings, voice: LoraSettings) -> bool:
    """Return True if a modem with the settings of *ear* understands one with those of *voice*."""
    return (
        _is_tuned(ear, voice)
        and ear.spreading_factor == voice.spreading_factor
        and ear.sync_word == voice.sync_word
    )


def spoils(ear: LoraSettings, voice: LoraSettings) -> float:
    """Return how much a signal of *voice* disturbs a reception at *ear*, relative to one with the settings of *ear*: 1
    for the same settings, 0 for other bands."""
    if _is_tuned(ear, voice):
        if ear.spreading_factor == voice.spreading_factor:
            return 1.0
        row = sim_limits.REJECTION_DB[ear.spreading_factor]
        return _ratio(row[voice.spreading_factor - lora.SPREADING_FACTORS[0]] - sim_limits.CAPTURE_DB)
    share = _common_hz(ear, voice) / voice.bandwidth_hz
    return share * _ratio(lora.DEMODULATION_SNR_DB[ear.spreading_factor] - sim_limits.CAPTURE_DB)


def _is_tuned(ear: LoraSettings, voice: LoraSettings) -> bool:
    apart_hz = abs(ear.frequency_hz - voice.frequency_hz)
    return ear.bandwidth_hz == voice.bandwidth_hz and apart_hz <= sim_limits.TUNED_SHARE * ear.bandwidth_hz


def _common_hz(ear: LoraSettings, voice: LoraSettings) -> float:
    """Width of the band that both use."""
    apart_hz = abs(ear.frequency_hz - voice.frequency_hz)
    reach_hz = (ear.bandwidth_hz + voice.bandwidth_hz) / 2 - apart_hz
    return max(0.0, min(ear.bandwidth_hz, voice.bandwidth_hz, reach_hz))


def _ratio(db: float) -> float:
    return math.pow(10, db / 10)
