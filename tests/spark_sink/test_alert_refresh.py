"""Changes and alerts made bit by bit, from what stood some hours ago, against all made at once."""

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spark_sink import alert_loader, limits
from spark_sink.alert_refresh import AlertRefresh
from spark_sink.derive.alert_inputs import SCHEMAS, AlertInputs
from spark_sink.derive.alert_windows import BEGIN_US, END_US
from spark_sink.derive.alerts import alerts
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving import standing
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database, table_of
from spark_sink.serving.facts import whole
from spark_sink.serving.tables import TABLES

T0_US = 490_896 * HOUR_US
HOURS = 60
NODES = (1, 2, 3, 4)
SLOT_US = limits.SLOT_US
MINUTE_US = 60_000_000
SECOND_BOOT = 30
Row = dict[str, Any]
Rows = dict[str, list[Row]]


class Mesh:
    """An unsteady mesh: what is derived and counted of each hour."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._seqs: dict[tuple[int, int], int] = {}
        self._down: set[int] = set()
        self._apart = False
        self._bad: set[tuple[int, int]] = set()

    def before(self) -> Rows:
        """Rows that are there from the beginning on; the clock of node 3 is 10 h ahead, node 4 met no other. Each node
        had its power cut in the hour before `SECOND_BOOT`."""
        clocks = [
            {"node_no": node, "boot": boot, "base_us": T0_US + ahead_us, "mesh": 99, "offset_us": ahead_us,
             "at_us": T0_US, "drift_ppm": 0.0, "matches": 9}
            for node, ahead_us in ((1, 1_000), (2, -2_000), (3, 10 * HOUR_US + 7)) for boot in (1, 2)
        ]  # fmt: skip
        laws = {1: HOUR_US, 2: HOUR_US, 3: 30 * HOUR_US, 4: 3 * HOUR_US}
        return {
            "nodes": [{"node_no": node, "node": f"{node:016x}"} for node in NODES],
            "clocks": clocks,
            "boots": [
                {"node_no": node, "boot": boot, "feed_no": node, "first_us": self._own(node, T0_US + begin * HOUR_US),
                 "last_us": self._own(node, T0_US + end * HOUR_US - HOUR_US // 2),
                 "last_mono_us": (end - begin) * HOUR_US - HOUR_US // 2}
                for node in NODES for boot, begin, end in ((1, 0, SECOND_BOOT), (2, SECOND_BOOT, HOURS + 1))
            ],
            "faces": [
                {"node_no": node, "face": "lora air", "up": 1, "limit_ppm": 10_000, "window_us": window_us}
                for node, window_us in laws.items()
            ],
        }  # fmt: skip

    def hour(self, number: int) -> Rows:
        """Rows of one hour."""
        chance, hour_us = self._chance, T0_US + number * HOUR_US
        if chance.random() < 0.15:
            self._down ^= {chance.choice(NODES)}
        if chance.random() < 0.15:
            self._apart = not self._apart
        if chance.random() < 0.6:
            self._bad ^= {(chance.choice(NODES), chance.choice(NODES))}
        up = [node for node in NODES if node not in self._down]
        found: Rows = {
            name: [] for name in ("groups", "links", "steps", "transmitted", "counts", "traffic", "incidents")
        }
        for slot_us in range(hour_us, hour_us + HOUR_US, SLOT_US):
            found["groups"] += self._groups(slot_us, up)
            found["transmitted"] += [
                {"node_no": node, "slot_us": slot_us, "face": "lora air", "hour_us": hour_us, "packets": 3,
                 "airtime_us": chance.choice([0, 1, 2, 5, 9, 13]) * 1_000_000}
                for node in up
            ]  # fmt: skip
        for sender in up:
            found["links"] += [
                {"hour_us": hour_us, "sender": sender, "receiver": other, "sent": 10,
                 "heard": chance.choice([0, 0, 1]) if (sender, other) in self._bad else chance.choice([4, 6, 10])}
                for other in up if other != sender and chance.random() < 0.9
            ]  # fmt: skip
            found["steps"] += self._steps(sender, hour_us)
            found["counts"] += self._counts(sender, hour_us)
            found["incidents"] += self._turns(sender, number)
            if chance.random() < 0.3:
                found["traffic"].append(
                    {"node_no": sender, "hour_us": self._own(sender, hour_us), "verdict": "invalid",
                     "packets": chance.choice([1, 3, 12])}
                )  # fmt: skip
        return found

    def _turns(self, node: int, number: int) -> list[Row]:
        """Faces that go down, and some of them up, in the first half of an hour."""
        boot, begin = (1, 0) if number < SECOND_BOOT else (2, SECOND_BOOT)
        found = []
        for face in ("lora air", "usb"):
            moments = sorted(
                self._chance.sample(
                    range(0, HOUR_US // 2, MINUTE_US // 4), self._chance.choice([0, 0, 0, 1, 2, 3])
                )
            )
            kinds = self._chance.choice([("face_down", "face_up"), ("face_up", "face_down")])
            found += [
                {"node_no": node, "boot": boot, "offset": (number * 2 + (face == "usb")) * 8 + place,
                 "t_us": self._own(node, T0_US + number * HOUR_US + moment),
                 "mono_us": (number - begin) * HOUR_US + moment, "kind": kinds[place % 2], "face": face}
                for place, moment in enumerate(moments)
            ]  # fmt: skip
        return found

    def _own(self, node: int, hour_us: int) -> int:
        return hour_us + (10 * HOUR_US if node == 3 else 0)

    def _groups(self, slot_us: int, up: Sequence[int]) -> list[Row]:
        alone = {node for node in up if self._chance.random() < 0.05 or (self._apart and node == 2)}
        parts = [
            [node for node in up if node not in alone and (not self._apart or node % 2 == odd)]
            for odd in (0, 1)
        ]
        if not self._apart:
            parts = [[node for node in up if node not in alone]]
        return [
            {"slot_us": slot_us, "node_no": node, "hour_us": slot_us // HOUR_US * HOUR_US, "group_no": min(part),
             "last_us": slot_us + 5 if len(part) > 1 else None}
            for part in (*parts, *([node] for node in alone)) for node in part
        ]  # fmt: skip

    def _steps(self, node: int, hour_us: int) -> list[Row]:
        found = []
        for feed in NODES:
            if self._chance.random() < (0.9 if feed == node else 0.2):
                ahead = max((self._seqs.get((other, feed), 0) for other in NODES), default=0)
                seq = ahead + 6 if feed == node else ahead
                if seq > self._seqs.get((node, feed), 0):
                    self._seqs[node, feed] = seq
                    found.append({"node_no": node, "feed_no": feed, "hour_us": hour_us, "seq": seq})
        return found

    def _counts(self, node: int, hour_us: int) -> list[Row]:
        chance, own_us = self._chance, self._own(node, hour_us)
        rows = [
            ("face_down", "lora air", chance.choice([1, 3, 7])),
            ("refused", "budget", chance.choice([15, 50, 150])),
            ("refused", "event_log", chance.choice([0, 1])),
        ]
        return [
            {"node_no": node, "hour_us": own_us, "kind": kind, "detail": detail, "records": count, "total": count}
            for kind, detail, count in rows if chance.random() < 0.4
        ]  # fmt: skip


def put(database: Database, rows: Rows) -> None:
    """Add rows; what is not said of a column is null, or 0, or empty."""
    for name, some in rows.items():
        nothing: dict[str, Any] = {
            column.name: None
            if column.optional
            else {"int64": 0, "double": 0.0, "string": ""}[column.type.value]
            for column in TABLES[name].columns
        }
        database.insert(
            name, table_of(name, tuple(nothing), [tuple((nothing | row).values()) for row in some])
        )


def told(database: Database) -> dict[str, list[Any]]:
    """All changes and alerts."""
    return {
        "alerts": database.rows(
            "SELECT rule, subject, since_us, until_us, level, value, peak FROM alerts ORDER BY rule, subject, since_us"
        ),
        "changes": database.rows(
            "SELECT t_us, kind, subject, detail, slot_us FROM changes ORDER BY t_us, kind, subject"
        ),
    }  # fmt: skip


@contextmanager
def new_database() -> Iterator[tuple[Database, AlertRefresh]]:
    with TemporaryDirectory() as folder, open_for_writing(str(Path(folder, "db.sqlite"))) as database:
        yield database, AlertRefresh(database, threading.Lock())


def now_us(hours: int) -> int:
    return T0_US + hours * HOUR_US - MINUTE_US


def play(
    mesh: Mesh, stepwise: tuple[Database, AlertRefresh], whole: tuple[Database, AlertRefresh], *, every: int
) -> None:
    """Let all hours of a mesh come into two databases: one is refreshed after *every* few, the other at the end."""
    (database, refresh), (other, at_once) = stepwise, whole
    for number, rows in enumerate([mesh.before(), *(mesh.hour(number) for number in range(HOURS))]):
        add(database, number, rows)
        add(other, number, rows)
        if number % every == 1:
            refresh.run(now_us(number))
    refresh.run(now_us(HOURS))
    at_once.run(now_us(HOURS))


@pytest.mark.parametrize("seed", range(12))
def test_hour_by_hour_gives_what_all_at_once_gives(seed: int) -> None:
    with new_database() as (database, refresh), new_database() as (other, at_once):
        play(Mesh(seed), (database, refresh), (other, at_once), every=3)
        ((states,),) = database.rows("SELECT count(*) FROM standing")
        assert isinstance(states, int)
        assert states > 4
        assert {row[0] for row in told(other)["alerts"]} > {
            "duty",
            "budget",
            "stuck",
            "disk",
            "flapping",
            "down",
        }
        assert told(database) == told(other)
        assert told(database)["alerts"] == in_one_go(other)


def in_one_go(database: Database) -> list[Any]:
    """All alerts, from whole tables."""
    lock = threading.Lock()
    tables = alert_loader.whole_tables(database, lock)
    tables |= alert_loader.window_tables(database, lock, tables, BEGIN_US, END_US)
    tables["changes"] = whole(database, "changes").select(SCHEMAS["changes"].names)
    found = alerts(AlertInputs(now_us(HOURS), tables))
    names = ("rule", "subject", "since_us", "until_us", "level", "value", "peak")
    return list(zip(*(found[name].to_pylist() for name in names), strict=True))


def add(database: Database, number: int, rows: Rows) -> None:
    """Add an hour as the refresh and the merge would."""
    with database.transaction():
        put(database, rows)
        if number:
            hour_us = T0_US + (number - 1) * HOUR_US
            standing.forget(database, hour_us)
            own = {row["node_no"]: row["hour_us"] for row in (*rows["counts"], *rows["traffic"])}
            own |= {row["node_no"]: row["t_us"] // HOUR_US * HOUR_US for row in rows["incidents"]}
            for node, own_us in own.items():
                database.execute(
                    "INSERT INTO counted (node_no, hour_us) VALUES (?, ?) ON CONFLICT (node_no) DO UPDATE "
                    "SET hour_us = CASE WHEN excluded.hour_us < counted.hour_us THEN excluded.hour_us "
                    "ELSE counted.hour_us END",
                    (node, own_us),
                )


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(100, 10_000), st.data())
def test_hours_that_come_late_are_worked_in(seed: int, data: st.DataObject) -> None:
    mesh = Mesh(seed)
    before, *hours = [mesh.before(), *(mesh.hour(number) for number in range(HOURS))]
    order = list(range(1, HOURS + 1))
    for _ in range(data.draw(st.integers(1, 4))):
        order.append(order.pop(data.draw(st.integers(0, HOURS - 1))))
    looks = data.draw(st.sets(st.sampled_from(order), min_size=5, max_size=20))
    with new_database() as (database, refresh), new_database() as (other, at_once):
        for some in (database, other):
            add(some, 0, before)
        newest = 0
        for number in order:
            newest = max(newest, number)
            add(database, number, hours[number - 1])
            add(other, number, hours[number - 1])
            if number in looks:
                refresh.run(now_us(newest))
        refresh.run(now_us(HOURS))
        at_once.run(now_us(HOURS))
        assert told(database) == told(other)


def test_a_law_that_changes_goes_for_all_that_was() -> None:
    mesh = Mesh(5)
    hours = [mesh.before(), *(mesh.hour(number) for number in range(HOURS))]
    change = "UPDATE faces SET limit_ppm = 5000 WHERE node_no = 1"
    with new_database() as (database, refresh), new_database() as (other, at_once):
        for number, rows in enumerate(hours):
            add(database, number, rows)
            add(other, number, rows)
        refresh.run(now_us(HOURS))
        before = told(database)
        for some in (database, other):
            some.execute(change)
        refresh.run(now_us(HOURS))
        at_once.run(now_us(HOURS))
        assert told(database) == told(other) != before


def test_states_of_long_ago_are_few() -> None:
    with new_database() as (database, _):
        for day in range(1_000):
            with database.transaction():
                now = T0_US + day * 24 * HOUR_US
                standing.keep(database, [(now - hours * HOUR_US, b"") for hours in (24, 18, 12, 6)], now)
        ages = [
            (now - int(str(row[0]))) / HOUR_US
            for row in database.rows("SELECT at_us FROM standing ORDER BY at_us")
        ]
        assert len(ages) < 30
        assert ages[0] == 24 * 1_000
        assert all(older <= 2.5 * newer + 24 for older, newer in pairwise(ages))
