"""One writer per home folder: a lock that the kernel releases when its process ends, in any way."""

import fcntl
import os
from pathlib import Path

from tinyssb_node.errors import StoreLockedError


class FolderLock:
    """A lock from construction until ``release``."""

    def __init__(self, folder: Path) -> None:
        """Take the lock of *folder*, which exists.

        Raises StoreLockedError with the holder's process id, OSError (the lock is not held then).
        """
        self._file = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = _read_pid(self._file)
            os.close(self._file)
            raise StoreLockedError(folder, pid) from None
        try:
            # One width for all numbers: overwriting needs no room on the disk, which may be full.
            os.pwrite(self._file, f"{os.getpid():<10}\n".encode(), 0)
        except OSError:
            self.release()
            raise

    def release(self) -> None:
        """Let the next one in. The file stays: removing it would let two processes lock two files of one name."""
        os.close(self._file)


def _read_pid(file: int) -> int | None:
    """Return the process id of the holder; None while it is not yet written."""
    text = os.pread(file, 32, 0).strip()
    return int(text) if text.isdigit() else None
