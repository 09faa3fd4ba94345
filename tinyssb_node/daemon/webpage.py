"""The web page as a process of its own, started beside the daemon and ended with it (docs/decisions/0030)."""

import asyncio
import os
import random
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from tinyssb_node import limits
from tinyssb_node.daemon.home import Home
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.problems import Exit
from tinyssb_node.faces.backoff import Backoff

_CODE: Final = "import sys; sys.path[:] = {path!r}; from tinyssb_node.cli.main import main; sys.exit(main())"
"""The same program, wherever the packages of this one are: a Debian package keeps them in a place of its own."""
_FINAL: Final = (Exit.CONFIG, Exit.USAGE, Exit.PERMISSION)
"""What starting again would not put right."""
_MANAGER: Final = ("NOTIFY_SOCKET", "WATCHDOG_PID", "WATCHDOG_USEC")
"""What systemd says to the daemon alone."""


def page_command(home: Home) -> list[str]:
    """What is started: the page of the node in *home*, which ends when its standard input does."""
    code = _CODE.format(path=sys.path)
    return [sys.executable, "-c", code, "--home", str(home.root), "web", "--supervised"]


class WebPage:
    """Keeps the page's process running. What it has to say goes where the daemon's log goes."""

    def __init__(
        self, command: Sequence[str], logger: Logger, *, entropy: Callable[[], float] = random.random
    ) -> None:
        self._command = tuple(command)
        self._logger = logger
        self._backoff = Backoff(entropy, max_s=limits.WEB_RESTART_MAX_S)

    async def run(self) -> None:
        """Start it, again when it ends, until cancelled; then it is ended, too."""
        while True:
            began_s = time.monotonic()
            code = await self._once()
            if code in _FINAL:
                self._logger.error("the web page cannot run until its settings are changed", exit_code=code)
                return
            self._backoff.held(time.monotonic() - began_s)
            wait_s = self._backoff.next_s()
            self._logger.warning(
                "the web page has ended: starting it again", exit_code=code, wait_s=round(wait_s, 1)
            )
            await asyncio.sleep(wait_s)

    async def _once(self) -> int:
        """Run it to its end; return its exit code."""
        environ = {name: value for name, value in os.environ.items() if name not in _MANAGER}
        try:
            # Its standard input is a pipe that ends with us, however we end: a page without a node is of no use.
            process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.PIPE, env=environ
            )
        except OSError as error:
            self._logger.warning("the web page cannot be started", error=error.strerror)
            return Exit.UNAVAILABLE
        self._logger.info("started the web page", pid=process.pid)
        try:
            return await process.wait()
        finally:
            if process.returncode is None:
                await self._end(process)

    async def _end(self, process: asyncio.subprocess.Process) -> None:
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), limits.WEB_END_S)
        except TimeoutError:
            process.kill()
            await process.wait()
