"""A line of text at the top of the page, from a file that the operator may change at any time."""

from pathlib import Path
from typing import Final

_SIZE_MAX: Final = 1_000  # bytes: five lines on a phone


class Caption:
    """The text of a file, which need not exist."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None
        self._text = ""

    def text(self) -> str:
        """Return the text as it is now; empty if there is no file, or it cannot be read. Reads only what changed."""
        if self._path is None:
            return ""
        try:
            found = self._path.stat()
            seen = (found.st_mtime_ns, found.st_ino)
            if seen != self._seen:
                with self._path.open("rb") as file:
                    self._text = file.read(_SIZE_MAX).decode("utf-8", "replace").strip()
                self._seen = seen
        except OSError:
            self._seen, self._text = None, ""
        return self._text
