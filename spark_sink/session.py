"""A Spark session: in this process, quiet and small, unless a cluster is named; in UTC."""

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from spark_sink.errors import UnavailableError
from spark_sink.settings import LOCAL, no_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Environment variable that `spark-submit` sets for its programs: Java is already running, with its own options."""
ALONE: Final = (
    "The cluster has given this job no worker yet, so the job waits. See on its own page whether a worker is up with "
    "enough free cores and memory."
)
"""Message while `has_workers` is false for long."""
_LOG4J: Final = Path(__file__).with_name("log4j2.properties")


def is_submitted() -> bool:
    """True if `spark-submit` started this program."""
    return _SUBMITTED in os.environ


def java() -> str | None:
    """Return the path of Java: in JAVA_HOME, or on the PATH; None if it is missing."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return shutil.which(str(Path(home) / "bin" / "java"))
    return shutil.which("java")


def require_java() -> None:
    """Check that Java is installed. Raises UnavailableError."""
    if java() is None:
        raise UnavailableError(
            "Spark needs Java 17 or newer. Install it with: apt-get install default-jre-headless"
        )


def _java_failed(words: str) -> UnavailableError:
    return UnavailableError(
        f"Java could not start Spark, which needs Java 17 or newer and some free memory. The end of its output: {words}"
    )


def make_session(
    *, threads: int, memory_mb: int, master: str = LOCAL, ui_port: int | None = None
) -> "SparkSession":
    """Start Java and Spark in this process, or give what already runs; *master* may name a cluster. *ui_port*: of
    Spark's own page; None: there is none.

    Raises UnavailableError.
    """
    require_java()
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - takes half a second, and is an extra
    except ImportError as error:
        raise no_spark() from error
    # The tasks' Python must have the packages this one has. Machines of a cluster may say where theirs is.
    submitted = is_submitted()
    local = master == LOCAL and not submitted
    os.environ["PYSPARK_PYTHON"] = sys.executable if local else os.getenv("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("tinyssb-sink")
    if local:
        builder = builder.master(f"local[{threads}]")
    elif master != LOCAL:
        builder = builder.master(master)
    if local:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"  # where Spark's own page listens
    config = session_config(threads, memory_mb, local=local, submitted=submitted, ui_port=ui_port)
    for name, value in config.items():
        builder = builder.config(name, value)
    return start_session(builder, master)


def announce_ui(session: "SparkSession", tell: Callable[[str], None]) -> None:
    """Say where Spark's own page is, if there is one."""
    if (place := session.sparkContext.uiWebUrl) is not None:
        tell(f"Spark's own page is at {place}")


def has_workers(session: "SparkSession") -> bool:
    """Return whether a cluster has given the session a worker; on this machine it works itself."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        return True
    return int(context._jsc.sc().getExecutorMemoryStatus().size()) > 1  # noqa: SLF001 - Python has no other way; the driver is one of them


def start_session(builder: "SparkSession.Builder", master: str) -> "SparkSession":
    """Start Java with its standard error in a file, because it begins with warnings that users cannot act on.

    Later failures come as exceptions; the cause that keeps Java from starting is in the file. Raises UnavailableError.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - as above
    from pyspark.errors import PySparkRuntimeError  # noqa: PLC0415 - as above

    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as greetings:
        kept = os.dup(2)
        os.dup2(greetings.fileno(), 2)
        try:
            return builder.getOrCreate()
        except PySparkRuntimeError as error:
            greetings.seek(0)
            raise _java_failed(greetings.read().strip()[-500:]) from error
        except Py4JError as error:
            if master == LOCAL:
                raise _java_failed(str(error)[:500]) from error
            raise UnavailableError(
                f"The cluster at {master} did not accept the job; nothing was done. See whether its master runs there "
                "and can be reached, and whether Spark's version and secret (spark.authenticate) are the same on all "
                "machines."
            ) from error
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def session_config(
    threads: int, memory_mb: int, *, local: bool, submitted: bool, ui_port: int | None = None
) -> dict[str, str]:
    """Return Spark's settings: *local* for a master in this process, *submitted* by `spark-submit`."""
    config = {
        "spark.python.daemon.module": "spark_sink.worker_daemon",
        "spark.ui.enabled": "false",  # on a cluster it is open to everyone who reaches the driver
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # batches are small and their shape is known
    }
    if ui_port is not None:
        config |= {"spark.ui.enabled": "true", "spark.ui.port": str(ui_port), "spark.ui.killEnabled": "false"}
    if not submitted:
        config |= {
            "spark.driver.memory": f"{memory_mb}m",
            "spark.driver.extraJavaOptions": (
                f"-Dlog4j2.configurationFile={_LOG4J.as_uri()} -Dio.netty.tryReflectionSetAccessible=true "
                "-XX:+UseSerialGC"  # for a small heap on few cores: a third less delay than the default, measured
            ),
        }
    if local:
        config |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": str(threads),
        }
    return config
