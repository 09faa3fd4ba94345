"""Raspberry Pi Pico with a RFM95W or RFM96W module on loose wires.

Wires, with the Pico's pins in brackets: 3V3 to 3V3(OUT) (36), GND to GND (23), SCK to GPIO 18 (24), MOSI to 19 (25),
MISO to 16 (21), NSS to 17 (22), RESET to 20 (26), DIO0 to 21 (27). Sources: GPIO 16, 18 and 19 belong to SPI0
(RP2040 data sheet, table 2), the other lines are chosen here. The module's antenna is on PA_BOOST: up to 20 dBm
(SX1276 data sheet 5.4.2).
"""

from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="Pico with RFM95",
    chip=Sx127x,
    power_max_dbm=20,
    spi=0,
    sck=18,
    mosi=19,
    miso=16,
    cs=17,
    irq=21,
    reset=20,
)
