"""Being found by phones, through BlueZ.

BlueZ gives a socket for each phone that wants notifications: what is written to it goes to that phone, and it hangs up
when the phone does. So it is from BlueZ 5.76 on. Versions before send what is written to any socket to every phone,
and those before 5.69 have one socket, of the phone that came first, for all: packets then reach more phones than meant,
which does no harm, and what phones without a socket of their own write counts as written by the one that has.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from dbus_fast import DBusFastError, Message, MessageType, unpack_variants
from dbus_fast.aio import MessageBus

from firmware_bridge.ble import bluez, limits
from firmware_bridge.ble.bluez_objects import (
    ADVERTISEMENT,
    ADVERTISEMENT_PATH,
    CHARACTERISTIC,
    NOTIFY_PATH,
    ROOT,
    WRITE_PATH,
    advertisement,
    service_objects,
)
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError
from firmware_bridge.ble.gatt import carries_packets, local_name
from firmware_bridge.ble.link import Inbox

_HUNG_UP: Final = "the phone went away"


class PhoneLink:
    """A phone that asked for notifications."""

    def __init__(self, device: str, sock: socket.socket) -> None:
        self.device = device
        """Its D-Bus object: ``/org/bluez/hci0/dev_AA_BB_CC_DD_EE_FF``."""
        self.inbox = Inbox()
        self.gone = asyncio.Event()
        """Set when it is a link no more."""
        self._socket = sock
        self._sending = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self._watching = asyncio.create_task(self._watch())

    @property
    def address(self) -> str:
        """See Link."""
        return self.device.rpartition("/dev_")[2].replace("_", ":")

    async def send(self, value: bytes) -> None:
        """See Link. Handed over to BlueZ: a notification has no answer."""
        async with self._sending:
            if self.inbox.ended:
                raise LinkClosedError(_HUNG_UP)
            await self._loop.sock_sendall(self._socket, value)

    async def receive(self) -> bytes:
        """See Link."""
        return await self.inbox.take()

    async def close(self) -> None:
        """See Link. BlueZ has no way to let a phone go from here but to take its socket away."""
        self._watching.cancel()
        await asyncio.wait([self._watching])

    async def _watch(self) -> None:
        """Until BlueZ hangs up."""
        reason = "this node closed it"
        try:
            while await self._loop.sock_recv(self._socket, 1):
                pass
            reason = _HUNG_UP
        except OSError as error:
            reason = f"the link broke ({error.strerror})"
        finally:
            self.inbox.end(reason)
            with suppress(OSError):
                # Whoever waits for room to send is told so, and lets go of the socket.
                self._socket.shutdown(socket.SHUT_RDWR)
            async with self._sending:
                self._socket.close()
            self.gone.set()


class BluezPeripheral:
    """Our service and advertisement while BlueZ has them."""

    def __init__(self, bus: MessageBus, adapter: bluez.Adapter, owner: str, links: int) -> None:
        """*owner* is BlueZ's unique name on the bus: nobody else may use our objects. At most *links* phones."""
        self._bus = bus
        self._adapter = adapter
        self._owner = owner
        self._links_max = links
        self._links: dict[str, PhoneLink] = {}
        self._arrived: asyncio.Queue[PhoneLink | None] = asyncio.Queue()
        self._lost: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._advertised = asyncio.Lock()
        self._advertising = False
        self._answers: dict[tuple[str, str], Callable[[Message], Message | bool]] = {
            (bluez.OBJECTS, "GetManagedObjects"): self._tell_objects,
            (bluez.PROPERTIES, "GetAll"): self._tell_properties,
            (ADVERTISEMENT, "Release"): self._released,
            (CHARACTERISTIC, "ReadValue"): self._read,
            (CHARACTERISTIC, "WriteValue"): self._write,
            (CHARACTERISTIC, "AcquireNotify"): self._acquire,
            (CHARACTERISTIC, "StartNotify"): self._agree,
            (CHARACTERISTIC, "StopNotify"): self._agree,
        }
        self.remark: str | None = None
        """See Peripheral."""

    async def accept(self) -> PhoneLink:
        """See Peripheral."""
        link = await self._arrived.get()
        if link is None:
            self._arrived.put_nowait(None)
            raise LinkClosedError(self._lost or "")
        return link

    async def register(self) -> None:
        """Have BlueZ take our service and advertise it. Raises BluetoothError, LinkClosedError."""
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
        """End all links. BlueZ drops our objects when the bus is left."""
        self._lose("this node closed it")
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
        """Advertise while there is room for one more phone. Raises BluetoothError, LinkClosedError."""
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

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _lose(self, reason: str) -> None:
        if self._lost is None:
            self._lost = reason
            self._arrived.put_nowait(None)

    async def _until_disconnected(self) -> None:
        with suppress(OSError, EOFError, DBusFastError):
            await self._bus.wait_for_disconnect()  # type: ignore[no-untyped-call]  # the library's own lack
        self._lose("the connection to the Bluetooth service broke")

    # --- what the bus brings

    def _handle(self, message: Message) -> Message | bool:
        """Answer calls to our objects, and notice when the adapter or BlueZ goes. False: not for us."""
        if message.message_type is MessageType.SIGNAL:
            self._notice(message)
            return False
        if message.message_type is not MessageType.METHOD_CALL or not (message.path or "").startswith(ROOT):
            return False
        if message.sender != self._owner:
            return Message.new_error(message, "org.freedesktop.DBus.Error.AccessDenied", "for BlueZ only")
        answer = self._answers.get((message.interface or "", message.member or ""))
        return answer is not None and answer(message)

    def _tell_objects(self, message: Message) -> Message:
        return Message.new_method_return(message, "a{oa{sa{sv}}}", [service_objects()])

    def _tell_properties(self, message: Message) -> Message | bool:
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
        if message.path != WRITE_PATH:
            return False
        self._spawn(self._written(message))
        return True

    def _acquire(self, message: Message) -> bool:
        if message.path != NOTIFY_PATH:
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
        """A phone wrote. It may write again when we have answered, so room is waited for first."""
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
        """The link by which *device* writes: its own, or with old versions of BlueZ that of all."""
        return self._links.get(device) or next(iter(self._links.values()), None)

    async def _subscribed(self, message: Message) -> None:
        """A phone wants notifications: that makes a link."""
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
            # Who asked is gone with the bus, which ends everything here (_until_disconnected).
            await self._bus.send(reply)


@asynccontextmanager
async def bluez_peripheral(
    adapter: str | None, links: int = limits.LINKS_MAX
) -> AsyncIterator[BluezPeripheral]:
    """Be found by phones through the adapter called *adapter*, or else the first that is on, while the context lasts.

    At most *links* phones at a time. Raises BluetoothError, LinkClosedError.
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
