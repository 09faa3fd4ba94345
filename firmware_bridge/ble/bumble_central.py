"""Finding boards and connecting to them, through a dongle driven directly."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bumble.core import UUID, AdvertisingData
from bumble.device import Advertisement, Connection, Device, Peer
from bumble.gatt_client import CharacteristicProxy
from bumble.hci import Address

from firmware_bridge.ble import limits
from firmware_bridge.ble.bumble_device import (
    FAULTS,
    PROPERTIES,
    DongleLink,
    bare,
    broken,
    bumble_device,
    hang_up,
    reason_of,
)
from firmware_bridge.ble.errors import BluetoothRefusedError, LinkClosedError
from firmware_bridge.ble.gatt import (
    NOTIFY_UUID,
    SERVICE_UUID,
    WRITE_UUID,
    Offer,
    answers_writes,
    carries_packets,
    judge_offer,
    value_room,
)
from firmware_bridge.ble.link import Inbox

_LISTS = (
    AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
    AdvertisingData.INCOMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
)


class DongleBoardLink(DongleLink):
    """A board that we are connected to."""

    def __init__(self, connection: Connection, inbox: Inbox, written: CharacteristicProxy[bytes]) -> None:
        super().__init__(connection, inbox)
        self._written = written
        self._answered = answers_writes(flags_of(written))

    async def send(self, value: bytes) -> None:
        """See Link. Returns when the board said that it took the value, if it says so."""
        if self.inbox.ended:
            raise LinkClosedError("the board went away")
        try:
            await self._written.write_value(value, with_response=self._answered)
        except FAULTS as error:
            raise broken("writing to the board failed", error) from error


def flags_of(characteristic: CharacteristicProxy[bytes]) -> set[str]:
    """What may be done with it, in BlueZ's words."""
    return {flag for flag, bits in PROPERTIES.items() if bits in characteristic.properties}


class BumbleCentral:
    """Looks for boards through one dongle."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._found: dict[str, Address] = {}
        device.on(Device.EVENT_ADVERTISEMENT, self._heard)

    def _heard(self, advertisement: Advertisement) -> None:
        lists = [listed for kind in _LISTS for listed in advertisement.data.get_all(kind, raw=True)]
        uuids = [listed[at : at + 16] for listed in lists for at in range(0, len(listed), 16)]
        if advertisement.is_connectable and bytes(UUID(SERVICE_UUID)) in uuids:
            self._found[bare(advertisement.address)] = advertisement.address

    async def find(self, seconds: float) -> list[str]:
        """See Central."""
        self._found.clear()
        try:
            await self._device.start_scanning()
            await asyncio.sleep(seconds)
            await self._device.stop_scanning()
        except FAULTS as error:
            raise BluetoothRefusedError(reason_of(error)) from error
        return list(self._found)

    async def connect(self, address: str) -> DongleBoardLink | None:
        """See Central."""
        try:
            # With its own time-out, bumble also tells the dongle to try no longer.
            connection = await self._device.connect(self._found[address], timeout=limits.CONNECT_S)
            async with asyncio.timeout(limits.CONNECT_S):
                link = await self._link_up(connection)
        except FAULTS as error:
            raise broken(f"no connection to {address}", error) from error
        return link

    async def _link_up(self, connection: Connection) -> DongleBoardLink | None:
        """A link by *connection*, which is ended if there is none."""
        inbox = Inbox()
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: inbox.end("the board went away"))
        link = None
        try:
            written = await _subscribe(Peer(connection), inbox)
            if written is not None:
                link = DongleBoardLink(connection, inbox, written)
        finally:
            if link is None:
                await hang_up(connection)
        return link


async def _subscribe(peer: Peer, inbox: Inbox) -> CharacteristicProxy[bytes] | None:
    """Have notifications put into *inbox*; the characteristic to write to. None if this is a phone.

    Raises what bumble raises, LinkClosedError for what is no use to us.
    """
    await peer.request_mtu(limits.ATT_MTU_WANTED)
    services = await peer.discover_service(SERVICE_UUID)
    found = [one for service in services for one in await service.discover_characteristics()]
    characteristics = {str(one.uuid).lower(): one for one in found}
    written = characteristics.get(WRITE_UUID)
    descriptors = await written.discover_descriptors() if written is not None else []
    offer = judge_offer(
        {uuid: flags_of(one) for uuid, one in characteristics.items()},
        {str(descriptor.type).lower() for descriptor in descriptors},
    )
    if offer is Offer.PHONE:
        return None
    if offer is Offer.INCOMPLETE or written is None:
        raise LinkClosedError("it has not the service that boards have")
    mtu = peer.connection.att_mtu
    if not carries_packets(mtu):
        raise LinkClosedError(f"it takes values of {value_room(mtu)} bytes only")
    await characteristics[NOTIFY_UUID].subscribe(inbox.offer)
    return written


@asynccontextmanager
async def bumble_central(transport: str) -> AsyncIterator[BumbleCentral]:
    """Be able to find boards through the dongle that bumble calls *transport*, while the context lasts.

    Raises DongleError.
    """
    async with bumble_device(transport) as device:
        yield BumbleCentral(device)
