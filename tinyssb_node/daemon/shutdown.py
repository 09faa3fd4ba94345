"""Shutdown of a companion process: at a signal or with its daemon, and the reason that it reports to the daemon."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from typing import Final

from tinyssb_node import limits

EXIT_REASON_FD: Final = "TINYSSB_TOLD_FD"
"""Environment variable: the number of the pipe through which the daemon receives the reason."""
_READ_SIZE: Final = 4_096
"""Bytes read at a time from standard input, to which nothing should be written."""


def watch_for_shutdown(end: Callable[[], None], *, supervised: bool) -> None:
    """Call *end* in the running loop at SIGTERM and SIGINT and, if *supervised*, when standard input ends: the daemon
    holds it open as long as it lives."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    if not supervised:
        return
    source = sys.stdin.fileno()

    def read() -> None:
        if not os.read(source, _READ_SIZE):
            loop.remove_reader(source)
            end()

    loop.add_reader(source, read)


def report_exit_reason(message: str, hint: str) -> None:
    """Report to the daemon that started this process why it ends: *message* is what happened, *hint* what to do.

    Does nothing if no daemon started it.
    """
    number = os.environ.get(EXIT_REASON_FD, "")
    if not (number.isascii() and number.isdigit()):
        return
    reason = "\n".join((" ".join(message.split()), hint)).encode(errors="replace")
    with contextlib.suppress(OSError):  # The daemon is gone.
        os.write(int(number), reason[: limits.COMPANION_TOLD_MAX])
