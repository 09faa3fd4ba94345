"""Durability of names in a folder, and of what another process left, across power cuts."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from tinyssb_node import limits

_BLOCK: Final = 1 << 16
"""Bytes read and written at a time: few, for a small machine."""
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
"""The system's error codes for a full disk or quota."""


def sync_folder(folder: Path) -> None:
    """Make the names in *folder* durable. Raises OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def can_write(folder: Path) -> bool:
    """Return True if we may make files in *folder*: by its rights, and by how its disk is mounted."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def lacks_room(folder: Path) -> bool:
    """Return True if *folder* has no room for us, by a write that leaves nothing behind: a disk's free bytes do not
    show that a user's quota is used up. False where writing fails for another reason."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(bytes(limits.DISK_ROOM_MIN))
            file.flush()
    except OSError as error:
        return error.errno in FULL
    return False


@contextmanager
def in_the_place_of(path: Path) -> Iterator[BinaryIO]:
    """Open a file that replaces *path* in one step, and is durable at the end; after an error nothing has changed. Only
    we can read it. Raises OSError."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.stem.lstrip('.')}-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)
    sync_folder(path.parent)


def write_anew(path: Path) -> None:
    """Make durable what *path* holds, if there is such a file, whatever happened to it before.

    A sync that failed leaves bytes in the system's memory that read as if nothing had happened, and are never written;
    no later sync reports it. So every byte is written over itself, and synced. That takes no room on most file systems;
    where it does, and there is none, the file stays as it is. Raises OSError.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        at = 0
        while block := os.pread(descriptor, _BLOCK, at):
            at += os.pwrite(descriptor, block, at)
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in FULL:
            raise
    finally:
        os.close(descriptor)
