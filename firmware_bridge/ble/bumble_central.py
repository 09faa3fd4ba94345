"""The central through a dongle: finds boards and connects to them."""

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
from firmware_bridge.ble.errors import LinkClosedError, refused
from firmware_bridge.ble.gatt import (
    NOTIFY_UUID,
    SERVICE_UUID,
    WRITE_UUID,
    PeerKind,
    answers_writes,
    carries_packets,
    classify_peer,
    value_room,
)
from firmware_bridge.ble.link import BOARD_GONE, Inbox

_LISTS = (
    AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
    AdvertisingData.INCOMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS,
)


class DongleBoardLink(DongleLink):
    """The link to a board, through a dongle."""

    def __init__(self, connection: Connection, inbox: Inbox, written: CharacteristicProxy[bytes]) -> None:
        super().__init__(connection, inbox)
        self._written = written
        self._answered = answers_writes(flags_of(written))

    async def send(self, value: bytes) -> None:
        """See Link. Returns when the board has acknowledged the value, if it does that."""
        if self.inbox.ended:
            raise LinkClosedError(BOARD_GONE)
        try:
            await self._written.write_value(value, with_response=self._answered)
        except FAULTS as error:
            raise broken("writing to the board failed", error) from error


def flags_of(characteristic: CharacteristicProxy[bytes]) -> set[str]:
    """Return the flags of *characteristic* as BlueZ names them."""
    return {flag for flag, bits in PROPERTIES.items() if bits in characteristic.properties}


class BumbleCentral:
    """A central on one dongle."""

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
            raise refused(reason_of(error)) from error
        return list(self._found)

    async def connect(self, address: str) -> DongleBoardLink | None:
        """See Central."""
        try:
            # With its own timeout, bumble also makes the dongle stop trying.
            connection = await self._device.connect(self._found[address], timeout=limits.CONNECT_S)
            async with asyncio.timeout(limits.CONNECT_S):
                link = await self._link_up(connection)
        except FAULTS as error:
            raise broken(f"no connection to {address}", error) from error
        return link

    async def _link_up(self, connection: Connection) -> DongleBoardLink | None:
        """Make a link of *connection*, which is disconnected if that is not possible."""
        inbox = Inbox()
        connection.on(Connection.EVENT_DISCONNECTION, lambda _: inbox.end(BOARD_GONE))
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
    """Route notifications to *inbox* and return the characteristic to write to. None for a phone.

    Raises what bumble raises; LinkClosedError if the service is not what a link needs.
    """
    await peer.request_mtu(limits.ATT_MTU_WANTED)
    services = await peer.discover_service(SERVICE_UUID)
    found = [one for service in services for one in await service.discover_characteristics()]
    characteristics = {str(one.uuid).lower(): one for one in found}
    written = characteristics.get(WRITE_UUID)
    descriptors = await written.discover_descriptors() if written is not None else []
    kind = classify_peer(
        {uuid: flags_of(one) for uuid, one in characteristics.items()},
        {str(descriptor.type).lower() for descriptor in descriptors},
    )
    if kind is PeerKind.PHONE:
        return None
    if kind is PeerKind.INCOMPLETE or written is None:
        raise LinkClosedError("it lacks the service that boards have")
    mtu = peer.connection.att_mtu
    if not carries_packets(mtu):
        raise LinkClosedError(f"it takes values of {value_room(mtu)} bytes only")
    await characteristics[NOTIFY_UUID].subscribe(inbox.offer)
    return written


@asynccontextmanager
async def bumble_central(transport: str) -> AsyncIterator[BumbleCentral]:
    """Open a central on the dongle that bumble calls *transport*, while the context lasts.

    Raises BluetoothError.
    """
    async with bumble_device(transport) as device:
        yield BumbleCentral(device)
