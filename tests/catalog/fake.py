"""A catalog that is made up: for the tests of screens. It answers as the one on the disk does.

``small_mesh()`` is five people, a public conversation with two branches, a private one, messages that wait, text made
to hurt a screen, and a board. Ask it, or build one with ``FakeCatalog(people, messages)``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Any

from tinyssb_node.catalog.rows import (
    PUBLIC,
    ArrivingRow,
    BoardRow,
    ConversationRow,
    DataRow,
    FirstTie,
    MessageKind,
    MessageRow,
    PersonRow,
    SealedRow,
    TelemetryRow,
    UnreadMessages,
)
from tinyssb_node.content.board import Operation, PlacedOperation, create_step
from tinyssb_node.content.chat import PUBLIC_ROOT, BoardStep, ChatPost, conversation_root, serialize
from tinyssb_node.content.description import describe
from tinyssb_node.content.references import message_text
from tinyssb_node.content.time_order import order_key
from tinyssb_node.ids import Dialect, FeedId, MessageId, Origin

ANA, BOB, CYD, EVE, ZOE = (FeedId(sha256(name).digest()) for name in (b"ana", b"bob", b"cyd", b"eve", b"zoe"))
"""Ana is our user, Eve means harm, Zoe has said nothing."""
START_US = 1_760_000_000_000_000
"""When the first message came, microseconds since 1970."""
MINUTE_US = 60_000_000
HOSTILE_NAME = "Ana\u202e\x1b[31mevil\u200b" + "\u0301" * 40
HOSTILE_TEXT = (
    "\x1b]0;owned\x07\x1b[2Jhi\r\nAna: I owe Eve 100\u202egnp.exe\u2066" + "e" + "\u0336" * 200 + "\x00\x9b"
)
PRIVATE_ROOT = conversation_root((ANA, BOB))
PRIVATE = PRIVATE_ROOT.hex()[:16]
"""Name of the conversation of Ana and Bob."""


def message_id(name: str) -> MessageId:
    return MessageId(sha256(b"message " + name.encode()).digest()[:20])


def make_message(
    name: str, feed: FeedId, seq: int, text: str, *previous: str, **changes: object
) -> MessageRow:
    """A public text, placed; its id is ``message_id(name)``, *previous* are names of others."""
    values: dict[str, Any] = {
        "arrival": 0,
        "committed_us": START_US,
        "said_us": None,
        "origin": Origin.OWN if feed == ANA else Origin.PEER,
        "own": feed == ANA,
        "kind": MessageKind.TAV,
        "conversation": PUBLIC,
        "tangle": PUBLIC_ROOT,
        "previous": tuple(message_id(one) for one in previous),
        "placed": 0,
        "missing": (),
        "cut": False,
        "voice_size": 0,
        "size": len(text.encode()),
        "chunks": 0,
        "chunks_held": 0,
        "private": False,
    }
    values |= changes
    if values["placed"] is not None:
        written_us = values.get("order_us", values["committed_us"])
        place = {"order": order_key(written_us + values["placed"], message_id(name)), "order_us": written_us}
        values = place | values
    return MessageRow(id=message_id(name), feed=feed, seq=seq, text=text, **values)


def make_person(feed: FeedId, alias: str | None, **changes: object) -> PersonRow:
    values: dict[str, Any] = {
        "said": alias,
        "own": feed == ANA,
        "entries": 3,
        "last_us": START_US,
        "blocked": False,
        "wanted": True,
    }
    return PersonRow(feed=feed, alias=alias, **(values | changes))


class FakeCatalog:
    """``Questions`` over lists; messages are given in the order in which they arrived, and placed as they say."""

    def __init__(
        self, people: Iterable[PersonRow], messages: Iterable[MessageRow], boards: Iterable[BoardRow] = ()
    ) -> None:
        self.all_people = {person.feed: person for person in people}
        self.all_messages = list(messages)
        self.all_telemetry: list[TelemetryRow] = []
        self.all_sealed: list[SealedRow] = []
        self.all_boards = list(boards)
        self.all_notes: list[tuple[MessageRow, str]] = []
        """Placed notes with the names of their tangles, once for each tangle."""
        self.incomplete: list[ArrivingRow] = []
        """The answer of `arriving`."""
        self.contents: dict[MessageId, bytes] = {}
        """Contents of messages that are no texts."""

    def conversations(self) -> Sequence[ConversationRow]:
        names = {PUBLIC, *(row.conversation for row in self.all_messages if row.conversation is not None)}
        found = [self._conversation(name) for name in names]
        return sorted(found, key=lambda row: (-(row.last.placed or 0) if row.last else 1, row.name))

    def conversation(self, name: str) -> ConversationRow | None:
        return next((row for row in self.conversations() if row.name == name), None)

    def _conversation(self, name: str) -> ConversationRow:
        rows = self._shown(name)
        members = () if name == PUBLIC else tuple(sorted((ANA, BOB)))
        return ConversationRow(
            name=name, members=members, messages=len(rows), last=rows[-1] if rows else None
        )

    def _shown(self, conversation: str) -> list[MessageRow]:
        blocked = {feed for feed, person in self.all_people.items() if person.blocked}
        rows = [
            row
            for row in self.all_messages
            if row.conversation == conversation and row.placed is not None and row.feed not in blocked
        ]
        return sorted(rows, key=lambda row: row.order)

    def messages(
        self, conversation: str, *, before: str | None = None, after: str | None = None, limit: int = 50
    ) -> Sequence[MessageRow]:
        rows = self._shown(conversation)
        if after is not None:
            return [row for row in rows if row.order > after][:limit]
        return [row for row in rows if before is None or row.order < before][-limit:]

    def arrived(self, conversation: str, after: int, limit: int = 50) -> Sequence[MessageRow]:
        rows = sorted(self._shown(conversation), key=lambda row: row.placed or 0)
        return [row for row in rows if (row.placed or 0) > after][:limit]

    def latest_arrivals(self, conversation: str, limit: int) -> Sequence[MessageRow]:
        rows = sorted(self._shown(conversation), key=lambda row: row.placed or 0)
        return sorted(rows[-limit:], key=lambda row: row.order)

    def unread(self, conversation: str, after: int, limit: int) -> UnreadMessages:
        rows = self._shown(conversation)
        seen = max((row.order for row in rows if (row.placed or 0) <= after), default="")
        new = [row for row in rows if (row.placed or 0) > after and not row.own][:limit]
        latest = max(new, key=lambda row: row.placed or 0, default=None)
        return UnreadMessages(len(new), sum(row.order < seen for row in new), latest)

    def waiting(self, conversation: str, limit: int = 50) -> Sequence[MessageRow]:
        rows = [row for row in self.all_messages if row.conversation == conversation and row.placed is None]
        return sorted(rows, key=lambda row: -row.arrival)[:limit]

    def arriving(self, limit: int = 5) -> Sequence[ArrivingRow]:
        return self.incomplete[:limit]

    def data(self) -> Sequence[DataRow]:
        rows = [row for row in self.all_messages if row.kind is MessageKind.DATA]
        return [DataRow(row.feed, row.committed_us, row.text) for row in rows]

    def telemetry(self) -> Sequence[TelemetryRow]:
        return self.all_telemetry

    def telemetry_of(self, feed: FeedId, since_us: int) -> Sequence[TelemetryRow]:
        return [row for row in self.all_telemetry if row.feed == feed and row.committed_us >= since_us]

    def message(self, id_: MessageId) -> MessageRow | None:
        return next((row for row in self.all_messages if row.id == id_), None)

    def find(self, prefix: str, limit: int = 2) -> Sequence[MessageRow]:
        if "." in prefix:
            feed, _, seq = prefix.partition(".")
            rows = [
                row for row in self.all_messages if row.feed.hex().startswith(feed) and str(row.seq) == seq
            ]
        else:
            rows = [row for row in self.all_messages if row.id.hex().startswith(prefix)]
        return rows[:limit]

    def thread(self, root: MessageId) -> Sequence[MessageRow]:
        rows = [row for row in self.all_messages if row.tangle == root and row.placed is not None]
        return sorted(rows, key=lambda row: row.order)

    def first_ties(self, conversation: str, after: str, limit: int) -> Sequence[FirstTie]:
        rows = [
            row for row in self.all_messages if row.conversation == conversation and row.placed is not None
        ]
        return [
            FirstTie(
                id=row.id,
                named=row.previous[0] if row.previous else None,
                order=row.order,
                listed=row.kind is not MessageKind.FILE and not self.all_people[row.feed].blocked,
            )
            for row in sorted(rows, key=lambda row: row.order)
            if row.order > after
        ][:limit]

    def tangle_names(self, id_: MessageId) -> Sequence[str]:
        return [name for row, name in self.all_notes if row.id == id_]

    def note_thread(self, id_: MessageId, name: str) -> Sequence[MessageRow]:
        roots = [row.tangle for row, one in self.all_notes if row.id == id_ and one == name]
        rows = [row for row, one in self.all_notes if one == name and row.tangle in roots]
        return sorted(rows, key=lambda row: row.order)

    def tips(self, conversation: str) -> Sequence[MessageId]:
        rows = self._shown(conversation)
        followed = {one for row in rows for one in row.previous}
        return [row.id for row in reversed(rows) if row.id not in followed]

    def search(self, words: str, limit: int = 50) -> Sequence[MessageRow]:
        wanted = words.lower().split()
        rows = [row for row in self.all_messages if all(word in row.text.lower() for word in wanted)]
        return rows[:limit] if wanted else []

    def people(self) -> Sequence[PersonRow]:
        return [person for _, person in sorted(self.all_people.items())]

    def person(self, feed: FeedId) -> PersonRow | None:
        return self.all_people.get(feed)

    def boards(self) -> Sequence[BoardRow]:
        return sorted(self.all_boards, key=lambda row: row.name)

    def find_boards(self, prefix: str, limit: int = 2) -> Sequence[MessageId]:
        return [row.id for row in self.all_boards if prefix and row.id.hex().startswith(prefix)][:limit]

    def operations(self, board: MessageId) -> Sequence[MessageRow]:
        return [row for row in self.thread(board) if row.kind is MessageKind.KAN]

    def steps(self, board: MessageId) -> Sequence[PlacedOperation]:
        held = {row.id for row in self.operations(board)}
        return [step for step in _steps() if step.id in held]

    def sealed(
        self, after: int, again: Sequence[int] = (), *, limit: int, size_max: int
    ) -> Sequence[SealedRow]:
        rows = [row for row in self.all_sealed if row.arrival > after or row.arrival in again]
        return [row for row in rows if len(row.content or b"") <= size_max][:limit]

    def dialect(self, feed: FeedId) -> Dialect | None:
        person = self.all_people.get(feed)
        return Dialect.SPEC if person is not None and person.entries else None

    def content(self, id_: MessageId) -> bytes | None:
        row = self.message(id_)
        if row is None or row.chunks_held < row.chunks:
            return None
        return self.contents.get(id_) or serialize(
            ChatPost(text=row.text, said_s=START_US // 1_000_000, voice=bytes(row.voice_size) or None)
        )


def small_mesh() -> FakeCatalog:
    people = [
        make_person(ANA, "Ana"),
        make_person(BOB, "Bob from the hut", said="bob"),
        make_person(CYD, None, said=None),
        make_person(EVE, HOSTILE_NAME),
        make_person(ZOE, None, said=None, entries=0, last_us=None),
    ]
    public = [
        make_message("first", ANA, 1, "Is anybody up there?"),
        make_message("answer", BOB, 1, "Yes: at the hut, with soup.", "first", said_us=START_US + 5_000_000),
        make_message("other", CYD, 1, "Here too, on the north side.", "first"),
        make_message("merge", ANA, 2, "Good. Meet at noon?", "other", "answer"),
        make_message("evil", EVE, 1, HOSTILE_TEXT, "merge"),
        make_message("voice", BOB, 2, "", "merge", voice_size=1_400, size=1_432, chunks=15, chunks_held=15),
        make_message("long", CYD, 2, "word " * 3_000, "voice", cut=True, size=40_000),
        make_message("bare", CYD, 3, "sent with tinyssb publish", kind=MessageKind.TEXT),
    ]
    boxed: dict[str, Any] = {"conversation": PRIVATE, "tangle": PRIVATE_ROOT, "private": True}
    private = [
        make_message("secret", BOB, 3, "The key is under the stone.", **boxed),
        make_message("thanks", ANA, 3, "Found it.", "secret", **boxed),
    ]
    loose: dict[str, Any] = {"tangle": None, "placed": None}
    waiting = [
        make_message(
            "late", EVE, 2, "I follow what you lack", "gone", missing=(message_id("gone"),), **loose
        ),
        make_message("later", CYD, 4, "and I follow her", "late", missing=(message_id("late"),), **loose),
    ]
    rows = [*public, *private, *waiting, *_board(), *_others()]
    rows = [
        replace(row, arrival=number, committed_us=START_US + number * MINUTE_US)
        for number, row in enumerate(rows, 1)
    ]
    rows = [row if row.placed is None else _in_place(row) for row in rows]
    board = BoardRow(
        id=message_id("board"),
        name="Hut \x1b[1mwork",
        items=1,
        operations=4,
        last_us=rows[-4].committed_us,
        ours=True,
    )
    return FakeCatalog(people, rows, [board])


def _in_place(row: MessageRow) -> MessageRow:
    """Place a message where it arrived, at the time of arrival."""
    order = order_key(row.committed_us, row.id)
    return replace(row, placed=row.arrival, order=order, order_us=row.committed_us)


def _steps() -> list[PlacedOperation]:
    """Operations on a board, as they are written; the last one is not known to anybody."""
    root = message_id("board")
    return [
        PlacedOperation(root, ANA, create_step("Hut \x1b[1mwork")),
        _step("column", ANA, "board", Operation.COLUMN_CREATE, "To do"),
        _step("item", BOB, "column", Operation.ITEM_CREATE, message_text(message_id("column")), "Wood"),
        _step("evil-op", EVE, "item", "item/burn", HOSTILE_TEXT),
    ]


def _step(name: str, author: FeedId, previous: str, operation: str, *args: str) -> PlacedOperation:
    step = BoardStep(
        board=message_id("board"), previous=(message_id(previous),), operation=operation, args=args
    )
    return PlacedOperation(message_id(name), author, step)


def _board() -> list[MessageRow]:
    rows = []
    for number, step in enumerate(_steps(), 4):
        text, _ = describe(step.step, 16_384)
        row = make_message("", step.author, number, text, kind=MessageKind.KAN, conversation=None)
        follows = tuple(ref for ref in step.step.previous if isinstance(ref, MessageId))
        rows.append(replace(row, id=step.id, previous=follows, tangle=message_id("board")))
    return rows


def _others() -> list[MessageRow]:
    """Entries that are in no conversation."""
    none: dict[str, Any] = {"conversation": None, "tangle": None}
    return [
        make_message("alias", BOB, 5, '["IAM", "bob"]', kind=MessageKind.IAM, **none),
        make_message("opaque", EVE, 4, "00ff" * 24, kind=MessageKind.OPAQUE, **none),
        make_message(
            "partial",
            EVE,
            5,
            "",
            kind=MessageKind.OPAQUE,
            chunks=40,
            chunks_held=3,
            **(none | {"placed": None}),
        ),
    ]
