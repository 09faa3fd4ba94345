"""The peripheral through BlueZ: phones find it and connect to it.

From version 5.76 on, BlueZ gives a socket for each phone that subscribes to notifications. Bytes written to it go to
that phone, and BlueZ closes it when the phone disconnects. Older versions send what is written to any socket to every
phone. Versions before 5.69 have one socket for all phones, that of the first. Packets then reach more phones than
meant, which does no harm. A value written by a phone without a socket of its own counts as written by the phone that
has one.

Our D-Bus objects follow org.bluez.GattService(5), org.bluez.GattCharacteristic(5) and org.bluez.LEAdvertisement(5).
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from dbus_fast import DBusFastError, Message, MessageType, Variant, unpack_variants
from dbus_fast.aio import MessageBus

from firmware_bridge.ble import bluez, limits
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.ble.gatt import (
    CHARACTERISTICS,
    NOTIFY_UUID,
    SERVICE_UUID,
    WRITE_UUID,
    carries_packets,
    local_name,
)
from firmware_bridge.ble.link import CLOSED_HERE, PHONE_GONE, Inbox, LinkQueue

Properties = dict[str, Variant]
"""Properties of one D-Bus interface."""

ROOT: Final = "/org/tinyssb"
"""The D-Bus path above all our objects."""
ADVERTISEMENT_PATH: Final = f"{ROOT}/advertisement"
"""The advertisement."""
SERVICE_PATH: Final = f"{ROOT}/service"
"""The service."""
PATHS: Final = {one.uuid: f"{SERVICE_PATH}/char{number}" for number, one in enumerate(CHARACTERISTICS)}
"""The characteristics by UUID."""
CHARACTERISTIC: Final = "org.bluez.GattCharacteristic1"
"""Interface of a characteristic."""
ADVERTISEMENT: Final = "org.bluez.LEAdvertisement1"
"""Interface of an advertisement."""


def service_objects() -> dict[str, dict[str, Properties]]:
    """Return the answer to GetManagedObjects: the service and its characteristics, without descriptors of ours."""
    service = {"UUID": Variant("s", SERVICE_UUID), "Primary": Variant("b", True)}
    objects = {SERVICE_PATH: {"org.bluez.GattService1": service}}
    for characteristic in CHARACTERISTICS:
        properties = {
            "UUID": Variant("s", characteristic.uuid),
            "Service": Variant("o", SERVICE_PATH),
            "Flags": Variant("as", [str(flag) for flag in characteristic.flags]),
        }
        if characteristic.uuid == NOTIFY_UUID:
            # The presence of this property makes BlueZ ask for a socket per phone instead of listening for signals.
            properties["NotifyAcquired"] = Variant("b", False)
        objects[PATHS[characteristic.uuid]] = {CHARACTERISTIC: properties}
    return objects


def advertisement(name: str) -> Properties:
    """Return the advertisement with the UUID that phones filter for. BlueZ puts the name into the scan response."""
    return {
        "Type": Variant("s", "peripheral"),
        "ServiceUUIDs": Variant("as", [SERVICE_UUID]),
        "LocalName": Variant("s", name),
    }


class PhoneLink:
    """The link to a phone that subscribed to notifications, by its socket."""

    def __init__(self, device: str, sock: socket.socket) -> None:
        self.device = device
        """The phone's D-Bus object: ``/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF``. Phones change their address every
        quarter of an hour."""
        self.inbox = Inbox()
        self.gone = asyncio.Event()
        """Set when the link has ended."""
        self._socket = sock
        self._sending = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._watching = asyncio.create_task(self._watch())

    async def send(self, value: bytes) -> None:
        """See Link. The value is handed over to BlueZ: a notification has no acknowledgement."""
        async with self._sending:
            if self.inbox.ended:
                raise LinkClosedError(PHONE_GONE)
            await self._loop.sock_sendall(self._socket, value)

    async def receive(self) -> bytes:
        """See Link."""
        return await self.inbox.take()

    async def close(self) -> None:
        """See Link. Closing the socket is the only way that BlueZ offers to disconnect a phone."""
        self._watching.cancel()
        await asyncio.wait([self._watching])

    async def _watch(self) -> None:
        """Wait until BlueZ closes the socket."""
        reason = CLOSED_HERE
        try:
            while await self._loop.sock_recv(self._socket, 1):
                pass
            reason = PHONE_GONE
        except OSError as error:
            reason = f"the link broke ({error.strerror})"
        finally:
            self.inbox.end(reason)
            with suppress(OSError):
                # A sender that waits for room gets an error, and releases the socket.
                self._socket.shutdown(socket.SHUT_RDWR)
            async with self._sending:
                self._socket.close()
            self.gone.set()


class BluezPeripheral(LinkQueue[PhoneLink]):
    """Our service and advertisement while they are registered with BlueZ."""

    def __init__(self, bus: MessageBus, adapter: bluez.Adapter, owner: str, links: int) -> None:
        """*owner*: BlueZ's unique name on the bus; no other program may use our objects. *links*: most phones."""
        super().__init__()
        self._bus = bus
        self._adapter = adapter
        self._owner = owner
        self._links_max = links
        self._links: dict[str, PhoneLink] = {}
        self._advertised = asyncio.Lock()
        self._advertising = False
        self._answers: dict[tuple[str, str], Callable[[Message], Message | bool]] = {
            (bluez.OBJECTS, "GetManagedObjects"): self._get_objects,
            (bluez.PROPERTIES, "GetAll"): self._get_properties,
            (ADVERTISEMENT, "Release"): self._released,
            (CHARACTERISTIC, "ReadValue"): self._read,
            (CHARACTERISTIC, "WriteValue"): self._write,
            (CHARACTERISTIC, "AcquireNotify"): self._acquire,
            (CHARACTERISTIC, "StartNotify"): self._agree,
            (CHARACTERISTIC, "StopNotify"): self._agree,
        }

    async def register(self) -> None:
        """Register our service and advertisement with BlueZ. Raises BluetoothError, LinkClosedError."""
        self._bus.add_message_handler(self._handle)
        self._spawn(self._until_disconnected())
        await bluez.watch(
            self._bus,
            "type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'",
        )
        await bluez.watch(self._bus, f"type='signal',sender='org.bluez',path='{self._adapter.path}'")
        await bluez.watch(self._bus, "type='signal',sender='org.bluez',member='InterfacesRemoved'")
        await self._ask(bluez.GATT_MANAGER, "RegisterApplication", "oa{sv}", [ROOT, {}])
        await self._advertise()

    async def close(self) -> None:
        """Close all links. BlueZ drops our objects when we leave the bus."""
        self._lose(CLOSED_HERE)
        for link in list(self._links.values()):
            await link.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _ask(self, interface: str, member: str, signature: str, body: list[Any]) -> None:
        message = Message(
            destination=bluez.BLUEZ,
            path=self._adapter.path,
            interface=interface,
            member=member,
            signature=signature,
            body=body,
        )
        await bluez.ask(self._bus, message)

    async def _advertise(self) -> None:
        """Advertise if there is room for one more phone, stop if not. Raises BluetoothError, LinkClosedError."""
        async with self._advertised:
            wanted = len(self._links) < self._links_max
            if wanted and not self._advertising:
                await self._ask(
                    bluez.ADVERTISING_MANAGER, "RegisterAdvertisement", "oa{sv}", [ADVERTISEMENT_PATH, {}]
                )
            elif not wanted and self._advertising:
                await self._ask(
                    bluez.ADVERTISING_MANAGER, "UnregisterAdvertisement", "o", [ADVERTISEMENT_PATH]
                )
            self._advertising = wanted

    async def _until_disconnected(self) -> None:
        with suppress(OSError, EOFError, DBusFastError):
            await self._bus.wait_for_disconnect()  # type: ignore[no-untyped-call]  # the library lacks the types
        self._lose("the connection to the Bluetooth service broke")

    # --- messages from the bus

    def _handle(self, message: Message) -> Message | bool:
        """Answer calls to our objects, and notice when the adapter or BlueZ goes. Returns False for other messages."""
        if message.message_type is MessageType.SIGNAL:
            self._notice(message)
            return False
        if message.message_type is not MessageType.METHOD_CALL or not (message.path or "").startswith(ROOT):
            return False
        if message.sender != self._owner:
            return Message.new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "for BlueZ only")
        answer = self._answers.get((message.interface or "", message.member or ""))
        return answer is not None and answer(message)

    def _get_objects(self, message: Message) -> Message:
        return Message.new_method_return(message, "a{oa{sa{sv}}}", [service_objects()])

    def _get_properties(self, message: Message) -> Message | bool:
        if message.path != ADVERTISEMENT_PATH:
            return False
        return Message.new_method_return(message, "a{sv}", [advertisement(local_name(self._adapter.address))])

    def _released(self, message: Message) -> Message:
        self._lose("the Bluetooth service withdrew the advertisement")
        return Message.new_method_return(message)

    def _read(self, message: Message) -> Message:
        return Message.new_method_return(message, "ay", [b""])

    def _agree(self, message: Message) -> Message:
        return Message.new_method_return(message)

    def _write(self, message: Message) -> bool:
        if message.path != PATHS[WRITE_UUID]:
            return False
        self._spawn(self._written(message))
        return True

    def _acquire(self, message: Message) -> bool:
        if message.path != PATHS[NOTIFY_UUID]:
            return False
        self._spawn(self._subscribed(message))
        return True

    def _notice(self, message: Message) -> None:
        match message.member:
            case "NameOwnerChanged" if message.body[0] == bluez.BLUEZ:
                self._lose("the Bluetooth service stopped")
            case "InterfacesRemoved" if message.body[0] == self._adapter.path:
                self._lose("the Bluetooth adapter is gone")
            case "PropertiesChanged" if (
                message.path == self._adapter.path and message.body[0] == bluez.ADAPTER
            ):
                if unpack_variants(message.body[1]).get("Powered") is False:
                    self._lose("the Bluetooth adapter was switched off")

    async def _written(self, message: Message) -> None:
        """Queue a value that a phone wrote. The answer, after which it may write again, waits until there is room."""
        value, options = message.body[0], unpack_variants(message.body[1])
        if options.get("offset", 0):
            reply = Message.new_error(message, "org.bluez.Error.InvalidOffset", "whole values only")
        else:
            link = self._link_of(options.get("device", ""))
            if link is not None:
                await link.inbox.put(bytes(value))
            reply = Message.new_method_return(message)
        await self._reply(message, reply)

    def _link_of(self, device: str) -> PhoneLink | None:
        """Return the link of *device*; with old versions of BlueZ, the one that all phones share."""
        return self._links.get(device) or next(iter(self._links.values()), None)

    async def _subscribed(self, message: Message) -> None:
        """Make a link for a phone that subscribes to notifications."""
        options = unpack_variants(message.body[0])
        device, mtu = options.get("device", ""), options.get("mtu", limits.ATT_MTU_WANTED)
        if not carries_packets(mtu):
            self.remark = f"a phone takes values of {mtu - limits.ATT_HEADER_SIZE} bytes only"
        elif len(self._links) >= self._links_max and device not in self._links:
            self.remark = f"there are {self._links_max} phones already"
        else:
            await self._connect(message, device, mtu)
            return
        await self._reply(message, Message.new_error(message, "org.bluez.Error.NotPermitted", self.remark))

    async def _connect(self, message: Message, device: str, mtu: int) -> None:
        before = self._links.pop(device, None)
        if before is not None:
            await before.close()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        link = self._links[device] = PhoneLink(device, ours)
        with theirs:
            theirs.setblocking(False)
            await self._reply(message, Message.new_method_return(message, "hq", [0, mtu], [theirs.fileno()]))
        self.remark = None
        self._arrived.put_nowait(link)
        self._spawn(self._until_gone(link))
        await self._readvertise()

    async def _until_gone(self, link: PhoneLink) -> None:
        await link.gone.wait()
        if self._links.get(link.device) is link:
            del self._links[link.device]
            await self._readvertise()

    async def _readvertise(self) -> None:
        try:
            await self._advertise()
        except (BluetoothError, LinkClosedError) as error:
            self._lose(str(error))

    async def _reply(self, message: Message, reply: Message) -> None:
        if message.flags.value & 1:
            return
        with suppress(OSError, EOFError, DBusFastError):
            # The caller is gone with the bus, which ends everything here (_until_disconnected).
            await self._bus.send(reply)


@asynccontextmanager
async def bluez_peripheral(
    adapter: str | None, links: int = limits.LINKS_MAX
) -> AsyncIterator[BluezPeripheral]:
    """Advertise on the adapter *adapter*, or else on the first that is on, while the context lasts.

    Accepts at most *links* phones at a time. Raises BluetoothError, LinkClosedError.
    """
    async with bluez.system_bus() as bus:
        found = await bluez.find_adapter(bus, adapter, advertising=True)
        owner = await bluez.owner_of_bluez(bus)
        peripheral = BluezPeripheral(bus, found, owner, links)
        try:
            await peripheral.register()
            yield peripheral
        finally:
            await peripheral.close()
