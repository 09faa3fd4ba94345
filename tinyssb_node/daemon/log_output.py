"""Log lines written to standard error by a thread of its own, so that the node never waits for the reader of its log.

A pipe holds 64 KiB (pipe(7)). If a supervisor, a pager or a stalled terminal does not read it, the next write blocks,
and a node that writes from its event loop would answer nobody any more. A stranger can fill the pipe: each connection
is two lines. Nor does a log file on a full disk, or a reader that is gone, end the node.
"""

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from tinyssb_node import limits


class LogOutput:
    """A structlog logger that writes to a file descriptor, in order. Lines wait in memory while nobody reads; when too
    many wait, further ones are dropped and counted."""

    def __init__(self, file: int, report_dropped: Callable[[int], None]) -> None:
        """Write to the descriptor *file*. *report_dropped* is called with the number of lines that were dropped, before
        the first line that is accepted again."""
        self._file = file
        self._report_dropped = report_dropped
        self._lines: deque[bytes] = deque()
        """Lines to write; the first one may be being written."""
        self._dropped = 0
        self._changed = threading.Condition()
        # A daemon thread: a write that blocks for ever must not keep the process from ending.
        threading.Thread(target=self._run, name="log", daemon=True).start()

    def msg(self, line: str) -> None:
        """Queue *line*. Never blocks, never raises."""
        with self._changed:
            waiting = len(self._lines)
            if waiting >= limits.LOG_LINES_MAX:
                self._dropped += 1
                return
            # Half empty before it goes on: otherwise every second line would be a report.
            resumes = waiting < limits.LOG_LINES_MAX // 2
            dropped = self._dropped if resumes else 0
            self._dropped -= dropped
        if dropped:
            self._report_dropped(dropped)
        with self._changed:
            self._lines.append(line.encode(errors="backslashreplace") + b"\n")
            self._changed.notify_all()

    debug = info = warning = error = critical = msg

    def flush(self, patience_s: float) -> bool:
        """Wait until all lines are written, for *patience_s* at most. Return whether they are."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._lines, patience_s)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines)
                rest = self._lines[0]
            # A full disk, a reader that is gone: the line is lost.
            with suppress(OSError):
                while rest:
                    rest = rest[os.write(self._file, rest) :]
            with self._changed:
                self._lines.popleft()
                self._changed.notify_all()
