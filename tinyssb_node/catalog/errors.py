"""Errors of the catalog; the cause of all of them is this machine."""

from pathlib import Path

from tinyssb_node.errors import ExitCode, LocalError


class CatalogFailedError(LocalError):
    """A catalog that can be neither read nor made. The store is not affected."""

    exit_code = ExitCode.STORAGE

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"The index of messages, {path}, cannot be read: {reason}. All messages are kept in the store. "
            f"You can delete the index; it is rebuilt automatically."
        )


class CatalogDamagedError(CatalogFailedError):
    """A file that this program did not write, or that was changed."""

    exit_code = ExitCode.DATA


class CatalogFullError(CatalogFailedError):
    """A full disk."""

    exit_code = ExitCode.STORAGE


class CatalogReadOnlyError(CatalogFailedError):
    """A file, or a folder, that may not be written."""

    exit_code = ExitCode.PERMISSION


class CatalogBusyError(CatalogFailedError):
    """A catalog that another process locks for too long."""

    exit_code = ExitCode.BUSY
