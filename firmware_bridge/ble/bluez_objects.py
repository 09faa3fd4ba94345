"""The D-Bus objects by which BlueZ learns of our service and advertisement. Values only; nothing is sent here.

org.bluez.GattService(5), org.bluez.GattCharacteristic(5), org.bluez.LEAdvertisement(5).
"""

from typing import Final

from dbus_fast import Variant

from firmware_bridge.ble.gatt import CHARACTERISTICS, NOTIFY_UUID, SERVICE_UUID, WRITE_UUID

Properties = dict[str, Variant]
"""Properties of one interface."""

ROOT: Final = "/org/tinyssb"
"""Our objects are below this one."""
ADVERTISEMENT_PATH: Final = f"{ROOT}/advertisement"
"""The advertisement."""
SERVICE_PATH: Final = f"{ROOT}/service"
"""The service."""
PATHS: Final = {
    characteristic.uuid: f"{SERVICE_PATH}/char{number}"
    for number, characteristic in enumerate(CHARACTERISTICS)
}
"""The characteristics by UUID."""
WRITE_PATH: Final = PATHS[WRITE_UUID]
"""The characteristic that phones write to."""
NOTIFY_PATH: Final = PATHS[NOTIFY_UUID]
"""The characteristic that phones are notified of."""

SERVICE: Final = "org.bluez.GattService1"
"""Interface of a service."""
CHARACTERISTIC: Final = "org.bluez.GattCharacteristic1"
"""Interface of a characteristic."""
ADVERTISEMENT: Final = "org.bluez.LEAdvertisement1"
"""Interface of an advertisement."""


def service_objects() -> dict[str, dict[str, Properties]]:
    """What GetManagedObjects answers: the service, its characteristics, and no descriptors of ours."""
    objects = {SERVICE_PATH: {SERVICE: {"UUID": Variant("s", SERVICE_UUID), "Primary": Variant("b", True)}}}
    for characteristic in CHARACTERISTICS:
        properties = {
            "UUID": Variant("s", characteristic.uuid),
            "Service": Variant("o", SERVICE_PATH),
            "Flags": Variant("as", [str(flag) for flag in characteristic.flags]),
        }
        if characteristic.uuid == NOTIFY_UUID:
            # That it is there at all tells BlueZ to ask for a socket per phone instead of listening for signals.
            properties["NotifyAcquired"] = Variant("b", False)
        objects[PATHS[characteristic.uuid]] = {CHARACTERISTIC: properties}
    return objects


def advertisement(name: str) -> Properties:
    """The advertisement: whom phones filter for. BlueZ puts the name, which does not fit in, into the scan response."""
    return {
        "Type": Variant("s", "peripheral"),
        "ServiceUUIDs": Variant("as", [SERVICE_UUID]),
        "LocalName": Variant("s", name),
    }
