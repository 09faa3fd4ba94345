"""Private groups as lines of a terminal: epochs and their members, pending tasks, the audit. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tinyssb_node.cli.graph import draw
from tinyssb_node.ids import FeedId
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import BLOCKED, local_minute
from tinyssb_node.screens.group_conversations import (
    MUTED,
    happening,
    invitation_commands,
    invited_in_words,
    people_in_words,
    review_command,
    standing_note,
    waiting_reviews,
)
from tinyssb_node.screens.group_details import (
    access_lines,
    access_of,
    fork,
    head,
    limits_of_access,
    next_tasks,
    people,
    person,
    short,
)
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.render import table
from tinyssb_node.screens.safetext import cells, one_line, padded, wrapped

if TYPE_CHECKING:
    from tinyssb_node.control.group_rows import (
        GroupAuditRow,
        GroupEpochRow,
        GroupMemberRow,
        GroupRow,
        GroupShownRow,
    )
    from tinyssb_node.screens.people import DisplayNames


def fitted(line: str, width: int | None) -> Iterator[str]:
    """Split *line* into lines of *width* cells, the further ones indented by two more."""
    if width is None:
        yield line
        return
    text = line.lstrip(" ")
    indent = cells(line) - cells(text)
    room = max(width - indent - 2, limits.SCREEN_CELLS_MIN)
    for number, part in enumerate(wrapped(text, room, limits.MESSAGE_LINES_MAX)):
        yield " " * (indent + 2 * (number > 0)) + part


def invitations(rows: Sequence[GroupRow], names: DisplayNames) -> Iterator[str]:
    """Format the groups that the user has not accepted, and what they can do."""
    for row in rows:
        if row.invitation is not None:
            yield f"{invited_in_words(row.invitation, names)}: {invitation_commands(row.group)}"


def listing(rows: Sequence[GroupRow]) -> str:
    """Format a table of groups."""
    listed = []
    for row in rows:
        last = row.last
        came_us = None if last is None else last.committed_us
        listed.append(
            (
                short(row.group),
                one_line(row.name or "", limits.TITLE_CELLS),
                len(row.members),
                row.epochs,
                row.posts,
                None if came_us is None else " ".join(local_minute(came_us)),
                _state(row),
            )
        )
    return table(
        (t("GROUP"), t("NAME"), t("MEMBERS"), t("EPOCHS"), t("MESSAGES"), t("LATEST"), t("STATE")), listed
    )


def _state(row: GroupRow) -> str:
    """Return the user's standing, and whether the node has a problem with the group."""
    note = standing_note(row.state)
    command = f"tinyssb group show {short(row.group)}"
    stopped = t("its work has stopped: {command}", command=command) if row.stopped else ""
    waits = f"{waiting_reviews(row.reviews)}: {review_command(row.group)}" if row.reviews else ""
    return "; ".join(part for part in (note, t(MUTED) if row.muted else "", stopped, waits) if part)


# --- `group show`


def shown(
    row: GroupShownRow, epochs: Sequence[GroupEpochRow], names: DisplayNames, glyphs: str, width: int | None
) -> Iterator[str]:
    """Format everything about a group: its status, its epochs as a graph, its forks, pending tasks."""
    for line in head(row, names):
        yield from fitted(line, width)
    if row.arriving is not None:
        return
    yield ""
    for line in access_lines(access_of(row, epochs, names), names, limits_of_access(row)):
        yield from fitted(line, width)
    yield ""
    yield from fitted(t("Epochs, the first on top. Each member writes in one epoch that they are in:"), width)
    yield from _graph(row, epochs, names, glyphs, width)
    for one in row.forks:
        yield ""
        yield from fitted(fork(one), width)
    yield ""
    for line in next_tasks(row.tasks, names):
        yield from fitted(line, width)


