"""A node's log, a shipper and a collector in processes of their own, and a broker between them."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.daemon.processes import PROGRAM
from tests.mosquitto import Mosquitto
from tinyssb_node.daemon.setup import create_home, node_name
from tinyssb_node.ids import Dialect
from tinyssb_node.store.home import Home

PATIENCE_S = 60.0
"""How long a step may take on a busy machine: several processes start, and wait before they try again."""
SINK = [sys.executable, "-m", "spark_sink.cli"]


def until(done: Callable[[], object], what: str) -> None:
    """Wait for *done*."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < deadline_s, what
        time.sleep(0.02)


class Node:
    """A home with a log that grows when it is told to."""

    def __init__(self, root: Path, broker: str, settings: str = "") -> None:
        self.root = root
        self.name = node_name(create_home(Home(root), "hut", Dialect.SPEC, ("ws:listen:127.0.0.1:0",)))
        self.folder = root / "events" / self.name
        self.folder.mkdir(parents=True)
        self.say(f'broker = "{broker}"\nevery_s = 1\n{settings}')
        self._random = random.Random(self.name)

    def say(self, settings: str) -> None:
        (self.root / "config.toml").write_text(f"faces = []\n[ship]\n{settings}\n")

    def grow(self, boot: int, first: int, size: int) -> None:
        path = self.folder / f"{boot:08d}-{first:012d}.jsonl"
        with path.open("ab") as file:
            file.write(self._random.randbytes(size // 2).hex().encode() + b"\n")

    def log(self) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in sorted(self.folder.iterdir())}

    @contextmanager
    def shipper(self) -> Iterator[subprocess.Popen[bytes]]:
        with _process([*PROGRAM, "--home", str(self.root), "ship", "run"]) as process:
            yield process


@contextmanager
def collector(broker: str, logs: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """One that has subscribed, or was refused."""
    command = [*SINK, "collect", broker, str(logs), "--keep-free-mb", "1", *options]
    with _process(command) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "it says what it does"
        yield process


@contextmanager
def _process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    environ = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ) as process:
        try:
            yield process
        finally:
            process.kill()


def end(process: subprocess.Popen[bytes]) -> tuple[int, str]:
    """Tell it to stop; its exit code and what it said."""
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said.decode()


def spec(broker: Mosquitto) -> str:
    """As the node takes it."""
    return f"mqtt:{broker.host}:{broker.port}"


def address(broker: Mosquitto) -> str:
    """As the collector takes it."""
    return f"mqtt://{broker.host}:{broker.port}"


def landed(logs: Path, node: Node) -> dict[str, bytes]:
    folder = logs / node.name
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())} if folder.is_dir() else {}
