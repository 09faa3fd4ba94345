"""Which settings are legal where, what power they get, and what is proposed instead."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.lora import BANDWIDTHS_HZ, LoraSettings, airtime_us
from firmware_bridge.plans import (
    NAMED_PLANS,
    FirmwareRelease,
    IllegalPlanError,
    IllegalPowerError,
    UnknownPlanError,
    describe,
    named_plan,
    resolve,
)
from firmware_bridge.regions import FRAME_SIZE, SUB_BANDS, Antenna, Region

NEW, OLD = FirmwareRelease.FW2025, FirmwareRelease.FW2023

LEGAL = [
    # release, plan, region, sub-band, dBm conducted, microseconds of 124 bytes
    (NEW, "EU868.a", Region.EU868, "EU868 868.0-868.6", 14, 205_056),
    (NEW, "EU868.b", Region.EU868, "EU868 868.0-868.6", 14, 102_528),
    (NEW, "EU868.c", Region.EU868, "EU868 868.0-868.6", 14, 51_264),
    (NEW, "E22-868", Region.EU868, "EU868 868.0-868.6", 14, 885_760),
    (NEW, "EU433.a", Region.EU433, "EU433 433.05-434.79", 10, 205_056),
    (NEW, "US915.c", Region.US915, "US915 902-928", 20, 51_264),
    (OLD, "EU868.a", Region.EU868, "EU868 868.0-868.6", 14, 102_528),
    (OLD, "EU868.b", Region.EU868, "EU868 868.0-868.6", 14, 205_056),
    (OLD, "AU915.a", Region.AU915, "AU915 915-928", 20, 89_728),
    (OLD, "US915.a", Region.US915, "US915 902-928", 20, 89_728),
]
ILLEGAL = [
    (NEW, "US915.a", Region.US915),
    (NEW, "US915.b", Region.US915),
    (NEW, "AU915.a", Region.AU915),
    (NEW, "AU915.b", Region.AU915),
    (OLD, "US915.b", Region.US915),
    (OLD, "AU915.b", Region.AU915),
]


def channel(frequency_mhz: float, bandwidth_khz: int = 125, sf: int = 7) -> LoraSettings:
    return LoraSettings(
        frequency_hz=round(frequency_mhz * 1e6), bandwidth_hz=bandwidth_khz * 1_000, spreading_factor=sf
    )


@pytest.mark.parametrize(("release", "name", "region", "sub_band", "power_dbm", "frame_us"), LEGAL)
def test_named_plans_that_are_legal(
    release: FirmwareRelease, name: str, region: Region, sub_band: str, power_dbm: int, frame_us: int
) -> None:
    wanted = named_plan(name, release)
    plan = resolve(region, wanted)
    assert (plan.sub_band.name, plan.power_dbm, airtime_us(plan.lora, FRAME_SIZE)) == (
        sub_band,
        power_dbm,
        frame_us,
    )
    assert (plan.region, plan.lora) == (region, wanted)


@pytest.mark.parametrize(("release", "name", "region"), ILLEGAL)
def test_a_narrow_channel_that_does_not_hop_is_refused_in_the_900_mhz_bands(
    release: FirmwareRelease, name: str, region: Region
) -> None:
    with pytest.raises(IllegalPlanError, match="neither as frequency hopping") as refused:
        resolve(region, named_plan(name, release))
    assert refused.value.nearest.bandwidth_hz == 500_000
    assert refused.value.nearest.frequency_hz == refused.value.settings.frequency_hz


def test_every_named_plan_was_judged_above() -> None:
    judged = {row[:2] for row in LEGAL} | {row[:2] for row in ILLEGAL}
    assert judged == {(release, name) for release, plans in NAMED_PLANS.items() for name in plans}


def test_a_name_is_no_key_to_be_heard_by() -> None:
    assert named_plan("EU868.a", NEW) == named_plan("EU868.b", OLD)
    assert named_plan("EU868.a", NEW) != named_plan("EU868.a", OLD)


def test_what_boards_are_set_to() -> None:
    plan = named_plan("E22-868")
    assert (plan.frequency_hz, plan.bandwidth_hz, plan.spreading_factor) == (868_200_000, 125_000, 9)
    assert (plan.coding_rate, plan.sync_word, plan.crc, plan.preamble_symbols) == (7, 0x12, False, 8)
    assert {named_plan(name).sync_word for name in NAMED_PLANS[NEW] if name != "E22-868"} == {0x58}


def test_an_unknown_name_is_answered_by_those_there_are() -> None:
    with pytest.raises(UnknownPlanError, match=r"fw2023 has no plan 'US915\.c'; it has AU915\.a, AU915\.b"):
        named_plan("US915.c", OLD)


@pytest.mark.parametrize(
    ("region", "settings", "reason", "nearest"),
    [
        (
            Region.EU868,
            channel(868.65),
            r"868.5875 to 868.7125 MHz, lies in none",
            "868.5375 MHz, 125 kHz, SF7",
        ),
        (Region.EU868, channel(868.0), "lies in none", "867.9375 MHz, 125 kHz, SF7"),
        (Region.EU868, channel(869.525, 500), "lies in none", "869.525 MHz, 250 kHz, SF7"),
        (Region.EU868, channel(915.0), "lies in none", "869.9375 MHz, 125 kHz, SF7"),
        (Region.EU868, channel(864.0, sf=12), "4760 ms, and an hour has 3600 ms", "864 MHz, 125 kHz, SF11"),
        (Region.EU433, channel(433.05), "lies in none", "433.1125 MHz, 125 kHz, SF7"),
        (Region.US915, channel(868.3), "lies in none", "902.25 MHz, 500 kHz, SF7"),
        (Region.AS923, channel(923.2, sf=9), "656 ms, and 400 ms", "923.2 MHz, 125 kHz, SF8"),
        (Region.AS923, channel(923.2, 250, 10), "595 ms, and 400 ms", "923.2 MHz, 250 kHz, SF9"),
        (Region.AU915, channel(917.5, 500, 11), "554 ms, and 400 ms", "917.5 MHz, 500 kHz, SF10"),
        (Region.IN865, channel(866.0, 250), "wider than 200 kHz", "866 MHz, 125 kHz, SF7"),
        (Region.IN865, channel(868.3), "lies in none", "867.9375 MHz, 125 kHz, SF7"),
    ],
)
def test_what_is_refused_and_what_is_proposed(
    region: Region, settings: LoraSettings, reason: str, nearest: str
) -> None:
    with pytest.raises(IllegalPlanError, match=reason) as refused:
        resolve(region, settings)
    assert describe(refused.value.nearest) == nearest
    assert nearest in str(refused.value)


def test_a_channel_may_touch_the_edges_of_its_sub_band() -> None:
    assert resolve(Region.EU868, channel(869.525, 250)).sub_band.name == "EU868 869.4-869.65"
    assert resolve(Region.EU868, channel(868.5375)).sub_band.name == "EU868 868.0-868.6"
    with pytest.raises(IllegalPlanError):
        resolve(Region.EU868, channel(868.537501))


@pytest.mark.parametrize(("bandwidth_khz", "longest"), [(125, 8), (250, 9), (500, 10)])
def test_spreading_factors_within_400_ms(bandwidth_khz: int, longest: int) -> None:
    plan = resolve(Region.AS923, channel(923.2, bandwidth_khz, longest))
    assert airtime_us(plan.lora, FRAME_SIZE) <= 400_000
    with pytest.raises(IllegalPlanError):
        resolve(Region.AS923, channel(923.2, bandwidth_khz, longest + 1))


@pytest.mark.parametrize(
    ("asked_dbm", "gain_cdbi", "loss_cdb", "given_dbm"),
    [
        (20, 215, 0, 14),
        (10, 215, 0, 10),
        (20, 500, 0, 11),
        (20, 216, 0, 13),
        (20, 500, 300, 14),
        (-9, 215, 0, -9),
    ],
)
def test_power_is_lowered_to_the_limit_and_never_raised(
    asked_dbm: int, gain_cdbi: int, loss_cdb: int, given_dbm: int
) -> None:
    antenna = Antenna(gain_cdbi=gain_cdbi, loss_cdb=loss_cdb)
    plan = resolve(Region.EU868, channel(868.3), asked_dbm, antenna)
    assert plan.power_dbm == given_dbm


def test_power_that_was_asked_for_is_refused_rather_than_lowered() -> None:
    yagi = Antenna(gain_cdbi=900, loss_cdb=50)
    assert resolve(Region.EU868, channel(868.3), 7, yagi, lower_power=False).power_dbm == 7
    with pytest.raises(IllegalPowerError) as refused:
        resolve(Region.EU868, channel(868.3), 8, yagi, lower_power=False)
    assert str(refused.value) == (
        "8 dBm on an antenna of 9 dBi behind a cable that takes 0.5 dB is more than 14 dBm ERP (EN 300 220-2 V3.2.1 "
        "table B.1, 868.0-868.6 MHz; ERC/REC 70-03 annex 1). The nearest legal choice is 7 dBm or less"
    )
    assert refused.value.limit_dbm == 7


def test_conducted_limits_are_told_as_such() -> None:
    dish = Antenna(gain_cdbi=1_200)
    with pytest.raises(IllegalPowerError, match=r"30 dBm at the radio, less what the antenna has over 6 dBi"):
        resolve(Region.US915, channel(904.6, 500), 25, dish, lower_power=False)


def test_an_antenna_that_no_radio_could_be_turned_down_for_is_refused() -> None:
    with pytest.raises(
        IllegalPowerError, match=r"an antenna with less gain: no radio can send with the -14 dBm"
    ):
        resolve(Region.EU868, channel(868.3), antenna=Antenna(gain_cdbi=3_000))


def test_the_proposal_says_which_plan_it_is() -> None:
    with pytest.raises(IllegalPlanError, match=r"\(US915\.c of fw2025\)$"):
        resolve(Region.US915, named_plan("US915.a"))


@given(
    region=st.sampled_from(Region),
    frequency_hz=st.integers(430_000_000, 930_000_000),
    bandwidth_hz=st.sampled_from(BANDWIDTHS_HZ),
    sf=st.integers(7, 12),
)
def test_whatever_is_asked_is_legal_or_answered_by_something_that_is(
    region: Region, frequency_hz: int, bandwidth_hz: int, sf: int
) -> None:
    wanted = LoraSettings(frequency_hz=frequency_hz, bandwidth_hz=bandwidth_hz, spreading_factor=sf)
    try:
        plan = resolve(region, wanted)
    except IllegalPlanError as refused:
        plan = resolve(region, refused.nearest)
    band = plan.sub_band
    assert band in SUB_BANDS[region]
    assert band.low_hz <= plan.lora.frequency_hz - plan.lora.bandwidth_hz / 2
    assert plan.lora.frequency_hz + plan.lora.bandwidth_hz / 2 <= band.high_hz
    frame_us = airtime_us(plan.lora, FRAME_SIZE)
    assert frame_us <= (band.dwell_us or frame_us)
