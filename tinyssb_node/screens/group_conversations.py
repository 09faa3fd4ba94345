"""Private groups as conversations: the daemon's rows in the shape of the catalog's, so that all screens show both."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tinyssb_node.catalog.rows import ConversationRow, MessageKind, MessageRow, UnreadMessages, is_news
from tinyssb_node.ids import FeedId, MessageId, Origin
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import BLOCKED
from tinyssb_node.screens.holders_text import last_of_each
from tinyssb_node.screens.languages import message, number, t, tn
from tinyssb_node.screens.safetext import one_line

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.control.group_rows import (
        GroupArrivingRow,
        GroupMessageRow,
        GroupRow,
        GroupSaidRow,
    )
    from tinyssb_node.control.rows import GroupInvitationRow
    from tinyssb_node.screens.gaps import ShownMessage
    from tinyssb_node.screens.people import DisplayNames

SHORT_GROUP: Final = 8
"""Digits of a group's id that are shown, and usually enough to type."""
_NAMED_MAX: Final = 8
"""People named in a line; of more only the number is given."""
POST: Final = "post"
_ADD: Final = "group/add-member"
_EXCLUDE: Final = "group/exclude-member"
_INIT: Final = "group/init"
_NAME: Final = "group/name"
_LEAVE: Final = "group/leave"
_TEXT: Final = "group/text"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConversation(ConversationRow):
    """A private group, seen as a conversation; its name as such is the group's id, all 40 digits."""

    title: str | None
    """Its name, unescaped; None: it has no name."""
    note: str
    """Why the user cannot write there; empty if they can."""
    alert: str = ""
    """A decision that waits for the user there; empty: none."""
    reviews: int = 0
    """How many forks wait for the user's decision."""
    history_missing: bool = False
    """Its history is missing, and so are some of its members."""
    muted: bool = False
    """New messages there are shown, and not announced."""
    lacking: int = 0
    """Messages that others name and that are not here, or cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMessageView(MessageRow):
    """A message of a private group, in the shape of the catalog's."""

    reply_to: MessageId | None = None
    """The message that it answers."""
    holders: tuple[FeedId, ...] = ()
    """Of a message of ours: the other members who are known to have it."""
    expected: int = 0
    """Of a message of ours: how many other members there are."""


NOTES: Final = {
    "member": "",
    "left": message("you left this group"),
    "excluded": message("you were excluded"),
    "outside": message("you are not in any of its epochs"),
    "invited": message("you have not accepted this group"),
    "declined": message("you declined this group"),
    "arriving": message("its older messages are missing"),
    "failed": message("an error of this program stopped the work for it"),
}
"""The user's standing in a group, by its state."""


MUTED: Final = message("muted")
HELD: Final = message("(in a fork that is held until you decide)")
"""Mark of a message in a fork by people who had been excluded: see ``tinyssb group review``."""
EARLY: Final = message("(not checked yet)")
"""Mark of a message of a group whose history is not here (see `arriving_in_words`), or that waits for others."""
NOBODY_READS: Final = message("(nobody reads this: a member had excluded you before)")
"""Mark of our own message that others do not fetch."""


def standing_note(state: str) -> str:
    """Return the user's standing in a group in words, by its state; empty if they can write."""
    note = NOTES.get(state, state)
    return t(note) if note else ""


def waiting_reviews(count: int) -> str:
    """Return that *count* exclusions wait for the user's decision."""
    return tn(
        count,
        "an exclusion by an excluded person waits for your decision",
        "{n} exclusions by excluded people wait for your decision",
    )


def review_command(group: str = "") -> str:
    """Return the command that lists what waits for the user's decision, in a group or in all."""
    return f"tinyssb group review {group[:SHORT_GROUP]}" if group else "tinyssb group list"


def invited_in_words(row: GroupInvitationRow, names: DisplayNames) -> str:
    """Return who added the user to which group, and whom of them they do not follow."""
    creator = FeedId.from_hex(row.creator)
    adders = [FeedId.from_hex(feed) for feed in row.added_by] or [creator]
    strangers = {FeedId.from_hex(feed) for feed in row.strangers}
    who = people_in_words(adders, names)
    if not strangers.isdisjoint(adders):
        who += f" ({t('whom you do not follow')})"
    group = called(row.name, row.group)
    if creator in adders:
        return t("{people} added you to {group}", people=who, group=group)
    begun = names.shown(creator)
    if creator in strangers:
        begun += f" ({t('whom you do not follow')})"
    return t("{people} added you to {group}, begun by {creator}", people=who, group=group, creator=begun)


def arriving_in_words(row: GroupArrivingRow, names: DisplayNames) -> str:
    """Return that the history of a group is missing, and what that means."""
    adders = people_in_words([FeedId.from_hex(feed) for feed in row.added_by], names)
    when = t("They are requested") if row.requested else t("They come when the air is idle, or on request")
    missing = t(
        "{people} added you. Older messages are missing: until they are here, your node cannot check who is a member, "
        "and whether {people} may add you.",
        people=adders,
    )
    return f"{missing} {when}"


