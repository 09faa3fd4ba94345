"""Errors of the catalog; the cause of all of them is this machine."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, LocalError


class CatalogFailedError(LocalError):
    """The catalog can be neither read nor made. The store is not touched by this."""

    exit_code = ExitCode.STORAGE

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"The index of messages, {path}, cannot be read: {reason}. All messages are kept in the store. "
            f"The index may be deleted; it is made anew by itself."
        )


class CatalogDamagedError(CatalogFailedError):
    """The file is not what this program wrote."""

    exit_code = ExitCode.DATA


class CatalogFullError(CatalogFailedError):
    """There is no room on the disk."""

    exit_code = ExitCode.STORAGE


class CatalogReadOnlyError(CatalogFailedError):
    """We may not write the file, or not there."""

    exit_code = ExitCode.PERMISSION


class CatalogBusyError(CatalogFailedError):
    """Another process has the catalog for itself for too long."""

    exit_code = ExitCode.BUSY
