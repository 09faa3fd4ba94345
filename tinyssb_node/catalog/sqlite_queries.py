"""The catalog's queries in SQL. They do not depend on how the tables are filled."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar, overload

from tinyssb_node.catalog import limits, schema
from tinyssb_node.catalog.errors import CatalogDamagedError
from tinyssb_node.catalog.people import ContactBook, blocklist
from tinyssb_node.catalog.rows import (
    PUBLIC,
    SILENT,
    BoardRow,
    ConversationRow,
    DataRow,
    FirstTie,
    MessageKind,
    MessageRow,
    PersonRow,
    TelemetryRow,
    UnreadMessages,
)
from tinyssb_node.catalog.tie_numbers import NOTE_PREFIX, by_arrival
from tinyssb_node.content.limits import CLAIM_MIN_US
from tinyssb_node.content.short_text import tie_range
from tinyssb_node.content.telemetry import parse_telemetry
from tinyssb_node.content.time_order import doubtful, order_key, read_order_key
from tinyssb_node.ids import FeedId, MessageId, Origin

if TYPE_CHECKING:
    from tinyssb_node.content.board import PlacedOperation

_SELECT: Final = """
SELECT messages.number, messages.id, people.feed, seq, committed_us, said_us, origin, own, kind, space, messages.root,
    messages.previous, lacking, messages.placed, order_us,
    text, cut, voice_size, size, chunks, held, private, circles.name
FROM messages JOIN people ON people.number = messages.feed
LEFT JOIN circles ON space = 'chat' AND circles.root = messages.root
"""
_NUMBERS: Final = "SELECT number FROM messages"
_NOTES: Final = _SELECT.replace("SELECT ", "SELECT place, ", 1).replace(
    "FROM messages ",
    """FROM (
    SELECT number, id, feed, seq, committed_us, said_us, origin, kind, space, root, previous, lacking, placed, order_us,
        text, cut, voice_size, size, chunks, held, private, number AS place FROM messages
    UNION ALL
    SELECT messages.number, messages.id, messages.feed, messages.seq, committed_us, messages.said_us, origin, kind,
        ties.space, ties.root, ties.previous, ties.lacking, ties.placed, ties.order_us,
        text, cut, voice_size, size, chunks, held, private, ties.number AS place
    FROM further_ties AS ties JOIN messages ON messages.number = ties.message
) AS messages """,
)
"""As `_SELECT`, with each message once for each tangle that it is in, by the number of that position."""
_PLACES: Final = """
SELECT {columns} FROM messages WHERE {where} AND placed IS NOT NULL
UNION ALL SELECT {columns} FROM further_ties WHERE {where} AND placed IS NOT NULL
"""
"""Positions in tangles."""
_CONVERSATIONS: Final = """
SELECT circles.root AS root, name, members, coalesce(sum(messages), 0) AS count, max(placed) AS placed,
    name = 'public' OR coalesce(max(own), 0) AS ours,
    row_number() OVER (PARTITION BY min(speakers.feed) ORDER BY max(placed) DESC) AS turn
FROM circles LEFT JOIN speakers ON speakers.root = circles.root {shown}
LEFT JOIN people ON people.number = speakers.feed
"""
_SEEN: Final = (
    "SELECT order_us FROM messages WHERE root = ? AND placed <= ? ORDER BY order_us DESC, id DESC LIMIT 1"
)
_UNREAD: Final = """
SELECT placed, messages.number, order_us FROM messages JOIN people ON people.number = messages.feed WHERE {where}
"""
_FIRST_TIES: Final = """
SELECT id, substr(previous, 1, {size}), order_us, kind <> 'file' AND (1 {shown}) FROM messages
WHERE root = ? AND placed IS NOT NULL AND (order_us, id) > (?, ?) ORDER BY order_us, id LIMIT ?
"""
_BOARDS: Final = """
SELECT board, last_us, ours FROM (
    SELECT board, last_us, ours, row_number() OVER (PARTITION BY begun.feed ORDER BY last_us DESC) AS turn FROM (
        SELECT messages.root AS board, max(committed_us) AS last_us, max(own) AS ours
        FROM messages JOIN people ON people.number = messages.feed
        WHERE content IS NOT NULL AND placed IS NOT NULL GROUP BY board
    ) JOIN messages AS begun ON begun.id = board WHERE ours OR (1 {shown})
) ORDER BY ours DESC, turn, last_us DESC, board LIMIT ?
"""
_DATA: Final = """
SELECT people.feed, committed_us, text FROM (
    SELECT number, feed, committed_us, text, row_number() OVER (PARTITION BY feed ORDER BY number DESC) AS turn
    FROM messages WHERE kind = 'data' AND NOT private AND length(text) <= 500 {shown}
) AS data JOIN people ON people.number = data.feed WHERE turn <= ? ORDER BY data.number DESC LIMIT ?
"""
"""Data of 500 characters at most: longer ones are no readings."""
_LATEST: Final = """
SELECT people.feed, own, committed_us, content FROM people JOIN messages ON messages.feed = people.number
    AND seq = (SELECT max(seq) FROM messages AS record WHERE record.feed = people.number AND record.kind = '{kind}')
