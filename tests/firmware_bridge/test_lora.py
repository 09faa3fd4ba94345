"""Airtime against published figures, and the limits of the chips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.lora import (
    LoraSettings,
    airtime_us,
    noise_floor_dbm,
    preamble_us,
    sensitivity_dbm,
    symbols_us,
)

# Milliseconds by Semtech AN1200.13: preamble 8, coding rate 4/5, explicit header, no CRC; SF7 to SF12.
TIME_ON_AIR_MS = {
    (103, 125_000): (174.3, 307.7, 554.0, 1026.0, 2215.9, 4104.2),
    (103, 250_000): (87.2, 153.9, 277.0, 513.0, 944.1, 2052.1),
    (103, 500_000): (43.6, 76.9, 138.5, 256.5, 472.1, 862.2),
    (120, 125_000): (199.9, 348.7, 635.9, 1148.9, 2543.6, 4595.7),
    (120, 250_000): (100.0, 174.3, 318.0, 574.5, 1067.0, 2297.9),
    (120, 500_000): (50.0, 87.2, 159.0, 287.2, 533.5, 985.1),
    (124, 125_000): (205.1, 358.9, 656.4, 1189.9, 2625.5, 4759.6),
    (124, 250_000): (102.5, 179.5, 328.2, 594.9, 1108.0, 2379.8),
    (124, 500_000): (51.3, 89.7, 164.1, 297.5, 554.0, 1026.0),
}


@pytest.mark.parametrize(("length", "bandwidth_hz"), TIME_ON_AIR_MS)
def test_airtime_is_semtechs(length: int, bandwidth_hz: int) -> None:
    airtimes_ms = tuple(
        round(airtime_us(LoraSettings(bandwidth_hz=bandwidth_hz, spreading_factor=sf), length) / 1000, 1)
        for sf in range(7, 13)
    )
    assert airtimes_ms == TIME_ON_AIR_MS[length, bandwidth_hz]


def test_airtime_is_exact_to_the_microsecond() -> None:
    assert airtime_us(LoraSettings(), 124) == 205_056  # as micropython-lib's lora driver computes it


def test_a_crc_of_the_chips_own_costs_a_block_or_nothing() -> None:
    assert airtime_us(LoraSettings(spreading_factor=8, crc=True), 124) == 369_152
    assert airtime_us(LoraSettings(crc=True), 124) in (205_056, 210_176)


def test_the_plan_of_uart_modules() -> None:
    plan = LoraSettings(frequency_hz=868_200_000, spreading_factor=9, coding_rate=7, sync_word=0x12)
    assert airtime_us(plan, 124) == 885_760


def test_an_implicit_header_saves_its_bits() -> None:
    assert airtime_us(LoraSettings(explicit_header=False), 124) < airtime_us(LoraSettings(), 124)


@pytest.mark.parametrize(
    ("spreading_factor", "bandwidth_hz", "on"),
    [
        (10, 125_000, False),
        (11, 125_000, True),
        (11, 250_000, False),
        (12, 250_000, True),
        (12, 500_000, False),
    ],
)
def test_low_data_rate_from_16_ms_a_symbol(spreading_factor: int, bandwidth_hz: int, on: bool) -> None:
    assert LoraSettings(spreading_factor=spreading_factor, bandwidth_hz=bandwidth_hz).low_data_rate is on


settings = st.builds(
    LoraSettings,
    bandwidth_hz=st.sampled_from((7_800, 41_700, 125_000, 250_000, 500_000)),
    spreading_factor=st.integers(7, 12),
    coding_rate=st.integers(5, 8),
    preamble_symbols=st.integers(6, 100),
    explicit_header=st.booleans(),
    crc=st.booleans(),
)


@given(settings, st.integers(0, 254))
def test_more_bytes_never_take_less_air(modem: LoraSettings, length: int) -> None:
    assert preamble_us(modem) < airtime_us(modem, length) <= airtime_us(modem, length + 1)


@pytest.mark.parametrize("length", [-1, 256])
def test_lengths_no_frame_has(length: int) -> None:
    with pytest.raises(ValueError, match="0 to 255 bytes"):
        airtime_us(LoraSettings(), length)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frequency_hz", 2_400_000_000),
        ("bandwidth_hz", 100_000),
        ("spreading_factor", 6),
        ("coding_rate", 4),
        ("preamble_symbols", 5),
        ("sync_word", 256),
    ],
)
def test_what_no_chip_can_do_is_named(field: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{field} is {value}; possible: "):
        LoraSettings(**{field: value})  # type: ignore[arg-type]  # one integer field at a time


def test_symbols_are_rounded_up() -> None:
    assert symbols_us(LoraSettings(), 4) == 1_024
    assert symbols_us(LoraSettings(bandwidth_hz=41_700), 1) == 768  # 767.4


def test_noise_and_sensitivity() -> None:
    assert round(noise_floor_dbm(LoraSettings()), 1) == -117.0
    assert round(noise_floor_dbm(LoraSettings(bandwidth_hz=250_000)), 1) == -114.0
    assert [round(sensitivity_dbm(LoraSettings(spreading_factor=sf)), 1) for sf in (7, 12)] == [
        -124.5,
        -137.0,
    ]
