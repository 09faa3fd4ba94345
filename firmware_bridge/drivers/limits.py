"""Numbers of the drivers, each with its source; those without are ours and say why they are what they are."""

from typing import Final

RESET_LOW_US: Final = 200
"""A reset line is held low so long: twice what SX127x and SX126x ask for (data sheets 7.2.2 and 8.1)."""
RESET_WAIT_US: Final = 6_000
"""Wait behind it: SX127x need 5 ms (data sheet 7.2.2)."""
CAD_TRIES: Final = 1
"""Times the channel is listened to before a frame is sent."""
CAD_WAIT_S: Final = 0.2
"""Longest that activity detection takes: 4 symbols at SF12 and 125 kHz are 131 ms."""
SEND_MARGIN_S: Final = 0.1
"""How long beyond its airtime a frame may take to leave before the chip is held to be stuck."""
CHECK_S: Final = 5.0
"""Time between looks at the chip: whether it still holds what it was set to, and whether an edge was missed."""
RESETS_IN_A_ROW: Final = 3
"""Resets without a healthy look between them, after which a radio is given up and opened anew."""
RESET_PAUSE_S: Final = 0.5
"""Wait before the next reset when one did not help: a supply that sagged may have recovered by then."""
EVENTS_IN_A_ROW: Final = 8
"""Times the chip is asked for events at one edge: more than it can have, so a line that is stuck cannot hold us."""
EDGES_MAX: Final = 16
"""Edges taken from the system at a time."""
RECEIVING_FRAMES: Final = 2
"""Longest frames for which a receiver may say that something is coming in before it is started anew."""
FRAME_MAX: Final = 255
"""Most bytes of a LoRa frame: its header counts in one byte."""
SETTLE_US: Final = 20_000
"""Wait for activity detection at SF7, which takes 2 to 5 ms, and for a receiver that has just been turned on."""
NOISE_MIN_DBM: Final = -140
"""Weakest that a receiver measures in 125 kHz: thermal noise is -123 dBm."""
NOISE_MAX_DBM: Final = -60
"""Strongest that is still taken for a free channel, in a house full of electronics."""
