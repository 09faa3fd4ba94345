"""Messages as lines of a terminal. Texts are made safe here, and nowhere earlier."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node.catalog.rows import MessageKind, MessageRow
from tinyssb_node.ids import MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.gaps import MessageGap, gap_in_words
from tinyssb_node.screens.languages import message, number, t, tn
from tinyssb_node.screens.people import SHORT_FEED, DisplayNames
from tinyssb_node.screens.safetext import HAPPENED, NO_HAPPENING, cells, one_line, padded, wrapped

_IDS_MAX: Final = 3  # a message may follow, or wait for, many
SHORT_MESSAGE = 8
"""Digits of a message id that are shown: enough to tell a million apart, and to type."""
BLOCKED = message("(blocked)")
"""Stands for a message of a blocked person, which other messages follow."""
OLDER = message("[older message]")
"""Mark of a message that arrived after messages that come after it."""
_NO_DATE = ("----------", "--:--")


def short(id_: MessageId) -> str:
    """Return the beginning of an id, as it is shown and may be typed."""
    return id_.hex()[:SHORT_MESSAGE]


def local_minute(wall_us: int) -> tuple[str, str]:
    """Return the local day and time of day of a wall clock in microseconds since 1970; dashes if it is not a date."""
    import time

    try:
        moment = time.localtime(wall_us // 1_000_000)
    except (OverflowError, ValueError, OSError):
        return _NO_DATE
    if not 0 < moment.tm_year < 10_000:
        return _NO_DATE
    return time.strftime("%Y-%m-%d", moment), time.strftime("%H:%M", moment)


def is_answer(row: MessageRow, above: MessageId | None) -> bool:
    """Return whether to show the message that *row* names first, which it answers: it does not stand right above."""
    return bool(row.previous) and row.previous[0] != above


def mark_of(row: MessageRow) -> str:
    """Return the mark behind the time of writing: `?` where the messages around it contradict it, else a space."""
    return "?" if row.doubtful else " "


def is_late(row: MessageRow) -> bool:
    """Return whether a message arrived so long after it was written, or before, that both times are shown."""
    return abs(row.committed_us - row.written_us) > limits.ARRIVED_APART_US


def other_times(row: MessageRow) -> str:
    """Return the time of arrival in parentheses, if it is far from that of writing; and the author's clock, if it is
    contradicted."""
    written = local_minute(row.written_us)
    notes = []
    if row.doubtful and row.said_us is not None:
        notes.append(t("its author's clock: {time}", time=" ".join(local_minute(row.said_us))))
    if is_late(row):
        day, minute = local_minute(row.committed_us)
        notes.append(t("arrived {time}", time=minute if day == written[0] else f"{day} {minute}"))
    return f" ({'; '.join(notes)})" if notes else ""


def displayed_text(row: MessageRow) -> str:
    """Return a message in words, unescaped: its text, or a description of other content."""
    if row.chunks_held < row.chunks:
        held = number(row.chunks_held)
        return tn(
            row.chunks, "(incomplete: {held} of {n} packet)", "(incomplete: {held} of {n} packets)", held=held
        )
    text = row.text.replace(HAPPENED, NO_HAPPENING)
    if row.kind is MessageKind.HAPPENING:
        return f"{HAPPENED} {text}"
    if row.kind is MessageKind.FILE:
        return _file(row)
    if row.kind in {MessageKind.TAV, MessageKind.TEXT}:
        text = _placed_text(text)
    if row.voice_size:
        text = f"{tn(row.voice_size, '(voice, {n} byte)', '(voice, {n} bytes)')} {text}".rstrip()
    if row.cut:
        command = f"tinyssb show {row.feed.hex()[:SHORT_FEED]} {row.seq}"
        text += f"… {t('(whole message: `{command}`)', command=command)}"
    return text or t("(empty)")


def _file(row: MessageRow) -> str:
    """Describe an attached file, and how to save it."""
    import json

    try:
        described = json.loads(row.text)
        name, size = str(described["name"]).replace(HAPPENED, NO_HAPPENING), int(described["size"])
        note = str(described.get("note", ""))
    except (ValueError, KeyError, TypeError):
        name, size, note = t("(no name)"), row.size, ""
    fetch, conversation = "fetch", row.conversation or ""
    if len(conversation) == 2 * MessageId.SIZE:  # a private group, whose id is a conversation's name
        fetch = f"group fetch {conversation[:SHORT_MESSAGE]}"
    command = f"tinyssb {fetch} {short(row.id)}"
    words = tn(
        size,
        "(file {name}, {n} byte: `{command}`)",
        "(file {name}, {n} bytes: `{command}`)",
        name=name,
        command=command,
    )
    return f"{words}{note}"


def _placed_text(text: str) -> str:
    """Return *text* with its location in words, where the phone app wrote one in front of it."""
    if not text.startswith("pfx:"):
        return text
    from tinyssb_node.content.description import place_and_text

    place, rest = place_and_text(text)
    return rest if place is None else f"{t('(at {place})', place=place)} {rest}".rstrip()


def _named(ids: Sequence[MessageId]) -> str:
    """Return some ids in a line."""
    shown = ", ".join(short(one) for one in ids[:_IDS_MAX])
    more = len(ids) - _IDS_MAX
    return tn(more, "{shown} and {n} more", "{shown} and {n} more", shown=shown) if more > 0 else shown


@dataclass
class ChatFormatter:
    """Formatter of successive messages as lines; it remembers what stands above."""

    names: DisplayNames
    width: int | None
    """Cells of a line; None: output is not a terminal, and every message is one line of any length."""
    held_by: Mapping[MessageId, str] = field(default_factory=dict)
    """For our own messages, who has them, in safe words."""
    name_cells: int = 0
    """Cells of the column of names."""
    _day: str = ""
    _above: MessageId | None = None
    _late: Collection[MessageId] = ()
    _below: str = ""
    """The last position of a message that was formatted."""

    def rename(self, names: DisplayNames) -> None:
        """Show authors by *names* from now on."""
        self.names = names

    def mark_late(self, ids: Collection[MessageId]) -> None:
        """Mark messages that arrived after others, which come after them and were seen before."""
        self._late = ids

    def fit(self, rows: Sequence[MessageRow]) -> None:
        """Make the column of names wide enough for the authors of *rows*."""
        widths = (cells(self.names.shown(feed)) for feed in {row.feed for row in rows})
        self.name_cells = max(self.name_cells, *widths, 0)

    def message(self, row: MessageRow, where: str = "") -> Iterator[str]:
        """Format one placed message; *where* marks that it is of another conversation, safe to show."""
        day, minute = local_minute(row.written_us)
        if day != self._day:
            yield f"-- {day} --"
            self._day = day
        text = displayed_text(row)
        follows = row.previous
        if not where and self._above is not None and is_answer(row, self._above):
            more = f" +{len(follows) - 1}" if len(follows) > 1 else ""
            text = f"> {short(follows[0])}{more}: {text}"
        held_by = self.held_by.get(row.id)
        note = f"[{held_by}]" if held_by else ""
        if where:
            yield from self._block(minute, row, f"{where} {text}{other_times(row)}", note)
            return
        if row.id in self._late or (row.order and row.order < self._below):
            note = f"{t(OLDER)} {note}".rstrip()
        self._below = max(self._below, row.order)
        yield from self._block(minute, row, text + other_times(row), note)
        if row.kind is not MessageKind.FILE:
            # Texts do not follow files, which phone apps do not know.
            self._above = row.id

    def waiting(self, row: MessageRow) -> Iterator[str]:
        """Format a message that waits for a predecessor."""
        note = t("[waits for {ids}]", ids=_named(row.missing)) if row.missing else ""
        day, minute = local_minute(row.written_us)
        if day != self._day:
            yield f"-- {day} --"
            self._day = day
        yield from self._block(minute, row, displayed_text(row) + other_times(row), note)

    def gap(self, gap: MessageGap) -> Iterator[str]:
        """Format what is missing before the next message."""
        yield one_line(f"       ... {gap_in_words(gap, self.names)} ...", self.width)

    def found(self, row: MessageRow, where: str | None = None) -> Iterator[str]:
        """Format a message that stands alone, as in a search; *where* names its conversation, safe to show."""
        day, minute = local_minute(row.written_us)
        note = where or (t("[private]") if row.private else "")
        yield from self._block(f"{day} {minute}", row, displayed_text(row), note)

    def drawn(self, row: MessageRow, apart: Sequence[MessageId], gap: str = "") -> Iterator[str]:
        """Format a message beside a drawing without lines to its predecessors *apart*; *gap*: what is missing before
        it, in safe words."""
        day, minute = local_minute(row.written_us)
        note = t("[also follows {ids}]", ids=_named(apart)) if apart else ""
        if gap:
            note = f"{t('[{missing} before this]', missing=gap)} {note}".rstrip()
        yield from self._block(f"{day[5:]} {minute}", row, displayed_text(row) + other_times(row), note)

    def _block(self, when: str, row: MessageRow, text: str, note: str) -> Iterator[str]:
        if self.names.is_blocked(row.feed):
            text = t(BLOCKED)
        head = (
            f"{when}{mark_of(row)} {short(row.id)}  {padded(self.names.shown(row.feed), self.name_cells)}  "
        )
        if self.width is None:
            yield f"{head}{one_line(text)}{f'  {note}' if note else ''}"
            return
        indent = cells(head)
        room = self.width - indent
        if room < 24:  # with less room beside name and time, the text goes below them
            # A narrow terminal: the text gets its own lines.
            yield one_line(head.rstrip(), self.width)
            head, indent = "  ", 2
            room = max(2, self.width - indent)
        lines = wrapped(text, room, limits.MESSAGE_LINES_MAX)
        if note and cells(lines[-1]) + 2 + cells(note) <= room:
            lines[-1] += f"  {note}"
        elif note:
            lines += wrapped(note, room, limits.NOTE_LINES_MAX)
        for place, line in enumerate(lines):
            yield (head if place == 0 else " " * indent) + line
