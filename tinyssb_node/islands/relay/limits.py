"""Numbers of relays, each with its reason (docs/formats/relay.md, decision 0097)."""

from typing import Final

from tinyssb_node.islands.locator import limits as locator_limits

GROUP_SIZE: Final = locator_limits.GROUP_SIZE
"""Bytes of a group identifier."""
HANDLE_SIZE: Final = locator_limits.RELAY_HANDLE_SIZE
"""Bytes of a handle: a truncated BLAKE2b of the node's secret, so nobody else registers as it."""
SECRET_SIZE: Final = 16
"""Bytes of the secret that a handle is made from."""
TICKET_SIZE: Final = 8
"""Bytes of a ticket, which names one call; it is valid for CALL_WAIT_US, and known to the called node only."""

# --- what a relay gives -----------------------------------------------------------------------------------------------

REGISTERED_MAX: Final = 32
"""Nodes registered at a time: where half of all nodes need two relays each, the other half has two each on average."""
REGISTERED_EACH_MAX: Final = 8
"""Those of one address: gateways behind one router."""
PAIRS_MAX: Final = 16
"""Pairs of connections that are joined, or wait to be: as many as other callers of a gateway."""
PAIRS_EACH_MAX: Final = 4
"""Those of one address that calls, and of one node that is called."""
CONNECTIONS_MAX: Final = REGISTERED_MAX + 2 * PAIRS_MAX
"""Connections of relayed nodes at a time."""
CONNECTIONS_EACH_MAX: Final = REGISTERED_EACH_MAX + 2 * PAIRS_EACH_MAX
"""Those of one address."""
CALL_WAIT_US: Final = 10_000_000
"""How long the called node may take to accept: two new connections of the slowest path."""
IDLE_US: Final = 60_000_000
"""A pair that was silent so long gives way to another one, when all are used."""
HOUR_US: Final = 3_600_000_000
"""The time that a quota is for."""
SHARE: Final = 4
"""An address gets at most this part of the quota: one in four."""
ADDRESSES_MAX: Final = 4_096
"""Addresses whose bytes are counted within an hour. Beyond that, others get nothing until the next one."""

# --- what a node asks of relays ---------------------------------------------------------------------------------------

REST_US: Final = 60_000_000
"""How long a relay whose connection ended is not called again: most faults of a line are over by then."""
REFUSED_REST_US: Final = 3_600_000_000
"""How long one that is no relay, or is full, is not called again."""
RESTING_MAX: Final = 256
"""Relays remembered as such; the oldest is forgotten."""
