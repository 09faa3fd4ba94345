"""A Spark session that suits a laptop: quiet, small, in UTC."""

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_sink import limits
from spark_sink.errors import JavaFailedError, NoJavaError, NoSparkError
from spark_sink.settings import LOCAL

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOPBACK: Final = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOG4J: Final = Path(__file__).with_name("log4j2.properties")


def java() -> str | None:
    """Where Java is: in JAVA_HOME, or on the PATH; None if nowhere."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which(str(Path(home) / "bin" / "java"))
    return shutil.which("java")


def make_session(*, threads: int, memory_mb: int, master: str = LOCAL) -> "SparkSession":
    """Start Java and Spark in this process, or give what already runs; *master* may name a cluster.

    Raises NoJavaError, JavaFailedError, NoSparkError.
    """
    if java() is None:
        raise NoJavaError
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - takes half a second, and is an extra
    except ImportError as error:
        raise NoSparkError from error
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the tasks' Python must have the packages this one has
    local = master == LOCAL
    builder = SparkSession.builder.master(f"local[{threads}]" if local else master).appName("tinyssb-sink")
    for name, value in {**_config(threads, memory_mb), **(_LOOPBACK if local else {})}.items():
        builder = builder.config(name, value)
    session = _start(builder)
    from spark_sink.source import TinyssbDataSource, TinyssbPartialsDataSource  # noqa: PLC0415 - as above

    session.dataSource.register(TinyssbDataSource)
    session.dataSource.register(TinyssbPartialsDataSource)
    return session


def _start(builder: "SparkSession.Builder") -> "SparkSession":
    """Start Java with its standard error in a file: it greets with warnings that are nobody's business.

    What fails later comes as an exception; what keeps Java from starting is in the file. Raises JavaFailedError.
    """
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - as above

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as greetings:
        kept = os.dup(2)
        os.dup2(greetings.fileno(), 2)
        try:
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            greetings.seek(0)
            raise JavaFailedError(greetings.read().strip()[-limits.JAVA_WORDS_MAX :]) from error
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _config(threads: int, memory_mb: int) -> dict[str, str]:
    return {
        "spark.driver.memory": f"{memory_mb}m",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Dio.netty.tryReflectionSetAccessible=true "
            "-XX:+UseSerialGC"  # for a small heap on few cores: a third less delay than the default, measured
        ),
        "spark.python.daemon.module": "spark_sink.warm_workers",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(threads),
        "spark.sql.adaptive.enabled": "false",  # batches are small and their shape is known
        "spark.sql.streaming.pollingDelay": "100ms",  # asleep when nothing is written
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.streaming.minBatchesToRetain": "20",
    }
