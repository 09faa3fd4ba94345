"""A process beside the daemon: started, started again, ended."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO, cast

import pytest
import structlog

from tinyssb_node import limits
from tinyssb_node.cli.main import build_parser
from tinyssb_node.control.rows import CompanionRow
from tinyssb_node.daemon.companion import CompanionProcess, companion_command
from tinyssb_node.daemon.subjects import SUBJECTS
from tinyssb_node.errors import ExitCode
from tinyssb_node.store.home import Home

PATIENCE_S = 20.0
TELL = (
    "import os, signal, sys; print(os.getpid(), 'NOTIFY_SOCKET' in os.environ, file=open(sys.argv[1], 'w'));"
)
"""The beginning of each program below."""


class Log:
    """A logger whose lines can be waited for."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[structlog.typing.EventDict] = asyncio.Queue()
        self.logger = cast(
            "structlog.typing.FilteringBoundLogger", structlog.wrap_logger(None, processors=[self._take])
        )

    def _take(
        self, _logger: object, _method: str, line: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        self._lines.put_nowait(line)
        raise structlog.DropEvent

    async def next(self, said: str) -> structlog.typing.EventDict:
        """The next line that has *said* in it."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                line = await self._lines.get()
                if said in line["event"]:
                    return line


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where programs tell their process, line by line, to whoever waits for it."""
    path = tmp_path / "told"
    os.mkfifo(path)
    return path


async def tell(told: Path) -> list[str]:
    """Return the words that the next program that was started tells."""

    def read() -> str:
        with cast("IO[str]", told.open()) as pipe:
            return pipe.readline()

    async with asyncio.timeout(PATIENCE_S):
        return (await asyncio.to_thread(read)).split()


def program(told: Path, code: str) -> list[str]:
    return [sys.executable, "-c", TELL + code, str(told)]


def lives(pid: str) -> bool:
    return Path(f"/proc/{pid}").exists()


@contextlib.asynccontextmanager
async def running(page: CompanionProcess) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(page.run())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_it_is_started_again_when_it_ends(told: Path) -> None:
    log = Log()
    async with running(
        CompanionProcess("the page", program(told, "sys.exit(3)"), log.logger, entropy=lambda: -0.99)
    ):
        first, _ = await tell(told)
        assert (await log.next("starting it again"))["exit_code"] == 3
        second, _ = await tell(told)
    assert first != second


async def test_why_it_ended_is_known_until_it_has_held(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    say = (
        "from tinyssb_node.daemon.shutdown import report_exit_reason as report;"
        "report('The port is taken.', 'Take another.');"
    )
    page = CompanionProcess(
        "the page", program(told, say + "sys.exit(69)"), log.logger, entropy=lambda: -0.99
    )
    assert page.row() == CompanionRow(name="page", problem=None, advice="", ends=0, given_up=False)
    async with running(page):
        await tell(told)
        await log.next("starting it again")
        assert page.row() == CompanionRow(
            name="page",
            problem="The port is taken.",
            advice="Take another.",
            ends=1,
            given_up=False,
        )
        await log.next("started a companion process")
        assert page.row().problem == "The port is taken."
        monkeypatch.setattr(limits, "LINK_SETTLED_S", 0.0)
        assert page.row().problem is None
        await tell(told)


@pytest.mark.parametrize(
    ("code", "said"),
    [("sys.exit(3)", "exit code 3"), ("os.kill(os.getpid(), signal.SIGKILL)", "ended by signal 9")],
)
async def test_one_that_does_not_say_why_it_ended_is_not_well_either(
    told: Path, code: str, said: str
) -> None:
    log = Log()
    page = CompanionProcess("the page", program(told, code), log.logger, entropy=lambda: -0.99)
    async with running(page):
        await tell(told)
        await log.next("starting it again")
        assert said in (page.row().problem or "")


async def test_it_is_ended_with_the_daemon_and_hears_nothing_from_systemd(
    told: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "@somewhere")
    async with running(CompanionProcess("the page", program(told, "sys.stdin.read()"), Log().logger)) as task:
        pid, notified = await tell(told)
        assert (lives(pid), notified, task.done()) == (True, "False", False)
    assert not lives(pid)


async def test_what_starting_again_would_not_put_right_is_left(told: Path) -> None:
    log = Log()
    page = CompanionProcess("the page", program(told, f"sys.exit({int(ExitCode.CONFIG)})"), log.logger)
    async with running(page) as task:
        await tell(told)
        await log.next("until its settings are changed")
        await task
    assert page.row().given_up


async def test_one_that_does_not_end_is_killed(told: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "COMPANION_END_S", 0.05)
    deaf = ["-c", "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + TELL + "signal.pause()"]
    async with running(CompanionProcess("the page", [sys.executable, *deaf, str(told)], Log().logger)):
        pid, _ = await tell(told)
    assert not lives(pid)


async def test_a_program_that_is_not_there_stops_nothing(tmp_path: Path) -> None:
    log = Log()
    page = CompanionProcess("the page", [str(tmp_path / "nothing")], log.logger, entropy=lambda: -0.99)
    async with running(page) as task:
        for _ in range(2):
            await log.next("cannot be started")
        assert not task.done()
        assert page.row().problem == "It cannot be started: No such file or directory."


@pytest.mark.parametrize("words", [("web",), *(subject.process_command for subject in SUBJECTS)])
def test_the_command_is_one_there_is(words: tuple[str, ...]) -> None:
    command = companion_command(Home(Path("/home/ana/.tinyssb")), *words)
    assert build_parser().parse_args(command[3:]).supervised
