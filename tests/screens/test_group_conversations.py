"""Messages of private groups in the shape of the catalog's: their times, and people in sentences."""

import msgspec

from tests.catalog.fake import ANA, BOB, START_US, make_person
from tinyssb_node.control.group_rows import GroupFileHeadRow, GroupSaidRow
from tinyssb_node.screens.chatlines import other_times
from tinyssb_node.screens.group_conversations import lacking_in_words, message_row, people_in_words
from tinyssb_node.screens.people import DisplayNames

HOUR_US = 3_600_000_000
NAMES = DisplayNames([make_person(ANA, "Ana"), make_person(BOB, "Bob")])


def said(said_us: int | None) -> GroupSaidRow:
    return GroupSaidRow(
        id="5b" * 20, feed=BOB.hex(), seq=1, own=False, epoch=None, kind="post", text="hi", people=[], previous=[],
        committed_us=START_US, group="5a" * 20, place=1, said_us=said_us,
    )  # fmt: skip


def test_a_message_has_the_times_of_writing_and_of_arrival() -> None:
    row = message_row(said(START_US - HOUR_US), NAMES)
    assert (row.written_us, row.committed_us, row.doubtful) == (START_US - HOUR_US, START_US, False)
    assert other_times(row).startswith(" (arrived ")
    row = message_row(said(None), NAMES)
    assert (row.written_us, row.doubtful, other_times(row)) == (START_US, False, "")


def test_a_time_after_its_arrival_is_doubtful() -> None:
    assert not message_row(said(START_US + HOUR_US), NAMES).doubtful
    assert message_row(said(START_US + HOUR_US + 1), NAMES).doubtful


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
