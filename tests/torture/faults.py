"""The k-th write, sync, truncation or change of a name fails, for every k; the disk fills up, or turns read-only."""

import asyncio
import errno
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.torture.checks import BrokenError, check_home
from tests.torture.shim import Call, How, Shim
from tests.torture.victim import KEY, NETWORK, PATIENCE_US, Claim, Victim
from tinyssb_node.daemon.setup import node_name
from tinyssb_node.errors import LocalError

STEPS: Final = 12
"""Steps of a life while something may fail."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault: the calls that fail, and how."""

    calls: Call
    error: int
    sticky: bool = False
    how: How = How.FAIL


_ALL: Final = Call.WRITE | Call.SYNC | Call.TRUNCATE | Call.OPEN | Call.NAMES
KINDS: Final = {
    "write": Kind(Call.WRITE, errno.EIO),
    "write-short": Kind(Call.WRITE, errno.EIO, sticky=True, how=How.SHORT),
    "sync": Kind(Call.SYNC, errno.EIO),
    "syncs": Kind(Call.SYNC, errno.EIO, sticky=True),
    "truncate": Kind(Call.TRUNCATE, errno.EIO),
    "open": Kind(Call.OPEN, errno.EIO),
    "name": Kind(Call.NAMES, errno.EIO),
    "all": Kind(_ALL, errno.EIO, sticky=True),
    "full": Kind(Call.WRITE | Call.OPEN | Call.NAMES, errno.ENOSPC, sticky=True, how=How.SHORT),
    "full-once": Kind(Call.WRITE | Call.OPEN | Call.NAMES, errno.ENOSPC),
    "quota": Kind(Call.WRITE | Call.SYNC, errno.EDQUOT, sticky=True),
    "read-only": Kind(_ALL | Call.READ_ONLY, errno.EROFS, sticky=True),
}
FULL: Final = {"full", "full-once", "quota"}
"""Of these a node is to recover by itself, once there is room."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One case."""

    seed: int
    kind: str
    at: int
    """Which of the calls fails, from 1."""

    def replay(self) -> str:
        return f"python -m tests.torture faults --seed {self.seed} --kind {self.kind} --at {self.at}"


def faults_of(shim: Shim, folder: Path, seed: int) -> list[Fault]:
    """Every kind of fault at every call of the life of *seed*."""
    found = []
    for name, kind in KINDS.items():
        count = asyncio.run(_Run(shim, folder, seed).count(kind.calls))
        found += [Fault(seed, name, at) for at in range(1, count + 1)]
    return found


def run_fault(shim: Shim, folder: Path, fault: Fault) -> str:
    """Play it; returns how the node took it. Raises BrokenError."""
    return asyncio.run(_Run(shim, folder, fault.seed).play(fault))


class _Run:
    def __init__(self, shim: Shim, folder: Path, seed: int) -> None:
        self._shim = shim
        self._home = folder / "home"
        shutil.rmtree(self._home, ignore_errors=True)
        self._chance = random.Random(f"fault {seed}")
        self._victim = Victim(self._home, seed, _note)
        Victim.make_home(self._home)

    async def count(self, calls: Call) -> int:
        """How many such calls a life makes in which nothing fails."""
        await self._settle()
        self._shim.watch(self._home)
        self._shim.count(calls)
        try:
            await self._live()
            self._victim.end()
            return self._shim.seen()
        finally:
            self._shim.watch(None)

    async def play(self, fault: Fault) -> str:
        kind = KINDS[fault.kind]
        victim = self._victim
        await self._settle()
        self._shim.watch(self._home)
        self._shim.fail(kind.calls, fault.at, kind.error, sticky=kind.sticky, how=kind.how)
        # Who watches the disk for room sees none as long as writes are refused.
        victim.room = not (fault.kind in FULL and kind.sticky)
        outcome = "went on"
        try:
            await self._live()
            if fault.kind in FULL:
                outcome = await self._recover()
            victim.end()
        except LocalError as error:
            outcome = f"ended: {type(error).__name__}"
            close(victim)
        finally:
            self._shim.watch(None)
        await self._restart()
        return outcome

    async def _settle(self) -> None:
        """A first boot, of which nothing fails."""
        await self._victim.boot()
        await self._victim.work(4, self._chance)
        self._victim.end()

    async def _live(self) -> None:
        await self._victim.boot()
        await self._victim.work(STEPS, self._chance)

    async def _recover(self) -> str:
        """There is room again: without a restart, it has to write again."""
        victim = self._victim
        was = victim.runtime.read_only
        self._shim.watch(None)
        victim.room = True
        for _ in range(2):
            victim.clock.mono_us += PATIENCE_US
            await victim.turn()
        if victim.runtime.read_only is not None:
            raise BrokenError(f"there is room, and it does not write: {victim.runtime.read_only}")
        before = len(victim.claims)
        victim.publish(b"there is room")
        if len(victim.claims) == before:
            raise BrokenError("there is room, and it publishes nothing")
        return "recovered" if was else "went on"

    async def _restart(self) -> None:
        """Check that a start without faults has everything, goes on, and ends in order."""
        victim = self._victim
        victim.room = True
        for number in (1, 2):
            await victim.boot()
            check(victim)
            before = len(victim.claims)
            victim.publish(b"after boot %d" % number)
            for _ in range(4):
                victim.clock.mono_us += 1_100_000
                await victim.turn()
            if len(victim.claims) == before:
                raise BrokenError("after a restart it publishes nothing")
            check(victim)
            victim.end()


def check(victim: Victim) -> None:
    """Everything that was ever claimed is there, and the log is whole."""
    check_home(victim.home, node_name(KEY.feed_id), list(victim.claims.values()), NETWORK)


def close(victim: Victim) -> None:
    """End a victim of which something failed."""
    try:
        victim.close()
    except LocalError:
        # The daemon says it, too, and is gone all the same.
        return


def _note(_claim: Claim) -> None:
    """Claims are looked up afterwards."""
