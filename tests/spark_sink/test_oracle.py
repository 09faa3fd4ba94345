"""The whole way from logs to figures, against SQL on the raw logs: clocks that step, halves that come late, kills."""

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from spark_sink import job, limits
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database
from spark_sink.serving.merge import merge
from spark_sink.settings import LOCAL_ENGINE, SPARK_ENGINE, Settings
from tests.spark_sink import engines
from tests.spark_sink.engines import ReadAll
from tests.spark_sink.page.book import bucket_of
from tests.spark_sink.test_job import PowerCutError
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.bulk import BulkOptions, BulkWriter

pytest.importorskip("duckdb", reason="needs DuckDB: bash .ci/setup.sh dev")
from tests.spark_sink.oracle_sql import RawLogs

HOUR_US = 3_600_000_000
TEN_YEARS_US = 10 * 365 * 24 * HOUR_US
OPTIONS = BulkOptions(nodes=6, hours=9, seed=7, entries_per_hour=12, wrong_clocks=0.0, restarts_per_day=2)
Truth = dict[tuple[str, int, int], int]


def step_us(number: int, true_us: int) -> int:
    """How far the clock of a node is off: one has no time until the network tells it, two are set while they run."""
    steps = {
        0: (2 * HOUR_US, -TEN_YEARS_US, 0),
        2: (5 * HOUR_US, 0, 9 * HOUR_US),
        4: (4 * HOUR_US, -7 * HOUR_US, HOUR_US),
    }
    until_us, before_us, after_us = steps.get(number, (0, 0, 0))
    return before_us if true_us < until_us else after_us


def write(folder: Path) -> tuple[dict[str, bytes], Truth]:
    """Make logs with clocks that step; returns the files, and the true time of each record."""
    writer = BulkWriter(OPTIONS, folder / "logs")
    writer.run()
    clocks = {station.feed[:16]: (station.number, station.files.clock) for station in writer.stations}
    files: dict[str, bytes] = {}
    truth: Truth = {}
    for path in sorted((folder / "logs").rglob("*.jsonl")):
        number, clock = clocks[path.parent.name]
        lines = []
        for line in path.read_text().splitlines():
            record = json.loads(line)
            shown_us = record["t_us"] - sim_limits.EPOCH_US - clock.offset_us
            true_us = round(shown_us / (1 + clock.drift_ppm / 1_000_000))
            truth[record["node"], record["boot"], record["offset"]] = sim_limits.EPOCH_US + true_us
            record["t_us"] += step_us(number, true_us)
            lines.append(json.dumps(record, separators=(",", ":")))
        path.write_text("\n".join(lines) + "\n")
        files[str(path.relative_to(folder))] = path.read_bytes()
    return files, truth


