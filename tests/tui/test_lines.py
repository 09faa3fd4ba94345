"""Rows as lines: never wider than they may be, whatever strangers write, and bars that tell the truth."""

import dataclasses

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.tui.node import (
    AIR,
    ANA,
    BEN,
    EVA,
    LORA,
    ME,
    NOW_US,
    event_line,
    feed_row,
    id_of,
    message,
    person,
)
from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageRow
from tinyssb_node.control.rows import EndpointRow
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import cells
from tinyssb_node.tui import airlines, lines
from tinyssb_node.tui.limits import MESSAGE_LINES

ANY_TEXT = st.text(max_size=80) | st.sampled_from(
    ["\n" * 50, "W" * 300, "日本語" * 99, "\u202e[red]\x1b[2J", "e" + "\u0301" * 99]
)
WIDTHS = st.integers(12, 130)
JOINERS = "\u200c\u200d"
LATER_EMOJI = range(0x1F000, 0x1FB00)
"""Shown as they are, since Python's tables lack the emoji of later years."""


@settings(max_examples=60)
@example("", "\U0001f249", "", 12, False, 0)
@given(ANY_TEXT, ANY_TEXT, ANY_TEXT, WIDTHS, st.booleans(), st.integers(-(2**70), 2**70))
def test_no_row_is_wider_than_its_place(
    text: str, name: str, holders: str, width: int, answers: bool, when_us: int
) -> None:
    who = person(ANA, name, last_us=when_us, said=text)
    names = DisplayNames([who, person(BEN, name)])
    said = message("a", ANA, text, 1, previous=(id_of("b"),) if answers else (), committed_us=when_us)
    talk = ConversationRow(name="0011", members=(ANA, BEN), messages=1, last=said)
    event = airlines.event(event_line(when_us, kind=name, what=text), packets=True, width=width)
    assert event is not None
    rows = [
        event,
        lines.message(said, names, above=None, known={}, holders=holders, now_us=NOW_US, width=width),
        lines.message(
            said, names, above=None, known={id_of("b"): said}, holders=None, now_us=NOW_US, width=width
        ),
        lines.conversation(talk, names, new=True, chosen=False, now_us=NOW_US, width=width),
        lines.person(who, names, followed=False, now_us=NOW_US, width=width),
        lines.feed(feed_row(ANA, 2**60, wanted=False, forked_at=3), names, width),
        airlines.face(replace(LORA, face=text), width),
        airlines.account(replace(AIR, band=text, faces=[name, text]), width),
        airlines.endpoint(EndpointRow(spec=text, problem=name), width),
    ]
    for row in rows:
        for line in row.plain.split("\n"):
            assert all(char.isprintable() or ord(char) in LATER_EMOJI for char in line if char not in JOINERS)
            assert cells(line) <= max(width, 22)
    assert len(rows[1].plain.split("\n")) <= MESSAGE_LINES + 4


@given(st.integers(0, 10**9), st.integers(0, 10**8), st.integers(1, 200))
def test_a_bar_tells_the_truth(used: int, limit: int, width: int) -> None:
    shown = airlines.bar(used, limit, width).plain
    left, _, beyond = shown.partition("┃")
    assert len(left) == max(width - airlines.BEYOND - 1, 1)
    assert set(left) <= {"█", "·"}
    assert (beyond != "") == (used > limit > 0)
    if limit > 0:
        assert ("█" in left) == (used > 0)
        if used < limit * (len(left) - 1) // len(left):
            assert "·" in left


@pytest.mark.parametrize(
    ("used", "shown"),
    [
        (0, "··········┃"),
        (1, "█·········┃"),
        (50, "█████·····┃"),
        (100, "██████████┃"),
        (101, "██████████┃▓"),
        (900, "██████████┃▓▓▓▓"),
    ],
)
def test_a_bar_is_full_at_the_limit(used: int, shown: str) -> None:
    assert airlines.bar(used, 100, 15).plain == shown


def test_a_name_that_may_be_somebody_else_says_so() -> None:
    people = [person(ANA, "Ana"), person(EVA, "ANA"), person(BEN, "me"), person(ME, "cabin")]
    names = DisplayNames(people)
    shown = [lines.name_of(feed, names) for feed in (ANA, EVA, BEN, ME)]
    assert shown[0].startswith("Ana? ")
    assert shown[1].startswith("ANA? ")
    assert shown[0][5:] == ANA.hex()[:4]
    assert shown[2] == f"me? {BEN.hex()[:4]}"
    assert shown[3] == "me"


