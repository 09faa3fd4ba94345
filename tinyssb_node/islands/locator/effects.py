"""What a locator asks its shell to do or to know."""

from dataclasses import dataclass

from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.labels import Label
from tinyssb_node.islands.locator.values import Location


@dataclass(frozen=True, slots=True)
class SendDatagram:
    """Send *datagram* to *to*."""

    to: Peer
    datagram: bytes


@dataclass(frozen=True, slots=True)
class ResourceFound:
    """A report told where a resource that is sought is. Others may come, with the same locations too."""

    label: Label
    locations: tuple[Location, ...]
    """At least one; none that failed lately. The newest and most complete first."""
    elapsed_us: int
    """Since the query that brought it."""
    exact: bool = False
    """True if the report is by a node that has this label itself."""


@dataclass(frozen=True, slots=True)
class ResourceNotFound:
    """A report told that a resource seems not to exist: not definitive, others may still find it."""

    label: Label
    elapsed_us: int


@dataclass(frozen=True, slots=True)
class LookupEnded:
    """A lookup is over, since it asked as often as it may."""

    label: Label
    found: bool
    """True if any location was found."""


@dataclass(frozen=True, slots=True)
class NewerVersionReported:
    """Somebody tells that a resource of ours has newer versions elsewhere. Anybody could have made it up."""

    label: Label
    locations: tuple[Location, ...]
    """Of the newer versions, none that failed lately."""


Effect = SendDatagram | ResourceFound | ResourceNotFound | LookupEnded | NewerVersionReported
