"""The placement of messages in their tangles, in SQL: in as many steps as they have predecessors, in any order.

A message is placed when all its predecessors are placed in the same tangle. Until then it waits, on the disk. Nothing
here is recursive: a chain that waited for its beginning may have any length.
"""

import sqlite3
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from tinyssb_node import limits
from tinyssb_node.catalog.entry_meaning import CHAT
from tinyssb_node.catalog.tie_numbers import FURTHER, by_arrival, tables_of, update_of
from tinyssb_node.content.short_text import TIE_SIZE, brief_tie, is_brief, tie_range
from tinyssb_node.content.time_order import DatedMessage, append_time, is_contradicted, order_times

_ID: Final = limits.MESSAGE_ID_SIZE
_STANDS: Final = (
    "SELECT number, space, root, followed, order_us, id FROM {table} "
    "WHERE id BETWEEN ? AND ? AND placed IS NOT NULL LIMIT 64"
)
_LAST: Final = (
    "SELECT seq, order_us FROM {table} WHERE root = ? AND feed = ? AND space = ? AND placed IS NOT NULL "
    "ORDER BY seq DESC LIMIT 1"
)
_WAITING: Final = (
    "SELECT waits.previous, messages.number, id, feed, seq, said_us, space, root, messages.previous, lacking "
    "FROM waits JOIN messages USING (number) WHERE waits.previous IN (?1, ?2) UNION ALL "
    "SELECT waits.previous, ties.number, id, feed, seq, said_us, space, root, ties.previous, lacking "
    "FROM waits JOIN further_ties AS ties USING (number) WHERE waits.previous IN (?1, ?2)"
)
_ADD_FURTHER: Final = f"INSERT OR REPLACE INTO {FURTHER} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - our words
UNSETTLE: Final = (
    "INSERT INTO orders VALUES (?, ?, 1, 0) ON CONFLICT (space, root) DO UPDATE SET unsettled = 1"
)
"""Notes that messages of a tangle, by space and root, may have another effective time now; see `settle_orders`."""
_PLACED: Final = (
    "SELECT number, id, feed, seq, said_us, previous, order_us FROM {table} "
    "WHERE root = ? AND space = ? AND placed IS NOT NULL"
)


@dataclass(frozen=True, slots=True)
class TangleMembership:
    """The tangle of a message, and its predecessors."""

    number: int
    """Number of the message; of a further tangle that of ``further_number``."""
    id: bytes
    feed: int
    """Number of its author."""
    seq: int
    said_us: int | None
    """Its author's clock."""
    space: str
    root: bytes | None
    """None: that of its predecessors."""
    previous: bytes
    """Ids, concatenated, each once; brief ties among them (``content.short_text``)."""


@dataclass(frozen=True, slots=True)
class TanglePosition:
    """The position of a message."""

    lacking: int
    """Number of predecessors that are not placed in its tangle yet."""
    placed: int | None
    """Its number; None: it is not placed."""
    root: bytes | None
    order_us: int | None = None
    """Its effective time; None: it is not placed."""
    previous: bytes = b""
    """Of a placed message: the ids of its predecessors, those meant by brief ties among them."""


NOWHERE: Final = TanglePosition(0, None, None)
"""The position of a message that is in no tangle."""


