"""Numbers of the gateway to other islands (docs/howto/gateways.md, decision 0054)."""

from typing import Final

PORT: Final = 8_789
"""Where a gateway listens unless told otherwise, by UDP and by TCP: next to a gateway of PZP."""
PEERS_FILE_MAX: Final = 262_144
"""Most bytes read of a file of the locator's peers: 8 networks with 320 peers each, all by IPv6, have 130,000."""
RESOLVE_US: Final = 30_000_000
"""How often names are looked up that were not found: as often as a link that is down is tried."""
RESOLVE_AGAIN_US: Final = 300_000_000
"""How often names are looked up that were: services for lines whose address changes let it be kept for 1 to 5 min."""

# --- looking for feeds ------------------------------------------------------------------------------------------------

LOOKUPS_MAX: Final = 8
"""Lookups at a time: the feeds of a full set, found at once, take seconds, and those that nobody has an hour."""
LOOKUP_DENIALS_MAX: Final = 3
"""Reports that nobody has a feed after which its lookup ends: with 20 % of nodes dead one of three would know."""
LOOKUP_SETTLE_US: Final = 2_000_000
"""How long a lookup goes on for further places once it found one: four queries, each by another way."""
LOOKUP_RETRY_US: Final = 2_000_000
"""First wait before a feed that was not found is looked for again, since a locator that has just begun knows nobody;
each is twice the one before."""
LOOKUP_RETRY_MAX_US: Final = 3_600_000_000
"""Longest: an hour. Who holds something of a feed is told of newer versions in between (old flags)."""
LOOKUP_AGAIN_US: Final = 86_400_000_000
"""Wait before a feed that was found, and is not connected, is looked for again: a day. With ten feeds it costs 1 kB an
hour, half of what a locator may say while nothing happens; news are told by old flags in between."""
LOOKUP_DOUBT_US: Final = 300_000_000
"""Least time between a lookup and the next one that is due only because nothing came of what somebody told unasked:
anybody can make that up. Who has news tells of them as often."""
REFRAIN_US: Final = 21_600_000_000
"""How long a feed for which there is no room, or that the user does not want, is not fetched: six hours."""
PLACES_MAX: Final = 16
"""Places remembered of one feed: as many as the locator keeps of a label."""
NEWS_PLACES_MAX: Final = 4
"""Places of one feed that were told unasked: who has news tells of one or few, and anybody can make them up."""
PLACES_AGE_US: Final = 43_200_000_000
"""How long a place is remembered: as long as in the locator."""

LOCATE_MAX_S: Final = 600
"""Most seconds that a request for places may last."""

# --- connections ------------------------------------------------------------------------------------------------------

CALLS_MAX: Final = 8
"""Connections to others at a time: one brings all feeds that both sides have."""
CALLS_LIVE_MAX: Final = 4
"""Of them, those that are kept up to hear of news at once, though nothing is known to be newer there."""
CALLERS_MAX: Final = 16
"""Others that are connected here at a time."""
SETTLED_US: Final = 10_000_000
"""A connection that ends sooner was none: whoever hangs up at once is not called again for an hour."""
PROMISE_US: Final = 20_000_000
"""How long a place that promised newer entries may give none before it is held to have lied."""
CALL_AGAIN_US: Final = 30_000_000
"""Least time between two calls to one place: what made a connection end is seldom gone sooner."""
REACHED_WAIT_US: Final = 600_000_000
"""How long after a start nobody may have reached us before we use relays, too: ten minutes, in which a young locator is
pinged by those that hear of it."""
RELAYED_CALLERS_MAX: Final = 8
"""Others that are connected here by relays at a time, beside those that call themselves: what two relays give one."""
OTHER_RELAYS_MAX: Final = 4
"""Peers that are asked for a node whose relay's address is of a family without a route here."""
RELAY_MARGIN_S: Final = 5.0
"""How much longer than a relay waits for the called node its answer may take to arrive."""
RELAY_MIB: Final = 16
"""MiB that a gateway passes on for others in an hour unless told otherwise: 130,000 entries, or 4.6 kB a second."""
OFFERS_MAX: Final = 1_024
"""Feeds that are offered: adverts of more cost more than what anybody finds by them."""

assert CALLS_LIVE_MAX < CALLS_MAX
