"""Errors of radios on this computer: one sentence on what was found, and one on what to do."""

from firmware_bridge.libraries import install_command


class RadioError(Exception):
    """A radio cannot be used."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(f"{found}. {remedy}")
        self.found = found
        """The finding, in plain words, without a full stop."""
        self.remedy = remedy
        """The next step."""


class UnfitError(RadioError):
    """A board cannot do what is asked of it."""

    def __init__(self, board: str, what: str, remedy: str) -> None:
        super().__init__(f"The board '{board}' cannot do this: {what}", remedy)


def library_missing(package: str) -> RadioError:
    """Return the error for a Python *package* that is not installed."""
    return RadioError(
        f"The Python package {package} is not installed",
        f"Install what SPI radios need: {install_command('spi')}",
    )


def bus_missing(device: str, config_txt: tuple[str, ...]) -> RadioError:
    """Return the error for an SPI *device* that does not exist; the lines *config_txt* make it appear."""
    lines = " and ".join(f"'{line}'" for line in config_txt)
    return RadioError(
        f"{device} does not exist", f"Put {lines} into /boot/firmware/config.txt and restart the Pi."
    )


def access_denied(device: str, group: str) -> RadioError:
    """Return the error for a *device* that only members of *group* may open."""
    return RadioError(
        f"{device} is there, but this user may not open it",
        f"Add the user to the group {group}: sudo usermod -aG {group} NAME, then log in again.",
    )


def bus_failed(device: str, error: OSError) -> RadioError:
    """Return the error for an SPI *device* that fails while it is in use."""
    return RadioError(
        f"{device} fails: {error.strerror or error}",
        "Another program may have changed it; the node tries again by itself.",
    )


def radio_hangs(reason: str) -> RadioError:
    """Return the error for a chip that does not respond."""
    return RadioError(
        f"The radio hangs ({reason})",
        "The node tries again by itself; if this goes on, disconnect the board's power for a moment.",
    )