def history_command(group: str) -> str:
    """Return the command that requests the history of a group now."""
    return f"tinyssb group history {group[:SHORT_GROUP]}"


def invitation_commands(group: str) -> str:
    """Return the commands that answer an invitation."""
    return f"`tinyssb group accept {group[:SHORT_GROUP]}` / `tinyssb group decline {group[:SHORT_GROUP]}`"


def called(name: str | None, group: str) -> str:
    """Return a group's name, safe and bounded, with the beginning of its id: several groups may share a name."""
    return f"{one_line(name or t('group'), limits.TITLE_CELLS)} {group[:SHORT_GROUP]}"


def rooms(client: DaemonClient, names: DisplayNames) -> list[GroupConversation]:
    """Return the node's groups, the one with the latest message first, invitations last; none that the user declined.
    Raises as the client does."""
    found = [room_of(row, names) for row in client.group_list() if row.state != "declined"]
    return sorted(found, key=lambda room: -(room.last.committed_us if room.last is not None else 0))


def room_of(row: GroupRow, names: DisplayNames) -> GroupConversation:
    """Return a group as a conversation. An invitation shows no message: it asks for no attention."""
    if row.invitation is not None:
        alert = invited_in_words(row.invitation, names)
    elif row.arriving is not None:
        alert = arriving_in_words(row.arriving, names)
    else:
        alert = waiting_reviews(row.reviews) if row.reviews else ""
    return GroupConversation(
        name=row.group,
        members=tuple(map(FeedId.from_hex, row.members)),
        messages=row.posts,
        last=None if row.last is None or row.invitation is not None else message_row(row.last, names),
        title=row.name,
        note=standing_note(row.state),
        alert=alert,
        reviews=row.reviews,
        history_missing=row.arriving is not None,
        muted=row.muted,
        lacking=row.lacking,
    )


@dataclass(frozen=True, slots=True)
class GroupNotes:
    """The notes that stand below the messages of a group."""

    group: str
    """The group's id."""
    closed: str
    """Why the user cannot write there; empty: they can."""
    lacking: int
    """How many messages are missing."""


def notes_below(client: DaemonClient, group: str) -> GroupNotes:
    """Return what stands below the messages of a group. Raises as the client does."""
    listing = client.group_show(group)
    for _ in listing:
        pass
    shown = listing.result
    note = standing_note(shown.state)
    closed = t("You cannot write to this group: {reason}.", reason=note) if note else ""
    return GroupNotes(shown.group, closed, shown.lacking)


def lacking_in_words(count: int, shown: Sequence[ShownMessage] = ()) -> str:
    """Return that of *count* missing messages of a group some have no place among those *shown*; empty for none. The
    authors of these are not known, since a message names others by id; and a message of a person of whom it is not
    known whether they are a member is shown only once those that it names are here."""
    count -= sum(one.gap.count for one in shown if one.gap is not None)
    if count <= 0:
        return ""
    return tn(
        count,
        "{n} message is missing here, or not readable for you; what follows it is not shown yet",
        "{n} messages are missing here, or not readable for you; what follows them is not shown yet",
    )


@dataclass(frozen=True, slots=True)
class GroupMessageQueries:
    """The ``ConversationQueries`` of private groups, by their ids or names. Each raises as the client does."""

    client: DaemonClient
    names: DisplayNames

    def messages(
        self,
        conversation: str,
        *,
        before: str | None = None,
        after: str | None = None,
        limit: int | None = None,
    ) -> list[GroupMessageView]:
        """Return messages in their order: the last *limit*, or those before or the first after a position."""
        return self._rows(self.client.group_read(conversation, before=before, after=after, limit=limit))

    def arrived(self, conversation: str, after: int, limit: int | None = None) -> list[GroupMessageView]:
        """Return those that arrived since the number *after*, in order of arrival, the first *limit* and those that
        came with the last of them."""
        return self._rows(self.client.group_arrived(conversation, after, limit))

    def latest_arrivals(self, conversation: str, limit: int) -> list[GroupMessageView]:
        """Return the *limit* messages that arrived last, in their order."""
        rows = self._rows(self.client.group_arrived(conversation, None, limit))
        return sorted(rows, key=lambda row: row.order)

    def unread(self, conversation: str, after: int, limit: int) -> UnreadMessages:
        """Return the messages of others among the first *limit* that arrived since the number *after*, without changes
        of the group."""
        listing = self.client.group_arrived(conversation, after, limit)
        rows = [row for row in self._rows(listing) if is_news(row)]
        older = sum(row.order < listing.result.seen for row in rows)
        return UnreadMessages(len(rows), older, rows[-1] if rows else None)

    def waiting(self, conversation: str, limit: int = 50) -> list[GroupMessageView]:
        """Return messages that wait for predecessors, the latest arrivals first."""
        return self._rows(self.client.group_read(conversation, waiting=True, limit=limit))

    def _rows(self, rows: Iterable[GroupSaidRow]) -> list[GroupMessageView]:
        return [message_row(row, self.names) for row in rows]


