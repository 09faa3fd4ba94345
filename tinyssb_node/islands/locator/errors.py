"""Errors of datagrams, one class per broken rule (drops are counted by its name), and of callers."""

from tinyssb_node.errors import LocalError, PeerError


class DatagramSizeError(PeerError):
    """A datagram longer than any message."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"a locator's message has at most {most} bytes, not {size}")
        self.size = size
        self.most = most


class TruncatedError(PeerError):
    """A message ends where more has to be."""

    def __init__(self, what: str) -> None:
        super().__init__(f"a locator's message ends within {what}")
        self.what = what


class ForeignGroupError(PeerError):
    """A message of another group."""

    def __init__(self, found: bytes) -> None:
        super().__init__(f"a locator's message of the foreign group {found.hex()}")
        self.found = found


class MessageTypeError(PeerError):
    """A message of an unknown type."""

    def __init__(self, found: int) -> None:
        super().__init__(f"a locator's message has a type from 1 to 7, not {found}")
        self.found = found


class DestinationError(PeerError):
    """A report whose destination is neither direct nor indirect."""

    def __init__(self, found: int) -> None:
        super().__init__(f"a report's destination cannot be marked {found}")
        self.found = found


class TooManyLookupsError(LocalError):
    """More lookups at a time than are allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} lookups are running, the most there can be. This one was not begun. Try again later"
        )
        self.most = most


class TooManyResourcesError(LocalError):
    """More local resources than are allowed."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} resources are offered, the most there can be. This one was not added. Withdraw another first"
        )
        self.most = most
