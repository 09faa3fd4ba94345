"""BlueZ, Linux's Bluetooth service, over the system's D-Bus: reaching it, and finding an adapter that is fit for use.

Interfaces: org.bluez.Adapter(5) and org.bluez.LEAdvertisingManager(5) of BlueZ.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from dbus_fast import BusType, DBusFastError, ErrorType, Message, MessageType, unpack_variants
from dbus_fast.aio import MessageBus
from dbus_fast.errors import AuthError

from firmware_bridge.ble import limits
from firmware_bridge.ble.errors import (
    AdapterOffError,
    BluetoothDeniedError,
    BluetoothError,
    BluetoothRefusedError,
    LinkClosedError,
    NoAdapterError,
    NoAdvertisingError,
    NoBluetoothServiceError,
    NoSystemBusError,
)

BLUEZ: Final = "org.bluez"
"""The name of the Bluetooth service on the bus."""
ADAPTER: Final = "org.bluez.Adapter1"
"""Interface of an adapter."""
ADVERTISING_MANAGER: Final = "org.bluez.LEAdvertisingManager1"
"""Interface of an adapter that can advertise."""
PROPERTIES: Final = "org.freedesktop.DBus.Properties"
"""Interface of everything that has properties."""
GATT_MANAGER: Final = "org.bluez.GattManager1"
"""Interface of an adapter that can have services of ours."""
OBJECTS: Final = "org.freedesktop.DBus.ObjectManager"
"""Interface of whoever has objects."""

_ABSENT: Final = {ErrorType.SERVICE_UNKNOWN.value, ErrorType.NAME_HAS_NO_OWNER.value}
_DENIED: Final = {ErrorType.ACCESS_DENIED.value, ErrorType.AUTH_FAILED.value}


@dataclass(frozen=True, slots=True)
class Adapter:
    """A Bluetooth adapter that is there and switched on."""

    path: str
    """Its D-Bus object: ``/org/bluez/hci0``."""
    address: str
    """``AA:BB:CC:DD:EE:FF``."""

    @property
    def name(self) -> str:
        """``hci0``."""
        return self.path.rpartition("/")[2]


def fault(error_name: str, text: str) -> BluetoothError:
    """What an error reply of BlueZ, or of the bus in its place, means to the user."""
    if error_name in _ABSENT:
        return NoBluetoothServiceError()
    if error_name in _DENIED:
        return BluetoothDeniedError(text or error_name)
    return BluetoothRefusedError(text or error_name)


@asynccontextmanager
async def system_bus() -> AsyncIterator[MessageBus]:
    """A connection to the system's bus. Raises NoSystemBusError, BluetoothDeniedError."""
    bus = MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True)
    try:
        try:
            async with asyncio.timeout(limits.OPEN_S):
                await bus.connect()
        except (AuthError, PermissionError) as error:
            raise BluetoothDeniedError(_reason(error)) from error
        except (OSError, EOFError, TimeoutError, DBusFastError) as error:
            raise NoSystemBusError(_reason(error)) from error
        yield bus
    finally:
        bus.disconnect()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "no answer"


async def ask(bus: MessageBus, message: Message) -> list[Any]:
    """Send a method call; the body of its reply. Raises BluetoothError, LinkClosedError if the bus goes away."""
    try:
        async with asyncio.timeout(limits.OPEN_S):
            reply = await bus.call(message)
    except TimeoutError as error:
        raise BluetoothRefusedError("the Bluetooth service does not answer") from error
    except (OSError, EOFError, DBusFastError) as error:
        raise LinkClosedError("the connection to the Bluetooth service broke") from error
    if reply.message_type is MessageType.ERROR:
        raise fault(reply.error_name or "", str(reply.body[0]) if reply.body else "")
    return list(reply.body)


async def _ask_bus(bus: MessageBus, member: str, argument: str) -> list[Any]:
    """Ask the bus itself."""
    message = Message(
        destination="org.freedesktop.DBus",
        path="/org/freedesktop/DBus",
        interface="org.freedesktop.DBus",
        member=member,
        signature="s",
        body=[argument],
    )
    return await ask(bus, message)


async def watch(bus: MessageBus, rule: str) -> None:
    """Have the signals sent to us that match *rule*. Raises BluetoothError, LinkClosedError."""
    await _ask_bus(bus, "AddMatch", rule)


async def owner_of_bluez(bus: MessageBus) -> str:
    """Who BlueZ is at present, by its unique name on the bus. Raises BluetoothError, LinkClosedError."""
    (owner,) = await _ask_bus(bus, "GetNameOwner", BLUEZ)
    return str(owner)


async def find_adapter(bus: MessageBus, wanted: str | None, *, advertising: bool) -> Adapter:
    """The adapter called *wanted*, or else the first that is on. Raises BluetoothError, LinkClosedError."""
    (objects,) = await ask(
        bus, Message(destination=BLUEZ, path="/", interface=OBJECTS, member="GetManagedObjects")
    )
    adapters = {
        path.rpartition("/")[2]: (path, interfaces)
        for path, interfaces in sorted(objects.items())
        if ADAPTER in interfaces
    }
    if (wanted is not None and wanted not in adapters) or not adapters:
        raise NoAdapterError(wanted, list(adapters))
    candidates = {wanted: adapters[wanted]} if wanted is not None else adapters
    for path, interfaces in candidates.values():
        properties = unpack_variants(interfaces[ADAPTER])
        if properties["Powered"]:
            adapter = Adapter(path, properties["Address"])
            if advertising and not {ADVERTISING_MANAGER, GATT_MANAGER} <= set(interfaces):
                raise NoAdvertisingError(adapter.name)
            return adapter
    raise AdapterOffError(next(iter(candidates)))
