"""Heltec WiFi LoRa 32 V2, with a SX1276 or SX1278.

Sources: espressif/arduino-esp32, variants/heltec_wifi_lora_32_V2/pins_arduino.h (SCK 5, MOSI 27, MISO 19, CS 18,
RESET 14, DIO0 26); markqvist/RNode_Firmware, Boards.h (CS, RESET, DIO0: the same); read in 2026. On an ESP32 any SPI
unit reaches any pin (MicroPython, quick reference for the ESP32). Power: SX1276 data sheet 5.4.2.
"""

from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="Heltec V2",
    chip=Sx127x,
    power_max_dbm=20,
    spi=1,
    sck=5,
    mosi=27,
    miso=19,
    cs=18,
    irq=26,
    reset=14,
)
