"""Landing: what lies where, and that each record is there once, whatever comes when and wherever the machine stops."""

import fcntl
import os
import random
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from spark_sink import limits
from spark_sink.bronze.footer import count_pieces
from spark_sink.bronze.manifests import BronzeFolder
from spark_sink.errors import BusyError, ConfigurationError
from spark_sink.schema import COLUMNS
from spark_sink.stream_offset import StreamOffset, gaps
from tests.spark_sink.bronze.landing import (
    CrashError,
    Landing,
    cut_of,
    dying,
    files_of,
    pieces_of,
    records_in,
    records_of,
    rows_of,
)
from tests.spark_sink.logs import T0_US, NodeLog, line, mesh, node_name
from tests.spark_sink.test_object_files import store, upload

__all__ = ("store",)  # a fixture

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


def intervals(offset: StreamOffset) -> dict[tuple[str, int], list[tuple[int, int]]]:
    return {
        (node, number): [(run.first, run.next) for run in boot.runs]
        for node, boots in offset.items()
        for number, boot in boots.items()
    }


def check(landing: Landing, logs: Path | None = None) -> None:
    """Every record once, and the files say the same as the offset."""
    bronze = landing.folder.root
    assert records_in(bronze) == records_of(logs or landing.logs)
    offset = landing.offset()
    assert gaps(offset) == []
    assert intervals(count_pieces({}, pieces_of(bronze))) == intervals(offset)


