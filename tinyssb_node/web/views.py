"""Views of the page, computed from one node session by its thread."""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageKind, MessageRow, is_group, is_news
from tinyssb_node.control.rows import ReceiptRow
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.screens import group_files
from tinyssb_node.screens.chatlines import is_answer
from tinyssb_node.screens.conversation_files import ConversationFileDraft
from tinyssb_node.screens.conversation_threads import find_thread, is_adjacent
from tinyssb_node.screens.estimate import estimate
from tinyssb_node.screens.gaps import gap_in_words, in_place
from tinyssb_node.screens.group_changes import GroupChange, done_in_words, perform, preview
from tinyssb_node.screens.group_conversations import GroupConversation, lacking_in_words
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.inbox import inbox
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.limits import POST_PACKETS_MAX, UNREAD_MAX, WAITING_MAX
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.readings import series_of
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.threads import ADJACENT, ThreadMessage, thread_notes
from tinyssb_node.web import limits
from tinyssb_node.web.errors import CostlyMessageError, PageNotFoundError
from tinyssb_node.web.shapes import (
    PeopleIndex,
    Shape,
    arriving_shape,
    author_shape,
    conversation_shape,
    cost_shape,
    group_shape,
    group_title,
    holder_shapes,
    message_shape,
    person_shape,
    quote_shape,
    receipt_shape,
)

_PEOPLE_MAX: Final = 255  # in an answer: as many as a set has feeds


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message that a page requests to publish."""

    text: str
    conversation: str | None
    """`PUBLIC` or the name of a private one; None: with *recipients*."""
    recipients: tuple[FeedId, ...]
    """Its readers, if this conversation has no messages yet."""
    reply_to: MessageId | None
    once: str
    """The page's own id for it: the same id again is the same message, whose reply was lost."""
    agreed: bool = False
    """The user saw the cost of a big message, and wants to publish it."""
    voice: bytes | None = None
    """Recorded voice, a file of Codec 2; then the text may be empty."""


def conversations(node: NodeSession) -> Shape:
    """Return all conversations, the most recent first, then private groups."""
    known = people_of(node)
    groups = list(node.groups() or ())
    # Strangers can begin any number of conversations; groups are only our own.
    others = node.catalog.conversations()[: max(0, _PEOPLE_MAX - len(groups))]
    unread = {row.conversation.name: row.unread for row in inbox(node, others, groups)}
    rows = [*others, *groups]
    return {"rows": [{**conversation_shape(row, known), "unread": unread.get(row.name, 0)} for row in rows]}


def mark_read(node: NodeSession, conversation: str, placed: int) -> Shape:
    """Mark a conversation as read up to the arrival *placed*, on all screens of the node."""
    node.mark_read({conversation: placed})
    return {"conversation": conversation, "placed": placed}


def people(node: NodeSession) -> Shape:
    """Return all people: us first, the most recently active next, blocked people last."""
    known = people_of(node)
    rows = sorted(
        known.rows.values(), key=lambda row: (not row.own, row.blocked, -(row.last_us or 0), row.feed)
    )
    return {"rows": [person_shape(row, known) for row in rows[:_PEOPLE_MAX]], "all": len(rows)}


def readings(node: NodeSession) -> Shape:
    """Return the series of numbers in public data, for charts."""
    found = series_of(node.catalog.data())
    if not found:
        return {"series": []}
    known = people_of(node)
    return {
        "series": [
            {"author": author_shape(one.feed, known), "label": one.label[:80], "points": one.points}
            for one in found
        ]
    }


def subjects(node: NodeSession) -> Shape:
    """Return the pages of optional subjects, such as PZP: text in lines."""
    return {"pages": [{"title": page.title, "lines": list(page.lines)} for page in node.subject_pages()]}


def find_conversation(node: NodeSession, feeds: Sequence[FeedId]) -> Shape:
    """Return the conversation with exactly these people, and their names."""
    known = people_of(node)
    members = [author_shape(feed, known) for feed in feeds if feed in known.rows]
    if len(members) != len(feeds):
        raise PageNotFoundError(
            "The node does not know this feed id.", "Choose a person from the list of people."
        )
    return {"name": node.conversation_with(feeds), "members": members}


