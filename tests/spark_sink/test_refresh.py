"""Passes of the refresh: nothing twice, nothing for nothing, and how long single packets are kept."""

import itertools
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from spark_sink import limits
from spark_sink.derive.clock_table import clock_rows
from spark_sink.derive.facts import HOUR_US, Facts
from spark_sink.facts_loader import FactsLoader, Stretch
from spark_sink.refresh import Refresh
from spark_sink.serving import day_sums, dirty_hours
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database, table_of
from spark_sink.serving.meta import SIGHTS_SINCE, read_number
from tests.spark_sink import contents
from tests.spark_sink.logs import digits
from tests.spark_sink.page.asking import ask
from tests.spark_sink.test_any_order import Stream, logs


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    """All logs merged, nothing derived yet."""
    with open_for_writing(str(tmp_path / "db.sqlite")) as database:
        stream = Stream(database)
        stream.files.data.update(logs())
        while stream.batch(None, 10**9):
            pass
        yield stream


def count(stream: Stream, table: str) -> int:
    ((found,),) = stream.database.rows(f"SELECT count(*) FROM {table}")
    assert isinstance(found, int)
    return found


def test_a_pass_does_what_is_to_be_done_and_then_nothing(stream: Stream) -> None:
    assert count(stream, "dirty") > 0
    assert stream.refresh.run_pass()
    assert (count(stream, "dirty"), count(stream, "touched")) == (0, 0)
    before = stream.database.changes()
    assert not stream.refresh.run_pass()
    assert stream.database.changes() == before


