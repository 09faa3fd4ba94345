"""Numbers of the alert sender, each with its reason."""

from typing import Final

LOOK_S: Final = 20.0
"""How often the node is checked."""
HOLD_US: Final = 60_000_000
"""A problem is announced once it has lasted as long: links that break are up again within half a minute."""
CLEAR_US: Final = 300_000_000
"""It is over once it was not found for as long, so that one that comes and goes is one alert."""
ALERTS_MAX: Final = 64
"""Problems that are remembered; a node has a handful of faces, networks and processes."""
RETRY_MAX_S: Final = 300.0
"""Longest wait before a post is tried again."""
POST_S: Final = 20.0
"""Longest wait for the receiver."""
ADDRESS_MAX: Final = 2_048
"""Characters of a webhook's address."""
SAVED_MAX: Final = 262_144
"""Bytes of the file of announced alerts: `ALERTS_MAX` of them, at 4 kB each."""
