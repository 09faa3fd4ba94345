"""What a job is told, checked before Spark is started."""

from dataclasses import dataclass
from pathlib import Path

from spark_sink import limits
from spark_sink.errors import NoLogsFolderError, OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """A job: from which logs into which database."""

    logs: Path
    """Folder with the nodes' event logs, at any depth that ``folders`` looks into."""
    database: Path
    """The serving database; made if there is none."""
    checkpoint: Path
    """Folder where Spark keeps how far it has read; belongs to the database."""
    bytes_per_batch: int = limits.BATCH_SIZE
    """Most bytes of log in one micro-batch."""
    threads: int = 2
    """Spark's tasks at a time."""
    memory_mb: int = 1024
    """Java's heap."""

    def check(self) -> None:
        """Raises NoLogsFolderError, OptionError."""
        if not self.logs.is_dir():
            raise NoLogsFolderError(str(self.logs))
        if not self.database.absolute().parent.is_dir():
            raise OptionError("--db", str(self.database), "a file in a folder that exists")
        if self.bytes_per_batch < 1:
            raise OptionError("--batch-bytes", str(self.bytes_per_batch), "1 or more")
        if self.threads < 1:
            raise OptionError("--threads", str(self.threads), "1 or more")
        if self.memory_mb < limits.MEMORY_MIN_MB:
            raise OptionError("--memory-mb", str(self.memory_mb), f"{limits.MEMORY_MIN_MB} or more")


def default_checkpoint(database: Path) -> Path:
    """Beside the database, so that the two are moved and deleted together."""
    return database.with_name(database.name + ".checkpoint")
