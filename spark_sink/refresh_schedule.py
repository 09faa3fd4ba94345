"""Schedule of the refresh: which hours of logs are marked, and which periodic work is due."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import facts_loader, limits
from spark_sink.arrays import Ints
from spark_sink.derive.alert_windows import BEGIN_US
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import Corrections
from spark_sink.facts_loader import AffectedHours
from spark_sink.serving import dirty_hours, meta, standing
from spark_sink.serving import facts as stored
from spark_sink.serving.database import Database
from spark_sink.sighted_hours import KEY, SightedHours, hours_table

_AHEAD_MAX_US: Final = 2 * HOUR_US


@dataclass(slots=True)
class Timer:
    """Times at which costly work may run again: not too often, and not for too large a share of the time."""

    every_us: int
    share: float = 1.0
    due_us: int = 0

    def done(self, begin_us: int, end_us: int) -> None:
        """Note that the work ran, and set the next time."""
        self.due_us = end_us + max(self.every_us, int((end_us - begin_us) / self.share))


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive hours of mesh time that are derived in one go."""

    hours: Ints
    finished: pa.Table
    """Marks that go with these hours: no later hour depends on them."""
    waiting: int
    """Hours that are left after these."""
    sights: float
    """About how many sights there are to join."""


class RefreshSchedule:
    """Work that is due on one database: marked hours, and timers of clocks, alerts and retention."""

    def __init__(self, database: Database, lock: threading.Lock, wall_us: Callable[[], int]) -> None:
        """*lock* is held by the caller, and later by the methods while they use *database*.

        Raises DatabaseFailedError.
        """
        self._database = database
        self._lock = lock
        self._wall_us = wall_us
        self.hours: Final = SightedHours(database)
        self._derived = False
        self.clocks: Final = Timer(60_000_000, 0.05)  # clocks hardly change
        if database.rows("SELECT 1 FROM clocks LIMIT 1"):
            due_us = meta.read_number(database, meta.CLOCKS_DUE) or 0
            ahead_us = max(self.clocks.every_us, due_us - wall_us())
            self.clocks.due_us = wall_us() + min(
                ahead_us, _AHEAD_MAX_US
            )  # the machine's clock may have been set back
        self.alerts: Final = Timer(5_000_000, limits.REFRESH_SHARE)
        self.retention: Final = Timer(HOUR_US)

    def mark_all_if_outdated(self) -> None:
        """Mark every hour if derived tables have another version. The caller holds the lock."""
        if meta.read_number(self._database, meta.DERIVED) == limits.DERIVED_VERSION:
            return
        with self._database.transaction():
            dirty_hours.mark(self._database, hours_table(self.hours.keys), self._wall_us())
            standing.forget(self._database, BEGIN_US)
            meta.write(self._database, meta.DERIVED, limits.DERIVED_VERSION)

    # --- Marked hours

    def marked(self, clocks: Corrections) -> pa.Table:
        """Return the marked hours, including those that newly merged copies affect. Raises DatabaseFailedError."""
        with self._lock:
            dirty = self._read_marks()
            if self._database.rows("SELECT 1 FROM touched LIMIT 1"):
                with self._database.transaction():
                    if dirty.num_rows >= len(self.hours):
                        self._database.execute("DELETE FROM touched")  # everything is derived again anyway
                    else:
                        dirty_hours.spread(
                            self._database,
                            self._wall_us(),
                            lambda copies: facts_loader.mesh_times(clocks, copies)[0],
                        )
                dirty = self._read_marks()
        return dirty

    def _read_marks(self) -> pa.Table:
        dirty = stored.dirty(self._database, 500_000)  # a thousand nodes' logs of three weeks
        self.hours.add(dirty)
        return dirty

    def chunks(self, dirty: pa.Table, clocks: Corrections, known: AffectedHours) -> Iterator[Chunk]:
        """Yield the hours that depend on marked ones, few enough at a time to be joined in memory."""
        marked = facts_loader.affected_hours(clocks, *(dirty[name].to_numpy() for name in KEY))
        last_us = np.full(dirty.num_rows, -(2**62))
        np.maximum.at(last_us, marked.asked, marked.high_us)
        todo = facts_loader.hours_between(marked.low_us, marked.high_us)
        with self._lock:
            per_key = self.hours.sights_an_hour()
        starts = np.sort(
            known.low_us[(known.low_us >= todo.min(initial=0)) & (known.low_us <= todo.max(initial=0))]
        )
        reached_us = -(2**62)
        begin = 0
        for end in range(1, len(todo) + 1):
            held = np.searchsorted(starts, todo[end - 1], "right") - np.searchsorted(starts, todo[begin])
            if (
                end == len(todo)
                or todo[end] - todo[end - 1] > HOUR_US
                or held * per_key >= limits.SIGHTS_AT_A_TIME
            ):
                until_us = int(todo[end - 1]) + HOUR_US
                finished = (last_us >= reached_us) & (last_us < until_us)
                yield Chunk(
                    todo[begin:end], dirty.filter(pa.array(finished)), len(todo) - end, held * per_key
                )
                begin, reached_us = end, until_us

    def affected(
        self, old: Corrections, new: Corrections, shifted: set[tuple[int, int]]
    ) -> tuple[pa.Table, Ints]:
        """Return what has to be derived again when *new* clocks replace *old* ones and shift these boots.

        First, hours of logs: those of the boots, and of other logs that lie where the boots' records lay until now.
        Second, hours of mesh time in which no records are left.
        """
        keys = self.hours.keys
        boots, which = np.unique(keys[:, :2], axis=0, return_inverse=True)
        own = np.array([(node_no, boot) in shifted for node_no, boot in boots.tolist()], bool)[which.ravel()]
        before = facts_loader.affected_hours(old, *keys[own].T)
        left = facts_loader.hours_between(before.low_us, before.high_us)
        after = facts_loader.affected_hours(new, *keys.T)
        meets = np.searchsorted(left, after.low_us) < np.searchsorted(left, after.high_us, "right")
        covered = facts_loader.hours_between(after.low_us[meets], after.high_us[meets])
        again = own.copy()
        again[after.asked[meets]] = True
        return hours_table(keys[again]), np.setdiff1d(left, covered)

    # --- Periodic work

    def note_clocks(self, begin_us: int) -> None:
        """Note that clocks were estimated since *begin_us*: after a start they are not before that is due again."""
        self.clocks.done(begin_us, self._wall_us())
        with self._lock, self._database.transaction():
            meta.write(self._database, meta.CLOCKS_DUE, self.clocks.due_us)

    def clocks_are_due(self, now_us: int, dirty: pa.Table, clocks: Corrections) -> bool:
        """True if clocks are to be estimated: the timer is due, or a marked boot has no clock yet."""
        if now_us >= self.clocks.due_us:
            return True
        node_no, boot = dirty["node_no"].to_numpy(), dirty["boot"].to_numpy()
        known = clocks.clock(node_no, boot, np.zeros(len(boot), np.int64)) >= 0
        return not known.all() and self._wall_us() >= self.clocks.due_us - self.clocks.every_us

    def note_derived(self) -> None:
        """Note that rows were derived, from which alerts are to be made."""
        self._derived = True

    def alerts_are_due(self, now_us: int) -> bool:
        """True if something was derived since alerts were made last, and the timer allows it."""
        return self._derived and now_us >= self.alerts.due_us

    def note_alerts(self) -> None:
        """Note that alerts are being made from all that is derived."""
        self._derived = False
