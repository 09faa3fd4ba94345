"""Brief ties that could mean several messages: ids that begin alike cannot be had otherwise."""

import itertools
import sqlite3
from dataclasses import replace

import pytest

from tinyssb_node.catalog import schema
from tinyssb_node.catalog.tangle_placement import TangleMembership, TanglePlacer, settle_orders
from tinyssb_node.content.short_text import brief_tie

ROOT = b"r" * 20
ALIKE, FORGED = b"same" + b"a" * 16, b"same" + b"b" * 16


def said(number: int, id_: bytes, feed: int, *previous: bytes, minute: int = 0) -> TangleMembership:
    said_us = 1_760_000_000_000_000 + minute * 60_000_000
    return TangleMembership(number, id_, feed, 1, said_us, "chat", ROOT, b"".join(previous))


FIRST = said(1, ALIKE, 1)
OTHER = said(2, FORGED, 2, minute=5)
ANSWER = said(3, b"m" * 20, 3, brief_tie(ALIKE), minute=-90)
LAST = said(4, b"z" * 20, 4, ANSWER.id, minute=-90)


def placed(*messages: TangleMembership) -> dict[bytes, tuple[bytes, int | None]]:
    """The predecessors of messages that came in this order, and their times."""
    connection = schema.connect_memory()
    schema.create_tables(connection)
    placer = TanglePlacer(connection, 0)
    for one in messages:
        found = placer.place(one)
        _write(connection, one)
        previous = one.previous if found.placed is None else found.previous
        sql = "UPDATE messages SET lacking = ?, placed = ?, order_us = ?, root = ?, previous = ? WHERE number = ?"
        connection.execute(
            sql, (found.lacking, found.placed, found.order_us, found.root, previous, one.number)
        )
        if found.placed is not None:
            placer.release(one, ROOT)
    placer.finish()
    settle_orders(connection)
    rows = connection.execute("SELECT id, previous, order_us FROM messages WHERE placed IS NOT NULL")
    return {id_: (previous, order_us) for id_, previous, order_us in rows}


def _write(connection: sqlite3.Connection, one: TangleMembership) -> None:
    columns = {
        "number": one.number, "id": one.id, "feed": one.feed, "seq": one.seq, "committed_us": 0,
        "said_us": one.said_us, "origin": "peer", "kind": "text", "space": one.space, "root": one.root,
        "previous": one.previous, "lacking": 0, "followed": 0, "text": "", "cut": 0, "voice_size": 0, "size": 1,
        "chunks": 0, "held": 0, "private": 0,
    }  # fmt: skip
    marks = ", ".join("?" * len(columns))
    connection.execute(f"INSERT INTO messages ({', '.join(columns)}) VALUES ({marks})", [*columns.values()])


def test_a_brief_tie_means_the_message_that_begins_so() -> None:
    for order in itertools.permutations([FIRST, ANSWER, LAST]):
        rows = placed(*order)
        assert rows[ANSWER.id][0] == ALIKE
        times = [rows[one.id][1] for one in (FIRST, ANSWER, LAST)]
        assert times == sorted(times, key=lambda time_us: time_us or 0)
        assert len(set(times)) == 3


def test_a_brief_tie_that_fits_two_messages_means_neither_whatever_came_first() -> None:
    found = [placed(*order) for order in itertools.permutations([FIRST, OTHER, ANSWER, LAST])]
    assert all(one == found[0] for one in found)
    assert found[0][ANSWER.id] == (b"", ANSWER.said_us)
    assert found[0][LAST.id][0] == ANSWER.id


@pytest.mark.parametrize("order", [*itertools.permutations([FIRST, ANSWER])])
def test_a_message_of_another_tangle_is_not_meant(order: tuple[TangleMembership, ...]) -> None:
    elsewhere = replace(OTHER, root=b"o" * 20)
    assert placed(*order, elsewhere)[ANSWER.id][0] == placed(elsewhere, *order)[ANSWER.id][0] == ALIKE
