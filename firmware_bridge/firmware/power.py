"""Power supply chips that must be told to feed the radio, as on T-Beams. Runs in MicroPython.

Sources: registers: lewisxhe/XPowersLib (AXP192Constants.h, AXP2101Constants.h); which output feeds the radio:
meshtastic/firmware, src/Power.cpp (LDO2 of an AXP192, ALDO2 of an AXP2101); read in 2026.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from firmware_bridge.firmware.port import I2cLike

ADDRESS = 0x34
"""Of both chips on the bus."""
REG_KIND = 0x03
AXP192 = 0x03
AXP2101 = 0x4A
"""What register 03 holds."""

AXP192_OUTPUTS = 0x12
AXP192_LDO2 = 0x04
AXP192_LDO23_VOLTS = 0x28
AXP192_LDO2_3V3 = 0xF0
"""LDO2 in the upper half: 1.8 V and 0.1 V for each step."""
AXP2101_OUTPUTS = 0x90
AXP2101_ALDO2 = 0x02
AXP2101_ALDO2_VOLTS = 0x93
AXP2101_ALDO2_3V3 = 0x1C
"""0.5 V and 0.1 V for each step."""


def feed_radio(bus: "I2cLike") -> bool:
    """Give the radio its 3.3 V; everything else stays as it is. False: nobody answers who could."""
    try:
        kind = bus.readfrom_mem(ADDRESS, REG_KIND, 1)[0]
        if kind == AXP192:
            _set_bits(bus, AXP192_LDO23_VOLTS, AXP192_LDO2_3V3)
            _set_bits(bus, AXP192_OUTPUTS, AXP192_LDO2)
        elif kind == AXP2101:
            bus.writeto_mem(ADDRESS, AXP2101_ALDO2_VOLTS, bytes([AXP2101_ALDO2_3V3]))
            _set_bits(bus, AXP2101_OUTPUTS, AXP2101_ALDO2)
        else:
            return False
    except OSError:
        # An older board, whose radio is always fed. If it is not, the chip's own silence will tell.
        return False
    return True


def _set_bits(bus: "I2cLike", register: int, bits: int) -> None:
    value = bus.readfrom_mem(ADDRESS, register, 1)[0]
    bus.writeto_mem(ADDRESS, register, bytes([value | bits]))
