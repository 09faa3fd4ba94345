"""Preparation of a store for writing: one writer only, and what an earlier process left is durable."""

import errno
from pathlib import Path
from typing import Final

from tinyssb_node.errors import StoreFailedError, StoreFullError
from tinyssb_node.store.durable import FULL, sync_folder, write_anew
from tinyssb_node.store.lock import FolderLock

_UNWRITABLE: Final = {errno.EROFS, errno.EACCES, errno.EPERM}


def take_lock(path: Path) -> FolderLock:
    """Take the lock of the folder *path* is in. Raises StoreLockedError, StoreFullError, StoreFailedError."""
    try:
        return FolderLock(path.parent)
    except OSError as error:
        if error.errno in _UNWRITABLE:
            raise StoreFailedError(
                f"Nothing can be written in {path.parent}, as a node has to: {error.strerror}. What is stored "
                "was kept, and `tinyssb export` takes feeds out. Check the folder's owner and that its disk can be "
                "written, or copy the whole home to where you can write, and name the copy with --home. "
                "Run a node on one of the two only: from two its feed would fork."
            ) from error
        kind = StoreFullError if error.errno in FULL else StoreFailedError
        raise kind(f"{path.parent}: the lock could not be taken: {error.strerror}") from error


def recover_log(path: Path) -> None:
    """Make durable what a process that did not end in order left in the write-ahead log of *path*. New commits are
    appended behind it, and would be lost with it. Raises StoreFailedError."""
    log = path.with_name(path.name + "-wal")
    try:
        write_anew(log)
    except OSError as error:
        raise StoreFailedError(f"{log}: the disk or file system refused it: {error.strerror}") from error


def sync_names(path: Path) -> None:
    """Make the names of the store's file and of its write-ahead log durable: SQLite does not report a failure to do so.
    Raises StoreFailedError."""
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise StoreFailedError(
            f"{path.parent}: the disk or file system refused it: {error.strerror}"
        ) from error
