"""Messages of private groups in the shape of the catalog's: their times, and people in sentences."""

from typing import Any

import msgspec

from tests.catalog.fake import ANA, BOB, START_US, make_person
from tinyssb_node.catalog.rows import UnreadMessages
from tinyssb_node.content.time_order import order_key
from tinyssb_node.control.group_rows import GroupFileHeadRow, GroupReadRow, GroupSaidRow
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.chatlines import other_times
from tinyssb_node.screens.gaps import gap_in_words, in_place
from tinyssb_node.screens.group_conversations import (
    GroupMessageQueries,
    lacking_in_words,
    message_row,
    people_in_words,
)
from tinyssb_node.screens.people import DisplayNames

HOUR_US = 3_600_000_000
NAMES = DisplayNames([make_person(ANA, "Ana"), make_person(BOB, "Bob")])


def said(order_us: int | None, **values: object) -> GroupSaidRow:
    row = GroupSaidRow(
        id="5b" * 20, feed=BOB.hex(), seq=1, own=False, epoch=None, kind="post", text="hi", people=[], previous=[],
        committed_us=START_US, group="5a" * 20, place=1, order=order_key(order_us or 0, b"[" * 20), order_us=order_us,
    )  # fmt: skip
    return msgspec.structs.replace(row, **values)


def test_a_message_has_the_times_of_writing_and_of_arrival() -> None:
    row = message_row(said(START_US - HOUR_US), NAMES)
    assert (row.written_us, row.committed_us, row.doubtful) == (START_US - HOUR_US, START_US, False)
    assert other_times(row).startswith(" (arrived ")
    row = message_row(said(None, doubtful=True), NAMES)
    assert (row.written_us, row.doubtful, other_times(row)) == (START_US, True, "")


def test_a_message_that_waits_names_what_it_waits_for() -> None:
    missing = "5c" * 20
    row = message_row(said(None, said_us=START_US, place=None, order="", missing=(missing,)), NAMES)
    assert row.text == "hi (not checked yet)"
    assert (row.placed, row.written_us, row.missing) == (None, START_US, (MessageId.from_hex(missing),))
    (shown,) = in_place([], [row])
    assert shown.gap is not None
    assert gap_in_words(shown.gap, NAMES) == "1 message missing"
    assert lacking_in_words(1, [shown]) == ""
    assert lacking_in_words(3, [shown]).startswith("2 messages are missing here")


class FakeClient:
    """A daemon with some messages of a group."""

    def __init__(self, *rows: GroupSaidRow) -> None:
        self.rows = list(rows)

    def group_arrived(self, group: str, after: int | None, limit: int | None = None) -> "Rows":
        rows = sorted(self.rows, key=lambda row: row.place or 0)
        seen = max((row.order for row in rows if (row.place or 0) <= (after or 0)), default="")
        assert group == "5a" * 20
        found = [row for row in rows if (row.place or 0) > (after or 0)]
        return Rows(found[:limit] if after is not None else found[-(limit or 99) :], seen)


class Rows(list[GroupSaidRow]):
    def __init__(self, rows: list[GroupSaidRow], seen: str) -> None:
        super().__init__(rows)
        self.result = GroupReadRow(len(rows), seen)


def test_unread_messages_that_come_before_seen_ones_are_counted() -> None:
    client: Any = FakeClient(
        said(START_US, place=1),
        said(START_US - 5, place=2, text="late"),
        said(START_US + 5, place=3, kind="group/add-member"),
        said(START_US + 6, place=4, own=True),
        said(START_US + 7, place=5, text="last"),
    )
    queries = GroupMessageQueries(client, NAMES)
    unread = queries.unread("5a" * 20, 1, 99)
    assert unread.latest is not None
    assert (unread.count, unread.older, unread.latest.text) == (2, 1, "last")
    assert queries.unread("5a" * 20, 5, 99) == UnreadMessages(0, 0, None)
    assert [row.text for row in queries.arrived("5a" * 20, 1, 1)] == ["late"]
    assert [row.placed for row in queries.latest_arrivals("5a" * 20, 4)] == [2, 3, 4, 5]


def test_a_message_whose_history_is_missing_is_marked() -> None:
    row = msgspec.structs.replace(said(None), early=True)
    assert message_row(row, NAMES).text == "hi (not checked yet)"
    file = GroupFileHeadRow("map.webp", "image/webp", 10)
    assert "not checked yet" in message_row(msgspec.structs.replace(row, file=file), NAMES).text


def test_our_user_is_you_in_a_sentence() -> None:
    assert people_in_words([ANA], NAMES) == "you"
    assert people_in_words([ANA, BOB], NAMES) == f"you, {NAMES.shown(BOB)}"


def test_missing_messages_are_counted() -> None:
    assert lacking_in_words(0) == ""
    assert lacking_in_words(1).startswith("1 message is missing here")
    assert lacking_in_words(1_200).startswith("1,200 messages are missing here")
