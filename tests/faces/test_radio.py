"""The law of a region as a rule for the scheduler."""

import pytest

from firmware_bridge.lora import LoraSettings
from firmware_bridge.plans import RadioPlan, Vintage, named_plan
from firmware_bridge.regions import Region
from tinyssb_node.faces.radio import allowance_of, fit
from tinyssb_node.scheduling.link import Allowance

NEW = Vintage.FW2025


def fitted(region: Region, settings: LoraSettings) -> RadioPlan:
    plan = fit(region, None, NEW, settings)
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
    assert allowance_of(fitted(Region.US915, named_plan("US915.c").lora)) is None


def test_a_plan_is_what_the_radio_must_be_set_to() -> None:
    assert isinstance(fit(Region.EU868, "EU868.a", NEW, LoraSettings()), RadioPlan)
    wrong = fit(Region.EU868, "EU868.a", Vintage.FW2023, LoraSettings())
    assert isinstance(wrong, str)
    assert "not to what EU868.a of fw2023 is: 868.3 MHz, 250 kHz, SF7" in wrong


@pytest.mark.parametrize("word", ["neither as frequency hopping", "US915.c of fw2025"])
def test_what_is_illegal_is_told_with_the_nearest_choice(word: str) -> None:
    told = fit(Region.US915, None, NEW, named_plan("US915.a").lora)
    assert isinstance(told, str)
    assert word in told
