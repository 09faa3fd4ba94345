"""Rows of the catalog and of the daemon as the page's JSON. Texts are unescaped: the page shows them as text, not
markup."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinyssb_node.catalog.rows import (
    ArrivingRow,
    ConversationRow,
    MessageKind,
    MessageRow,
    PersonRow,
    is_group,
)
from tinyssb_node.control.group_rows import GroupEpochRow, GroupShownRow
from tinyssb_node.control.rows import AirtimeRow, FaceRow, NeighbourRow, NetworkRow, ReceiptRow, StatusRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.chatlines import is_late
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.disk_words import biggest_words, use_words
from tinyssb_node.screens.estimate import AirtimeCost
from tinyssb_node.screens.follow_words import pending_count
from tinyssb_node.screens.group_conversations import (
    GroupConversation,
    GroupMessageView,
    arriving_in_words,
    called,
    held_in_words,
    invited_in_words,
    standing_note,
)
from tinyssb_node.screens.group_details import (
    access_of,
    fork,
    limits_of_access,
    next_tasks,
    review_lines,
    spent,
    standing,
)
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.limit_words import UNDECIDED, recent, what_to_do, what_was_refused
from tinyssb_node.screens.limits import TITLE_CELLS
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import apart
from tinyssb_node.web import limits

Shape = dict[str, object]


@dataclass(frozen=True, slots=True)
class PeopleIndex:
    """All people and their names."""

    rows: Mapping[FeedId, PersonRow]
    names: DisplayNames
    guest: bool = False
    """The reader is a guest: their own messages are those of the row that is `own`."""

    def blocked(self, feed: FeedId) -> bool:
        """Return whether this feed is hidden."""
        return feed in self.rows and self.rows[feed].blocked


def author_shape(feed: FeedId, people: PeopleIndex) -> Shape:
    """Return an author: anyone may take any name, so the page shows digits of the feed beside names that our user did
    not give."""
    row = people.rows.get(feed)
    return {
        "feed": feed.hex(),
        "name": _cut(people.names.name(feed)),
        "alone": people.names.stands_alone(feed),
        "own": row is not None and row.own,
    }


def message_shape(row: MessageRow, people: PeopleIndex) -> Shape:
    """Return one message."""
    return {
        "id": row.id.hex(),
        "seq": row.seq,
        "author": author_shape(row.feed, people),
        "own": _own(row.feed, people) if people.guest else row.own,
        "kind": row.kind.value,
        "text": row.text,
        "cut": row.cut,
        "committed_us": row.committed_us,
        "said_us": row.said_us,
        "written_us": row.written_us,
        "doubtful": row.doubtful,
        "late": is_late(row),
        "placed": row.placed,
        "order": row.order,
        "missing": len(row.missing),
        "older_missing": row.older_missing,
        "voice_size": row.voice_size,
        "voice": voice_shape(row, people) if row.voice_size else None,
        "size": row.size,
        "packets": 1 + row.chunks,
        "chunks": row.chunks,
        "chunks_held": row.chunks_held,
        "private": row.private,
        "file": file_shape(row, people) if row.kind is MessageKind.FILE else None,
        "held": held_in_words(row, people.names),
        "reply_to": row.reply_to.hex() if isinstance(row, GroupMessageView) and row.reply_to else None,
    }


PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Types of files that the page shows as pictures: none that could carry a script."""


def file_shape(row: MessageRow, people: PeopleIndex) -> Shape | None:
    """Return a file's name, type and size, and the address of its bytes; None if that is unknown."""
    try:
        found = json.loads(row.text)
        name, type_, size = str(found["name"]), str(found["type"]), int(found["size"])
    except (ValueError, KeyError, TypeError):
        return None
    group = row.conversation or ""
    of_group = f"/api/group/file?group={group}&id={row.id.hex()}"
    of_all = "/api/guest/file" if people.guest else "/api/file"
    return {
        "name": name,
        "size": size,
        "note": str(found.get("note", "")),
        "picture": type_ in PICTURES,
        "href": of_group if is_group(group) else f"{of_all}?id={row.id.hex()}",
    }


def voice_shape(row: MessageRow, people: PeopleIndex) -> Shape:
    """Return the addresses of the recorded voice of a message: as sound, and as a file."""
    base = "/api/guest" if people.guest else "/api"
    return {name: f"{base}/{path}?id={row.id.hex()}" for name, path in (("href", "voice"), ("save", "file"))}


def arriving_shape(row: ArrivingRow, people: PeopleIndex) -> Shape:
    """Return a message or a file of which packets are missing."""
    return {
        "id": row.id.hex(),
        "author": author_shape(row.feed, people),
        "file": row.is_file,
        "name": _cut(row.name),
        "size": row.size,
        "chunks": row.chunks,
        "chunks_held": row.chunks_held,
    }


def quote_shape(row: MessageRow, people: PeopleIndex) -> Shape:
    """Return a message as shown above its answer."""
    return {
        "id": row.id.hex(),
        "author": author_shape(row.feed, people),
        "text": row.text[:160],  # two lines of a phone
        "kind": row.kind.value,
        "file": file_shape(row, people) if row.kind is MessageKind.FILE else None,
    }


def conversation_shape(row: ConversationRow, people: PeopleIndex) -> Shape:
    """Return one conversation, and its last message."""
    return {
        "name": row.name,
        "title": group_title(row) if isinstance(row, GroupConversation) else None,
        "note": row.note if isinstance(row, GroupConversation) else "",
        "muted": isinstance(row, GroupConversation) and row.muted,
        "history_missing": isinstance(row, GroupConversation) and row.history_missing,
        "alert": row.alert if isinstance(row, GroupConversation) else "",
        "members": [author_shape(feed, people) for feed in row.members if not _own(feed, people)],
        "messages": row.messages,
        "last": quote_shape(row.last, people) if row.last else None,
        "last_us": row.last.committed_us if row.last else None,
    }


