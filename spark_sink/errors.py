"""Errors of the sink: one class for each exit code (sysexits.h), and for each cause that a caller tells apart.

Messages are ready to be shown to a user: what happened, what was kept, what to do next.
"""

from pathlib import Path

from firmware_bridge.libraries import install_command


class SinkError(Exception):
    """Anything the sink raises on purpose. ``exit_code`` is the exit code of the command."""

    exit_code = 1


class DamagedDataError(SinkError):
    """Stored data that cannot be read."""

    exit_code = 65


class UnavailableError(SinkError):
    """A program, a library, a server or an address that is needed and cannot be had."""

    exit_code = 69


class InternalError(SinkError):
    """A fault of the sink itself, or of Spark."""

    exit_code = 70


class StorageError(SinkError):
    """An operation that a disk or a database refused."""

    exit_code = 74


class BusyError(SinkError):
    """A database or a folder that another process is writing."""

    exit_code = 75


class RefusedError(SinkError):
    """A server that denies access."""

    exit_code = 77


class ConfigurationError(SinkError):
    """Options, files or a checkpoint that cannot be used."""

    exit_code = 78


class OptionError(ConfigurationError):
    """An option with a value that it cannot have."""

    def __init__(self, option: str, value: str, allowed: str) -> None:
        super().__init__(f"{option} is {value!r}, but must be {allowed}.")


class NoDatabaseError(SinkError):
    """A serving database that does not exist yet."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"There is no database at {path} yet. Fill one with: tinyssb-sink backfill LOGS --db {path}"
        )


class NotServingDatabaseError(SinkError):
    """A file or a schema that holds something other than a serving database."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(
            f"{path} is not a database of tinyssb-sink; it was left as it is. Name another file with --db."
        )


class DatabaseFailedError(StorageError):
    """An operation that the serving database, or the disk under it, refused."""

    def __init__(self, database: Path | str, reason: str) -> None:
        super().__init__(
            f"Using {database} failed: {reason}. All records that were counted before are kept. "
            "Remove the cause and start again."
        )


class NoLogsFolderError(SinkError):
    """A folder of logs that does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no folder {path}. Name the folder that holds the nodes' event logs.")


class JobFailedError(InternalError):
    """A stream that an engine stopped for a reason of its own."""

    def __init__(self, what: str, details: Path, *, may_pass: bool = False) -> None:
        """*may_pass*: the cause may have passed when the stream is started again."""
        super().__init__(
            f"{what} stopped; the report is in {details}. All records that were counted are kept. The next start "
            "continues from there."
        )
        self.may_pass = may_pass


class BadQuestionError(SinkError):
    """A request to the page with a parameter that makes no sense."""


class NotKnownError(SinkError):
    """A request to the page that names a node, a feed or an entry that no log mentions."""


class OverloadedError(SinkError):
    """A request to the page beyond what its server accepts at one time."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


def how_to_install(extra: str) -> str:
    """Return the command that installs the libraries of an *extra* of spark_sink/pyproject.toml."""
    return install_command(extra, "tinyssb-sink")
