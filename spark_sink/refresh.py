"""Makes derived tables anew where something new is known: what takes all nodes' logs together.

A pass looks up which hours of logs were marked, puts clocks right, and replaces the derived rows of the hours of mesh
time that depend on them, a few hours at a time, each in a transaction. A mark goes with the last of its hours, so
whatever kills the job and whenever, the next pass does what is left.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import hours, limits
from spark_sink.derive import changes, delays, groups, hops, links, progress, steps, uses
from spark_sink.derive.ageing import Ages, Hours, ages
from spark_sink.derive.alert_inputs import QUERIES, SCHEMAS, AlertInputs
from spark_sink.derive.alerts import alerts
from spark_sink.derive.clocks import Records, clock_rows
from spark_sink.derive.facts import HOUR_US, Facts, Ints
from spark_sink.derive.lives import boots_of, lives
from spark_sink.derive.mesh_time import Corrections, corrections, moved
from spark_sink.derive.transmissions import transmissions
from spark_sink.hours import Loader, Reach
from spark_sink.serving import derived, marks, meta, retention
from spark_sink.serving import facts as stored
from spark_sink.serving.port import Database
from spark_sink.serving.tables import TABLES
from spark_sink.serving.values import table_of

_KEY: Final = ("node_no", "boot", "hour_us")
_DAY_US: Final = 24 * HOUR_US
_CLOCK_COLUMNS: Final = tuple(column.name for column in TABLES["clocks"].columns)
_GROUPS: Final = pa.schema([(column.name, pa.int64()) for column in TABLES["groups"].columns])
"""All of its columns are whole numbers."""


def derive(facts: Facts) -> dict[str, pa.Table]:
    """All derived rows of full hours, by table. Pure."""
    heard = transmissions(facts.sights)
    return {
        "links": links.links(facts, heard),
        "uses": uses.uses(facts, heard),
        "delays": pa.concat_tables([delays.delays(facts), hops.hops(facts, heard)]),
        "steps": steps.steps(facts),
        "progress": progress.progress(facts),
        "groups": groups.groups(facts),
    }


def _hours(keys: Iterable[Sequence[int]]) -> pa.Table:
    """Hours of logs as marks want them."""
    columns = np.array(list(keys), np.int64).reshape(-1, len(_KEY)).T
    return pa.table({name: pa.array(column) for name, column in zip(_KEY, columns, strict=True)})


@dataclass(slots=True)
class _Pace:
    """How often something costly may be done."""

    every_us: int
    share: float
    due_us: int = 0

    def done(self, begin_us: int, end_us: int) -> None:
        self.due_us = end_us + max(self.every_us, int((end_us - begin_us) / self.share))


class Refresh:
    """The derived tables of one database. Passes must not overlap."""

    def __init__(
        self,
        database: Database,
        lock: threading.Lock,
        wall_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        keep_days: int = limits.KEEP_DAYS,
    ) -> None:
        """*lock* is held while *database* is used. Single packets are kept for *keep_days*.

        Raises DatabaseFailedError.
        """
        self._database = database
        self._lock = lock
        self._wall_us = wall_us
        self._clocks_pace = _Pace(limits.CLOCKS_EVERY_US, limits.CLOCKS_SHARE)
        self._looks_pace = _Pace(limits.CHANGES_EVERY_US, limits.REFRESH_SHARE)
        self._keep_us = keep_days * _DAY_US
        self._forget_due_us = 0
        self._looked_at = False
        with lock:
            self._clocks = self._stored_clocks()
            self._keys = hours.keys_of(database)
            repaired = retention.repair(database, self._latest_us())
            self._renew(all_=repaired)

    def _renew(self, *, all_: bool) -> None:
        """Mark everything if told to, or if derived tables were made by other definitions than ours."""
        if not all_ and meta.read_derived(self._database) == limits.DERIVED_VERSION:
            return
        with self._database.transaction():
            marks.mark(self._database, _hours(sorted(self._keys)), self._wall_us())
            meta.write_derived(self._database)

    def pass_(self) -> bool:
        """Bring derived tables up to date, as far as clocks allow that were estimated some time ago.

        Returns False if there was nothing to do. Raises DatabaseFailedError.
        """
        now_us = self._wall_us()
        dirty = self._dirty()
        if dirty.num_rows == 0:
            return self._look_if_due(now_us)
        if now_us >= self._clocks_pace.due_us or self._has_unknown_boots(dirty):
            self._estimate(limits.CLOCK_MOVED_US)
            self._clocks_pace.done(now_us, self._wall_us())
            dirty = self._dirty()
        self._derive(dirty)
        self._looked_at = True
        self._look_if_due(now_us)
        return True

    def settle(self, tell: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Bring derived tables to what they are by all logs there are, whatever order those came in.

        *tell* is called with hours done and to do. Raises DatabaseFailedError.
        """
        self._dirty()
        self._estimate(0)
        while (dirty := self._dirty()).num_rows:
            self._derive(dirty, tell)
        self._look()

    # --- what is to be done

    def _dirty(self) -> pa.Table:
        with self._lock:
            dirty = self._marked()
            if self._database.rows("SELECT 1 FROM touched LIMIT 1"):
                with self._database.transaction():
                    if dirty.num_rows >= len(self._keys):
                        self._database.execute("DELETE FROM touched")  # all is to be made anew anyway
                    else:
                        marks.spread(self._database, self._wall_us(), self._mesh_us)
                dirty = self._marked()
        return dirty

    def _marked(self) -> pa.Table:
        dirty = stored.dirty(self._database, limits.DIRTY_AT_A_TIME)
        self._keys.update(zip(*(dirty[name].to_pylist() for name in _KEY), strict=True))
        return dirty

    def _mesh_us(self, copies: pa.Table) -> Ints:
        return hours.mesh_times(self._clocks, copies)[0]

    def _has_unknown_boots(self, dirty: pa.Table) -> bool:
        node_no, boot = dirty["node_no"].to_numpy(), dirty["boot"].to_numpy()
        known = self._clocks.clock(node_no, boot, np.zeros(len(boot), np.int64)) >= 0
        return not known.all() and self._wall_us() >= self._clocks_pace.due_us - self._clocks_pace.every_us

    def _estimate(self, least_us: int) -> None:
        """Estimate all clocks anew; where that moves times by more than *least_us*, hours are marked."""
        with self._lock:
            named = self._database.rows("SELECT node_no, node FROM nodes")
            newest = self._database.rows("SELECT node_no, boot, last_us FROM boots")
        names = {int(number): str(name) for number, name in named}  # type: ignore[arg-type] # columns of whole numbers and texts
        newest_us = {(int(node), int(boot)): int(last_us) for node, boot, last_us in newest}  # type: ignore[arg-type] # columns of whole numbers and texts
        if not self._keys:
            return
        rows = clock_rows(self._all_records(), names)
        clocks = corrections(rows)
        shifted = {(each.node_no, each.boot) for each in moved(self._clocks, clocks, newest_us, least_us)}
        if least_us and not shifted:
            return
        again, emptied = self._affected(clocks, shifted)
        with self._lock, self._database.transaction():
            derived.replace(self._database, emptied.tolist(), {"clocks": rows})
            marks.mark(self._database, again, self._wall_us())
        self._clocks = clocks

    def _affected(self, clocks: Corrections, shifted: set[tuple[int, int]]) -> tuple[pa.Table, Ints]:
        """What has to be made anew once *clocks* are taken, which shift these boots.

        Their hours of logs, and those of others that meet them where they were until now; and the hours of mesh time
        in which nothing is left.
        """
        keys = np.array(sorted(self._keys), np.int64)
        own = np.array([(node_no, boot) in shifted for node_no, boot in keys[:, :2].tolist()], bool)
        before = hours.reach(self._clocks, *keys[own].T)
        left = hours.hours_between(before.low_us, before.high_us)
        after = hours.reach(clocks, *keys.T)
        meets = np.searchsorted(left, after.low_us) < np.searchsorted(left, after.high_us, "right")
        covered = hours.hours_between(after.low_us[meets], after.high_us[meets])
        again = own.copy()
        again[after.asked[meets]] = True
        return _hours(keys[again].tolist()), np.setdiff1d(left, covered)

    def _all_records(self) -> Callable[[], Iterable[Records]]:
        """What gives all records, again and again: from memory where there are few."""
        if self._sights() > limits.SIGHTS_IN_MEMORY:
            return self._records
        kept = list(self._records())
        return lambda: kept

    def _sights(self) -> int:
        """How many there are."""
        with self._lock:
            ((sights,),) = self._database.rows("SELECT coalesce(sum(n), 0) FROM sights")
        assert isinstance(sights, int)
        return sights

    def _records(self) -> Iterator[Records]:
        parts = hours.records_by_node(self._database, self._keys)
        while True:
            with self._lock:
                part = next(parts, None)
            if part is None:
                return
            yield part

    def _stored_clocks(self) -> Corrections:
        columns = ", ".join(_CLOCK_COLUMNS)
        rows = self._database.rows(f"SELECT {columns} FROM clocks")  # noqa: S608 - names of ours
        return corrections(table_of("clocks", _CLOCK_COLUMNS, rows))

    # --- hours

    def _derive(self, dirty: pa.Table, tell: Callable[[int, int], None] = lambda _done, _all: None) -> None:
        """Make all hours anew that depend on marked ones, and take the marks away."""
        marked = hours.reach(self._clocks, *(dirty[name].to_numpy() for name in _KEY))
        known = hours.reach(self._clocks, *np.array(sorted(self._keys), np.int64).T)
        last_us = np.full(dirty.num_rows, -(2**62))
        np.maximum.at(last_us, marked.asked, marked.high_us)
        todo = hours.hours_between(marked.low_us, marked.high_us)
        with self._lock:
            loader = Loader(self._database, self._clocks, known)
        cleared = np.zeros(dirty.num_rows, bool)
        done = 0
        for some in self._chunks(todo, known):
            begin_us = self._wall_us()
            since_us, until_us = int(some[0]), int(some[-1]) + HOUR_US
            with self._lock:
                facts = loader.load(since_us, until_us)
            tables = derive(facts)
            over = ~cleared & (last_us < until_us)
            cleared |= over
            done += len(some)
            with self._lock, self._database.transaction():
                derived.replace(self._database, *retention.kept(self._database, some.tolist(), tables))
                marks.clear(self._database, dirty.filter(pa.array(over)))
                self._note(begin_us, len(some), len(facts.sights), len(todo) - done)
            tell(done, len(todo))

    def _chunks(self, todo: Ints, known: Reach) -> Iterator[Ints]:
        """Hours in a row, so many that their sights are joined in one go."""
        per_key = self._sights() / max(1, len(known.hour_us))
        starts = np.sort(known.low_us)
        begin = 0
        for end in range(1, len(todo) + 1):
            held = np.searchsorted(starts, todo[end - 1], "right") - np.searchsorted(starts, todo[begin])
            if (
                end == len(todo)
                or todo[end] - todo[end - 1] > HOUR_US
                or held * per_key >= limits.SIGHTS_AT_A_TIME
            ):
                yield todo[begin:end]
                begin = end

    def _note(self, begin_us: int, count: int, sights: int, waiting: int) -> None:
        now_us = self._wall_us()
        self._database.execute(
            "INSERT INTO refresh_log (committed_us, hours, sights, wall_us, waiting) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (committed_us) DO UPDATE SET hours = excluded.hours, sights = excluded.sights",
            (now_us, count, sights, now_us - begin_us, waiting),
        )
        self._database.execute(
            "DELETE FROM refresh_log WHERE committed_us < "
            "(SELECT committed_us FROM refresh_log ORDER BY committed_us DESC LIMIT 1 OFFSET ?)",
            (limits.LOG_KEPT - 1,),
        )

    # --- the mesh as a whole

    def _look_if_due(self, now_us: int) -> bool:
        if not self._looked_at or now_us < self._looks_pace.due_us:
            return False
        self._look()
        self._looks_pace.done(now_us, self._wall_us())
        return True

    def _look(self) -> None:
        """Tell splits, joins and alerts anew from all that was derived."""
        self._looked_at = False
        with self._lock:
            columns = ", ".join(_GROUPS.names)
            groups_ = self._database.table(f"SELECT {columns} FROM groups", _GROUPS)  # noqa: S608 - names of ours
        told = changes.changes(groups_)
        with self._lock:
            inputs = self._inputs(told)
        found = alerts(inputs)
        with self._lock, self._database.transaction():
            derived.replace(self._database, (), {"changes": told, "alerts": found})
        if (now_us := self._wall_us()) >= self._forget_due_us:
            self._forget_due_us = now_us + limits.FORGET_EVERY_US
            self._forget()

    def _forget(self) -> None:
        """Let single packets go of which nothing is made any more."""
        with self._lock:
            boots = boots_of(stored.boots(self._database))
        keys = np.array(sorted(self._keys), np.int64).reshape(-1, len(_KEY)).T
        found = ages(self._clocks, Hours(*keys), boots, self._keep_us, self._latest_us())
        told = [*zip(_KEY, keys, strict=True), *((name, getattr(found, name)) for name in Ages.__slots__)]
        with self._lock:
            if retention.forget(self._database, pa.table(dict(told)), self._wall_us(), self._keep_us):
                self._keys = hours.keys_of(self._database)

    def _latest_us(self) -> int:
        """What is later than this comes from a clock that is wrong, if the job's own is right."""
        return self._wall_us() + limits.CLOCK_AHEAD_MAX_US

    def _inputs(self, told: pa.Table) -> AlertInputs:
        found = {
            name: self._database.table(sql, SCHEMAS[name])
            for name, sql in QUERIES.items()
            if name != "changes"
        }
        return AlertInputs(now_us=self._newest_us(), changes=told.select(SCHEMAS["changes"].names), **found)

    def _newest_us(self) -> int:
        """Newest mesh time of any record; as on the page, what is ahead of the job does not count, unless all is."""
        ended_us = lives(self._clocks, boots_of(stored.boots(self._database))).until_us
        if not len(ended_us):
            return 0
        past_us = ended_us[ended_us <= self._latest_us()]
        return int((past_us if len(past_us) else ended_us).max())
