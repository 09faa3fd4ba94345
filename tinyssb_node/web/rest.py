"""Rest of the page: while nobody looks at it, its process is a small program that waits for a connection."""

import os
import socket
import sys
from typing import Final, NoReturn

from tinyssb_node.web import page_waiter

_LISTENER: Final = "TINYSSB_PAGE_SOCKET"
"""Environment variable: the number of the listening socket that a page gets back after its rest."""


def take_listener() -> socket.socket | None:
    """Return the listening socket that this process had before its rest; None: it is a new one."""
    number = os.environ.pop(_LISTENER, "")
    return socket.socket(fileno=int(number)) if number.isascii() and number.isdigit() else None


def rest(listener: socket.socket, *, supervised: bool) -> NoReturn:
    """Replace this process by one that waits for a connection at *listener*, and is then this program again, with the
    same arguments; or, if *supervised*, ends with standard input.

    The process id, standard streams and environment stay; all other files are closed. Raises OSError.
    """
    listener.set_inheritable(True)
    number = str(listener.fileno())
    os.environ[_LISTENER] = number
    waiter = [sys.executable, "-I", "-S", page_waiter.__file__]
    os.execv(sys.executable, [*waiter, number, str(int(supervised)), *sys.orig_argv[1:]])  # noqa: S606 - our own program
