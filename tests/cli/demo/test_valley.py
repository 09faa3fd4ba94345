"""The valley: distances a radio can bridge, and one that it cannot."""

import math

import pytest

from firmware_bridge.lora import LoraSettings
from tinyssb_node.cli.demo.valley import PLACES, distance_m, links

NOISE_DBM = -174 + 10 * math.log10(LoraSettings().bandwidth_hz) + 6
SNR_MIN_DB = -7.5
"""SF7 (SX1276 data sheet, table 13)."""


def test_a_distance() -> None:
    # A minute of latitude is a nautical mile of 1,852 m, at 46.6 degrees north a little less on a sphere.
    assert distance_m("ana", "eve") == pytest.approx(2_716, abs=2)
    assert distance_m("ana", "eve") == distance_m("eve", "ana")


def test_signals_are_those_of_real_radios_and_the_ends_of_the_valley_need_others_between() -> None:
    snr_db = {(link.left, link.right): link.rssi_dbm - NOISE_DBM for link in links()}
    assert len(snr_db) == len(PLACES) * (len(PLACES) - 1) // 2
    assert max(snr_db.values()) < 10
    assert {pair for pair, value in snr_db.items() if value < SNR_MIN_DB} == {("ana", "eve")}
