"""A command of the user's that runs when messages arrive: without a shell, one at a time, and not too often."""

from __future__ import annotations

import shlex
import subprocess
import tempfile
from collections import deque
from typing import IO

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens import limits


class MessageHook:
    """Runs a command with the new messages on its standard input, one JSON object a line.

    Messages that come while it runs, or within `limits.HOOK_EVERY_S` of its start, wait for its next run. Of more than
    `limits.HOOK_LINES_MAX` the oldest are left out. A run is ended after `limits.HOOK_TIMEOUT_S`.
    """

    def __init__(self, command: str) -> None:
        """Split *command* into words as a shell would; nothing in it is expanded. Raises ProblemError."""
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise _bad(command, str(error)) from error
        if not self._words:
            raise _bad(command, "it is empty")
        self._waiting: deque[str] = deque(maxlen=limits.HOOK_LINES_MAX)
        self._running: subprocess.Popen[bytes] | None = None
        self._started_s = -float(limits.HOOK_EVERY_S)

    def add(self, line: str) -> None:
        """Let a message wait for the next run."""
        self._waiting.append(line)

    def look(self, now_s: float) -> None:
        """End a run that takes too long, and begin the next one if it is due. Raises ProblemError if the command cannot
        be started."""
        if self._running is not None:
            if self._running.poll() is None:
                if now_s - self._started_s >= limits.HOOK_TIMEOUT_S:
                    self._running.kill()
                return
            self._running = None
        if not self._waiting or now_s - self._started_s < limits.HOOK_EVERY_S:
            return
        lines = "".join(f"{line}\n" for line in self._waiting)
        self._waiting.clear()
        self._started_s = now_s
        # A file, not a pipe: a command that reads nothing does not block this program.
        with tempfile.TemporaryFile() as given:
            self._start(given, lines)

    def _start(self, given: IO[bytes], lines: str) -> None:
        given.write(lines.encode("utf-8", "replace"))
        given.seek(0)
        try:
            self._running = subprocess.Popen(self._words, stdin=given)  # noqa: S603 - the user's own command
        except OSError as error:
            raise _bad(self._words[0], error.strerror or str(error)) from error

    def close(self) -> None:
        """Wait for a run, and end it if that takes long."""
        if self._running is not None:
            try:
                self._running.wait(limits.HOOK_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                self._running.kill()
                self._running.wait()
            self._running = None


def _bad(command: str, reason: str) -> ProblemError:
    return ProblemError(
        f"The command {command!r} cannot be run: {reason}. Nothing was marked as read.",
        "Give a program and its arguments: --run 'notify-send tinySSB'.",
        exit_code=ExitCode.USAGE,
    )
