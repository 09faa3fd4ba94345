"""The folder a node lives in, and the lock that keeps two daemons out of one store."""

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tinyssb_node.daemon.problems import HomeBusyError, HomeMissingError, HomeRefusedError


@dataclass(frozen=True, slots=True)
class Home:
    """Paths of a node's files."""

    root: Path

    @classmethod
    def find(cls, given: str | None, environ: Mapping[str, str]) -> Self:
        """*given* on the command line, else TINYSSB_HOME, else ~/.tinyssb; absolute."""
        return cls(Path(given or environ.get("TINYSSB_HOME") or "~/.tinyssb").expanduser().absolute())

    @property
    def config(self) -> Path:
        """What its user may change."""
        return self.root / "config.toml"

    @property
    def identity(self) -> Path:
        """The secret key."""
        return self.root / "identity"

    @property
    def store(self) -> Path:
        """Feeds and everything else that must survive."""
        return self.root / "store.sqlite"

    @property
    def events(self) -> Path:
        """Folder of event logs."""
        return self.root / "events"

    @property
    def lock(self) -> Path:
        """Held by the process that works on the store."""
        return self.root / "lock"

    def require(self) -> None:
        """Raise HomeMissingError unless a node was made here."""
        if not self.identity.exists():
            raise HomeMissingError(
                f"There is no node in {self.root}.",
                "Make one with `tinyssb init`, or name another folder with --home.",
            )


class HomeLock:
    """Held while this object is open; the system frees it when the process ends, however it ends."""

    def __init__(self, home: Home) -> None:
        """Take the lock. Raises HomeBusyError, HomeRefusedError."""
        try:
            self._file = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise HomeRefusedError(
                f"{home.lock} cannot be opened: {error.strerror}.",
                "Run this as the user the node belongs to.",
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, 20, 0).decode("ascii", "replace").strip() or "unknown"
            os.close(self._file)
            raise HomeBusyError(
                f"Another tinyssb (process {holder}) is working on {home.root}.",
                "Stop that one first, or give this one a home of its own with --home.",
            ) from None
        os.ftruncate(self._file, 0)
        os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Let go; the file stays."""
        os.ftruncate(self._file, 0)
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
