"""Telling systemd how we are, as sd_notify(3) and sd_watchdog_enabled(3) say: a datagram, two variables."""

import os
import socket
from collections.abc import Mapping


class Notifier:
    """Speaks to the service manager that started us; silent where none did."""

    def __init__(self, environ: Mapping[str, str], pid: int) -> None:
        path = environ.get("NOTIFY_SOCKET", "")
        # "@" stands for the zero byte of Linux's abstract namespace.
        self._address = "\0" + path[1:] if path.startswith("@") else path
        watched = environ.get("WATCHDOG_PID", str(pid)) == str(pid)
        period = environ.get("WATCHDOG_USEC", "") if watched else ""
        self.watchdog_us = int(period) // 2 if period.isdecimal() and int(period) else None
        """Microseconds between signs of life: half of what we were given. None: nobody waits for them."""
        self._alive_us = 0

    def ready(self, status: str) -> None:
        """We serve."""
        self._say(f"READY=1\nSTATUS={status}")

    def alive(self, now_us: int) -> None:
        """A sign of life, if one is due. One that did not get through stays due."""
        if self.watchdog_us is not None and now_us >= self._alive_us and self._say("WATCHDOG=1"):
            self._alive_us = now_us + self.watchdog_us

    def stopping(self) -> None:
        """We were told to stop, and do."""
        self._say("STOPPING=1")

    def _say(self, text: str) -> bool:
        """Whether it was heard."""
        if not self._address:
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sock:
            try:
                sock.sendto(text.encode(), os.fsencode(self._address))
            except OSError:
                # A manager that does not listen must not keep the node from working; it may listen again.
                return False
        return True
