"""A Bluetooth dongle driven without BlueZ, by bumble: a Bluetooth stack in Python that speaks HCI to a controller on
USB, a serial line or a socket."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from bumble.core import BaseBumbleError
from bumble.device import Connection, Device
from bumble.gatt import Characteristic
from bumble.hci import Address
from bumble.transport import open_transport
from usb1 import USBError

from firmware_bridge.ble import limits
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.ble.gatt import Flag, local_name
from firmware_bridge.ble.link import CLOSED_HERE, Inbox

_QUIET: Final = logging.getLogger("bumble")
"""Bumble logs a warning for each broken link, which is routine here; callers get what matters as errors."""
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

FAULTS: Final = (BaseBumbleError, OSError, EOFError, TimeoutError)
"""Exceptions of bumble when a link or the dongle breaks."""

PROPERTIES: Final = {
    Flag.READ: Characteristic.Properties.READ,
    Flag.WRITE: Characteristic.Properties.WRITE,
    Flag.COMMAND: Characteristic.Properties.WRITE_WITHOUT_RESPONSE,
    Flag.NOTIFY: Characteristic.Properties.NOTIFY,
}
"""Flags of characteristics as bumble names them."""


@asynccontextmanager
async def bumble_device(transport: str) -> AsyncIterator[Device]:
    """Switch on the dongle that bumble calls *transport* (``usb:0``) while the context lasts.

    Each time it has a new random address. Raises BluetoothError.
    """
    try:
        opened = await open_transport(transport)
    except (*FAULTS, USBError) as error:
        raise _dongle_error(transport, error) from error
    try:
        address = Address.generate_static_address()
        device = Device.with_hci(local_name(bare(address)), address, opened.source, opened.sink)
        device.gatt_server.max_mtu = limits.ATT_MTU_MAX
        try:
            await device.power_on()
        except FAULTS as error:
            raise _dongle_error(transport, error) from error
        yield device
        with suppress(*FAULTS):
            # A dongle that was unplugged cannot be switched off.
            await device.power_off()
    finally:
        await opened.close()


def _dongle_error(transport: str, error: BaseException) -> BluetoothError:
    return BluetoothError(
        f"the Bluetooth dongle '{transport}' cannot be opened ({reason_of(error)})",
        "Make sure that it is plugged in, that this user may use it, and that no other program does "
        "(docs/howto/ble.md).",
    )


def bare(address: Address) -> str:
    """Format *address* without bumble's type: ``AA:BB:CC:DD:EE:FF``."""
    return address.to_string(with_type_qualifier=False)


def reason_of(error: BaseException) -> str:
    """Return *error* in words."""
    return str(error) or type(error).__name__


async def hang_up(connection: Connection) -> None:
    """Disconnect *connection*; harmless when it has ended."""
    with suppress(*FAULTS):
        # A link that cannot be closed is broken, which has the same effect.
        async with asyncio.timeout(limits.OPEN_S):
            await connection.disconnect()


def broken(what: str, error: BaseException) -> LinkClosedError:
    """Return the error for a link that broke during *what*."""
    return LinkClosedError(f"{what} ({reason_of(error)})")


class DongleLink:
    """A link through a dongle: the base of both kinds, which differ in how they send."""

    def __init__(self, connection: Connection, inbox: Inbox) -> None:
        self.inbox = inbox
        self._connection = connection

    async def receive(self) -> bytes:
        """See Link."""
        return await self.inbox.take()

    async def close(self) -> None:
        """See Link."""
        if not self.inbox.ended:
            self.inbox.end(CLOSED_HERE)
            await hang_up(self._connection)
