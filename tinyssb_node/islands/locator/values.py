"""What messages are about: locations of resources, and what nodes say of themselves."""

from dataclasses import dataclass

from tinyssb_node.islands.locator.addresses import ContactAddress
from tinyssb_node.islands.locator.labels import Label


@dataclass(frozen=True, slots=True)
class ResourceParameters:
    """How new, and how whole, a resource is somewhere."""

    timestamp: int
    """Which version; 39 bits. Of a feed: how many of its entries are held."""
    completeness: int = 255
    """At least the first N/255 of it are held. Of a feed: of its side chains."""
    old: bool = False
    """True if somebody is thought to have a newer version."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a resource is."""

    place: ContactAddress
    parameters: ResourceParameters


@dataclass(frozen=True, slots=True)
class Advert:
    """Says that a resource is somewhere."""

    label: Label
    location: Location


@dataclass(frozen=True, slots=True)
class NodeParameters:
    """What a node says of itself."""

    uptime_s: int = 0
    bandwidth_bps: int = 0
    """Bits per second between it and the core of the network."""
    free_bytes: int = 0
    """Storage that is free."""
