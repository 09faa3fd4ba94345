"""Unread messages of all conversations: public, private, and of groups."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageRow, is_news
from tinyssb_node.screens import limits
from tinyssb_node.screens.group_conversations import GroupConversation, called
from tinyssb_node.screens.languages import t, tn

if TYPE_CHECKING:
    from tinyssb_node.screens.people import DisplayNames
    from tinyssb_node.screens.session import NodeSession


@dataclass(frozen=True, slots=True)
class InboxRow:
    """A conversation with messages of others that the user has not seen."""

    conversation: ConversationRow
    unread: int
    """Counted up to `limits.UNREAD_MAX`."""
    older: int
    """How many of them come before messages that the user has seen."""
    latest: MessageRow
    """The last of them to arrive."""


def inbox(
    node: NodeSession, conversations: Sequence[ConversationRow], groups: Sequence[GroupConversation]
) -> list[InboxRow]:
    """Return those of *conversations* and *groups* with unread messages, the latest arrival first. Groups that are
    muted are left out. Raises CatalogFailedError, and as the client does."""
    marks = node.read_marks()
    heard = [*conversations, *(row for row in groups if not row.muted)]
    found = (_row(node, row, marks.get(row.name, 0)) for row in heard)
    return sorted((row for row in found if row is not None), key=lambda row: -row.latest.committed_us)


def _row(node: NodeSession, row: ConversationRow, mark: int) -> InboxRow | None:
    if not _is_ahead(row, mark):
        return None
    unread = node.queries(row.name).unread(row.name, mark, limits.UNREAD_MAX)
    return InboxRow(row, unread.count, unread.older, unread.latest) if unread.latest is not None else None


def _is_ahead(row: ConversationRow, mark: int) -> bool:
    """Return whether something arrived in a conversation behind *mark*."""
    return row.last is not None and (row.last.placed or 0) > mark


def latest_places(conversations: Iterable[ConversationRow]) -> dict[str, int]:
    """Return the number of the last arrival of each conversation: a mark that everything was seen."""
    return {
        row.name: row.last.placed
        for row in conversations
        if row.last is not None and row.last.placed is not None
    }


def arrivals(node: NodeSession, seen: Mapping[str, int]) -> Iterator[tuple[ConversationRow, MessageRow]]:
    """Yield the messages of others behind the marks *seen*, at most `limits.CHAT_LAST_MAX` of a conversation, each
    conversation in order of arrival. Raises CatalogFailedError, and as the client does."""
    yield from conversation_arrivals(node, seen)
    yield from group_arrivals(node, seen)


def conversation_arrivals(
    node: NodeSession, seen: Mapping[str, int]
) -> Iterator[tuple[ConversationRow, MessageRow]]:
    """Yield those of public and private conversations, which need no daemon. Raises CatalogFailedError."""
    for row in node.catalog.conversations():
        yield from _arrivals(node, row, seen)


def group_arrivals(
    node: NodeSession, seen: Mapping[str, int]
) -> Iterator[tuple[ConversationRow, MessageRow]]:
    """Yield those of groups that are not muted; none without a daemon. Raises as the client does."""
    for group in node.groups() or ():
        if not group.muted:
            yield from _arrivals(node, group, seen)


def _arrivals(
    node: NodeSession, row: ConversationRow, seen: Mapping[str, int]
) -> Iterator[tuple[ConversationRow, MessageRow]]:
    mark = seen.get(row.name, 0)
    if _is_ahead(row, mark):
        found = node.queries(row.name).arrived(row.name, mark, limits.CHAT_LAST_MAX)
        yield from ((row, one) for one in found if is_news(one))


def mark_of_place(row: ConversationRow, names: DisplayNames) -> str:
    """Return the mark of a message that is shown among those of other conversations; empty: it is public."""
    if row.name == PUBLIC:
        return ""
    kind = "" if isinstance(row, GroupConversation) else f"{t('private')}: "
    return f"[{kind}{title_of(row, names)}]"


def title_of(row: ConversationRow, names: DisplayNames) -> str:
    """Return the title of a conversation, safe to show: its other readers, or the name of the group."""
    if isinstance(row, GroupConversation):
        return t("group {name}", name=called(row.title, row.name))
    if row.name == PUBLIC:
        return t("everybody")
    others = [feed for feed in row.members if not names.is_own(feed)]
    return ", ".join(names.shown(feed) for feed in others or row.members)


def unread_in_words(rows: Sequence[InboxRow]) -> str:
    """Return the numbers of unread messages in a line: public, private and in groups."""
    public = private = groups = 0
    for row in rows:
        if isinstance(row.conversation, GroupConversation):
            groups += row.unread
        elif row.conversation.name == PUBLIC:
            public += row.unread
        else:
            private += row.unread
    words = [
        tn(public, "{n} public", "{n} public") if public else "",
        tn(private, "{n} private", "{n} private") if private else "",
        tn(groups, "{n} in groups", "{n} in groups") if groups else "",
    ]
    return ", ".join(filter(None, words)) or t("none")