WHERE NOT private {shown} ORDER BY messages.number DESC LIMIT ?
"""
_RECORDS: Final = """
SELECT people.feed, own, committed_us, content FROM people JOIN messages ON messages.feed = people.number
WHERE people.feed = ? AND kind = '{kind}' AND committed_us >= ? ORDER BY seq DESC LIMIT ?
"""
_ID: Final = MessageId.SIZE
_DIGITS: Final = frozenset("0123456789abcdef")
_EMPTY_PUBLIC: Final = ConversationRow(name=PUBLIC, members=(), messages=0, last=None)
"""The public conversation before its first message."""

_Value = int | str | bytes | None
_Params = ParamSpec("_Params")
_Answer = TypeVar("_Answer")


def _query(
    query: Callable[Concatenate["SqliteCatalogQueries", _Params], _Answer],
) -> Callable[Concatenate["SqliteCatalogQueries", _Params], _Answer]:
    """Repeat a query if the catalog turned out to be damaged, and could be rebuilt."""

    @wraps(query)
    def repeated(self: "SqliteCatalogQueries", /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Answer:
        try:
            return query(self, *args, **kwargs)
        except CatalogDamagedError as error:
            self._repair(error)
            return query(self, *args, **kwargs)

    return repeated


class MessagePages(Sequence[MessageRow]):
    """Messages that are read from the catalog during iteration, a page at a time.

    They end when the catalog is closed. Reading raises the errors of the catalog.
    """

    def __init__(self, read: Callable[[Sequence[int]], Sequence[MessageRow]], numbers: Sequence[int]) -> None:
        """Take the *numbers* of messages; *read* returns some of them."""
        self._read = read
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> MessageRow: ...

    @overload
    def __getitem__(self, index: slice) -> "MessagePages": ...

    def __getitem__(self, index: int | slice) -> "MessageRow | MessagePages":
        """Return one message, or some of them, which are not read yet. Raises IndexError."""
        if isinstance(index, slice):
            return MessagePages(self._read, self._numbers[index])
        (row,) = self._read([self._numbers[index]])
        return row

    def index(self, value: object, start: int = 0, stop: int | None = None) -> int:
        """Return the position of *value*, without reading the messages before it. Raises ValueError."""
        number = value.arrival if isinstance(value, MessageRow) else -1
        arrivals = [by_arrival(one)[0] for one in self._numbers]
        return arrivals.index(number, start, len(self) if stop is None else stop)

    def __iter__(self) -> Iterator[MessageRow]:
        for start in range(0, len(self._numbers), limits.CATALOG_PAGE):
            yield from self._read(self._numbers[start : start + limits.CATALOG_PAGE])


class SqliteCatalogQueries:
    """The ``CatalogQueries`` on the tables."""

    def __init__(self, path: Path, connection: sqlite3.Connection, people: ContactBook) -> None:
        self._path = path
        self._connection = connection
        self._people = people

    def data_version(self) -> int:
        """Return a number that changes whenever another process has changed the catalog. Raises CatalogFailedError."""
        with schema.catalog_faults(self._path):
            (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        return int(version)

    @_query
    def conversations(self) -> Sequence[ConversationRow]:
        """Return the conversations in which the user wrote, and `PUBLIC`; then those of others alone. Of both the one
        with the latest message is first.

        If there are more than `limits.CATALOG_CONVERSATIONS_MAX`: those of the user, then the latest of each other
        person before anybody's second.
        """
        with self._reading():
            sql = (
                f"{_CONVERSATIONS.format(shown=self._shown('speakers.feed'))} GROUP BY circles.root "
                "ORDER BY name = 'public' DESC, ours DESC, turn, max(placed) DESC, circles.root LIMIT ?"
            )
            rows = self._connection.execute(sql, (limits.CATALOG_CONVERSATIONS_MAX,)).fetchall()
            found = [(bool(ours), self._conversation(*values)) for *values, ours, _ in rows]
        if all(row.name != PUBLIC for _, row in found):
            found.append((True, _EMPTY_PUBLIC))
        found.sort(
            key=lambda one: (not one[0], -(one[1].last.placed or 0) if one[1].last else 0, one[1].name)
        )
        return [row for _, row in found]

    @_query
    def conversation(self, name: str) -> ConversationRow | None:
        """Return the conversation of that name, listed or not; None: there is none."""
        with self._reading():
            shown = self._shown("speakers.feed")
            sql = f"{_CONVERSATIONS.format(shown=shown)} WHERE circles.root = ? GROUP BY circles.root"
            row = self._connection.execute(sql, (self._root(name),)).fetchone()
            if row is None:
                return _EMPTY_PUBLIC if name == PUBLIC else None
            return self._conversation(*row[:5])

    @_query
    def messages(
        self, conversation: str, *, before: str | None = None, after: str | None = None, limit: int = 50
    ) -> Sequence[MessageRow]:
        """Return placed messages in their order: the last *limit*, or those before or the first after a position.

        A text that is no position is before all messages.
        """
        with self._reading():
            root = self._root(conversation)
            where = f"messages.root = ? AND messages.placed IS NOT NULL {self._shown('messages.feed')}"
            if after is not None:
                where += " AND (order_us, id) > (?, ?) ORDER BY order_us, id LIMIT ?"
                return self._rows(where, root, *(read_order_key(after) or (0, b"")), limit)
            if before is not None:
                where += " AND (order_us, id) < (?, ?) ORDER BY order_us DESC, id DESC LIMIT ?"
                return self._rows(where, root, *(read_order_key(before) or (0, b"")), limit)[::-1]
            return self._rows(f"{where} ORDER BY order_us DESC, id DESC LIMIT ?", root, limit)[::-1]

    @_query
    def arrived(self, conversation: str, after: int, limit: int = 50) -> Sequence[MessageRow]:
        """Return the messages placed since the number *after*, in order of arrival, the first *limit*."""
        where = f"messages.root = ? AND messages.placed > ? {self._shown('messages.feed')}"
        with self._reading():
            root = self._root(conversation)
            return self._rows(f"{where} ORDER BY messages.placed LIMIT ?", root, after, limit)

    @_query
    def latest_arrivals(self, conversation: str, limit: int) -> Sequence[MessageRow]:
        """Return the *limit* placed messages that arrived last, in their order."""
        where = f"messages.root = ? AND messages.placed IS NOT NULL {self._shown('messages.feed')}"
        with self._reading():
            rows = self._rows(
                f"{where} ORDER BY messages.placed DESC LIMIT ?", self._root(conversation), limit
            )
        return sorted(rows, key=lambda row: row.order)

    @_query
    def unread(self, conversation: str, after: int, limit: int) -> UnreadMessages:
        """Return the messages of others placed since the number *after*, counted up to *limit*."""
        with self._reading():
            root = self._root(conversation)
            where = f"root = ? AND placed > ? AND NOT own {self._shown('messages.feed')}"
            (seen_us,) = self._connection.execute(_SEEN, (root, after)).fetchone() or (0,)
            sql = f"{_UNREAD.format(where=where)} LIMIT ?"
            found = self._connection.execute(sql, (root, after, limit)).fetchall()
            latest = None if not found else self._one("messages.number = ?", max(found)[1])
        return UnreadMessages(len(found), sum(order_us < seen_us for _, _, order_us in found), latest)

    @_query
    def waiting(self, conversation: str, limit: int = 50) -> Sequence[MessageRow]:
        """Return messages that wait for predecessors, the latest arrivals first."""
        where = (
            "messages.root = ? AND messages.placed IS NULL AND space IS NOT NULL "
            f"{self._shown('messages.feed')} ORDER BY messages.number DESC LIMIT ?"
        )
        with self._reading():
            return self._rows(where, self._root(conversation), limit)

    @_query
    def data(self) -> Sequence[DataRow]:
        """Return the latest public entries with short data, in order of arrival: of each author at most
        `limits.CATALOG_DATA_EACH`, of all `limits.CATALOG_DATA_MAX`."""
        with self._reading():
            sql = _DATA.format(shown=self._shown("messages.feed"))
            values = (limits.CATALOG_DATA_EACH, limits.CATALOG_DATA_MAX)
            rows = self._connection.execute(sql, values).fetchall()
        return [DataRow(FeedId(feed), committed_us, text) for feed, committed_us, text in reversed(rows)]

    @_query
    def telemetry(self) -> Sequence[TelemetryRow]:
        """Return of each person the latest position, and the latest values of sensors."""
        with self._reading():
            sql = _LATEST.format(kind="{kind}", shown=self._shown("messages.feed"))
            return self._telemetry(sql, limits.CATALOG_TELEMETRY_MAX)

    @_query
    def telemetry_of(self, feed: FeedId, since_us: int) -> Sequence[TelemetryRow]:
        """Return the records of one feed that arrived since a time, in order."""
        with self._reading():
            return self._telemetry(_RECORDS, bytes(feed), since_us, limits.CATALOG_TELEMETRY_EACH)

    def _telemetry(self, sql: str, *values: _Value) -> Sequence[TelemetryRow]:
        """Return the rows that *sql* finds of either kind, latest last."""
        return [
            TelemetryRow(feed=FeedId(feed), own=bool(own), committed_us=committed_us, record=record)
            for kind in (MessageKind.POS, MessageKind.TLM)
            for feed, own, committed_us, content in reversed(
                self._connection.execute(sql.format(kind=kind), values).fetchall()
            )
            if (record := parse_telemetry(content)) is not None
        ]

    @_query
    def message(self, id_: MessageId) -> MessageRow | None:
        """Return one message."""
        with self._reading():
            return self._one("messages.id = ?", bytes(id_))

    @_query
    def find(self, prefix: str, limit: int = 2) -> Sequence[MessageRow]:
        """Return messages whose id begins with these hexadecimal digits, or `FEED.SEQ` with a beginning of the feed."""
        digits, dot, seq = prefix.strip().lower().partition(".")
        if not set(digits) <= _DIGITS or (dot and not (seq.isascii() and seq.isdigit() and len(seq) <= 10)):
            return []
        size = FeedId.SIZE if dot else _ID
        if len(digits) > 2 * size or not (digits or dot):
            return []
        low = bytes.fromhex(digits.ljust(2 * size, "0"))
        high = bytes.fromhex(digits.ljust(2 * size, "f"))
        with self._reading():
            if dot:
                where = "people.feed BETWEEN ? AND ? AND seq = ? ORDER BY people.feed LIMIT ?"
                return self._rows(where, low, high, int(seq), limit)
            return self._rows("messages.id BETWEEN ? AND ? ORDER BY messages.id LIMIT ?", low, high, limit)

    @_query
    def thread(self, root: MessageId) -> Sequence[MessageRow]:
        """Return all placed messages of the tangle of that root, in their order."""
        return self._thread("root = ? AND placed IS NOT NULL", bytes(root))

    @_query
    def first_ties(self, conversation: str, after: str, limit: int) -> Sequence[FirstTie]:
        """Return the first *limit* placed messages after a position, each with the message that it names first."""
        with self._reading():
            sql = _FIRST_TIES.format(size=_ID, shown=self._shown("messages.feed"))
            values = (self._root(conversation), *(read_order_key(after) or (0, b"")), limit)
            return [
                FirstTie(
                    id=MessageId(id_),
                    named=MessageId(named) if named else None,
                    order=order_key(order_us, id_),
                    listed=bool(listed),
                )
                for id_, named, order_us, listed in self._connection.execute(sql, values)
            ]

    @_query
    def tangle_names(self, id_: MessageId) -> Sequence[str]:
        """Return the names of the tangles in which a note is placed, as it names them; none for other messages."""
        with self._reading():
            sql = _PLACES.format(columns="number, space", where="id = ?1")
            rows = self._connection.execute(sql, (bytes(id_),)).fetchall()
        found = sorted((by_arrival(number), space) for number, space in rows if space.startswith(NOTE_PREFIX))
        return [space.removeprefix(NOTE_PREFIX) for _, space in found]

    @_query
    def note_thread(self, id_: MessageId, name: str) -> Sequence[MessageRow]:
        """Return all placed messages of the tangle *name* in which the note *id_* is placed, in their order, with their
        positions there; none: it is in none."""
        space = NOTE_PREFIX + name
        with self._reading():
            sql = _PLACES.format(columns="root", where="id = ?1 AND space = ?2")
            (root,) = self._connection.execute(sql, (bytes(id_), space)).fetchone() or (None,)
            sql = f"{_PLACES.format(columns='number, order_us, id', where='root = ?1 AND space = ?2')} ORDER BY 2, 3"
            numbers = [row[0] for row in self._connection.execute(sql, (root, space))]
        return MessagePages(self._in_places, numbers)

    @_query
    def tips(self, conversation: str) -> Sequence[MessageId]:
        """Return the predecessors of a new message of a conversation, the latest first."""
        sql = (
            "SELECT id FROM messages WHERE root = ? AND followed = 0 AND placed IS NOT NULL "
            "ORDER BY order_us DESC, id DESC LIMIT ?"
        )
        with self._reading():
            values = (self._root(conversation), 64)  # more than any message of ours names
            return [MessageId(id_) for (id_,) in self._connection.execute(sql, values)]

    @_query
    def search(self, words: str, limit: int = 50) -> Sequence[MessageRow]:
        """Return messages with all these words, or longer ones that begin so, the best first. Any text is a valid
        query."""
        # Of a search at most 1,000 characters, a long sentence, and 32 words count.
        wanted = words[:1_000].encode(errors="replace").decode().replace("\0", " ").split()
        wanted = wanted[:32]
        indexed = [word for word in wanted if any(char.isalnum() for char in word)]
        if not wanted:
            return []
        # Characters that the index does not treat as words, such as emoji, are matched literally.
        signs = [word for word in wanted if word not in indexed]
        where = "".join(" AND instr(text, ?) > 0" for _ in signs) + self._shown("messages.feed")
        if indexed:
            match = " ".join('"' + word.replace('"', '""') + '"*' for word in indexed)
            found = "(SELECT rowid, rank AS badness FROM words WHERE words MATCH ?)"
            sql = f"{_SELECT} JOIN {found} AS found ON found.rowid = messages.number WHERE 1 {where} ORDER BY badness, "
            values: list[_Value] = [match, *signs, limit]
        else:
            silent = f"kind NOT IN ({', '.join(sorted(map(repr, map(str, SILENT))))})"
            sql, values = f"{_SELECT} WHERE {silent} {where} ORDER BY ", [*signs, limit]
        with self._reading():
            return self._select(f"{sql} messages.number DESC LIMIT ?", values)

    @_query
    def people(self) -> Sequence[PersonRow]:
        """Return all known people, sorted by feed."""
        with self._reading():
            return self._people.all(self._connection)

    @_query
    def person(self, feed: FeedId) -> PersonRow | None:
        """Return one person."""
        with self._reading():
            return self._people.one(self._connection, feed)

    @_query
    def blocklist(self, feed: FeedId) -> frozenset[bytes]:
        """Return the blocklist that the author of *feed* published: the first 12 bytes of each feed id."""
        with self._reading():
            return blocklist(self._connection, feed)

    @_query
    def boards(self) -> Sequence[BoardRow]:
        """Return the boards that the user works on, by name, then those of others, by name.

        If there are more than `limits.CATALOG_BOARDS_MAX`: those of the user that changed last, then the latest of each
        other person before anybody's second.
        """
        with self._reading():
            sql = _BOARDS.format(shown=self._shown("begun.feed"))
            found = self._connection.execute(sql, (limits.CATALOG_BOARDS_MAX,)).fetchall()
        rows = [self._board(MessageId(root), last_us, ours=bool(ours)) for root, last_us, ours in found]
        return sorted(rows, key=lambda row: (not row.ours, row.name, row.id))

    @_query
    def find_boards(self, prefix: str, limit: int = 2) -> Sequence[MessageId]:
        """Return boards whose id begins with these hexadecimal digits, listed or not."""
        digits = prefix.strip().lower()
        if not digits or len(digits) > 2 * _ID or not set(digits) <= _DIGITS:
            return []
        low = bytes.fromhex(digits.ljust(2 * _ID, "0"))
        high = bytes.fromhex(digits.ljust(2 * _ID, "f"))
        sql = (
            "SELECT id FROM messages WHERE id BETWEEN ? AND ? AND root = id AND content IS NOT NULL "
            "ORDER BY id LIMIT ?"
        )
        with self._reading():
            return [MessageId(id_) for (id_,) in self._connection.execute(sql, (low, high, limit))]

    @_query
    def operations(self, board: MessageId) -> Sequence[MessageRow]:
        """Return the operations on a board, in their order; their `text` is the operation as JSON."""
        return self._thread("root = ? AND placed IS NOT NULL AND kind = 'KAN'", bytes(board))

    @_query
    def steps(self, board: MessageId) -> "Sequence[PlacedOperation]":
        """Return the operations on a board for `content.board.fold`, in any order."""
        from tinyssb_node.content.board import read_step  # noqa: PLC0415 - most queries do without

        sql = (
            "SELECT messages.id, people.feed, content FROM messages JOIN people ON people.number = messages.feed "
            "WHERE root = ? AND placed IS NOT NULL AND content IS NOT NULL"
        )
        with self._reading():
            rows = self._connection.execute(sql, (bytes(board),)).fetchall()
        steps = (read_step(MessageId(id_), FeedId(feed), content) for id_, feed, content in rows)
        return [step for step in steps if step is not None]

    def _incomplete(self, limit: int) -> list[tuple[bytes, bytes, int, int, int, int]]:
        """Return the latest entries of others of which packets are missing: id, feed, entry, size, packets of the side
        chain, and how many of these are stored."""
        sql = (
            "SELECT messages.id, people.feed, seq, size, chunks, held FROM messages "
            "JOIN people ON people.number = messages.feed "
            "WHERE held < chunks AND NOT own {shown} ORDER BY messages.number DESC LIMIT ?"
        )
        with self._reading():
            rows = self._connection.execute(sql.format(shown=self._shown("messages.feed")), (limit,))
            return [tuple(row) for row in rows]

    # --- helpers; all but the first three within `_reading`

    def _repair(self, error: CatalogDamagedError) -> None:
        """Rebuild a damaged catalog. Raises CatalogFailedError if that is not possible."""
        raise error

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Run queries on one state of the catalog."""
        with schema.reading(self._connection, self._path):
            yield

    def _board(self, root: MessageId, last_us: int, *, ours: bool) -> BoardRow:
        """Return the row of the board *root*, folded from its operations."""
        from tinyssb_node.content.board import fold  # noqa: PLC0415 - most queries do without

        steps = self.steps(root)
        board = fold(root, steps)
        return BoardRow(
            id=root,
            name=board.name,
            items=sum(len(column.items) for column in board.columns),
            operations=len(steps),
            last_us=last_us,
            ours=ours,
        )

    def _conversation(
        self, root: bytes, name: str, members: bytes, count: int, placed: int | None
    ) -> ConversationRow:
        """Return a row of `_CONVERSATIONS`, with its last message."""
        last = (
            None if placed is None else self._one("messages.root = ? AND messages.placed = ?", root, placed)
        )
        return ConversationRow(name=name, members=_feeds(members), messages=count, last=last)

    def _root(self, conversation: str) -> bytes:
        """Return the root of a conversation; no bytes if there is no such conversation."""
        sql = "SELECT root FROM circles WHERE name = ? ORDER BY root LIMIT 1"
        row = self._connection.execute(sql, (conversation.encode(errors="replace").decode(),)).fetchone()
        return b"" if row is None else bytes(row[0])

    def _shown(self, column: str) -> str:
        """Return a condition that leaves out blocked people."""
        blocked = self._people.blocked(self._connection)
        if not blocked:
            return ""
        literals = ", ".join(f"x'{feed.hex()}'" for feed in blocked)
        return f" AND {column} NOT IN (SELECT number FROM people WHERE feed IN ({literals}))"  # noqa: S608 - digits

    def _thread(self, where: str, root: bytes) -> MessagePages:
        """Return the messages of one tangle in their order; only their numbers are in memory."""
        with self._reading():
            rows = self._connection.execute(
                f"{_NUMBERS} WHERE {where} ORDER BY order_us, id", (root,)
            ).fetchall()
        return MessagePages(self._numbered, [number for (number,) in rows])

    @_query
    def _numbered(self, numbers: Sequence[int]) -> Sequence[MessageRow]:
        """Return messages by their numbers, in that order, without those that are gone."""
        marks = ", ".join("?" * len(numbers))
        with self._reading():
            found = {row.arrival: row for row in self._rows(f"messages.number IN ({marks})", *numbers)}
        return [found[number] for number in numbers if number in found]

    @_query
    def _in_places(self, places: Sequence[int]) -> Sequence[MessageRow]:
        """Return notes by the numbers of their positions, in that order, without those that are gone."""
        marks = ", ".join("?" * len(places))
        with self._reading():
            rows = self._connection.execute(f"{_NOTES} WHERE place IN ({marks})", tuple(places))
            found = {place: self._message(*row) for place, *row in rows.fetchall()}
        return [found[place] for place in places if place in found]

    def _one(self, where: str, *values: _Value) -> MessageRow | None:
        return next(iter(self._rows(where, *values)), None)

    def _rows(self, where: str, *values: _Value) -> list[MessageRow]:
        return self._select(f"{_SELECT} WHERE {where}", values)

    def _select(self, sql: str, values: Iterable[_Value]) -> list[MessageRow]:
        return [self._message(*row) for row in self._connection.execute(sql, tuple(values)).fetchall()]

    def _message(
        self,
        number: int,
        id_: bytes,
        feed: bytes,
        seq: int,
        committed_us: int,
        said_us: int | None,
        origin: str,
        own: int,
        kind: str,
        space: str | None,
        root: bytes | None,
        previous: bytes,
        lacking: int,
        placed: int | None,
        order_us: int | None,
        text: str,
        cut: int,
        voice_size: int,
        size: int,
        chunks: int,
        held: int,
        private: int,
        name: str | None,
    ) -> MessageRow:
        follows = _ids(previous)
        return MessageRow(
            id=MessageId(id_),
            feed=FeedId(feed),
            seq=seq,
            arrival=number,
            committed_us=committed_us,
            said_us=said_us,
            origin=Origin(origin),
            own=bool(own),
            kind=MessageKind(kind),
            conversation=name,
            tangle=MessageId(root) if root is not None and placed is not None else None,
            previous=follows,
            placed=placed,
            missing=self._missing(follows, space, root) if lacking else (),
            text=text,
            cut=bool(cut),
            voice_size=voice_size,
            size=size,
            chunks=chunks,
            chunks_held=held,
            private=bool(private),
            order="" if order_us is None else order_key(order_us, id_),
            order_us=order_us if order_us is not None and order_us >= CLAIM_MIN_US else None,
            doubtful=order_us is not None and space == "chat" and doubtful(said_us, order_us),
        )

    def _missing(
        self, previous: Sequence[MessageId], space: str | None, root: bytes | None
    ) -> tuple[MessageId, ...]:
        """Return those of *previous* that are not placed in the same tangle."""
        where = "id BETWEEN ?1 AND ?2 AND space = ?3 AND (?4 IS NULL OR root = ?4)"
        sql = _PLACES.format(columns="1", where=where)
        execute = self._connection.execute
        return tuple(
            one for one in previous if execute(sql, (*tie_range(one), space, root)).fetchone() is None
        )


def _ids(packed: bytes) -> tuple[MessageId, ...]:
    return tuple(MessageId(packed[start : start + _ID]) for start in range(0, len(packed), _ID))


def _feeds(packed: bytes) -> tuple[FeedId, ...]:
    size = FeedId.SIZE
    return tuple(FeedId(packed[start : start + size]) for start in range(0, len(packed), size))