@dataclass(slots=True)
class TanglePlacer:
    """The placement of messages, within a transaction of the caller's; call ``finish`` before it ends."""

    connection: sqlite3.Connection
    placed: int
    """Number of placed messages."""
    _speakers: dict[tuple[bytes, int], tuple[int, int]] = field(default_factory=dict)
    """By conversation and author: new messages, and the number of the last one."""
    _contradicted: dict[tuple[str, bytes], bool] = field(default_factory=dict)
    """By space and root: whether a claim in the tangle is capped, as far as that was needed."""
    _unsettled: set[tuple[str, bytes]] = field(default_factory=set)
    """Tangles in which earlier messages may have another effective time now."""

    def place(self, tie: TangleMembership) -> TanglePosition:
        """Place a message if possible, else let it wait. The caller writes the row.

        Raises sqlite3.Error.
        """
        lacking, rows = [], []
        for one in split_ids(tie.previous):
            found = [
                row
                for table in tables_of(tie.space)
                for row in self.connection.execute(_STANDS.format(table=table), tie_range(one))
                if _same(row[1], row[2], tie)
            ]
            if not found:
                lacking.append((one, tie.number))
            elif len(found) == 1:  # a brief tie that fits several messages means none of them
                rows += found
        if lacking:
            self.connection.executemany("INSERT OR IGNORE INTO waits VALUES (?, ?)", lacking)
            return TanglePosition(len(lacking), None, tie.root)
        roots = {row[2] for row in rows}
        before_us = max((row[4] for row in rows), default=-1)
        tips = [row[0] for row in rows if not row[3]]
        root = tie.root
        if root is None:
            if len(roots) != 1:
                return NOWHERE  # its predecessors are in several tangles: it is in none
            root = roots.pop()
        for number in tips:
            self.connection.execute(update_of(number, "followed = 1"), (number,))
        self.placed += 1
        if tie.space == CHAT:
            count, _ = self._speakers.get((root, tie.feed), (0, 0))
            self._speakers[root, tie.feed] = (count + 1, self.placed)
        previous = b"".join(dict.fromkeys(row[5] for row in rows))
        self._note_brief_ties(tie, root, [row[5] for row in rows])
        return TanglePosition(0, self.placed, root, self._order_us(tie, root, before_us), previous)

    def _note_brief_ties(self, tie: TangleMembership, root: bytes, meant: Sequence[bytes]) -> None:
        """Note which messages the brief ties of a message mean; and if one of another message could mean this one,
        too, let it mean neither."""
        execute, short = self.connection.execute, tie.id[:TIE_SIZE]
        brief = {one[:TIE_SIZE] for one in split_ids(tie.previous) if is_brief(one)}
        rows = [(one[:TIE_SIZE], tie.number, one) for one in meant if one[:TIE_SIZE] in brief]
        self.connection.executemany("INSERT OR REPLACE INTO brief_ties VALUES (?, ?, ?)", rows)
        sql = (
            "SELECT number, brief_ties.id, messages.previous FROM brief_ties JOIN messages USING (number) "
            "WHERE tie = ? AND root = ? AND placed IS NOT NULL"
        )
        for number, id_, previous in execute(sql, (short, root)).fetchall():
            rest = b"".join(one for one in split_ids(previous) if one != id_)
            execute("UPDATE messages SET previous = ? WHERE number = ?", (rest, number))
            self._unsettled.add((CHAT, root))

    def _order_us(self, tie: TangleMembership, root: bytes, before_us: int) -> int:
        """Return the effective time of a message that is placed now; note if it changes that of others."""
        found_last = [
            self.connection.execute(_LAST.format(table=table), (root, tie.feed, tie.space)).fetchone()
            for table in tables_of(tie.space)
        ]
        last = max((row for row in found_last if row is not None), default=None)
        overtaken = last is not None and last[0] > tie.seq
        if last is not None and not overtaken:
            before_us = max(before_us, last[1])
        tangle = (tie.space, root)
        if tangle not in self._contradicted:
            row = self.connection.execute(
                "SELECT contradicted FROM orders WHERE space = ? AND root = ?", tangle
            ).fetchone()
            self._contradicted[tangle] = row is not None and bool(row[0])
        found = append_time(tie.said_us, before_us, contradicted=self._contradicted[tangle])
        if overtaken or not found.exact:
            self._unsettled.add(tangle)
        return found.order_us

    def unsettle(self, root: bytes) -> None:
        """Note that the claim of a placed message of the conversation *root* has changed."""
        self._unsettled.add((CHAT, root))

    def add_further(self, message: int, tie: TangleMembership) -> None:
        """Place *message* in a further tangle, or let it wait there; *tie* has a number of its own.

        Raises sqlite3.Error.
        """
        found = self.place(tie)
        row = (
            tie.number,
            message,
            tie.id,
            tie.feed,
            tie.seq,
            tie.said_us,
            tie.space,
            found.root,
            tie.previous if found.placed is None else found.previous,
            found.lacking,
            found.placed,
            found.order_us,
            0,
        )
        self.connection.execute(_ADD_FURTHER, row)
        if found.placed is not None and found.root is not None:
            self.release(tie, found.root)

    def release(self, tie: TangleMembership, root: bytes) -> None:
        """Place the messages that waited for *tie*, which is placed in the tangle *root*, and can be placed now.

        Raises sqlite3.Error.
        """
        ready = deque([(tie.id, tie.space, root)])
        while ready:
            for follower in list(self._released(*ready.popleft())):
                found = self.place(follower)
                if found.placed is not None and found.root is not None:
                    row = (found.placed, found.root, found.order_us, found.previous, follower.number)
                    sql = update_of(follower.number, "placed = ?, root = ?, order_us = ?, previous = ?")
                    self.connection.execute(sql, row)
                    ready.append((follower.id, follower.space, found.root))
                else:
                    sql = update_of(follower.number, "lacking = ?")
                    self.connection.execute(sql, (found.lacking, follower.number))

    def finish(self) -> None:
        """Write the sums. Raises sqlite3.Error."""
        self.connection.execute("UPDATE state SET placed = ?", (self.placed,))
        self.connection.executemany(
            "INSERT INTO speakers VALUES (?1, ?2, ?3, ?4) ON CONFLICT (root, feed) "
            "DO UPDATE SET messages = messages + ?3, placed = ?4",
            [(*who, *what) for who, what in self._speakers.items()],
        )
        self._speakers.clear()
        self.connection.executemany(UNSETTLE, list(self._unsettled))
        self._unsettled.clear()

    def _released(self, id_: bytes, space: str, root: bytes) -> Iterator[TangleMembership]:
        """Yield messages that waited only for *id_*, which is placed in the tangle *root* of *space*."""
        waiting = self.connection.execute(_WAITING, (id_, brief_tie(id_))).fetchall()
        for awaited, *values, lacking in sorted(waiting, key=lambda row: by_arrival(row[1])):
            follower = TangleMembership(*values)
            if not _same(space, root, follower):
                continue
            wait = (awaited, follower.number)
            self.connection.execute("DELETE FROM waits WHERE previous = ? AND number = ?", wait)
            row = (lacking - 1, follower.number)
            sql = update_of(follower.number, "lacking = ?")
            self.connection.execute(sql, row)
            if lacking == 1:
                yield follower


