"""Rows as lines of a terminal: pure, in cells and not in characters, by words and shapes before colours.

Strangers' text comes in through ``screens.safetext`` only. Lines are ``Content``, in which no markup is parsed.
"""

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from typing import Final

from textual.content import Content

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageRow, PersonRow, is_group
from tinyssb_node.control.rows import FeedRow
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.chatlines import displayed_text, is_answer, mark_of, other_times
from tinyssb_node.screens.disk_words import size_words
from tinyssb_node.screens.follow_words import PENDING, PENDING_MEANING
from tinyssb_node.screens.group_conversations import GroupConversation, called
from tinyssb_node.screens.languages import number, t, tn
from tinyssb_node.screens.limits import TITLE_CELLS
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import apart, cells, one_line, padded, wrapped
from tinyssb_node.tui import limits

_NAME_CELLS: Final = 16  # a fifth of a line
_WIDE_CELLS: Final = 72
"""Width from which on there is room for one column more."""
_FEW_DIGITS: Final = 4  # where there is little room and nothing is decided; private writing shows all
_IDS_MAX: Final = 12  # a message may follow a thousand
INDENT = 6
"""Cells before text: a time of day and a space."""
BLANK_LINES = re.compile(r"\n{3,}")
DATE_AND_TIME = "%Y-%m-%d %H:%M:%S"


def short(id_: FeedId | MessageId) -> str:
    """Return the beginning of an id."""
    return id_.hex()[: limits.ID_DIGITS]


def column(text: str, width: int) -> str:
    """Return *text* escaped, in exactly *width* cells."""
    return padded(one_line(text, width), width)


def name_and_digits(feed: FeedId, names: DisplayNames, digits: int = _FEW_DIGITS) -> tuple[str, str]:
    """Return a feed's name, escaped, and the digits of its id that belong to it. A name that our user gave needs none,
    nor does our own; without a name there are only digits."""
    name = names.name(feed)
    if name is None:
        return "", short(feed)
    alone = names.is_own(feed) or names.stands_alone(feed)
    return apart(name, _NAME_CELLS), "" if alone else feed.hex()[:digits]


def name_of(feed: FeedId, names: DisplayNames, digits: int = _FEW_DIGITS) -> str:
    """Return the same as one text."""
    return " ".join(filter(None, name_and_digits(feed, names, digits)))


def names_of(feeds: Sequence[FeedId], names: DisplayNames, digits: int = _FEW_DIGITS) -> str:
    """Return the names of several people except us; empty if there are none."""
    return ", ".join(name_of(feed, names, digits) for feed in feeds if not names.is_own(feed))


def moment(wall_us: int, form: str) -> str:
    """Return a local time; of an impossible time only dashes."""
    try:
        return dt.datetime.fromtimestamp(wall_us / 1e6, dt.UTC).astimezone().strftime(form)
    except (OverflowError, ValueError, OSError):
        return "--:--"


def clock(wall_us: int, now_us: int) -> str:
    """Return a time in five cells: the time of day, or the date if it is older."""
    # A time of day older than 20 hours would be read as today's.
    return moment(wall_us, "%H:%M" if abs(now_us - wall_us) < 20 * 3_600_000_000 else "%m-%d")


def ago(us: int) -> str:
    """Return a span of time in its largest unit."""
    seconds = max(us, 0) // 1_000_000
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


# --- Conversations ---------------------------------------------------------------------------------------------------


def conversation_title(row: ConversationRow, names: DisplayNames, digits: int = _FEW_DIGITS) -> str:
    """Return the title of a conversation: its other readers, with *digits* of their ids, or the name of the group."""
    if isinstance(row, GroupConversation):
        return group_title(row.title, row.name)
    if row.name == PUBLIC:
        return t("everybody")
    return names_of(row.members, names, digits) or t("notes to myself")


def _title_within(row: ConversationRow, names: DisplayNames, room: int) -> str:
    """Return the title for a list: if it is too long, the name is cut, not the digits."""
    title = conversation_title(row, names)
    others = [feed for feed in row.members if not names.is_own(feed)]
    if cells(title) <= room or isinstance(row, GroupConversation) or len(others) != 1:
        return title
    bare, digits = name_and_digits(others[0], names)
    return f"{one_line(bare, max(room - len(digits) - 1, 1))} {digits}" if bare and digits else title


def group_title(title: str | None, group: str) -> str:
    """Return the title of a group, which cannot look like that of several people."""
    return called(apart(title or "", TITLE_CELLS - 2), group)


