"""Power is lost while the database is written, after any call (docs/reference/torture.md)."""

import copy
import errno
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.pzp.database.messages import ALICE, BOB, keep, public, state
from tests.torture.images import Disk, write_image
from tests.torture.shim import Call, Did, Shim
from tinyssb_node.errors import StoreFailedError, TinyssbError
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.errors import PzpDependencyError
from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.versions import V2

STEPS = 14
SYNC_MAX = 48
"""In every second life one of the first so many syncs fails."""
MEMORY = Path("/dev/shm")


@dataclass
class Life:
    """A database that is written, and what it said after each step."""

    home: Path
    seed: int
    shim: Shim
    careless: bool = False
    """It does not sync, to be found out."""
    states: list[dict[str, Any]] = field(default_factory=list)
    chance: random.Random = field(init=False)
    group: str = ""

    def __post_init__(self) -> None:
        self.chance = random.Random(f"life {self.seed}")
        self.path = self.home / PZP_FILE

    def live(self) -> None:
        """Write, twice with an end in order between."""
        for _ in range(2):
            steps = STEPS
            while steps:
                try:
                    steps = self._boot(steps)
                except StoreFailedError:
                    # What a process does that meets a broken disk: it ends, and is started again.
                    self.shim.count(Call.SYNC)

    def _boot(self, steps: int) -> int:
        rows = SqlitePzpRows.open(self.path)
        if self.careless:
            rows.connection.execute("PRAGMA synchronous = OFF")
        with closing(PzpDatabase(rows)) as database:
            self._claim(database)
            self.group = database.create_identity(ALICE, "x", wall_us=1, version=V2)
            self._claim(database)
            while steps:
                self._step(database)
                self._claim(database)
                steps -= 1
        return 0

    def _claim(self, database: PzpDatabase) -> None:
        """From now on the state has to be this one, or a later one."""
        self.states.append(state(database))
        self.shim.mark(len(self.states) - 1)

    def _step(self, database: PzpDatabase) -> None:
        """One transaction."""
        ids = [record.id for record in database.records(0, 1_000, owner=self.group)]
        tasks: list[Callable[[], object]] = [
            lambda: self._publish(database),
            lambda: self._publish(database),
            lambda: database.add_key(ALICE, self.group, public(BOB), wall_us=1),
            lambda: database.erase(self.chance.choice(ids)) if ids else None,
            lambda: database.delete(self.chance.choice(ids)) if ids else None,
            lambda: self._collect(database),
        ]
        try:
            self.chance.choice(tasks)()
        except PzpDependencyError:
            return

    def _publish(self, database: PzpDatabase) -> None:
        kind = self.chance.choice(["post", "chat"])
        with database.batch():
            for _ in range(self.chance.randint(1, 12)):
                said = {"text": "x" * self.chance.choice([10, 500, 9_000])}
                database.write(ALICE, dict(said), kind, self.group, wall_us=1)

    def _collect(self, database: PzpDatabase) -> None:
        with database.batch():
            for summary in database.tangles():
                if summary.root != self.group:
                    keep(database, summary.root, self.chance.choice(["all", "newest-2", "newest-9"]))
            database.collect(0)


def record(shim: Shim, home: Path, seed: int, *, careless: bool) -> tuple[Life, Disk, list[Did]]:
    """Live, and keep every call."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    life, before = Life(home, seed, shim, careless), Disk(home)
    shim.watch(home)
    shim.record(True)
    fails_at = life.chance.randint(1, SYNC_MAX) if seed % 2 == 0 else 0
    shim.fail(Call.SYNC, fails_at, errno.EIO)
    try:
        life.live()
    finally:
        shim.record(False)
        shim.watch(None)
    return life, before, shim.journal()


def check(image: Path, life: Life, claimed: int) -> None:
    """Check that the state left is the one claimed last, or the next one; and that it can be written."""
    with closing(PzpDatabase(SqlitePzpRows.open(image / PZP_FILE))) as database:
        found = state(database)
        if found not in life.states[claimed : claimed + 2] and not (claimed < 0 and not found["records"]):
            raise AssertionError(
                f"after {claimed} it holds {len(found['records'])} messages: no state it was in"
            )
        for record_ in database.records(0, 1_000):
            assert message.message_id(V2.fields, record_.message()) == record_.id
        group = database.create_identity(ALICE, "x", wall_us=1, version=V2)
        database.write(ALICE, {"text": "after a cut"}, "post", group, wall_us=1)


def cut(life: Life, before: Disk, journal: list[Did], after: int, image: Path) -> None:
    """Lose power *after* so many calls, and start on what is left."""
    disk = copy.deepcopy(before)
    claimed = -1
    for did in journal[:after]:
        disk.do(did)
        claimed = did.number if did.kind == "M" else claimed
    shutil.rmtree(image, ignore_errors=True)
    write_image(disk.cut(random.Random(f"image {life.seed} {after}")), image)
    check(image, life, claimed)


def main(arguments: list[str]) -> int:
    """The first and the last seed, how many cuts of each, and `careless` for a database that does not sync."""
    Shim.load()
    first, last, count = (int(one) for one in arguments[:3])
    shim, broken, done = Shim(), 0, 0
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as name:
        folder = Path(name)
        for seed in range(first, last + 1):
            life, before, journal = record(shim, folder / "home", seed, careless="careless" in arguments)
            moments = range(1, len(journal) + 1)
            for after in sorted(random.Random(seed).sample(moments, min(count, len(moments)))):
                done += 1
                try:
                    cut(life, before, journal, after, folder / "image")
                except (AssertionError, TinyssbError) as error:
                    broken += 1
                    sys.stdout.write(f"BROKEN: seed {seed}, after call {after}: {error}\n")
    sys.stdout.write(f"cuts: {done}, broken: {broken}\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
