"""A thread in a file: JSON for programs, Markdown for people (docs/formats/thread.md)."""

import datetime as dt
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.screens.chatlines import BLOCKED, displayed_text, short
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import one_line, safe
from tinyssb_node.screens.talkjson import message_json

FORMAT: Final = "tinyssb-thread"
VERSION: Final = 1
_SPECIAL: Final = re.compile(r"[\\`*_\[\]<>|~$@]|&(?=[#\w])|:(?=//)|(?<=www)\.|^[-+#=]", re.IGNORECASE)
"""Characters with a meaning in Markdown, in any of its dialects, where they have it."""
_NUMBERED: Final = re.compile(r"^(\d{1,9})(?=[.)])")
"""The number of a list's item."""


def as_json(rows: Sequence[MessageRow], names: DisplayNames) -> str:
    """Return *rows* as one JSON object, in their order."""
    document = {
        "format": FORMAT,
        "v": VERSION,
        "tangle": None if not rows or rows[0].tangle is None else rows[0].tangle.hex(),
        "messages": [message_json(row, names) for row in rows],
    }
    return json.dumps(document, indent=1) + "\n"


def as_markdown(rows: Sequence[MessageRow], names: DisplayNames) -> str:
    """Return *rows* as a page, in their order. No text of a stranger becomes a heading, a link or HTML in it."""
    return "\n".join(["# Thread", "", *(line for row in rows for line in _message(row, names))])


def _message(row: MessageRow, names: DisplayNames) -> Iterator[str]:
    follows = ", ".join(short(one) for one in row.previous)
    answer = f", after {follows}" if follows else ""
    yield f"**{escaped(names.of(row.feed))}**, {_utc(row.written_us)}, {short(row.id)}{answer}"
    yield ""
    text = t(BLOCKED) if names.is_blocked(row.feed) else safe(displayed_text(row))
    yield from (f"> {escaped(line)}".rstrip() for line in text.split("\n"))
    yield ""


def escaped(text: str) -> str:
    """Return *text* as one line of Markdown that shows exactly these characters."""
    return _NUMBERED.sub(r"\1\\", _SPECIAL.sub(r"\\\g<0>", one_line(text).lstrip()))


def _utc(wall_us: int) -> str:
    try:
        moment = dt.datetime.fromtimestamp(wall_us // 1_000_000, dt.UTC)
    except (OverflowError, ValueError, OSError):
        return str(wall_us)
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC")
