"""Serial ports: finding the right one, also after it was plugged in again elsewhere, and opening it."""

import errno
import termios
from asyncio import StreamReader, StreamWriter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from firmware_bridge.libraries import install_command
from tinyssb_node.faces.serial_spec import USB

PLUG_IN: Final = "Plug the radio in: it is then found by itself."
"""Advice about a missing port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsbPort:
    """A serial port that is plugged in at USB."""

    path: str
    """A name it has at the moment: its link in ``/dev/serial/by-id`` where udev makes one, else ``/dev/ttyUSB0``."""
    serial_number: str | None
    """Its maker's serial number; None if it has none, or one that all devices share."""
    vendor_id: int | None
    product_id: int | None
    interface: int | None
    """Which port of the device it is, where it has several."""


@dataclass(frozen=True, slots=True)
class PortProblem:
    """The reason why there is no port."""

    what: str
    """In plain words."""
    remedy: str
    """Advice for the user."""


def list_usb_ports() -> list[UsbPort]:
    """Return the USB serial ports; none if the library that lists them is not installed, which ``open_port``
    reports."""
    try:
        import serialx  # noqa: PLC0415 - an optional extra
    except ModuleNotFoundError:
        return []
    return [
        UsbPort(
            path=port.device,
            serial_number=None if serialx.is_non_unique_serial(port.serial_number) else port.serial_number,
            vendor_id=port.vid,
            product_id=port.pid,
            interface=port.interface_num,
        )
        for port in serialx.list_serial_ports()
        if port.vid is not None
    ]


class PortFinder:
    """The search for one device's port, under whatever name it has now."""

    def __init__(self, device: str, list_ports: Callable[[], Iterable[UsbPort]] = list_usb_ports) -> None:
        """*device*: a path, or ``usb:`` and a USB serial number."""
        self._device = device
        self._list_ports = list_ports
        self._known: UsbPort | None = None

    def find(self) -> str | PortProblem:
        """Return the path to open now."""
        if self._device.startswith(USB):
            number = self._device.removeprefix(USB)
            absent = f"no USB device with the serial number {number} is plugged in"
            return self._path_of(lambda port: port.serial_number == number, absent)
        known = self._known
        if known is not None and known.serial_number is not None:
            # Another device may have its name by now.
            return self._path_of(
                lambda port: _is_same(port, known), f"the radio of {self._device} is unplugged"
            )
        if Path(self._device).exists():
            return self._device
        return PortProblem(f"there is no {self._device}", PLUG_IN)

    def opened(self, path: str) -> None:
        """Record that *path* was opened and is the right device."""
        # The list may have another name for it than the spec string.
        real = Path(path).resolve()
        self._known = next(
            (port for port in self._list_ports() if Path(port.path).resolve() == real), self._known
        )

    def _path_of(self, is_it: Callable[[UsbPort], bool], absent: str) -> str | PortProblem:
        found = next((port.path for port in self._list_ports() if is_it(port)), None)
        return PortProblem(absent, PLUG_IN) if found is None else found


def _is_same(port: UsbPort, known: UsbPort) -> bool:
    """Return True if *port* is the device that was there before, maybe under another name."""
    return (port.serial_number, port.vendor_id, port.product_id, port.interface) == (
        known.serial_number,
        known.vendor_id,
        known.product_id,
        known.interface,
    )


async def open_port(path: str, speed: int) -> tuple[StreamReader, StreamWriter] | PortProblem:
    """Open the port at *path* with *speed* bits a second, for us alone."""
    try:
        import serialx  # noqa: PLC0415 - an optional extra
    except ModuleNotFoundError:
        return PortProblem(
            "the library for serial ports is not installed", f"Type: {install_command('serial')}"
        )
    try:
        return await serialx.open_serial_connection(path, baudrate=speed, exclusive=True)
    except OSError as error:
        return _refused(path, error)
    except (termios.error, serialx.SerialException) as error:
        return PortProblem(f"{path} is no serial port ({error.args[-1]})", "Look at: ls -l /dev/serial/by-id")


def _refused(path: str, error: OSError) -> PortProblem:
    """Return the reason why the system does not open *path*, and advice."""
    if isinstance(error, FileNotFoundError):
        return PortProblem(f"there is no {path}", PLUG_IN)
    if isinstance(error, PermissionError):
        return PortProblem(
            f"this user may not open {path}", "Type: sudo usermod -aG dialout $USER; then log in again"
        )
    if error.errno == errno.EBUSY:
        return PortProblem(
            f"another program has {path} open", "Stop it: ModemManager, gpsd, or an app of that radio"
        )
    if error.errno == errno.ENOTTY:
        return PortProblem(f"{path} is no serial port", "Look at: ls -l /dev/serial/by-id")
    return PortProblem(f"{path} cannot be opened ({error.strerror or error})", "Look at: dmesg | tail")