def _cut(name: str | None) -> str | None:
    return None if name is None else name[: limits.NAME_MAX]


def group_title(room: GroupConversation) -> str:
    """Return the title of a group, which cannot look like that of several people."""
    return called(apart(room.title or "", TITLE_CELLS - 2), room.name)


def group_shape(row: GroupShownRow, epochs: Sequence[GroupEpochRow], people: PeopleIndex) -> Shape:
    """Return a group, and who can read which part of it."""
    names = people.names
    return {
        "name": row.group,
        "title": called(apart(row.name or "", TITLE_CELLS - 2), row.group),
        "state": row.state,
        "note": standing_note(row.state),
        "standing": standing(row),
        "readers": [
            {
                **author_shape(one.feed, people),
                "current": one.current,
                "reads": one.reads,
                "reason": one.reason,
            }
            for one in access_of(row, epochs, names)
        ],
        "kept": limits_of_access(row),
        "reviews": [
            {"fork": one.fork, "rejected": one.rejected, "lines": list(review_lines(one, names))}
            for one in row.reviews
        ],
        "forks": [fork(one) for one in row.forks],
        "muted": row.muted,
        "tasks": [*_budget_lines(row), *next_tasks(row.tasks, names)],
        "problem": row.problem,
        "invitation": invited_in_words(row.invitation, names) if row.invitation else "",
        "arriving": arriving_in_words(row.arriving, names) if row.arriving else "",
    }


def _budget_lines(row: GroupShownRow) -> list[str]:
    return [] if row.budget is None else [t("By itself {spent}.", spent=spent(row.budget))]


def _own(feed: FeedId, people: PeopleIndex) -> bool:
    return feed in people.rows and people.rows[feed].own


def person_shape(row: PersonRow, people: PeopleIndex) -> Shape:
    """Return one person."""
    return {
        **author_shape(row.feed, people),
        "said": _cut(row.said),
        "given": _cut(row.alias) if people.names.is_given(row.feed) else None,
        "entries": row.entries,
        "last_us": row.last_us,
        "blocked": row.blocked,
        "blocked_by": [author_shape(feed, people) for feed in row.blocked_by],
        "wanted": row.wanted,
        "pending": row.pending,
    }


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """Replies of the daemon about itself."""

    status: StatusRow
    faces: Sequence[FaceRow]
    airtime: Sequence[AirtimeRow]
    neighbours: Sequence[NeighbourRow]


def node_shape(found: NodeFigures) -> Shape:
    """Return the node's status."""
    status = found.status
    return {
        "name": status.name,
        "feed": status.feed,
        "version": status.version,
        "uptime_us": status.uptime_us,
        "read_only": status.read_only,
        "feeds": status.feeds,
        "entries": status.entries,
        "endpoints": [row.fields() for row in status.endpoints],
        "pending": [
            t("{pending} (see People)", pending=pending_count(network.pending))
            for network in status.networks
            if network.pending
        ],
        "limits": [
            {"what": what_was_refused(row), "todo": what_to_do(row)}
            for network in status.networks
            for row in recent(network.refusals, status.uptime_us)
            if row.rule not in UNDECIDED
        ],
        "disk": [disk_shape(network) for network in status.networks if network.disk is not None],
        "links": [row.fields() for row in found.faces],
        "neighbours": [row.fields() for row in found.neighbours],
        "airtime": [row.fields() for row in found.airtime],
    }


def disk_shape(network: NetworkRow) -> Shape:
    """Return the room that the feeds of a network take, in words."""
    row = network.disk
    assert row is not None
    return {
        "network": network.name,
        "use": use_words(row),
        "biggest": biggest_words(row),
    }


def alert_shape(row: CheckResult) -> Shape:
    """Return what is wrong with the node, and what to do about it."""
    return {"check": row.check, "about": row.about, "found": row.found, "advice": row.advice}


def cost_shape(packets: int, costs: Iterable[AirtimeCost]) -> Shape:
    """Return what a message would cost, on each airtime account."""
    shown = [{"air_us": cost.air_us, "share": cost.share, "wait_us": cost.wait_us} for cost in costs]
    return {"packets": packets, "costs": shown}


def receipt_shape(row: ReceiptRow, people: PeopleIndex) -> Shape:
    """Return how many people are known to have a message of ours, and which of those expected do not."""
    missing = [FeedId.from_hex(feed) for feed in row.missing[:8]]  # more fit into no line
    return {
        "held": row.held,
        "inferred": row.inferred,
        "expected": row.expected,
        "proven": row.proven,
        "committed_us": row.committed_us,
        "missing": [author_shape(feed, people) for feed in missing],
    }


def holder_shapes(row: ReceiptRow, people: PeopleIndex) -> list[Shape]:
    """Return who has a message of ours, and who of those expected does not, or never confirms anything."""

    def shape(feed: str | None, state: str, face: str | None = None, since_us: int | None = None) -> Shape:
        author = None if feed is None else author_shape(FeedId.from_hex(feed), people)
        return {"author": author, "state": state, "face": face, "since_us": since_us}

    return [
        *(shape(one.feed, "has", one.face, one.since_us) for one in row.holders),
        *(shape(feed, "lacks") for feed in row.missing),
        *(shape(feed, "silent") for feed in row.silent),
    ]
