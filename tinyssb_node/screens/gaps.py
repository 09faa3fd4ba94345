"""Messages that wait for others, at their place among those in order, and what is missing before them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.content.time_order import claim_of, order_key, read_order_key
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.languages import tn

if TYPE_CHECKING:
    from tinyssb_node.screens.people import DisplayNames


_MINUTE_US: Final = 60_000_000


@dataclass(frozen=True, slots=True)
class MessageGap:
    """Messages that are known to exist and are not stored here."""

    count: int
    author: FeedId | None
    """None: not known, since a message names its predecessors by id alone."""


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message in a list, with what is missing right before it."""

    row: MessageRow
    position: str
    """Compares as `MessageRow.order` does; of a message that waits, a place by its author's clock."""
    gap: MessageGap | None = None


def in_place(rows: Sequence[MessageRow], waiting: Sequence[MessageRow]) -> list[ShownMessage]:
    """Return placed *rows*, in their order, and messages *waiting* among them: each behind the messages that it names
    and its author's earlier ones, and otherwise by its author's clock, or without one when it
    arrived."""
    waiting = sorted(waiting, key=lambda one: (one.feed, one.seq))
    at_us = _times(rows, waiting)
    placed = [ShownMessage(row, row.order) for row in rows]
    between = [ShownMessage(row, order_key(at_us[row.id], row.id), gap) for row, gap in _with_gaps(waiting)]
    between.sort(key=lambda one: one.position)
    return _unrepeated([*merge(placed, between, key=lambda one: one.position)])


def _times(rows: Sequence[MessageRow], waiting: Sequence[MessageRow]) -> dict[MessageId, int]:
    """Return the effective times of *rows*, and times for messages *waiting*, sorted by feed and entry."""
    at_us = {row.id: (read_order_key(row.order) or (0, b""))[0] for row in rows}
    before = {row.id: row.previous for row in waiting}
    authors = {row.feed for row in waiting}
    entries = sorted((row.feed, row.seq, row.id) for row in [*rows, *waiting] if row.feed in authors)
    for one, next_ in pairwise(entries):
        if one[0] == next_[0] and next_[2] in before:
            before[next_[2]] = (*before[next_[2]], one[2])
    for row in waiting:
        claimed = claim_of(row.said_us)
        at_us[row.id] = row.committed_us if claimed is None else _end_of_minute(claimed)
    # Ids are hashes of what they name: no message is before itself, and as many rounds as messages are enough.
    for _ in waiting:
        for row in waiting:
            at_us[row.id] = max(at_us[row.id], *(at_us.get(id_, -1) + 1 for id_ in before[row.id]), 0)
    return at_us


def _end_of_minute(claimed_us: int) -> int:
    """Return a time, or the end of the minute that it states: what waits knows more than what came before it."""
    return claimed_us if claimed_us % _MINUTE_US else claimed_us + _MINUTE_US - 1


def _with_gaps(waiting: Sequence[MessageRow]) -> Iterator[tuple[MessageRow, MessageGap | None]]:
    """Yield messages, sorted by feed and entry, each with those of its author that are missing right before it."""
    feed: FeedId | None = None
    counted = 0
    for row in waiting:
        counted = counted if row.feed == feed else 0
        feed = row.feed
        lacking = row.older_missing - counted
        counted = max(counted, row.older_missing)
        yield row, MessageGap(lacking, row.feed) if lacking > 0 else None


def _unrepeated(shown: Sequence[ShownMessage]) -> list[ShownMessage]:
    """Return messages with the predecessors that none of them is, each counted where it is first missed."""
    missed: set[MessageId] = {one.row.id for one in shown}
    found = []
    for one in shown:
        lacking = {id_ for id_ in one.row.missing if id_ not in missed}
        missed |= lacking
        gap = MessageGap(len(lacking), None) if lacking and one.gap is None else one.gap
        found.append(ShownMessage(one.row, one.position, gap))
    return found


def gap_in_words(gap: MessageGap, names: DisplayNames) -> str:
    """Return what is missing in words, safe to show."""
    if gap.author is None:
        return tn(gap.count, "{n} message missing", "{n} messages missing")
    # Entries are counted, and not all of them are messages.
    author = names.shown(gap.author)
    return tn(
        gap.count, "{n} message of {author} missing", "up to {n} messages of {author} missing", author=author
    )
