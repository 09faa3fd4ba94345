"""Which radios somebody has tried on hardware: the README says what the profiles say."""

import re

from firmware_bridge.boards import board_names, load_board
from tests.docs import pages


def test_the_readme_says_what_the_profiles_say() -> None:
    table = pages.read("README.md").partition("## Tried on")[2].partition("\n## ")[0]
    (count, boards) = re.findall(r"\[(\d+) profiles\]\([^)]+\)[^|]*\| ([^|]+) \|", table)[0]
    assert int(count) == len(board_names())
    tried = [name for name in board_names() if load_board(name).tried]
    assert [name for name in tried if name not in boards] == []
    assert (boards == "nobody yet") == (not tried)


def test_it_is_near_the_top() -> None:
    assert len(pages.read("README.md").partition("## Tried on")[0].splitlines()) < 20