def test_records_lie_in_the_day_that_the_nodes_clock_had(tmp_path: Path, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.start(1)
    for hour in range(50):
        log.add("stop" if hour == 49 else "x", t_us=T0_US + hour * HOUR_US)
        if hour % 7 == 6:
            log.rotate()
    wrong = NodeLog(logs, node_name(2))
    wrong.raw(line({**wrong.stamp("x", t_us=5), "mono_us": 0}))
    wrong.add("x", t_us=T0_US)
    landing = Landing(logs, tmp_path / "bronze")
    landing.round()
    check(landing)
    found = rows_of(landing.folder.root)
    for row in found:
        assert row["day"] == f"day={datetime.fromtimestamp(row['t_us'] // 10**6, UTC).date()}"
    assert set(found[0]) == {field.name for field in COLUMNS} | {"file", "day"}
    for path in files_of(landing.folder.root):
        places = pq.read_table(path, columns=["node", "boot", "offset"], partitioning=None).to_pylist()
        assert [*map(list, map(dict.values, places))] == sorted([*map(list, map(dict.values, places))])
        assert path.stem == f"{pq.read_table(path, partitioning=None)['file'][0].as_py():016x}"
    boots = count_pieces({}, pieces_of(landing.folder.root))
    assert boots[node_name(1)][1].stopped
    assert boots == landing.offset()


def test_a_clock_that_jumps_without_end_makes_a_bounded_number_of_files(tmp_path: Path, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    for number in range(100):
        log.add("x", t_us=T0_US + (number % 50) * DAY_US)
    landing = Landing(logs, tmp_path / "bronze")
    landing.round()
    check(landing)
    assert len(files_of(landing.folder.root)) == limits.PIECES_MAX


def test_bad_lines_are_rows_beside_the_records_around_them_up_to_a_number(tmp_path: Path, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    log.raw(b"early\n")
    log.add("x", t_us=T0_US)
    log.raw(b"nonsense\n" * 50)
    log.add("x", t_us=T0_US + DAY_US)
    NodeLog(logs, node_name(2)).raw(b"nothing else\n")
    landing = Landing(logs, tmp_path / "bronze")
    landing.round()
    bad = [row for row in rows_of(landing.folder.root) if row["bad_path"] is not None]
    assert len(bad) == limits.BAD_LINES_LISTED + 2, (
        "two are of other lines: how many more, and the other file"
    )
    listed = [row for row in bad if node_name(1) in row["bad_path"] and row["bad_text"]]
    assert {row["day"] for row in listed} == {f"day={datetime.fromtimestamp(T0_US // 10**6, UTC).date()}"}
    assert [row["day"] for row in bad if node_name(2) in row["bad_path"]] == ["day=1970-01-01"]


@pytest.mark.parametrize("seed", range(40))
def test_order_repetition_pieces_and_crashes_leave_each_record_once(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Late halves, copies in two folders, a folder that is away, and a machine that goes down at any step."""
    chance = random.Random(seed)
    written = mesh(tmp_path / "whole", nodes=3, posts=20, seed=seed)
    written[0].add("stop", reason="signal")
    written[0].restart()
    written[0].start(0)
    landing = Landing(logs, tmp_path / "bronze")
    arrivals = [(path, cut) for path in (tmp_path / "whole").rglob("*.jsonl") for cut in (False, True)]
    chance.shuffle(arrivals)
    for path, is_whole in arrivals:
        name = path.relative_to(tmp_path / "whole")
        copy = logs / chance.choice(["", "other"]) / name
        data = path.read_bytes() if is_whole else cut_of(chance, path.read_bytes())
        if len(data) > (copy.stat().st_size if copy.exists() else -1):
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(data)
        if chance.random() < 0.3:
            crash(landing, monkeypatch, chance)
            landing = carried_on(landing)
            if chance.random() < 0.3:
                round_without(landing, chance)
    shutil.copytree(tmp_path / "whole", logs, dirs_exist_ok=True)
    landing = carried_on(landing)
    landing.round()
    check(landing, tmp_path / "whole")
    assert list(landing.folder.staging.iterdir()) == []


def crash(landing: Landing, patch: pytest.MonkeyPatch, chance: random.Random) -> None:
    with dying(patch, chance.randrange(20)) as died:
        try:
            landing.round(chance.choice([10**9, 2_000, 10_000]), chance.choice([1, 3_000, 10**9]))
        except CrashError:
            assert died()


def carried_on(landing: Landing) -> Landing:
    """Start again with what is on the disk."""
    return Landing(landing.logs, landing.folder.root)


def round_without(landing: Landing, chance: random.Random) -> None:
    """Land while the folder of a node is away."""
    folders = sorted(path for path in landing.logs.rglob("*") if path.is_dir() and len(path.name) == 16)
    if folders:
        folder = chance.choice(folders)
        away = folder.rename(landing.logs.parent / "not-mounted")
        landing.round()
        away.rename(folder)


def test_committed_files_are_named_at_the_next_start(
    tmp_path: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh(logs, nodes=2, posts=6)
    landing = Landing(logs, tmp_path / "bronze")
    steps = 0
    while landing.folder.last() is None:
        with dying(monkeypatch, steps), pytest.raises(CrashError):
            carried_on(landing).round()
        steps += 1
    assert files_of(landing.folder.root) == []
    with landing.folder.writing():
        assert records_in(landing.folder.root) == records_of(logs)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_logs_in_an_object_store_are_landed_as_those_in_folders(
    store: str, tmp_path: Path, logs: Path
) -> None:
    for log in mesh(logs, nodes=2, posts=6):
        log.rotate()
        log.add("x")
    upload(store, logs)
    landing = Landing(logs, tmp_path / "bronze", endpoint=store)
    landing.round(bytes_max=4_000, task_size=1_500)
    assert landing.done > 1
    check(landing)


def test_one_program_writes_at_a_time(tmp_path: Path) -> None:
    folder = BronzeFolder(tmp_path / "bronze")
    with folder.writing(), (folder.root / "_land" / "lock").open("a") as lock:
        with pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with pytest.raises(BusyError, match="Another tinyssb-sink"), BronzeFolder(folder.root).writing():
            pass


@pytest.mark.parametrize("text", ["", "[]", '{"version": 1}', '{"version": 2}'])
def test_a_manifest_that_cannot_be_read_stops_landing(tmp_path: Path, logs: Path, text: str) -> None:
    mesh(logs, nodes=1, posts=2)
    landing = Landing(logs, tmp_path / "bronze")
    landing.round()
    (manifest,) = (landing.folder.root / "_land").glob("*.json")
    manifest.write_text(text)
    with pytest.raises(ConfigurationError, match="nothing was done"), landing.folder.writing():
        pass


def test_old_manifests_go(tmp_path: Path, logs: Path) -> None:
    mesh(logs, nodes=2, posts=30)
    landing = Landing(logs, tmp_path / "bronze")
    landing.round(1_000)
    assert landing.done > limits.MANIFESTS_KEPT
    assert len(list((landing.folder.root / "_land").glob("*.json"))) == limits.MANIFESTS_KEPT
    check(landing)


def test_days_are_forgotten_by_their_name_and_by_when_they_were_landed(tmp_path: Path, logs: Path) -> None:
    log = NodeLog(logs, node_name(1))
    for day in range(4):
        log.add("x", t_us=T0_US + day * DAY_US)
    landing = Landing(logs, tmp_path / "bronze")
    landing.round()
    now_s = T0_US / 10**6 + 3 * 86_400
    assert landing.folder.forget(1, now_s) == 0, "they were landed later"
    for path in files_of(landing.folder.root):
        os.utime(path, (now_s - 2 * 86_400, now_s - 2 * 86_400))
    assert landing.folder.forget(1, now_s) == 2
    assert len(landing.folder.days()) == 2
    landing.round()
    assert len(landing.folder.days()) == 2, "what is forgotten is not landed again"
