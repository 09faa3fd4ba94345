"""Errors of LoRa chips. Runs in MicroPython, too."""


class ChipError(Exception):
    """A chip does not behave as its data sheet says."""


class WrongChipError(ChipError):
    """Another chip than expected answers on the bus, or none."""

    def __init__(self, chip: str, what: str, found: int, expected: int) -> None:
        super().__init__(f"{chip}: {what} is 0x{found:02X}, expected 0x{expected:02X}")
        self.what = what
        """The register that identifies the chip."""
        self.found = found
        """Its value. All ones or all zeros: no chip answers."""
        self.expected = expected
        """The value that it should have."""


class ChipBusyError(ChipError):
    """A chip kept its BUSY line high for longer than any command takes."""

    def __init__(self, chip: str, waited_us: int) -> None:
        super().__init__(f"{chip}: busy for more than {waited_us} us")
        self.waited_us = waited_us
        """How long the driver waited."""


class OscillatorError(ChipError):
    """A chip's clock did not start, or its PLL or calibration failed."""

    def __init__(self, chip: str, errors: int) -> None:
        super().__init__(f"{chip}: clock or calibration failed, device errors 0x{errors:04X}")
        self.errors = errors
        """The device errors (SX1261/2 data sheet, table 13-86)."""


class ModemError(ChipError):
    """A setting that this chip cannot have."""

    def __init__(self, chip: str, field: str, value: int) -> None:
        super().__init__(f"{chip} cannot be set to {field} = {value}")
        self.field = field
        """The setting."""
        self.value = value
        """The impossible value."""
