"""Every number of the locator, each with its reason. "Text" is the Tangle specification 0.3.0 (2003).

What the text calls a PARAMETER is here as the default of a field of ``Settings``. Traffic is what most of them are
about: a node with ten feeds in a network of a thousand says at most 2 kB an hour while nothing happens.
"""

from typing import Final

# --- bytes ---------------------------------------------------------------------------------------------------------

LABEL_SIZE: Final = 20
"""Bytes of a label: a truncated SHA-256, as large as every other one in this network. Nobody finds two alike."""
LABEL_BITS: Final = 8 * LABEL_SIZE
"""Bit positions of a label, and so sets and buffers."""
GROUP_SIZE: Final = 8
"""Bytes of the group identifier that networks get from their key; the text reserves 0 to 4."""
GROUP_MIN_SIZE: Final = 5
"""Least bytes of a group identifier for private use (text, "Group identifiers")."""
DATAGRAM_MAX: Final = 1_200
"""Most bytes of a datagram, sent or read: what every path carries unfragmented (RFC 9000 14)."""
IPV4_SIZE: Final = 4
"""Bytes of a node address of IPv4 (text, "Message formats")."""
IPV6_SIZE: Final = 16
"""Bytes of a node address of IPv6 (text)."""
PORT_SIZE: Final = 2
"""Bytes of a port of UDP or TCP (text)."""
TIMESTAMP_SIZE: Final = 5
"""Bytes of a resource's timestamp together with its old flag (text)."""
TIMESTAMP_MAX: Final = 2**39 - 1
"""Largest timestamp: the flag has the first of 40 bits."""
COMPLETENESS_MAX: Final = 255
"""Completeness of what is whole (text)."""
LOCATION_AROUND: Final = 3 + TIMESTAMP_SIZE + 1
"""Bytes of a location beside its three addresses: their lengths, timestamp and completeness."""
USF_SIZE: Final = 2
"""Bytes of an unsigned short float (text)."""
USF_MAX: Final = 511 << 254
"""Largest number that one can say."""
COUNT_MAX: Final = 255
"""Most items of a list, or bytes of an address: their number has one byte (text)."""
DESTINATION_SIZE_MAX: Final = 1 + 1 + IPV6_SIZE + 1 + PORT_SIZE
"""Bytes that an indirect report has more than a direct one, at most."""
COOKIE_TIME_SIZE: Final = 4
"""Bytes of the time in our cookies: milliseconds, which come round after 49 days."""
COOKIE_MAC_SIZE: Final = 8
"""Bytes of the keyed hash in our cookies: who guesses has a chance of 1 in 10**19 each time, for seconds."""
COOKIE_SIZE: Final = COOKIE_TIME_SIZE + COOKIE_MAC_SIZE
"""Bytes of a cookie of ours. Six of them are in a ping and the two pongs it brings: four bytes more cost 24."""
SECRET_SIZE: Final = 32
"""Bytes of the key of cookies."""

# --- peers (PARAMETERs) --------------------------------------------------------------------------------------------

HISTORIC_PROBABILITY: Final = 0.05
"""p of the historic list: it then has 72 peers after a month and 119 after a year, and all ages are there."""
HISTORIC_THRESHOLD: Final = 32
"""r: so many peers are kept before any goes."""
HISTORIC_MAX: Final = 256
"""Peers that the list never exceeds; by hourly additions it would after a thousand years."""
HISTORIC_PERIOD_US: Final = 3_600_000_000
"""How often a confirmed peer is remembered: an hour, a few times in the life of a confirmed one."""
RECENT_MAX: Final = 64
"""Confirmed peers that go to stable storage: as many as there are in a network of thousands."""
UNCONFIRMED_SET_MAX: Final = 16
"""Peers of one set: more than are pinged before others are heard of."""
CONFIRMED_SET_MAX: Final = 16
"""Peers of one set: choosing one looks at all of them, and who is refused by three has others."""
PING_PERIOD_US: Final = 1_800_000_000
"""How often an unconfirmed peer is pinged, times 1/sqrt(n) as the text suggests: at n = 9, six an hour, of 174 bytes
with both pongs."""
PING_FIRST_US: Final = 500_000
"""Shortest time between pings: of who just started."""
PING_YOUTH: Final = 12
"""A node that began t ago pings every t/12, until that is longer than PING_PERIOD_US: 12 pings while its age grows by
e, 80 in the first half hour."""
PING_LONELY_US: Final = 60_000_000
"""Longest time between pings of who has no confirmed peer: 2 kB an hour, and a minute until it is there again."""
CONFIRMED_AGE_US: Final = 5_400_000_000
"""Age limit of confirmed peers, times sqrt(n): three ping periods, with those who pinged us six peers a set."""
CHECK_AFTER_US: Final = 900_000_000
"""Who was confirmed longer ago is pinged when a query or report is sent to it. In an idle network nobody is."""
CHECK_PINGS: Final = 3
"""Pings without answer after which a confirmed peer is given up: with 5 % loss, 1 in 1,000 for nothing."""
CHECK_GAP_US: Final = 1_000_000
"""Between them: answers from the other side of the world take a third of it."""
PONG_PEERS: Final = 2
"""Other peers named in a pong: the text's recommendation."""
PONG_PEERS_TAKEN: Final = 8
"""Of those named in a pong: nobody fills our sets by one message."""
PONG_WAIT_US: Final = 10_000_000
"""Age of a cookie that still validates a pong: the slowest path takes 2 s."""

