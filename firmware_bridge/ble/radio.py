"""The ways to Bluetooth. Each loads the packages it needs when it is opened, and no sooner."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from firmware_bridge.ble.errors import BluetoothPackagesError
from firmware_bridge.ble.link import Central, Peripheral


@dataclass(frozen=True, slots=True)
class BluezRadio:
    """Through BlueZ, Linux's own Bluetooth service."""

    adapter: str | None = None
    """``hci0``, ``hci1``, …; None: the first that is on."""

    def peripheral(self, links: int) -> AbstractAsyncContextManager[Peripheral]:
        """See Radio. Raises BluetoothPackagesError."""
        try:
            from firmware_bridge.ble.bluez_peripheral import bluez_peripheral  # noqa: PLC0415 - lazy, see above
        except ModuleNotFoundError as error:
            raise _missing(error, "ble") from error
        return bluez_peripheral(self.adapter, links)

    def central(self) -> AbstractAsyncContextManager[Central]:
        """See Radio. Raises BluetoothPackagesError."""
        try:
            from firmware_bridge.ble.bluez_central import bluez_central  # noqa: PLC0415 - lazy, see above
        except ModuleNotFoundError as error:
            raise _missing(error, "ble") from error
        return bluez_central(self.adapter)


@dataclass(frozen=True, slots=True)
class BumbleRadio:
    """Through a dongle of its own, without BlueZ."""

    transport: str
    """What bumble calls the dongle: ``usb:0``."""

    def peripheral(self, links: int) -> AbstractAsyncContextManager[Peripheral]:
        """See Radio. Raises BluetoothPackagesError."""
        try:
            from firmware_bridge.ble.bumble_peripheral import bumble_peripheral  # noqa: PLC0415 - lazy, see above
        except ModuleNotFoundError as error:
            raise _missing(error, "bumble") from error
        return bumble_peripheral(self.transport, links)

    def central(self) -> AbstractAsyncContextManager[Central]:
        """See Radio. Raises BluetoothPackagesError."""
        try:
            from firmware_bridge.ble.bumble_central import bumble_central  # noqa: PLC0415 - lazy, see above
        except ModuleNotFoundError as error:
            raise _missing(error, "bumble") from error
        return bumble_central(self.transport)


def _missing(error: ModuleNotFoundError, extra: str) -> BluetoothPackagesError:
    return BluetoothPackagesError(extra, (error.name or "").partition(".")[0])
