"""Adafruit Feather RP2040 with RFM95 (product 5714).

Sources: meshtastic/firmware, variants/rp2040/feather_rp2040_rfm95/variant.h, read in 2026, which follows Adafruit's
learning guide: SCK 14, MOSI 15, MISO 8, CS 16, RESET 17, DIO0 21. GPIO 8, 14 and 15 belong to SPI1 (RP2040 data
sheet, table 2). Power: SX1276 data sheet 5.4.2.
"""

from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="Feather RP2040 RFM95",
    chip=Sx127x,
    power_max_dbm=20,
    spi=1,
    sck=14,
    mosi=15,
    miso=8,
    cs=16,
    irq=21,
    reset=17,
)
