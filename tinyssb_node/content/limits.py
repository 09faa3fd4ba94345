"""Numbers of tangles, each with its source. What they share with the node is in ``tinyssb_node.limits``."""

from typing import Final

# --- Tangles (docs/formats/tangles.md) -------------------------------------------------------------------------------

TANGLES_MAX: Final = 8
"""Most tangles that one message is in: a group's epoch begins in three at once, and nobody's message in more."""
TANGLE_NAME_MAX: Final = 32
"""Most bytes of a tangle's name: a word that people read."""
TANGLE_WAITING_MAX: Final = 16_384
"""Messages of one tangle that wait in memory for what they follow: some 8 MB."""
REDUCE_REGISTERS_MAX: Final = 8_192
"""Fields of one tangle that several messages wrote: 1 kB for each of its branches at a time."""
REDUCE_PARTS_MAX: Final = 1_024
"""Fields that one message changes: it has 64 kB."""
