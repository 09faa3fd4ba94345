"""Threads of private groups: answers stand below what they answer, and nothing else is in them."""

from hypothesis import given
from hypothesis import strategies as st

from tests.catalog.fake import ANA, BOB, make_message, message_id
from tinyssb_node.screens.group_conversations import GroupMessageView
from tinyssb_node.screens.group_threads import thread_of

GROUP = "5a" * 20


def said(name: str, place: int, answers: str | None = None) -> GroupMessageView:
    row = make_message(name, BOB if place % 2 else ANA, place, name, conversation=GROUP, placed=place)
    fields = {field: getattr(row, field) for field in row.__dataclass_fields__}
    return GroupMessageView(**fields, reply_to=None if answers is None else message_id(answers))


ROWS = [
    said("lunch?", 1),
    said("weather", 2),
    said("soup", 3, "lunch?"),
    said("bread", 4, "lunch?"),
    said("which soup?", 5, "soup"),
    said("rain", 6, "weather"),
    said("leek", 7, "which soup?"),
    said("to nobody here", 8, "what is not stored"),
]


def texts(name: str) -> list[tuple[str, int]]:
    return [(one.row.text, one.depth) for one in thread_of(ROWS, message_id(name))]


def test_a_thread_has_the_first_message_and_all_answers_below_what_they_answer() -> None:
    lunch = [("lunch?", 0), ("soup", 1), ("which soup?", 2), ("leek", 3), ("bread", 1)]
    for name in ("lunch?", "soup", "leek", "bread"):
        assert texts(name) == lunch
    assert texts("rain") == [("weather", 0), ("rain", 1)]
    assert texts("to nobody here") == [("to nobody here", 0)]
    assert texts("unknown") == []
    thread = thread_of(ROWS, message_id("leek"))
    assert [one.row.previous for one in thread[:2]] == [(), (message_id("lunch?"),)]


@given(st.lists(st.none() | st.integers(0, 30), max_size=30), st.integers(0, 30))
def test_every_answer_is_once_in_the_thread_of_what_it_answers(
    answered: list[int | None], asked: int
) -> None:
    # Places are of arrival: an answer may have come before the message that it answers.
    ids = list(range(len(answered)))
    before = [one if one is not None and one < at else None for at, one in enumerate(answered)]
    rows = [
        said(f"m{at}", at + 1, None if one is None else f"m{one}")
        for at, one in zip(ids, before, strict=True)
    ]
    rows.reverse()
    thread = thread_of(rows, message_id(f"m{asked}"))
    found = [one.row.id for one in thread]
    assert len(set(found)) == len(found)
    assert (message_id(f"m{asked}") in found) == (asked < len(ids))
    for row in rows:
        assert (row.reply_to in found and row.id in found) == (row.reply_to in found)
