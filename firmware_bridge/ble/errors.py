"""Errors of Bluetooth: what was found, and what to do about it."""


class BluetoothError(Exception):
    """This machine's Bluetooth cannot do what is asked of it now."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")
        self.what = what
        """The finding, in plain words, without a full stop."""
        self.remedy = remedy
        """The next step, as a sentence."""


class LinkClosedError(OSError):
    """A link that was up has ended."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        """The cause, in plain words."""


def refused(reason: str) -> BluetoothError:
    """Return the error for a refusal of the Bluetooth service or the adapter, in its own words."""
    return BluetoothError(
        f"Bluetooth refused ({reason})", "If this stays so, type: sudo systemctl restart bluetooth"
    )
