"""A Spark session that suits a laptop: quiet, small, in UTC."""

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_sink.errors import NoJavaError, NoSparkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOG4J: Final = Path(__file__).with_name("log4j2.properties")


def java() -> str | None:
    """Where Java is: in JAVA_HOME, or on the PATH; None if nowhere."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which(str(Path(home) / "bin" / "java"))
    return shutil.which("java")


def make_session(*, threads: int, memory_mb: int) -> "SparkSession":
    """Start Java and Spark in this process, or give what already runs. Raises NoJavaError, NoSparkError."""
    if java() is None:
        raise NoJavaError
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - takes half a second, and is an extra
    except ImportError as error:
        raise NoSparkError from error
    os.environ["PYSPARK_PYTHON"] = sys.executable  # the tasks' Python must have the packages this one has
    builder = SparkSession.builder.master(f"local[{threads}]").appName("tinyssb-sink")
    for name, value in _config(threads, memory_mb).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    from spark_sink.source import TinyssbDataSource  # noqa: PLC0415 - as above

    session.dataSource.register(TinyssbDataSource)
    return session


def _config(threads: int, memory_mb: int) -> dict[str, str]:
    return {
        "spark.driver.memory": f"{memory_mb}m",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": (
            f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Dio.netty.tryReflectionSetAccessible=true"
        ),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(threads),
        "spark.sql.adaptive.enabled": "false",  # batches are small and their shape is known
        "spark.sql.streaming.pollingDelay": "100ms",  # asleep when nothing is written
        "spark.sql.streaming.numRecentProgressUpdates": "20",
        "spark.sql.streaming.minBatchesToRetain": "20",
    }
