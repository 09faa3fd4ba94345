"""What pages ask, answered from one voice by the thread that has it."""

from collections.abc import Sequence

from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.control.rows import ReceiptRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_conversations import is_group
from tinyssb_node.web import limits
from tinyssb_node.web.errors import PageNotFoundError
from tinyssb_node.web.ports import NodePort, OutgoingMessage
from tinyssb_node.web.shapes import (
    PeopleIndex,
    Shape,
    author_shape,
    conversation_shape,
    message_shape,
    person_shape,
    quote_shape,
    receipt_shape,
)


def conversations(voice: NodePort) -> Shape:
    """All conversations, the liveliest first, and behind them private groups."""
    known = people_of(voice)
    groups = list(voice.groups() or ())
    # Strangers begin as many conversations as they like; groups are only those that we are in.
    rows = [*voice.catalog.conversations()[: max(0, limits.PEOPLE_MAX - len(groups))], *groups]
    return {"rows": [conversation_shape(row, known) for row in rows]}


def people(voice: NodePort) -> Shape:
    """Everybody, us first, then those heard of last; those who are blocked at the end."""
    known = people_of(voice)
    rows = sorted(
        known.rows.values(), key=lambda row: (not row.own, row.blocked, -(row.last_us or 0), row.feed)
    )
    return {"rows": [person_shape(row, known) for row in rows[: limits.PEOPLE_MAX]], "all": len(rows)}


def find_conversation(voice: NodePort, feeds: Sequence[FeedId]) -> Shape:
    """The conversation with just these people, and who they are."""
    known = people_of(voice)
    members = [author_shape(feed, known) for feed in feeds if feed in known.rows]
    if len(members) != len(feeds):
        raise PageNotFoundError("The node knows nobody of this feed id.", "See who is in the list of people.")
    return {"name": voice.conversation_with(feeds), "members": members}


def messages(voice: NodePort, conversation: str, *, before: int | None, limit: int) -> Shape:
    """Messages in the order in which they found their place, and, with the newest ones, those that wait for theirs.

    Raises PageNotFoundError.
    """
    if is_group(conversation):
        return _group_messages(voice, conversation, before, limit)
    catalog = voice.catalog
    found = catalog.conversation(conversation)
    if found is None:
        raise PageNotFoundError("There is no such conversation here.", "See the list of conversations.")
    known = people_of(voice)
    # One more than is shown tells whether there are more, and what the first one shown stands behind.
    rows = list(catalog.messages(conversation, before=before, limit=limit + 1))
    more = len(rows) > limit
    above = rows.pop(0) if more else None
    waiting = catalog.waiting(conversation, limits.WAITING_MAX) if before is None else ()
    return {
        **conversation_shape(found, known),
        "rows": _with_quotes(voice, rows, known, above),
        "more": more,
        "waiting": [message_shape(row, known) for row in waiting if not known.blocked(row.feed)],
    }


def _group_messages(voice: NodePort, group: str, before: int | None, limit: int) -> Shape:
    """The same of a private group, where nothing that waits is known."""
    found = next((room for room in voice.groups() or () if room.name == group), None)
    if found is None:
        raise PageNotFoundError(
            "There is no such group here, or the node's daemon is not running.",
            "See the list of conversations.",
        )
    known = people_of(voice)
    rows = list(voice.group_messages(group, before=before, limit=limit + 1))
    more = len(rows) > limit
    above = rows.pop(0) if more else None
    return {
        **conversation_shape(found, known),
        "rows": _with_quotes(voice, rows, known, above),
        "more": more,
        "waiting": [],
    }


def _with_quotes(
    voice: NodePort, rows: Sequence[MessageRow], known: PeopleIndex, above: MessageRow | None
) -> list[Shape]:
    """Messages, each with what it answers, unless that is what stands right above it."""
    here = {row.id: row for row in rows}
    shapes = []
    for row in rows:
        if known.blocked(row.feed):
            continue
        shape = message_shape(row, known)
        if above is None or above.id not in row.previous:
            quoted = [
                here.get(id_) or voice.catalog.message(id_) for id_ in row.previous[: limits.QUOTES_MAX]
            ]
            shape["answers"] = [
                quote_shape(one, known) for one in quoted if one and not known.blocked(one.feed)
            ]
        else:
            shape["answers"] = []
        shapes.append(shape)
        above = row
    return shapes


def say(voice: NodePort, saying: OutgoingMessage) -> Shape:
    """Publish; return what was published and where it can be read."""
    # What is said follows all that is held, not all that was held when somebody last looked.
    voice.catch_up()
    conversation = saying.conversation
    if conversation is None:
        row = voice.say_private(saying.text, saying.recipients, saying.reply_to)
        voice.catch_up()
        conversation = voice.conversation_with(saying.recipients)
    else:
        row = voice.say(saying.text, conversation, saying.reply_to)
    return {"id": row.id, "seq": row.seq, "packets": 1 + row.chunks, "conversation": conversation}


def draft_size(voice: NodePort, saying: OutgoingMessage) -> int:
    """Bytes of content that would be published now."""
    if saying.conversation is None:
        return len(voice.draft_private(saying.text, saying.recipients, saying.reply_to))
    if is_group(saying.conversation):
        return len(saying.text.encode()) + limits.GROUP_MESSAGE_EXTRA
    return len(voice.draft(saying.text, saying.conversation, saying.reply_to))


def receipts(voice: NodePort, rows: Sequence[ReceiptRow]) -> Shape:
    """Who has our own messages, by their ids."""
    known = people_of(voice)
    return {"receipts": {row.id: receipt_shape(row, known) for row in rows}}


def people_of(voice: NodePort) -> PeopleIndex:
    """Everybody, and what they are called."""
    return PeopleIndex({row.feed: row for row in voice.catalog.people()}, voice.names())
