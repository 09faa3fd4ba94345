"""`python -m tests.torture.flood`: strangers fill the disks of two real daemons, which have to go on (decision 0063).

Two daemons, each on a small disk of its own, are linked over WebSocket, and follow each other. Strangers in processes
of their own connect to the first one's open listener, name id after id, and send entries of each as fast as it takes
them. Meanwhile the owners publish, and run `chat say`, `block` and `purge`.
"""

import argparse
import contextlib
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Final

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.daemon.processes import RunningDaemon, daemon, make_home, tinyssb
from tests.nodes import key_of
from tests.torture.checks import BrokenError
from tests.torture.kills import free_port
from tests.torture.resources import memory_of, p95_ms
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, serialize_feeds
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FeedId

STRANGERS: Final = 2
"""Processes that flood at a time."""
ENTRIES_MAX: Final = 4_000
"""Entries of one made-up feed."""
FEEDS_A_LINK: Final = 32
"""Made-up feeds after which a stranger connects anew, as a face that nothing is known of."""
FRIEND: Final = 300
"""Entries of each owner before the flood, which the other node has to keep."""
EVERY_S: Final = 0.5
"""Time between two entries that each owner publishes meanwhile."""
COMMANDS_S: Final = 10.0
"""Time between two rounds of `chat say`, `block` and `purge`."""
REPORT_S: Final = 60.0
"""Time between two lines of progress."""
SETTLE_S: Final = 60.0
"""Longest wait after the flood until each node has all entries of the other."""


@dataclass
class Flood:
    """One run."""

    folder: Path
    seconds: float
    mib: int
    homes: dict[str, Path] = field(default_factory=dict)
    friends: dict[str, FeedId] = field(default_factory=dict)
    took_s: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    least_free: int = 2**60
    begun_s: float = 0.0

    def run(self) -> str:
        """Flood, and check. Returns what to print. Raises BrokenError."""
        with small_disk(self.folder / "ana", self.mib), small_disk(self.folder / "ben", self.mib):
            self.homes = {name: self.folder / name / name for name in ("ana", "ben")}
            return self._run()

    def _run(self) -> str:
        port = free_port()
        ana = make_home(self.homes["ana"], f"ws:listen:127.0.0.1:{port}", name="ana")
        ben = make_home(self.homes["ben"], f"ws:connect:127.0.0.1:{port}", name="ben")
        self.friends = {"ana": ben, "ben": ana}
        with daemon(self.homes["ana"]) as first, daemon(self.homes["ben"]) as second:
            nodes = {"ana": first, "ben": second}
            for name, running in nodes.items():
                with running.client() as client:
                    client.follow(self.friends[name].hex())
                    for number in range(FRIEND):
                        client.publish(f"before {number}".encode())
            self._settle(nodes)
            memory = {name: memory_of(running.process.pid) for name, running in nodes.items()}
            sent, feeds = self._flood(port, nodes)
            grown = max(memory_of(running.process.pid) - memory[name] for name, running in nodes.items())
            kept = self._settle(nodes)
            for name, running in nodes.items():
                self._check(name, running)
        for name in nodes:
            self._does(name, "verify", "verify")
        return (
            f"flood: {sent:,} entries of {feeds} made-up feeds in {self.seconds:.0f} s; {kept} entries of feeds that "
            f"are followed, {2 * FRIEND} of them from before, and none lost; {self._latencies()}; at least "
            f"{self.least_free / 2**20:.1f} MiB of {self.mib} were free; memory grew by {grown / 2**20:.1f} MiB"
        )

    def _latencies(self) -> str:
        return ", ".join(
            f"{name} p95 {p95_ms(took_s):.0f} ms (most {1_000 * max(took_s):.0f} ms, {len(took_s)} times)"
            for name, took_s in self.took_s.items()
        )

    # --- strangers, and what the owners do meanwhile

    def _flood(self, port: int, nodes: dict[str, RunningDaemon]) -> tuple[int, int]:
        """Flood; returns the entries sent and the feeds made up."""
        spawn = multiprocessing.get_context("spawn")
        sent, feeds = spawn.Value("Q"), spawn.Value("Q")
        self.begun_s = time.monotonic()
        strangers = [
            spawn.Process(target=stranger, args=(port, number, self.seconds, sent, feeds), daemon=True)
            for number in range(STRANGERS)
        ]
        for each in strangers:
            each.start()
        end = self.begun_s + self.seconds
        commands_s = self.begun_s + min(COMMANDS_S, self.seconds / 2)
        report_s = self.begun_s
        while (now_s := time.monotonic()) < end:
            for name, running in nodes.items():
                self._publish(running)
                self.least_free = min(self.least_free, shutil.disk_usage(self.homes[name]).free)
                if now_s >= commands_s:
                    self._commands(name, running)
            if now_s >= commands_s:
                commands_s = time.monotonic() + COMMANDS_S
            if now_s >= report_s:
                self._report(nodes, int(sent.value))
                report_s = now_s + REPORT_S
            time.sleep(EVERY_S)
        self._report(nodes, int(sent.value))
        for each in strangers:
            each.join()
        return int(sent.value), int(feeds.value)

    def _publish(self, running: RunningDaemon) -> None:
        began_s = time.monotonic()
        with running.client() as client:
            client.publish(b"meanwhile")
        self.took_s["publish"].append(time.monotonic() - began_s)

    def _commands(self, name: str, running: RunningDaemon) -> None:
        self._does(name, "say", "chat", "say", "still here")
        strangers = self._strangers(name, running)
        if strangers:
            self._does(name, "block", "block", strangers[0])
        if len(strangers) > 1:
            self._does(name, "purge", "purge", strangers[-1])

    def _strangers(self, name: str, running: RunningDaemon) -> list[str]:
        """The feeds with entries that nobody here follows."""
        with running.client() as client:
            return [
                row.feed
                for row in client.feeds()
                if row.seq and not row.own and row.feed != self.friends[name].hex()
            ]

    def _does(self, name: str, figure: str, *command: str) -> None:
        began_s = time.monotonic()
        ended = tinyssb(self.homes[name], *command)
        self.took_s[figure].append(time.monotonic() - began_s)
        if ended.returncode:
            raise BrokenError(
                f"{name}: tinyssb {' '.join(command)}: {(ended.stderr + ended.stdout).decode()}"
            )

    def _report(self, nodes: dict[str, RunningDaemon], sent: int) -> None:
        """Print how things are."""
        parts = []
        for name, running in nodes.items():
            used = shutil.disk_usage(self.homes[name]).used / 2**20
            rss = memory_of(running.process.pid) / 2**20
            carried = len(self._strangers(name, running))
            parts.append(
                f"{name} {used:.1f} MiB of disk, {rss:.1f} MiB of memory, entries of {carried} strangers"
            )
        passed_s = time.monotonic() - self.begun_s
        print(f"{passed_s:.0f} s: {'; '.join(parts)}; {sent:,} entries sent; {self._latencies()}", flush=True)

    # --- checks

    def _settle(self, nodes: dict[str, RunningDaemon]) -> int:
        """Wait until each node has all entries of the other; returns how many they have. Raises BrokenError."""
        deadline_s = time.monotonic() + SETTLE_S
        while True:
            held = {name: seqs_of(running) for name, running in nodes.items()}
            ana, ben = self.friends["ben"].hex(), self.friends["ana"].hex()
            if held["ana"].get(ben) == held["ben"][ben] and held["ben"].get(ana) == held["ana"][ana]:
                return held["ana"][ana] + held["ben"][ben]
            if time.monotonic() > deadline_s:
                raise BrokenError(f"they lack entries of each other: {held}")
            time.sleep(EVERY_S)

    def _check(self, name: str, running: RunningDaemon) -> None:
        """Everything that the promise names works, and the node ends in order."""
        with running.client() as client:
            status = client.status()
        if status.read_only is not None:
            raise BrokenError(f"{name} is read-only: {status.read_only}")
        self._commands(name, running)
        code, said = running.stop()
        if code != 0:
            raise BrokenError(f"{name} ended with {code}: {said}")


