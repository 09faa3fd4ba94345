"""BlueZ as programs see it on D-Bus: an adapter, phones that come to our service, boards that we go to.

It holds the objects and answers the calls of org.bluez.Adapter(5), Device(5), GattCharacteristic(5), GattManager(5) and
LEAdvertisingManager(5) that bleak and we use, and checks what it is told as BlueZ does.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from dbus_fast import BusType, Message, MessageFlag, MessageType, Variant, unpack_variants
from dbus_fast.aio import MessageBus

from firmware_bridge.ble.gatt import (
    CHARACTERISTICS,
    NOTIFY_UUID,
    PHONE_KEY_UUID,
    SERVICE_UUID,
    WRITE_UUID,
    Flag,
)

PATIENCE_S = 10.0
"""How long a test waits for what should come at once."""
ADAPTER = "/org/bluez/hci0"
Answer = Callable[[Message], Message | None]


class RefusedError(Exception):
    """An error reply of the program under test."""


class FakeBluez:
    """The service ``org.bluez`` with one adapter, ``hci0``."""

    def __init__(self, bus: MessageBus) -> None:
        self.bus = bus
        self.objects: dict[str, dict[str, dict[str, Variant]]] = {}
        self.application: dict[str, dict[str, dict[str, Any]]] = {}
        """The objects that the program registered."""
        self.advertisement: dict[str, Any] | None = None
        """The advertisement."""
        self.client = ""
        """The client that registered it."""
        self.boards: list[FakeBoard] = []
        """Within reach."""
        self.sockets: list[socket.socket] = []
        """Ends of phones' notifications, closed at the end."""
        self.refusals: dict[str, tuple[str, str]] = {}
        """Methods that fail, with the name and text of the error."""
        self.calls: list[str] = []
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        bus.add_message_handler(self._handle)

    # --- for tests

    async def until(self, condition: Callable[[], object]) -> None:
        """Return when *condition* holds; it is looked at whenever something was called."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    def touch(self) -> None:
        """Have conditions looked at again."""
        self._changed.set()

    def add_adapter(self, path: str = ADAPTER, *, powered: bool = True, advertising: bool = True) -> None:
        """Plug an adapter in."""
        self.add(
            path,
            "org.bluez.Adapter1",
            {
                "Address": Variant("s", "00:1A:7D:DA:71:0F"),
                "Powered": Variant("b", powered),
                "Roles": Variant("as", ["central", "peripheral"]),
                "Modalias": Variant("s", "usb:v1D6Bp0246d0542"),
            },
        )
        if advertising:
            slots = {"SupportedInstances": Variant("y", 4)}
            self.objects[path] |= {"org.bluez.LEAdvertisingManager1": slots, "org.bluez.GattManager1": {}}

    def add(self, path: str, interface: str, properties: dict[str, Variant]) -> None:
        """A new object, or a new interface of one."""
        self.objects.setdefault(path, {})[interface] = properties
        self._signal(
            "/",
            "org.freedesktop.DBus.ObjectManager",
            "InterfacesAdded",
            "oa{sa{sv}}",
            [path, {interface: properties}],
        )

    def remove(self, path: str) -> None:
        """*path* is no more, nor anything below it."""
        for name in sorted(self.objects, reverse=True):
            if name == path or name.startswith(f"{path}/"):
                gone = list(self.objects.pop(name))
                self._signal(
                    "/", "org.freedesktop.DBus.ObjectManager", "InterfacesRemoved", "oas", [name, gone]
                )

    def change(self, path: str, interface: str, **properties: Variant) -> None:
        """Properties of *path* have changed."""
        self.objects[path][interface] |= properties
        self._signal(
            path,
            "org.freedesktop.DBus.Properties",
            "PropertiesChanged",
            "sa{sv}as",
            [interface, properties, []],
        )

    async def ask_client(
        self, path: str, interface: str, member: str, signature: str = "", body: list[Any] | None = None
    ) -> Message:
        """Call the program that registered. Raises RefusedError."""
        reply = await self.bus.call(
            Message(
                destination=self.client,
                path=path,
                interface=interface,
                member=member,
                signature=signature,
                body=body or [],
            )
        )
        if reply.message_type is MessageType.ERROR:
            raise RefusedError(reply.error_name, *reply.body)
        return reply

    def characteristic(self, uuid: str) -> str:
        """Path of the program's characteristic with that UUID."""
        (path,) = [
            path
            for path, interfaces in self.application.items()
            if interfaces.get("org.bluez.GattCharacteristic1", {}).get("UUID") == uuid
        ]
        return path

    # --- what programs call

    def _handle(self, message: Message) -> Message | bool:
        if message.message_type is not MessageType.METHOD_CALL:
            return False
        member = message.member or ""
        self.calls.append(member)
        self._changed.set()
        if member in self.refusals:
            return Message.new_error(message, *self.refusals[member])
        if message.interface == "org.freedesktop.DBus.ObjectManager":
            return Message.new_method_return(message, "a{oa{sa{sv}}}", [self.objects])
        board = next((one for one in self.boards if (message.path or "").startswith(one.path)), None)
        if board is not None:
            self._spawn(board.answer(message))
            return True
        answers: dict[str, Callable[[Message], Coroutine[Any, Any, None]]] = {
            "RegisterApplication": self._register_application,
            "RegisterAdvertisement": self._register_advertisement,
            "UnregisterAdvertisement": self._unregister_advertisement,
            "SetDiscoveryFilter": self.agree,
            "StartDiscovery": self._start_discovery,
            "StopDiscovery": self._stop_discovery,
        }
        if member not in answers:
            return False
        self._spawn(answers[member](message))
        return True

    async def agree(self, message: Message) -> None:
        """Say yes."""
        self.reply(message)

    def reply(self, message: Message, signature: str = "", body: list[Any] | None = None) -> None:
        """Answer *message*, if an answer is wanted."""
        if not message.flags & MessageFlag.NO_REPLY_EXPECTED:
            self.bus.send(Message.new_method_return(message, signature, body or []))

    async def _register_application(self, message: Message) -> None:
        self.client = message.sender or ""
        root = message.body[0]
        reply = await self.ask_client(root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")
        self.application = {
            path: {interface: unpack_variants(properties) for interface, properties in interfaces.items()}
            for path, interfaces in reply.body[0].items()
        }
        self.reply(message)
        self._changed.set()

    async def _register_advertisement(self, message: Message) -> None:
        path = message.body[0]
        reply = await self.ask_client(
            path, "org.freedesktop.DBus.Properties", "GetAll", "s", ["org.bluez.LEAdvertisement1"]
        )
        self.advertisement = unpack_variants(reply.body[0])
        self.reply(message)
        self._changed.set()

    async def _unregister_advertisement(self, message: Message) -> None:
        self.advertisement = None
        self.reply(message)
        self._changed.set()

    async def _start_discovery(self, message: Message) -> None:
        self.change(ADAPTER, "org.bluez.Adapter1", Discovering=Variant("b", True))
        # Heard before the answer, so that no test has to wait for them.
        for board in self.boards:
            board.advertise()
        self.reply(message)

    async def _stop_discovery(self, message: Message) -> None:
        self.reply(message)
        self.change(ADAPTER, "org.bluez.Adapter1", Discovering=Variant("b", False))

    # --- the bus

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _signal(self, path: str, interface: str, member: str, signature: str, body: list[Any]) -> None:
        self.bus.send(
            Message(
                message_type=MessageType.SIGNAL,
                path=path,
                interface=interface,
                member=member,
                signature=signature,
                body=body,
            )
        )


class FakePhone:
    """A phone that uses our service, as the app does."""

    def __init__(self, bluez: FakeBluez, address: str = "5C:0A:11:22:33:44") -> None:
        self._bluez = bluez
        self._options = {"device": Variant("o", f"{ADAPTER}/dev_{address.replace(':', '_')}")}
        self.socket: socket.socket | None = None

    async def subscribe(self, mtu: int | None = 128) -> None:
        """Switch notifications on. Raises RefusedError."""
        options = self._options | ({} if mtu is None else {"mtu": Variant("q", mtu)})
        path = self._bluez.characteristic(NOTIFY_UUID)
        reply = await self._bluez.ask_client(
            path, "org.bluez.GattCharacteristic1", "AcquireNotify", "a{sv}", [options]
        )
        self.socket = socket.socket(fileno=reply.unix_fds[reply.body[0]])
        self.socket.setblocking(False)
        self._bluez.sockets.append(self.socket)

    async def notified(self) -> bytes:
        """The next notification; empty when the program has hung up."""
        assert self.socket is not None
        async with asyncio.timeout(PATIENCE_S):
            return await asyncio.get_running_loop().sock_recv(self.socket, 600)

    async def write(self, value: bytes, **options: Variant) -> None:
        """Write a packet, and wait for the answer. Raises RefusedError."""
        body = [value, self._options | {"type": Variant("s", "request")} | options]
        path = self._bluez.characteristic(WRITE_UUID)
        await self._bluez.ask_client(path, "org.bluez.GattCharacteristic1", "WriteValue", "aya{sv}", body)

    def leave(self) -> None:
        """Go away."""
        assert self.socket is not None
        self.socket.close()


class FakeBoard:
    """A board within reach: its device, and what its service does."""

    def __init__(self, bluez: FakeBluez, address: str = "24:6F:28:AA:BB:CC", *, mtu: int = 128) -> None:
        self.address = address
        self.path = f"{ADAPTER}/dev_{address.replace(':', '_')}"
        self.mtu = mtu
        self.is_phone = False
        self.flags: dict[str, tuple[Flag, ...]] = {one.uuid: one.flags for one in CHARACTERISTICS}
        self.written: list[tuple[bytes, str]] = []
        """Values that were written, and how: request or command."""
        self.connects = 0
        self.failing = False
        """True if connecting and writing fail."""
        self._bluez = bluez
        bluez.boards.append(self)

    @property
    def connected(self) -> bool:
        device = self._bluez.objects.get(self.path, {}).get("org.bluez.Device1")
        return device is not None and bool(device["Connected"].value)

    def advertise(self) -> None:
        """Be heard by the adapter."""
        name = "tinySSB-" + self.address.replace(":", "")[-4:]
        if self.path not in self._bluez.objects:
            properties = {
                "Address": Variant("s", self.address),
                "AddressType": Variant("s", "public"),
                "Adapter": Variant("o", ADAPTER),
                "Name": Variant("s", name),
                "Alias": Variant("s", name),
                "UUIDs": Variant("as", [SERVICE_UUID]),
                "RSSI": Variant("n", -60),
                "Connected": Variant("b", False),
                "ServicesResolved": Variant("b", False),
                "Paired": Variant("b", False),
            }
            self._bluez.add(self.path, "org.bluez.Device1", properties)
        elif not self.connected:
            self._bluez.change(self.path, "org.bluez.Device1", RSSI=Variant("n", -61))

    def drop(self) -> None:
        """Break the connection."""
        self._bluez.change(
            self.path,
            "org.bluez.Device1",
            Connected=Variant("b", False),
            ServicesResolved=Variant("b", False),
        )

    def notify(self, value: bytes) -> None:
        """Say something to whoever listens."""
        self._bluez.change(
            self._path_of(NOTIFY_UUID), "org.bluez.GattCharacteristic1", Value=Variant("ay", value)
        )

    async def answer(self, message: Message) -> None:
        """A program calls the device or one of its characteristics."""
        if self.failing and message.member in {"Connect", "WriteValue"}:
            self._bluez.bus.send(Message.new_error(message, "org.bluez.Error.Failed", "out of reach"))
            return
        if message.member == "Connect":
            self.connect()
        elif message.member == "Disconnect":
            self.drop()
        elif message.member == "WriteValue":
            assert message.path == self._path_of(WRITE_UUID)
            self.written.append((bytes(message.body[0]), message.body[1]["type"].value))
        self._bluez.reply(message)
        self._bluez.touch()

    def connect(self) -> None:
        """Be connected, with all services known."""
        self.connects += 1
        self._bluez.change(self.path, "org.bluez.Device1", Connected=Variant("b", True))
        service = f"{self.path}/service0001"
        self._bluez.add(
            service,
            "org.bluez.GattService1",
            {
                "UUID": Variant("s", SERVICE_UUID),
                "Device": Variant("o", self.path),
                "Primary": Variant("b", True),
            },
        )
        for uuid, flags in self.flags.items():
            properties = {
                "UUID": Variant("s", uuid),
                "Service": Variant("o", service),
                "Flags": Variant("as", [str(flag) for flag in flags]),
                "MTU": Variant("q", self.mtu),
                "Notifying": Variant("b", False),
            }
            self._bluez.add(self._path_of(uuid), "org.bluez.GattCharacteristic1", properties)
        if self.is_phone:
            path = self._path_of(WRITE_UUID)
            properties = {"UUID": Variant("s", PHONE_KEY_UUID), "Characteristic": Variant("o", path)}
            self._bluez.add(f"{path}/desc0001", "org.bluez.GattDescriptor1", properties)
        self._bluez.change(self.path, "org.bluez.Device1", ServicesResolved=Variant("b", True))

    def _path_of(self, uuid: str) -> str:
        return f"{self.path}/service0001/char{uuid[:8][-4:]}"


@asynccontextmanager
async def fake_bluez(address: str) -> AsyncIterator[FakeBluez]:
    """BlueZ on the bus at *address*, with one adapter that is on."""
    bus = await MessageBus(bus_address=address, bus_type=BusType.SYSTEM, negotiate_unix_fd=True).connect()
    bluez = FakeBluez(bus)
    bluez.add_adapter()
    await bus.request_name("org.bluez")
    try:
        yield bluez
    finally:
        for end in bluez.sockets:
            end.close()
        bus.disconnect()
