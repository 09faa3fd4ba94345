"""Private groups on the screen: conversations like others, read and written through the daemon."""

import dataclasses

from tests.tui.node import ANA, BEN, HOSTILE, ME, FakeNode, message, usual
from tests.tui.screen import shown
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.tui.screen_state import ScreenState

GROUP = "5a" * 20


def with_group(title: str | None = "Hut crew", note: str = "") -> ScreenState:
    sight = usual()
    said = message("in the group", ANA, "Only for us.", 3, conversation=GROUP, private=True)
    room = GroupConversation(
        name=GROUP, members=tuple(sorted((ANA, BEN, ME))), messages=1, last=said, title=title, note=note
    )
    return dataclasses.replace(sight, groups=[room], messages=[*sight.messages, said])


async def test_a_group_is_opened_and_written_to() -> None:
    node = FakeNode(with_group())
    async with shown(node) as screen:
        assert " Hut crew 5a5a" in screen.text()
        await screen.press("shift+tab", "down", "down")
        assert node.asked[-1].conversation == GROUP
        assert ">Hut crew" in screen.text()
        assert f"Ana {ANA.hex()[:4]}: Only for us." in screen.text()
        assert "> to the group Hut crew 5a5a5a5a" in screen.text()
        await screen.press("enter", "w", *"hi", "enter")
        assert node.done == [("say", GROUP, "hi", None)]


async def test_nothing_in_a_group_is_answered_by_itself() -> None:
    node = FakeNode(with_group())
    async with shown(node) as screen:
        await screen.press("shift+tab", "down", "down", "enter", "r", *"yes", "enter")
        assert node.done == [("say", GROUP, "yes", None)]
        await screen.press("escape", "enter")
        assert "entry " not in screen.text()


async def test_whom_one_writes_to_privately_is_never_a_group() -> None:
    sight = with_group()
    room = dataclasses.replace(sight.groups[0], members=tuple(sorted((ANA, ME))))
    node = FakeNode(dataclasses.replace(sight, groups=[room]))
    async with shown(node) as screen:
        await screen.press("2", "m", *"psst", "enter")
        assert node.done == [("tell", (ANA,), "psst")]


async def test_a_group_without_a_name_or_with_a_wicked_one_does_no_harm() -> None:
    for title, note in ((None, "you left this group"), (HOSTILE, "")):
        async with shown(FakeNode(with_group(title, note))) as screen:
            await screen.press("shift+tab", "down", "down")
            screen.check(80)
            assert note in screen.text()
            if title is None:
                assert "group 5a5a5a5a" in screen.text()
