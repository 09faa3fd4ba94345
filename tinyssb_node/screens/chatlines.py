"""Messages as lines of a terminal. Texts are made safe here and nowhere before."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tinyssb_node.catalog.rows import MessageKind, MessageRow
from tinyssb_node.ids import MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.people import SHORT_FEED, DisplayNames
from tinyssb_node.screens.safetext import HAPPENED, NO_HAPPENING, cells, one_line, padded, wrapped

SHORT_MESSAGE = 8
"""Digits of a message id that are shown: enough to tell a million apart, and to type."""
BLOCKED = "(blocked)"
"""In the place of what somebody said whom our user does not want to see, where others' messages hang on it."""
_NO_DATE = ("----------", "--:--")


def short(id_: MessageId) -> str:
    """The beginning of an id, as it is shown and may be typed."""
    return id_.hex()[:SHORT_MESSAGE]


def local_minute(wall_us: int) -> tuple[str, str]:
    """Day and time of day, local, of a wall clock in microseconds since 1970; what is no date as dashes."""
    import time

    try:
        moment = time.localtime(wall_us // 1_000_000)
    except (OverflowError, ValueError, OSError):
        return _NO_DATE
    if not 0 < moment.tm_year < 10_000:
        return _NO_DATE
    return time.strftime("%Y-%m-%d", moment), time.strftime("%H:%M", moment)


def displayed_text(row: MessageRow) -> str:
    """What a message says, in words and unescaped: its text, or what is in the place of one."""
    if row.chunks_held < row.chunks:
        return f"(not all here yet: {row.chunks_held} of {row.chunks} packets)"
    text = row.text.replace(HAPPENED, NO_HAPPENING)
    if row.kind is MessageKind.HAPPENING:
        return f"{HAPPENED} {text}"
    if row.kind is MessageKind.FILE:
        return _file(row)
    if row.kind in {MessageKind.TAV, MessageKind.TEXT}:
        text = _placed_text(text)
    if row.voice_size:
        text = f"(voice, {row.voice_size:,} bytes) {text}".rstrip()
    if row.cut:
        text += f"… (all of it: `tinyssb show {row.feed.hex()[:SHORT_FEED]} {row.seq}`)"
    return text or "(nothing)"


def _file(row: MessageRow) -> str:
    """A file that somebody attached, and how to get it."""
    import json

    try:
        described = json.loads(row.text)
        name, size = str(described["name"]), int(described["size"])
    except (ValueError, KeyError, TypeError):
        name, size = "without a name", row.size
    return f"(file {name}, {size:,} bytes: `tinyssb fetch {short(row.id)}`)"


def _placed_text(text: str) -> str:
    """*text* with the place in front of it, where the phone app wrote one, in words."""
    if not text.startswith("pfx:"):
        return text
    from tinyssb_node.content.description import place_and_text

    place, rest = place_and_text(text)
    return rest if place is None else f"(at {place}) {rest}".rstrip()


def _named(ids: Sequence[MessageId]) -> str:
    """Some ids in a line."""
    told = ", ".join(short(one) for one in ids[: limits.IDS_TOLD_MAX])
    more = len(ids) - limits.IDS_TOLD_MAX
    return f"{told} and {more:,} more" if more > 0 else told


@dataclass
class ChatFormatter:
    """Turns messages to lines, one after the other: it knows what stands above."""

    names: DisplayNames
    width: int | None
    """Cells of a line; None: nobody looks, every message is one line of any length."""
    held_by: Mapping[MessageId, str] = field(default_factory=dict)
    """Who has which of our own messages, in safe words."""
    name_cells: int = 0
    """Cells of the column of names."""
    _day: str = ""
    _above: MessageId | None = None

    def fit(self, rows: Sequence[MessageRow]) -> None:
        """Make the column of names as wide as those who speak in *rows* need."""
        widths = (cells(self.names.shown(feed)) for feed in {row.feed for row in rows})
        self.name_cells = max(self.name_cells, *widths, 0)

    def message(self, row: MessageRow) -> Iterator[str]:
        """The lines of one placed message."""
        day, minute = local_minute(row.committed_us)
        if day != self._day:
            yield f"-- {day} --"
            self._day = day
        text = displayed_text(row)
        follows = row.previous
        if follows and self._above is not None and self._above not in follows:
            more = f" +{len(follows) - 1}" if len(follows) > 1 else ""
            text = f"> {short(follows[-1])}{more}: {text}"
        held_by = self.held_by.get(row.id)
        yield from self._block(minute, row, text + self._written(row), f"[{held_by}]" if held_by else "")
        if row.kind is not MessageKind.FILE:
            # Texts do not follow files, which phones do not know.
            self._above = row.id

    def waiting(self, row: MessageRow) -> Iterator[str]:
        """The lines of one that waits for what it follows."""
        note = f"[waits for {_named(row.missing)}]" if row.missing else "[waits]"
        yield from self._block(local_minute(row.committed_us)[1], row, displayed_text(row), note)

    def found(self, row: MessageRow) -> Iterator[str]:
        """The lines of one that stands alone, such as a search finds."""
        day, minute = local_minute(row.committed_us)
        note = "[private]" if row.private else ""
        yield from self._block(f"{day} {minute}", row, displayed_text(row), note)

    def drawn(self, row: MessageRow, apart: Sequence[MessageId]) -> Iterator[str]:
        """The lines of one beside a drawing, which does not show that it follows those *apart*."""
        day, minute = local_minute(row.committed_us)
        note = f"[also after {_named(apart)}]" if apart else ""
        yield from self._block(f"{day[5:]} {minute}", row, displayed_text(row) + self._written(row), note)

    def _written(self, row: MessageRow) -> str:
        """When its author says that it was written, where that is far from when it came."""
        if row.said_us is None or abs(row.said_us - row.committed_us) < limits.CLOCKS_APART_US:
            return ""
        return " (written {} {})".format(*local_minute(row.said_us))

    def _block(self, when: str, row: MessageRow, text: str, note: str) -> Iterator[str]:
        if self.names.is_blocked(row.feed):
            text = BLOCKED
        head = f"{when}  {short(row.id)}  {padded(self.names.shown(row.feed), self.name_cells)}  "
        if self.width is None:
            yield f"{head}{one_line(text)}{f'  {note}' if note else ''}"
            return
        indent = cells(head)
        room = self.width - indent
        if room < limits.TEXT_CELLS_MIN:
            # A narrow terminal: the text has lines of its own.
            yield one_line(head.rstrip(), self.width)
            head, indent = "  ", 2
            room = max(2, self.width - indent)
        lines = wrapped(text, room, limits.MESSAGE_LINES_MAX)
        if note and cells(lines[-1]) + 2 + cells(note) <= room:
            lines[-1] += f"  {note}"
        elif note:
            lines += wrapped(note, room, limits.NOTE_LINES_MAX)
        for number, line in enumerate(lines):
            yield (head if number == 0 else " " * indent) + line
