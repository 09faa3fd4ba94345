"""What can go wrong in the sink: one class per cause, its message ready to be shown to a user."""

from pathlib import Path
from typing import Final

from spark_sink import limits


class SinkError(Exception):
    """Anything the sink raises on purpose. ``exit_code`` is what the command ends with (sysexits.h)."""

    exit_code = 1


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
            f"{limits.SERVING_VERSION}; it was left as it is. Update tinyssb-sink, or name another file: --db."
        )


_LOSS_HELP: Final = (
    "Nothing was counted beyond it. Bring the file back as it was, or go on without it: --skip-lost "
    "(what is lost is then listed in the table bad_lines)."
)


class SegmentVanishedError(SinkError):
    """A segment is gone that had not been read to its end."""

    def __init__(self, node: str, segment: str) -> None:
        self.short = "vanished before it was read to its end"
        super().__init__(f"The log segment {node}/{segment} {self.short}. {_LOSS_HELP}")


class SegmentShrunkError(SinkError):
    """A segment is shorter than what was already read of it."""

    def __init__(self, node: str, segment: str, read: int, size: int) -> None:
        self.short = f"shrank to {size} bytes after {read} had been read"
        super().__init__(f"The log segment {node}/{segment} {self.short}. {_LOSS_HELP}")


class NoLogsFolderError(SinkError):
    """The folder of logs does not exist."""

    def __init__(self, path: str) -> None:
        super().__init__(f"There is no folder {path}. Name the folder that holds the nodes' event logs.")


class TwoFoldersError(SinkError):
    """One node's log is in two places: its records would be counted twice."""

    def __init__(self, node: str, one: str, other: str) -> None:
        super().__init__(
            f"The log of node {node} is in two folders, {one} and {other}; nothing was counted. "
            "Move one of them elsewhere, or name a narrower folder."
        )


class OptionError(SinkError):
    """An option has a value that it cannot have."""

    exit_code = 78

    def __init__(self, option: str, value: str, allowed: str) -> None:
        super().__init__(f"{option} is {value!r}, but must be {allowed}.")
