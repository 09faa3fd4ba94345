"""Two clocks, and whether they agree."""

import time
from pathlib import Path

import pytest

from tests.daemon.fakes import FakeClock
from tinyssb_node import limits
from tinyssb_node.daemon.clock import ClockWatch, SystemClock, boottime_ns, find_boot
from tinyssb_node.scheduling.budget import AirClock, BootReference
from tinyssb_node.store.memory import MemoryStore


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


class Machine:
    """A machine's clocks: one of them stands still while it sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ns = dict.fromkeys((time.CLOCK_BOOTTIME, time.CLOCK_MONOTONIC), 10**15)
        monkeypatch.setattr(time, "clock_gettime_ns", self.ns.__getitem__)
        monkeypatch.setattr(time, "monotonic_ns", lambda: self.ns[time.CLOCK_MONOTONIC])
        monkeypatch.setattr(time, "time_ns", lambda: 2 * 10**18 + self.ns[time.CLOCK_BOOTTIME])

    def work(self, seconds: int) -> None:
        for which in self.ns:
            self.ns[which] += seconds * 10**9

    def sleep(self, seconds: int) -> None:
        self.ns[time.CLOCK_BOOTTIME] += seconds * 10**9


def test_a_machine_that_slept_earns_no_air_by_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, store = Machine(monkeypatch), MemoryStore()
    (tmp_path / "boot_id").write_text("6f1e")
    clock = SystemClock()
    air = AirClock(store, find_boot(clock, boot_id=tmp_path / "boot_id"), clock.now_us())
    machine.work(60)
    machine.sleep(8 * 3_600)
    machine.work(60)
    assert clock.now_us() == (8 * 3_600 + 120) * 1_000_000
    air.keep(clock.now_us())
    reached_us = air.ledger_us(clock.now_us())
    machine.work(5)
    again = SystemClock()
    air = AirClock(store, find_boot(again, boot_id=tmp_path / "boot_id"), again.now_us())
    assert air.ledger_us(again.now_us()) == reached_us + 5_000_000


def test_no_clock_was_set_while_the_machine_slept(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(monkeypatch)
    watch = ClockWatch(SystemClock())
    machine.sleep(8 * 3_600)
    machine.work(1)
    assert watch.check() is None


def test_which_boot_this_is(tmp_path: Path) -> None:
    clock = FakeClock()
    clock.mono_us = 2_000
    (tmp_path / "boot_id").write_text("6f1e\n")
    boot = find_boot(clock, boot_id=tmp_path / "boot_id", boottime_ns=lambda: 9_000_000)
    assert boot == BootReference("6f1e", 7_000)


@pytest.mark.parametrize("content", [b"", b"two words", b"\xff", None])
def test_a_boot_nobody_knows_is_one_of_its_own(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "boot_id"
    if content is not None:
        path.write_bytes(content)
    one, two = (find_boot(FakeClock(), boot_id=path) for _ in range(2))
    assert one.id != two.id
    assert " " not in one.id


def test_this_machine_knows_its_boot() -> None:
    clock = SystemClock()
    assert find_boot(clock).id == find_boot(clock).id
    assert boottime_ns() > 0
