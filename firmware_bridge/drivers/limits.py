"""The numbers of the drivers, with their sources; those without a source are ours, with the reason."""

from typing import Final

CAD_WAIT_S: Final = 0.2
"""Longest channel activity detection: 4 symbols at SF12 and 125 kHz are 131 ms."""
SEND_MARGIN_S: Final = 0.1
"""Time beyond its airtime that a frame may take to leave before the chip counts as stuck."""
CHECK_S: Final = 5.0
"""Time between checks of the chip: whether its registers are unchanged, and whether an edge was missed."""
RESETS_IN_A_ROW: Final = 3
"""Resets without a successful check between them, after which a radio is closed and opened again."""
RESET_PAUSE_S: Final = 0.5
"""Wait before the next reset when one did not help: a supply that dropped may have recovered by then."""
SETTLE_US: Final = 20_000
"""Wait for channel activity detection at SF7, which takes 2 to 5 ms, and for a receiver just switched on."""
NOISE_MIN_DBM: Final = -140
"""Least power that a receiver measures in 125 kHz: thermal noise is -123 dBm."""
NOISE_MAX_DBM: Final = -60
"""Most power that still counts as a free channel, in a house full of electronics."""
