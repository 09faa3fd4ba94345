"""Errors of the catalog; the cause of all of them is this machine."""

from pathlib import Path

from tinyssb_node.errors import LocalError


class CatalogFailedError(LocalError):
    """The catalog can be neither read nor made. The store is not touched by this."""

    def __init__(self, path: Path, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"The index of messages, {path}, cannot be read: {reason}. All messages are kept in the store. "
            f"The index may be deleted; it is made anew by itself."
        )


class CatalogDamagedError(CatalogFailedError):
    """The file is not what this program wrote."""


class CatalogFullError(CatalogFailedError):
    """There is no room on the disk."""


class CatalogReadOnlyError(CatalogFailedError):
    """We may not write the file, or not there."""


class CatalogBusyError(CatalogFailedError):
    """Another process has the catalog for itself for too long."""
