"""The daemon itself is killed by SIGKILL, again and again, while it publishes and replicates with another one."""

import os
import random
import select
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.daemon.processes import PATIENCE_S, PROGRAM, RunningDaemon, daemon, make_home
from tests.torture.checks import BrokenError, check_home
from tests.torture.shim import build, environment
from tests.torture.victim import Claim
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.daemon.setup import node_name
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.store.sqlite import SqliteStore

KILLS_A_LIFE: Final = 25
"""Kills of one home, after which a fresh one is taken: checking all of it after each kill gets dearer with its size."""
CALL_MAX: Final = 120
"""Every other kill comes in the middle of a random call that writes, up to this one; a start makes some 25."""
DELAY_MAX_S: Final = 0.15
"""The others come at a random moment up to this long after the daemon was ready."""
PUBLISH_MAX: Final = 200
"""Entries published in one boot, at most."""
CONTENTS: Final = (5, 40, 300, 1_500)
TRIES: Final = 5
"""A check that reads between a commit and its records is done again."""


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@dataclass
class Life:
    """One home over many kills, and the daemon that it replicates with."""

    folder: Path
    seed: int
    number: int
    claims: dict[tuple[FeedId, int], Claim] = field(default_factory=dict)
    kills: int = 0
    feed: FeedId = field(init=False)

    def replay(self) -> str:
        return f"python -m tests.torture kills --seed {self.seed} --life {self.number} --count {self.kills}"

    def play(self, kills: int) -> Iterator[str]:
        """Kill it *kills* times; yields how each came. Raises BrokenError."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        port = free_port()
        make_home(self.folder / "peer", f"ws:listen:127.0.0.1:{port}", name="peer")
        self.feed = make_home(self.folder / "victim", f"ws:connect:127.0.0.1:{port}", name="victim")
        with daemon(self.folder / "peer") as peer:
            for self.kills in range(1, kills + 1):
                yield self._boot_and_kill(peer)
            with daemon(self.folder / "victim") as victim:
                self._check(victim.client())
                code, said = victim.stop()
                if code != 0:
                    raise BrokenError(f"it ended with {code}: {said}")
            self._check(None)

    def _boot_and_kill(self, peer: RunningDaemon) -> str:
        chance = random.Random(f"kill {self.seed} {self.number} {self.kills}")
        at = chance.randint(1, CALL_MAX) if chance.random() < 0.5 else None
        with started(self.folder / "victim", at) as (process, ready):
            if not ready:
                return "while it started"
            with suppress(DaemonUnreachableError):
                self._check(DaemonClient(self.folder / "victim" / "control.sock", timeout_s=PATIENCE_S))
            if at is None:
                timer = threading.Timer(chance.random() * DELAY_MAX_S, process.kill)
                timer.start()
            with peer.client() as other, suppress(DaemonUnreachableError):
                self._load(other, chance)
            if at is not None:
                process.kill()
            process.wait(PATIENCE_S)
        return "by a clock" if at is None else "in a call"

    def _load(self, peer: DaemonClient, chance: random.Random) -> None:
        """Publish here and there, until nobody answers any more."""
        with DaemonClient(self.folder / "victim" / "control.sock", timeout_s=PATIENCE_S) as victim:
            for _ in range(PUBLISH_MAX):
                row = victim.publish(chance.randbytes(chance.choice(CONTENTS)))
                self._claim(Claim(self.feed, row.seq, MessageId(bytes.fromhex(row.id)), row.chunks))
                if chance.random() < 0.3:
                    peer.publish(chance.randbytes(chance.choice(CONTENTS)))

    def _check(self, running: DaemonClient | None) -> None:
        """Everything claimed is there, in a victim that is *running* or ended in order."""
        with closing(SqliteStore.open_readonly(self.folder / "peer" / "store.sqlite")) as store:
            if store.forks():
                raise BrokenError("the peer saw a fork")
            shown = store.entries(self.feed, 1, 1 << 31) if self._known(store) else []
        for entry in shown:
            self._claim(Claim(entry.feed, entry.seq, entry.id, 0))
        for left in reversed(range(TRIES if running else 1)):
            try:
                check_home(
                    self.folder / "victim",
                    node_name(self.feed),
                    self.claims.values(),
                    Network(),
                    running=running is not None,
                )
                break
            except BrokenError:
                if not left or running is None:
                    raise
                running.status()
        if running is not None:
            running.close()

    def _known(self, store: SqliteStore) -> bool:
        return any(record.feed == self.feed for record in store.feeds())

    def _claim(self, claim: Claim) -> None:
        known = self.claims.get((claim.feed, claim.seq))
        if known is not None and known.id != claim.id:
            raise BrokenError(f"two entries were shown for place {claim.seq} of its feed: a fork")
        if known is None or known.chunks < claim.chunks:
            self.claims[claim.feed, claim.seq] = claim


@contextmanager
def started(home: Path, kill_at: int | None) -> Iterator[tuple[subprocess.Popen[bytes], bool]]:
    """A daemon in *home* that is killed at its call number *kill_at*; and whether it was ready before it died."""
    environ = dict(os.environ)
    if kill_at is not None:
        environ = {**environment(build()), "TORTURE_ROOT": f"{home}/", "TORTURE_KILL": str(kill_at)}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        address = f"tinyssb-torture-{os.getpid()}-{home.parent.name}"
        notifications.bind("\0" + address)
        command = [*PROGRAM, "--home", str(home), "run"]
        process = subprocess.Popen(
            command, env={**environ, "NOTIFY_SOCKET": "@" + address}, stderr=subprocess.PIPE
        )
        try:
            yield process, _ready(process, notifications)
        finally:
            process.kill()
            _, said = process.communicate()
    if process.returncode != -signal.SIGKILL:
        raise BrokenError(f"it was not killed, and ended with {process.returncode}: {said.decode()}")


def _ready(process: subprocess.Popen[bytes], notifications: socket.socket) -> bool:
    """Wait until the daemon is ready, or dead."""
    gone = os.pidfd_open(process.pid)
    try:
        while True:
            able, _, _ = select.select([notifications.fileno(), gone], [], [], PATIENCE_S)
            if not able:
                raise BrokenError("it neither became ready nor ended")
            if gone in able:
                return False
            if b"READY=1" in notifications.recv(4096):
                return True
    finally:
        os.close(gone)
