"""What can go wrong in the sink: one class per cause, its message ready to be shown to a user."""

from pathlib import Path
from typing import Final

from spark_sink import limits


class SinkError(Exception):
    """Anything the sink raises on purpose. ``exit_code`` is what the command ends with (sysexits.h)."""

    exit_code: Final[int] = 1


class NoDatabaseError(SinkError):
    """There is no serving database yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"There is no database at {path} yet. Fill one with: tinyssb-sink backfill LOGS --db {path}"
        )


class NotServingDatabaseError(SinkError):
    """The file is something else."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} is not a database of tinyssb-sink; it was left as it is. Name another file with --db."
        )


class NewerDatabaseError(SinkError):
    """The database was written by a newer program."""

    def __init__(self, path: Path, version: int) -> None:
        super().__init__(
            f"{path} has version {version} of the serving database, this program knows up to "
            f"{limits.SERVING_VERSION}; it was left as it is. Update tinyssb-sink, or name another file with --db."
        )
