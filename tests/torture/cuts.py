"""Power is lost after any call; what was not synced is lost, torn or out of order. Then the node starts on the rest."""

import asyncio
import copy
import errno
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.torture.checks import BrokenError
from tests.torture.faults import check, close
from tests.torture.images import Disk, write_image
from tests.torture.shim import Call, Did, Shim
from tests.torture.victim import Claim, Victim
from tinyssb_node.errors import LocalError

STEPS: Final = 16
"""Steps of a life that is recorded."""
VARIANTS: Final = 3
"""Images for each moment."""
BOOTS: Final = 2
"""Boots of a recorded life: the second finds what the first left, and what a clean end does is recorded too."""
RECOVERY_STEPS: Final = 3
"""Steps of a life that begins on what a power cut left, and is cut off itself."""
SYNC_MAX: Final = 16
"""In every second seed one of the first so many syncs fails. The daemon ends, is started again, and power is lost only
later: what Linux then drops without a word must not have been told to anybody."""


@dataclass(frozen=True, slots=True)
class Cut:
    """One case."""

    seed: int
    after: int
    """Calls that were made before power was lost."""
    variant: int

    def replay(self) -> str:
        return f"python -m tests.torture cuts --seed {self.seed} --at {self.after} --variant {self.variant}"


@dataclass(frozen=True, slots=True)
class Life:
    """A life that was recorded."""

    seed: int
    before: Disk
    """The disk when it began."""
    journal: list[Did]
    claims: list[Claim]
    """The claims; the marks in the journal count them."""
    victim: Victim
    """Time and the peer as they are at its end."""


def record_life(shim: Shim, folder: Path, seed: int, *, careless: bool = False) -> Life:
    """Let a node live, and keep all that it did. A *careless* one does not sync its store."""
    home = folder / "home"
    shutil.rmtree(home, ignore_errors=True)
    Victim.make_home(home)
    chance = random.Random(f"cut {seed}")
    fails_at = chance.randint(1, SYNC_MAX) if seed % 2 == 0 else 0
    recorder = _Recorder(shim, home, seed, careless=careless)
    asyncio.run(recorder.record(chance, [STEPS // BOOTS] * (BOOTS + bool(fails_at)), fails_at))
    return recorder.life()


class _Recorder:
    """Keeps what a victim does in a home."""

    def __init__(self, shim: Shim, home: Path, seed: int, *, peer: int = 0, careless: bool = False) -> None:
        self._shim, self._home, self._seed = shim, home, seed
        self._claims: list[Claim] = []
        self._before = Disk(home)
        self._journal: list[Did] = []
        self.victim = Victim(home, seed, self._claimed, peer=peer, careless=careless)

    def _claimed(self, claim: Claim) -> None:
        self._shim.mark(len(self._claims))
        self._claims.append(claim)

    async def record(self, chance: random.Random, boots: list[int], fails_at: int = 0) -> None:
        """Let it live through *boots* of so many steps each; the sync *fails_at* fails, 0 for none."""
        self._shim.watch(self._home)
        self._shim.record(True)
        # Every other time the process is dead after it, as far as the disk goes: it puts nothing right when it ends.
        self._shim.fail(Call.SYNC, fails_at, errno.EIO, sticky=self._seed % 4 == 0)
        try:
            for steps in boots:
                try:
                    await self.victim.boot()
                    await self.victim.work(steps, chance)
                    self.victim.end()
                except LocalError:
                    close(self.victim)
                    self._shim.count(Call.SYNC)
        finally:
            self._shim.record(False)
            self._shim.watch(None)
        self._journal = self._shim.journal()

    def life(self) -> Life:
        return Life(self._seed, self._before, self._journal, self._claims, self.victim)


def cuts_of(life: Life) -> list[Cut]:
    """A cut after every call of *life*, with several images each."""
    moments = [after for after, did in enumerate(life.journal, 1) if did.kind != "M"]
    return [Cut(life.seed, after, variant) for variant in range(VARIANTS) for after in moments]


def run_cut(shim: Shim, folder: Path, life: Life, cut: Cut) -> str:
    """Lose power there, and start on what is left. Returns how it went; raises BrokenError."""
    chance = random.Random(f"image {cut.seed} {cut.after} {cut.variant}")
    home = folder / "image"
    claims = _lose_power(life, cut.after, chance, home)
    if cut.variant < VARIANTS - 1:
        asyncio.run(_restart(home, cut, claims, life.victim))
        return "started"
    recorder = _Recorder(shim, home, cut.seed, peer=1)
    recorder.victim.clock.mono_us = life.victim.clock.mono_us
    asyncio.run(recorder.record(chance, [RECOVERY_STEPS]))
    second = recorder.life()
    again = folder / "again"
    claims += _lose_power(second, chance.randint(0, len(second.journal)), chance, again)
    asyncio.run(_restart(again, cut, claims, second.victim))
    return "started after two cuts"


def _lose_power(life: Life, after: int, chance: random.Random, home: Path) -> list[Claim]:
    """Leave in *home* what may be left *after* so many calls of *life*; returns what was claimed until then."""
    disk = copy.deepcopy(life.before)
    for did in life.journal[:after]:
        disk.do(did)
    shutil.rmtree(home, ignore_errors=True)
    write_image(disk.cut(chance), home)
    return [life.claims[did.number] for did in life.journal[:after] if did.kind == "M"]


async def _restart(home: Path, cut: Cut, claims: list[Claim], lived: Victim) -> None:
    victim = Victim(home, cut.seed, lambda _claim: None, peer=2)
    victim.clock.mono_us = lived.clock.mono_us
    victim.claims = {(claim.feed, claim.seq): claim for claim in claims}
    for number in (1, 2):
        await victim.boot()
        check(victim)
        before = len(victim.claims)
        victim.publish(b"after cut %d" % number)
        await victim.turn()
        if len(victim.claims) == before:
            raise BrokenError("after a power cut it publishes nothing")
        check(victim)
        victim.end()
