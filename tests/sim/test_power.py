"""The power model: what each state of a node takes."""

import pytest

from tinyssb_node.sim import limits
from tinyssb_node.sim.power import POWER_MODELS, PowerModel
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build

HOUR_US = 3_600_000_000
MODEL = PowerModel(name="a box", host_mw=100.0, asleep_mw=1.0, waking_mj=50.0)


def energy_mj(sent_us: int = 0, slept_us: int = 0, woken: int = 0, power_dbm: float = 14) -> float:
    return MODEL.energy_mj(
        span_us=HOUR_US, sent_us=sent_us, slept_us=slept_us, woken=woken, power_dbm=power_dbm
    )


def test_each_state_has_its_power() -> None:
    listening_mw = 100 + limits.RADIO_LISTEN_MW
    assert energy_mj() == pytest.approx(3_600 * listening_mw)
    assert energy_mj(sent_us=HOUR_US) == pytest.approx(3_600 * (100 + limits.RADIO_SEND_MW))
    assert energy_mj(sent_us=HOUR_US, power_dbm=22) == pytest.approx(
        3_600 * (100 + limits.RADIO_SEND_HIGH_MW)
    )
    assert energy_mj(slept_us=HOUR_US) == pytest.approx(3_600)
    assert energy_mj(slept_us=HOUR_US // 2, woken=2) == pytest.approx(1_800 * (1 + listening_mw) + 100)


def test_sleeping_saves_energy_and_a_bridge_takes_less_than_a_computer() -> None:
    report = run_scenario(build("solar"))
    always_on = {
        model.name: 4
        * model.energy_mj(span_us=report.ended_us, sent_us=0, slept_us=0, woken=0, power_dbm=14)
        / 1e3
        for model in POWER_MODELS
    }
    for name, joules in report.energy_j.items():
        assert 0.75 * always_on[name] < joules < 0.85 * always_on[name]
    assert report.energy_j["ESP32 bridge"] < report.energy_j["Pi Zero 2 W"]