def conversation(
    row: ConversationRow, names: DisplayNames, *, new: bool, chosen: bool, now_us: int, width: int
) -> Content:
    """Format a conversation of the list, in two lines: readers and time, and its last message. `*`: new, `>`: open."""
    mark = ">" if chosen else "*" if new else " "
    when = clock(row.last.committed_us, now_us) if row.last is not None else ""
    room = max(width - len(when) - 1, 1)
    title = column(mark + _title_within(row, names, room - 1), room)
    last = t("no messages yet") if row.last is None else displayed_text(row.last)
    return Content.assemble((title, "bold"), f" {when}\n", (column(" " + last, width), "" if new else "dim"))


def found(
    row: MessageRow, room: ConversationRow | None, names: DisplayNames, now_us: int, width: int
) -> Content:
    """Format a message that a search found, in one line: when, where, by whom, its text."""
    title = "" if room is None else f"{conversation_title(room, names)}: "
    text = f"{title}{name_of(row.feed, names)}: {displayed_text(row)}"
    when = f"{clock(row.written_us, now_us)}{mark_of(row)}"
    return Content.assemble((when, "dim"), one_line(text, max(width - cells(when), 2)))


def message(
    row: MessageRow,
    names: DisplayNames,
    *,
    above: MessageRow | None,
    known: Mapping[MessageId, MessageRow],
    holders: str | None,
    now_us: int,
    width: int,
    gap: str = "",
) -> Content:
    """Format a message of a conversation: time, author, text; the message it answers unless right above;
    its receipts. *gap*: what is missing right before it, in safe words."""
    room = max(width - INDENT, 2)
    bare, digits = name_and_digits(row.feed, names)
    name = f"{bare} {digits}".strip()
    answers = is_answer(row, None if above is None else above.id)
    words = ("" if answers else f"{name}: ") + displayed_text(row)
    # Many blank lines would fill the screen.
    texts = wrapped(BLANK_LINES.sub("\n\n", words), room, limits.MESSAGE_LINES)
    if answers:
        name = one_line(name, room)
        reference = one_line(f" ↳ {_answered(row, names, known)}", room - cells(name))
        first_line = Content.assemble(name, (reference, "dim"))
        lines = [_with_name(first_line, bare, name), *map(Content, texts)]
    else:
        lines = [_with_name(Content(texts[0]), bare, name), *map(Content, texts[1:])]
    if holders is not None:
        lines += [Content.styled(line, "dim") for line in wrapped(holders, room, 2)]
    if times := other_times(row).strip():
        lines.append(Content.styled(one_line(times, room), "dim"))
    if row.placed is None:
        lines.append(Content.styled(one_line(t("(waits for earlier messages)"), room), "dim"))
    first = Content.assemble((f"{clock(row.written_us, now_us)}{mark_of(row)}", "dim"), lines[0])
    above_it = [Content.styled(one_line(f"... {gap} ...", room), "dim").pad_left(INDENT)] if gap else []
    return Content("\n").join([*above_it, first, *(line.pad_left(INDENT) for line in lines[1:])])


def _with_name(line: Content, bare: str, name: str) -> Content:
    """Style *line* that begins with *name*: the *bare* name is bold, digits behind it are dim."""
    return line.stylize("bold", 0, len(bare) or len(name)).stylize("dim", len(bare) or len(name), len(name))


def _answered(row: MessageRow, names: DisplayNames, known: Mapping[MessageId, MessageRow]) -> str:
    found = next((known[id_] for id_ in row.previous if id_ in known), None)
    if found is None:
        return t("earlier message ({id})", id=short(row.previous[0]))
    return f"{name_of(found.feed, names)}: {displayed_text(found)}"


def _ids(ids: Sequence[MessageId]) -> str:
    shown = ", ".join(map(short, ids[:_IDS_MAX]))
    more = len(ids) - _IDS_MAX
    return tn(more, "{shown} and {n} more", "{shown} and {n} more", shown=shown) if more > 0 else shown


