"""Refresh of changes of the mesh and of alerts: from what stood some hours ago, so that it costs the same every day.

States are kept at full hours, closely for the last day and ever more rarely for what is longer ago: what comes late is
worked in from a state that is about twice as old at most. Whatever changes rows that states were made from deletes
these states (serving/standing.py).
"""

import threading
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import alert_loader
from spark_sink.derive.alert_inputs import SCHEMAS, AlertInputs
from spark_sink.derive.alert_series import ints, mesh_us
from spark_sink.derive.alert_windows import END_US, WINDOWED
from spark_sink.derive.alerts import alerts, ended
from spark_sink.derive.changes import changes
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.standing import Settled, Standing, parse_standing, serialize_standing, settled
from spark_sink.serving import standing as kept
from spark_sink.serving.database import Database, marks
from spark_sink.serving.facts import whole

_EVERY_US: Final = 6 * HOUR_US
"""Between two of the closest states."""
_CLOSE: Final = 4
_DAY_US: Final = 24 * HOUR_US
_LATE_US: Final = 3 * HOUR_US
"""Hours before the newest record of which more may come at any time: nodes' logs are collected by the hour."""


@dataclass(slots=True)
class _Made:
    """Rows and states that a refresh makes, until they are written."""

    changes: list[pa.Table] = field(default_factory=list)
    alerts: list[pa.Table] = field(default_factory=list)
    states: list[Standing] = field(default_factory=list)


class AlertRefresh:
    """The tables `changes` and `alerts` of one database."""

    def __init__(self, database: Database, lock: threading.Lock) -> None:
        """*lock* is held while *database* is used."""
        self._database = database
        self._lock = lock

    def run(self, now_us: int) -> None:
        """Make all rows that may be other ones by now; *now_us* is the newest mesh time. Raises DatabaseFailedError."""
        tables = alert_loader.whole_tables(self._database, self._lock)
        self._forget(tables["clocks"], now_us)
        known = settled(tables)
        begun = now = self._newest(known)
        made = _Made()
        for until_us in self._bounds(begun.alerts.at_us, now_us):
            inputs = self._inputs(tables, now, until_us, now_us)
            rows, standing = ended(inputs, now.alerts, until_us)
            told, groups = changes(self._groups(now, until_us), now.groups)
            now = Standing(groups, standing, known)
            made.changes.append(told)
            made.alerts.append(rows)
            made.states.append(now)
        told, _ = changes(self._groups(now, END_US), now.groups)
        made.changes.append(told)
        tables["changes"] = self._all_changes(begun, made)
        inputs = self._inputs(tables, now, END_US, now_us)
        made.alerts.append(alerts(inputs, now.alerts))
        self._write(begun, made, now_us)

    def _forget(self, clocks: pa.Table, now_us: int) -> None:
        """Delete states after hours in which nodes counted something since, and any that are ahead of the mesh."""
        with self._lock, self._database.transaction():
            counted = whole(self._database, "counted")
            own = ints(counted, "node_no"), ints(counted, "hour_us")
            first_us = int(mesh_us(clocks, *own).min(initial=now_us - HOUR_US))
            kept.forget(self._database, first_us)
            self._database.execute("DELETE FROM counted")

    def _newest(self, known: Settled) -> Standing:
        """Return the newest state that holds, without those that do not."""
        while True:
            with self._lock:
                rows = self._database.rows("SELECT at_us, state FROM standing ORDER BY at_us DESC LIMIT 1")
            if not rows:
                return Standing()
            at_us, state = rows[0]
            assert isinstance(at_us, int)
            assert isinstance(state, bytes)
            found = parse_standing(state)
            if found.holds(known):
                return found
            with self._lock, self._database.transaction():
                kept.forget(self._database, at_us - 1)

    def _bounds(self, since_us: int, now_us: int) -> list[int]:
        """Return the hours to go by: each day of which there is anything, and closer ones at the end."""
        last_us = (now_us - _LATE_US) // _EVERY_US * _EVERY_US
        with self._lock:
            rows = self._database.rows("SELECT DISTINCT hour_us FROM groups WHERE hour_us >= ?", (since_us,))
        hours = np.array([row[0] for row in rows], np.int64)
        days = np.unique(hours // _DAY_US)
        close = last_us - np.arange(_CLOSE) * _EVERY_US
        bounds = np.unique(np.concatenate([days * _DAY_US, (days + 1) * _DAY_US, close]))
        return bounds[(bounds > since_us) & (bounds <= last_us)].tolist() if len(hours) else []

    def _groups(self, now: Standing, until_us: int) -> pa.Table:
        return alert_loader.groups_of(self._database, self._lock, now.alerts.at_us, until_us)

    def _inputs(self, tables: dict[str, pa.Table], now: Standing, until_us: int, now_us: int) -> AlertInputs:
        found = alert_loader.window_tables(self._database, self._lock, tables, now.alerts.at_us, until_us)
        return AlertInputs(now_us, {**tables, **found})

    def _all_changes(self, begun: Standing, made: _Made) -> pa.Table:
        names = SCHEMAS["changes"].names
        with self._lock:
            before = whole(self._database, "changes", "WHERE slot_us < ?", (begun.alerts.at_us,))
        return pa.concat_tables(table.select(names) for table in (before, *made.changes))

    def _write(self, begun: Standing, made: _Made, now_us: int) -> None:
        """Put rows in the place of those that were made from the same hours before."""
        at_us = begun.alerts.at_us
        with self._lock, self._database.transaction():
            self._database.execute("DELETE FROM changes WHERE slot_us >= ?", (at_us,))
            self._database.execute(
                f"DELETE FROM alerts WHERE rule NOT IN ({marks(len(WINDOWED))}) "  # noqa: S608 - question marks
                "OR until_us IS NULL OR until_us >= ?",
                (*WINDOWED, at_us),
            )
            for rule, spans in begun.alerts.open.items():
                for one in spans:
                    self._database.execute(
                        "DELETE FROM alerts WHERE rule = ? AND subject = ? AND since_us = ?",
                        (rule, one.subject, one.since_us),
                    )
            self._database.insert("changes", pa.concat_tables(made.changes))
            self._database.insert("alerts", pa.concat_tables(made.alerts))
            kept.keep(
                self._database,
                [(state.alerts.at_us, serialize_standing(state)) for state in made.states],
                now_us,
            )
