"""Settings of a job, checked before Spark is started."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spark_sink import limits
from spark_sink.errors import NoLogsFolderError, OptionError, UnavailableError, how_to_install
from spark_sink.serving.address import is_address

SPARK_ENGINE = "spark"
"""Spark runs the tasks."""
LOCAL_ENGINE = "local"
"""This machine's processes run them, without Java and Spark."""
LOCAL = "local"
"""Spark in this process."""
LANDING = "_land"
"""Folder of a bronze with what belongs to landing (docs/formats/bronze.md)."""


def no_spark() -> UnavailableError:
    """Return the error of users without the extra ``spark``."""
    return UnavailableError(f"Spark is not installed. Install it with: {how_to_install('spark')}")


class StreamSettings(Protocol):
    """The settings that every stream has."""

    @property
    def logs(self) -> str:
        """Return where its records come from."""
        ...

    @property
    def endpoint(self) -> str:
        """Return the address of an S3-compatible store."""
        ...

    def report_path(self) -> Path:
        """Return the path for a long report of a failure."""
        ...


def is_bronze(place: str) -> bool:
    """True if *place* is the folder of a bronze."""
    return "://" not in place and Path(place, LANDING).is_dir()


def check_logs(place: str) -> None:
    """Raises NoLogsFolderError if *place* is no folder; what lies elsewhere is found out later."""
    if "://" not in place and not Path(place).is_dir():
        raise NoLogsFolderError(place)


def check_engine(engine: str, master: str, ui_port: int | None, *, is_bronze: bool = False) -> None:
    """Check that *engine* can do what is asked of it. Raises OptionError."""
    if engine == LOCAL_ENGINE and (is_bronze or master != LOCAL):
        raise OptionError("--engine", LOCAL_ENGINE, "spark for a bronze, and with --master")
    if engine == LOCAL_ENGINE and ui_port is not None:
        raise OptionError("--spark-ui", str(ui_port), "used with --engine spark")


def check_least(*options: tuple[str, float, float]) -> None:
    """Check option names with their values and the least ones. Raises OptionError."""
    for option, value, least in options:
        if not value >= least:
            raise OptionError(option, str(value), f"{least} or more")


def check_spark(*, bytes_per_batch: int, threads: int, memory_mb: int) -> None:
    """Check the options of every stream. Raises OptionError."""
    check_least(
        ("--batch-bytes", bytes_per_batch, 1),
        ("--threads", threads, 1),
        ("--memory-mb", memory_mb, 512),  # Spark itself refuses less than 450 MiB
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A job: from which logs into which database."""

    logs: str
    """Folder with the nodes' event logs, at any depth that ``folders`` looks into; or ``s3://bucket/prefix``; or the
    folder of a bronze."""
    database: str
    """The serving database, made if missing: the path of a file, or a ``postgresql://`` URL."""
    engine: str = SPARK_ENGINE
    """The runner of tasks, `SPARK_ENGINE` or `LOCAL_ENGINE`."""
    checkpoint: str = ""
    """For a bronze: folder of Spark's checkpoint, or on a cluster a URL that all machines reach."""
    endpoint: str = ""
    """Address of an S3-compatible store."""
    keep_days: int = limits.KEEP_DAYS
    """Days for which single packets are kept behind the newest record: later logs are not matched with older ones."""
    bytes_per_batch: int = limits.BATCH_SIZE
    """Most bytes of log in one micro-batch."""
    master: str = LOCAL
    """Spark in this process, or the URL of a cluster, as ``spark://host:7077``."""
    threads: int = 2
    """Tasks at a time, where they run on this machine."""
    memory_mb: int = 1024
    """Java's heap."""
    ui_port: int | None = None
    """Port of Spark's own page; None: there is none."""

    def check(self) -> None:
        """Raises NoLogsFolderError, OptionError."""
        check_logs(self.logs)
        check_engine(self.engine, self.master, self.ui_port, is_bronze=self.is_bronze)
        if self.is_bronze and not self.checkpoint:
            raise OptionError(
                "--checkpoint", "", "given, because a database that is not a file has no folder for it"
            )
        if not is_address(self.database) and not Path(self.database).absolute().parent.is_dir():
            raise OptionError("--db", self.database, "a file in a folder that exists, or a postgresql:// URL")
        check_least(("--keep-days", self.keep_days, 1))
        check_spark(bytes_per_batch=self.bytes_per_batch, threads=self.threads, memory_mb=self.memory_mb)

    @property
    def is_bronze(self) -> bool:
        """True if the records come from a bronze."""
        return is_bronze(self.logs)

    def report_path(self) -> Path:
        """Return the path for a long report: beside a database that is a file, else in the temporary folder."""
        if is_address(self.database):
            return Path(tempfile.gettempdir(), "tinyssb-sink.failure.txt")
        return Path(f"{self.database}.failure.txt")


def default_checkpoint(database: str) -> str:
    """Return a path beside the database, so that the two are moved and deleted together; empty if it is not a file."""
    return "" if is_address(database) else f"{database}.checkpoint"


def default_engine(logs: str, master: str, *, once: bool, submitted: bool) -> str:
    """Return the engine that is used if none is named (docs/reference/sink.md).

    *submitted*: by `spark-submit`, so Java is running already.
    """
    alone = not once and master == LOCAL and not submitted and not is_bronze(logs)
    return LOCAL_ENGINE if alone else SPARK_ENGINE
