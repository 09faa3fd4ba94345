"""Runs in MicroPython only: the firmware on a machine whose every line and bus is asked of the parent process."""

import gc

import parent  # type: ignore[import-not-found]  # what micropython.mjs offers
from board import BOARD  # type: ignore[import-not-found]  # the board's map, under this name

from firmware_bridge.firmware.program import Program


class Pin:
    """``machine.Pin``."""

    IN = 0
    OUT = 1

    def __init__(self, number: int, mode: int = -1, value: "int | None" = None) -> None:
        self._number = number
        if mode == Pin.OUT:
            self(value)

    def __call__(self, value: "int | None" = None) -> "int | None":
        answer = parent.ask(f"pin {self._number} {'' if value is None else value}")
        return int(answer) if value is None else None


class SPI:
    """``machine.SPI``."""

    def __init__(self, unit: int, **settings: object) -> None:
        assert unit in (0, 1)
        assert sorted(settings) == ["baudrate", "miso", "mosi", "phase", "polarity", "sck"]

    def write_readinto(self, data: bytes, answer: bytearray) -> None:
        answer[:] = bytes.fromhex(parent.ask("spi " + data.hex()))


class Machine:
    """The module ``machine``."""

    Pin = Pin
    SPI = SPI

    def feed(self) -> None:
        parent.ask("feed")


class Console:
    """The cable."""

    def read(self, most: int) -> bytes:
        return bytes.fromhex(parent.ask(f"read {most}"))

    def writable(self) -> bool:
        return bool(ask_number("writable"))

    def write(self, data: bytes) -> None:
        parent.ask("write " + data.hex())


def ask_number(line: str) -> int:
    """Ask the parent for a number."""
    return int(parent.ask(line))


machine = Machine()
gc.collect()
before = gc.mem_alloc()  # type: ignore[attr-defined]  # MicroPython's
program = Program(
    board=BOARD,
    machine=machine,
    console=Console(),
    watchdog=machine,
    clock_us=lambda: ask_number("clock"),
    sleep_us=lambda us: parent.ask(f"sleep {us}"),
    random_byte=lambda: ask_number("random"),
    started_by_watchdog=ask_number("cause") == 1,
)
gc.collect()
command = parent.ask(f"began {before} {gc.mem_alloc()}")  # type: ignore[attr-defined]  # MicroPython's
while command == "turn":
    command = parent.ask(f"ended {int(program.turn())}")
