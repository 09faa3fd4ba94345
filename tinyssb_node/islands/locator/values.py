"""Vocabulary of a locator: labels, locations and parameters; its settings, effects and counters."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, NewType

from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer

Label = NewType("Label", bytes)
"""LABEL_SIZE bytes."""
_GROUP: Final = b"tinyssb-locator-1\0"


def label_of_address(node: bytes) -> Label:
    """Return the label of the node with this address. The text leaves the one-way function open."""
    return Label(sha256(node).digest()[: limits.LABEL_SIZE])


def label_of_feed(feed: FeedId) -> Label:
    """Return the label of a feed, under which nodes that store it are found."""
    return Label(sha256(feed).digest()[: limits.LABEL_SIZE])


def group_of_network(network: Network) -> bytes:
    """Return the group identifier of a network's locators. Messages of other groups are dropped."""
    return sha256(_GROUP + network.key).digest()[: limits.GROUP_SIZE]


def position(mine: Label, other: Label) -> int | None:
    """Return the first bit in which two labels differ, from 0 at the top; None if they are equal."""
    differing = int.from_bytes(mine, "big") ^ int.from_bytes(other, "big")
    return limits.LABEL_BITS - differing.bit_length() if differing else None


@dataclass(frozen=True, slots=True)
class ResourceParameters:
    """Version and completeness of a resource at one location."""

    timestamp: int
    """Its version, 39 bits. Of a feed: the number of entries stored there."""
    completeness: int = 255
    """At least the first N/255 of it are stored. Of a feed: of its side chains."""
    old: bool = False
    """True if a newer version is suspected elsewhere."""


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a resource, and what of it is there."""

    place: ContactAddress
    parameters: ResourceParameters


@dataclass(frozen=True, slots=True)
class Advert:
    """A label and a location on their way through the hash table."""

    label: Label
    location: Location


@dataclass(frozen=True, slots=True)
class NodeParameters:
    """Properties that a node states of itself."""

    uptime_s: int = 0
    bandwidth_bps: int = 0
    """Bits per second between it and the core of the network."""
    free_bytes: int = 0
    """Free storage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatorSettings:
    """Every PARAMETER of the text, with its default. The reasons are in ``limits``."""

    group: bytes
    """Group identifier: messages of others are dropped. ``group_of_network`` makes it."""
    node: NodeParameters = field(default_factory=NodeParameters)
    """Parameters that this node states of itself; the time since start is filled in."""
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


@dataclass(frozen=True, slots=True)
class SendDatagram:
    """A datagram to be sent."""

    to: Peer
    datagram: bytes


@dataclass(frozen=True, slots=True)
class ResourceFound:
    """A report of where a sought resource is. More may follow, also with the same locations."""

    label: Label
    locations: tuple[Location, ...]
    """At least one; none that failed lately. The newest and most complete first."""
    elapsed_us: int
    """Since the query that brought it."""
    exact: bool = False
    """True if the reporting node itself has this label."""


@dataclass(frozen=True, slots=True)
class ResourceNotFound:
    """A report that a resource seems not to exist. It is not definitive: others may still find it."""

    label: Label
    elapsed_us: int


@dataclass(frozen=True, slots=True)
class LookupEnded:
    """The end of a lookup that has sent all its queries."""

    label: Label
    found: bool
    """True if any location was found."""


@dataclass(frozen=True, slots=True)
class NewerVersionReported:
    """A peer's claim that a resource of ours has newer versions elsewhere. It may be made up."""

    label: Label
    locations: tuple[Location, ...]
    """Locations of the newer versions, none that failed lately."""


Effect = SendDatagram | ResourceFound | ResourceNotFound | LookupEnded | NewerVersionReported


@dataclass(frozen=True, slots=True)
class LocatorCounters:
    """Counters of one locator since it began, and sizes of its tables now."""

    historic: int
    unconfirmed: int
    confirmed: int
    labels: int
    """Resources in the location map."""
    locations: int
    """Locations of all of them."""
    resources: int
    """Local resources."""
    seeks: int
    """Running lookups."""
    reached: bool
    """True if a node pinged us that we had not contacted: we can be reached."""
    received: Mapping[str, int]
    """Messages by type: ``ping``, ``pong_one``, ``pong_two``, ``report``, ``report_cookie``, ``post``, ``query``."""
    sent: Mapping[str, int]
    received_bytes: int
    """All bytes received, dropped or not, without the headers of UDP and below."""
    sent_bytes: int
    drops: Mapping[str, int]
    """Messages that were dropped, by reason: the error's class without ``Error``, or a word."""
