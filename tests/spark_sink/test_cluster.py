"""The same job on a real cluster: tables in PostgreSQL, logs as objects, and machines that fail."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from spark_sink.serving.connect import open_for_reading, open_for_writing
from spark_sink.serving.database import Reader
from tests.spark_sink import contents
from tests.spark_sink.cluster import Cluster, running_cluster
from tests.spark_sink.logs import NodeLog, mesh
from tests.spark_sink.partials import oracle
from tests.spark_sink.serving.server import PostgresServer, running_server
from tests.spark_sink.test_object_files import store, upload

__all__ = ("store",)  # a fixture

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow]

SETTINGS = """
spark.authenticate        true
spark.authenticate.secret between machines
spark.master.rest.enabled false
spark.network.crypto.enabled true
"""


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    with running_server() as running:
        yield running


@contextmanager
def job(cluster: Cluster, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The driver, and its Java, in a group of their own. They are killed if they still run at the end."""
    with subprocess.Popen(
        command, env=cluster.environment, start_new_session=True, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    ) as driver:  # fmt: skip
        try:
            yield driver
        finally:
            if driver.poll() is None:
                os.killpg(driver.pid, signal.SIGKILL)


def wait_for_batches(driver: subprocess.Popen[str], reader: Reader, more: int) -> None:
    """Until so many more batches are in the database."""
    wanted = batches(reader) + more
    while batches(reader) < wanted:
        assert driver.poll() is None, driver.stderr and driver.stderr.read()
        time.sleep(0.02)


def batches(reader: Reader) -> int:
    return len(reader.rows("SELECT batch_id FROM batch_log"))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_drivers_and_workers_may_die_and_every_record_is_counted_once(
    tmp_path: Path, logs: Path, store: str, server: PostgresServer
) -> None:
    written: list[NodeLog] = mesh(logs, nodes=3, posts=40)
    upload(store, logs)
    database = server.url("mesh")
    with open_for_writing(database):
        pass  # its tables can be looked at from the beginning
    reader = open_for_reading(database)
    with running_cluster(tmp_path, SETTINGS) as cluster:
        command = [sys.executable, "-m", "spark_sink.cli", "backfill", "s3://logs/mesh", "--endpoint", store]
        command += ["--db", database, "--master", cluster.url]
        command += ["--batch-bytes", "12000", "--memory-mb", "512"]
        with job(cluster, command) as driver:
            wait_for_batches(driver, reader, 1)
        assert driver.returncode == -signal.SIGKILL
        with job(cluster, command) as driver:
            wait_for_batches(driver, reader, 1)
            cluster.kill_worker()
            cluster.start_worker()
            _, said = driver.communicate()
            assert driver.returncode == 0, said
    records = [record for log in written for record in log.records]
    assert contents.facts(reader) == oracle.facts(records)
    assert reader.rows("SELECT records FROM batches") == [(len(records),)]
    assert reader.rows("SELECT count(*) FROM dirty") == [(0,)]
    alone = str(tmp_path / "alone.sqlite")
    command = [sys.executable, "-m", "spark_sink.cli", "backfill", str(logs), "--db", alone]
    subprocess.run([*command, "--memory-mb", "512"], check=True, capture_output=True)
    assert contents.derived(reader) == contents.read(alone)[1], "as without a failure, on one machine"
    reader.close()
