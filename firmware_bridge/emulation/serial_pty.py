"""Plugs an emulated device into a pseudo-terminal, so that anything that opens serial ports can talk to it."""

import asyncio
import os
import pty
import tty
from pathlib import Path

from firmware_bridge.emulation.serial_air import Device

_READ_SIZE = 4_096


class Plug:
    """The cable of a device: plugged in from the start until ``pull``."""

    def __init__(self, device: Device, *, link: Path | None = None, time_scale: float = 1.0) -> None:
        """*link*: another name it has, as udev makes them. *time_scale*: seconds of the device in one of ours."""
        self.device = device
        self._loop = asyncio.get_running_loop()
        self._scale = time_scale
        self._master, slave = pty.openpty()
        tty.setraw(self._master)
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        """The name of the port."""
        # A pty whose other end nobody has open reports an error to readers: held open until it is pulled.
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

    def _read(self) -> None:
        self.device.receive(os.read(self._master, _READ_SIZE), self.now_us)
        self._rearm()

    def write(self, data: bytes) -> None:
        """Send *data* to the host, as if the device had."""
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
        """Start the device anew with its cable left in."""
        self.device.boot()
        self._rearm()

    def pull(self) -> None:
        """Unplug: the port is gone, the device without power."""
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
