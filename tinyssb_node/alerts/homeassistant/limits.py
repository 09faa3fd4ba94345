"""Numbers of the bridge to Home Assistant, each with its reason."""

from typing import Final

LOOK_S: Final = 30.0
"""How often the node is looked at: its figures change slowly, and what did not change is not published."""
NODES_MAX: Final = 64
"""Nodes with sensors or positions that become devices: more fill no screen of a home."""
STATE_MAX: Final = 255
"""Characters of a state (Home Assistant's MAX_LENGTH_STATE_STATE)."""
NAME_CELLS: Final = 40
"""Cells of a device's name."""
TEXT_MAX: Final = 4_000
"""Bytes of a text to publish."""
TEXTS_AT_ONCE: Final = 5
"""Texts of Home Assistant that are published at once: an automation that runs wild must not use up the airtime."""
TEXTS_PER_HOUR: Final = 20
"""Texts of it that are published for long."""
MESSAGE_BYTES_MAX: Final = 8_192
"""Bytes of a message that the broker may send us."""
QUEUE_MAX: Final = 20
"""Messages read ahead."""
TIMEOUT_S: Final = 30.0
"""Longest wait for an answer of the broker."""
RETRY_MAX_S: Final = 60.0
"""Longest wait before it is called again."""
