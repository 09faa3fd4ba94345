"""State carries over: other settings, an older program's database, a place in the logs that does not fit any more."""

import json
import signal
import sqlite3
from collections.abc import Iterable
from pathlib import Path

import pytest

from spark_sink import cli
from tests.spark_sink import contents
from tests.spark_sink.logs import NodeLog, mesh
from tests.spark_sink.partials import oracle
from tinyssb_node import version

V1_OFFSET = {"version": 1, "nodes": {"0123456789abcdef": {"boot": 1, "segment": 0, "byte": 4096}}}
"""A place as version 1 kept it."""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """Where the command is to put it."""
    return tmp_path / "serving.sqlite"


def backfill(logs: Path, database: Path, *more: str) -> int:
    return cli.main(["backfill", str(logs), "--db", str(database), "--engine", "local", *more])


def check(database: Path, written: Iterable[NodeLog]) -> None:
    """Every fact against the plain count, and the program's version."""
    records = [record for log in written for record in log.records]
    facts, _ = contents.read(database)
    assert facts == oracle.facts(records)
    assert contents.rows(database, "SELECT records FROM batches") == [(len(records),)]
    assert program(database) == version()


def program(database: Path) -> str:
    """Which program wrote last."""
    ((value,),) = contents.rows(database, "SELECT value FROM meta WHERE name = 'program'")
    return str(value)


def change(database: Path, *statements: str) -> None:
    connection = sqlite3.connect(database)
    with connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()


def test_a_stopped_job_goes_on_with_other_settings_and_another_program(
    database: Path, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = mesh(logs, nodes=2, posts=30)

    def stop_early(text: str) -> None:
        if "MB read" in text:
            signal.raise_signal(signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(cli, "_tell", stop_early)
        words = ["run", str(logs), "--db", str(database), "--batch-bytes", "1000", "--threads", "1"]
        assert cli.main(words) == 0
    ((some,),) = contents.rows(database, "SELECT records FROM batches")
    assert 0 < some < sum(len(log.records) for log in written)
    change(database, "UPDATE meta SET value = '0.0.1' WHERE name = 'program'")
    assert backfill(logs, database, "--batch-bytes", "6000", "--threads", "3") == 0
    check(database, written)


def test_an_older_database_of_this_version_is_brought_up(database: Path, logs: Path) -> None:
    written = mesh(logs, nodes=2, posts=6)
    assert backfill(logs, database) == 0
    change(
        database,
        "DROP VIEW node_names",
        "DROP TABLE refresh_log",
        "DROP TABLE alerts",
        "ALTER TABLE batch_log DROP COLUMN newest_us",
        "ALTER TABLE boots DROP COLUMN network_name",
        "DELETE FROM meta WHERE name = 'program'",
    )
    written[0].add("stop", reason="signal")
    assert backfill(logs, database) == 0
    check(database, written)
    assert contents.rows(database, "SELECT name FROM node_names ORDER BY name") == [("n0",), ("n1",)]
    assert contents.rows(database, "SELECT * FROM alerts") == []
    assert contents.rows(database, "SELECT newest_us IS NULL FROM batch_log ORDER BY committed_us") == [
        (1,),
        (0,),
    ]


def test_a_place_of_version_1_is_refused(
    database: Path, logs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = mesh(logs, nodes=2, posts=6)
    assert backfill(logs, database) == 0
    change(database, f"UPDATE batches SET offsets = '{json.dumps(V1_OFFSET)}'")
    written[1].add("stop", reason="signal")
    before = contents.read(database)
    capsys.readouterr()
    assert backfill(logs, database) == 78
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "written by version 1, and this program reads version 2" in said
    assert contents.read(database) == before
