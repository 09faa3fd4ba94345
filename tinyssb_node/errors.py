"""Errors say whose fault it is. One class per broken rule, carrying its data; expected outcomes are return values."""


class TinyssbError(Exception):
    """Anything this project raises on purpose."""


class PeerError(TinyssbError):
    """Somebody else's fault: drop what they sent, count it, go on."""


class LocalError(TinyssbError):
    """Our fault, or our machine's: loud."""


class StoreFullError(LocalError):
    """The disk is full: nothing can be signed or stored until there is room; reading goes on."""


class StoreFailedError(LocalError):
    """The disk or file system refused an operation; the message is the system's."""