def message_page(row: MessageRow, names: DisplayNames, person: PersonRow | None, receipts: str | None) -> str:
    """Return all details of a message, in lines of text; unescaped."""
    missing = f"; {t('waits for {ids}', ids=_ids(row.missing))}" if row.missing else ""
    packets = ""
    if row.chunks:
        held = number(row.chunks_held)
        packets = (
            f", {tn(row.chunks, '{held} of {n} packet stored', '{held} of {n} packets stored', held=held)}"
        )
    in_group = row.conversation is not None and is_group(row.conversation)
    pairs = [
        (t("from"), name_of(row.feed, names)),
        (t("alias"), person.said if person is not None else None),
        (t("feed"), row.feed.hex()),
        (t("entry"), None if in_group else f"{row.seq}, {tn(row.size, '{n} byte', '{n} bytes')}{packets}"),
        (t("message"), row.id.hex()),
        (t("arrived"), f"{moment(row.committed_us, DATE_AND_TIME)}, {row.origin.value}"),
        (
            t("written"),
            None
            if row.said_us is None
            else t("{time}, by its author's clock", time=moment(row.said_us, DATE_AND_TIME)),
        ),
        (t("follows"), (_ids(row.previous) or t("nothing")) + missing),
        (t("receipts"), receipts),
    ]
    wide = max(9, *(len(name) + 1 for name, _ in pairs))
    head = [f"{name:<{wide}}{value}" for name, value in pairs if value is not None]
    return "\n".join([*head, "", displayed_text(row)])


# --- People and feeds ------------------------------------------------------------------------------------------------


def person(row: PersonRow, names: DisplayNames, *, followed: bool | None, now_us: int, width: int) -> Content:
    """Format a person in one line: name, feed, entries stored, and special states in words."""
    marks = []
    if row.blocked:
        marks.append(t("blocked"))
    if followed is False:
        marks.append(t("not followed"))
    if row.pending:
        marks.append(t(PENDING))
    if row.alias is not None and row.said is not None and row.alias != row.said:
        marks.append(t("alias {name}", name=one_line(row.said, _NAME_CELLS)))
    last = t("never") if row.last_us is None else t("{time} ago", time=ago(now_us - row.last_us))
    name = column(names.name(row.feed) or "-", _NAME_CELLS)
    line = f" {name} {short(row.feed)} {number(row.entries):>7} {last:>10}  {', '.join(marks)}"
    return Content.styled(one_line(line.rstrip(), width), "dim" if row.blocked else "")


def person_header(width: int) -> Content:
    """Return the column titles of people."""
    return _header(f" {t('NAME'):<{_NAME_CELLS}} {t('FEED'):<8} {t('ENTRIES'):>7} {t('LAST'):>10}", width)


def person_page(row: PersonRow, now_us: int) -> str:
    """Return all details of a person, in lines of text; unescaped."""
    last = t("never")
    if row.last_us is not None:
        last = f"{moment(row.last_us, DATE_AND_TIME)}, {t('{time} ago', time=ago(now_us - row.last_us))}"
    undo = t("f in the list undoes the follow.")
    pairs = [
        (t("name here"), row.alias if row.alias is not None else "-"),
        (t("own alias"), row.said if row.said is not None else "-"),
        (t("feed"), row.feed.hex()),
        (t("entries here"), number(row.entries)),
        (t("last arrival"), last),
        *([(t("pending"), f"{t(PENDING_MEANING)} {undo}")] if row.pending else []),
        (t("blocked"), t("yes: not shown, not requested") if row.blocked else t("no")),
    ]
    wide = max(13, *(len(name) + 1 for name, _ in pairs))
    return "\n".join(f"{name + ':':<{wide}}  {value}" for name, value in pairs)


def feed(row: FeedRow, names: DisplayNames, width: int) -> Content:
    """Format a feed in one line: how far it is stored."""
    marks = []
    if row.own:
        marks.append(t("own"))
    elif (identity := row.identity) is not None:
        marks.append(t("own: {name}", name=identity))
    if row.writable is False and row.forked_at is None:
        marks.append(f"! {t('cannot be written for now')}")
    if row.forked_at is not None:
        marks.append(f"! {t('forked at {n}', n=row.forked_at)}")
    if not row.wanted:
        marks.append(t("not followed"))
    if row.evicted:
        marks.append(t("deleted to make room"))
    if row.pending:
        marks.append(t(PENDING))
    id_ = FeedId.from_hex(row.feed)
    unnamed = t("private group") if row.of_group else t("further feed") if row.child else "-"
    name = column(names.name(id_) or unnamed, _NAME_CELLS)
    size = f" {size_words(row.bytes):>8}" if width >= _WIDE_CELLS else ""
    line = f" {name} {short(id_)} {number(row.seq):>10}{size} {row.dialect or '-':<8}  {', '.join(marks)}"
    return Content.styled(one_line(line.rstrip(), width), "")


def feed_header(width: int) -> Content:
    """Return the column titles of feeds."""
    size = f" {t('DISK'):>8}" if width >= _WIDE_CELLS else ""
    return _header(
        f" {t('NAME'):<{_NAME_CELLS}} {t('FEED'):<8} {t('STORED TO'):>10}{size} {t('DIALECT'):<8}", width
    )


def _header(text: str, width: int) -> Content:
    return Content.styled(column(text, width), "bold underline")
