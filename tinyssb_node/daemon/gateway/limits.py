"""Numbers of the gateway to other islands (docs/howto/gateways.md, decision 0054)."""

from typing import Final

PORT: Final = 8_789
"""Where a gateway listens unless told otherwise, by UDP and by TCP: next to a gateway of PZP."""
FIRST_PEERS_MAX: Final = 16
"""Most peers that the settings name: one that answers is enough, and it tells of others."""
PEERS_FILE_MAX: Final = 262_144
"""Most bytes read of a file of the locator's peers: 8 networks with 320 peers each, all by IPv6, have 130,000."""
