"""The peripheral through a dongle: phones find it and connect to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from bumble.core import UUID, AdvertisingData
from bumble.device import Connection, Device
from bumble.gatt import Characteristic, CharacteristicValue, Service

from firmware_bridge.ble import limits
from firmware_bridge.ble.bumble_device import (
    FAULTS,
    PROPERTIES,
    DongleLink,
    bare,
    broken,
    bumble_device,
)
from firmware_bridge.ble.errors import LinkClosedError
from firmware_bridge.ble.gatt import (
    CHARACTERISTICS,
    NOTIFY_UUID,
    SERVICE_UUID,
    WRITE_UUID,
    carries_packets,
    local_name,
    value_room,
)
from firmware_bridge.ble.link import PHONE_GONE, Inbox, LinkQueue


class DonglePhoneLink(DongleLink):
    """The link to a phone that subscribed to notifications, through a dongle."""

    def __init__(self, device: Device, connection: Connection, notified: Characteristic[bytes]) -> None:
        super().__init__(connection, Inbox())
        self._device = device
        self._notified = notified

    async def send(self, value: bytes) -> None:
        """See Link. The value is handed over to the dongle: a notification has no acknowledgement."""
        if self.inbox.ended:
            raise LinkClosedError(PHONE_GONE)
        try:
            await self._device.notify_subscriber(self._connection, self._notified, value)
        except FAULTS as error:
            raise broken("notifying the phone failed", error) from error


class BumblePeripheral(LinkQueue[DonglePhoneLink]):
    """Our service and advertisement on one dongle."""

    def __init__(self, device: Device, links: int) -> None:
        super().__init__()
        self._device = device
        self._links_max = links
        self._links: dict[Connection, DonglePhoneLink] = {}
        self._advertising = asyncio.Lock()
        self._closing = False
        characteristics = {
            one.uuid: Characteristic(
                one.uuid,
                Characteristic.Properties(sum(PROPERTIES[flag] for flag in one.flags)),
                Characteristic.READABLE | Characteristic.WRITEABLE,
                CharacteristicValue(write=self._written) if one.uuid == WRITE_UUID else b"",
            )
            for one in CHARACTERISTICS
        }
        self._notified = characteristics[NOTIFY_UUID]
        self._notified.on(Characteristic.EVENT_SUBSCRIPTION, self._subscribed)
        device.add_service(Service(SERVICE_UUID, list(characteristics.values())))
        device.on(Device.EVENT_CONNECTION, self._connected)
        device.on(Device.EVENT_FLUSH, partial(self._lose, "the Bluetooth dongle is gone"))

    @property
    def address(self) -> str:
        """The address that it advertises."""
        return bare(self._device.random_address)

    async def advertise(self) -> None:
        """Advertise if there is room for one more phone. A controller stops by itself at each new connection."""
        async with self._advertising:
            if self._closing or len(self._links) >= self._links_max:
                await self._device.stop_advertising()
            else:
                await self._start_advertising()

    async def _start_advertising(self) -> None:
        flags = AdvertisingData.LE_GENERAL_DISCOVERABLE_MODE_FLAG | AdvertisingData.BR_EDR_NOT_SUPPORTED_FLAG
        data = AdvertisingData(
            [
                (AdvertisingData.FLAGS, bytes([flags])),
                (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, bytes(UUID(SERVICE_UUID))),
            ]
        )
        name = local_name(self.address).encode()
        answer = AdvertisingData([(AdvertisingData.COMPLETE_LOCAL_NAME, name)])
        await self._device.start_advertising(
            advertising_data=bytes(data),
            scan_response_data=bytes(answer),
            advertising_interval_min=limits.ADVERTISING_INTERVAL_MS,
            advertising_interval_max=limits.ADVERTISING_INTERVAL_MS,
        )

    async def close(self) -> None:
        """Close all links, and stop advertising."""
        self._closing = True
        for link in list(self._links.values()):
            await link.close()
        await self._readvertise()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _connected(self, connection: Connection) -> None:
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: self._disconnected(connection))
        self._spawn(self._readvertise())

    def _disconnected(self, connection: Connection) -> None:
        link = self._links.pop(connection, None)
        if link is not None:
            link.inbox.end(PHONE_GONE)
        self._spawn(self._readvertise())

    async def _readvertise(self) -> None:
        try:
            async with asyncio.timeout(limits.OPEN_S):
                await self.advertise()
        except FAULTS as error:
            self._lose(broken("advertising failed", error).reason)

    def _subscribed(self, connection: Connection, notify: bool, _indicate: bool) -> None:
        """Make or end a link when a phone subscribes to notifications or unsubscribes."""
        before = self._links.pop(connection, None)
        if before is not None:
            before.inbox.end("the phone subscribed again" if notify else "the phone unsubscribed")
        if not notify:
            return
        if not carries_packets(connection.att_mtu):
            self.remark = f"a phone takes values of {value_room(connection.att_mtu)} bytes only"
        elif len(self._links) >= self._links_max:
            self.remark = f"there are {self._links_max} phones already"
        else:
            self.remark = None
            link = self._links[connection] = DonglePhoneLink(self._device, connection, self._notified)
            self._arrived.put_nowait(link)
            self._spawn(self._readvertise())

    async def _written(self, connection: Connection, value: bytes) -> None:
        """Queue a value that a phone wrote, when there is room. The phone may write again when this returns."""
        link = self._links.get(connection)
        if link is not None:
            await link.inbox.put(value)


@asynccontextmanager
async def bumble_peripheral(transport: str, links: int = limits.LINKS_MAX) -> AsyncIterator[BumblePeripheral]:
    """Advertise on the dongle that bumble calls *transport*, while the context lasts.

    Accepts at most *links* phones at a time. Raises BluetoothError, LinkClosedError.
    """
    async with bumble_device(transport) as device:
        peripheral = BumblePeripheral(device, links)
        try:
            try:
                await peripheral.advertise()
            except FAULTS as error:
                raise broken("advertising failed", error) from error
            yield peripheral
        finally:
            await peripheral.close()