def public_conversation(node: NodeSession, reader: FeedId | None) -> Shape:
    """Return the public conversation as a guest sees it, who writes the feed *reader*."""
    found = node.catalog.conversation(PUBLIC)
    rows = [] if found is None else [conversation_shape(found, public_people(node, reader))]
    return {"rows": [{**row, "unread": 0} for row in rows]}


def public_messages(node: NodeSession, reader: FeedId | None, *, before: str | None, limit: int) -> Shape:
    """Return public messages as a guest sees them. Raises PageNotFoundError."""
    known = public_people(node, reader)
    return {**messages(node, PUBLIC, before=before, limit=limit, known=known), "older": []}


def public_thread(node: NodeSession, reader: FeedId | None, message: MessageId) -> Shape:
    """Return the thread of a public message as a guest sees it. Raises ProblemError."""
    return thread(node, PUBLIC, message, public_people(node, reader))


def public_people(node: NodeSession, reader: FeedId | None) -> PeopleIndex:
    """Return all people by the names that they give themselves, and *reader* as the person who looks: what our user
    calls people is not for guests."""
    rows = [replace(row, own=row.feed == reader, alias=row.said) for row in node.catalog.people()]
    return PeopleIndex({row.feed: row for row in rows}, DisplayNames(rows), guest=True)


def people_for_guests(node: NodeSession, reader: FeedId | None) -> Shape:
    """Return all people who are shown as a guest sees them, and whether short private texts can be written to each."""
    known = public_people(node, reader)
    rows = sorted(known.rows.values(), key=lambda row: (not row.own, -(row.last_us or 0), row.feed))
    return {
        "rows": [
            {**author_shape(row.feed, known), "private": node.catalog.dialect(row.feed) is Dialect.SPEC}
            for row in rows
            if row.entries and not row.blocked
        ][:_PEOPLE_MAX]
    }


def sealed(node: NodeSession, after: int, again: Sequence[int]) -> Shape:
    """Return private messages of all people, unopened: only the phone of a guest has the key that opens theirs."""
    found = node.catalog.sealed(after, again, limit=limits.SEALED_ROWS, size_max=limits.SEALED_SIZE_MAX)
    known = people_of(node)
    rows = [
        {
            "arrival": row.arrival,
            "id": row.id.hex(),
            "feed": row.feed.hex(),
            "seq": row.seq,
            "committed_us": row.committed_us,
            "content": b64encode(row.content).decode(),
        }
        for row in found
        if row.content and not known.blocked(row.feed)
    ]
    lacking = [row.arrival for row in found if row.content is None]
    last = max((row.arrival for row in found), default=after)
    return {
        "rows": rows,
        "lacking": lacking,
        "after": max(after, last),
        "more": len(found) == limits.SEALED_ROWS,
    }


def messages(
    node: NodeSession,
    conversation: str,
    *,
    before: str | None,
    limit: int,
    known: PeopleIndex | None = None,
) -> Shape:
    """Return messages in their order and, with the newest ones, those that wait. *known*: the names of people.

    Raises PageNotFoundError.
    """
    found = _conversation(node, conversation)
    known, queries = known or people_of(node), node.queries(conversation)
    # One more than is shown: it tells whether there are more, and what stands above the first one.
    rows = list(queries.messages(conversation, before=before, limit=limit + 1))
    more = len(rows) > limit
    above = rows.pop(0) if more else None
    waiting = queries.waiting(conversation, WAITING_MAX) if before is None else ()
    shown = in_place(rows, waiting)
    # Nobody knows of something incomplete to which conversation it belongs.
    arriving = node.catalog.arriving() if before is None and conversation == PUBLIC else ()
    lacking = found.lacking if isinstance(found, GroupConversation) and before is None else 0
    return {
        **conversation_shape(found, known),
        "rows": _with_quotes(node, rows, known, above),
        "more": more,
        "older": _older(node, conversation) if before is None else [],
        "arriving": [arriving_shape(row, known) for row in arriving],
        "lacking": lacking_in_words(lacking, shown),
        "waiting": [
            {
                **message_shape(one.row, known),
                "order": one.position,
                "gap": None if one.gap is None else gap_in_words(one.gap, known.names),
            }
            for one in shown
            if one.row.placed is None and not known.blocked(one.row.feed)
        ],
    }