def test_batches_can_be_merged_while_facts_are_loaded_and_derived(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = threading.Lock()
    loaded: list[Stretch] = []
    load = FactsLoader.load

    def look(loader: FactsLoader, stretch: Stretch) -> Facts:
        assert not lock.locked()
        with lock, stream.database.transaction():  # as a merge does
            dirty_hours.mark(stream.database, newest_log(stream), len(loaded))
        loaded.append(stretch)
        return load(loader, stretch)

    monkeypatch.setattr(FactsLoader, "load", look)
    Refresh(stream.database, lock, lambda: stream.number).run_pass()
    assert loaded
    assert count(stream, "dirty") == 1, "what was marked meanwhile is still to be done"
    monkeypatch.undo()
    stream.refresh.run_to_end()
    assert count(stream, "dirty") == 0


class Guarded:
    """A database that is used under a lock only: else statements of two threads lock each other's tables."""

    def __init__(self, database: Database, lock: threading.Lock) -> None:
        self._inner = database
        self._lock = lock

    def __getattr__(self, name: str) -> object:
        assert name == "beside" or self._lock.locked(), f"{name} is called without the lock"
        return getattr(self._inner, name)


@pytest.mark.parametrize("to_end", [False, True])
def test_the_database_is_used_under_the_lock_only(stream: Stream, *, to_end: bool) -> None:
    lock = threading.Lock()
    database = Guarded(stream.database, lock)
    refresh = Refresh(database, lock, lambda: 4 * 10**15)  # type: ignore[arg-type] # all that it uses
    if to_end:
        refresh.run_to_end()
    else:
        while refresh.run_pass():
            pass
    assert count(stream, "dirty") == 0


def test_a_start_does_not_estimate_clocks_before_that_is_due_again(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    estimated: list[int] = []
    now_us = [10**15]

    def slow(*arguments: Any) -> pa.Table:
        estimated.append(now_us[0])
        now_us[0] += 50_000_000
        return clock_rows(*arguments)

    monkeypatch.setattr("spark_sink.estimated_clocks.clock_rows", slow)

    def start_after(minutes: int, running: int = 1) -> None:
        now_us[0] += minutes * 60_000_000
        job = Refresh(stream.database, threading.Lock(), lambda: now_us[0])
        now_us[0] += running * 60_000_000
        with stream.database.transaction():
            dirty_hours.mark(stream.database, newest_log(stream), now_us[0])
        job.run_pass()

    start_after(0)
    assert len(estimated) == 1
    start_after(5)
    assert len(estimated) == 1, "a twentieth of the time is used for it"
    start_after(12)
    assert len(estimated) == 2
    now_us[0] -= 10**14
    start_after(0, running=121)
    assert len(estimated) == 3, "the clock of the machine was set back"


def test_another_refresh_goes_on_where_one_was_stopped(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SIGHTS_AT_A_TIME", 100)
    monkeypatch.setattr(limits, "SIGHTS_IN_MEMORY", 0)
    with pytest.raises(KeyboardInterrupt):
        stream.refresh.run_to_end(_stop)
    assert count(stream, "dirty") > 0
    stream.refresh = Refresh(stream.database, threading.Lock())
    stopped = stream.finish()
    monkeypatch.undo()  # what is looked at in one go must not matter
    with open_for_writing(str(tmp_path / "whole.sqlite")) as database:
        whole = Stream(database)
        whole.files.data.update(logs())
        assert whole.finish() == stopped


def _stop_at_once(_done: int, _todo: int) -> None:
    raise KeyboardInterrupt


def _stop(done: int, todo: int) -> None:
    if done * 2 >= todo:
        raise KeyboardInterrupt


def test_a_day_is_summed_up_when_it_has_rested(stream: Stream) -> None:
    def waiting() -> int:
        return len(day_sums.waiting(stream.database))

    assert stream.refresh.run_pass()
    days = waiting()
    assert days > 0
    assert not stream.refresh.run_pass()
    stream.number += limits.DAY_REST_US - 1
    stream.refresh.run_pass()
    assert waiting() == days
    stream.number += 1
    assert stream.refresh.run_pass()
    assert waiting() == days - 1, "one a pass"
    while stream.refresh.run_pass():
        pass
    assert waiting() == 0
    with stream.database.transaction():
        dirty_hours.mark(stream.database, newest_log(stream), stream.number)
    stream.refresh = Refresh(stream.database, threading.Lock(), lambda: stream.number)
    assert stream.refresh.run_pass()
    assert waiting() > 0
    stream.refresh.run_to_end()
    assert waiting() == 0, "at the end all are"


def newest_log(stream: Stream) -> pa.Table:
    """The last hour of the logs of all nodes."""
    rows = stream.database.rows("SELECT node_no, boot, hour_us FROM sights ORDER BY hour_us DESC LIMIT 1")
    return table_of("dirty", ("node_no", "boot", "hour_us"), rows)


def test_old_packets_go_and_what_was_made_of_them_stays(stream: Stream) -> None:
    stream.refresh.run_to_end()
    before, kept = contents.derived(stream.database), count(stream, "sights")
    with stream.database.transaction():
        stream.database.execute("DELETE FROM forgets")
    short = Refresh(stream.database, threading.Lock(), keep_days=0)
    short.run_to_end()
    assert 0 < count(stream, "sights") < kept
    assert contents.derived(stream.database) == before


def test_other_definitions_make_all_hours_anew(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    stream.refresh.run_to_end()
    wanted = contents.derived(stream.database)
    with stream.database.transaction():
        for table in ("links", "uses", "delays"):
            stream.database.execute(f"DELETE FROM {table}")
    assert not Refresh(stream.database, threading.Lock()).run_pass(), "made by the same definitions"
    monkeypatch.setattr(limits, "DERIVED_VERSION", limits.DERIVED_VERSION + 1)
    Refresh(stream.database, threading.Lock()).run_to_end()
    assert contents.derived(stream.database) == wanted
    assert count(stream, "dirty") == 0


YEAR_US = 365 * 24 * HOUR_US


def log(number: int, boot: int, *records: dict[str, object]) -> tuple[str, bytes]:
    """A log of a node that no other log tells of: its path, and what is in it."""
    node = f"{number:016x}"
    text = b"".join(
        json.dumps({"v": 1, "node": node, "boot": boot, "offset": offset, **record}).encode() + b"\n"
        for offset, record in enumerate(records)
    )
    return f"logs/{node}/{boot:08d}-{0:012d}.jsonl", text


def start(t_us: int) -> dict[str, object]:
    return {"t_us": t_us, "mono_us": 0, "kind": "start", "name": "lone", "feed": f"{7:064x}", "clean": True}


def packet(kind: str, name: str, t_us: int, mono_us: int) -> dict[str, object]:
    heard = {"verdict": "new"} if kind == "rx" else {}
    told = {"face": "lora", "packet": "claim", "length": 100, "hash": digits(name, 16), "airtime_us": 50_000}
    return {"t_us": t_us, "mono_us": mono_us, "kind": kind, **told, **heard}


def read(stream: Stream, *some: tuple[str, bytes]) -> None:
    stream.files.data.update(some)
    while stream.batch(None, 10**9):
        pass


def of_today(stream: Stream) -> None:
    """Let the job's clock show what machines' clocks do."""
    stream.refresh = Refresh(stream.database, threading.Lock())


def newest_us(stream: Stream) -> int:
    ((found,),) = stream.database.rows("SELECT max(slot_us) FROM groups")
    assert isinstance(found, int)
    return found


def test_a_clock_far_ahead_neither_ages_packets_nor_sets_now(stream: Stream) -> None:
    of_today(stream)
    stream.refresh.run_to_end()
    before, told, kept = (
        contents.derived(stream.database),
        contents.told(stream.database),
        count(stream, "sights"),
    )
    since_us = read_number(stream.database, SIGHTS_SINCE)
    ahead_us = newest_us(stream) + 70 * YEAR_US
    read(stream, log(1, 1, start(ahead_us), packet("tx", "alone", ahead_us + 1_000, 1_000)))
    of_today(stream)
    stream.refresh.run_to_end()
    assert count(stream, "sights") == kept + 1
    assert read_number(stream.database, SIGHTS_SINCE) == since_us
    assert contents.told(stream.database) == told
    after = contents.derived(stream.database)
    assert all(set(rows) <= set(after[table]) for table, rows in before.items())


def two_of_now_and_one_of_1970(wall_us: int) -> dict[str, tuple[str, bytes]]:
    """Logs of an hour: ``a``, whose clock was never set, sends, ``b`` hears, and ``d`` is by himself."""
    began_us = {"a": 10 * HOUR_US, "b": wall_us - 5 * HOUR_US, "d": wall_us - 5 * HOUR_US}
    said = {"a": ("tx", ""), "b": ("rx", ""), "d": ("tx", "d")}
    return {
        name: log(
            number,
            1,
            start(since_us),
            *(
                packet(
                    said[name][0],
                    f"{said[name][1]}{minute}",
                    since_us + minute * 60_000_000,
                    minute * 60_000_000,
                )
                for minute in range(1, 60)
            ),
        )
        for number, (name, since_us) in enumerate(began_us.items())
    }


def made(folder: Path, *rounds: str) -> tuple[Any, ...]:
    """Tables, when logs come in these rounds, with a look for old packets after each."""
    wall_us = 1_760_000_000_000_000 // HOUR_US * HOUR_US
    logs = two_of_now_and_one_of_1970(wall_us)
    folder.mkdir()
    with open_for_writing(str(folder / "db.sqlite")) as database:
        stream = Stream(database)
        for number, names in enumerate(rounds):
            stream.refresh = Refresh(database, threading.Lock(), itertools.repeat(wall_us + number).__next__)
            read(stream, *(logs[name] for name in names))
            stream.refresh.run_to_end()
        return contents.derived(database), contents.told(database)


def test_packets_of_a_clock_of_1970_wait_for_the_log_that_puts_them_right(tmp_path: Path) -> None:
    together = made(tmp_path / "together", "abd")
    assert together[0]["links"]
    assert made(tmp_path / "apart", "ad", "b") == together
    assert made(tmp_path / "one by one", "a", "d", "b") == together


def test_a_node_that_was_off_was_not_up_whatever_its_clock_showed_when_it_began(tmp_path: Path) -> None:
    """Off for six hours, it takes its last time for now, until the network tells it better after half a minute."""
    began_us = 1_760_000_000_000_000 // HOUR_US * HOUR_US
    late_us = began_us + 7 * HOUR_US

    def packets(kind: str, *minutes: int, since_us: int = began_us) -> list[dict[str, object]]:
        times = {minute: began_us + minute * 60_000_000 for minute in minutes}
        return [packet(kind, f"{minute}", t_us, t_us - since_us) for minute, t_us in times.items()]

    with open_for_writing(str(tmp_path / "db.sqlite")) as database:
        stream = Stream(database)
        read(
            stream,
            log(1, 1, start(began_us), *packets("tx", *range(1, 600, 3))),
            log(3, 1, start(began_us), *packets("rx", *range(1, 600, 3))),
            log(2, 1, start(began_us), *packets("rx", *range(1, 60, 3))),
            log(2, 2, start(began_us + HOUR_US), *packets("rx", *range(421, 600, 3), since_us=late_us)),
        )
        stream.refresh.run_to_end()
        rows = database.rows(
            "SELECT DISTINCT (hour_us - ?) / 3600000000 FROM groups g JOIN nodes n ON n.node_no = g.node_no "
            "WHERE n.node = ? ORDER BY 1",
            (began_us, f"{2:016x}"),
        )
        assert [hour for (hour,) in rows] == [0, 7, 8, 9]
        told = {(rule, since_us) for rule, since_us in database.rows("SELECT rule, since_us FROM alerts")}
        assert told == {("silent", began_us + 58 * 60_000_000)}


def test_a_clock_set_back_by_years_costs_no_hours_between(tmp_path: Path) -> None:
    began_us = 1_760_000_000_000_000 // HOUR_US * HOUR_US

    def records(kind: str, ahead_us: int) -> list[dict[str, object]]:
        """Of five hours, in the first four of which the clock is ahead."""
        times = [(minute, minute * 60_000_000) for minute in range(1, 300, 2)]
        return [start(began_us + ahead_us)] + [
            packet(kind, f"{minute}", began_us + us + (ahead_us if minute < 240 else 0), us)
            for minute, us in times
        ]

    done: list[tuple[int, int]] = []
    with open_for_writing(str(tmp_path / "db.sqlite")) as database:
        stream = Stream(database)
        read(stream, log(1, 1, *records("tx", 0)), log(2, 1, *records("rx", 80 * YEAR_US)))
        read(stream, log(3, 1, *records("rx", 0)))
        with pytest.raises(KeyboardInterrupt):
            stream.refresh.run_to_end(_stop_at_once)
        ((left,),) = database.rows("SELECT count(*) FROM dirty WHERE hour_us > ?", (began_us + YEAR_US,))
        assert left == 4, "what may lie in both stretches is marked until both are made"
        stream.refresh = Refresh(database, threading.Lock(), lambda: 0)
        stream.refresh.run_to_end(lambda some, all_: done.append((some, all_)))
        assert count(stream, "clocks") == 4
        assert database.rows("SELECT min(heard), max(heard) FROM links WHERE sent = heard") == [(30, 30)]
        assert count(stream, "dirty") == 0
    assert done[-1][0] == done[-1][1] <= 16


def test_airtime_and_duty_are_right_though_the_clock_was_set_by_years_and_the_node_started_again(
    tmp_path: Path,
) -> None:
    """A Pi without a clock of its own: ten years behind, set after 40 minutes, off for a minute, behind again, set."""
    began_us, minute_us = 1_760_000_000_000_000 // HOUR_US * HOUR_US, 60_000_000
    law = {"sub_band": "EU868", "limit_ppm": 10_000, "window_us": HOUR_US}
    up = {"mono_us": 1, "kind": "face_up", "face": "lora", "spec": "lora:", **law}

    def sent(first: int, last: int, behind_until: int) -> list[dict[str, object]]:
        """A packet every five seconds of some minutes: all that the law allows."""

        def own_us(minute: float) -> int:
            return began_us + int(minute * minute_us) - (10 * YEAR_US if minute < behind_until else 0)

        times = [first + fifth / 12 for fifth in range(1, 12 * (last - first))]
        return [
            start(own_us(first)),
            {"t_us": own_us(first) + 1, **up},
            *(packet("tx", f"{at:.3f}", own_us(at), int((at - first) * minute_us)) for at in times),
        ]

    boots = sent(0, 60, 40), sent(61, 120, 70)
    packets = [each for records in boots for each in records if each["kind"] == "tx"]
    heard = [
        packet("rx", f"{at:.3f}", began_us + int(at * minute_us), int(at * minute_us))
        for first, last in ((0, 60), (61, 120))
        for at in (first + fifth / 12 for fifth in range(1, 12 * (last - first)))
    ]
    path = tmp_path / "db.sqlite"
    with open_for_writing(str(path)) as database:
        stream = Stream(database)
        logs = [log(1, boot, *records) for boot, records in enumerate(boots, 1)]
        read(stream, *logs, log(2, 1, start(began_us), *heard))
        stream.refresh = Refresh(database, threading.Lock(), lambda: began_us + 2 * HOUR_US)
        stream.refresh.run_to_end()
        assert database.rows("SELECT count(*) FROM alerts WHERE rule = 'duty'") == [(1,)]
    found = ask(path, "airtime", from_us=began_us, to_us=began_us + 2 * HOUR_US)
    (row,) = found["nodes"]
    assert row["airtime_us"] == 50_000 * len(packets)
    last_hour = 12 * 59 - 1
    assert row["now_ppm"] == round(50_000 * last_hour / 3_600)
    assert ask(path, "overview")["nodes"][0]["airtime_us"] > 0