def message_row(row: GroupSaidRow, names: DisplayNames) -> GroupMessageView:
    """Return a message of a group as a message of the catalog. Changes of the group get a kind that no text has."""
    feed = FeedId.from_hex(row.feed)
    kind, text = MessageKind.TEXT, row.text or ""
    unchecked = row.early or row.place is None
    if row.file is not None:
        # As the catalog describes public files.
        about = {"name": row.file.name, "type": row.file.type, "size": row.file.size}
        mark = EARLY if unchecked else NOBODY_READS if row.unread else ""
        note = {"note": f" {t(mark)}"} if mark else {}
        kind, text = MessageKind.FILE, json.dumps({**about, **note}, ensure_ascii=False)
    elif row.kind != POST:
        kind, text = MessageKind.HAPPENING, happening(row, names)
    if unchecked and kind is not MessageKind.FILE:
        text += f" {t(EARLY)}"
    if row.held and kind is not MessageKind.FILE:
        text += f" {t(HELD)}"
    if row.unread and kind is not MessageKind.FILE:
        text += f" {t(NOBODY_READS)}"
    if names.is_blocked(feed):
        kind, text = MessageKind.TEXT if kind is MessageKind.FILE else kind, t(BLOCKED)
    came_us = row.committed_us or 0
    reply_to = None if row.reply_to is None else MessageId.from_hex(row.reply_to)
    return GroupMessageView(
        id=MessageId.from_hex(row.id),
        feed=feed,
        seq=row.seq,
        arrival=0,
        committed_us=came_us,
        said_us=row.said_us,
        order_us=row.order_us,
        doubtful=row.doubtful,
        origin=Origin.OWN if row.own else Origin.PEER,
        own=row.own,
        kind=kind,
        conversation=row.group,
        tangle=MessageId.from_hex(row.group),
        previous=tuple(map(MessageId.from_hex, row.previous)) if reply_to is None else (reply_to,),
        placed=row.place,
        missing=tuple(map(MessageId.from_hex, row.missing)),
        text=text,
        cut=False,
        voice_size=0,
        size=len(text.encode()) if row.file is None else row.file.size,
        chunks=0,
        chunks_held=0,
        private=True,
        order=row.order,
        reply_to=reply_to,
        holders=tuple(map(FeedId.from_hex, row.holders)),
        expected=row.expected,
    )


def held_in_words(row: MessageRow, names: DisplayNames) -> str | None:
    """Return on whose nodes a text or file of ours in a group is, as far as known; None for all other messages."""
    if not isinstance(row, GroupMessageView) or not row.own or not row.expected:
        return None
    if row.kind is MessageKind.HAPPENING:
        return None
    held = number(len(row.holders))
    count = tn(
        row.expected,
        "on {held} of {n} other member's node, as far as known",
        "on {held} of {n} other members' nodes, as far as known",
        held=held,
    )
    return f"{count}: {people_in_words([*row.holders], names)}" if row.holders else count


def held_in_group(rows: Sequence[MessageRow], names: DisplayNames) -> dict[MessageId, str]:
    """Return the same for the messages of ours among *rows*: at the last of those that the same nodes have."""
    words = {row.id: held for row in rows if (held := held_in_words(row, names)) is not None}
    return last_of_each([row.id for row in rows], words)


def happening(row: GroupMessageRow, names: DisplayNames) -> str:
    """Describe a message that is not a post, unescaped: our words first, the author's behind a colon."""
    people = people_in_words([FeedId.from_hex(feed) for feed in row.people if feed != row.feed], names)
    greeting = f": {row.text}" if row.text else ""
    match row.kind:
        case kind if kind == _ADD:
            return f"{t('added {people}', people=people)}{greeting}"
        case kind if kind == _EXCLUDE:
            return t("excluded {people}", people=people)
        case kind if kind == _INIT:
            return t("created the group")
        case kind if kind == _NAME:
            return t("named the group: {name}", name=row.text or "")
        case kind if kind == _LEAVE:
            return t("left the group")
        case kind if kind == _TEXT:
            return t(
                "wrote a text that cannot be read here: it was erased, or this device has no key of that day"
            )
    return t("sent a message of a kind that this program cannot show: {kind}", kind=row.kind)


def people_in_words(people: Sequence[FeedId], names: DisplayNames) -> str:
    """Return people in a line, safe to show; of many only the number is given. Our user is "you"."""
    if not people:
        return t("nobody")
    named = people[:_NAMED_MAX]
    shown = ", ".join(t("you") if names.is_own(feed) else names.shown(feed) for feed in named)
    more = len(people) - len(named)
    return tn(more, "{shown} and {n} more", "{shown} and {n} more", shown=shown) if more > 0 else shown
