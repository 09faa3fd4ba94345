"""What can be wrong with a chip. Runs in MicroPython, too."""


class ChipError(Exception):
    """A chip does not do what its data sheet says."""


class WrongChipError(ChipError):
    """What answers on the bus is not the chip that was expected, or nothing does."""

    def __init__(self, chip: str, what: str, found: int, expected: int) -> None:
        super().__init__(f"{chip}: {what} is 0x{found:02X}, expected 0x{expected:02X}")
        self.chip = chip
        """The chip looked for."""
        self.what = what
        """The register that tells."""
        self.found = found
        """What it holds. All ones or all zeros: nobody answers."""
        self.expected = expected
        """What it should hold."""


class ChipBusyError(ChipError):
    """A chip kept its BUSY line high for longer than any command takes."""

    def __init__(self, chip: str, waited_us: int) -> None:
        super().__init__(f"{chip}: busy for more than {waited_us} us")
        self.chip = chip
        """Which chip."""
        self.waited_us = waited_us
        """How long it was waited for."""


class OscillatorError(ChipError):
    """A chip's clock did not start, or its PLL or calibration failed."""

    def __init__(self, chip: str, errors: int) -> None:
        super().__init__(f"{chip}: clock or calibration failed, device errors 0x{errors:04X}")
        self.chip = chip
        """Which chip."""
        self.errors = errors
        """Its device errors (SX1261/2 data sheet, table 13-86)."""


class ModemError(ChipError):
    """Settings that this chip cannot be put to."""

    def __init__(self, chip: str, field: str, value: int) -> None:
        super().__init__(f"{chip} cannot be set to {field} = {value}")
        self.chip = chip
        """Which chip."""
        self.field = field
        """Which setting."""
        self.value = value
        """The value it does not take."""
