"""Settings of a radio, and the law of a region as a rule for the scheduler."""

from dataclasses import replace

import pytest

from firmware_bridge.lora import LoraSettings
from firmware_bridge.plans import FirmwareRelease, RadioPlan, named_plan
from firmware_bridge.regions import Antenna, Region
from tinyssb_node.faces.radio import RadioChoice, allowance_of, fit
from tinyssb_node.scheduling.link import Allowance

EUROPE = RadioChoice(region=Region.EU868)


def fitted(region: Region, settings: LoraSettings) -> RadioPlan:
    plan = fit(RadioChoice(region=region), settings)
    assert isinstance(plan, RadioPlan)
    return plan


def test_what_an_hour_allows() -> None:
    plan = fitted(Region.EU868, LoraSettings())
    assert allowance_of(plan) == Allowance(
        band="EU868 868.0-868.6", limit_us=36_000_000, window_us=3_600_000_000
    )


def test_on_a_quick_channel_the_hour_is_shorter() -> None:
    plan = fitted(Region.EU868, LoraSettings())
    assert allowance_of(plan, 100.0) == Allowance(
        band="EU868 868.0-868.6 ×100", limit_us=360_000, window_us=36_000_000
    )


def test_where_the_law_sets_no_share_there_is_no_account() -> None:
    assert allowance_of(fitted(Region.US915, named_plan("US915.c"))) is None


def test_a_plan_is_what_the_radio_must_be_set_to() -> None:
    assert isinstance(fit(replace(EUROPE, plan="EU868.a"), LoraSettings()), RadioPlan)
    wrong = fit(replace(EUROPE, plan="EU868.a", firmware=FirmwareRelease.FW2023), LoraSettings())
    assert isinstance(wrong, str)
    assert "not to what EU868.a of fw2023 is: 868.3 MHz, 250 kHz, SF7" in wrong


def test_so_are_settings() -> None:
    asked = LoraSettings(frequency_hz=869_525_000, sync_word=0x12)
    assert isinstance(fit(replace(EUROPE, lora=asked), asked), RadioPlan)
    wrong = fit(replace(EUROPE, lora=asked), replace(asked, sync_word=0x58))
    assert wrong == (
        "the radio is set to 869.525 MHz, 125 kHz, SF7, coding rate 4/5, sync word 0x58, not to what was asked for: "
        "869.525 MHz, 125 kHz, SF7, coding rate 4/5, sync word 0x12"
    )


@pytest.mark.parametrize(
    ("power_dbm", "gain_cdbi", "given_dbm"), [(None, 215, 14), (None, 500, 11), (10, 500, 10), (11, 500, 11)]
)
def test_power_is_as_asked_or_what_the_law_leaves(
    power_dbm: int | None, gain_cdbi: int, given_dbm: int
) -> None:
    plan = fit(replace(EUROPE, power_dbm=power_dbm, antenna=Antenna(gain_cdbi=gain_cdbi)), LoraSettings())
    assert isinstance(plan, RadioPlan)
    assert plan.power_dbm == given_dbm


def test_power_above_the_law_is_told() -> None:
    told = fit(replace(EUROPE, power_dbm=15), LoraSettings())
    assert isinstance(told, str)
    assert "15 dBm on an antenna of 2.15 dBi is more than 14 dBm ERP" in told
    assert told.endswith("The nearest legal choice is 14 dBm or less")


@pytest.mark.parametrize("word", ["neither as frequency hopping", "US915.c of fw2025"])
def test_what_is_illegal_is_told_with_the_nearest_choice(word: str) -> None:
    told = fit(RadioChoice(region=Region.US915), named_plan("US915.a"))
    assert isinstance(told, str)
    assert word in told
