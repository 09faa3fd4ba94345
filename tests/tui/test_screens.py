"""Whole screens, beside copies of them that somebody looked at and found good.

After a change that is meant: ``TINYSSB_SCREENS=write .venv/bin/python -m pytest tests/tui/test_screens.py``; then
read the difference as a stranger would.
"""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.tui import node
from tests.tui.screen import shown
from tests.tui.test_groups import with_group
from tinyssb_node.tui.screen_state import ScreenState

SCREENS = Path(__file__).parent / "screens"
SIGHTS = {
    "usual": node.usual(),
    "hostile": node.hostile(),
    "empty": ScreenState(now_us=node.NOW_US),
    "group": with_group(),
    "away": dataclasses.replace(
        node.usual(), away="The node's daemon is not running.", away_us=node.NOW_US - 9 * node.MINUTE_US
    ),
}


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
@pytest.mark.parametrize("sight", ["usual", "hostile", "empty", "away"])
async def test_conversations(sight: str, size: tuple[int, int]) -> None:
    await compare(f"{sight}-talk", sight, (), size)


VIEWS = {"people": ["2"], "links": ["3"], "feeds": ["4"], "log": ["5", "p"]}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("sight", ["usual", "hostile", "empty"])
async def test_other_views(sight: str, view: str) -> None:
    await compare(f"{sight}-{view}", sight, VIEWS[view], (80, 24))


async def test_pages() -> None:
    await compare("help", "usual", ["question_mark"], (80, 24))
    await compare("usual-page", "usual", ["enter"], (80, 24))
    await compare("hostile-page", "hostile", ["enter"], (80, 24))
    await compare("person-page", "hostile", ["2", "end", "up", "enter"], (80, 24))


@pytest.mark.parametrize("view", ["talk", "people", "links", "feeds", "log"])
async def test_sixty_columns(view: str) -> None:
    await compare(f"usual-{view}", "usual", VIEWS.get(view, []), (60, 24))


async def test_a_reply_being_written() -> None:
    await compare("reply-talk", "usual", ["home", "r", *"Which"], (80, 24))


async def test_groups() -> None:
    menu = ["shift+tab", "down", "down", "enter", "o"]
    await compare("group-menu", "group", menu, (80, 24))
    await compare("group-menu", "group", menu, (60, 24))
    await compare("group-people", "group", [*menu, *["down"] * 3, "enter", "space"], (80, 24))
    await compare("group-preview", "group", [*menu, *["down"] * 3, "enter", "enter"], (80, 24))
    await compare("group-name", "group", ["o", "enter", *"Ski"], (80, 24))


async def compare(name: str, sight: str, keys: Sequence[str], size: tuple[int, int]) -> None:
    async with shown(node.FakeNode(SIGHTS[sight]), *keys, size=size) as screen:
        screen.check(size[0])
        found = "\n".join([*screen.lines(), "", "in reverse:", *screen.reversed()]) + "\n"
    found = "\n".join(line.rstrip() for line in found.splitlines()) + "\n"
    path = SCREENS / f"{name}-{size[0]}x{size[1]}.txt"
    if os.environ.get("TINYSSB_SCREENS") == "write":
        SCREENS.mkdir(exist_ok=True)
        path.write_text(found, "utf-8")
    assert found == path.read_text("utf-8")
