"""A Bluetooth dongle driven directly, without BlueZ, by bumble: a Bluetooth stack in Python that speaks HCI to a
controller on USB, a serial line or a socket."""

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
from firmware_bridge.ble.errors import DongleError, LinkClosedError
from firmware_bridge.ble.gatt import Flag, local_name
from firmware_bridge.ble.link import Inbox

_QUIET: Final = logging.getLogger("bumble")
"""It warns of what is our everyday life, links that break; what matters reaches the caller."""
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

FAULTS: Final = (BaseBumbleError, OSError, EOFError, TimeoutError)
"""What bumble raises when a link or the dongle breaks under it."""

PROPERTIES: Final = {
    Flag.READ: Characteristic.Properties.READ,
    Flag.WRITE: Characteristic.Properties.WRITE,
    Flag.COMMAND: Characteristic.Properties.WRITE_WITHOUT_RESPONSE,
    Flag.NOTIFY: Characteristic.Properties.NOTIFY,
}
"""Flags of characteristics in bumble's words."""


@asynccontextmanager
async def bumble_device(transport: str) -> AsyncIterator[Device]:
    """The dongle that bumble calls *transport* (``usb:0``), switched on while the context lasts, under an address
    that is drawn anew each time.

    Raises DongleError.
    """
    try:
        opened = await open_transport(transport)
    except (*FAULTS, USBError) as error:
        raise DongleError(transport, reason_of(error)) from error
    try:
        address = Address.generate_static_address()
        device = Device.with_hci(local_name(bare(address)), address, opened.source, opened.sink)
        device.gatt_server.max_mtu = limits.ATT_MTU_MAX
        try:
            await device.power_on()
        except FAULTS as error:
            raise DongleError(transport, reason_of(error)) from error
        yield device
        with suppress(*FAULTS):
            # A dongle that was pulled out cannot be switched off.
            await device.power_off()
    finally:
        await opened.close()


def bare(address: Address) -> str:
    """*address* as everybody else writes it: ``AA:BB:CC:DD:EE:FF``."""
    return address.to_string(with_type_qualifier=False)


def reason_of(error: BaseException) -> str:
    """*error* in words."""
    return str(error) or type(error).__name__


async def hang_up(connection: Connection) -> None:
    """End *connection*; harmless when it has ended."""
    with suppress(*FAULTS):
        # A link that cannot even be ended is broken, which is as good.
        async with asyncio.timeout(limits.OPEN_S):
            await connection.disconnect()


def broken(what: str, error: BaseException) -> LinkClosedError:
    """The error for a link that broke while *what* was tried."""
    return LinkClosedError(f"{what} ({reason_of(error)})")


class DongleLink:
    """What links through a dongle have in common; how values are sent is for each kind to say."""

    def __init__(self, connection: Connection, inbox: Inbox) -> None:
        self.inbox = inbox
        self._connection = connection

    @property
    def address(self) -> str:
        """See Link."""
        return bare(self._connection.peer_address)

    async def receive(self) -> bytes:
        """See Link."""
        return await self.inbox.take()

    async def close(self) -> None:
        """See Link."""
        if not self.inbox.ended:
            self.inbox.end("this node closed it")
            await hang_up(self._connection)
