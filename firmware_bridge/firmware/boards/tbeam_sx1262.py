"""LilyGO (TTGO) T-Beam v1.0 to v1.2 with a SX1262. (A T-Beam Supreme is another board.)

Sources: espressif/arduino-esp32, variants/t-beam/pins_arduino.h (SCK 5, MOSI 27, MISO 19, CS 18);
meshtastic/firmware, variants/tbeam/variant.h (DIO1 33, BUSY 32, RESET 23, DIO2 controls the switch, TCXO of 1.8 V, SCL
22 and SDA 21 to the power supply chip); markqvist/RNode_Firmware, Boards.h (the same); read in 2026. On an ESP32 any
SPI unit reaches any pin (MicroPython, quick reference for the ESP32). Power: SX1261/2 data sheet 13.4.4.
"""

from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.firmware.wiring import Board

BOARD = Board(
    name="T-Beam SX1262",
    chip=Sx126x,
    power_max_dbm=22,
    spi=1,
    sck=5,
    mosi=27,
    miso=19,
    cs=18,
    irq=33,
    reset=23,
    busy=32,
    power_bus=(22, 21),
    options={"chip": "sx1262", "tcxo_mv": 1_800, "dio2_switch": True},
)
