"""The tables of the law, against the figures people work with."""

import pytest

from firmware_bridge.lora import LoraSettings, airtime_us
from firmware_bridge.regions import (
    DIPOLE_GAIN_CDBI,
    FRAME_SIZE,
    SUB_BANDS,
    WINDOW_US,
    Antenna,
    PowerBasis,
    Region,
    SubBand,
)

HALF_WAVE = DIPOLE_GAIN_CDBI


def band(name: str) -> SubBand:
    (found,) = [each for bands in SUB_BANDS.values() for each in bands if each.name == name]
    return found


@pytest.mark.parametrize(
    ("name", "limit_s"),
    [
        ("EU868 863-865", 3.6),
        ("EU868 865-868", 36),
        ("EU868 868.0-868.6", 36),
        ("EU868 868.7-869.2", 3.6),
        ("EU868 869.4-869.65", 360),
        ("EU868 869.7-870", 36),
        ("EU433 433.05-434.79", 360),
        ("AS923 920-925", 36),
        ("IN865 865-868", 90),
    ],
)
def test_seconds_of_air_in_an_hour(name: str, limit_s: float) -> None:
    assert band(name).airtime_limit_us == limit_s * 1_000_000


@pytest.mark.parametrize("name", ["US915 902-928", "AU915 915-928"])
def test_where_there_is_no_duty_cycle_there_is_no_account(name: str) -> None:
    assert band(name).airtime_limit_us is None


@pytest.mark.parametrize(
    ("name", "frames"), [("EU868 868.0-868.6", 175), ("EU868 863-865", 17), ("EU868 869.4-869.65", 1_755)]
)
def test_full_frames_in_an_hour_at_sf7(name: str, frames: int) -> None:
    limit_us = band(name).airtime_limit_us
    assert limit_us is not None
    assert limit_us // airtime_us(LoraSettings(), FRAME_SIZE) == frames


@pytest.mark.parametrize(
    ("name", "gain_cdbi", "loss_cdb", "conducted_cdbm"),
    [
        ("EU868 868.0-868.6", HALF_WAVE, 0, 1_400),
        ("EU868 868.0-868.6", 515, 0, 1_100),
        ("EU868 868.0-868.6", 515, 300, 1_400),
        ("EU868 868.0-868.6", HALF_WAVE, 150, 1_550),
        ("EU868 869.4-869.65", HALF_WAVE, 0, 2_700),
        ("EU433 433.05-434.79", HALF_WAVE, 0, 1_000),
        ("AS923 920-925", HALF_WAVE, 0, 1_385),
        ("AS923 920-925", 0, 100, 1_700),
        ("AU915 915-928", 300, 0, 2_700),
        ("IN865 865-868", HALF_WAVE, 0, 2_700),
        ("US915 902-928", HALF_WAVE, 0, 3_000),
        ("US915 902-928", 600, 0, 3_000),
        ("US915 902-928", 900, 0, 2_700),
        ("US915 902-928", 900, 100, 2_800),
        ("US915 902-928", 600, 300, 3_000),
    ],
)
def test_power_at_the_radio(name: str, gain_cdbi: int, loss_cdb: int, conducted_cdbm: int) -> None:
    assert band(name).conducted_cdbm(Antenna(gain_cdbi=gain_cdbi, loss_cdb=loss_cdb)) == conducted_cdbm


@pytest.mark.parametrize(
    ("name", "eirp_cdbm"),
    [("EU868 868.0-868.6", 1_615), ("EU433 433.05-434.79", 1_215), ("IN865 865-868", 2_915)],
)
def test_radiated_power_is_what_lorawan_reckons_with(name: str, eirp_cdbm: int) -> None:
    isotropic = Antenna(gain_cdbi=0)
    assert band(name).conducted_cdbm(isotropic) == eirp_cdbm


def test_sub_bands_stand_in_order_and_do_not_overlap() -> None:
    for region, bands in SUB_BANDS.items():
        edges = [edge for each in bands for edge in (each.low_hz, each.high_hz)]
        assert edges == sorted(edges)
        assert all(each.low_hz < each.high_hz and each.name.startswith(f"{region} ") for each in bands)


def test_every_region_has_rules_and_every_rule_a_source_and_a_name_of_its_own() -> None:
    assert set(SUB_BANDS) == set(Region)
    bands = [each for bands in SUB_BANDS.values() for each in bands]
    assert all(each.source for each in bands)
    assert len({each.name for each in bands}) == len(bands)
    assert {each.power_basis for each in bands} == set(PowerBasis)


def test_an_hour_is_an_hour() -> None:
    assert WINDOW_US == 3_600_000_000
