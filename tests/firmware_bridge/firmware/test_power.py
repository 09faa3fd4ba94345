"""Power supply chips of T-Beams, as registers behind a bus."""

import pytest

from firmware_bridge.firmware.power import switch_on_radio


class Bus:
    """An I2C bus with one chip at 0x34, or none."""

    def __init__(self, registers: dict[int, int] | None) -> None:
        self.registers = registers

    def readfrom_mem(self, address: int, register: int, count: int, /) -> bytes:
        if self.registers is None:
            raise OSError(19, "ENODEV")
        assert (address, count) == (0x34, 1)
        return bytes([self.registers[register]])

    def writeto_mem(self, address: int, register: int, data: bytes, /) -> None:
        assert address == 0x34
        assert self.registers is not None
        (self.registers[register],) = data


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # AXP192: DCDC3 feeds the processor and stays on, LDO3 keeps its voltage.
        ({0x03: 0x03, 0x12: 0x13, 0x28: 0x0C}, {0x03: 0x03, 0x12: 0x17, 0x28: 0xFC}),
        # AXP2101: what else is on stays on.
        ({0x03: 0x4A, 0x90: 0x11, 0x93: 0x05}, {0x03: 0x4A, 0x90: 0x13, 0x93: 0x1C}),
    ],
)
def test_the_radio_is_fed_and_all_else_stays(before: dict[int, int], after: dict[int, int]) -> None:
    bus = Bus(dict(before))
    assert switch_on_radio(bus)
    assert bus.registers == after


@pytest.mark.parametrize("registers", [None, {0x03: 0x41}])
def test_what_is_not_known_is_left_alone(registers: dict[int, int] | None) -> None:
    bus = Bus(registers)
    assert not switch_on_radio(bus)
    assert bus.registers == registers
