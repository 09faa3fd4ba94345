"""Waveshare RP2040-LoRa, HF: a RP2040 and a SX1262 on one small board.

Sources: meshtastic/firmware, variants/rp2040/rp2040-lora/variant.h, read in 2026, which follows Waveshare's pinout:
SCK 14, MOSI 15, MISO 24, CS 13, RESET 23, BUSY 18, DIO1 16; DIO2 and GPIO 17 control the switch, oppositely; no
TCXO. GPIO 14, 15 and 24 belong to SPI1 (RP2040 data sheet, table 2). Power: SX1261/2 data sheet 13.4.4.
"""

from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="Waveshare RP2040-LoRa",
    chip=Sx126x,
    power_max_dbm=22,
    spi=1,
    sck=14,
    mosi=15,
    miso=24,
    cs=13,
    irq=16,
    reset=23,
    busy=18,
    rx_enable=17,
    options={"chip": "sx1262", "dio2_switch": True},
)
