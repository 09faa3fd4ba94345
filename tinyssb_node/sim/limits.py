"""Numbers of the simulator, each with its source. ``tinyssb_node.limits`` has those shared with the daemon."""

from typing import Final

from tinyssb_node.limits import ETHER_NODES_MAX

# --- Bounds of options --------------------------------------------------------------------------------------------

NODES_MAX: Final = 200
"""Most nodes: as many as the modelled channel holds."""
assert NODES_MAX <= ETHER_NODES_MAX
HOURS_MAX: Final = 8_784.0
"""Longest simulated time: a leap year."""
LONGEST_S: Final = 3_600 * HOURS_MAX
"""No time in a scenario is later."""
CACHE_MAX: Final = 100_000
"""Writes that a lying disk holds before it writes after all: as many as a slow card's cache of 64 MB holds pages."""
FILE_MAX: Final = 2**20
"""Most bytes of a scenario file."""
BURSTS_MAX: Final = 0.5
"""Most of the time that others may be on the air: field studies of the 868 MHz band found 0 to 5 %."""

# --- The channel --------------------------------------------------------------------------------------------------

SUBURBAN_SHADOWING_DB: Final = 3.57
"""Standard deviation of the path loss around ``limits.PATH_LOSS_REFERENCE_DB`` and its exponent; same source."""
OULU_REFERENCE_M: Final = 1_000.0
"""Distance at which the path loss around Oulu is given (Petäjäjärvi et al., "On the coverage of LPWANs", 2015)."""
OULU_REFERENCE_DB: Final = 128.95
"""Path loss measured there, by cars."""
OULU_EXPONENT: Final = 2.32
"""Exponent by which it grows with distance; same source."""
OULU_SHADOWING_DB: Final = 7.8
"""Its standard deviation; same source."""
CAPTURE_DB: Final = 6.0
"""By how much a packet must be stronger than others like it that overlap it (Bor et al. 2016, by measurement)."""
REJECTION_DB: Final = {
    7: (6, -16, -18, -19, -19, -20),
    8: (-24, 6, -20, -22, -22, -22),
    9: (-27, -27, 6, -23, -25, -25),
    10: (-30, -30, -30, 6, -26, -28),
    11: (-33, -33, -33, -33, 6, -29),
    12: (-36, -36, -36, -36, -36, 6),
}
"""The same for packets of other spreading factors, 7 to 12 in a row, by the spreading factor received: negative, as it
may be weaker than they are (Goursaud and Gorce, "Dedicated networks for IoT", 2015; ns-3's lorawan has them too)."""
assert all(row[number] == CAPTURE_DB for number, row in enumerate(REJECTION_DB.values()))
TUNED_SHARE: Final = 0.24
"""Share of the bandwidth by which centre frequencies may differ: 30, 60, 120 kHz of 125, 250, 500 (LoRaSim)."""
SENSE_SYMBOLS: Final = 2
"""Carrier sense does not detect transmissions that began more recently: Semtech's CAD looks at about two symbols."""

# --- Running, checking, reporting ---------------------------------------------------------------------------------

EPOCH_US: Final = 1_767_225_600 * 1_000_000
"""Wall clocks at the beginning of a simulation: 2026-01-01."""
ORIGIN: Final = (46.55, 8.05)
"""Latitude and longitude of a simulation's (0, 0): somewhere in the Alps, where such nodes are carried up hills."""
DEGREE_M: Final = 111_195.0
"""Metres in a degree of latitude, on a sphere of 6,371 km."""
LAW_WINDOW_US: Final = 3_600 * 1_000_000
"""Duty is counted over any hour (ETSI EN 300 220-1). The checker's own, not the ledger's."""
SIGNATURES_MAX: Final = 100_000
"""Checked signatures that a simulation remembers: 30 MB."""
SAMPLES_MAX: Final = 480
"""Points of the convergence curve that are kept: a screen's width and more."""
FLUSH_BYTES: Final = 2**20
"""Bytes of a node's event log that wait in memory."""
BOUND_STEPS: Final = 300_000
"""Sets of relays looked at before the search for the smallest ends: half a second."""

