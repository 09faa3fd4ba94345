"""What can go wrong with an archive, ready to be shown to a user."""

from pathlib import Path

from spark_sink.errors import SinkError


class ArchiveBusyError(SinkError):
    """Another program writes this archive."""

    exit_code = 75

    def __init__(self, archive: Path) -> None:
        super().__init__(
            f"Another tinyssb-sink writes the archive {archive}; nothing was done. Wait for it, then repeat."
        )


class ArchiveFailedError(SinkError):
    """The archive, or the disk under it, refused an operation."""

    exit_code = 74

    def __init__(self, archive: Path | str, reason: str) -> None:
        super().__init__(
            f"Writing the archive {archive} failed: {reason}. What was archived before is kept, and no "
            "segment was deleted that is not archived. See to it and start again."
        )
