"""Status notifications to systemd, as in sd_notify(3) and sd_watchdog_enabled(3): a datagram, two variables."""

import os
import socket
from collections.abc import Mapping
from typing import Final

_PATIENCE_S: Final = 5.0
"""Longest wait for a manager with too many unread notifications, at the start and the end of the node."""


class Notifier:
    """Sender of notifications to the service manager that started us; does nothing without one."""

    def __init__(self, environ: Mapping[str, str], pid: int) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        # "@" stands for the zero byte of Linux's abstract namespace.
        self._address = "\0" + path[1:] if path.startswith("@") else path
        watched = environ.get("WATCHDOG_PID", str(pid)) == str(pid)
        period = environ.get("WATCHDOG_USEC", "") if watched else ""
        self.watchdog_us = int(period) // 2 if period.isdecimal() and int(period) else None
        """Microseconds between signs of life: half the watchdog's period. None: there is no watchdog."""
        self._alive_us = 0

    def ready(self, status: str) -> None:
        """Report that the daemon is ready."""
        self._send(f"READY=1\nSTATUS={status}")

    def alive(self, now_us: int) -> None:
        """Send a sign of life, if one is due. One that could not be sent stays due."""
        if self.watchdog_us is None or now_us < self._alive_us:
            return
        # The node has no time to wait for a manager that does not read.
        if self._send("WATCHDOG=1", patience_s=0.0):
            self._alive_us = now_us + self.watchdog_us

    def stopping(self) -> None:
        """Report that the daemon is stopping."""
        self._send("STOPPING=1")

    def _send(self, text: str, patience_s: float = _PATIENCE_S) -> bool:
        """Send *text*, within *patience_s*; return whether it was sent."""
        if not self._address:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            sock.settimeout(patience_s)
            try:
                sock.sendto(text.encode(), os.fsencode(self._address))
            except OSError:
                # A manager that does not listen must not stop the node; it may listen again later.
                return False
        return True
