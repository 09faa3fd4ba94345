"""The two Bluetooth stacks. Each loads the packages it needs when it is opened, not before."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass

from firmware_bridge.ble.errors import BluetoothError
from firmware_bridge.ble.link import Central, Peripheral
from firmware_bridge.drivers.probe import Finding
from firmware_bridge.libraries import install_command


@contextmanager
def _packages(extra: str) -> Iterator[None]:
    """Name the *extra* to install if a package is missing. Raises BluetoothError."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        raise BluetoothError(
            f"the Python package '{missing}' is not installed",
            f"Type: {install_command(extra)}",
        ) from error


@dataclass(frozen=True, slots=True)
class BluezStack:
    """Bluetooth through BlueZ, Linux's own Bluetooth service."""

    adapter: str | None = None
    """``hci0``, ``hci1``, …; None: the first that is on."""

    def peripheral(self, links: int) -> AbstractAsyncContextManager[Peripheral]:
        """See BluetoothStack."""
        with _packages("ble"):
            from firmware_bridge.ble.bluez_peripheral import bluez_peripheral  # noqa: PLC0415 - lazy, see above
        return bluez_peripheral(self.adapter, links)

    def central(self) -> AbstractAsyncContextManager[Central]:
        """See BluetoothStack."""
        with _packages("ble"):
            from firmware_bridge.ble.bluez_central import bluez_central  # noqa: PLC0415 - lazy, see above
        return bluez_central(self.adapter)

    def probe(self) -> AsyncIterator[Finding]:
        """Examine the adapter, and send nothing by radio. Raises BluetoothError if a package is missing."""
        with _packages("ble"):
            from firmware_bridge.ble.probe import probe_bluetooth  # noqa: PLC0415 - lazy, see above
        return probe_bluetooth(self.adapter)


@dataclass(frozen=True, slots=True)
class BumbleStack:
    """Bluetooth through a dongle that bumble drives directly, without BlueZ."""

    transport: str
    """The dongle's name in bumble: ``usb:0``."""

    def peripheral(self, links: int) -> AbstractAsyncContextManager[Peripheral]:
        """See BluetoothStack."""
        with _packages("bumble"):
            from firmware_bridge.ble.bumble_peripheral import bumble_peripheral  # noqa: PLC0415 - lazy, see above
        return bumble_peripheral(self.transport, links)

    def central(self) -> AbstractAsyncContextManager[Central]:
        """See BluetoothStack."""
        with _packages("bumble"):
            from firmware_bridge.ble.bumble_central import bumble_central  # noqa: PLC0415 - lazy, see above
        return bumble_central(self.transport)
