"""Numbers of the locator, each with its reason. "Text" is the Tangle specification 0.3.0 (2003).

PARAMETERs of the text are defaults of ``LocatorSettings``. Most of them bound traffic: an idle node with ten feeds in a
network of a thousand sends at most 2 kB an hour.
"""

from typing import Final

# --- bytes ---------------------------------------------------------------------------------------------------------

LABEL_SIZE: Final = 20
"""Bytes of a label: a truncated SHA-256, as large as every other one in this network. Collisions are infeasible."""
LABEL_BITS: Final = 8 * LABEL_SIZE
"""Bit positions of a label, and so sets and buffers."""
GROUP_SIZE: Final = 8
"""Bytes of the group identifier that networks get from their key; the text reserves 0 to 4."""
DATAGRAM_MAX: Final = 1_200
"""Most bytes of a datagram, sent or read: what every path carries unfragmented (RFC 9000 14)."""
IPV4_SIZE: Final = 4
"""Bytes of a node address of IPv4 (text, "Message formats")."""
IPV6_SIZE: Final = 16
"""Bytes of a node address of IPv6 (text)."""
PORT_SIZE: Final = 2
"""Bytes of a port of UDP or TCP (text)."""
RELAY_HANDLE_SIZE: Final = 8
"""Bytes of a handle, by which a relay knows a node that cannot be reached. Behind an address of IPv4 or IPv6 they make
a node address of another length, which gateways that know no relays parse and do not use."""
RELAYS_OF_ONE_MAX: Final = 2
"""Relays that a node is advertised at: where a fifth of all nodes just died, 1 of 25 nodes has lost both."""
TIMESTAMP_SIZE: Final = 5
"""Bytes of a resource's timestamp together with its old flag (text)."""
TIMESTAMP_MAX: Final = 2**39 - 1
"""Largest timestamp: the flag has the first of 40 bits."""
COMPLETENESS_MAX: Final = 255
"""Completeness of a whole resource (text)."""
USF_SIZE: Final = 2
"""Bytes of an unsigned short float (text)."""
USF_MAX: Final = 511 << 254
"""Largest unsigned short float."""
COUNT_MAX: Final = 255
"""Most items of a list, or bytes of an address: the count has one byte (text)."""
COOKIE_TIME_SIZE: Final = 4
"""Bytes of the time in our cookies: milliseconds, which wrap around after 49 days."""
COOKIE_MAC_SIZE: Final = 8
"""Bytes of the keyed hash in our cookies: a guess succeeds with 1 in 10**19, and only for seconds."""
COOKIE_SIZE: Final = COOKIE_TIME_SIZE + COOKIE_MAC_SIZE
"""Bytes of a cookie of ours. A ping and its two pongs carry six of them: four bytes more would cost 24."""

# --- peers (PARAMETERs) --------------------------------------------------------------------------------------------

HISTORIC_PROBABILITY: Final = 0.05
"""p of the historic list: it then has 72 peers after a month and 119 after a year, of all ages."""
HISTORIC_THRESHOLD: Final = 32
"""r: the number of peers that are kept before any is evicted."""
HISTORIC_MAX: Final = 256
"""Most peers of the list; by hourly additions it would reach them after a thousand years."""
HISTORIC_PERIOD_US: Final = 3_600_000_000
"""How often a confirmed peer is added to the list: every hour, a few times in the life of a confirmed one."""
RECENT_MAX: Final = 64
"""Confirmed peers that are saved to stable storage: as many as there are in a network of thousands."""
UNCONFIRMED_SET_MAX: Final = 16
"""Peers of one set: more than are pinged before new ones arrive."""
CONFIRMED_SET_MAX: Final = 16
"""Peers of one set: choosing one looks at all of them, and a node refused by three has others."""
PING_PERIOD_US: Final = 1_800_000_000
"""How often an unconfirmed peer is pinged, times 1/sqrt(n) as the text suggests: at n = 9, six an hour, of 174 bytes
with both pongs."""
PING_FIRST_US: Final = 500_000
"""Shortest time between pings: of a node that just started."""
CONFIRMED_AGE_US: Final = 5_400_000_000
"""Age limit of confirmed peers, times sqrt(n): three ping periods; with those that pinged us, six peers a set."""
CHECK_AFTER_US: Final = 900_000_000
"""A peer confirmed longer ago is pinged when a query or report is sent to it. In an idle network none is."""
CHECK_PINGS: Final = 3
"""Pings without answer after which a confirmed peer is removed: with 5 % loss, 1 in 1,000 wrongly."""
PONG_PEERS: Final = 2
"""Other peers named in a pong: the text's recommendation."""
PONG_PEERS_TAKEN: Final = 8
"""Peers accepted from one pong: no node fills our sets by one message (eclipse)."""
PONG_WAIT_US: Final = 10_000_000
"""Age of a cookie that still validates a pong: the slowest path takes 2 s."""