def test_what_a_message_answers_is_told_unless_it_stands_above() -> None:
    names = DisplayNames([person(ANA, "Ana"), person(BEN, "Ben")], {ANA, BEN})
    first, second = message("a", ANA, "Who?", 1), message("b", BEN, "Me.", 2, previous=(id_of("a"),))

    def drawn(above: MessageRow | None, known: dict[MessageId, MessageRow]) -> str:
        return lines.message(
            second,
            names,
            above=above,
            known=known,
            holders=None,
            now_us=NOW_US,
            width=40,
        ).plain

    assert drawn(first, {first.id: first})[6:] == "Ben: Me."
    assert drawn(None, {first.id: first})[6:] == "Ben ↳ Ana: Who?\n      Me."
    assert drawn(None, {})[6:] == f"Ben ↳ earlier message ({first.id.hex()[:8]})\n      Me."


def test_torn_and_unasked_records_are_left_out() -> None:
    assert airlines.event(b'{"kind": "entr', packets=True, width=80) is None
    assert airlines.event(b"[]", packets=True, width=80) is None
    record = event_line(NOW_US, kind="rx", face="udp")
    assert airlines.event(record, packets=False, width=80) is None
    assert airlines.event(record, packets=True, width=80) is not None


def test_what_a_conversation_is_called() -> None:
    names = DisplayNames([person(ANA, "Ana"), person(ME, "cabin")], {ANA})
    public = ConversationRow(name=PUBLIC, members=(), messages=0, last=None)
    assert lines.conversation_title(public, names) == "everybody"
    mine = dataclasses.replace(public, name="00", members=(ME,))
    assert lines.conversation_title(mine, names) == "notes to myself"
    assert lines.conversation_title(dataclasses.replace(mine, members=(ANA, ME)), names) == "Ana"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("Ana, Ben", '"Ana, Ben"'),
        ('Ana", "Ben', "\"Ana', 'Ben\""),
        ("Ana“, „Ben", "\"Ana', 'Ben\""),
        ("Ana，Ben", '"Ana，Ben"'),
        ("everybody", "everybody"),
        ("notes to myself", "notes to myself"),
        ("me", "me?"),
        ("Cyd-Eve (hut no. 3)", "Cyd-Eve (hut no…"),
    ],
)
@pytest.mark.parametrize("petnamed", [False, True])
def test_no_conversation_poses_as_another(said: str, title: str, petnamed: bool) -> None:
    people = [person(ANA, "Ana"), person(BEN, "Ben"), person(EVA, said), person(ME, "cabin")]
    names = DisplayNames(people, {ANA, BEN, EVA} if petnamed else {ANA, BEN})
    mine = ConversationRow(name="00", members=(ANA, BEN, ME), messages=0, last=None)
    assert lines.conversation_title(mine, names) == "Ana, Ben"
    shown = lines.conversation_title(dataclasses.replace(mine, members=(EVA, ME)), names)
    alone = petnamed and said not in {"everybody", "notes to myself", "me"}
    assert shown == (title if alone else f"{title} {EVA.hex()[:4]}")
    assert lines.names_of([EVA, ME], names, 8) == (title if alone else f"{title} {EVA.hex()[:8]}")


def test_where_there_is_little_room_the_digits_stay() -> None:
    names = DisplayNames([person(EVA, "everybody"), person(ANA, "Ana")], {ANA})
    public = ConversationRow(name=PUBLIC, members=(), messages=0, last=None)
    private = dataclasses.replace(public, name="00", members=(EVA,))

    def listed(row: ConversationRow, width: int) -> str:
        drawn = lines.conversation(row, names, new=False, chosen=True, now_us=NOW_US, width=width)
        return drawn.plain.split("\n")[0].rstrip()

    assert [listed(row, 11) for row in (public, private)] == [">everybody", f">eve… {EVA.hex()[:4]}"]
    assert listed(private, 40) == f">everybody {EVA.hex()[:4]}"
    assert listed(dataclasses.replace(private, members=tuple(sorted((EVA, ANA)))), 14)[-1] == "…"


def test_a_group_poses_as_nobody() -> None:
    assert lines.group_title("Ana, Ben", "5a" * 20) == '"Ana, Ben" 5a5a5a5a'
    assert lines.group_title("Ana, " * 99, "5a" * 20).endswith('…" 5a5a5a5a')
    assert lines.group_title(None, "5a" * 20) == "group 5a5a5a5a"


def test_a_pending_follow_is_told_as_such() -> None:
    row = replace(feed_row(ANA, 0), beyond=True, pending=True)
    assert lines.feed(row, DisplayNames([]), 130).plain.rstrip().endswith("pending: nobody near has it yet")
    who = person(ANA, "Ana", entries=0, last_us=None, pending=True)
    line = lines.person(who, DisplayNames([who]), followed=True, now_us=NOW_US, width=100).plain
    assert line.rstrip().endswith("pending: nobody near has it yet")
    assert "only this node asks for it" in lines.person_page(who, NOW_US)


def test_a_feed_of_a_further_identity_is_told_as_ours() -> None:
    row = replace(feed_row(ANA, 3), own=False, identity="club", writable=False)
    line = lines.feed(row, DisplayNames([]), 130).plain
    assert line.rstrip().endswith("own: club, ! cannot be written for now")
