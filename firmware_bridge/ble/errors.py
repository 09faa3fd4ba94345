"""What keeps Bluetooth from working: what was found, and what to do about it."""

from collections.abc import Sequence


class BluetoothError(Exception):
    """This machine's Bluetooth cannot do what is asked of it now."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}. {remedy}")
        self.what = what
        """What was found, in plain words, without a full stop."""
        self.remedy = remedy
        """What to do next, as a sentence."""


class BluetoothPackagesError(BluetoothError):
    """Python packages that this needs are not installed."""

    def __init__(self, extra: str, missing: str) -> None:
        super().__init__(
            f"the Python package '{missing}' is not installed",
            f"Type: pip install 'tinyssb-node[{extra}]'",
        )
        self.missing = missing


class NoSystemBusError(BluetoothError):
    """There is no D-Bus to reach the Bluetooth service by."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"the system's message bus (D-Bus) cannot be reached ({reason})",
            "Type: sudo apt-get install dbus bluez && sudo systemctl enable --now dbus bluetooth",
        )
        self.reason = reason


class NoBluetoothServiceError(BluetoothError):
    """bluetoothd does not run."""

    def __init__(self) -> None:
        super().__init__(
            "the Bluetooth service (bluetoothd) is not running",
            "Type: sudo apt-get install bluez && sudo systemctl enable --now bluetooth",
        )


class BluetoothDeniedError(BluetoothError):
    """We may not use Bluetooth."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"this user may not use Bluetooth ({reason})",
            "Type: sudo usermod -aG bluetooth USER, with the user that runs the node, and start it anew.",
        )
        self.reason = reason


class NoAdapterError(BluetoothError):
    """There is no adapter, or not the one asked for."""

    def __init__(self, wanted: str | None, found: Sequence[str]) -> None:
        there = f"this machine has {', '.join(found)}" if found else "this machine shows none"
        super().__init__(
            f"there is no Bluetooth adapter '{wanted}' ({there})"
            if wanted
            else "there is no Bluetooth adapter",
            "Choose one of those by ?adapter=NAME."
            if found
            else "Plug one in, or see by 'rfkill' and 'dmesg' why the built-in one is missing.",
        )
        self.wanted = wanted
        self.found = tuple(found)


class AdapterOffError(BluetoothError):
    """The adapter is switched off."""

    def __init__(self, adapter: str) -> None:
        super().__init__(
            f"the Bluetooth adapter {adapter} is switched off",
            "Type: sudo rfkill unblock bluetooth && bluetoothctl power on",
        )
        self.adapter = adapter


class NoAdvertisingError(BluetoothError):
    """The adapter cannot be found by phones."""

    def __init__(self, adapter: str) -> None:
        super().__init__(
            f"the Bluetooth adapter {adapter} cannot advertise itself, so no phone would find it",
            "Use one that can do Bluetooth Low Energy 4.0 or newer, or ble:central, which needs no advertising.",
        )
        self.adapter = adapter


class BluetoothRefusedError(BluetoothError):
    """The Bluetooth service or the adapter said no in words of its own."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"Bluetooth refused ({reason})",
            "If this stays so, type: sudo systemctl restart bluetooth",
        )
        self.reason = reason


class DongleError(BluetoothError):
    """A Bluetooth dongle that is driven directly cannot be opened."""

    def __init__(self, transport: str, reason: str) -> None:
        super().__init__(
            f"the Bluetooth dongle '{transport}' cannot be opened ({reason})",
            "See that it is plugged in, that this user may use it, and that no other program does (docs/howto/ble.md).",
        )
        self.transport = transport
        self.reason = reason


class LinkClosedError(OSError):
    """A link that was up is no more."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        """In plain words."""
