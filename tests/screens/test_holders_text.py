"""Holders of a message, in a few words."""

from datetime import datetime

import pytest

from tinyssb_node.control.rows import ReceiptRow
from tinyssb_node.screens.holders_text import holders_text, moment

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
        (row(0, 0, 3), "0 of 3"),
        (row(3, 0, 5, (ANA,)), "3 of 5, Ana missing since 12:02"),
        (row(1, 0, 3, (ANA, BEN)), "1 of 3, Ana and Ben missing since 12:02"),
        (row(0, 0, 3, (ANA, BEN, CYD)), "0 of 3, Ana, Ben and Cyd missing since 12:02"),
        (row(0, 0, 4, (ANA, BEN, CYD, DOT)), "0 of 4, 4 people missing since 12:02"),
        (row(0, 2, 3), "2 of 3, not proven"),
        (row(1, 1, 3, (ANA,)), "2 of 3, 1 proven, Ana missing since 12:02"),
        # As many have it as there are people: who that is may not be proven, but nobody is missing.
        (row(1, 1, 2, (ANA,)), "2 of 2, 1 proven"),
        (row(4, 0, 4), "4 of 4"),
    ],
)
def test_it_is_said_in_a_few_words(known, text):
    assert holders_text(known, NAMES.__getitem__, NOON_US + HOUR_US) == text


def test_another_day_is_told():
    assert moment(NOON_US, NOON_US + HOUR_US) == "12:02"
    assert moment(NOON_US, NOON_US + 24 * HOUR_US) == "2026-05-03 12:02"
