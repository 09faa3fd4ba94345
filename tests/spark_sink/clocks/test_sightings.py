"""Which clock a record was written by."""

import random

import numpy as np

from spark_sink import limits
from spark_sink.clocks.sightings import by_clock

ZERO_US = 10**15
JUMPED_US = ZERO_US - 3 * limits.CLOCK_JUMP_US


def clocks(*records: tuple[int, int, int]) -> tuple[list[tuple[int, ...]], list[int]]:
    """Clocks of *records* (boot, zero_us, mono_us) of one node, and the clock of each."""
    boot, zero_us, mono_us = np.array(records, np.int64).reshape(-1, 3).T
    found, clock = by_clock(np.full(len(records), 7), boot, zero_us + mono_us, mono_us)
    rows = zip(found.node, found.boot, found.era, found.from_mono_us, found.base_us, strict=True)
    return [tuple(map(int, row)) for row in rows], clock.tolist()


def test_each_boot_and_each_jump_has_a_clock_of_its_own() -> None:
    records = [
        (1, ZERO_US, 5),
        (1, JUMPED_US, 9),
        (2, ZERO_US, 7),
        (1, ZERO_US, 20),
        (1, ZERO_US, 5),
        (2, ZERO_US, 9),
    ]
    wanted = [(7, 1, 0, 5, ZERO_US), (7, 1, 1, 9, JUMPED_US), (7, 1, 2, 20, ZERO_US), (7, 2, 0, 7, ZERO_US)]
    assert clocks(*records) == (wanted, [0, 1, 3, 2, 0, 3])
    random.Random(1).shuffle(records)
    assert clocks(*records)[0] == wanted


def test_a_clock_that_is_led_gently_stays_the_same() -> None:
    gently = [(1, ZERO_US + number * limits.CLOCK_JUMP_US // 2, number) for number in range(10)]
    assert clocks(*gently) == ([(7, 1, 0, 0, ZERO_US)], [0] * 10)
    assert len(clocks(*gently[::3])[0]) == 4


def test_nothing_is_nothing() -> None:
    assert clocks() == ([], [])
