"""LilyGO (TTGO) LoRa32 V2.1, also sold as V2.1_1.6 or T3 V1.6.1, with a SX1276 or SX1278.

Sources: espressif/arduino-esp32, variants/ttgo-lora32-v21new/pins_arduino.h (SCK 5, MOSI 27, MISO 19, CS 18, RESET
23, DIO0 26); meshtastic/firmware, variants/tlora_v2_1_16/variant.h (DIO0, RESET: the same); read in 2026. On an
ESP32 any SPI unit reaches any pin (MicroPython, quick reference for the ESP32). Power: SX1276 data sheet 5.4.2.
"""

from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="LoRa32 V2.1",
    chip=Sx127x,
    power_max_dbm=20,
    spi=1,
    sck=5,
    mosi=27,
    miso=19,
    cs=18,
    irq=26,
    reset=23,
)
