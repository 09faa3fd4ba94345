"""The page on airtime says what the tables say."""

import re

from firmware_bridge.plans import NAMED_PLANS, FirmwareRelease
from firmware_bridge.regions import SUB_BANDS, PowerBasis
from tests.docs import pages
from tinyssb_node import limits

PAGE = pages.read("docs/reference/airtime.md")


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def section(title: str) -> list[list[str]]:
    """Rows of the table under a heading, the heading row left out."""
    (text,) = re.findall(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return [cells(line) for line in text.splitlines() if line.startswith("|")][2:]


def test_every_sub_band_has_its_row() -> None:
    told = [(edges, share) for _, edges, share, *_ in section("Regions")]
    expected = [
        (
            band.name.partition(" ")[2].replace("-", "–"),
            "no limit" if band.duty_permille is None else f"{band.duty_permille / 10:g} %",
        )
        for bands in SUB_BANDS.values()
        for band in bands
    ]
    assert told == expected
    assert [row[0].strip("`") for row in section("Regions") if row[0]] == list(SUB_BANDS)


def test_every_dwell_limit_is_told() -> None:
    told = [row[5] for row in section("Regions")]
    bands = [band for bands in SUB_BANDS.values() for band in bands]
    assert told == ["" if band.dwell_us is None else f"{band.dwell_us // 1_000} ms" for band in bands]


def test_every_source_and_power_is_told() -> None:
    rows = section("Regions")
    bands = [band for bands in SUB_BANDS.values() for band in bands]
    assert [row[6] for row in rows] == [band.source for band in bands]
    for row, band in zip(rows, bands, strict=True):
        dbm, mw = band.power_cdbm // 100, round(10 ** (band.power_cdbm / 1_000))
        assert re.match(rf"{dbm} dBm \((\d+) m?W\) ", row[3]) is not None
        assert str({501: 500, 1_000: 1}.get(mw, mw)) in row[3]
        assert (band.power_basis.upper() in row[3]) is (band.power_basis is not PowerBasis.CONDUCTED)


def test_every_plan_has_its_row() -> None:
    told = {
        (release, name.strip("`")): tuple(row[2:])
        for row in section("Plans")
        for release, name in zip((FirmwareRelease.FW2025, FirmwareRelease.FW2023), row[:2], strict=True)
        if name
    }
    expected = {
        (release, name): (
            f"{plan.frequency_hz / 1e6:g}",
            f"{plan.bandwidth_hz / 1e3:g}",
            str(plan.spreading_factor),
            f"4/{plan.coding_rate}",
            f"{plan.sync_word:#04x}",
        )
        for release, plans in NAMED_PLANS.items()
        for name, plan in plans.items()
    }
    assert told == expected


def test_the_shares_are_those_of_the_code() -> None:
    assert (limits.AIR_ADVERT_PERMILLE, limits.AIR_CONTENT_PERMILLE) == (500, 900)
    assert "half of the allowance, entries and chunks nine tenths" in PAGE
