"""The central through BlueZ, by bleak: finds boards and connects to them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

from bleak import BleakAdapter, BleakClient, BleakScanner
from bleak.backends.characteristic import BleakGATTCharacteristic
from bleak.backends.device import BLEDevice
from bleak.exc import BleakDBusError, BleakError
from dbus_fast import DBusFastError
from dbus_fast.aio import MessageBus

from firmware_bridge.ble import bluez, limits
from firmware_bridge.ble.errors import LinkClosedError, refused
from firmware_bridge.ble.gatt import (
    NAME_PREFIX,
    NOTIFY_UUID,
    SERVICE_UUID,
    WRITE_UUID,
    PeerKind,
    answers_writes,
    classify_peer,
)
from firmware_bridge.ble.link import BOARD_GONE, CLOSED_HERE, Inbox

_QUIET: Final = logging.getLogger("bleak")
"""Bleak logs a warning for each broken link, which is routine here; callers get what matters as errors."""
_QUIET.addHandler(logging.NullHandler())
_QUIET.propagate = False

_FAULTS: Final = (BleakError, DBusFastError, OSError, EOFError, TimeoutError)
"""Exceptions of bleak when a link or the bus breaks."""


class BoardLink:
    """The link to a board, by bleak."""

    def __init__(self, client: BleakClient, inbox: Inbox, written: BleakGATTCharacteristic) -> None:
        self.inbox = inbox
        self._client = client
        self._written = written
        self._answered = answers_writes(set(written.properties))

    async def send(self, value: bytes) -> None:
        """See Link. Returns when the board has acknowledged the value, if it does that."""
        if self.inbox.ended:
            raise LinkClosedError(BOARD_GONE)
        try:
            await self._client.write_gatt_char(self._written, value, response=self._answered)
        except _FAULTS as error:
            raise LinkClosedError(f"writing to the board failed ({_text(error)})") from error

    async def receive(self) -> bytes:
        """See Link."""
        return await self.inbox.take()

    async def close(self) -> None:
        """See Link."""
        self.inbox.end(CLOSED_HERE)
        with suppress(*_FAULTS):
            # A link that cannot be closed is broken, which has the same effect.
            await self._client.disconnect()


def _text(error: BaseException) -> str:
    return str(error) or "no answer in time"


class BluezCentral:
    """A central on one adapter."""

    def __init__(self, bus: MessageBus, adapter: str | None) -> None:
        self._bus = bus
        self._wanted = adapter
        self._adapter = adapter or ""
        self._found: dict[str, BLEDevice] = {}

    async def find(self, seconds: float) -> list[str]:
        """See Central. Raises LinkClosedError if the bus goes away."""
        self._adapter = (await bluez.find_adapter(self._bus, self._wanted, advertising=False)).name
        try:
            async with BleakScanner(
                service_uuids=[SERVICE_UUID], bluez={"adapter": self._adapter}
            ) as scanner:
                await asyncio.sleep(seconds)
                devices = scanner.discovered_devices + await self._connected()
        except BleakDBusError as error:
            raise bluez.bluez_error(error.dbus_error, error.dbus_error_details or "") from error
        except _FAULTS as error:
            raise refused(_text(error)) from error
        self._found = {device.address: device for device in devices if _is_free(device)}
        return list(self._found)

    async def _connected(self) -> list[BLEDevice]:
        """Return the devices that are connected already, by any program."""
        adapter = await BleakAdapter.get(bluez={"adapter": self._adapter})
        return await adapter.get_connected_devices([SERVICE_UUID])

    async def connect(self, address: str) -> BoardLink | None:
        """See Central."""
        inbox = Inbox()
        client = BleakClient(
            self._found[address],
            disconnected_callback=lambda _: inbox.end(BOARD_GONE),
            services=[SERVICE_UUID],
            timeout=limits.CONNECT_S,
            bluez={"adapter": self._adapter},
        )
        written = None
        try:
            await client.connect()
            written = await _link_up(client, inbox)
        except _FAULTS as error:
            raise LinkClosedError(f"no connection to {address} ({_text(error)})") from error
        finally:
            if written is None:
                with suppress(*_FAULTS):
                    await client.disconnect()
        return None if written is None else BoardLink(client, inbox, written)


async def _link_up(client: BleakClient, inbox: Inbox) -> BleakGATTCharacteristic | None:
    """Route notifications to *inbox* and return the characteristic to write to. None for a phone.

    Raises what bleak raises; LinkClosedError if the service is not what a link needs.
    """
    service = client.services.get_service(SERVICE_UUID)
    characteristics = {} if service is None else {one.uuid: one for one in service.characteristics}
    written = characteristics.get(WRITE_UUID)
    kind = classify_peer(
        {uuid: set(one.properties) for uuid, one in characteristics.items()},
        {descriptor.uuid for descriptor in written.descriptors} if written is not None else set(),
    )
    if kind is PeerKind.PHONE:
        return None
    if kind is PeerKind.INCOMPLETE or written is None:
        raise LinkClosedError("it lacks the service that boards have")
    room = written.max_write_without_response_size
    if room < limits.VALUE_SIZE_MAX:
        raise LinkClosedError(f"it takes values of {room} bytes only")
    await client.start_notify(characteristics[NOTIFY_UUID], lambda _, value: inbox.offer(bytes(value)))
    return written


def _is_free(device: BLEDevice) -> bool:
    """Return whether to try *device*. A phone that is connected already has connected to us. A board that is connected
    was left so by a program that crashed, and no longer advertises itself."""
    connected: bool = device.details["props"]["Connected"]
    return not connected or (device.name or "").startswith(NAME_PREFIX)


@asynccontextmanager
async def bluez_central(adapter: str | None) -> AsyncIterator[BluezCentral]:
    """Open a central on the adapter *adapter*, or else on the first that is on, while the context lasts.

    Raises BluetoothError, LinkClosedError.
    """
    async with bluez.system_bus() as bus:
        await bluez.find_adapter(bus, adapter, advertising=False)
        yield BluezCentral(bus, adapter)
