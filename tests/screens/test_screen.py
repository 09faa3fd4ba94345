"""Output to a terminal: lines as wide as it is, and no character that it lacks."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from pathlib import Path

import pytest
import wcwidth

from tests.cli.talkers import Talkers, make_talkers
from tests.daemon.processes import PATIENCE_S, PROGRAM


@pytest.fixture(scope="module")
def talkers(tmp_path_factory: pytest.TempPathFactory) -> Talkers:
    return make_talkers(tmp_path_factory.mktemp("screen") / "home")


def on_a_terminal(folder: Path, columns: int, *arguments: str) -> list[str]:
    """The lines that a command draws on a terminal of so many columns."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([*PROGRAM, "--home", str(folder), *arguments], stdout=end, stderr=end)
    os.close(end)
    drawn = b""
    while True:
        try:
            got = os.read(terminal, 65_536)
        except OSError:  # Linux says so that the other end is closed.
            break
        if not got:
            break
        drawn += got
    os.close(terminal)
    assert process.wait(PATIENCE_S) == 0, drawn
    return drawn.decode().split("\r\n")


@pytest.mark.parametrize("columns", [24, 40, 80])
def test_no_line_is_broken_by_the_terminal(talkers: Talkers, columns: int) -> None:
    for command in (["chat"], ["thread", "show", "public"], ["search", "owned"]):
        lines = on_a_terminal(talkers.folder, columns, *command)
        assert len(lines) > 3
        assert [line for line in lines if not 0 <= wcwidth.wcswidth(line) <= columns] == []


def test_where_there_are_few_characters_few_are_used(talkers: Talkers) -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    for command in (["thread", "show", "public"], ["chat"], ["contacts"]):
        ended = subprocess.run(
            [*PROGRAM, "--home", str(talkers.folder), *command], capture_output=True, env=environ, check=True
        )
        assert ended.stdout.isascii()
        assert not ended.stderr
    assert (
        b"+-."
        in subprocess.run(
            [*PROGRAM, "--home", str(talkers.folder), "thread", "show", "public"],
            capture_output=True,
            env=environ,
            check=True,
        ).stdout
    )