# --- the map (PARAMETERs) ------------------------------------------------------------------------------------------

ENOUGH: Final = 4
"""Locations that are enough: with a fifth of them dead, 1 in 600 lookups finds none alive."""
ADVERT_PERIOD_US: Final = 14_400_000_000
"""How often each local resource is advertised: four hours. An advert goes five hops of 37 bytes in a network of a
thousand, so ten feeds cost 0.5 kB an hour."""
ADVERT_FIRST_US: Final = 15_000_000
"""Time between the first two adverts of a resource. It doubles each time, up to ADVERT_PERIOD_US, since the first ones
go to the few peers that are known early."""
ADVERT_ALONE_US: Final = 30_000_000
"""Time until the next try while no peer is confirmed and so nothing is sent."""
ADVERT_NEWS_US: Final = 300_000_000
"""Time until a changed resource is advertised: a feed that grows all the time costs 12 adverts an hour."""
LOCATION_AGE_US: Final = 43_200_000_000
"""Age at which a location expires: three advert periods, so that two may be lost."""
LOCATION_SET_MAX: Final = 16
"""Locations of one label: four times enough; they fit in one report."""
BUFFER_COUNT_MAX: Final = 24
"""Adverts of a buffer that is sent: with IPv6 they take 1,190 bytes."""
BUFFER_AGE_US: Final = 60_000_000
"""Longest time an advert is buffered: ten feeds advertised together leave in one post."""

# --- lookups -------------------------------------------------------------------------------------------------------

QUERY_PERIOD_US: Final = 1_000_000
"""Time between the first two queries of a lookup while no response time is known."""
QUERY_PERIOD_MIN_US: Final = 250_000
"""Shortest such time: no packet crosses the world and comes back in less."""
QUERY_PERIOD_MAX_US: Final = 10_000_000
"""Longest such time."""
QUERY_GROWTH: Final = 1.15
"""Factor by which each time is longer."""
QUERY_WAIT_US: Final = 60_000_000
"""Age of a cookie that still validates a report."""
SEEK_QUERIES_MAX: Final = 20
"""Queries of one lookup, in a minute and a half. Each takes another route. Where a fifth of all nodes just died, 1 in 4
arrives with its answer, and all fail in 1 of 300 lookups."""
SEEKS_MAX: Final = 256
"""Lookups at a time: a gateway runs eight."""

# --- what strangers can cost -----------------------------------------------------------------------------------------

AMPLIFICATION: Final = 3
"""An address gets at most so many times the bytes in answers that came from it (RFC 9000 8.1)."""
QUERY_SIZE: Final = 128
"""Bytes of a query, with padding; shorter ones are dropped (RFC 9000 14.1). So its answers may have 384 bytes: 19
locations of IPv4, 11 of IPv6; ENOUGH are 4."""
CREDIT_MAX: Final = 8_192
"""Bytes of answers that an address saves up at most: of seven full datagrams, as a gateway with many feeds needs."""
CREDITS_MAX: Final = 4_096
"""Addresses whose bytes are counted; the one that is silent for longest is evicted, and gets nothing until it sends."""
CREDIT_AGE_US: Final = 21_600_000_000
"""How long they are counted: six hours, a little longer than confirmed peers live in a network of thousands."""
RELAYS_MAX: Final = 1_024
"""Forwarded queries whose answers are awaited: seventeen a second."""
PROVED_MAX: Final = 1_024
"""Addresses remembered that answered a cookie lately; the oldest is evicted."""
LOCATIONS_MAX: Final = 16_384
"""Locations in the map, of all labels: 14 MB; in a network of a thousand with ten feeds each there are 400. The text
has no limit, but strangers would fill memory."""
LOCATIONS_UNPROVED_MAX: Final = 4_096
"""Those of them reported by addresses that never answered a cookie."""
RESOURCES_MAX: Final = 4_096
"""Local resources: four times the feeds of the largest gateway that is simulated."""
PLACE_SHUN_US: Final = 3_600_000_000
"""How long a failed location is not reported to the layer above: one failed connection an hour."""
SHUNNED_MAX: Final = 1_024
"""Locations remembered as failed; the oldest is evicted."""
NEWER_GAP_US: Final = 10_000_000
"""Least time between two reports of newer versions of one resource to the layer above: they can be made up."""
TIDY_US: Final = 10_000_000
"""How often expired state is removed: ages are hours."""
RTT_FLOOR_US: Final = 20_000
"""Added to round-trip times when they weigh peers: too much skewing impairs fault tolerance (text)."""

assert COOKIE_SIZE <= COUNT_MAX
assert not {IPV4_SIZE, IPV6_SIZE} & {IPV4_SIZE + RELAY_HANDLE_SIZE, IPV6_SIZE + RELAY_HANDLE_SIZE}
assert BUFFER_COUNT_MAX <= COUNT_MAX
assert LOCATIONS_UNPROVED_MAX < LOCATIONS_MAX
