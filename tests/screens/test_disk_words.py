"""Room on the disk, in words."""

import pytest

from tests.nodes import feed_of
from tinyssb_node.control.rows import DiskUseRow, FeedUseRow
from tinyssb_node.screens.disk_words import biggest_words, disk_problem, size_words, use_words


def use(others: int, *, closed: bool = False) -> DiskUseRow:
    biggest = [FeedUseRow(feed_of(1).hex(), others)] if others else []
    return DiskUseRow(
        own=2_560,
        followed=0,
        groups=0,
        others=others,
        others_max=5_000_000,
        biggest=biggest,
        evicted=0,
        closed=closed,
    )


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (2_560, "2.6 kB"),
        (123_456, "123 kB"),
        (45_000_000, "45.0 MB"),
        (3_200_000_000, "3.2 GB"),
        (10**12, "1000.0 GB"),
    ],
)
def test_sizes_are_short(size: int, words: str) -> None:
    assert size_words(size) == words


def test_it_says_for_whom_and_which_are_the_biggest() -> None:
    assert use_words(use(400_000)) == "own 2.6 kB, followed 0 B, groups 0 B, others 400 kB of 5.0 MB"
    assert biggest_words(use(400_000)) == f"{feed_of(1).hex()[:8]} 400 kB"


def test_a_full_share_or_disk_is_a_problem_with_something_to_do() -> None:
    assert disk_problem(use(400_000)) is None
    found, advice = disk_problem(use(4_900_000)) or ("", "")
    assert "4.9 MB, nearly all of their share" in found
    assert f"tinyssb purge {feed_of(1).hex()[:8]}" in advice
    found, advice = disk_problem(use(0, closed=True)) or ("", "")
    assert "are not taken" in found
    assert "disk.reserve_mib" in advice