def read_through_trouble(
    settings: Settings, files: dict[str, bytes], seed: int, read_all: ReadAll, patch: pytest.MonkeyPatch
) -> None:
    """Read half of it, be killed again and again, with a node's folder away, and read the rest as it comes."""
    chance = random.Random(seed)
    kills = 3 if settings.engine == LOCAL_ENGINE else 1  # Spark takes seconds each time
    root = Path(settings.logs)
    names = sorted(files)
    away = chance.choice(sorted({name.split("/")[1] for name in names}))
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        if away not in name and chance.random() < 0.7:
            (root / name).write_bytes(files[name][: chance.choice([len(files[name]), len(files[name]) // 2])])
    for _ in range(kills):
        be_killed(settings, chance.randrange(4), read_all, patch)
    chance.shuffle(names)
    for place, name in enumerate(names):
        (root / name).write_bytes(files[name])
        if place in (len(names) // 2, len(names) // 3)[:kills]:
            be_killed(settings, chance.randrange(4), read_all, patch)
    read_all(settings)


def be_killed(settings: Settings, batches: int, read_all: ReadAll, patch: pytest.MonkeyPatch) -> None:
    """Let the power go before a batch is merged, or just after, if there are so many."""
    left = [batches]
    failed = ""

    def breaking(*arguments: Any) -> bool:
        left[0] -= 1
        if left[0] == -1 and batches % 2:
            raise PowerCutError("PowerCutError")
        merged = merge(*arguments)
        if left[0] == -1:
            raise PowerCutError("PowerCutError")
        return merged

    with patch.context() as inner:
        inner.setattr(job, "merge", breaking)
        try:
            read_all(settings)
        except Exception as error:  # noqa: BLE001 - engines wrap it in theirs
            failed = str(error)
    assert not failed or "PowerCutError" in failed


NODE = "(SELECT node FROM nodes WHERE node_no = {})"


@pytest.mark.parametrize(
    ("engine", "seed"),
    [(LOCAL_ENGINE, 1), (LOCAL_ENGINE, 2), pytest.param(SPARK_ENGINE, 3, marks=pytest.mark.spark)],
)
def test_all_figures_are_those_of_the_raw_logs(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, seed: int
) -> None:
    files, truth = write(tmp_path)
    raw = RawLogs(tmp_path, truth)
    assert raw.records() == len(truth)
    (tmp_path / "arrived").mkdir()
    settings = Settings(
        logs=str(tmp_path / "arrived"),
        database=str(tmp_path / "db.sqlite"),
        bytes_per_batch=200_000,
        engine=engine,
    )
    monkeypatch.setattr(limits, "SMALL_BATCH", 30_000)
    read_through_trouble(settings, files, seed, engines.read_all(request, engine), monkeypatch)
    with open_for_writing(settings.database) as database:
        assert traffic(database) == raw.traffic()
        assert frontiers(database) == raw.frontiers()
        assert heard(database) == raw.heard()
        check_airtime(database, raw)
        check_delays(database, raw)


def traffic(database: Database) -> list[Any]:
    return sorted(
        database.rows(
            f"SELECT {NODE.format('t.node_no')}, hour_us, direction, packet, verdict, sum(packets), sum(bytes), "
            "sum(airtime_us) FROM traffic t GROUP BY node_no, hour_us, direction, packet, verdict"
        )
    )


def frontiers(database: Database) -> list[Any]:
    feed = "(SELECT feed FROM feeds WHERE feeds.feed_no = t.feed_no)"
    return sorted(database.rows(f"SELECT {NODE.format('t.node_no')}, {feed}, seq FROM frontiers t"))


def heard(database: Database) -> list[Any]:
    names = f"{NODE.format('sender')}, {NODE.format('receiver')}"
    return sorted(database.rows(f"SELECT {names}, sum(heard) FROM links GROUP BY sender, receiver"))


def check_airtime(database: Database, raw: RawLogs) -> None:
    sql = f"SELECT {NODE.format('t.node_no')}, hour_us, sum(airtime_us) FROM transmitted t GROUP BY node_no, hour_us"
    found = {(node, hour_us): airtime_us for node, hour_us, airtime_us in database.rows(sql)}
    wanted = {(node, hour_us): (low, high) for node, hour_us, low, high in raw.airtime()}
    assert found.keys() <= wanted.keys()
    for place, (low, high) in wanted.items():
        assert low <= found.get(place, 0) <= high, place


def check_delays(database: Database, raw: RawLogs) -> None:
    found: dict[Any, list[int]] = defaultdict(list)
    wanted: dict[Any, list[int]] = defaultdict(list)
    sql = f"SELECT {NODE.format('a')}, bucket, n FROM delays WHERE scope = 'node'"
    for node, bucket, n in database.rows(sql):
        found[node] += [int(str(bucket))] * int(str(n))
    for node, delay_us in raw.delays():
        wanted[node].append(bucket_of(delay_us))
    assert found.keys() == wanted.keys()
    for node, buckets in wanted.items():
        assert len(found[node]) == len(buckets)
        apart = [abs(one - other) for one, other in zip(sorted(found[node]), sorted(buckets), strict=True)]
        assert max(apart) <= 1, "a bucket is 4 % wide; clocks are right to some milliseconds"
