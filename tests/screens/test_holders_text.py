"""Holders of a message, in a few words."""

from datetime import datetime

import pytest
from msgspec.structs import replace

from tinyssb_node.control.rows import ReceiptRow
from tinyssb_node.screens.holders_text import holders_text, holders_texts, last_of_each, moment

NOON_US = int(datetime(2026, 5, 3, 12, 2).astimezone().timestamp() * 1e6)
HOUR_US = 3_600_000_000
ANA, BEN, CYD, DOT = ("aa" * 32, "bb" * 32, "cc" * 32, "dd" * 32)
NAMES = {ANA: "Ana", BEN: "Ben", CYD: "Cyd", DOT: "Dot"}


def row(proven: int = 0, inferred: int = 0, expected: int = 0, missing: tuple[str, ...] = ()) -> ReceiptRow:
    return ReceiptRow(
        feed="ee" * 32,
        seq=1,
        id="01" * 20,
        committed_us=NOON_US,
        held=proven + inferred,
        proven=proven,
        inferred=inferred,
        expected=expected,
        holders=[],
        missing=list(missing),
        silent=[],
    )


@pytest.mark.parametrize(
    ("known", "text"),
    [
        (row(), "no other nodes are known"),
        (row(0, 0, 3), "on 0 of 3 nodes"),
        (row(3, 0, 5, (ANA,)), "on 3 of 5 nodes; Ana's not since 12:02"),
        (row(1, 0, 3, (ANA, BEN)), "on 1 of 3 nodes; Ana's and Ben's not since 12:02"),
        (row(0, 0, 3, (ANA, BEN, CYD)), "on 0 of 3 nodes; Ana's, Ben's and Cyd's not since 12:02"),
        (row(0, 0, 4, (ANA, BEN, CYD, DOT)), "on 0 of 4 nodes; those of 4 people not since 12:02"),
        (row(0, 2, 3), "on 2 of 3 nodes, not confirmed"),
        (row(1, 1, 3, (ANA,)), "on 2 of 3 nodes, 1 confirmed; Ana's not since 12:02"),
        # As many have it as there are people: who that is may not be proven, but nobody is missing.
        (row(1, 1, 2, (ANA,)), "on 2 of 2 nodes, 1 confirmed"),
        (row(4, 0, 4), "on 4 of 4 nodes"),
    ],
)
def test_it_is_said_in_a_few_words(known, text):
    assert holders_text(known, NAMES.__getitem__, NOON_US + HOUR_US) == text


def test_messages_that_the_same_nodes_have_are_told_once_with_the_earliest_time():
    rows = [
        replace(row(2, 0, 2), seq=1, id="01"),
        replace(row(1, 0, 2, (ANA,)), seq=2, id="02", committed_us=NOON_US + HOUR_US),
        replace(row(1, 0, 2, (ANA,)), seq=3, id="03", committed_us=NOON_US + 2 * HOUR_US),
    ]
    texts = holders_texts(reversed(rows), NAMES.__getitem__, NOON_US + HOUR_US)
    lacking = "on 1 of 2 nodes; Ana's not since 13:02"
    assert texts == {"01": "on 2 of 2 nodes", "02": lacking, "03": lacking}
    ids = ["01", "of another", "02", "03"]
    assert last_of_each(ids, texts) == {"01": "on 2 of 2 nodes", "03": lacking}
    assert last_of_each([], texts) == {}


def test_another_day_is_told():
    assert moment(NOON_US, NOON_US + HOUR_US) == "12:02"
    assert moment(NOON_US, NOON_US + 24 * HOUR_US) == "2026-05-03 12:02"
