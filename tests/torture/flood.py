"""`python -m tests.torture.flood`: strangers fill the disks of two real daemons, which have to go on (decision 0063).

Two daemons, each on a small disk of its own, are linked over WebSocket; the second follows the first. Strangers connect
to the first one's open listener, name id after id, and send entries of each as fast as it takes them.
"""

import argparse
import asyncio
import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from tests.daemon.processes import RunningDaemon, daemon, make_home, tinyssb
from tests.nodes import key_of
from tests.torture.checks import BrokenError
from tests.torture.kills import free_port
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, serialize_feeds
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FeedId

STRANGERS: Final = 2
"""Connections that flood at a time."""
ENTRIES_MAX: Final = 4_000
"""Entries of one made-up feed."""
FRIEND: Final = 300
"""Entries of the second node's owner before the flood, which the first node has to keep."""
EVERY_S: Final = 0.5
"""Time between two entries that the owners publish meanwhile."""


@dataclass
class Flood:
    """One run."""

    folder: Path
    seconds: float
    mib: int
    sent: int = 0
    feeds: int = 0
    publish_s: list[float] = field(default_factory=list)
    least_free: int = 2**60

    def run(self) -> str:
        """Flood, and check. Returns what to print. Raises BrokenError."""
        with small_disk(self.folder / "ana", self.mib), small_disk(self.folder / "ben", self.mib):
            return self._run(self.folder / "ana" / "ana", self.folder / "ben" / "ben")

    def _run(self, ana_home: Path, ben_home: Path) -> str:
        port = free_port()
        ana_feed = make_home(ana_home, f"ws:listen:127.0.0.1:{port}", name="ana")
        ben_feed = make_home(ben_home, f"ws:connect:127.0.0.1:{port}", name="ben")
        with daemon(ana_home) as ana, daemon(ben_home) as ben:
            with ana.client() as client:
                client.follow(ben_feed.hex())
            with ben.client() as client:
                client.follow(ana_feed.hex())
                for number in range(FRIEND):
                    client.publish(f"before {number}".encode())
            rss = memory_of(ana)
            asyncio.run(self._flood(port, ana, ben))
            grown = memory_of(ana) - rss
            self._check(ana_home, ana, ben_feed)
            self._check(ben_home, ben, ana_feed)
            rows = max(self._own(running) for running in (ana, ben))
            for running in (ana, ben):
                code, said = running.stop()
                if code != 0:
                    raise BrokenError(f"it ended with {code}: {said}")
        p95 = statistics.quantiles(self.publish_s, n=20)[-1] if len(self.publish_s) > 1 else 0.0
        return (
            f"flood: {self.sent:,} entries of {self.feeds} made-up feeds in {self.seconds:.0f} s; {rows} own entries; "
            f"publish p95 {1_000 * p95:.0f} ms; at least {self.least_free / 2**20:.1f} MiB of {self.mib} were free; "
            f"memory grew by {grown / 2**20:.1f} MiB"
        )

    def _own(self, running: RunningDaemon) -> int:
        with running.client() as client:
            return max(row.seq for row in client.feeds() if row.own)

    # --- strangers

    async def _flood(self, port: int, ana: RunningDaemon, ben: RunningDaemon) -> None:
        end = time.monotonic() + self.seconds
        tasks = [asyncio.create_task(self._stranger(port, number, end)) for number in range(STRANGERS)]
        while time.monotonic() < end:
            await asyncio.sleep(EVERY_S)
            for running in (ana, ben):
                await asyncio.to_thread(self._publish, running)
                self.least_free = min(self.least_free, shutil.disk_usage(running.home).free)
        await asyncio.gather(*tasks)

    def _publish(self, running: RunningDaemon) -> None:
        began = time.monotonic()
        with running.client() as client:
            client.publish(b"meanwhile")
        self.publish_s.append(time.monotonic() - began)

    async def _stranger(self, port: int, number: int, end: float) -> None:
        made = 0
        while time.monotonic() < end:
            with contextlib.suppress(OSError, ConnectionClosed):
                async with connect(f"ws://127.0.0.1:{port}/", proxy=None) as peer:
                    reading = asyncio.create_task(_read_all(peer))
                    while time.monotonic() < end:
                        made += 1
                        self.feeds += 1
                        key = key_of(f"stranger {number} {made}")
                        await peer.send(
                            serialize_feeds(Network().goset_dmx, Feeds((key.feed_id,), more=True))
                        )
                        for packet in entries_of(key, ENTRIES_MAX):
                            await peer.send(packet)
                            self.sent += 1
                            if self.sent % 32 == 0:
                                await asyncio.sleep(0)
                            if time.monotonic() >= end:
                                break
                    reading.cancel()

    # --- checks

    def _check(self, home: Path, running: RunningDaemon, friend: FeedId) -> None:
        """Everything that the promise names works, and nothing that somebody follows was lost."""
        with running.client() as client:
            status, feeds = client.status(), {row.feed: row for row in client.feeds()}
        if status.read_only is not None:
            raise BrokenError(f"{home} is read-only: {status.read_only}")
        if feeds[friend.hex()].seq < (FRIEND if home.parent.name == "ana" else 1):
            raise BrokenError(f"{home} lost entries of a feed that is followed")
        self._does(home, "chat", "say", "still here")
        strangers = [row for row in feeds.values() if not row.own and row.feed != friend.hex() and row.seq]
        if strangers:
            self._does(home, "block", strangers[0].feed)

    def _does(self, home: Path, *command: str) -> None:
        ended = tinyssb(home, *command)
        if ended.returncode:
            raise BrokenError(f"tinyssb {' '.join(command)}: {(ended.stderr + ended.stdout).decode()}")


async def _read_all(peer: object) -> None:
    async for _ in peer:  # type: ignore[attr-defined] # a connection
        pass


def entries_of(key: SigningKey, count: int) -> Iterator[bytes]:
    """Entries of a made-up feed, one after the other."""
    tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
    for number in range(count):
        entry = compose(Network(), key, tip, f"junk {number}".encode())
        tip = entry.extended.tip
        yield entry.packet


def memory_of(running: RunningDaemon) -> int:
    """Bytes of memory that a daemon has."""
    lines = Path(f"/proc/{running.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


@contextlib.contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[None]:
    """A disk of *mib* in memory at *folder*."""
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def unshared(arguments: Sequence[str]) -> list[str]:
    """The command that runs *arguments* where it may mount disks."""
    return ["unshare", "--mount", *(["--user", "--map-root-user"] if os.geteuid() else []), *arguments]


def main() -> int:
    """Run once. Returns 1 if a rule was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture.flood", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--mib", type=int, default=48, help="size of each disk")
    parser.add_argument("--mounts", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if not asked.mounts:
        again = [sys.executable, "-m", "tests.torture.flood", "--mounts"]
        again += ["--seconds", str(asked.seconds), "--mib", str(asked.mib)]
        return subprocess.run(unshared(again), check=False).returncode
    with tempfile.TemporaryDirectory(prefix="tinyssb-flood-") as folder:
        try:
            print(Flood(Path(folder), asked.seconds, asked.mib).run(), flush=True)
        except BrokenError as error:
            print(f"BROKEN: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
