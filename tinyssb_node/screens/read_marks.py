"""How far the user has read each conversation (docs/formats/read-marks.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tinyssb_node.screens import limits
from tinyssb_node.store.durable import in_the_place_of

if TYPE_CHECKING:
    from pathlib import Path

READ_FILE: Final = "read.json"
"""Its name, beside the store."""
_VERSION: Final = 1


def read_marks(folder: Path) -> dict[str, int]:
    """Return for each conversation the number of the last arrival that the user has seen. A file that is missing or
    malformed has no marks: everything is unread, and nothing is lost."""
    try:
        with (folder / READ_FILE).open("rb") as file:
            document = json.loads(file.read(limits.READ_FILE_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    marks = document.get("read") if isinstance(document, dict) and document.get("v") == _VERSION else None
    if not isinstance(marks, dict):
        return {}
    return {name: mark for name, mark in marks.items() if isinstance(mark, int) and mark >= 0}


def mark_read(folder: Path, seen: Mapping[str, int]) -> None:
    """Advance the marks to *seen*, never back. Of more than `limits.READ_MARKS_MAX` those set first are dropped. On a
    disk that cannot be written nothing changes."""
    marks = read_marks(folder)
    ahead = {name: mark for name, mark in seen.items() if mark > marks.get(name, 0)}
    if not ahead:
        return
    kept = [(name, mark) for name, mark in marks.items() if name not in ahead]
    document = {"v": _VERSION, "read": dict([*kept, *ahead.items()][-limits.READ_MARKS_MAX :])}
    with suppress(OSError), in_the_place_of(folder / READ_FILE) as file:
        file.write(json.dumps(document).encode())
