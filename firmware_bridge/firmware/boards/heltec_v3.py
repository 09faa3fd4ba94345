"""Heltec WiFi LoRa 32 V3: an ESP32-S3 with a SX1262.

Sources: meshtastic/firmware, variants/heltec_v3/variant.h (SCK 9, MOSI 10, MISO 11, CS 8, RESET 12, DIO1 14, BUSY
13); markqvist/RNode_Firmware, Boards.h (the same, and: DIO2 controls the switch, a TCXO); the TCXO's 1.8 V:
meshtastic/firmware, variants of Heltec's Wireless Tracker, which has the same radio; read in 2026. On an ESP32 any
SPI unit reaches any pin (MicroPython, quick reference for the ESP32). Power: SX1261/2 data sheet 13.4.4.
"""

from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="Heltec V3",
    chip=Sx126x,
    power_max_dbm=22,
    spi=1,
    sck=9,
    mosi=10,
    miso=11,
    cs=8,
    irq=14,
    reset=12,
    busy=13,
    options={"chip": "sx1262", "tcxo_mv": 1_800, "dio2_switch": True},
)
