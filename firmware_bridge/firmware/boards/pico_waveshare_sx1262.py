"""Raspberry Pi Pico with Waveshare's Pico-LoRa-SX1262 plugged under it, 868M or 915M.

Sources: meshtastic/firmware, variants/rp2040/rpipico/variant.h, read in 2026: SCK 10, MOSI 11, MISO 12, CS 3, RESET
15, BUSY 2, DIO1 20, DIO2 controls the switch, TCXO of 1.8 V. GPIO 10 to 12 belong to SPI1 (RP2040 data sheet, table 2).
Power: SX1261/2 data sheet 13.4.4.
"""

from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="Pico with Waveshare SX1262",
    chip=Sx126x,
    power_max_dbm=22,
    spi=1,
    sck=10,
    mosi=11,
    miso=12,
    cs=3,
    irq=20,
    reset=15,
    busy=2,
    options={"chip": "sx1262", "tcxo_mv": 1_800, "dio2_switch": True},
)
