"""A real Spark cluster of our own for tests: a master and a worker as processes, on loopback, gone afterwards."""

import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pyspark

from tests.spark_sink.conftest import HASTY_JAVA

_SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_DEPLOY = "org.apache.spark.deploy"


class Cluster:
    """A standalone master and one worker, with settings (``spark-defaults.conf``) in *folder*."""

    url: str
    """The value of ``--master`` for jobs."""

    def __init__(self, folder: Path, settings: str) -> None:
        self.environment = {
            **os.environ,
            "JAVA_TOOL_OPTIONS": HASTY_JAVA,
            "SPARK_CONF_DIR": str(folder),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        """Environment of the processes that are part of it."""
        self._folder = folder
        self._running: list[subprocess.Popen[str]] = []
        (folder / "spark-defaults.conf").write_text(settings)

    def start(self) -> None:
        """Returns when jobs are welcome."""
        _, found = self._start("master.Master", (), r"Starting Spark master at (spark://\S+)")
        self.url = found[1]
        self.start_worker()

    def start_worker(self) -> None:
        """A new worker. Returns when the master knows it."""
        words = ("--cores", "2", "--memory", "1g", "--work-dir", str(self._folder / "work"), self.url)
        self._worker, _ = self._start("worker.Worker", words, "Successfully registered with master")

    def kill_worker(self) -> None:
        """All at once, as when its machine fails: its executors end when they miss it."""
        self._worker.kill()

    def kill(self) -> None:
        """Leave nothing behind."""
        for process in reversed(self._running):
            process.kill()
            process.wait()

    def _start(
        self, name: str, words: tuple[str, ...], sign: str
    ) -> tuple[subprocess.Popen[str], re.Match[str]]:
        """Start a part of the cluster, and read what it says until it says *sign*."""
        process = subprocess.Popen(
            [_SPARK_CLASS, f"{_DEPLOY}.{name}", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0", *words],
            env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True,
        )  # fmt: skip
        self._running.append(process)
        assert process.stderr is not None
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(sign, line):
                threading.Thread(target=_drain, args=(process.stderr,), daemon=True).start()
                return process, found
        raise AssertionError("".join(said))


def _drain(output: IO[str]) -> None:
    """Read on, so that the writer does not wait."""
    with output:
        for _ in output:
            pass


@contextmanager
def running_cluster(folder: Path, settings: str = "") -> Iterator[Cluster]:
    """A cluster that is stopped at the end."""
    cluster = Cluster(folder, settings)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()
