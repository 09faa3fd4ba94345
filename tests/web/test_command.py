"""`tinyssb web` from the shell."""

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.processes import PROGRAM, make_home, tinyssb
from tests.web.asking import ask, post
from tinyssb_node.errors import ExitCode
from tinyssb_node.web import command
from tinyssb_node.web.server import bind


@pytest.fixture
def home(tmp_path: Path) -> Path:
    make_home(tmp_path / "home")
    return tmp_path / "home"


@contextlib.contextmanager
def running(home: Path, *, terminal: bool) -> Iterator[str]:
    """The command in a process of its own, on a terminal or not; gives what it prints first: the page's address."""
    ours, theirs = os.openpty() if terminal else os.pipe()
    process = subprocess.Popen(
        [*PROGRAM, "--home", str(home), "web", "--listen", "127.0.0.1:0"],
        stdout=theirs,
    )
    os.close(theirs)
    try:
        yield os.read(ours, 4_096).decode()
    finally:
        os.close(ours)
        process.terminate()
        process.wait(timeout=10)


@pytest.mark.parametrize("terminal", [True, False])
def test_other_accounts_of_this_machine_read_nothing_and_its_user_needs_only_the_link(
    home: Path, *, terminal: bool
) -> None:
    with running(home, terminal=terminal) as printed:
        match = re.search(r"http://127\.0\.0\.1:\d+", printed)
        assert match is not None, printed
        address = match[0]
        for path in ("/api/conversations", "/api/messages?conversation=public", "/api/people", "/api/events"):
            assert ask(address, path).status == 401
        token = (home / "web.token").read_text().strip()
        assert (f"{address}/#token={token}" in printed) == terminal, "in a journal others could read it"
        cookie = post(address, "/api/login", {"token": token}).headers["set-cookie"].partition(";")[0]
        assert ask(address, "/api/people", headers={"cookie": cookie}).status == 200


def test_the_link_has_the_token_and_a_code_for_the_camera(home: Path) -> None:
    ended = tinyssb(home, "web", "--listen", "192.0.2.7:8780", "--link")
    token = (home / "web.token").read_text().strip()
    assert ended.returncode == 0
    assert f"http://192.0.2.7:8780/#token={token}".encode() in ended.stdout
    assert "█" in ended.stdout.decode()
    assert tinyssb(home, "web", "--listen", "192.0.2.7:8780", "--link").stdout == ended.stdout


@pytest.mark.parametrize("text", ["8780", "x:y", "1:2:3", "127.0.0.1:99999"])
def test_what_is_no_address_is_refused(home: Path, text: str) -> None:
    ended = tinyssb(home, "web", "--listen", text)
    assert (ended.returncode, text.encode() in ended.stderr) == (ExitCode.USAGE, True)


def test_a_taken_port_is_said(home: Path) -> None:
    with bind("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        ended = tinyssb(home, "web", "--listen", f"127.0.0.1:{port}")
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"Choose another port with --listen" in ended.stderr


def test_a_missing_library_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    ended = tinyssb(home, "web")
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"pip install '" in ended.stderr
    assert b" 'starlette>=" in ended.stderr


def test_a_token_is_not_written_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    command.print_address(("192.0.2.7", 80), "secret-token-0000", show_token=False)
    told = capsys.readouterr().out
    assert "secret" not in told
    assert "tinyssb web --link" in told


def test_a_map_that_cannot_be_used_is_named_in_the_log_and_the_page_is_served(home: Path) -> None:
    with (home / "config.toml").open("a") as config:
        config.write('[web]\nmap = "alps.pmtiles"\n')
    with subprocess.Popen(
        [*PROGRAM, "--home", str(home), "web", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert b"The page is at" in process.stdout.readline()
        said = process.stderr.readline().decode()
        process.terminate()
    assert str(home / "alps.pmtiles") in said
    assert "No such file" in said
