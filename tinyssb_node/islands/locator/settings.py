"""Every PARAMETER of the text, with its default; why so much is said in ``limits``."""

from dataclasses import dataclass, field

from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.values import NodeParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatorSettings:
    """How a locator behaves."""

    group: bytes
    """Group identifier: messages of others are dropped. ``labels.group_of_network`` makes it."""
    node: NodeParameters = field(default_factory=NodeParameters)
    """What we say of ourselves; the time since start is put in."""
    historic_probability: float = limits.HISTORIC_PROBABILITY
    historic_threshold: int = limits.HISTORIC_THRESHOLD
    historic_period_us: int = limits.HISTORIC_PERIOD_US
    unconfirmed_set_max: int = limits.UNCONFIRMED_SET_MAX
    confirmed_set_max: int = limits.CONFIRMED_SET_MAX
    confirmed_age_us: int = limits.CONFIRMED_AGE_US
    """For n = 1; it grows with sqrt(n)."""
    ping_period_us: int = limits.PING_PERIOD_US
    """For n = 1; it shrinks with sqrt(n)."""
    pong_peers: int = limits.PONG_PEERS
    enough: int = limits.ENOUGH
    advert_period_us: int = limits.ADVERT_PERIOD_US
    location_age_us: int = limits.LOCATION_AGE_US
    location_set_max: int = limits.LOCATION_SET_MAX
    buffer_count_max: int = limits.BUFFER_COUNT_MAX
    buffer_age_us: int = limits.BUFFER_AGE_US
    query_period_us: int = limits.QUERY_PERIOD_US
    """The first of a lookup, while no response time is known."""
    seek_queries_max: int = limits.SEEK_QUERIES_MAX
