"""Behaviour of a Meshtastic device on the air, by its configuration."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.lora import airtime_us
from firmware_bridge.serial.meshtastic_air import LoraConfig, MeshSetupError, on_air, slot_hash
from tests.emulated.meshtastic import SHORT_FAST_EU868

words = st.integers(0, 2**32 - 1) | st.integers(0, 40)
configs = st.builds(
    LoraConfig,
    use_preset=st.booleans(),
    preset=words,
    bandwidth_code=words | st.sampled_from((31, 62, 125, 250, 500)),
    spreading_factor=words,
    coding_rate=words,
    region=words,
    transmits=st.booleans(),
    power_dbm=st.integers(-(2**31), 2**31),
    slot=words,
    override_mhz=st.floats(width=32),
)
LONG_FAST_US = replace(SHORT_FAST_EU868, preset=0, region=1, power_dbm=0)


def test_europe_has_one_slot() -> None:
    lora, power_dbm = on_air(SHORT_FAST_EU868, "")
    assert (lora.frequency_hz, lora.bandwidth_hz, lora.spreading_factor) == (869_525_000, 250_000, 7)
    assert (lora.sync_word, lora.preamble_symbols, lora.crc, power_dbm) == (0x2B, 16, True, 14)


def test_the_default_channel_in_america_is_where_everybody_is() -> None:
    # Slot 20 of 104 for "LongFast": 906.875 MHz, as Meshtastic's documentation has it.
    lora, power_dbm = on_air(LONG_FAST_US, "")
    assert lora.frequency_hz == 906_875_000
    assert power_dbm == 30


def test_a_channel_of_another_name_is_elsewhere() -> None:
    lora, _ = on_air(LONG_FAST_US, "ours")
    assert lora.frequency_hz == 902_125_000 + slot_hash("ours") % 104 * 250_000


@pytest.mark.parametrize(
    ("change", "frequency_hz"),
    [({"slot": 1}, 902_125_000), ({"slot": 104}, 927_875_000), ({"override_mhz": 915.5}, 915_500_000)],
)
def test_slots_and_frequencies_can_be_set(change: dict[str, float], frequency_hz: int) -> None:
    lora, _ = on_air(replace(LONG_FAST_US, **change), "")  # type: ignore[arg-type]  # of several types
    assert lora.frequency_hz == frequency_hz


def test_settings_of_its_own() -> None:
    config = replace(
        SHORT_FAST_EU868, use_preset=False, bandwidth_code=62, spreading_factor=9, coding_rate=6, slot=1
    )
    lora, _ = on_air(config, "")
    assert (lora.bandwidth_hz, lora.spreading_factor, lora.coding_rate) == (62_500, 9, 6)


def test_a_coding_rate_above_the_preset_s_counts() -> None:
    assert on_air(replace(SHORT_FAST_EU868, coding_rate=8), "")[0].coding_rate == 8
    assert on_air(replace(SHORT_FAST_EU868, coding_rate=3), "")[0].coding_rate == 5


def test_power_beyond_the_region_s_is_cut() -> None:
    assert on_air(replace(SHORT_FAST_EU868, power_dbm=30), "")[1] == 27


@pytest.mark.parametrize(
    ("config", "what"),
    [
        (replace(SHORT_FAST_EU868, region=0), "no region set"),
        (replace(SHORT_FAST_EU868, region=4), "one whose law is not known here"),
        (replace(SHORT_FAST_EU868, transmits=False), "switched off"),
        (replace(SHORT_FAST_EU868, preset=99), "preset (number 99)"),
        (
            replace(SHORT_FAST_EU868, use_preset=False, bandwidth_code=250, spreading_factor=5),
            "spreading_factor is 5",
        ),
        (replace(SHORT_FAST_EU868, use_preset=False), "bandwidth"),
    ],
)
def test_what_cannot_be_used_is_told(config: LoraConfig, what: str) -> None:
    with pytest.raises(MeshSetupError, match=what.replace("(", r"\(").replace(")", r"\)")):
        on_air(config, "")


@given(configs, st.text(max_size=11))
def test_any_configuration_is_understood_or_refused(config: LoraConfig, primary: str) -> None:
    try:
        lora, _ = on_air(config, primary)
    except MeshSetupError:
        return
    assert airtime_us(lora, 143) > 0


@pytest.mark.parametrize(("preset", "milliseconds"), [(8, 61), (6, 122), (4, 386), (0, 1_296)])
def test_packets_take_as_long_as_was_measured(preset: int, milliseconds: int) -> None:
    config = replace(SHORT_FAST_EU868, preset=preset, region=1)
    assert round(airtime_us(on_air(config, "")[0], 143) / 1e3) == pytest.approx(milliseconds, rel=0.02)
