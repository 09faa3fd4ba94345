"""Every number of the bridge firmware, with its source. Runs in MicroPython."""

EXTENSION = 1
"""Version of our extension (docs/formats/kiss.md)."""
MESHCORE_VERSION = 2
"""Version of MeshCore's KISS modem whose sub-commands are understood (its KissModem.h: KISS_FIRMWARE_VERSION)."""
FRAME_MAX = 512
"""Bytes of an unescaped KISS frame (docs/formats/kiss.md)."""
RING_SLOTS = 16
"""Packets received that are kept while the host does not read: 4 KB, a few seconds of a busy channel at SF7. The oldest
goes first: what it told has been told again since, or will be asked for."""
OUT_MAX = 1_024
"""Bytes of answers that wait for the host before nothing more is read from it: a host that asks has to listen."""

WINDOW_US = 3_600_000_000
"""The law counts time on the air in any hour (EN 300 220-1, 5.4)."""
RECORDS_MAX = 512
"""Transmissions told apart in one hour, 8 KB: full packets at SF7 and 125 kHz in 1 % of an hour are 175. Beyond,
neighbours are put together, so that air is freed seconds late."""
PERMILLE = 1_000
"""All of an hour, in the steps a limit is counted in."""
CAD_MAX = 8
"""Channel activity detections before one packet, at most (docs/formats/kiss.md)."""
TICK_US = 10_000
"""Unit of TxDelay and SlotTime (The KISS TNC, section 4)."""

PREAMBLE_MIN = 6
"""Shortest preamble a receiver finds reliably (SX1276 data sheet 4.1.1.6)."""
POWER_START_DBM = 2
"""Power until the host says otherwise: the least that every board has."""
SYNC_WORD_START = 0x12
"""Sync word until the host says otherwise: LoRa's own for private networks."""
PREAMBLE_START = 8
"""Preamble until the host says otherwise: what the chips start with."""

CAD_WAIT_US = 200_000
"""Longest that activity detection takes: 4 symbols at SF12 and 125 kHz are 131 ms."""
SEND_MARGIN_US = 100_000
"""How long beyond its airtime a packet may take to leave before the chip is held to be stuck."""
CHECK_US = 5_000_000
"""Time between looks at the chip: whether it holds what it was set to, and whether it answers again."""

SPI_HZ = 2_000_000
"""Clock of the bus: a full frame takes 1 ms; wires on a breadboard bear it."""
I2C_HZ = 100_000
"""Clock of the bus to a power supply chip: I2C's standard mode."""
WATCHDOG_MS = 8_000
"""Without a sign of life for so long the board starts anew. A RP2040 counts to 8,388 ms (MicroPython, machine.WDT)."""
TURN_MS = 1
"""Pause between two turns of the loop: a frame is noticed so late at most, and a USB packet has come in full."""
READ_MAX = 512
"""Bytes read from the host in one turn: all that can be there. An ESP32's serial port keeps 260 bytes for MicroPython
and loses what comes on top (ports/esp32/mphalport.c); a serial line brings that in 22 ms."""
WRITE_MAX = 64
"""Bytes written to the host at once: what a USB endpoint takes without waiting."""
WRITES_IN_A_TURN = 2
"""Times that is done in one turn: as much as the FIFO of an ESP32's serial port takes without waiting."""
