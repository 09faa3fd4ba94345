"""Values made of files that are renewed while the node runs, such as certificates: read again once a file changes."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

from tinyssb_node.errors import LocalError

T = TypeVar("T")


class RenewedFiles(Generic[T]):
    """A value made of files, made anew after one of them changed."""

    def __init__(self, paths: Sequence[Path | None], load: Callable[[], T]) -> None:
        """Make the value by *load*, which reads the files at *paths*; None stands for no file. Raises the errors of
        *load*."""
        self._paths = [path for path in paths if path is not None]
        self._load = load
        self._seen = self._look()
        self._value = load()

    def current(self) -> T:
        """Return the value. While the files cannot be used, as between the writes of a renewal, it is the last one."""
        found = self._look()
        if found != self._seen:
            with contextlib.suppress(LocalError, OSError):
                self._value, self._seen = self._load(), found
        return self._value

    def _look(self) -> list[tuple[int, int] | None]:
        """Return what changes with the files: for each the time of its last change and its size; None: it is not
        there."""
        return list(map(_stat, self._paths))


def _stat(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
