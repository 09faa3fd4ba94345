"""Processes of the demonstration; a user could start each of them by hand."""

import asyncio
import os
import shlex
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from tinyssb_node.cli.demo.valley import PLACES, links
from tinyssb_node.codec.bipf import encode
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.daemon.config import read_config
from tinyssb_node.daemon.setup import create_home
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.faces.ether_protocol import Command
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.sim.ether import ether_command
from tinyssb_node.store.home import Home

NAMES: Final = tuple(PLACES)
"""The nodes."""
_START_S: Final = 60.0
"""How long a process may take to answer."""
_STOP_S: Final = 10.0
"""How long a process may take to end before it is killed."""
_POLL_S: Final = 0.1
_MARKER: Final = ".tinyssb-demo"
"""A file that marks a folder of a demonstration, which the next one may delete."""


@dataclass(slots=True)
class DemoNode:
    """One node of the mesh, and what it published."""

    name: str
    home: Home
    feed: FeedId
    published: int = 0

    def client(self) -> DaemonClient:
        """Connect to its daemon."""
        return DaemonClient(read_config(self.home).control.socket)


@dataclass(slots=True)
class _Process:
    name: str
    popen: subprocess.Popen[bytes]
    log: Path


@dataclass(slots=True)
class DemoMesh:
    """Everything that runs. Call ``start``, and ``stop`` in any case."""

    folder: Path
    page_port: int
    engine: str = "local"
    """Engine that reads the logs: ``local``, or ``spark``, which needs Java and some more seconds."""
    ether_port: int = field(default_factory=lambda: free_port(0))
    members: dict[str, DemoNode] = field(default_factory=dict)
    _processes: list[_Process] = field(default_factory=list)

    @property
    def tables(self) -> Path:
        """The serving database."""
        return self.folder / "tables.sqlite"

    @property
    def page(self) -> str:
        """The address of the page."""
        return f"http://127.0.0.1:{self.page_port}"

    @property
    def page_again(self) -> str:
        """The command that serves the page of what was recorded."""
        tool, tables = (os.path.relpath(path) for path in (_beside_us("tinyssb-sink"), self.tables))
        return shlex.join([tool, "serve", "--db", tables])

    @property
    def caption(self) -> Path:
        """The file whose text the page shows above everything else."""
        return self.folder / "caption.txt"

    def start(self) -> None:
        """Start all of it, the sink first because it takes longest. Raises ProblemError."""
        empty_folder(self.folder)
        (self.folder / "logs").mkdir()
        (self.folder / "nodes").mkdir()
        tool = _beside_us("tinyssb-sink")
        self.run("sink", [tool, "run", self.folder / "nodes", "--db", self.tables, "--engine", self.engine])
        serve: list[str | Path] = [tool, "serve", "--db", self.tables, "--port", str(self.page_port)]
        self.run("page", [*serve, "--caption", self.caption])
        self.run("ether", [_beside_us("tinyssb"), "ether", "--port", str(self.ether_port)])
        self._wait("the ether", lambda: _answers(self.ether_port))
        for link in links():
            self.ether(link)
        for name in NAMES:
            self._add(name)
        for member in self.members.values():
            self._wait(f"the node {member.name}", partial(_is_up, member))
        self._wait("the page", lambda: _answers(self.page_port))

    def _add(self, name: str) -> None:
        """Make a node of the valley, with a radio that keeps the law of its region, and start it."""
        home = Home(self.folder / "nodes" / name)
        face = f"ether:127.0.0.1:{self.ether_port}?name={name}&region=EU868"
        self.members[name] = DemoNode(name, home, create_home(home, name, Dialect.SPEC, (face,)))
        latitude, longitude = PLACES[name]
        with home.config.open("a", encoding="utf-8") as config:
            config.write(f"latitude = {latitude}\nlongitude = {longitude}\n")
        self._start_node(name)

    def _start_node(self, name: str) -> None:
        self.run(name, [_beside_us("tinyssb"), "--home", self.members[name].home.root, "run"])

    def kill(self, name: str) -> None:
        """Switch a node off in the middle of its work, as a power cut does (SIGKILL)."""
        (process,) = (one for one in self._processes if one.name == name)
        self._processes.remove(process)
        process.popen.kill()
        process.popen.wait()

    def runs(self, name: str) -> bool:
        """Return whether a node was started, and not killed since."""
        return any(one.name == name for one in self._processes)

    def restart(self, name: str) -> None:
        """Start a node again from what it has on its disk. Raises ProblemError if it does not answer."""
        self._start_node(name)
        self._wait(f"the node {name}", partial(_is_up, self.members[name]))

    def show(self, text: str) -> None:
        """Put *text* at the top of the page."""
        fresh = self.caption.with_suffix(".new")
        fresh.write_text(text, "utf-8")
        fresh.replace(self.caption)

    def run(self, name: str, command: list[str | Path]) -> None:
        """Start a program; its output goes to a log of its own."""
        log = self.folder / "logs" / f"{name}.log"
        with log.open("ab") as output:
            popen = subprocess.Popen(  # noqa: S603 - our own programs, arguments of ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                # A process group of its own: only we get the terminal's Ctrl-C, and end the others in order.
                start_new_session=True,
            )
        self._processes.append(_Process(name, popen, log))

    def _wait(self, what: str, ready: Callable[[], bool]) -> None:
        deadline_s = time.monotonic() + _START_S
        while not ready():
            self.check()
            if time.monotonic() > deadline_s:
                raise ProblemError(
                    f"{what[:1].upper()}{what[1:]} did not answer within {_START_S:.0f} seconds.",
                    f"Read the logs in {self.folder / 'logs'}.",
                    exit_code=ExitCode.SOFTWARE,
                )
            time.sleep(_POLL_S)

    def check(self) -> None:
        """Check that every process still runs. Raises ProblemError."""
        for process in self._processes:
            if process.popen.poll() is not None:
                tail = process.log.read_text("utf-8", "replace").strip().splitlines()[-3:]
                raise ProblemError(
                    f"The process {process.name} ended unexpectedly: {' / '.join(tail) or 'it printed nothing'}",
                    f"Read {process.log}.",
                    exit_code=ExitCode.SOFTWARE,
                )

    def ether(self, command: Command) -> None:
        """Send a command to the channel, as `tinyssb ether` would."""
        asyncio.run(ether_command("127.0.0.1", self.ether_port, command))

    def post_text(self, name: str, text: str) -> None:
        """Publish *text* by a node; it is on the node's disk when this returns."""
        member = self.members[name]
        with member.client() as client:
            client.publish(encode(text))
        member.published += 1

    def stop(self) -> None:
        """End all processes, the last started first."""
        for process in reversed(self._processes):
            process.popen.terminate()
        for process in reversed(self._processes):
            try:
                process.popen.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()
        self._processes.clear()


def empty_folder(folder: Path) -> None:
    """Create *folder* anew if an earlier demonstration left it. Raises ProblemError for any other folder."""
    marker = folder / _MARKER
    if folder.exists():
        if not marker.exists() and any(folder.iterdir()):
            raise ProblemError(
                f"{folder} has files that are not of a demonstration. Nothing was changed.",
                "Choose another folder: tinyssb demo --folder FOLDER",
                exit_code=ExitCode.SOFTWARE,
            )
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    marker.touch()


def free_port(wanted: int) -> int:
    """Return *wanted* if no program listens there, else any free port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _is_up(member: DemoNode) -> bool:
    try:
        with member.client() as client:
            return client.status().faces > 0
    except DaemonUnreachableError:
        return False


def _beside_us(tool: str) -> Path:
    """Return the path of a program installed with this one. Raises ProblemError."""
    path = Path(sys.executable).with_name(tool)
    if not os.access(path, os.X_OK):
        raise ProblemError(
            f"{tool} is not installed.",
            "In the copy of the source, `make demo` installs it; of a release, install the wheel tinyssb_sink, too.",
            exit_code=ExitCode.SOFTWARE,
        )
    return path
