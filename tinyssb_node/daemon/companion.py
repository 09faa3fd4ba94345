"""Companion processes: the web page, gateways and the shipper, started beside the daemon and ended with it
(docs/decisions/0030 and 0043)."""

import asyncio
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from tinyssb_node import limits
from tinyssb_node.control.rows import CompanionRow
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.shutdown import EXIT_REASON_FD
from tinyssb_node.errors import ExitCode
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.store.home import Home

_CODE: Final = "import sys; sys.path[:] = {path!r}; from tinyssb_node.cli.main import main; sys.exit(main())"
"""The same program, with the same search path: a Debian package keeps its packages in a folder of its own."""
_FINAL: Final = (ExitCode.CONFIG, ExitCode.USAGE, ExitCode.PERMISSION)
"""Exit codes that a restart would not mend."""
_MANAGER: Final = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")
"""Variables that systemd sets for the daemon alone."""


def companion_command(home: Home, *words: str) -> list[str]:
    """Return the command that runs `tinyssb` *words* for the node in *home* until its standard input ends."""
    code = _CODE.format(path=sys.path)
    return [sys.executable, "-c", code, "--home", str(home.root), *words, "--supervised"]


class CompanionProcess:
    """A process that is kept running. Its output goes where the daemon's log goes."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        logger: Logger,
        *,
        entropy: Callable[[], float] = random.random,
    ) -> None:
        """Prepare to run *command*; *name* stands for it in the log, such as "the web page"."""
        self._name = name
        self._command = tuple(command)
        self._logger = logger
        # The cause of its failure is seldom gone sooner than in 5 minutes.
        self._backoff = Backoff(entropy, max_s=300.0)
        self._begun_s: float | None = None
        """When the running process was started."""
        self._ends = 0
        self._given_up = False
        self._exit_reason = ""
        """Why it ended last, and in further lines what to do about it."""

    def row(self) -> CompanionRow:
        """Return its status. After an end, the problem stays until the process has run for a while."""
        settled = self._begun_s is not None and time.monotonic() - self._begun_s >= limits.LINK_SETTLED_S
        why, _, advice = ("" if settled else self._exit_reason).partition("\n")
        return CompanionRow(
            name=self._name.removeprefix("the "),
            problem=why or None,
            advice=advice,
            ends=self._ends,
            given_up=self._given_up,
        )

    async def run(self) -> None:
        """Start the process, and again when it ends, until cancelled; then end it."""
        while True:
            began_s = time.monotonic()
            code = await self._once()
            self._ends += 1
            self._given_up = code in _FINAL
            if self._given_up:
                self._logger.error(
                    "a companion process cannot run until its settings are changed",
                    what=self._name,
                    exit_code=code,
                )
                return
            self._backoff.link_was_up(time.monotonic() - began_s)
            wait_s = self._backoff.next_s()
            self._logger.warning(
                "a companion process ended: starting it again",
                what=self._name,
                exit_code=code,
                wait_s=round(wait_s, 1),
            )
            await asyncio.sleep(wait_s)

    async def _once(self) -> int:
        environ = {name: value for name, value in os.environ.items() if name not in _MANAGER}
        reading, writing = os.pipe()
        try:
            # Its standard input closes when the daemon ends, in any way: it is of no use without the daemon.
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                env={**environ, EXIT_REASON_FD: str(writing)},
                pass_fds=(writing,),
            )
            self._begun_s = time.monotonic()
            self._logger.info("started a companion process", what=self._name, pid=process.pid)
            try:
                code = await process.wait()
            finally:
                if process.returncode is None:
                    await self._end(process)
            end = f"ended with exit code {code}" if code >= 0 else f"was ended by signal {-code}"
            self._exit_reason = _read_exit_reason(reading) or f"It {end}; the daemon's log may say why."
        except OSError as error:
            self._logger.warning(
                "a companion process cannot be started", what=self._name, error=error.strerror
            )
            self._exit_reason = f"It cannot be started: {error.strerror}."
            return ExitCode.UNAVAILABLE
        finally:
            self._begun_s = None
            os.close(reading)
            os.close(writing)
        return code

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), limits.COMPANION_END_S)
        except TimeoutError:
            process.kill()
            await process.wait()


def _read_exit_reason(pipe: int) -> str:
    os.set_blocking(pipe, False)
    try:
        return os.read(pipe, limits.COMPANION_TOLD_MAX).decode(errors="replace")
    except BlockingIOError:
        return ""
