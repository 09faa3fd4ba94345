"""The page at rest: its process gives its memory back while nobody looks, and is there for whoever comes."""

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.processes import PATIENCE_S, make_home
from tests.web.asking import ask, post

CODE = """
import functools, sys
from tinyssb_node.web import server
server.serve = functools.partial(server.serve, rest_s=0.2)
from tinyssb_node.cli.main import main; sys.exit(main())
"""
REST_KB_MAX = 15_000
"""Resident memory at rest, with the libraries that all Python programs share: that of a page is three times as much."""


@contextlib.contextmanager
def running(home: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The page, which rests soon; gives its process and address."""
    make_home(home)
    with subprocess.Popen(
        [sys.executable, "-c", CODE, "--home", str(home), "web", "--listen", "127.0.0.1:0", *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            match = re.search(r"http://127\.0\.0\.1:\d+", process.stdout.readline())
            assert match is not None
            yield process, match[0]
        finally:
            process.kill()


def wait_for_rest(process: subprocess.Popen[str]) -> None:
    """Wait until the process is the small program."""
    ends_s = time.monotonic() + PATIENCE_S
    while b"page_waiter" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
        assert process.poll() is None
        assert time.monotonic() < ends_s
        time.sleep(0.02)


def test_a_page_that_nobody_looks_at_gives_its_memory_back_and_serves_whoever_comes(tmp_path: Path) -> None:
    with running(tmp_path / "home") as (process, address):
        for _ in range(2):
            token = (tmp_path / "home" / "web.token").read_text().strip()
            assert post(address, "/api/login", {"token": token}).status == 200
            wait_for_rest(process)
            status = Path(f"/proc/{process.pid}/status").read_text()
            match = re.search(r"VmRSS:\s+(\d+) kB", status)
            assert match is not None
            assert int(match[1]) < REST_KB_MAX
        assert ask(address, "/api/people").status == 401


def test_what_was_published_before_a_rest_is_not_published_again(tmp_path: Path) -> None:
    """The answer was lost on the way, and the phone sends again when it is back."""
    with running(tmp_path / "home") as (process, address):
        token = (tmp_path / "home" / "web.token").read_text().strip()
        cookie = post(address, "/api/login", {"token": token}).headers["set-cookie"].partition(";")[0]
        (tmp_path / "home" / "web-answers.json").write_text(
            '{"version": 1, "answers": [{"once": "once-0001", "answer": {"id": "ab"}}]}'
        )
        wait_for_rest(process)
        body = {"conversation": "public", "text": "Hi", "once": "once-0001"}
        assert post(address, "/api/say", body, cookie=cookie).json == {"id": "ab"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_at_rest(tmp_path: Path, number: signal.Signals) -> None:
    with running(tmp_path / "home") as (process, _):
        wait_for_rest(process)
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == -number


def test_at_rest_it_ends_with_its_daemon(tmp_path: Path) -> None:
    with running(tmp_path / "home", "--supervised") as (process, _):
        wait_for_rest(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0
