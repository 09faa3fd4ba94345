"""LoRa modem settings and what they cost on the air. Pure: integers in, integers out.

Sources: Semtech AN1200.13 (time on air), SX1272/73 and SX1276 data sheets (limits, demodulator figures).
"""

import math
from dataclasses import dataclass
from typing import Final

BANDWIDTHS_HZ: Final = (7_800, 10_400, 15_600, 20_800, 31_250, 41_700, 62_500, 125_000, 250_000, 500_000)
"""Bandwidths a SX127x or SX126x can be set to."""
SPREADING_FACTORS: Final = range(7, 13)
"""Spreading factors with an explicit header on every chip (SF5 and SF6 differ between chip families)."""
CODING_RATES: Final = range(5, 9)
"""Denominators of the coding rate 4/5 to 4/8."""
PREAMBLE_SYMBOLS_MIN: Final = 6
"""Shortest preamble a receiver finds reliably (SX1276 data sheet 4.1.1.6)."""
PREAMBLE_SYMBOLS_MAX: Final = 65_535
"""Longest preamble: a 16-bit register."""
FREQUENCY_MIN_HZ: Final = 137_000_000
"""Lowest frequency of the chips."""
FREQUENCY_MAX_HZ: Final = 1_020_000_000
"""Highest frequency of the chips."""
POWER_MIN_DBM: Final = -9
"""Least power a SX1262 can be set to (its data sheet, 13.4.4); a SX1276's amplifier begins at 2 dBm."""
POWER_MAX_DBM: Final = 30
"""Most power of the modules that are sold with an amplifier of their own: 1 W."""
PAYLOAD_MAX: Final = 255
"""Most bytes in one LoRa frame: its header counts in one byte."""
LOW_DATA_RATE_SYMBOL_US: Final = 16_000
"""Symbols this long or longer need the low data rate optimisation (SX1276 data sheet 4.1.1.6)."""
DEMODULATION_SNR_DB: Final = {7: -7.5, 8: -10.0, 9: -12.5, 10: -15.0, 11: -17.5, 12: -20.0}
"""Weakest signal-to-noise ratio that is still demodulated, by spreading factor (SX1276 data sheet, table 13)."""
THERMAL_NOISE_DBM_PER_HZ: Final = -174.0
"""Thermal noise at room temperature in 1 Hz."""
NOISE_FIGURE_DB: Final = 6.0
"""Noise figure of the chips' receivers (AN1200.22)."""

_QUARTER_SYMBOLS_OF_SYNC: Final = 17
"""The sync word and start delimiter take 4.25 symbols; counted in quarters to stay with integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraSettings:
    """Everything two modems must agree on to hear each other. Raises ValueError for what no chip can do."""

    frequency_hz: int = 868_300_000
    """Centre frequency."""
    bandwidth_hz: int = 125_000
    """One of ``BANDWIDTHS_HZ``."""
    spreading_factor: int = 7
    """7 to 12."""
    coding_rate: int = 5
    """Denominator of the coding rate: 5 for 4/5 to 8 for 4/8."""
    preamble_symbols: int = 8
    """Programmed length of the preamble, sync word not counted."""
    sync_word: int = 0x58
    """One byte; 0x58 is what tinySSB boards use."""
    explicit_header: bool = True
    """Whether each frame says its own length and coding rate."""
    crc: bool = False
    """Whether the chip adds a CRC of its own."""

    def __post_init__(self) -> None:
        allowed = (
            ("frequency_hz", self.frequency_hz, range(FREQUENCY_MIN_HZ, FREQUENCY_MAX_HZ + 1)),
            ("bandwidth_hz", self.bandwidth_hz, BANDWIDTHS_HZ),
            ("spreading_factor", self.spreading_factor, SPREADING_FACTORS),
            ("coding_rate", self.coding_rate, CODING_RATES),
            (
                "preamble_symbols",
                self.preamble_symbols,
                range(PREAMBLE_SYMBOLS_MIN, PREAMBLE_SYMBOLS_MAX + 1),
            ),
            ("sync_word", self.sync_word, range(256)),
        )
        for name, value, values in allowed:
            if value not in values:
                what = (
                    f"{values[0]} to {values[-1]}"
                    if isinstance(values, range)
                    else ", ".join(map(str, values))
                )
                raise ValueError(f"{name} is {value}; possible: {what}")

    @property
    def low_data_rate(self) -> bool:
        """Whether the low data rate optimisation must be on: symbols of 16 ms or more."""
        return (1 << self.spreading_factor) * 1_000_000 >= LOW_DATA_RATE_SYMBOL_US * self.bandwidth_hz


def symbols_us(settings: LoraSettings, quarter_symbols: int) -> int:
    """Microseconds that so many quarters of a symbol take, rounded up."""
    chips = quarter_symbols << settings.spreading_factor
    return -(-chips * 1_000_000 // (4 * settings.bandwidth_hz))


def preamble_us(settings: LoraSettings) -> int:
    """Microseconds of preamble and sync word, rounded up."""
    return symbols_us(settings, 4 * settings.preamble_symbols + _QUARTER_SYMBOLS_OF_SYNC)


def airtime_us(settings: LoraSettings, length: int) -> int:
    """Microseconds a frame of *length* bytes (0 to 255, all framing included) is on the air, rounded up.

    Semtech AN1200.13. Raises ValueError for a length no frame can have.
    """
    if not 0 <= length <= PAYLOAD_MAX:
        raise ValueError(f"a LoRa frame has 0 to {PAYLOAD_MAX} bytes, not {length}")
    bits = 8 * length - 4 * settings.spreading_factor + 28
    bits += 16 * settings.crc - 20 * (not settings.explicit_header)
    bits_per_block = 4 * (settings.spreading_factor - 2 * settings.low_data_rate)
    blocks = max(-(-bits // bits_per_block), 0)
    symbols = settings.preamble_symbols + 8 + blocks * settings.coding_rate
    return symbols_us(settings, 4 * symbols + _QUARTER_SYMBOLS_OF_SYNC)


def noise_floor_dbm(settings: LoraSettings) -> float:
    """Noise power in the channel, receiver's own included."""
    return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(settings.bandwidth_hz) + NOISE_FIGURE_DB


def snr_limit_db(settings: LoraSettings) -> float:
    """Weakest signal to noise ratio that is still received."""
    return DEMODULATION_SNR_DB[settings.spreading_factor]


def sensitivity_dbm(settings: LoraSettings) -> float:
    """Weakest signal that is still received."""
    return noise_floor_dbm(settings) + snr_limit_db(settings)
