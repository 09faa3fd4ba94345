"""The latest lines of a growing event log, read by a thread of its own."""

import threading
from collections import deque
from collections.abc import Callable
from contextvars import copy_context
from pathlib import Path

from tinyssb_node.errors import LocalError
from tinyssb_node.screens.error_texts import translated
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.tail import follow_lines, last_lines
from tinyssb_node.tui import limits


class _StoppedError(Exception):
    """The end of reading."""


class LogTail:
    """Reader that keeps the last `limits.EVENTS_MAX` lines until it is closed."""

    def __init__(self, find: Callable[[], Path], *, wait_s: float = 0.5) -> None:
        """Create a reader; *find* returns the folder of the segments. A LocalError that it raises is shown, and it is
        called again."""
        self._find = find
        self._wait_s = wait_s
        self._lines: deque[tuple[int, bytes]] = deque(maxlen=limits.EVENTS_MAX)
        self._count = 0
        self._stopped = threading.Event()
        self.fault: str | None = None
        """Why there is nothing, or nothing new."""
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._run,), name="event log", daemon=True
        )

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._stopped.set()

    def lines(self) -> tuple[tuple[int, bytes], ...]:
        """Return the latest lines, counted, the newest last."""
        # A deque that grows in another thread cannot be iterated, but copied.
        return tuple(self._lines.copy())

    def _run(self) -> None:
        try:
            while True:
                try:
                    self._follow(self._find())
                except LocalError as error:
                    self.fault = translated(error.message)
                except OSError as error:
                    self.fault = t("The event log cannot be read: {reason}.", reason=error.strerror)
                self._wait()
        except _StoppedError:
            return

    def _follow(self, folder: Path) -> None:
        lines, place = last_lines(folder, limits.EVENTS_MAX)
        self._lines.clear()
        for line in lines:
            self._add(line)
        self.fault = None
        for line in follow_lines(folder, place, self._wait):
            self._add(line)

    def _add(self, line: bytes) -> None:
        self._count += 1
        self._lines.append((self._count, line))

    def _wait(self) -> None:
        if self._stopped.wait(self._wait_s):
            raise _StoppedError
