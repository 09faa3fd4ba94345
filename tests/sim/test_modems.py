"""Modems that are set differently: who understands whom, and who disturbs whom how much."""

import math
import random
from dataclasses import replace

import pytest

from firmware_bridge.lora import LoraSettings
from tinyssb_node.sim.links import LinkQuality
from tinyssb_node.sim.medium import LossReason, MediumOptions, SimulatedMedium
from tinyssb_node.sim.modems import ModemOptions, can_demodulate, spoils

SF7 = LoraSettings()
SF9 = replace(SF7, spreading_factor=9)
BESIDE = replace(SF7, frequency_hz=SF7.frequency_hz + 100_000)
WIDE = replace(SF7, bandwidth_hz=250_000)


@pytest.mark.parametrize(
    ("voice", "understood"),
    [
        (SF7, True),
        (replace(SF7, coding_rate=8, preamble_symbols=16), True),
        (replace(SF7, frequency_hz=SF7.frequency_hz + 30_000), True),
        (replace(SF7, frequency_hz=SF7.frequency_hz - 30_001), False),
        (replace(SF7, sync_word=0x12), False),
        (SF9, False),
        (WIDE, False),
    ],
)
def test_who_understands_whom(voice: LoraSettings, *, understood: bool) -> None:
    assert can_demodulate(SF7, voice) == understood


def db(ratio: float) -> float:
    return 10 * math.log10(ratio)


def test_the_same_spreading_factor_disturbs_as_it_does_whatever_it_says() -> None:
    assert spoils(SF7, SF7) == spoils(SF7, replace(SF7, sync_word=0x12)) == 1.0


@pytest.mark.parametrize(
    ("ear", "voice", "rejection_db"), [(7, 8, -16), (7, 12, -20), (9, 7, -27), (12, 11, -36)]
)
def test_other_spreading_factors_disturb_by_the_table(ear: int, voice: int, rejection_db: float) -> None:
    ratio = spoils(replace(SF7, spreading_factor=ear), replace(SF7, spreading_factor=voice))
    assert 6 + db(ratio) == pytest.approx(rejection_db)


def test_other_bands_disturb_as_noise_in_as_much_as_they_overlap() -> None:
    # A fifth of what is sent 100 kHz beside falls into 125 kHz; half of what is sent in 250 kHz does.
    assert 6 + db(spoils(SF7, BESIDE)) == pytest.approx(-7.5 + db(0.2))
    assert 6 + db(spoils(SF7, WIDE)) == pytest.approx(-7.5 + db(0.5))
    assert 6 + db(spoils(WIDE, SF7)) == pytest.approx(-7.5)
    assert spoils(SF7, replace(SF7, frequency_hz=SF7.frequency_hz + 125_000)) == 0.0


def channel(**modems: ModemOptions) -> SimulatedMedium:
    """An ear with everybody's modem, and voices with others."""
    made = SimulatedMedium(MediumOptions(default_rssi_dbm=None), random.Random(1))
    made.add_node("ear")
    for name, modem in modems.items():
        made.add_node(name)
        made.set_modem(name, modem)
        made.set_link(name, "ear", LinkQuality(-100.0, 0.0))
    return made


def outcomes(made: SimulatedMedium, *names: str) -> dict[str, LossReason | None]:
    """Return the outcome at the ear of packets that all send at once; senders that it does not understand are left
    out."""
    for name in names:
        made.begin_send(name, 124, 0)
    found: dict[str, LossReason | None] = {}
    for name in names:
        outcome = made.end_send(name)
        missed = dict(outcome.misses)
        if "ear" in missed or "ear" in [delivery.receiver for delivery in outcome.deliveries]:
            found[name] = missed.get("ear")
    return found


@pytest.mark.parametrize(("other_dbm", "arrives"), [(-82.1, True), (-81.9, False)])
def test_a_much_stronger_packet_of_another_spreading_factor_spoils_one(
    other_dbm: float, *, arrives: bool
) -> None:
    made = channel(one=ModemOptions(), other=ModemOptions(lora=SF9))
    made.set_link("other", "ear", LinkQuality(other_dbm, 0.0))
    # The other is four times as long: it covers the one whole, and is 18 dB stronger at most.
    assert outcomes(made, "one", "other") == {"one": None if arrives else LossReason.COLLISION}


def test_who_has_other_settings_is_neither_reached_nor_sensed() -> None:
    made = channel(slow=ModemOptions(lora=SF9))
    assert not made.reaches("ear", "slow")
    made.begin_send("slow", 124, 0)
    assert not made.is_busy("ear", 100_000)
    assert made.end_send("slow").misses == ()


def test_each_modem_has_its_own_airtime_power_and_turnaround() -> None:
    made = channel(
        loud=ModemOptions(power_dbm=20.0, turnaround_us=5_000),
        slow=ModemOptions(lora=SF9),
        slower=ModemOptions(lora=SF9),
    )
    end_us = made.begin_send("loud", 124, 0)
    assert made.end_send("loud").deliveries[0].rssi_dbm == -94
    made.begin_send("ear", 124, end_us + 4_999)
    assert made.end_send("ear").misses == (("loud", LossReason.DEAF),)
    made.set_link(
        "slow", "slower", LinkQuality(-128.0, 0.0)
    )  # 3.5 dB below what SF7 takes, above what SF9 does
    begin_us = 1_000_000
    assert (
        made.begin_send("slow", 124, begin_us) - begin_us
        == made.modem("slow").airtime_us(124)
        > 4 * end_us // 2
    )
    assert [delivery.receiver for delivery in made.end_send("slow").deliveries] == ["slower"]


def test_a_modem_that_is_set_anew_is_heard_anew() -> None:
    made = channel(one=ModemOptions())
    assert outcomes(made, "one") == {"one": None}
    made.set_modem("one", ModemOptions(lora=SF9))
    made.begin_send("one", 8, 10_000_000)
    assert made.end_send("one").deliveries == ()
    made.remove_node("one")
    made.add_node("one")
    assert made.reaches("one", "ear")
