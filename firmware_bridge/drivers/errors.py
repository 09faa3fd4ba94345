"""What keeps a radio from working: each error is one sentence on what was found and one on what to do."""


class RadioError(Exception):
    """A radio cannot be used."""

    def __init__(self, found: str, remedy: str) -> None:
        super().__init__(f"{found}. {remedy}")
        self.found = found
        """What was found, in plain words."""
        self.remedy = remedy
        """What to do next."""


class LibraryMissingError(RadioError):
    """A Python package for this kind of radio is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(
            f"The Python package {package} is not installed",
            "Install what SPI radios need: pip install 'tinyssb-node[spi]'.",
        )
        self.package = package
        """Its name."""


class BusMissingError(RadioError):
    """There is no such SPI device."""

    def __init__(self, device: str, config_txt: tuple[str, ...]) -> None:
        lines = " and ".join(f"'{line}'" for line in config_txt)
        super().__init__(
            f"{device} does not exist",
            f"Put {lines} into /boot/firmware/config.txt and restart the Pi.",
        )
        self.device = device
        """Its path."""


class ForbiddenError(RadioError):
    """This user may not use a device."""

    def __init__(self, device: str, group: str) -> None:
        super().__init__(
            f"{device} is there, but this user may not open it",
            f"Add the user to the group {group}: sudo usermod -aG {group} NAME, then log in anew.",
        )
        self.device = device
        """Its path."""
        self.group = group
        """Who may."""


class GpioMissingError(RadioError):
    """No GPIO chip has the header's lines."""

    def __init__(self, looked_at: tuple[str, ...]) -> None:
        seen = ", ".join(looked_at) or "none at all"
        super().__init__(
            f"No GPIO chip of a Raspberry Pi was found, only {seen}",
            "Board profiles are for a Raspberry Pi: run this on one.",
        )
        self.looked_at = looked_at
        """Labels of the chips there are."""


class LineTakenError(RadioError):
    """Some other program or driver uses one of our lines."""

    def __init__(self, lines: dict[str, int], reason: str) -> None:
        numbers = ", ".join(f"GPIO {number} ({name})" for name, number in lines.items())
        super().__init__(
            f"One of the lines {numbers} is used by something else ({reason})",
            "Stop the other program, or remove the overlay that takes it; `gpioinfo` says which.",
        )
        self.lines = lines
        """What we wanted."""
        self.reason = reason
        """The system's words."""


class BusFailedError(RadioError):
    """The SPI bus fails under us."""

    def __init__(self, device: str, reason: str) -> None:
        super().__init__(
            f"{device} fails: {reason}", "Another program may have changed it; it is tried again by itself."
        )
        self.device = device
        """Its path."""
        self.reason = reason
        """The system's words."""


class ChipSilentError(RadioError):
    """Nothing answers where the chip should be."""

    def __init__(self, board: str, chip: str, found: int) -> None:
        super().__init__(
            f"No {chip} answers: every bit reads {found & 1}",
            f"Push the board fully onto the header, and make sure that it is a '{board}' and that nothing else "
            "drives its chip select.",
        )
        self.board = board
        """Which profile was used."""
        self.chip = chip
        """Which chip it names."""
        self.value = found
        """0x00 or 0xFF."""


class OtherChipError(RadioError):
    """Something answers, but not as this chip does."""

    def __init__(self, board: str, chip: str, what: str, found: int, expected: int) -> None:
        hint = " That is a SX1272." if found == 0x22 and expected == 0x12 else ""
        super().__init__(
            f"What answers is no {chip}: its {what} is 0x{found:02X}, not 0x{expected:02X}.{hint}".rstrip(
                "."
            ),
            f"Name the board that is there; '{board}' has a {chip}.",
        )
        self.board = board
        """Which profile was used."""
        self.chip = chip
        """Which chip it names."""
        self.value = found
        """What was read."""


class ClockError(RadioError):
    """The chip's clock does not start."""

    def __init__(self, board: str, tcxo_mv: int, errors: int) -> None:
        guess = (
            f"its TCXO does not run at {tcxo_mv} mV"
            if tcxo_mv
            else "it may have a TCXO, and the profile none"
        )
        super().__init__(
            f"The chip answers, but its clock does not start (device errors 0x{errors:04X}): {guess}",
            f"Check that the board is a '{board}', and radio.tcxo_mv in its profile.",
        )
        self.board = board
        """Which profile was used."""
        self.errors = errors
        """Its device errors."""


class StuckError(RadioError):
    """The chip stopped answering, and resets did not help."""

    def __init__(self, reason: str, resets: int) -> None:
        super().__init__(
            f"The radio hangs ({reason}), and {resets} resets in a row did not help",
            "It is tried again by itself; if this goes on, take the board's supply away for a moment.",
        )
        self.reason = reason
        """What was seen."""
        self.resets = resets
        """How often it was reset."""


class UnfitError(RadioError):
    """A board that cannot do what is asked of it."""

    def __init__(self, board: str, what: str, remedy: str) -> None:
        super().__init__(f"The board '{board}' cannot do this: {what}", remedy)
        self.board = board
        """Which profile was used."""