def seqs_of(running: RunningDaemon) -> dict[str, int]:
    """The number of entries of each feed that a daemon has."""
    with running.client() as client:
        return {row.feed: row.seq for row in client.feeds()}


def stranger(
    port: int, number: int, seconds: float, sent: "Synchronized[int]", feeds: "Synchronized[int]"
) -> None:
    """Flood the listener at *port* for *seconds*, and count what was sent. Runs in a process of its own."""
    end_s = time.monotonic() + seconds
    made = 0
    while time.monotonic() < end_s:
        with (
            contextlib.suppress(OSError, ConnectionClosed, TimeoutError),
            connect(f"ws://127.0.0.1:{port}/", proxy=None, close_timeout=0.1, ping_interval=None) as peer,
        ):
            for _ in range(FEEDS_A_LINK):
                made += 1
                key = key_of(f"stranger {number} {made}")
                peer.send(serialize_feeds(Network().goset_dmx, Feeds((key.feed_id,), more=True)))
                with feeds.get_lock():
                    feeds.value += 1
                for count, packet in enumerate(entries_of(key, ENTRIES_MAX), 1):
                    peer.send(packet)
                    if count % 100 == 0:
                        with sent.get_lock():
                            sent.value += 100
                        if time.monotonic() >= end_s:
                            return


def entries_of(key: SigningKey, count: int) -> Iterator[bytes]:
    """Entries of a made-up feed, one after the other."""
    tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
    for number in range(count):
        entry = compose(Network(), key, tip, f"junk {number}".encode())
        tip = entry.extended.tip
        yield entry.packet


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
