"""Messages as lines: each where it belongs, none wider than the terminal."""

from dataclasses import replace

import pytest
import wcwidth
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog.fake import (
    ANA,
    BOB,
    CYD,
    EVE,
    HOSTILE_TEXT,
    PRIVATE,
    START_US,
    make_message,
    message_id,
    small_mesh,
)
from tinyssb_node.catalog.rows import PUBLIC, MessageKind, MessageRow
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import ChatFormatter, displayed_text, local_minute
from tinyssb_node.screens.people import DisplayNames

MESH = small_mesh()
NAMES = DisplayNames(MESH.people(), {BOB})
ROWS = [*MESH.messages(PUBLIC), *MESH.messages(PRIVATE), *MESH.waiting(PUBLIC)]


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


def shown(rows: list[MessageRow], width: int | None, **options: object) -> list[str]:
    lines = ChatFormatter(NAMES, width, **options)  # type: ignore[arg-type] # options of any kind
    lines.fit(rows)
    return [
        line
        for row in rows
        for line in (lines.message(row) if row.placed is not None else lines.waiting(row))
    ]


def test_a_chat_reads_from_top_to_bottom() -> None:
    ids = {name: message_id(name).hex()[:8] for name in ("first", "answer", "other", "merge")}
    people = {feed: f"{NAMES.shown(feed):<25}" for feed in (ANA, BOB, CYD)}
    assert people[BOB] == f"Bob from the hut {BOB.hex()[:8]}"
    assert shown(list(MESH.messages(PUBLIC))[:4], None, held_by={message_id("merge"): "1 of 4"}) == [
        "-- 2025-10-09 --",
        f"08:54  {ids['first']}  {people[ANA]}  Is anybody up there?",
        f"08:55  {ids['answer']}  {people[BOB]}  Yes: at the hut, with soup.",
        f"08:56  {ids['other']}  {people[CYD]}  > {ids['first']}: Here too, on the north side.",
        f"08:57  {ids['merge']}  {people[ANA]}  Good. Meet at noon?  [1 of 4]",
    ]


@given(st.integers(limits.SCREEN_CELLS_MIN, 200))
@settings(max_examples=60)
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for line in shown(
        ROWS, width, held_by=dict.fromkeys((message_id("first"), message_id("merge")), "3 of 5, " * 30)
    ):
        assert 0 <= wcwidth.wcswidth(line) <= width
        assert "\x1b" not in line


def test_for_programs_each_message_is_one_line() -> None:
    lines = [line for line in shown(ROWS, None) if not line.startswith("-- ")]
    assert len(lines) == len(ROWS)
    assert all(wcwidth.wcswidth(line) >= 0 for line in lines)


def test_a_flood_takes_so_many_lines_and_no_more() -> None:
    for text in ("漢" * 10_000, "\n" * 10_000, "e\u0336" * 8_000, "x " * 8_000):
        row = make_message("flood", EVE, 9, text)
        assert len(shown([row], 80)) <= 1 + limits.MESSAGE_LINES_MAX
        assert len(shown([replace(row, placed=None)], 80)) <= limits.MESSAGE_LINES_MAX + limits.NOTE_LINES_MAX


def test_a_line_that_pretends_to_be_a_message_is_indented() -> None:
    row = make_message("fake", EVE, 9, f"hi\n08:54  00000000  me {ANA.hex()[:8]}  I owe Eve 100")
    lines = shown([row], 80)
    assert lines[1].endswith("hi")
    assert lines[2].startswith(" " * 30)


def test_what_waits_says_for_what() -> None:
    row = make_message("late", EVE, 9, "hi", placed=None, missing=tuple(message_id(str(n)) for n in range(9)))
    day, line = shown([row], 200)
    assert day == "-- 2025-10-09 --"
    assert "[waits for " in line
    assert line.endswith("and 6 more]")


@pytest.mark.parametrize(
    ("text", "changes", "words"),
    [
        ("", {"chunks": 40, "chunks_held": 3}, "(incomplete: 3 of 40 packets)"),
        ("", {"voice_size": 1_400}, "(voice, 1,400 bytes)"),
        ("", {}, "(empty)"),
        ("pfx:loc/plus,8FVC9G8F+6X|hi", {}, "(at 8FVC9G8F+6X) hi"),
        ("long", {"cut": True}, f"long… (whole message: `tinyssb show {EVE.hex()[:8]} 9`)"),
        (HOSTILE_TEXT, {}, HOSTILE_TEXT),
        (
            '{"name": "map.webp", "type": "image/webp", "size": 9000}',
            {"kind": MessageKind.FILE},
            f"(file map.webp, 9,000 bytes: `tinyssb fetch {message_id('m').hex()[:8]}`)",
        ),
        (
            '["no", "file"]',
            {"kind": MessageKind.FILE, "size": 7},
            f"(file (no name), 7 bytes: `tinyssb fetch {message_id('m').hex()[:8]}`)",
        ),
    ],
)
def test_what_is_in_the_place_of_a_text(text: str, changes: dict[str, object], words: str) -> None:
    assert displayed_text(make_message("m", EVE, 9, text, **changes)) == words


def test_a_message_has_the_time_when_it_was_written_and_when_it_arrived() -> None:
    """The time of writing stands in front; that of arrival is named where it is another one."""
    near = make_message("m", BOB, 9, "x", order_us=START_US - limits.ARRIVED_APART_US)
    far = replace(near, order_us=START_US - 10 * limits.ARRIVED_APART_US)
    day_before = replace(near, order_us=START_US - 86_400_000_000)
    (heading, line) = shown([near], None)
    assert (heading, line[:6], "arrived" in line) == ("-- 2025-10-09 --", "08:43 ", False)
    assert shown([far], None)[1][:6] == "07:13 "
    assert "(arrived 08:53)" in shown([far], None)[1]
    assert shown([day_before], None)[0] == "-- 2025-10-08 --"
    assert "(arrived 2025-10-09 08:53)" in shown([day_before], None)[1]


def test_a_time_that_other_messages_contradict_is_marked() -> None:
    """The time by the others stands in front."""
    row = make_message("m", BOB, 9, "x", said_us=2**42 * 10**3, order_us=START_US, doubtful=True)
    (_, line) = shown([row], None)
    assert line[:6] == "08:53?"
    assert "(its author's clock: 2109-05-15 07:35)" in line
    bare = replace(row, said_us=None)
    assert "its author's clock" not in shown([bare], None)[1]


def test_a_message_that_arrives_behind_later_ones_is_marked() -> None:
    rows = list(MESH.messages(PUBLIC))[:3]
    assert ["[older message]" in line for line in shown([rows[0], rows[2], rows[1]], None)[1:]] == [
        False,
        False,
        True,
    ]


def test_no_date_is_shown_for_absurd_times() -> None:
    assert local_minute(2**70) == ("----------", "--:--")


def test_a_graph_says_what_it_does_not_draw() -> None:
    lines = ChatFormatter(NAMES, 200)
    (line,) = lines.drawn(ROWS[0], (message_id("a"),))
    assert line.endswith(f"[also follows {message_id('a').hex()[:8]}]")
    (found,) = lines.found(MESH.messages(PRIVATE)[0])
    assert found.endswith("[private]")
