"""The daemon as a process: started, refused, stopped, met by others."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.daemon.processes import PATIENCE_S, PROGRAM, daemon, make_home, tinyssb
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import EndpointRow, StatusRow
from tinyssb_node.daemon.process import run_daemon
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.errors import ExitCode, StoreFailedError
from tinyssb_node.store.home import Home


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def come_and_go(port: int) -> None:
    """Connect to the WebSocket listener at *port*, once it listens, and leave."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            with connect(f"ws://127.0.0.1:{port}/", proxy=None):
                return
        except ConnectionRefusedError:
            assert time.monotonic() < until_s


def records(home: Path) -> list[dict[str, object]]:
    lines = [line for path in sorted(home.glob("events/*/*.jsonl")) for line in path.read_text().splitlines()]
    return [json.loads(line) for line in lines]


def test_sigterm_ends_a_boot_in_order(tmp_path: Path) -> None:
    make_home(tmp_path / "a")
    with daemon(tmp_path / "a") as running:
        with running.client() as node:
            node.publish(b"kept")
        code, logged = running.stop()
        assert b"STOPPING=1" in running.notifications.recv(4096)
    assert code == 0, logged
    kinds = [record["kind"] for record in records(tmp_path / "a")]
    assert kinds[0] == "start"
    assert kinds[-1] == "stop"
    assert "entry" in kinds
    assert not (tmp_path / "a" / "control.sock").exists()
    with daemon(tmp_path / "a") as running:
        with running.client() as node:
            assert [row.content for row in node.log("me")] == [b"kept".hex()]
            assert node.status().boot == 2
        assert running.stop(signal.SIGINT)[0] == 0
    starts = [record for record in records(tmp_path / "a") if record["kind"] == "start"]
    assert [record["clean"] for record in starts] == [True, True]


def test_what_was_published_survives_a_kill_and_is_in_the_log(tmp_path: Path) -> None:
    make_home(tmp_path / "a")
    with daemon(tmp_path / "a") as running:
        with running.client() as node:
            node.publish(b"kept")
        assert running.stop(signal.SIGKILL)[0] == -signal.SIGKILL
    with daemon(tmp_path / "a") as running, running.client() as node:
        assert [row.content for row in node.log("me")] == [b"kept".hex()]
    entries = {record["arrival"] for record in records(tmp_path / "a") if record["kind"] == "entry"}
    assert entries == {1}
    assert [record["clean"] for record in records(tmp_path / "a") if record["kind"] == "start"] == [
        True,
        False,
    ]


def test_two_daemons_exchange_what_is_published(tmp_path: Path) -> None:
    port = free_port()
    make_home(tmp_path / "a", f"ws:listen:127.0.0.1:{port}")
    make_home(tmp_path / "b", f"ws:connect:127.0.0.1:{port}")
    with daemon(tmp_path / "a") as first, daemon(tmp_path / "b") as second:
        with first.client() as ana, second.client() as ben:
            small = ana.publish(b"hello")
            ben.follow(small.feed)
            rows = iter(ben.log(small.feed, follow=True))
            assert next(rows).content == b"hello".hex()
            large = ana.publish(bytes(range(256)) * 4)
            assert large.chunks == 10
            assert next(rows).seq == large.seq
        with second.client() as ben:
            faces = list(ben.faces())
            assert faces[0].new > 0
            seen = wait_for_content(ben, small.feed, large.seq)
            assert seen == bytes(range(256)) * 4
        assert first.stop()[0] == 0
        assert second.stop()[0] == 0


def wait_for_content(node: DaemonClient, feed: str, seq: int) -> bytes:
    """The content of an entry, once its side chain is whole. Each question waits for the daemon's next turn."""
    for _ in range(100_000):
        row = node.show(feed, seq)
        if row.content is not None:
            assert row.signature == "good"
            return bytes.fromhex(row.content)
    raise AssertionError("the side chain never became whole")