# --- the map (PARAMETERs) ------------------------------------------------------------------------------------------

ENOUGH: Final = 4
"""Locations that are enough: with a fifth of them dead, 1 in 600 has none that lives."""
ADVERT_PERIOD_US: Final = 14_400_000_000
"""How often each local resource is advertised: four hours. An advert goes five hops of 37 bytes in a network of a
thousand, so ten feeds cost 0.5 kB an hour."""
ADVERT_FIRST_US: Final = 15_000_000
"""Between the first two adverts of a resource; each time is twice the one before, up to ADVERT_PERIOD_US, since the
first ones are given to the few peers that are known early."""
ADVERT_ALONE_US: Final = 30_000_000
"""Time until the next try while no peer is confirmed: nothing is sent."""
ADVERT_NEWS_US: Final = 300_000_000
"""A resource that changed is advertised so soon: a feed that grows all the time costs 12 adverts an hour."""
LOCATION_AGE_US: Final = 43_200_000_000
"""Age at which a location is forgotten: three advert periods, so that two may be lost."""
LOCATION_SET_MAX: Final = 16
"""Locations of one label: four times enough; they fit in one report."""
BUFFER_COUNT_MAX: Final = 24
"""Adverts of a buffer that is sent: with IPv6 they take 1,190 bytes."""
BUFFER_AGE_US: Final = 60_000_000
"""Longest time an advert waits for others to go with: ten feeds advertised together leave in one post."""

# --- lookups -------------------------------------------------------------------------------------------------------

QUERY_PERIOD_US: Final = 1_000_000
"""First time between two queries of a lookup, while no response time is known."""
QUERY_PERIOD_MIN_US: Final = 250_000
"""Shortest: nothing crosses the world and comes back in less."""
QUERY_PERIOD_MAX_US: Final = 10_000_000
"""Longest."""
QUERY_GROWTH: Final = 1.15
"""How much longer each time is."""
QUERY_RESPONSES: Final = 2
"""The first is so many average response times."""
QUERY_WAIT_US: Final = 60_000_000
"""Age of a cookie that still validates a report."""
SEEK_QUERIES_MAX: Final = 20
"""Queries of one lookup, in a minute and a half. Each goes another way; where a fifth of all nodes just died, 1 in 4
arrives and its answer too, and all fail with 1 in 300."""
SEEKS_MAX: Final = 256
"""Lookups at a time: a gateway does them one after the other."""

# --- what strangers can cost -----------------------------------------------------------------------------------------

AMPLIFICATION: Final = 3
"""Replies to an address that never answered have at most so many times the request's bytes (RFC 9000 8.1)."""
PROVED_MAX: Final = 1_024
"""Addresses remembered that answered a cookie lately; the one that did so longest ago goes."""
PROVED_US: Final = 21_600_000_000
"""How long that counts: a little longer than confirmed peers live in a network of thousands."""
LOCATIONS_MAX: Final = 16_384
"""Locations in the map, of all labels: 14 MB; in a network of a thousand with ten feeds each there are 400. The text
wants no limit, and strangers would fill memory."""
LOCATIONS_UNPROVED_MAX: Final = 4_096
"""Those of them told by addresses that never answered."""
RESOURCES_MAX: Final = 4_096
"""Local resources: four times the feeds of the largest gateway that is simulated."""
RELAYS_MAX: Final = 256
"""Lookups of nodes that cannot be reached whose answers we pass on, at a time."""
FORWARD_BYTES: Final = 4_096
"""Bytes of reports passed on to one address that never answered, in FORWARD_WINDOW_US: some fifty reports."""
FORWARD_WINDOW_US: Final = 60_000_000
"""In which they are counted."""
FORWARD_PLACES_MAX: Final = 1_024
"""Addresses that are counted at a time; when there are more, nothing is passed on to further ones."""
PLACE_SHUN_US: Final = 3_600_000_000
"""How long a location that failed is not handed up: one failed connection an hour."""
SHUNNED_MAX: Final = 1_024
"""Locations remembered as failed; the oldest goes."""
NEWER_GAP_US: Final = 10_000_000
"""Least time between two reports of newer versions of one resource that are handed up: anybody can make them up."""
TIDY_US: Final = 10_000_000
"""How often what is too old is removed: ages are hours."""
RTT_FLOOR_US: Final = 20_000
"""Added to round-trip times where peers are weighed by them: too much skewing impairs fault tolerance (text)."""

assert COOKIE_SIZE <= COUNT_MAX
assert BUFFER_COUNT_MAX <= COUNT_MAX
assert LOCATIONS_UNPROVED_MAX < LOCATIONS_MAX
