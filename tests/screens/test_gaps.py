"""Missing messages are shown where they are missing."""

from itertools import permutations

from tests.catalog.fake import ANA, BOB, CYD, EVE, START_US, make_message, make_person, message_id
from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.gaps import MessageGap, gap_in_words, in_place
from tinyssb_node.screens.people import DisplayNames

MINUTE_US = 60_000_000
NAMES = DisplayNames([make_person(ANA, "Ana"), make_person(BOB, "Bob")], {BOB})


def placed(name: str, minute: int, *previous: str, **changes: object) -> MessageRow:
    changes = {"placed": 1, "order_us": START_US + minute * MINUTE_US} | changes
    return make_message(name, ANA, minute, name, *previous, **changes)


def waiting(
    name: str,
    minute: int | None,
    *previous: str,
    missing: tuple[str, ...] | None = None,
    feed: FeedId = BOB,
    seq: int = 1,
    **changes: object,
) -> MessageRow:
    values: dict[str, object] = {
        "placed": None,
        "tangle": None,
        "said_us": None if minute is None else START_US + minute * MINUTE_US,
        "missing": tuple(message_id(one) for one in (previous if missing is None else missing)),
    }
    return make_message(name, feed, seq, name, *previous, **values | changes)


def shown(rows: list[MessageRow], waits: list[MessageRow]) -> list[tuple[str, MessageGap | None]]:
    found = {tuple((one.row.text, one.gap) for one in in_place(rows, order)) for order in permutations(waits)}
    (one,) = found  # it does not depend on the order of arrival
    return list(one)


def test_a_message_that_waits_stands_at_its_time_behind_what_is_missing() -> None:
    assert shown([placed("a", 1), placed("c", 9)], [waiting("b", 5, "gone", "gone too")]) == [
        ("a", None),
        ("b", MessageGap(2, None)),
        ("c", None),
    ]


def test_a_missing_message_is_counted_once_and_waiting_ones_are_not_missing() -> None:
    waits = [
        waiting("late", 5, "gone"),
        waiting("later", 6, "gone", "late", feed=CYD),
        waiting("last", 7, "later", feed=EVE),
    ]
    assert shown([placed("a", 1)], waits) == [
        ("a", None),
        ("late", MessageGap(1, None)),
        ("later", None),
        ("last", None),
    ]


def test_no_message_stands_before_one_that_it_names_or_its_authors_earlier_one() -> None:
    waits = [
        waiting("first", 5, "gone"),
        waiting("second", 2, "gone", seq=2),  # its clock was set back
        waiting("third", 1, "second", feed=CYD),
        waiting("answer", 3, "z", "gone", missing=("gone",), feed=EVE),
    ]
    names = [name for name, _ in shown([placed("z", 4)], waits)]
    assert names == ["z", "answer", "first", "second", "third"]


def test_it_stands_behind_what_its_author_wrote_before() -> None:
    earlier = make_message("earlier", BOB, 1, "earlier", placed=1, order_us=START_US + 8 * MINUTE_US)
    assert [name for name, _ in shown([placed("a", 1), earlier], [waiting("b", 2, "gone", seq=3)])] == [
        "a",
        "earlier",
        "b",
    ]


def test_without_a_clock_it_stands_where_it_arrived() -> None:
    row = waiting("b", None, "gone", committed_us=START_US + 5 * MINUTE_US)
    assert [name for name, _ in shown([placed("a", 1), placed("c", 9)], [row])] == ["a", "b", "c"]


def test_of_newest_entries_each_gap_of_their_author_is_shown_once() -> None:
    newest = [
        waiting("eleven", 5, "ten", missing=(), seq=11, older_missing=7),
        waiting("twelve", 6, "eleven", missing=(), seq=12, older_missing=7),
        waiting("fourteen", 7, "13", missing=(), seq=14, older_missing=8),
    ]
    assert shown([placed("a", 1)], newest) == [
        ("a", None),
        ("eleven", MessageGap(7, BOB)),
        ("twelve", None),
        ("fourteen", MessageGap(1, BOB)),
    ]


def test_in_words() -> None:
    assert gap_in_words(MessageGap(1, None), NAMES) == "1 message missing"
    assert gap_in_words(MessageGap(2, None), NAMES) == "2 messages missing"
    assert gap_in_words(MessageGap(2, BOB), NAMES) == f"up to 2 messages of {NAMES.shown(BOB)} missing"


def test_a_message_that_waits_stands_at_the_end_of_its_minute() -> None:
    minute_us = START_US - START_US % MINUTE_US
    same_minute = placed("a", 0, order_us=minute_us + 3)
    for said_us, texts in ((minute_us, ["a", "b"]), (minute_us + 2, ["b", "a"])):
        waits = [waiting("b", None, "gone", said_us=said_us)]
        assert [text for text, _ in shown([same_minute], waits)] == texts
