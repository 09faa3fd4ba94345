"""The command: what it shows, what it says when something is wrong, and what it ends with."""

import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from spark_sink import cli, runner, session
from spark_sink.errors import JobFailedError, UnavailableError
from spark_sink.settings import LANDING, LOCAL, LOCAL_ENGINE, SPARK_ENGINE, Settings, default_engine
from tests.spark_sink import contents
from tests.spark_sink.logs import mesh


def test_help_is_quick_and_names_the_commands() -> None:
    started = time.perf_counter()
    shown = subprocess.run(
        [sys.executable, "-m", "spark_sink.cli", "--help"], capture_output=True, text=True, check=True
    )
    assert time.perf_counter() - started < 2
    for command in ("run", "backfill", "report", "serve"):
        assert command in shown.stdout


def test_help_does_not_load_spark() -> None:
    script = """
import sys, spark_sink.cli
spark_sink.cli.build_parser()
sys.exit(bool({'pyspark', 'pyarrow'} & set(sys.modules)))
"""
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("arguments", [["sreve"], ["serve", "--db", "x", "--port", "70000"], ["run"]])
def test_what_was_typed_wrong_ends_with_64(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(arguments)
    assert end.value.code == 64
    assert "--help" in capsys.readouterr().err


def test_a_library_that_lacks_is_named_with_what_brings_it() -> None:
    script = (
        "import sys; sys.modules['pyarrow'] = None; from spark_sink.cli import main;"
        "sys.exit(main(['run', 'logs', '--db', 'db']))"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 69
    assert "pyarrow is not installed" in ended.stderr
    assert "pip install '" in ended.stderr
    assert " 'pyarrow>=" in ended.stderr


def test_no_database_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["report", "--db", str(tmp_path / "none")]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["{logs}/nowhere", "--db", "{logs}/db"], "There is no folder", 1),
        (["{logs}", "--db", "{logs}/nowhere/db"], "--db is", 78),
        (["{logs}", "--db", "{logs}/db", "--batch-bytes", "0"], "--batch-bytes is '0'", 78),
        (["{logs}", "--db", "{logs}/db", "--threads", "0"], "--threads is '0'", 78),
        (["{logs}", "--db", "{logs}/db", "--memory-mb", "5"], "--memory-mb is '5'", 78),
        (
            ["{logs}", "--db", "{logs}/db", "--engine", "local", "--master", "k8s://x"],
            "--engine is 'local'",
            78,
        ),
        (
            ["{logs}", "--db", "{logs}/db", "--engine", "local", "--spark-ui", "4040"],
            "--spark-ui is '4040', but must be used with --engine spark",
            78,
        ),
    ],
)
def test_what_is_wrong_is_said_before_java_starts(
    logs: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
    code: int,
) -> None:
    monkeypatch.setattr(session, "make_session", lambda **_: pytest.fail("Java was started"))
    assert cli.main(["backfill", *(argument.format(logs=logs) for argument in arguments)]) == code
    assert message in capsys.readouterr().err


