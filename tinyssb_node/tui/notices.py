"""Notifications of new messages through the terminal: its bell, or the desktop by an escape sequence."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from tinyssb_node.catalog.rows import ConversationRow, is_news
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.screens.inbox import latest_places
from tinyssb_node.screens.languages import tn

_TITLE: Final = "tinySSB"


class Notice(StrEnum):
    """The way in which the terminal is asked to notify."""

    BELL = "bell"
    """The character BEL."""
    OSC9 = "osc9"
    """`OSC 9`, as iTerm2 began it."""
    OSC777 = "osc777"
    """`OSC 777`, as urxvt began it."""


def sequence(notice: Notice, count: int) -> str:
    """Return the characters that notify of new messages in *count* conversations. No text of strangers is in them."""
    words = tn(count, "new messages", "new messages in {n} conversations")
    match notice:
        case Notice.BELL:
            return "\a"
        case Notice.OSC9:
            return f"\x1b]9;{_TITLE}: {words}\x1b\\"
        case Notice.OSC777:
            return f"\x1b]777;notify;{_TITLE};{words[:1].upper()}{words[1:]}\x1b\\"


class ArrivalCounter:
    """Counts the conversations in which something of others came since the last look."""

    def __init__(self) -> None:
        self._seen: Mapping[str, int] | None = None
        """The last arrival by conversation; None: nothing was looked at yet."""

    def look(self, rooms: Sequence[ConversationRow]) -> int:
        """Return their number, without muted groups and without changes of groups; 0 at first. Groups come with the
        daemon, which may start later: one that was not there before does not count."""
        latest = latest_places(rooms)
        seen, self._seen = self._seen, {**(self._seen or {}), **latest}
        if seen is None:
            return 0
        return sum(
            row.last is not None
            and is_news(row.last)
            and latest.get(row.name, 0) > seen.get(row.name, 0)
            and not (isinstance(row, GroupConversation) and (row.muted or row.name not in seen))
            for row in rooms
        )
