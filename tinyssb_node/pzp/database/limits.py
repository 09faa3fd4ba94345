"""Numbers of the PZP database, each with its reason."""

from typing import Final

BUSY_S: Final = 10.0
"""Longest wait for another process that writes the file: many of its batches."""
TANGLES_HELD_MAX: Final = 512
"""Tangles that are in memory at a time: more than feeds that change at once, few enough to look through."""
PLACES_MAX: Final = 64
"""Tangles in which a message is placed: what more it names is kept in it, and looked at by nobody."""
WAITING_MAX: Final = 4_096
"""Messages of a tangle that wait for what they follow there, having been taken for another one."""

# --- Messages that entries carry --------------------------------------------------------------------------------------

CARRIED_BATCH: Final = 1_024
"""Appends of the store that are looked through in one transaction: 0.2 s if each carries a message."""
CARRIED_WAITING_MAX: Final = 16_384
"""Entries of one feed whose messages wait for others, 3 MB of rows; what is beyond is refused."""

# --- The gateway -----------------------------------------------------------------------------------------------------

GATEWAY_LISTENER_WAIT_S: Final = 5.0
"""Time the called side waits before it begins itself: by then the caller has mostly sent all."""
