"""BlueZ, Linux's Bluetooth service, over the system's D-Bus: connecting to it, and finding a usable adapter.

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
from firmware_bridge.ble.errors import BluetoothError, LinkClosedError, refused

BLUEZ: Final = "org.bluez"
"""The name of the Bluetooth service on the bus."""
ADAPTER: Final = "org.bluez.Adapter1"
"""Interface of an adapter."""
ADVERTISING_MANAGER: Final = "org.bluez.LEAdvertisingManager1"
"""Interface of an adapter that can advertise."""
PROPERTIES: Final = "org.freedesktop.DBus.Properties"
"""Interface of objects that have properties."""
GATT_MANAGER: Final = "org.bluez.GattManager1"
"""Interface of an adapter that can register our services."""
OBJECTS: Final = "org.freedesktop.DBus.ObjectManager"
"""Interface of programs that have objects."""

_ABSENT: Final = {ErrorType.SERVICE_UNKNOWN.value, ErrorType.NAME_HAS_NO_OWNER.value}
_DENIED: Final = {ErrorType.ACCESS_DENIED.value, ErrorType.AUTH_FAILED.value}


@dataclass(frozen=True, slots=True)
class Adapter:
    """A Bluetooth adapter that is present and switched on."""

    path: str
    """The D-Bus object: ``/org/bluez/hci0``."""
    address: str
    """``AA:BB:CC:DD:EE:FF``."""

    @property
    def name(self) -> str:
        """The short name: ``hci0``."""
        return self.path.rpartition("/")[2]


def bluez_error(error_name: str, text: str) -> BluetoothError:
    """Return the error for an error reply of BlueZ, or of the bus in its place."""
    if error_name in _ABSENT:
        return BluetoothError(
            "the Bluetooth service (bluetoothd) is not running",
            "Type: sudo apt-get install bluez && sudo systemctl enable --now bluetooth",
        )
    return _denied(text or error_name) if error_name in _DENIED else refused(text or error_name)


def _denied(reason: str) -> BluetoothError:
    return BluetoothError(
        f"this user may not use Bluetooth ({reason})",
        "Type: sudo usermod -aG bluetooth USER, with the user that runs the node, and restart the node.",
    )


@asynccontextmanager
async def system_bus() -> AsyncIterator[MessageBus]:
    """Connect to the system's bus while the context lasts. Raises BluetoothError."""
    bus = MessageBus(bus_type=BusType.SYSTEM, negotiate_unix_fd=True)
    try:
        try:
            async with asyncio.timeout(limits.OPEN_S):
                await bus.connect()
        except (AuthError, PermissionError) as error:
            raise _denied(_reason(error)) from error
        except (OSError, EOFError, TimeoutError, DBusFastError) as error:
            raise BluetoothError(
                f"the system's message bus (D-Bus) cannot be reached ({_reason(error)})",
                "Type: sudo apt-get install dbus bluez && sudo systemctl enable --now dbus bluetooth",
            ) from error
        yield bus
    finally:
        bus.disconnect()


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "no answer"


async def ask(bus: MessageBus, message: Message) -> list[Any]:
    """Call a method and return the body of the reply. Raises BluetoothError; LinkClosedError if the bus goes away."""
    try:
        async with asyncio.timeout(limits.OPEN_S):
            reply = await bus.call(message)
    except TimeoutError as error:
        raise refused("the Bluetooth service does not answer") from error
    except (OSError, EOFError, DBusFastError) as error:
        raise LinkClosedError("the connection to the Bluetooth service broke") from error
    if reply.message_type is MessageType.ERROR:
        raise bluez_error(reply.error_name or "", str(reply.body[0]) if reply.body else "")
    return list(reply.body)


async def _ask_bus(bus: MessageBus, member: str, argument: str) -> list[Any]:
    """Call a method of the bus itself."""
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
    """Subscribe to the signals that match *rule*. Raises BluetoothError, LinkClosedError."""
    await _ask_bus(bus, "AddMatch", rule)


async def owner_of_bluez(bus: MessageBus) -> str:
    """Return BlueZ's present unique name on the bus. Raises BluetoothError, LinkClosedError."""
    (owner,) = await _ask_bus(bus, "GetNameOwner", BLUEZ)
    return str(owner)


Interfaces = dict[str, dict[str, Any]]
"""The interfaces of a D-Bus object, with the properties of each."""


async def managed_objects(bus: MessageBus) -> dict[str, Interfaces]:
    """Return BlueZ's objects by path. Raises BluetoothError, LinkClosedError."""
    message = Message(destination=BLUEZ, path="/", interface=OBJECTS, member="GetManagedObjects")
    (objects,) = await ask(bus, message)
    return {path: unpack_variants(interfaces) for path, interfaces in sorted(objects.items())}


async def find_adapter(bus: MessageBus, wanted: str | None, *, advertising: bool) -> Adapter:
    """Find the adapter *wanted*, or else the first one that is on. Raises BluetoothError, LinkClosedError."""
    objects = await managed_objects(bus)
    adapter = choose_adapter(objects, wanted)
    if advertising:
        require_advertising(adapter, objects[adapter.path])
    return adapter


def choose_adapter(objects: dict[str, Interfaces], wanted: str | None) -> Adapter:
    """Return the adapter *wanted* of BlueZ's objects, or else the first one that is on. Raises BluetoothError."""
    adapters = {
        path.rpartition("/")[2]: (path, interfaces[ADAPTER])
        for path, interfaces in objects.items()
        if ADAPTER in interfaces
    }
    if (wanted is not None and wanted not in adapters) or not adapters:
        raise _no_adapter(wanted, ", ".join(adapters))
    candidates = {wanted: adapters[wanted]} if wanted is not None else adapters
    for path, properties in candidates.values():
        if properties["Powered"]:
            return Adapter(path, properties["Address"])
    raise BluetoothError(
        f"the Bluetooth adapter {next(iter(candidates))} is switched off",
        "Type: sudo rfkill unblock bluetooth && bluetoothctl power on",
    )


def require_advertising(adapter: Adapter, interfaces: Interfaces) -> None:
    """Raise BluetoothError if an adapter with these interfaces cannot advertise."""
    if not {ADVERTISING_MANAGER, GATT_MANAGER} <= set(interfaces):
        raise BluetoothError(
            f"the Bluetooth adapter {adapter.name} cannot advertise itself, so phones would not find it",
            "Use one that can do Bluetooth Low Energy 4.0 or newer, or ble:central, which needs no "
            "advertising.",
        )


def _no_adapter(wanted: str | None, found: str) -> BluetoothError:
    there = f"this machine has {found}" if found else "this machine has none"
    return BluetoothError(
        f"there is no Bluetooth adapter '{wanted}' ({there})" if wanted else "there is no Bluetooth adapter",
        "Choose one of those with ?adapter=NAME."
        if found
        else "Plug one in, or find out with 'rfkill' and 'dmesg' why the built-in one is missing.",
    )
