"""Two clocks, and whether they agree."""

from tests.daemon.fakes import FakeClock
from tinyssb_node import limits
from tinyssb_node.daemon.clock import ClockWatch, SystemClock


def test_a_step_is_told_once_and_drift_adds_up() -> None:
    clock = FakeClock()
    watch = ClockWatch(clock)
    clock.mono_us += 10**9
    assert watch.check() is None
    clock.set_us -= limits.CLOCK_STEP_US + 1
    step = watch.check()
    assert step is not None
    assert step.step_us == -limits.CLOCK_STEP_US - 1
    assert watch.check() is None
    told = []
    for _ in range(5):
        clock.set_us += limits.CLOCK_STEP_US // 2
        told.append(watch.check())
    assert [step.step_us for step in told if step] == [3 * limits.CLOCK_STEP_US // 2]


def test_the_systems_clocks_are_in_microseconds() -> None:
    clock = SystemClock()
    assert 0 <= clock.now_us() < 60_000_000
    assert clock.wall_us() > 1_700_000_000_000_000
