"""Real daemons in processes of their own. They say when they are ready, so nobody has to guess how long that takes."""

import contextlib
import io
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinyssb_node.cli.main import main
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.daemon.setup import create_home
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.home import Home

PATIENCE_S = 20.0
"""How long a test waits for what should come at once, before it fails."""
PROGRAM = [sys.executable, "-c", "import sys; from tinyssb_node.cli.main import main; sys.exit(main())"]


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    returncode: int
    stdout: bytes
    stderr: bytes


def tinyssb(home: Path, *arguments: str, stdin: bytes = b"") -> Ended:
    """Run one command to its end, in this process: ten times as quick as in one of its own."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(stdin))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code: object = main(["--home", str(home), *arguments])
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdin = before
    assert isinstance(code, int)
    return Ended(code, _written(out), _written(err))


def _written(file: io.TextIOWrapper) -> bytes:
    file.flush()
    buffer = file.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue()


@dataclass
class RunningDaemon:
    """A daemon that is ready."""

    home: Path
    process: subprocess.Popen[bytes]
    notifications: socket.socket

    def client(self) -> DaemonClient:
        return DaemonClient(self.home / "control.sock", timeout_s=PATIENCE_S)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal; return the exit code and what was logged."""
        self.process.send_signal(number)
        _, logged = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, logged.decode()


def make_home(root: Path, *faces: str, name: str = "test", dialect: Dialect = Dialect.SPEC) -> FeedId:
    """A home with *faces*, none without any: nothing leaves this machine by accident."""
    feed = create_home(Home(root), name, dialect, faces or ("ws:listen:127.0.0.1:0",))
    if not faces:
        config = root / "config.toml"
        config.write_text(f'name = "{name}"\nfaces = []\n')
    return feed


@contextlib.contextmanager
def daemon(
    home: Path, *, program: Sequence[str] = PROGRAM, environ: Mapping[str, str] | None = None
) -> Iterator[RunningDaemon]:
    """Run the node in *home*; kill it if the test did not stop it. *environ* is added to the environment."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        # Abstract: a path under pytest's folders may be too long for a socket.
        address = f"tinyssb-test-{os.getpid()}-{home.name}"
        notifications.bind("\0" + address)
        notifications.settimeout(PATIENCE_S)
        process = subprocess.Popen(
            [*program, "--home", str(home), "run"],
            env={**os.environ, **(environ or {}), "NOTIFY_SOCKET": "@" + address},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        try:
            assert b"READY=1" in notifications.recv(4096)
            yield RunningDaemon(home, process, notifications)
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
            elif process.stderr is not None:
                process.stderr.close()
