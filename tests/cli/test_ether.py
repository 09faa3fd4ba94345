"""`tinyssb ether`: run, asked, cut, healed, stopped."""

import contextlib
import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.processes import PATIENCE_S, PROGRAM, tinyssb
from tinyssb_node.errors import ExitCode


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """The port of an ether that runs."""
    with subprocess.Popen([*PROGRAM, "ether", "--port", "0"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        found = re.search(rb"127\.0\.0\.1:(\d+)", process.stdout.readline())
        assert found is not None
        yield found[1].decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


@pytest.fixture(scope="module")
def nodes(port: str) -> Iterator[None]:
    """Nodes on it: ana, ben and eva."""
    with contextlib.ExitStack() as stack:
        for name in ("ana", "ben", "eva"):
            node = stack.enter_context(socket.create_connection(("127.0.0.1", int(port)), PATIENCE_S))
            node.sendall(json.dumps({"t": "hello", "version": 1, "name": name}).encode() + b"\n")
            assert b"welcome" in node.recv(4_096)
        yield


def state(port: str, *action: str) -> dict[str, object]:
    ended = tinyssb(Path("/unused"), "ether", "--port", port, "--json", *action)
    assert ended.returncode == 0, ended.stderr.decode()
    row: dict[str, object] = json.loads(ended.stdout)
    return row


@pytest.mark.usefixtures("nodes")
def test_cuts_are_made_shown_and_healed(port: str) -> None:
    assert state(port, "status")["cuts"] == []
    assert state(port, "cut", "ana,ben", "eva")["cuts"] == [[["ana", "ben"], ["eva"]]]
    shown = tinyssb(Path("/unused"), "ether", "--port", port, "status").stdout.decode()
    assert shown.startswith("NODE")
    assert "cut: ana, ben | eva" in shown
    assert state(port, "heal")["cuts"] == []


def test_an_address_in_use_is_told(port: str) -> None:
    ended = tinyssb(Path("/unused"), "ether", "--port", port)
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert port in ended.stderr.decode()


@pytest.mark.usefixtures("nodes")
@pytest.mark.parametrize("sides", [("ana", "nobody"), ("nobody", "ana,ben"), ("ana,nobody", "eva")])
def test_nobody_is_cut_off_whom_there_is_not(port: str, sides: tuple[str, str]) -> None:
    ended = tinyssb(Path("/unused"), "ether", "--port", port, "cut", *sides)
    assert ended.returncode == ExitCode.MISSING
    assert b"has the name 'nobody'" in ended.stderr
    assert b"Nodes on the ether: ana, ben, eva." in ended.stderr
    assert state(port, "status")["cuts"] == []


@pytest.mark.usefixtures("nodes")
def test_what_the_ether_refuses_is_told(port: str) -> None:
    ended = tinyssb(Path("/unused"), "ether", "--port", port, "cut", "ana", "ana")
    assert ended.returncode == ExitCode.DATA
    assert "ether" in ended.stderr.decode().lower()


def test_without_an_ether_it_says_how_to_start_one() -> None:
    ended = tinyssb(Path("/unused"), "ether", "--port", "1", "status")
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert "tinyssb ether" in ended.stderr.decode()
