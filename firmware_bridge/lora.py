"""LoRa modem settings, their time on air, noise and sensitivity. Pure.

Sources: Semtech AN1200.13 (time on air), SX1272/73 and SX1276 data sheets (limits, demodulator figures).
"""

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Final

from firmware_bridge.chips import modem
from firmware_bridge.chips.modem import LOW_DATA_RATE_US, PAYLOAD_MAX, Modem

BANDWIDTHS_HZ: Final = modem.BANDWIDTHS_HZ
"""Bandwidths of SX127x and SX126x."""
SPREADING_FACTORS: Final = range(7, 13)
"""Spreading factors with an explicit header on every chip (SF5 and SF6 differ between chip families)."""
CODING_RATES: Final = range(5, 9)
"""Denominators of the coding rate 4/5 to 4/8."""
PREAMBLES: Final = range(6, 65_536)
"""Lengths of preambles: receivers need 6 symbols (SX1276 data sheet 4.1.1.6), and the register has 16 bits."""
FREQUENCY_MIN_HZ: Final = 137_000_000
"""Lowest frequency of the chips (SX1276 data sheet, table 32)."""
FREQUENCY_MAX_HZ: Final = 1_020_000_000
"""Highest frequency of the chips (the same)."""
POWER_MIN_DBM: Final = -9
"""Least power of a SX1262 (its data sheet, 13.4.4); a SX1276's amplifier begins at 2 dBm."""
POWER_MAX_DBM: Final = 30
"""Most power of the modules that are sold with an amplifier of their own: 1 W."""
DEMODULATION_SNR_DB: Final = {7: -7.5, 8: -10.0, 9: -12.5, 10: -15.0, 11: -17.5, 12: -20.0}
"""Least signal-to-noise ratio that is still demodulated, by spreading factor (SX1276 data sheet, table 13)."""
THERMAL_NOISE_DBM_PER_HZ: Final = -174.0
"""Thermal noise at room temperature in 1 Hz."""
NOISE_FIGURE_DB: Final = 6.0
"""Noise figure of the chips' receivers (AN1200.22)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings:
    """The settings that two modems must share to hear each other. Raises ValueError for what no chip can do."""

    frequency_hz: int = 868_300_000
    """Centre frequency."""
    bandwidth_hz: int = 125_000
    """Bandwidth, one of ``BANDWIDTHS_HZ``."""
    spreading_factor: int = 7
    """Spreading factor, 7 to 12."""
    coding_rate: int = 5
    """Denominator of the coding rate: 5 for 4/5 to 8 for 4/8."""
    preamble_symbols: int = 8
    """Programmed length of the preamble, without the sync word."""
    sync_word: int = 0x58
    """One byte; 0x58 is what tinySSB boards use."""
    explicit_header: bool = True
    """True if each frame has a header with its length and coding rate."""
    crc: bool = False
    """True if the chip appends a CRC of its own."""

    def __post_init__(self) -> None:
        allowed = (
            ("frequency_hz", self.frequency_hz, range(FREQUENCY_MIN_HZ, FREQUENCY_MAX_HZ + 1)),
            ("bandwidth_hz", self.bandwidth_hz, BANDWIDTHS_HZ),
            ("spreading_factor", self.spreading_factor, SPREADING_FACTORS),
            ("coding_rate", self.coding_rate, CODING_RATES),
            ("preamble_symbols", self.preamble_symbols, PREAMBLES),
            ("sync_word", self.sync_word, range(256)),
        )
        for name, value, values in allowed:
            if value not in values:
                limits = [f"{values[0]} to {values[-1]}"] if isinstance(values, range) else map(str, values)
                raise ValueError(f"{name} is {value}; possible: {', '.join(limits)}")

    @property
    def low_data_rate(self) -> bool:
        """True if the low data rate optimisation must be on: for symbols of 16 ms or more."""
        return (1 << self.spreading_factor) * 1_000_000 >= LOW_DATA_RATE_US * self.bandwidth_hz


@lru_cache(maxsize=64)
def modem_of(settings: LoraSettings) -> Modem:
    """Return the chip's form of *settings*, shared by all who ask: it must not be changed."""
    return Modem(**asdict(settings), low_data_rate=settings.low_data_rate)


def symbols_us(settings: LoraSettings, quarters: int) -> int:
    """Return the microseconds of so many quarters of a symbol, rounded up."""
    return modem.symbols_us(modem_of(settings), quarters)


def preamble_us(settings: LoraSettings) -> int:
    """Return the microseconds of preamble and sync word, rounded up."""
    return symbols_us(settings, modem.preamble_quarters(modem_of(settings)))


def airtime_us(settings: LoraSettings, length: int) -> int:
    """Return the time on air of a frame of *length* bytes (0 to 255, all framing included), rounded up.

    Semtech AN1200.13. Raises ValueError for a length that no frame can have.
    """
    if not 0 <= length <= PAYLOAD_MAX:
        raise ValueError(f"a LoRa frame has 0 to {PAYLOAD_MAX} bytes, not {length}")
    return modem_of(settings).airtime_us(length)


def noise_floor_dbm(settings: LoraSettings | Modem) -> float:
    """Return the noise power in the channel, the receiver's own included."""
    return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(settings.bandwidth_hz) + NOISE_FIGURE_DB


def snr_limit_db(settings: LoraSettings) -> float:
    """Return the least signal-to-noise ratio that is still received."""
    return DEMODULATION_SNR_DB[settings.spreading_factor]


def sensitivity_dbm(settings: LoraSettings) -> float:
    """Return the weakest signal that is still received."""
    return noise_floor_dbm(settings) + snr_limit_db(settings)
