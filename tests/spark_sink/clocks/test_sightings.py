"""Which clock a packet was seen by."""

from spark_sink import limits
from spark_sink.clocks.sightings import Clock, Moment, Sighting, by_clock

ZERO_US = 10**15


def seen(mono_us: int, zero_us: int = ZERO_US, boot: int = 1) -> Sighting:
    return Sighting("0" * 16, "a" * 16, boot, "rx", zero_us + mono_us, mono_us)


def test_each_boot_and_each_jump_has_a_clock_of_its_own() -> None:
    jumped_us = ZERO_US - 3 * limits.CLOCK_JUMP_US
    found = by_clock([seen(5), seen(9, jumped_us), seen(7, boot=2), seen(20), seen(5)])
    assert {clock: dict(packets) for clock, packets in found.items()} == {
        Clock("a" * 16, 1, jumped_us): {"0" * 16: [Moment(jumped_us + 9, sent=False)]},
        Clock("a" * 16, 1, ZERO_US): {"0" * 16: [Moment(ZERO_US + t, sent=False) for t in (5, 20)]},
        Clock("a" * 16, 2, ZERO_US): {"0" * 16: [Moment(ZERO_US + 7, sent=False)]},
    }


def test_a_clock_that_is_led_gently_stays_the_same() -> None:
    gently = [seen(number, ZERO_US + number * limits.CLOCK_JUMP_US // 2) for number in range(10)]
    assert list(by_clock(gently)) == [Clock("a" * 16, 1, ZERO_US)]
    assert len(by_clock(gently[::3])) == 4
