"""The one module that needs a real machine, on stand-ins for what MicroPython has and CPython lacks."""

import importlib
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from firmware_bridge.emulation.ether import Ether
from firmware_bridge.firmware import limits
from firmware_bridge.firmware.boards.pico_rfm95 import BOARD
from firmware_bridge.firmware.boards.tbeam_sx1276 import BOARD as FED
from firmware_bridge.serial.framing import serialize_frame
from tests.emulated.microcontroller import EmulatedController
from tests.emulated.timeline import VirtualTimeline
from tests.firmware_bridge.firmware.test_power import Bus

TICKS_PERIOD = 1 << 30
"""After so many microseconds MicroPython's count begins anew."""


class ResetError(Exception):
    """The board was reset."""


class Machine:
    """MicroPython's modules, on a board whose host sends *said* and then wants the prompt."""

    def __init__(self, tmp_path: Path, said: bytes) -> None:
        self.timeline = VirtualTimeline()
        self.said = bytearray(said)
        self.written = io.BytesIO()
        self.interrupts: list[int] = []
        self.supply = Bus({0x03: 0x03, 0x12: 0x00, 0x28: 0x00})
        self.watchdog_ms = 0
        self.reset_cause = 1
        self.folder = tmp_path

    def install(self, monkeypatch: pytest.MonkeyPatch, board: Any) -> ModuleType:
        """Make ``device`` find them, and import it."""
        controller = EmulatedController(board, Ether(self.timeline), "ana", self.timeline.advance)
        emulated: Any = controller.machine
        emulated.WDT_RESET = 3
        emulated.reset_cause = lambda: self.reset_cause
        emulated.WDT = self.start_watchdog
        emulated.SoftI2C = lambda _scl, _sda, **_speed: self.supply
        emulated.reset = self.reset
        self.controller = controller
        utime: Any = ModuleType("utime")
        utime.ticks_us = lambda: (TICKS_PERIOD - 5_000 + self.timeline.now_us()) % TICKS_PERIOD
        utime.ticks_diff = lambda late, early: (
            (late - early + TICKS_PERIOD // 2) % TICKS_PERIOD - TICKS_PERIOD // 2
        )
        utime.sleep_us = self.timeline.advance
        utime.sleep_ms = lambda ms: self.timeline.advance(1_000 * ms)
        micropython: Any = ModuleType("micropython")
        micropython.kbd_intr = self.interrupts.append
        monkeypatch.setitem(sys.modules, "machine", emulated)
        monkeypatch.setitem(sys.modules, "utime", utime)
        monkeypatch.setitem(sys.modules, "micropython", micropython)
        monkeypatch.chdir(self.folder)
        monkeypatch.delitem(sys.modules, "firmware_bridge.firmware.device", raising=False)
        device = importlib.import_module("firmware_bridge.firmware.device")
        stdin = SimpleNamespace(buffer=SimpleNamespace(read=self.read))
        stdout = SimpleNamespace(buffer=self.written)
        monkeypatch.setattr(device, "sys", SimpleNamespace(stdin=stdin, stdout=stdout))
        monkeypatch.setattr(device, "select", SimpleNamespace(poll=lambda: Poll(self), POLLIN=1, POLLOUT=4))
        return device

    def read(self, count: int) -> bytes:
        assert count <= len(self.said), "this would wait for ever"
        data = bytes(self.said[:count])
        del self.said[:count]
        return data

    def start_watchdog(self, timeout: int) -> Any:
        self.watchdog_ms = timeout
        return self.controller.machine

    def reset(self) -> None:
        raise ResetError


class Poll:
    """``select.poll``."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._wanted = 0

    def register(self, _stream: object, events: int) -> None:
        self._wanted = events

    def poll(self, timeout_ms: int) -> list[int]:
        assert timeout_ms == 0, "nothing may wait"
        return [1] if self._wanted == 4 or self._machine.said else []


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path, serialize_frame(b"\x06\x17") + b"\xc0\xff\xc0")
    yield machine
    machine.controller.close()


def test_it_answers_until_the_host_wants_the_prompt(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = machine.install(monkeypatch, BOARD)
    with pytest.raises(ResetError):
        device.run(BOARD)
    assert machine.written.getvalue() == serialize_frame(b"\x06\xfb\x00") + serialize_frame(b"\x06\x97")
    assert machine.interrupts == [-1]
    assert machine.watchdog_ms == limits.WATCHDOG_MS
    # The next start leads to the prompt, the one after that does not.
    device.run(BOARD)
    assert machine.interrupts == [-1]
    machine.said += b"\xc0\xff\xc0"
    with pytest.raises(ResetError):
        device.run(BOARD)


def test_a_start_by_the_watchdog_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.reset_cause = 3
    device = machine.install(monkeypatch, BOARD)
    with pytest.raises(ResetError):
        device.run(BOARD)
    assert machine.written.getvalue().startswith(serialize_frame(b"\x06\xfb\x01"))


def test_a_radio_behind_a_supply_chip_is_fed(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    device = machine.install(monkeypatch, FED)
    with pytest.raises(ResetError):
        device.run(FED)
    assert machine.supply.registers == {0x03: 0x03, 0x12: 0x04, 0x28: 0xF0}


def test_time_goes_on_where_micropython_s_count_begins_anew(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    device = machine.install(monkeypatch, BOARD)
    clock = device.Clock()
    begin_us = machine.timeline.now_us()
    for _ in range(40):
        machine.timeline.advance(100_000_000)
        assert clock.now_us() == machine.timeline.now_us() - begin_us
