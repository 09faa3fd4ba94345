"""Settings as chips want them, and their time on the air."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.chips.modem import Modem
from firmware_bridge.lora import BANDWIDTHS_HZ, LoraSettings, airtime_us, modem_of


@given(
    st.builds(
        LoraSettings,
        bandwidth_hz=st.sampled_from(BANDWIDTHS_HZ),
        spreading_factor=st.integers(7, 12),
        coding_rate=st.integers(5, 8),
        preamble_symbols=st.integers(6, 100),
        explicit_header=st.booleans(),
        crc=st.booleans(),
    ),
    st.integers(0, 255),
)
def test_airtime_is_what_the_law_is_reckoned_with(settings: LoraSettings, length: int) -> None:
    modem = modem_of(settings)
    assert modem.airtime_us(length) == airtime_us(settings, length)
    assert modem.low_data_rate == settings.low_data_rate


@pytest.mark.parametrize(
    ("spreading_factor", "bandwidth_hz", "expected_us"),
    [(7, 125_000, 205_056), (9, 125_000, 656_384), (12, 125_000, 4_759_552), (7, 500_000, 51_264)],
)
def test_known_times_of_124_bytes(spreading_factor: int, bandwidth_hz: int, expected_us: int) -> None:
    modem = Modem(frequency_hz=868_300_000, bandwidth_hz=bandwidth_hz, spreading_factor=spreading_factor)
    assert modem.airtime_us(124) == expected_us


def test_the_shortest_factors_have_more_symbols_of_sync() -> None:
    five = Modem(frequency_hz=868_300_000, spreading_factor=5)
    # (8 + 6.25 + 8 + ceil((80 - 20 + 20) / 20) * 5) symbols of 256 us.
    assert five.airtime_us(10) == round(42.25 * 256)


@pytest.mark.parametrize(
    ("spreading_factor", "low_data_rate", "expected"),
    [(10, None, False), (11, None, True), (11, False, False), (7, True, True)],
)
def test_the_low_data_rate_can_be_chosen(
    spreading_factor: int, low_data_rate: bool | None, expected: bool
) -> None:
    modem = Modem(frequency_hz=868_300_000, spreading_factor=spreading_factor, low_data_rate=low_data_rate)
    assert modem.low_data_rate is expected
