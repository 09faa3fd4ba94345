"""Bounds and defaults of simulated networks of locators (`tinyssb sim dht`)."""

from typing import Final

ADDRESS_FIRST: Final = 0x14_00_00_00
"""The first node's address: 20.0.0.0, a public one."""
ADDRESS_STEP: Final = 7_919
"""From one node's address to the next: 10,000 of them stay below 25.0.0.0."""
LIE_NET: Final = 45
"""First byte of the addresses that liars make up: public, and nobody's here."""
LIES: Final = 4
"""Places that a liar names in an answer: as many as are enough for those who ask."""
KNOWN: Final = 3
"""Nodes that a new one was told of by people."""
DELAY_MIN_US: Final = 10_000
"""Shortest time of a datagram on its way: within a country."""
DELAY_US: Final = 50_000
"""Mean of the additional delay, exponentially distributed: half of all paths take less than 45 ms, one in a
hundred 240 ms."""
HEADERS_SIZE: Final = 28
"""Bytes that UDP and IPv4 put before a datagram."""
NAT_US: Final = 30_000_000
"""How long a NAT lets answers in: the shortest time met in practice for UDP (RFC 4787 wants two minutes)."""
LOOKUP_GAP_US: Final = 1_000_000
"""Between two lookups: some go on at the same time."""
LOOKUP_MAX_US: Final = 120_000_000
"""Longest lookup: queries end before."""
PROGRESS_EVENTS: Final = 5_000
"""Events between two words of progress."""
NODES_MIN: Final = 4
"""Fewest nodes: with a fifth of them dead, somebody seeks and somebody is found."""
NODES_MAX: Final = 30_000
"""Most: 1 MB each, and the addresses that there are."""
IDLE_H: Final = 2.0
"""Hours over which idle traffic is measured: half the longest period of what nodes repeat."""
CHURN_MAX: Final = 10.0
"""Nodes replaced in an hour, of all: one that lives six minutes is of no use to anybody."""
