"""Power supply chips that have to switch the radio on, as on T-Beams. Runs in MicroPython.

Sources: registers: lewisxhe/XPowersLib (AXP192Constants.h, AXP2101Constants.h); which output supplies the radio:
meshtastic/firmware, src/Power.cpp (LDO2 of an AXP192, ALDO2 of an AXP2101); read in 2026.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from firmware_bridge.firmware.port import I2cLike

ADDRESS = 0x34
"""Address of both chips on the bus."""
REG_KIND = 0x03
AXP192 = 0x03
AXP2101 = 0x4A
"""Values of register 03."""

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


def switch_on_radio(bus: "I2cLike") -> bool:
    """Switch on the radio's 3.3 V, and nothing else. Returns False if no known chip answers."""
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
        # An older board, whose radio is always supplied. If it is not, the LoRa chip does not answer.
        return False
    return True


def _set_bits(bus: "I2cLike", register: int, bits: int) -> None:
    value = bus.readfrom_mem(ADDRESS, register, 1)[0]
    bus.writeto_mem(ADDRESS, register, bytes([value | bits]))