# --- Power (docs/reference/sim.md) ------------------------------------------------------------------------------------

RADIO_LISTEN_MW: Final = 5.3 * 3.3
"""An SX1262 that receives LoRa with boosted gain and DC-DC converter, as our driver sets it: 5.3 mA at 3.3 V (SX1261/2
data sheet, current consumption; 4.6 mA without the boost)."""
RADIO_SEND_MW: Final = 90 * 3.3
"""The same chip at +14 dBm, 868 MHz, its amplifier set up for +22 dBm as our driver does: 90 mA (same table; 45 mA with
the amplifier set up for +14 dBm)."""
RADIO_SEND_HIGH_MW: Final = 118 * 3.3
"""The same at +22 dBm: 118 mA (same table)."""
RADIO_LOW_DBM: Final = 14
"""Up to this power the former is reckoned with, above it the latter."""
PI_MW: Final = 120 * 5.0
"""A Pi Zero 2 W that idles under Raspberry Pi OS Lite: 120 mA at 5 V (CNX Software, 2021-12-09, by measurement; 75 mA
with HDMI off and fewer cores). Gossip at LoRa's pace keeps it idle: our assumption."""
PI_OFF_MW: Final = 0.1
"""A Pi whose power a timer has cut, and its radio: the timer alone. Our assumption; timers for this need less."""
PI_BOOT_S: Final = 30
"""Time from switching a Pi Zero 2 W on until the daemon listens. Our assumption."""
ESP32_MW: Final = 44 * 3.3
"""An ESP32 under MicroPython at 160 MHz, Wi-Fi and Bluetooth off: 27 to 44 mA (ESP32 data sheet, modem-sleep); we take
the upper end."""
ESP32_ASLEEP_MW: Final = (0.8 + 0.0006) * 3.3
"""An ESP32 in light sleep, 0.8 mA (same data sheet), its radio asleep with its settings kept, 0.6 µA (SX1261/2)."""

# --- Deployed boards ----------------------------------------------------------------------------------------------

BOARD_SLOT_US: Final = 250_000
"""Least time between two packets of a board (its sched.cpp)."""
BOARD_SLOT_SPREAD_US: Final = 300_000
"""Longest random addition to it; same source."""
BOARD_CLAIM_SLOTS: Final = 20
"""Slots after which it looks at its set again: a quarter of GOSET_ROUND_LEN (its goset.cpp)."""
BOARD_ROUND_US: Final = 20_000_000
"""Least time between two CLAIMs of the whole set: GOSET_ROUND_LEN; same source."""
BOARD_ASK_SLOTS: Final = 6
"""Slots between two WANTs, and between two CHNKs: half of NODE_ROUND_LEN (its node.h)."""
BOARD_SLOTS_SPREAD: Final = 3
"""Chance adds fewer slots than this to either; same sources."""
BOARD_PING_US: Final = 25_000_000
"""Time between two pings (its peers.cpp)."""
BOARD_PING_SPREAD_US: Final = 2_000_000
"""Chance adds less than this; same source."""
BOARD_ANSWERS_MAX: Final = 5
"""Packets in answer to a WANT or a CHNK (its node.h)."""
BOARD_WAITING_MAX: Final = 10
"""Packets that wait; a further one is dropped (SCHED_MAX)."""
BOARD_CLAIMS_MAX: Final = 10
"""Differing claims remembered (its goset.cpp)."""
BOARD_CLAIMS_KEPT: Final = 5
"""Of them, how many are kept when they have been worked on: five fewer than the most; same source."""

# --- Bulk logs ---

BULK_JUNK_SIZE: Final = 61
"""Bytes of a packet of another network in bulk logs; none of ours is so long."""
