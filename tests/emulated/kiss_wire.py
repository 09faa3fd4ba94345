"""The modem's side of KISS messages: the bodies that an emulated modem reads and writes."""

from dataclasses import dataclass

from firmware_bridge.firmware import kiss
from firmware_bridge.lora import LoraSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class RadioSettings:
    """The settings that all modems of this kind have."""

    frequency_hz: int
    bandwidth_hz: int
    spreading_factor: int
    coding_rate: int
    """5 to 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phy:
    """The settings that only our extension has."""

    sync_word: int
    """One byte, as a SX127x has it; modems with a SX126x spread it over their two."""
    crc: bool
    """True if the chip appends a CRC, and drops packets whose CRC is wrong."""
    preamble_symbols: int
    """6 to 65535."""
    low_data_rate: bool
    """Low data rate optimisation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RxMeta:
    """The signal of the packet before."""

    snr_db: float
    """Signal-to-noise ratio, in steps of a quarter."""
    rssi_dbm: int
    """-128 to 127; modems receive weaker signals, too, and report -128."""


def serialize_radio(radio: RadioSettings) -> bytes:
    """Return the ten bytes of SET_RADIO."""
    return (
        radio.frequency_hz.to_bytes(4, "little")
        + radio.bandwidth_hz.to_bytes(4, "little")
        + bytes([radio.spreading_factor, radio.coding_rate])
    )


def parse_radio(data: bytes) -> RadioSettings | None:
    """Parse the data of SET_RADIO; None for another length."""
    if len(data) != 10:
        return None
    return RadioSettings(
        frequency_hz=int.from_bytes(data[:4], "little"),
        bandwidth_hz=int.from_bytes(data[4:8], "little"),
        spreading_factor=data[8],
        coding_rate=data[9],
    )


def serialize_phy(phy: Phy) -> bytes:
    """Return the five bytes of SET_PHY."""
    preamble = phy.preamble_symbols.to_bytes(2, "little")
    return bytes([phy.sync_word, phy.crc]) + preamble + bytes([phy.low_data_rate])


def parse_phy(data: bytes) -> Phy | None:
    """Parse the data of SET_PHY; None for another length, or for switches other than 0 and 1."""
    if len(data) != 5 or data[1] > 1 or data[4] > 1:
        return None
    return Phy(
        sync_word=data[0],
        crc=bool(data[1]),
        preamble_symbols=int.from_bytes(data[2:4], "little"),
        low_data_rate=bool(data[4]),
    )


def serialize_rx_meta(meta: RxMeta) -> bytes:
    """Return the two bytes of RX_META, clipped to their range."""
    return bytes([kiss.meta_byte(round(meta.snr_db * 4)), kiss.meta_byte(meta.rssi_dbm)])


def radio_of(lora: LoraSettings) -> RadioSettings:
    """Return the part of *lora* that SET_RADIO sets."""
    return RadioSettings(
        frequency_hz=lora.frequency_hz,
        bandwidth_hz=lora.bandwidth_hz,
        spreading_factor=lora.spreading_factor,
        coding_rate=lora.coding_rate,
    )


def phy_of(lora: LoraSettings) -> Phy:
    """Return the part of *lora* that SET_PHY sets."""
    return Phy(
        sync_word=lora.sync_word,
        crc=lora.crc,
        preamble_symbols=lora.preamble_symbols,
        low_data_rate=lora.low_data_rate,
    )
