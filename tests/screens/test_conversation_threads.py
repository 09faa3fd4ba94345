"""Threads of conversations: what a message answers and all answers, and not all of the chat."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.fake import ANA, BOB, CYD, FakeCatalog, make_message, make_person, message_id
from tinyssb_node.catalog.rows import PUBLIC, MessageKind, MessageRow
from tinyssb_node.content.short_text import brief_tie
from tinyssb_node.ids import MessageId
from tinyssb_node.screens import limits
from tinyssb_node.screens.conversation_threads import conversation_thread
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.threads import Thread, thread_notes

PEOPLE = (ANA, BOB, CYD)


def said(name: str, place: int, *previous: str, **changes: object) -> MessageRow:
    return make_message(
        name, PEOPLE[place % 3], place, name, *previous, placed=place, arrival=place, **changes
    )


def waits(name: str, place: int, *previous: str, lacks: str, **changes: object) -> MessageRow:
    changes |= {"placed": None, "tangle": None, "missing": (message_id(lacks),)}
    return make_message(name, PEOPLE[place % 3], place, name, *previous, arrival=place, **changes)


CHAT = [
    said("lunch?", 1),
    said("yes", 2, "lunch?"),
    said("rain", 3, "yes"),
    said("which soup?", 4, "lunch?", "rain"),
    said("map", 5, kind=MessageKind.FILE),
    said("snow", 6, "which soup?"),
    said("leek", 7, "which soup?", "snow"),
    said("wind", 8, "leek"),
    said("and bread", 9, "lunch?"),
    said("sun", 10, "and bread", "wind"),
    said("moon", 11, "sun"),
]
"""Lunch in between the weather: who writes about that answers nobody, and names what stands above."""


def catalog_of(rows: list[MessageRow], *, blocked: object = None) -> FakeCatalog:
    return FakeCatalog([make_person(one, None, blocked=one == blocked) for one in PEOPLE], rows)


def thread_of(catalog: FakeCatalog, name: str) -> Thread:
    found = conversation_thread(catalog, PUBLIC, message_id(name))
    assert found is not None
    return found


def texts(thread: Thread) -> list[tuple[str, int]]:
    return [(one.row.text, one.depth) for one in thread.messages]


LUNCH = [
    ("lunch?", 0), ("yes", 1), ("which soup?", 1), ("snow", 2), ("leek", 2), ("wind", 3), ("and bread", 1),
    ("sun", 2),
]  # fmt: skip


@pytest.mark.parametrize("name", [name for name, _ in LUNCH])
def test_a_thread_has_what_a_message_answers_and_all_answers(name: str) -> None:
    thread = thread_of(catalog_of(CHAT), name)
    assert texts(thread) == LUNCH
    assert (thread.lacking, thread.further, thread.more) == (False, False, False)
    unsure = {one.row.text for one in thread.messages if one.adjacent}
    assert unsure == {"yes", "snow", "wind", "sun"}


def test_a_message_below_one_that_may_be_no_answer_leads_one_step_up() -> None:
    catalog = catalog_of(CHAT)
    assert texts(thread_of(catalog, "rain")) == [("yes", 0), ("rain", 1)]
    assert texts(thread_of(catalog, "moon")) == [("sun", 0), ("moon", 1)]
    assert texts(thread_of(catalog, "map")) == [("map", 0)]


def test_a_message_of_another_conversation_is_not_found() -> None:
    secret = said("secret", 11, conversation="0123456789abcdef", private=True)
    catalog = catalog_of([*CHAT, secret])
    assert conversation_thread(catalog, PUBLIC, message_id("secret")) is None
    assert conversation_thread(catalog, PUBLIC, message_id("nobody wrote this")) is None
    assert conversation_thread(catalog, "0123456789abcdef", message_id("secret")) is not None


def test_messages_of_blocked_people_are_counted_and_their_answers_shown() -> None:
    catalog = catalog_of(CHAT, blocked=PEOPLE[1])  # who wrote "lunch?", "which soup?", "leek" and "sun"
    thread = thread_of(catalog, "and bread")
    # What no longer has a text above it that is shown may have followed the one that is hidden.
    assert ("leek", 2) in texts(thread)
    names = DisplayNames(catalog.people())
    assert thread_notes(thread, names) == ["4 messages of blocked people are hidden."]


def test_what_waits_is_shown_with_what_is_missing() -> None:
    rows = [*CHAT, waits("late", 12, "leek", "gone", lacks="gone"), waits("later", 13, "late", lacks="late")]
    thread = thread_of(catalog_of(rows), "leek")
    late, later = (one for one in thread.messages if one.row.placed is None)
    assert (late.row.text, late.depth, later.row.text, later.depth) == ("late", 3, "later", 4)
    assert (late.gap and late.gap.count, later.gap) == (1, None)
    assert texts(thread_of(catalog_of(rows), "later")) == texts(thread)


def test_an_answer_to_a_message_that_has_not_arrived_says_so() -> None:
    rows = [*CHAT, waits("lonely", 11, "gone", lacks="gone"), waits("to her", 12, "lonely", lacks="lonely")]
    thread = thread_of(catalog_of(rows), "to her")
    assert texts(thread) == [("lonely", 0), ("to her", 1)]
    assert thread_notes(thread, DisplayNames(())) == [
        "The message that the first one answers has not arrived here."
    ]


def test_a_brief_tie_of_a_message_that_waits_leads_to_what_it_means() -> None:
    row = waits("brief", 11, lacks="gone")
    ties = (MessageId(brief_tie(message_id("leek"))), MessageId(brief_tie(message_id("gone"))))
    catalog = catalog_of([*CHAT, replace(row, previous=ties, missing=ties[1:])])
    for name in ("brief", "lunch?"):
        assert ("brief", 3) in texts(thread_of(catalog, name))


def test_a_flood_of_answers_hides_none_to_the_message_that_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "THREAD_ANSWERS_MAX", 3)
    flood = [said(f"flood {at}", at, "lunch?", "sun") for at in range(20, 40)]
    last = said("at last", 41, "and bread", "flood 39")
    catalog = catalog_of([*CHAT, *flood, last])
    thread = thread_of(catalog, "and bread")
    found = texts(thread)
    assert ("at last", 2) in found
    assert len(found) <= 2 + 3 + 3
    assert thread_notes(thread, DisplayNames(())) == [
        "Some answers are not shown: there are too many messages."
    ]


def test_a_long_chain_ends_where_it_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "THREAD_PATH_MAX", 3)
    between = [said(f"between {at}", 2 * at + 1) for at in range(9)]
    chain = [said(f"chain {at}", 2 * at, *([f"chain {at - 1}"] if at else [])) for at in range(9)]
    thread = thread_of(catalog_of([*between, *chain]), "chain 7")
    assert texts(thread) == [(f"chain {4 + at}", at) for at in range(5)]
    assert thread_notes(thread, DisplayNames(())) == [
        "The messages that the first one answers are not shown: there are too many."
    ]


def test_pages_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "THREAD_PAGE", 2)
    assert texts(thread_of(catalog_of(CHAT), "leek")) == LUNCH


def test_a_flood_of_other_messages_hides_no_early_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "THREAD_PAGE", 10)
    monkeypatch.setattr(limits, "THREAD_LOOKED_MAX", 20)
    flood = [said(f"flood {at}", at) for at in range(20, 100)]
    rows = [*CHAT, *flood, said("much later", 100, "lunch?", "moon"), said("later still", 102, "much later")]
    rows.append(said("between", 101))
    catalog = catalog_of(rows)
    thread = thread_of(catalog, "much later")
    assert texts(thread) == [*LUNCH, ("much later", 1), ("later still", 2)]
    assert thread.more
    thread = thread_of(catalog, "lunch?")
    assert (texts(thread), thread.more) == (LUNCH, True)


@given(st.lists(st.lists(st.integers(0, 30), max_size=3), min_size=1, max_size=30), st.integers(0, 29))
def test_every_message_of_a_thread_stands_once_below_the_one_that_it_names_first(
    ties: list[list[int]], asked: int
) -> None:
    rows = [
        said(f"m{at}", at + 1, *dict.fromkeys(f"m{one}" for one in named if one < at))
        for at, named in enumerate(ties)
    ]
    name = f"m{asked % len(rows)}"
    thread = thread_of(catalog_of(rows), name)
    place = {one.row.id: at for at, one in enumerate(thread.messages)}
    assert message_id(name) in place
    assert len(place) == len(thread.messages)
    by_id = {one.row.id: one for one in thread.messages}
    above = {row.id: before.id for before, row in pairwise(rows)}
    for one in thread.messages[1:]:
        named = by_id[one.row.previous[0]]
        assert place[named.row.id] < place[one.row.id]
        assert one.depth == named.depth + 1
        assert one.adjacent == (above[one.row.id] == named.row.id)
        assert not (one.adjacent and named.adjacent)
    # Nothing is left out that surely answers one of them.
    for row in rows:
        sure = bool(row.previous) and row.previous[0] in place and above[row.id] != row.previous[0]
        assert row.id in place or not sure
