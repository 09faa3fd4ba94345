"""Pseudo-terminals as the serial ports of emulated devices, for any program that opens serial ports."""

import asyncio
import os
import pty
import tty
from pathlib import Path

from tests.emulated.serial_air import Device

_READ_SIZE = 4_096


class Plug:
    """The cable of a device: plugged in until ``pull``."""

    def __init__(self, device: Device, *, link: Path | None = None, time_scale: float = 1.0) -> None:
        """*link*: another name of the port, as udev makes them. *time_scale*: seconds of the device in one of ours."""
        self.device = device
        self._loop = asyncio.get_running_loop()
        self._scale = time_scale
        self._master, slave = pty.openpty()
        tty.setraw(self._master)
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        """The name of the port."""
        # A pty whose other end is not open reports an error to readers: held open until it is pulled.
        self._slave = slave
        self._link = link
        if link is not None:
            link.unlink(missing_ok=True)
            link.symlink_to(self.path)
        os.set_blocking(self._master, False)
        self._timer: asyncio.TimerHandle | None = None
        self._backlog = bytearray()
        self._loop.add_reader(self._master, self._read)
        device.write = self.write
        device.is_on = True
        self._rearm()

    @property
    def now_us(self) -> int:
        """The device's time."""
        return round(self._loop.time() * 1e6 * self._scale)

    @property
    def backlog(self) -> int:
        """Bytes for the host that wait until it reads."""
        return len(self._backlog)

    def _read(self) -> None:
        self.device.receive(os.read(self._master, _READ_SIZE), self.now_us)
        self._rearm()

    def write(self, data: bytes) -> None:
        """Send *data* to the host as the device."""
        self._backlog += data
        self._flush()
        self._rearm()

    def _flush(self) -> None:
        try:
            written = os.write(self._master, self._backlog)
        except BlockingIOError:
            written = 0
        del self._backlog[:written]
        if self._backlog:
            self._loop.add_writer(self._master, self._flush)
        else:
            self._loop.remove_writer(self._master)

    def _rearm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        at_us = self.device.next_wake_us
        if at_us is None:
            self._timer = None
        else:
            self._timer = self._loop.call_at(at_us / 1e6 / self._scale, self._wake)

    def _wake(self) -> None:
        self.device.wake(self.now_us)
        self._rearm()

    def reboot(self) -> None:
        """Restart the device, with its cable plugged in."""
        self.device.boot()
        self._rearm()

    def pull(self) -> None:
        """Unplug the cable: the port disappears, and the device has no power."""
        self._loop.remove_reader(self._master)
        self._loop.remove_writer(self._master)
        if self._timer is not None:
            self._timer.cancel()
        self.device.write = lambda _data: None
        self.device.is_on = False
        self.device.boot()
        os.close(self._slave)
        os.close(self._master)
        if self._link is not None:
            self._link.unlink()
