"""The file of announced alerts, `alerts.json` (docs/formats/alerts.md): after a restart none is announced again."""

from pathlib import Path
from typing import Final

import msgspec

from tinyssb_node.alerts import limits
from tinyssb_node.alerts.watch import Announcement
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.store.home import Home

SAVED_VERSION: Final = 1
"""Version of the file."""


class _Row(msgspec.Struct, frozen=True):
    check: str
    about: str
    since_us: int
    found: str
    advice: str


class _File(msgspec.Struct, frozen=True):
    v: int
    announced: list[_Row]


def saved_path(home: Home) -> Path:
    """Return where the file is."""
    return home.root / "alerts.json"


def parse_saved(data: bytes) -> list[Announcement]:
    """Return the announced alerts; none if the file is malformed: then they are announced again."""
    try:
        found = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError:
        return []
    if found.v != SAVED_VERSION:
        return []
    return [
        Announcement(
            CheckResult(row.check, ok=False, found=row.found, advice=row.advice, about=row.about),
            is_over=False,
            since_us=row.since_us,
        )
        for row in found.announced[: limits.ALERTS_MAX]
    ]


def serialize_saved(announced: list[Announcement]) -> bytes:
    """Return the file for announced alerts."""
    rows = [
        _Row(one.problem.check, one.problem.about, one.since_us, one.problem.found, one.problem.advice)
        for one in announced
    ]
    return msgspec.json.encode(_File(SAVED_VERSION, rows)) + b"\n"


def read_saved(home: Home) -> list[Announcement]:
    """Return the announced alerts; none if there is no such file. Raises OSError."""
    try:
        with saved_path(home).open("rb") as file:
            return parse_saved(file.read(limits.SAVED_MAX))
    except FileNotFoundError:
        return []
