"""Refresh of derived tables: figures that take all nodes' logs together, computed again where facts are new.

A pass estimates clocks if that is due, and replaces the derived rows of the hours of mesh time that depend on marked
hours of logs, a few hours at a time, each in a transaction. A mark is deleted with the last of its hours. So the next
pass completes the work whenever a job is killed.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.alert_refresh import AlertRefresh
from spark_sink.derive.alert_series import mesh_us
from spark_sink.derive.alert_windows import END_US
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import Corrections, boot_times, corrections, shifted_boots
from spark_sink.derive.packet_ages import PacketAges, packet_ages
from spark_sink.derived_hours import DerivedHours, derive_apart, derive_stretch
from spark_sink.estimated_clocks import estimate_apart, estimate_aside, estimate_clocks
from spark_sink.executors import Executors, TasksFailedError
from spark_sink.facts_loader import AffectedHours, Stretch, stretch
from spark_sink.refresh_schedule import Chunk, RefreshSchedule
from spark_sink.serving import day_sums, derived, dirty_hours, retention, staging, standing
from spark_sink.serving import facts as stored
from spark_sink.serving.address import is_address
from spark_sink.serving.database import Database
from spark_sink.sighted_hours import KEY

_DAY_US: Final = 24 * HOUR_US
_FAILED: Final = (
    "Executors could not {what}: {error}. Nothing was lost: the driver does it itself, which takes longer."
)
"""Message when tasks failed."""


class Refresh:
    """The derived tables of one database, brought up to date pass by pass. Passes must not overlap."""

    def __init__(
        self,
        database: Database,
        lock: threading.Lock,
        wall_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        keep_days: int = limits.KEEP_DAYS,
        executors: Executors | None = None,
        name: str = "",
    ) -> None:
        """*lock* is held while *database* is used. Single packets are kept for *keep_days*. Where there is more to do
        than fits into memory at a time, *executors* do it, which open the database by *name*.

        Raises DatabaseFailedError.
        """
        self._database = database
        self._lock = lock
        self._wall_us = wall_us
        self._keep_us = keep_days * _DAY_US
        self._executors = executors
        self._name = name
        self._alerts = AlertRefresh(database, lock)
        with lock:
            self._clocks: Corrections = corrections(stored.whole(database, "clocks"))
            self._schedule = RefreshSchedule(database, lock, wall_us)
            self._schedule.mark_all_if_outdated()
        self._begun_us = wall_us()
        self._derived_us: dict[int, int] = {}

    def run_pass(self) -> bool:
        """Bring derived tables up to date, by clocks that may have been estimated some time ago.

        Returns False if there was nothing to do. Raises DatabaseFailedError.
        """
        now_us = self._wall_us()
        dirty = self._schedule.marked(self._clocks)
        if dirty.num_rows == 0:
            made = self._make_alerts_if_due(now_us)
            return self._sum_up_a_day(now_us) or made
        if self._schedule.clocks_are_due(now_us, dirty, self._clocks):
            self._estimate_clocks(limits.CLOCK_MOVED_US)
            self._schedule.note_clocks(now_us)
            dirty = self._schedule.marked(self._clocks)
        self._derive(dirty)
        self._schedule.note_derived()
        self._make_alerts_if_due(now_us)
        self._sum_up_a_day(now_us)
        return True

    def run_to_end(self, tell: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Bring derived tables to their final state for all logs, whatever order the logs came in.

        *tell* is called with the number of hours done and the number of all. Raises DatabaseFailedError.
        """
        self._schedule.marked(self._clocks)
        now_us = self._wall_us()
        self._estimate_clocks(0)
        self._schedule.note_clocks(now_us)
        while (dirty := self._schedule.marked(self._clocks)).num_rows:
            self._derive(dirty, tell)
        self._make_alerts()
        while self._sum_up_a_day(END_US):
            pass

    # --- Clocks

    def _estimate_clocks(self, least_us: int) -> None:
        """Estimate all clocks; where that moves times by more than *least_us*, mark the hours."""
        with self._lock:
            newest = self._database.rows("SELECT node_no, boot, last_us FROM boots")
        newest_us = {(int(node), int(boot)): int(last_us) for node, boot, last_us in newest}  # type: ignore[arg-type] # columns of whole numbers and texts
        if not len(self._schedule.hours):
            return
        rows = self._clock_rows(estimate_aside if least_us else estimate_apart)
        clocks = corrections(rows)
        shifted = shifted_boots(self._clocks, clocks, newest_us, least_us)
        if least_us and not shifted:
            return
        again, emptied = self._schedule.affected(self._clocks, clocks, shifted)
        with self._lock, self._database.transaction():
            standing.forget(self._database, self._first_shifted_us(clocks, shifted))
            derived.replace(self._database, emptied.tolist(), {"clocks": rows})
            dirty_hours.mark(self._database, again, self._wall_us())
        self._clocks = clocks

    def _first_shifted_us(self, clocks: Corrections, shifted: set[tuple[int, int]]) -> int:
        """Return the first mesh time at which anything lies, or lay until now, by the shifted boots' clocks."""
        boots = stored.boots(self._database)
        told = [
            (node_no, t_us)
            for node_no, boot, t_us in zip(
                *(boots[name].to_pylist() for name in ("node_no", "boot", "first_us")), strict=True
            )
            if (node_no, boot) in shifted
        ]
        for some in (self._clocks, clocks):
            own = zip(
                some.node_no.tolist(),
                some.boot.tolist(),
                (some.base_us + some.from_mono_us).tolist(),
                strict=True,
            )
            told += [(node_no, t_us) for node_no, boot, t_us in own if (node_no, boot) in shifted]
        node_no, t_us = np.array(told, np.int64).reshape(-1, 2).T
        times = [mesh_us(some.table(), node_no, t_us) for some in (self._clocks, clocks)]
        return int(np.concatenate(times).min(initial=END_US)) - HOUR_US

    def _clock_rows(self, apart: Callable[[str, float], pa.Table]) -> pa.Table:
        """Make the rows of all clocks: by a task if there is much to look at, else here, or if that fails.

        With a month of a large mesh this takes a minute, in which the thread that reads would get half of a core.
        """
        hours = self._schedule.hours
        with self._lock:
            sights = hours.sights_an_hour() * len(hours)
        executors = self._executors
        # A single executor goes on reading.
        if executors is not None and executors.at_a_time > 1 and sights > limits.SIGHTS_AT_A_TIME:
            try:
                (rows,) = executors.map(partial(apart, self._name), [sights])
            except TasksFailedError as error:
                executors.tell(_FAILED.format(what="estimate clocks", error=error))
            else:
                return rows
        with closing(self._database.beside()) as reader:
            return estimate_clocks(reader, hours.keys, sights)

    # --- Hours

    def _derive(self, dirty: pa.Table, tell: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Derive all hours that depend on marked ones, and delete the marks."""
        known = self._schedule.hours.reach(self._clocks)
        chunks = list(self._schedule.chunks(dirty, self._clocks, known))
        begin_us, done = self._wall_us(), 0
        for chunk, made in zip(chunks, self._made(chunks, known), strict=True):
            done += len(chunk.hours)
            with self._lock, self._database.transaction():
                if made.delivery is None:
                    derived.replace(self._database, chunk.hours.tolist(), made.tables)
                else:
                    derived.take(self._database, chunk.hours.tolist(), made.delivery)
                dirty_hours.clear(self._database, chunk.finished)
                self._log(begin_us, chunk, made.sights)
            tell(done, done + chunk.waiting)
            begin_us = self._wall_us()
            self._derived_us |= dict.fromkeys(day_sums.days_of(chunk.hours.tolist()), begin_us)

    def _made(self, chunks: Sequence[Chunk], known: AffectedHours) -> Iterator[DerivedHours]:
        """Yield the rows of each chunk: made by executors if they are many, else here, or if those fail."""

        def stretches(first: int) -> Iterator[Stretch]:
            for chunk in chunks[first:]:
                yield stretch(known, int(chunk.hours[0]), int(chunk.hours[-1]) + HOUR_US)

        done = 0
        sights = sum(chunk.sights for chunk in chunks)
        if self._executors is not None and sights > limits.SIGHTS_AT_A_TIME:
            if is_address(self._name):
                with self._lock:
                    staging.prepare(self._database)
            work = partial(derive_apart, self._name, self._clocks)
            try:
                for made in self._executors.map(work, stretches(0)):
                    done += 1
                    yield made
            except TasksFailedError as error:
                self._executors.tell(_FAILED.format(what="derive hours", error=error))
        if done == len(chunks):
            return
        with closing(self._database.beside()) as reader:  # so that batches are merged meanwhile
            for each in stretches(done):
                yield derive_stretch(reader, self._clocks, each)

    def _log(self, begin_us: int, chunk: Chunk, sights: int) -> None:
        now_us = self._wall_us()
        self._database.execute(
            "INSERT INTO refresh_log (committed_us, hours, sights, wall_us, waiting) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (committed_us) DO UPDATE SET hours = excluded.hours, sights = excluded.sights",
            (now_us, len(chunk.hours), sights, now_us - begin_us, chunk.waiting),
        )
        self._database.execute(
            "DELETE FROM refresh_log WHERE committed_us < "
            "(SELECT committed_us FROM refresh_log ORDER BY committed_us DESC LIMIT 1 OFFSET ?)",
            (limits.LOG_KEPT - 1,),
        )

    def _sum_up_a_day(self, now_us: int) -> bool:
        """Sum up the latest day in which nothing has been derived for a while; return whether there was one."""
        with self._lock:
            days = day_sums.waiting(self._database)
        rested = [
            day_us
            for day_us in days
            if now_us - self._derived_us.get(day_us, self._begun_us) >= limits.DAY_REST_US
        ]
        if rested:
            day_sums.sum_up(self._database, self._lock, rested[-1])
            self._derived_us.pop(rested[-1], None)
        return bool(rested)

    # --- The mesh as a whole

    def _make_alerts_if_due(self, now_us: int) -> bool:
        if not self._schedule.alerts_are_due(now_us):
            return False
        self._make_alerts()
        self._schedule.alerts.done(now_us, self._wall_us())
        return True

    def _make_alerts(self) -> None:
        """Make changes and alerts from the derived tables; then delete old packets if that is due."""
        self._schedule.note_alerts()
        self._alerts.run(self._newest_us())
        if (now_us := self._wall_us()) >= self._schedule.retention.due_us:
            self._schedule.retention.done(now_us, now_us)
            self._delete_old()

    def _delete_old(self) -> None:
        """Delete single packets that no derived row will be made from any more."""
        with self._lock:
            boots = stored.boots(self._database)
        keys = self._schedule.hours.keys.T
        found = packet_ages(self._clocks, keys, boots, self._keep_us, self._latest_us())
        told = [
            *zip(KEY, keys, strict=True),
            *((name, getattr(found, name)) for name in PacketAges.__slots__),
        ]
        with self._lock:
            if retention.forget(self._database, pa.table(dict(told)), self._wall_us(), self._keep_us):
                self._schedule.hours.reload()

    def _latest_us(self) -> int:
        """Return the latest plausible time: later ones come from a wrong clock, if the job's own is right."""
        return self._wall_us() + limits.CLOCK_AHEAD_MAX_US

    def _newest_us(self) -> int:
        """Return the newest mesh time of any record; as on the page, times ahead of the job do not count, unless all
        are."""
        with self._lock:
            boots = stored.boots(self._database)
        ended_us = boot_times(self._clocks, boots).until_us
        if not len(ended_us):
            return 0
        past_us = ended_us[ended_us <= self._latest_us()]
        return int((past_us if len(past_us) else ended_us).max())