def settle_orders(connection: sqlite3.Connection) -> None:
    """Compute the effective times anew in tangles where they may have changed, within a transaction of the caller's.

    Raises sqlite3.Error.
    """
    for space, root in connection.execute("SELECT space, root FROM orders WHERE unsettled").fetchall():
        rows = [
            row
            for table in tables_of(space)
            for row in connection.execute(_PLACED.format(table=table), (root, space))
        ]
        messages = [
            DatedMessage(id_, feed, seq, said_us, tuple(split_ids(previous)))
            for _, id_, feed, seq, said_us, previous, _ in rows
        ]
        times = order_times(messages)
        for number, id_, *_, order_us in rows:
            if times[id_] != order_us:
                sql = update_of(number, "order_us = ?")
                connection.execute(sql, (times[id_], number))
        values = (is_contradicted(messages, times), space, root)
        sql = "UPDATE orders SET unsettled = 0, contradicted = ? WHERE space = ? AND root = ?"
        connection.execute(sql, values)


def split_ids(packed: bytes) -> Iterator[bytes]:
    """Return the ids concatenated in *packed*."""
    for start in range(0, len(packed), _ID):
        yield packed[start : start + _ID]


def _same(space: str, root: bytes, tie: TangleMembership) -> bool:
    """Return whether *tie* is in the tangle *root* of *space*, or may be."""
    return space == tie.space and tie.root in (None, root)
