"""Power is lost after any call; what was not synced is lost, torn or out of order. Then the node starts on the rest."""

import asyncio
import copy
import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.torture.checks import BrokenError
from tests.torture.faults import check
from tests.torture.images import Disk, write_image
from tests.torture.shim import Did, Shim
from tests.torture.victim import Claim, Victim

STEPS: Final = 16
"""Steps of a life that is recorded."""
VARIANTS: Final = 3
"""Images for each moment."""
BOOTS: Final = 2
"""Boots of a recorded life: the second finds what the first left, and what a clean end does is recorded too."""


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
    """What was claimed; the marks in the journal count them."""
    victim: Victim
    """Time and the peer as they are at its end."""


def record_life(shim: Shim, folder: Path, seed: int, *, careless: bool = False) -> Life:
    """Let a node live, and keep all that it did. A *careless* one does not sync its store."""
    return asyncio.run(_record(shim, folder / "home", seed, careless=careless))


async def _record(shim: Shim, home: Path, seed: int, *, careless: bool) -> Life:
    shutil.rmtree(home, ignore_errors=True)
    Victim.make_home(home)
    claims: list[Claim] = []

    def claimed(claim: Claim) -> None:
        shim.mark(len(claims))
        claims.append(claim)

    victim = Victim(home, seed, claimed, careless=careless)
    chance = random.Random(f"cut {seed}")
    before = Disk(home)
    shim.watch(home)
    shim.record(True)
    try:
        for _ in range(BOOTS):
            await victim.boot()
            await victim.work(STEPS // BOOTS, chance)
            victim.end()
    finally:
        shim.record(False)
        shim.watch(None)
    return Life(seed, before, shim.journal(), claims, victim)


def cuts_of(life: Life) -> list[Cut]:
    """A cut after every call of *life*, with several images each."""
    moments = [after for after, did in enumerate(life.journal, 1) if did.kind != "M"]
    return [Cut(life.seed, after, variant) for variant in range(VARIANTS) for after in moments]


def run_cut(folder: Path, life: Life, cut: Cut) -> str:
    """Lose power there, and start on what is left. Returns how it went; raises BrokenError."""
    disk = copy.deepcopy(life.before)
    marks = [did.number for did in life.journal[: cut.after] if did.kind == "M"]
    for did in life.journal[: cut.after]:
        disk.do(did)
    chance = random.Random(f"image {cut.seed} {cut.after} {cut.variant}")
    home = folder / "image"
    shutil.rmtree(home, ignore_errors=True)
    write_image(disk.cut(chance), home)
    claims = [life.claims[number] for number in marks]
    asyncio.run(_restart(home, cut, claims, life.victim))
    return "started"


async def _restart(home: Path, cut: Cut, claims: list[Claim], lived: Victim) -> None:
    victim = Victim(home, cut.seed, lambda _claim: None)
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