def _conversation(node: NodeSession, name: str) -> ConversationRow:
    """Return a conversation, or a group. Raises PageNotFoundError."""
    found: ConversationRow | None
    if is_group(name):
        found = next((room for room in node.groups() or () if room.name == name), None)
        what = "This group does not exist here, or the node's daemon is not running."
    else:
        found, what = node.catalog.conversation(name), "This conversation does not exist here."
    if found is None:
        raise PageNotFoundError(what, "Choose one from the list of conversations.")
    return found


def _older(node: NodeSession, conversation: str) -> list[Shape]:
    """Return the unread messages that come before messages that the user has seen."""
    mark, queries = node.read_marks().get(conversation, 0), node.queries(conversation)
    count = queries.unread(conversation, mark, UNREAD_MAX).older if mark else 0
    if not count:
        return []
    rows = [row for row in queries.arrived(conversation, mark, UNREAD_MAX) if is_news(row)]
    # What comes before a message comes before all that come after it.
    return [
        {"id": row.id.hex(), "order": row.order} for row in sorted(rows, key=lambda row: row.order)[:count]
    ]


def thread(
    node: NodeSession, conversation: str, message: MessageId, known: PeopleIndex | None = None
) -> Shape:
    """Return a message with what it answers and all answers, each with its depth, and what is missing, in words.
    *known*: the names of people. Raises ProblemError, and as the client does."""
    found, known = _conversation(node, conversation), known or people_of(node)
    read = find_thread(node, conversation, message)
    return {
        **conversation_shape(found, known),
        "rows": _thread_rows(read.messages, known),
        "notes": thread_notes(read, known.names),
    }


def _thread_rows(messages: Sequence[ThreadMessage], known: PeopleIndex) -> list[Shape]:
    """Return messages of a thread, each with the one that it answers, unless that stands right above it."""
    shapes: list[Shape] = []
    path: list[MessageRow] = []
    above: MessageRow | None = None
    for one in messages:
        del path[one.depth :]
        answered = path[-1] if path else None
        path.append(one.row)
        if known.blocked(one.row.feed):
            continue
        quoted = answered is not None and answered is not above and not known.blocked(answered.feed)
        shapes.append(
            {
                **message_shape(one.row, known),
                "depth": one.depth,
                "answers": [quote_shape(answered, known)] if quoted and answered else [],
                "remark": t(ADJACENT) if one.adjacent else "",
                "gap": None if one.gap is None else gap_in_words(one.gap, known.names),
            }
        )
        above = one.row
    return shapes


def search(node: NodeSession, words: str) -> Shape:
    """Return messages with all these words, each with its conversation, and whether groups were searched."""
    found, groups = node.search(words, limits.ROWS)
    known = people_of(node)
    titles = {room.name: group_title(room) for room in node.groups() or ()}
    rows = []
    for row in found:
        if known.blocked(row.feed) or row.conversation is None:
            continue
        name = row.conversation
        usual = t("Public") if name == PUBLIC else t("Private conversation")
        where = f"/t/{name}/{row.id.hex()}"
        rows.append({**message_shape(row, known), "title": titles.get(name, usual), "where": where})
    return {"rows": rows, "groups": groups}


def _with_quotes(
    node: NodeSession, rows: Sequence[MessageRow], known: PeopleIndex, above: MessageRow | None
) -> list[Shape]:
    """Return messages, each with those it answers, unless these stand right above it."""
    here = {row.id: row for row in rows}
    shapes = []
    for row in rows:
        if known.blocked(row.feed):
            continue
        shape = message_shape(row, known)
        if is_answer(row, None if above is None else above.id):
            merges = above is None or above.id not in row.previous
            named = row.previous[: 3 if merges else 1]
            quoted = [here.get(id_) or node.catalog.message(id_) for id_ in named]
            if quoted[0] is not None and not is_adjacent(quoted[0], above):
                shape["reply_to"] = quoted[0].id.hex()
            shape["answers"] = [
                quote_shape(one, known) for one in quoted if one and not known.blocked(one.feed)
            ]
        else:
            shape["answers"] = []
        shapes.append(shape)
        if row.kind is not MessageKind.FILE:  # which texts do not follow
            above = row
    return shapes


