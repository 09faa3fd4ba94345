"""The numbers of the bridge firmware, with their sources. Runs in MicroPython."""

EXTENSION = 1
"""Version of our extension (docs/formats/kiss.md)."""
MESHCORE_VERSION = 2
"""Version of MeshCore's KISS modem whose sub-commands are implemented (its KissModem.h: KISS_FIRMWARE_VERSION)."""
FRAME_MAX = 512
"""Bytes of an unescaped KISS frame (docs/formats/kiss.md)."""
RING_SLOTS = 16
"""Received packets that are kept while the host does not read: 4 KB, a few seconds of a busy channel at SF7. The oldest
is dropped first: its content has been repeated since, or will be requested."""
OUT_MAX = 1_024
"""Bytes of waiting answers at which reading from the host stops: a host that asks has to read."""

WINDOW_US = 3_600_000_000
"""The law counts time on the air in any hour (EN 300 220-1, 5.4)."""
RECORDS_MAX = 512
"""Separate transmissions in one hour, 8 KB: full packets at SF7 and 125 kHz in 1 % of an hour are 175. More are merged
in pairs, so that airtime is freed seconds late."""
PERMILLE = 1_000
"""A whole hour, in the unit of the limit."""
CAD_MAX = 8
"""Most channel activity detections before one packet (docs/formats/kiss.md)."""
TICK_US = 10_000
"""Unit of TxDelay and SlotTime (The KISS TNC, section 4)."""

PREAMBLE_MIN = 6
"""Shortest preamble that a receiver finds reliably (SX1276 data sheet 4.1.1.6)."""
POWER_START_DBM = 2
"""Default power: the least that every board has."""
SYNC_WORD_START = 0x12
"""Default sync word: LoRa's own for private networks."""
PREAMBLE_START = 8
"""Default preamble: that of the chips after a reset."""

CAD_WAIT_US = 200_000
"""Longest channel activity detection: 4 symbols at SF12 and 125 kHz are 131 ms."""
SEND_MARGIN_US = 100_000
"""Time beyond its airtime that a packet may take to leave before the chip counts as stuck."""
CHECK_US = 5_000_000
"""Time between checks of the chip: whether its registers are unchanged, and whether it answers again."""

SPI_HZ = 2_000_000
"""Clock of the bus: a full frame takes 1 ms, and wires on a breadboard suffice."""
I2C_HZ = 100_000
"""Clock of the bus to a power supply chip: I2C's standard mode."""
WATCHDOG_MS = 8_000
"""Timeout of the watchdog, which restarts the board. A RP2040 counts to 8,388 ms (MicroPython, machine.WDT)."""
TURN_MS = 1
"""Pause between two turns of the loop: the greatest delay of a frame, and long enough for a whole USB packet."""
READ_MAX = 512
"""Bytes read from the host in one turn: all that can be there. An ESP32's serial port keeps 260 bytes for MicroPython
and loses further ones (ports/esp32/mphalport.c); a serial line transfers that in 22 ms."""
WRITE_MAX = 64
"""Bytes written to the host at once: what a USB endpoint accepts without waiting."""
WRITES_IN_A_TURN = 2
"""Writes in one turn: as much as the FIFO of an ESP32's serial port accepts without waiting."""
