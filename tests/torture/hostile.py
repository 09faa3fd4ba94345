"""A hostile peer at each kind of face of a real daemon: the node's memory, and the time that its owner waits."""

import os
import random
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.daemon.processes import RunningDaemon, daemon, make_home
from tests.torture.checks import BrokenError
from tests.torture.hostile_face import HostileFace
from tests.torture.hostile_faces import FACES
from tests.torture.hostile_peer import HostilePeer
from tests.torture.resources import cpu_s_of, family_of, memory_of, p95_ms, queued_s_of
from tinyssb_node.control.client import DaemonError

SECONDS: Final = 600.0
"""Length of an attack unless told otherwise."""
GROWTH_MAX: Final = 10 * 10**6
"""Bytes that a process of the node may grow by, beyond what it needs to know the feeds that it has taken in."""
FEED_BYTES: Final = 3_500
"""Bytes for each feed that the peer wrote: no node can tell it from one of a gateway with many feeds. Their number is
bounded by ``limits.KNOWN_FEEDS_MAX``, and by the share of the disk for feeds that nobody here follows."""
P95_MAX_MS: Final = 100.0
"""Time in which 95 % of the owner's entries have to be published during an attack."""
BASE_S: Final = 10.0
"""Time before an attack in which the same is measured without it; half the attack's length if that is shorter."""
EVERY_S: Final = 0.2
"""Time between two entries of the owner, on average."""
WARM: Final = 200
"""Entries that the owner publishes before anything is measured."""


@dataclass
class Outcome:
    """The figures of one face."""

    face: str
    base_s: list[float] = field(default_factory=list)
    """Seconds that each entry took before the attack."""
    took_s: list[float] = field(default_factory=list)
    """Seconds that each entry took during it."""
    queued_s: list[float] = field(default_factory=list)
    """Of each of those, the seconds in which the daemon or its client waited for a processor: a node on its own machine
    does not compete with the hostile peer, nor with other work."""
    grown: int = 0
    """Bytes by which the process that grew most was larger, at any time, than before."""
    feeds: int = 0
    """Feeds of which the node took in entries."""
    cores: float = 0.0
    """Processors that all processes of the node used, on average."""
    overridden: int = 0
    """How often the owner had to confirm that the tip is certain, because the peer claimed more of the owner's feed."""
    sent: int = 0
    """Packets, requests and connections of the attack."""
    seconds: float = 0.0

    def __str__(self) -> str:
        return (
            f"{self.face}: publish p95 {self.p95_ms:.0f} ms ({p95_ms(self.took_s):.0f} ms with waiting for a "
            f"processor, {p95_ms(self.base_s):.0f} ms before the attack), memory +{self.grown / 1e6:.1f} MB "
            f"with {self.feeds:,} feeds, {self.cores:.2f} cores, {self.sent:,} sent in {self.seconds:.0f} s"
        )

    @property
    def p95_ms(self) -> float:
        """The time in which 95 % of the entries were published, without waiting for a processor."""
        return p95_ms(
            [took_s - queued_s for took_s, queued_s in zip(self.took_s, self.queued_s, strict=True)]
        )

    def check(self) -> None:
        """Raises BrokenError if a limit is not kept."""
        if self.grown > (limit := GROWTH_MAX + FEED_BYTES * self.feeds):
            raise BrokenError(f"{self}; the limit is {limit / 1e6:.1f} MB")
        if self.overridden > 1:
            raise BrokenError(f"{self}; the owner was kept from writing {self.overridden} times")
        if self.p95_ms > P95_MAX_MS:
            raise BrokenError(f"{self}; the limit is {P95_MAX_MS:.0f} ms")


def attack(name: str, seconds: float, seed: int = 1, *, disk: Path | None = None) -> Outcome:
    """Attack a daemon at the face *name*, with its home on *disk*; returns the figures.

    Raises BrokenError if the daemon does not go on in order, or loses an entry of its owner.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tinyssb-hostile-", dir=disk)))
        face = FACES[name](folder)
        stack.enter_context(face.surroundings())
        make_home(face.home, *face.specs)
        with (face.home / "config.toml").open("a") as config:
            config.write(face.config)
        peer = stack.enter_context(HostilePeer(face, seconds, seed).ready())
        running = stack.enter_context(daemon(face.home, program=face.program, environ=face.environ))
        face.wait_until_open()
        outcome = _measure(running, face, peer, seconds)
        code, said = running.stop()
        if code != 0:
            raise BrokenError(f"{name}: the daemon ended with {code}: {said[-2_000:]}")
        if "Traceback" in said:
            raise BrokenError(f"{name}: the daemon's log has a traceback: {said[-2_000:]}")
        return outcome


def _measure(running: RunningDaemon, face: HostileFace, peer: HostilePeer, seconds: float) -> Outcome:
    outcome = Outcome(face.name)
    with running.client() as client:
        for number in range(WARM):
            client.publish(b"before %d" % number)
    family = family_of(running.process.pid)
    for took_s, _ in _publish(running, min(BASE_S, seconds / 2), outcome):
        outcome.base_s.append(took_s)
    before = {pid: memory_of(pid) for pid in family}
    cpu_s, begun_s = sum(map(cpu_s_of, family)), time.monotonic()
    peer.begin()
    for took_s, queued_s in _publish(running, seconds, outcome):
        outcome.took_s.append(took_s)
        outcome.queued_s.append(queued_s)
        outcome.grown = max(outcome.grown, *(memory_of(pid) - size for pid, size in before.items()))
    outcome.seconds = time.monotonic() - begun_s
    outcome.cores = (sum(map(cpu_s_of, family)) - cpu_s) / outcome.seconds
    outcome.sent = peer.end()
    if family_of(running.process.pid) != family:
        raise BrokenError(f"{face.name}: a process of the node ended")
    with running.client() as client:
        status, feeds = client.status(), list(client.feeds())
    (own,) = [row for row in feeds if row.own]
    outcome.feeds = sum(row.seq > 0 for row in feeds) - 1
    if status.read_only is not None:
        raise BrokenError(f"{face.name}: it is read-only: {status.read_only}")
    if own.seq < WARM + len(outcome.base_s) + len(outcome.took_s):  # there may be acknowledgements, too
        raise BrokenError(f"{face.name}: the owner's feed has {own.seq} entries")
    return outcome


def _publish(running: RunningDaemon, seconds: float, outcome: Outcome) -> Iterator[tuple[float, float]]:
    """Publish again and again for *seconds*, as a command does; yield the seconds that each took, and those in which
    daemon or client waited for a processor."""
    pids = running.process.pid, os.getpid()
    chance, end_s = random.Random(1), time.monotonic() + seconds
    while (begun_s := time.monotonic()) < end_s:
        queued_s = sum(map(queued_s_of, pids))
        with running.client() as client:
            try:
                client.publish(b"meanwhile")
            except DaemonError as error:
                if error.code != "uncertain":
                    raise
                # For a minute, at most once a day (decision 0064): the owner need not wait for it.
                outcome.overridden += 1
                client.sure()
                client.publish(b"meanwhile")
        yield time.monotonic() - begun_s, sum(map(queued_s_of, pids)) - queued_s
        time.sleep(2 * EVERY_S * chance.random())
