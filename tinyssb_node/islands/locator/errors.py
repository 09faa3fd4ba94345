"""What datagrams get wrong, one class per broken rule, and what a caller can ask too much of."""

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
        super().__init__(f"a locator's message of the group {found.hex()}, which is not ours")
        self.found = found


class MessageTypeError(PeerError):
    """A message of a type that there is not."""

    def __init__(self, found: int) -> None:
        super().__init__(f"locators have messages of types 1 to 7, and not {found}")
        self.found = found


class DestinationError(PeerError):
    """A report whose destination is neither direct nor indirect."""

    def __init__(self, found: int) -> None:
        super().__init__(f"a report's destination cannot be marked {found}")
        self.found = found


class TooManyLookupsError(LocalError):
    """More lookups at a time than are done."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} labels are sought already. This one was not begun; stop another, or try again later"
        )
        self.most = most


class TooManyResourcesError(LocalError):
    """More local resources than are advertised."""

    def __init__(self, most: int) -> None:
        super().__init__(
            f"{most} resources are offered already, the most there can be. This one was not; withdraw one"
        )
        self.most = most
