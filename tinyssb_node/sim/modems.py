"""Modems on one stretch of spectrum, not all set alike: who can demodulate whom, and how much of whom disturbs. Pure.

- Only modems with the same spreading factor, bandwidth and sync word, and centre frequencies less than about a quarter
  of the bandwidth apart, hear each other.
- Another spreading factor in the same place is almost orthogonal: it spoils a packet only when it is much stronger, by
  how much is in the table of Goursaud and Gorce.
- What has another bandwidth, or lies beside, disturbs as noise does, with that part of its power that falls into the
  receiver's band.
"""

import math
from dataclasses import dataclass, field

from firmware_bridge import lora
from firmware_bridge.lora import LoraSettings
from tinyssb_node.sim import limits as sim_limits


@dataclass(frozen=True, slots=True, kw_only=True)
class ModemOptions:
    """How a node's modem is set."""

    lora: LoraSettings = field(default_factory=LoraSettings)
    """Where and how it sends and listens."""
    power_dbm: float = 14.0
    """What it radiates, antenna included."""
    turnaround_us: int = 1_000
    """How long it is deaf after sending."""


class Modem:
    """What follows from a modem's settings."""

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
        """What began more recently than this is not yet seen by its carrier sense."""
        self.turnaround_us = options.turnaround_us
        self._airtimes_us: dict[int, int] = {}

    def airtime_us(self, length: int) -> int:
        """Microseconds a frame of *length* bytes is on the air, all framing included."""
        known_us = self._airtimes_us.get(length)
        if known_us is None:
            known_us = self._airtimes_us[length] = lora.airtime_us(self.options.lora, length)
        return known_us


def can_demodulate(ear: LoraSettings, voice: LoraSettings) -> bool:
    """Whether a modem set like *ear* understands what one set like *voice* sends."""
    return (
        _is_tuned(ear, voice)
        and ear.spreading_factor == voice.spreading_factor
        and ear.sync_word == voice.sync_word
    )


def spoils(ear: LoraSettings, voice: LoraSettings) -> float:
    """How much a signal of *voice* disturbs a reception at *ear*, as a multiple of what one set like *ear* does: 1 for
    the same settings, 0 for other bands."""
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