def test_missing_java_is_said_with_the_line_that_installs_it(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(logs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert cli.main(["backfill", str(logs), "--db", str(logs / "db")]) == 69
    assert "apt-get install default-jre-headless" in capsys.readouterr().err


def test_java_is_looked_for_in_java_home_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin/java"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert session.java() is None
    java.touch(mode=0o755)
    assert session.java() == str(java)


def test_failures_inside_spark_become_one_sentence(tmp_path: Path) -> None:
    settings = Settings(logs=str(tmp_path), database=str(tmp_path / "db"))
    ours = "Traceback …\nspark_sink.errors.NoLogsFolderError: There is no folder.\n at java…"
    assert str(runner.plain(ours, settings)) == "There is no folder."
    refused = runner.plain("spark_sink.errors.ConfigurationError: Another version.\n", settings)
    assert (str(refused), refused.exit_code) == ("Another version.", 78)
    other = runner.plain("java.lang.OutOfMemoryError", settings)
    assert isinstance(other, JobFailedError)
    assert (tmp_path / "db.failure.txt").read_text() == "java.lang.OutOfMemoryError"


def test_a_bronze_needs_spark_and_a_checkpoint_with_it(
    logs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "make_session", lambda **_: pytest.fail("Java was started"))
    (logs / LANDING).mkdir()
    assert cli.main(["run", str(logs), "--db", str(logs / "db"), "--engine", "local"]) == 78
    assert "--engine is 'local', but must be spark for a bronze" in capsys.readouterr().err
    assert cli.main(["run", str(logs), "--db", "postgresql:///mesh"]) == 78
    assert "--checkpoint is ''" in capsys.readouterr().err


def test_one_machine_follows_logs_without_spark_and_all_else_is_sparks(tmp_path: Path) -> None:
    logs, bronze = str(tmp_path / "logs"), tmp_path / "bronze"
    (bronze / LANDING).mkdir(parents=True)
    assert default_engine(logs, LOCAL, once=False, submitted=False) == LOCAL_ENGINE
    for place, master, once, submitted in (
        (logs, LOCAL, True, False),
        (logs, "spark://host:7077", False, False),
        (logs, LOCAL, False, True),
        (str(bronze), LOCAL, False, False),
    ):
        assert default_engine(place, master, once=once, submitted=submitted) == SPARK_ENGINE


@pytest.fixture(params=[LOCAL_ENGINE, pytest.param(SPARK_ENGINE, marks=pytest.mark.spark)])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either engine; Spark's session is that of all tests."""
    if request.param == SPARK_ENGINE:
        spark = request.getfixturevalue("spark")
        monkeypatch.setattr(session, "make_session", lambda **_: Unstoppable(spark))
    return str(request.param)


def test_backfill_tells_how_far_it_is_and_ends(logs: Path, engine: str) -> None:
    written = mesh(logs, nodes=2, posts=6)
    told: list[str] = []
    settings = Settings(logs=str(logs), database=str(logs.parent / "db"), engine=engine)
    assert runner.run(settings, once=True, tell=told.append) == 0
    assert told[0].startswith("Starting Spark") == (engine == SPARK_ENGINE)
    assert any("100 %" in line for line in told)
    assert told[-1] == "Done."
    assert contents.rows(settings.database, "SELECT records FROM batches") == [
        (sum(len(log.records) for log in written),)
    ]


class Refused:
    """A builder of sessions that Spark's master does not answer."""

    def getOrCreate(self) -> Any:
        raise Py4JError("Cannot call methods on a stopped SparkContext.")


def test_a_cluster_that_is_not_there_is_said() -> None:
    with pytest.raises(UnavailableError, match="The cluster at spark://nowhere:7077 did not accept the job"):
        session.start_session(Refused(), "spark://nowhere:7077")  # type: ignore[arg-type] # a fake builder
    with pytest.raises(UnavailableError, match="stopped SparkContext"):
        session.start_session(Refused(), LOCAL)  # type: ignore[arg-type] # a fake builder


@pytest.mark.parametrize("submitted", [False, True])
def test_what_suits_one_process_is_set_for_one_process(submitted: bool) -> None:
    alone = session.session_config(2, 700, local=True, submitted=False)
    cluster = session.session_config(2, 700, local=False, submitted=submitted)
    assert {name for name in alone if name not in cluster} >= {
        "spark.driver.host",
        "spark.driver.bindAddress",
    }
    assert ("spark.driver.memory" in cluster) is not submitted
    assert cluster["spark.python.daemon.module"] == "spark_sink.worker_daemon"


def test_the_page_of_spark_is_served_if_it_is_asked_for() -> None:
    usual = session.session_config(2, 700, local=True, submitted=False)
    assert (usual["spark.ui.enabled"], "spark.ui.port" in usual) == ("false", False)
    asked = session.session_config(2, 700, local=True, submitted=False, ui_port=4_050)
    assert (asked["spark.ui.enabled"], asked["spark.ui.port"]) == ("true", "4050")
    assert asked["spark.ui.killEnabled"] == "false"


class Orphan:
    """A query whose Java ends when we are told to: a signal went to both."""

    lastProgress = None  # noqa: N815 - Spark's name

    def __init__(self, *, told: bool) -> None:
        self._told = told

    def awaitTermination(self, _seconds: float) -> bool:
        if self._told:
            signal.raise_signal(signal.SIGTERM)
            return False
        raise Py4JNetworkError("Answer from Java side is empty")

    def stop(self) -> None:
        raise Py4JError("Cannot call methods on a stopped SparkContext.")


def watch(orphan: Any, settings: Settings, told: list[str]) -> bool:
    progress = runner.QueryProgress(told.append, lambda: True, str)
    progress.follow(orphan)
    return runner.watch_query(orphan, settings, progress)


def test_java_may_be_gone_first_when_told_to_end(tmp_path: Path) -> None:
    told: list[str] = []
    settings = Settings(logs=str(tmp_path), database=str(tmp_path / "db"))
    assert watch(Orphan(told=True), settings, told)
    assert told == ["Stopped. All records that were counted are kept; the next run continues from there."]
    with pytest.raises(JobFailedError, match=r"db\.failure\.txt"):
        watch(Orphan(told=False), settings, told)
    assert "Answer from Java" in (tmp_path / "db.failure.txt").read_text()


def test_a_report_that_has_no_place_goes_to_the_temporary_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    settings = Settings(logs=str(tmp_path), database="postgresql:///mesh")
    assert str(tmp_path / "tinyssb-sink.failure.txt") in str(runner.plain("java.lang.Error", settings))


class Unstoppable:
    """A session that outlives the job: other tests need it."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)

    def stop(self) -> None:
        """Stay."""


def test_run_ends_in_order_when_told_to(logs: Path, engine: str) -> None:
    written = mesh(logs, nodes=2, posts=2)
    told: list[str] = []

    def tell(text: str) -> None:
        told.append(text)
        if "100 %" in text:
            signal.raise_signal(signal.SIGTERM)

    settings = Settings(logs=str(logs), database=str(logs.parent / "db"), engine=engine)
    assert runner.run(settings, once=False, tell=tell) == 0
    assert told[-1].startswith("Stopped. All records that were counted are kept")
    assert contents.rows(settings.database, "SELECT records FROM batches") == [
        (sum(len(log.records) for log in written),)
    ]
