"""`python -m tests.torture`: kill the node and break its disk, as often as you like (docs/reference/torture.md)."""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeVar

from tests.torture.cuts import Cut, cuts_of, record_life, run_cut
from tests.torture.faults import KINDS, Fault, faults_of, run_fault
from tests.torture.hostile import SECONDS, attack
from tests.torture.hostile_faces import FACES
from tests.torture.kills import KILLS_A_LIFE, Life
from tests.torture.shim import Shim

COUNTS: Final = {"kills": 1_000, "faults": 5_000, "cuts": 5_000, "hostile": len(FACES)}
"""Cases of each sort unless told otherwise."""
REPORT_S: Final = 10
"""Seconds between two lines of progress."""
FAILURES_MAX: Final = 20
"""After so many it makes no sense to go on."""
MEMORY: Final = Path("/dev/shm")
"""A folder in memory: nothing here depends on what a real disk does, and it should not be worn out."""


Case = TypeVar("Case", Fault, Cut)


class Tally:
    """Counts cases, says how far it is, and keeps what failed."""

    def __init__(self, sort: str, count: int) -> None:
        self._sort, self._count = sort, count
        self._begun_s = self._said_s = time.monotonic()
        self._outcomes: Counter[str] = Counter()
        self.failures: list[str] = []

    def add(self, outcome: str) -> None:
        self._outcomes[outcome] += 1
        if time.monotonic() - self._said_s >= REPORT_S:
            self.say()

    def fail(self, replay: str, error: Exception) -> None:
        """A case broke a rule."""
        self.add("BROKEN")
        self.failures.append(replay)
        print(f"\nBROKEN: {type(error).__name__}: {error}\n  again: {replay}", flush=True)

    def say(self) -> None:
        self._said_s = time.monotonic()
        shown = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.most_common())
        print(
            f"{self._sort}: {self._outcomes.total()} of {self._count} "
            f"in {self._said_s - self._begun_s:.0f} s ({shown})",
            flush=True,
        )

    @property
    def left(self) -> int:
        """Cases that are still to come."""
        return self._count - self._outcomes.total()

    def enough(self) -> bool:
        return self._outcomes.total() >= self._count or len(self.failures) >= FAILURES_MAX


def main() -> int:
    """Run what was asked for. Returns 1 if a rule was broken."""
    Shim.load()
    asked = _parse()
    sorts = list(COUNTS) if asked.sort == "all" else [asked.sort]
    failures = []
    base = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="tinyssb-torture-", dir=base) as name:
        for sort in sorts:
            tally = Tally(sort, COUNTS[sort] if asked.count is None else asked.count)
            run = {"kills": _kills, "faults": _faults, "cuts": _cuts, "hostile": _hostile}[sort]
            run(asked, Path(name) / sort, tally)
            tally.say()
            failures += tally.failures
    for replay in failures:
        print(f"broken: {replay}")
    return 1 if failures else 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("sort", nargs="?", choices=["all", *COUNTS], default="all")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--count", type=int, help=f"cases of each sort ({COUNTS})")
    parser.add_argument("--kind", choices=sorted(KINDS), help="with `faults`: this kind only, once, at --at")
    parser.add_argument("--at", type=int, help="with `faults` or `cuts`: at this call only")
    parser.add_argument("--variant", type=int, default=0, help="with `cuts` and --at: which image")
    parser.add_argument("--life", type=int, help="with `kills`: this life only, with --count kills")
    parser.add_argument("--face", choices=list(FACES), help="with `hostile`: at this face only")
    parser.add_argument(
        "--seconds",
        type=float,
        default=SECONDS,
        help=f"with `hostile`: length of each attack ({SECONDS:.0f})",
    )
    parser.add_argument(
        "--careless", action="store_true", help="with `cuts`: a store that does not sync, to be found out"
    )
    asked = parser.parse_args()
    if asked.kind is not None and asked.at is None:
        parser.error("--kind goes with --at")
    return asked


def _kills(asked: argparse.Namespace, folder: Path, tally: Tally) -> None:
    number = 1 if asked.life is None else asked.life
    while not tally.enough():
        life = Life(folder, asked.seed, number)
        left = tally.left if asked.life is not None else min(tally.left, KILLS_A_LIFE)
        try:
            for outcome in life.play(left):
                tally.add(outcome)
        except Exception as error:  # noqa: BLE001 - whatever breaks is what is looked for
            tally.fail(life.replay(), error)
        number += 1
        if asked.life is not None:
            return


def _faults(asked: argparse.Namespace, folder: Path, tally: Tally) -> None:
    shim, seed = Shim(), asked.seed
    folder.mkdir(parents=True)
    while not tally.enough():
        once = asked.kind is not None
        cases = [Fault(seed, asked.kind, asked.at)] if once else faults_of(shim, folder, seed)
        for fault in _some(cases, tally.left, seed):
            try:
                tally.add(run_fault(shim, folder, fault))
            except Exception as error:  # noqa: BLE001 - whatever breaks is what is looked for
                tally.fail(fault.replay(), error)
            if tally.enough():
                break
        if once:
            return
        seed += 1


def _cuts(asked: argparse.Namespace, folder: Path, tally: Tally) -> None:
    shim, seed = Shim(), asked.seed
    folder.mkdir(parents=True)
    while not tally.enough():
        life = record_life(shim, folder, seed, careless=asked.careless)
        once = asked.at is not None
        cases = [Cut(seed, asked.at, asked.variant)] if once else cuts_of(life)
        for cut in _some(cases, tally.left, seed):
            try:
                tally.add(run_cut(shim, folder, life, cut))
            except Exception as error:  # noqa: BLE001 - whatever breaks is what is looked for
                tally.fail(cut.replay() + " --careless" * asked.careless, error)
            if tally.enough():
                break
        if once:
            return
        seed += 1


def _hostile(asked: argparse.Namespace, folder: Path, tally: Tally) -> None:
    folder.mkdir(parents=True)
    for name in [asked.face] if asked.face else list(FACES)[: tally.left]:
        try:
            outcome = attack(name, asked.seconds, asked.seed, disk=folder)
            print(outcome, flush=True)
            outcome.check()
            tally.add("went on")
        except Exception as error:  # noqa: BLE001 - whatever breaks is what is looked for
            again = f"python -m tests.torture hostile --face {name} --seconds {asked.seconds:g}"
            tally.fail(f"{again} --seed {asked.seed}", error)


def _some(cases: Sequence[Case], count: int, seed: int) -> Sequence[Case]:
    """All of *cases* in order, or a choice of *count* that is the same each time."""
    if len(cases) <= count:
        return cases
    chosen = sorted(random.Random(seed).sample(range(len(cases)), count))
    return [cases[number] for number in chosen]


if __name__ == "__main__":
    sys.exit(main())