def say(node: NodeSession, message: OutgoingMessage) -> Shape:
    """Publish a message; return its entry and its conversation. Raises CostlyMessageError."""
    # The message follows all messages stored now, not only those known at the last update.
    node.catch_up()
    conversation = message.conversation
    if not message.agreed and (cost := node.cost_question(draft_packets(node, message))):
        raise CostlyMessageError(" ".join(f"{line.rstrip('.')}." for line in cost))
    if conversation is None:
        row = node.say_private(message.text, message.recipients, message.reply_to, message.voice)
        node.catch_up()
        conversation = node.conversation_with(message.recipients)
    else:
        row = node.say(message.text, conversation, message.reply_to, voice=message.voice)
    return {"id": row.id, "seq": row.seq, "packets": 1 + row.chunks, "conversation": conversation}


def draft_packets(node: NodeSession, message: OutgoingMessage) -> int:
    """Return the packets that a message would take now."""
    recipients = message.recipients if message.conversation is None else None
    return node.post_packets(
        message.text, message.conversation or PUBLIC, recipients, message.reply_to, voice=message.voice
    )


def group(node: NodeSession, root: str) -> Shape:
    """Return a group: its members, who can read what since when, and what the node will do. Raises as the client
    does."""
    listing = node.client.group_show(root)
    epochs = list(listing)
    return group_shape(listing.result, epochs, people_of(node))


def preview_group(node: NodeSession, change: GroupChange) -> Shape:
    """Return the cost and the limits of a change of a group, in lines. Raises as the client does."""
    return {"lines": preview(node.client, change, node.names())}


def change_group(node: NodeSession, change: GroupChange) -> Shape:
    """Make a change of a group. Raises as the client does."""
    row = perform(node.client, change)
    return {"group": row.group, "done": done_in_words(change, row, node.names())}


def attach_cost(node: NodeSession, draft: GroupFileDraft) -> Shape:
    """Return what a file in a group would cost. Raises as the client does."""
    client = node.client
    cost = draft.cost(client)
    costs = estimate(cost.packets, list(client.faces()), list(client.airtime()))
    return {**cost_shape(cost.packets, costs), "costly": group_files.is_costly(cost)}


def attach(node: NodeSession, draft: GroupFileDraft, *, agreed: bool) -> Shape:
    """Publish a file in a group. Raises CostlyMessageError, and as the client does."""
    if not agreed:
        cost = draft.cost(node.client)
        if group_files.is_costly(cost):
            raise CostlyMessageError(" ".join(group_files.preview(node.client, draft, cost)))
    row = draft.publish(node.client)
    return {"id": row.entries[-1].id, "packets": row.packets, "conversation": row.group}


def file_cost(node: NodeSession, draft: ConversationFileDraft) -> Shape:
    """Return what a file in a conversation would cost. Raises as the client does."""
    packets = draft.packets(node)
    costs = estimate(packets, list(node.client.faces()), list(node.client.airtime()))
    return {**cost_shape(packets, costs), "costly": packets > POST_PACKETS_MAX}


def publish_file(node: NodeSession, draft: ConversationFileDraft, *, agreed: bool) -> Shape:
    """Publish a file in a conversation. Raises CostlyMessageError, and as the client does."""
    if not agreed and (question := draft.question(node)):
        raise CostlyMessageError(" ".join(question))
    row = draft.publish(node)
    return {"id": row.id, "packets": 1 + row.chunks, "conversation": draft.conversation}


def receipts(node: NodeSession, rows: Sequence[ReceiptRow]) -> Shape:
    """Return the receipts of our own messages, by their ids."""
    known = people_of(node)
    return {"receipts": {row.id: receipt_shape(row, known) for row in rows}}


def receipt(node: NodeSession, rows: Sequence[ReceiptRow], message: str) -> Shape:
    """Return which people and nodes have a message of ours. Raises PageNotFoundError."""
    row = next((one for one in rows if one.id == message), None)
    if row is None:
        raise PageNotFoundError(
            "The page shows who has the latest messages only.", "On the node: `tinyssb receipts`."
        )
    return {"rows": holder_shapes(row, people_of(node))[:_PEOPLE_MAX]}


def people_of(node: NodeSession) -> PeopleIndex:
    """Return all people and their names."""
    return PeopleIndex({row.feed: row for row in node.catalog.people()}, node.names())
