"""LilyGO (TTGO) T-Beam v1.0 to v1.2 with a SX1276 or SX1278, 868, 915 or 433 MHz.

Sources: espressif/arduino-esp32, variants/t-beam/pins_arduino.h (SCK 5, MOSI 27, MISO 19, CS 18);
meshtastic/firmware, variants/tbeam/variant.h (DIO0 26, RESET 23, SCL 22 and SDA 21 to the power supply chip);
markqvist/RNode_Firmware, Boards.h (the same); read in 2026. On an ESP32 any SPI unit reaches any pin (MicroPython,
quick reference for the ESP32). Power: SX1276 data sheet 5.4.2.
"""

from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="T-Beam SX1276",
    chip=Sx127x,
    power_max_dbm=20,
    spi=1,
    sck=5,
    mosi=27,
    miso=19,
    cs=18,
    irq=26,
    reset=23,
    power_bus=(22, 21),
)