def _graph(
    row: GroupShownRow, epochs: Sequence[GroupEpochRow], names: DisplayNames, glyphs: str, width: int | None
) -> Iterator[str]:
    by_id = {epoch.epoch: epoch for epoch in epochs}
    writing = row.epoch if row.state == "member" else None
    followed = {previous for one in epochs for previous in one.previous}
    lines = list(draw([(one.epoch, one.previous) for one in epochs], limits.LANES_MAX, glyphs))
    lanes = max((len(line.drawing) for line in lines), default=0)
    room = None if width is None else width - lanes - 2
    for line in lines:
        if line.message is None:
            yield line.drawing
            continue
        below = line.drawing.replace(glyphs[0], glyphs[1] if line.message in followed else " ")
        told = _epoch(by_id[line.message], writing, names, line.apart)
        for number, text in enumerate(part for one in told for part in fitted(one, room)):
            yield f"{below if number else line.drawing:<{lanes}}  {text}".rstrip()


def _epoch(
    row: GroupEpochRow, writing: str | None, names: DisplayNames, apart: Sequence[str]
) -> Iterator[str]:
    """Format one epoch: its author and time, and its members."""
    when = "" if row.committed_us is None else "{} {}  ".format(*local_minute(row.committed_us))
    notes = [t("also follows {ids}", ids=", ".join(map(short, apart)))] if apart else []
    if row.epoch == writing:
        notes.append(t("you write here"))
    elif not row.inside:
        notes.append(t("you are not in it"))
    note = f"  [{'; '.join(notes)}]" if notes else ""
    yield f"{when}{short(row.epoch)}  {t('by {name}', name=person(row.creator, names))}{note}"
    width = max((cells(person(one.feed, names)) for one in row.members), default=0)
    for one in row.members:
        yield f"  {padded(person(one.feed, names), width)}{_how(one, names)}".rstrip()
    for feed in row.missing:
        yield f"  {padded(person(feed, names), width)}  {t('missing: not added yet')}"
    if not row.members:
        yield f"  {t('no members yet')}"


def _how(row: GroupMemberRow, names: DisplayNames) -> str:
    """Return who added a member, and who excluded them."""
    adders = [feed for feed in row.added_by if feed != row.feed]
    words = [t("added by {people}", people=people(adders, names))] if adders else []
    if row.excluded_by:
        words.append(t("excluded by {people}", people=people(row.excluded_by, names)))
    return "  " + ", ".join(words) if words else ""


# --- `group audit`


def audit(rows: Sequence[GroupAuditRow], names: DisplayNames, width: int | None) -> Iterator[str]:
    """Format all messages in order, each that does not count with the rule it broke."""
    column = max((cells(person(row.feed, names)) for row in rows), default=0)
    day = ""
    for row in rows:
        came_us = row.committed_us
        today, minute = local_minute(came_us) if came_us is not None else ("", "--:--")
        if today and today != day:
            day = today
            yield f"-- {day} --"
        who = padded(person(row.feed, names), column)
        mark = "?" if row.waits else "." if row.rule is None else "!"
        text = one_line(_deed(row, names), limits.CHANGE_CELLS)
        yield from fitted(f"{mark} {minute}  {short(row.id)}  {who}  {text}", width)
        if row.rule is not None:
            flaw = t("does not count ({rule}): {flaw}", rule=row.rule, flaw=one_line(row.flaw or ""))
            yield from fitted(f"    {flaw}", width)
        elif row.waits:
            waits = t("waits for a predecessor, which is not here or which you cannot read")
            yield from fitted(f"    {waits}", width)


def _deed(row: GroupAuditRow, names: DisplayNames) -> str:
    """Return what a message does, unescaped."""
    feeds = people_in_words([FeedId.from_hex(feed) for feed in row.people], names)
    where = t("an unknown epoch") if row.epoch is None else short(row.epoch)
    match row.kind:
        case "group/init":
            return t("creates the group") if not row.previous else t("begins the epoch {epoch}", epoch=where)
        case "group/add-member":
            return t("adds to {epoch}: {people}", epoch=where, people=feeds) + (
                f": {row.text}" if row.text else ""
            )
        case "group/exclude-member":
            return t("excludes from {epoch}: {people}", epoch=where, people=feeds)
        case "broken":
            return t("(decrypted, but malformed)")
        case "post":
            text = t(BLOCKED) if names.is_blocked(FeedId.from_hex(row.feed)) else row.text or ""
            return t("posts: {text}", text=text)
    return happening(row, names)