def test_a_daemon_whose_log_nobody_reads_goes_on(tmp_path: Path) -> None:
    port = free_port()
    make_home(tmp_path / "a", f"ws:listen:127.0.0.1:{port}")
    with daemon(tmp_path / "a") as running:
        log = os.open(f"/proc/{running.process.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(log, b"." * 4_095 + b"\n")
        os.close(log)
        # A stranger that comes and goes is two lines in the log.
        come_and_go(port)
        with running.client() as node:
            node.publish(b"goes on")
            assert node.status().entries == 1
        code, logged = running.stop()
    assert code == 0
    assert "face up" in logged, "it was written once there was room"


def test_a_second_daemon_is_refused_and_says_who_is_there(tmp_path: Path) -> None:
    make_home(tmp_path / "a")
    with daemon(tmp_path / "a") as running:
        refused = tinyssb(tmp_path / "a", "run")
        assert refused.returncode == ExitCode.BUSY
        assert str(running.process.pid) in refused.stderr.decode()
        assert running.stop()[0] == 0


def test_an_identity_others_can_read_is_refused(tmp_path: Path) -> None:
    make_home(tmp_path / "a")
    (tmp_path / "a" / "identity").chmod(0o640)
    refused = tinyssb(tmp_path / "a", "run")
    assert refused.returncode == ExitCode.PERMISSION
    assert "chmod 600" in refused.stderr.decode()


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ('nmae = "x"', ["nmae", "name"]),
        ("faces = 7", ["faces", "7", "list"]),
        ('faces = ["upd:239.5.5.8:1558"]', ["upd:239.5.5.8:1558", "udp:GROUP:PORT"]),
        ('faces = ["ether:h:1?name=a", "ether:g:1?name=a"]', ["ether:g:1?name=a", "same name"]),
        (
            'faces = ["ether:h:1?name=a&region=US915&plan=US915.a"]',
            ["neither as frequency hopping", "904.6 MHz, 500 kHz, SF7 (US915.c of fw2025)"],
        ),
        (
            'faces = ["ether:h:1?name=a&region=EU868&frequency=868.3&power=20&gain=5"]',
            ["20 dBm on an antenna of 5 dBi is more than 14 dBm ERP", "11 dBm or less"],
        ),
        ("name = [", ["TOML"]),
    ],
)
def test_a_wrong_configuration_stops_it_with_78(tmp_path: Path, config: str, words: list[str]) -> None:
    make_home(tmp_path / "a")
    (tmp_path / "a" / "config.toml").write_text(config)
    refused = tinyssb(tmp_path / "a", "run")
    assert refused.returncode == ExitCode.CONFIG
    told = refused.stderr.decode()
    assert str(tmp_path / "a" / "config.toml") in told
    assert [word for word in words if word not in told] == []


def test_a_face_that_cannot_be_opened_leaves_the_others_alone(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        spec = f"ws:listen:127.0.0.1:{taken.getsockname()[1]}"
        make_home(tmp_path / "a", spec, "ws:listen:127.0.0.1:0?name=free")
        with daemon(tmp_path / "a") as running, running.client() as node:
            until_s = time.monotonic() + PATIENCE_S
            # The daemon answers before it has tried to open its faces.
            while not (problems := {row.spec: row.problem for row in node.status().endpoints})[spec]:
                assert time.monotonic() < until_s
    assert problems["ws:listen:127.0.0.1:0?name=free"] is None


def test_a_whole_life_in_this_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    status: list[StatusRow] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        address = f"tinyssb-test-whole-{os.getpid()}"
        notifications.bind("\0" + address)
        notifications.settimeout(PATIENCE_S)
        monkeypatch.setenv("NOTIFY_SOCKET", "@" + address)

        def use_and_stop() -> None:
            notifications.recv(4096)
            with DaemonClient(tmp_path / "a" / "control.sock") as node:
                node.publish(b"x")
                status.append(node.status())
            signal.raise_signal(signal.SIGTERM)

        user = threading.Thread(target=use_and_stop)
        user.start()
        assert run_daemon(Home(tmp_path / "a")) == ExitCode.OK
        user.join(PATIENCE_S)
    (row,) = status
    assert (row.entries, row.arrivals, row.boot, row.read_only) == (1, 1, 1, None)
    assert row.endpoints == [EndpointRow(spec="ws:listen:127.0.0.1:0", problem=None, turned_away=0)]
    assert records(tmp_path / "a")[-1]["reason"] == "SIGTERM"


def test_a_fault_of_the_program_is_logged_and_ends_with_70(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken(_runtime: Runtime) -> None:
        raise ZeroDivisionError("a bug")

    make_home(tmp_path / "a")
    monkeypatch.setattr(Runtime, "run", broken)
    with pytest.raises(SystemExit) as end:
        run_daemon(Home(tmp_path / "a"))
    assert end.value.code == ExitCode.SOFTWARE
    told = capsys.readouterr().err
    assert "please report it" in told
    assert "a bug" in told


def test_a_disk_that_fails_ends_it_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(_runtime: Runtime) -> None:
        raise StoreFailedError("input/output error")

    make_home(tmp_path / "a")
    monkeypatch.setattr(Runtime, "run", broken)
    with pytest.raises(StoreFailedError, match="input/output"):
        run_daemon(Home(tmp_path / "a"))


def test_a_home_that_is_none_is_named(tmp_path: Path) -> None:
    refused = tinyssb(tmp_path / "nothing", "run")
    assert refused.returncode == ExitCode.MISSING
    assert "tinyssb init" in refused.stderr.decode()


def test_the_service_manager_gets_signs_of_life(tmp_path: Path) -> None:
    make_home(tmp_path / "a")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        address = f"tinyssb-test-life-{os.getpid()}"
        notifications.bind("\0" + address)
        notifications.settimeout(PATIENCE_S)
        environ = {**os.environ, "NOTIFY_SOCKET": "@" + address, "WATCHDOG_USEC": "20000"}
        command = [*PROGRAM, "--home", str(tmp_path / "a"), "run"]
        with subprocess.Popen(command, env=environ, stderr=subprocess.DEVNULL) as process:
            said = [notifications.recv(4096) for _ in range(5)]
            process.terminate()
            assert process.wait(PATIENCE_S) == 0
    assert said.count(b"WATCHDOG=1") >= 3
