"""Before a store is written: nobody else does, and what an earlier process left is on the disk for good."""

import errno
from pathlib import Path
from typing import Final

from tinyssb_node.errors import StoreFailedError, StoreFullError
from tinyssb_node.store.durable import FULL, sync_folder, write_anew
from tinyssb_node.store.errors import StoreReadOnlyError
from tinyssb_node.store.lock import FolderLock

_UNWRITABLE: Final = {errno.EROFS, errno.EACCES, errno.EPERM}


def take_lock(path: Path) -> FolderLock:
    """Take the lock of the folder *path* is in. Raises StoreLockedError, StoreFullError, StoreFailedError."""
    try:
        return FolderLock(path.parent)
    except OSError as error:
        if error.errno in _UNWRITABLE:
            raise StoreReadOnlyError(path.parent, error.strerror) from error
        kind = StoreFullError if error.errno in FULL else StoreFailedError
        raise kind(f"{path.parent}: the lock could not be taken: {error.strerror}") from error


def recover_log(path: Path) -> None:
    """See that what a process left in the write-ahead log of *path*, because it did not end in order, is on the disk.
    New commits go behind it, and would be lost with it. Raises StoreFailedError."""
    log = path.with_name(path.name + "-wal")
    try:
        write_anew(log)
    except OSError as error:
        raise StoreFailedError(f"{log}: the disk or file system refused it: {error.strerror}") from error


def sync_names(path: Path) -> None:
    """See that the store's file and its write-ahead log, both there by now, are found after a power cut: SQLite tells
    nobody if that fails. Raises StoreFailedError."""
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise StoreFailedError(
            f"{path.parent}: the disk or file system refused it: {error.strerror}"
        ) from error
