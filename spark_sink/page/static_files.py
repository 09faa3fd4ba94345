"""The page's own files, each with a tag by its content; those of libraries may be kept for ever."""

import mimetypes
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_sink.page import limits
from spark_sink.page.answers import Payload, make_payload

STATIC: Final = Path(__file__).parent / "static"
_VENDOR: Final = "vendor/"
_TEXT: Final = (".js", ".css", ".svg", ".html", ".txt", ".json")
_TYPES: Final = {".js": "text/javascript", ".svg": "image/svg+xml"}
"""Types that systems do not agree on, or do not know."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file to be sent."""

    payload: Payload
    media_type: str
    cache_control: str


class StaticFiles:
    """Reads files once, and again when they change."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._folder = folder.resolve()
        self._kept: dict[Path, tuple[tuple[int, int], StaticFile]] = {}

    def get(self, name: str) -> StaticFile | None:
        """Return the file of this name below the folder; None if there is none."""
        path = (self._folder / name).resolve()
        if not path.is_relative_to(self._folder) or not path.is_file():
            return None
        found = path.stat()
        seen = (found.st_mtime_ns, found.st_size)
        before = self._kept.get(path)
        if before is None or before[0] != seen:
            before = seen, _file(path, path.relative_to(self._folder).as_posix())
            self._kept[path] = before
        return before[1]


def _file(path: Path, name: str) -> StaticFile:
    suffix = path.suffix
    kind = _TYPES.get(suffix) or mimetypes.types_map.get(suffix, "application/octet-stream")
    if suffix in _TEXT or not suffix:
        kind = f"{kind if suffix else 'text/plain'}; charset=utf-8"
    # Folders of libraries have versions in their names.
    keep = name.startswith(_VENDOR) and "/" in name.removeprefix(_VENDOR)
    cache = f"public, max-age={limits.STATIC_AGE_S}, immutable" if keep else "no-cache"
    return StaticFile(make_payload(path.read_bytes()), kind, cache)
