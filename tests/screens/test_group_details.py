"""Read access to a group over time, in words, from the daemon's rows."""

import hashlib
from collections.abc import Iterator

import pytest

from tinyssb_node.catalog.rows import PersonRow
from tinyssb_node.control.group_rows import GroupEpochRow, GroupMemberRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_details import KEPT, access_lines, access_words, read_access
from tinyssb_node.screens.people import DisplayNames

HOUR_US = 3_600_000_000
NOON_US = 1_763_812_800_000_000  # 2025-11-22 12:00 UTC


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import time

    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def feed(name: str) -> FeedId:
    return FeedId(hashlib.sha256(name.encode()).digest())


NAMES = DisplayNames(
    [
        PersonRow(
            feed=feed(name), alias=name, said=name, own=name == "Ana", entries=1, last_us=None, blocked=False
        )
        for name in ("Ana", "Ben", "Cyd", "Dan")
    ],
    {feed(name) for name in ("Ben", "Cyd", "Dan")},
)


def epoch(
    id_: str, members: str, *, after: str = "", hour: int | None = 0, excluded: str = ""
) -> GroupEpochRow:
    """The first member is the creator, who added and excluded the others."""
    creator, *_ = members.split()
    return GroupEpochRow(
        epoch=id_ * 40,
        creator=feed(creator).hex(),
        previous=[one * 40 for one in after],
        members=[
            GroupMemberRow(
                feed=feed(name).hex(),
                added_by=[feed(creator).hex()],
                excluded_by=[feed(creator).hex()] if name in excluded.split() else [],
            )
            for name in members.split()
        ],
        missing=[],
        tip=True,
        inside=True,
        committed_us=None if hour is None else NOON_US + hour * HOUR_US,
    )


def words(epochs: list[GroupEpochRow], writing: str | None) -> dict[str, tuple[bool, str]]:
    found = read_access(epochs, None if writing is None else writing * 40, NAMES)
    return {
        (NAMES.name(one.feed) or "?"): (one.current, access_words(one, NAMES).split(": ", 1)[1])
        for one in found
    }


def test_excluded_people_read_until_the_next_key_and_newcomers_all_before_theirs() -> None:
    epochs = [
        epoch("1", "Ana Ben Cyd", excluded="Cyd"),
        epoch("2", "Ana Ben Dan", after="1", hour=2),
    ]
    assert words(epochs, "2") == {
        "me": (True, "everything"),
        "Ben": (True, "everything; added by you"),
        "Dan": (True, "everything; added by you"),
        "Cyd": (False, "from the beginning until 2025-11-22 14:00; added by you, excluded by you"),
    }
    lines = list(access_lines(read_access(epochs, "2" * 40, NAMES), NAMES))
    assert lines[1] == f"  {NAMES.shown(feed('Ana'))}: everything"
    assert lines[-3:] == [
        "Who cannot read what is written now:",
        f"  {NAMES.shown(feed('Cyd'))}: {words(epochs, '2')['Cyd'][1]}",
        KEPT,
    ]


def test_who_is_excluded_while_no_new_key_exists_has_the_key_and_is_not_current() -> None:
    found = words([epoch("1", "Ana Ben Cyd", excluded="Cyd")], "1")
    assert found["Cyd"][0] is False
    assert found["Cyd"][1].startswith("everything; ")


def test_a_person_who_was_away_for_an_epoch_reads_it_once_they_are_back() -> None:
    epochs = [
        epoch("1", "Ana Ben"),
        epoch("2", "Ana Cyd", after="1", hour=1),
        epoch("3", "Ana Ben Cyd", after="2", hour=None),
    ]
    assert words(epochs[:2], "2")["Ben"][1].startswith("from the beginning until 2025-11-22 13:00")
    assert words(epochs, "3")["Ben"][1].startswith("everything; ")


def test_forks_that_time_cannot_order_are_named_by_their_ids() -> None:
    epochs = [
        epoch("1", "Ana Ben Cyd Dan"),
        epoch("2", "Ana Ben Cyd", after="1", hour=1),
        epoch("3", "Ben Ana Dan", after="1", hour=1),
        epoch("4", "Ana Ben", after="23", hour=2),
    ]
    found = words(epochs, "4")
    assert found["me"][0] is True
    assert found["me"][1].startswith("everything; ")
    assert found["Cyd"][:1] == (False,)
    assert found["Cyd"][1].startswith("from the beginning until 2025-11-22 14:00")
    without_first = words(epochs[1:], None)
    assert without_first["Dan"][0] is False
    epochs[3:] = [epoch("4", "Ana Ben Dan", after="23", hour=2), epoch("5", "Ana Ben", after="4", hour=3)]
    assert words(epochs, "5")["Dan"][1].startswith(
        "what was written in the epochs 11111111, 22222222, 33333333, 44444444"
    )


def test_outside_of_every_epoch_the_latest_ones_count() -> None:
    epochs = [epoch("1", "Ben Cyd"), epoch("2", "Ben Dan", after="1", hour=1)]
    assert {name: current for name, (current, _) in words(epochs, None).items()} == {
        "Ben": True,
        "Dan": True,
        "Cyd": False,
    }
