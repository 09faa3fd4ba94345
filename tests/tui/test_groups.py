"""Private groups on the screen: conversations like others, read and written through the daemon."""

import dataclasses

import pytest

from tests.tui.node import ANA, BEN, EVA, HOSTILE, ME, FakeNode, id_of, message, usual
from tests.tui.screen import shown
from tinyssb_node.catalog.rows import MessageKind
from tinyssb_node.content.files import File
from tinyssb_node.control.group_rows import GroupReviewRow
from tinyssb_node.screens.group_changes import GroupAction, GroupChange
from tinyssb_node.screens.group_conversations import NOTES, GroupConversation, waiting_reviews
from tinyssb_node.screens.group_files import GroupFileDraft
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


async def test_who_was_excluded_sees_it_above_the_messages() -> None:
    async with shown(FakeNode(with_group(note=NOTES["excluded"])), "shift+tab", "down", "down") as screen:
        assert "you were excluded" in screen.text()


async def test_messages_that_are_missing_are_counted_above_the_others() -> None:
    sight = with_group()
    (room,) = sight.groups
    lacking = dataclasses.replace(sight, groups=[dataclasses.replace(room, lacking=2)])
    async with shown(FakeNode(lacking), "shift+tab", "down", "down", size=(160, 24)) as screen:
        assert "2 messages are missing here, or not readable for you" in screen.text()


@pytest.mark.parametrize("key", ["w", "r"])
async def test_who_was_excluded_is_offered_no_line_to_write_in(key: str) -> None:
    node = FakeNode(with_group(note=NOTES["excluded"]))
    async with shown(node, "shift+tab", "down", "down", "enter") as screen:
        assert "> you cannot write to this group: you were excluded" in screen.text()
        await screen.press(key, *"hi", "enter")
        assert node.done == []


async def test_a_message_in_a_group_is_answered() -> None:
    node = FakeNode(with_group())
    async with shown(node) as screen:
        await screen.press("shift+tab", "down", "down", "enter", "r", *"yes", "enter")
        assert node.done == [("say", GROUP, "yes", id_of("in the group"))]
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


IN_GROUP = ("shift+tab", "down", "down", "enter", "o")
"""Keys that open the group and its menu."""


async def test_the_menu_shows_who_can_read_what() -> None:
    async with shown(FakeNode(with_group()), *IN_GROUP, "enter") as screen:
        screen.check(80)
        assert "me: everything" in screen.text()


async def test_people_are_excluded_only_after_the_cost_was_shown() -> None:
    node = FakeNode(with_group())
    async with shown(node, *IN_GROUP, "down", "down", "down", "enter") as screen:
        # Ourselves are not in the list.
        assert screen.text().count("[ ]") == 2
        await screen.press("down", "space", "enter")
        screen.check(80)
        assert "exclude Ben" in screen.text()
        assert "16 packets, 3.3 s of airtime" in screen.text()
        await screen.press("enter", "escape")
        assert node.done == []
        await screen.press("o", "down", "down", "down", "enter", "space", "down", "space", "enter", "y")
        ((word, change),) = node.done
        assert isinstance(change, GroupChange)
        assert (word, change.action, change.group) == ("group", GroupAction.EXCLUDE, GROUP)
        assert set(change.people) == {ANA, BEN}
        assert "Did exclude." in screen.text()


async def test_people_who_are_not_members_are_added() -> None:
    node = FakeNode(with_group())
    async with shown(node, *IN_GROUP, "down", "down", "enter") as screen:
        assert screen.text().count("[ ]") == 1  # Eva: Mia is blocked
        await screen.press("enter", "y")
        assert node.done == [("group", GroupChange(action=GroupAction.ADD, group=GROUP, people=(EVA,)))]


async def test_a_group_is_left_and_entered_again() -> None:
    node = FakeNode(with_group())
    async with shown(node, *IN_GROUP, *["down"] * 6, "enter", "y"):
        assert node.done == [("group", GroupChange(action=GroupAction.LEAVE, group=GROUP))]
    node = FakeNode(with_group(note="you left this group"))
    async with shown(node, *IN_GROUP) as screen:
        assert "Exclude" not in screen.text()
        await screen.press("down", "enter", "y")
        assert node.done == [("group", GroupChange(action=GroupAction.RETURN, group=GROUP))]


@pytest.mark.parametrize(("downs", "action"), [(1, GroupAction.ACCEPT), (2, GroupAction.DECLINE)])
async def test_an_invitation_is_accepted_or_declined(downs: int, action: GroupAction) -> None:
    node = FakeNode(with_group(note=NOTES["invited"]))
    async with shown(node, *IN_GROUP) as screen:
        assert "Exclude" not in screen.text()
        await screen.press(*["down"] * downs, "enter", "y")
        assert node.done == [("group", GroupChange(action=action, group=GROUP))]


async def test_the_older_messages_of_a_group_are_requested() -> None:
    node = FakeNode(with_group(note=NOTES["arriving"]))
    async with shown(node, *IN_GROUP) as screen:
        assert "Exclude" not in screen.text()
        await screen.press("down", "enter", "y")
        assert node.done == [("group", GroupChange(action=GroupAction.HISTORY, group=GROUP))]


async def test_a_group_is_created_with_a_name_and_people() -> None:
    node = FakeNode(with_group())
    async with shown(node, "o", "enter", *"Ski", "enter") as screen:
        screen.check(80)
        await screen.press("space", "enter")
        screen.check(80)
        assert "read by no thief of a device" in screen.text()
        await screen.press("down", "down", "enter", "y")
        ((_, change),) = node.done
        assert isinstance(change, GroupChange)
        assert (change.action, change.name, len(change.people)) == (GroupAction.CREATE, "Ski", 1)
        assert change.erase_days == 7
        await screen.press("o", "enter", *"Never", "escape")
        assert len(node.done) == 1


async def test_a_refused_change_is_shown() -> None:
    node = FakeNode(with_group(), refusing=True)
    async with shown(node, *IN_GROUP, *["down"] * 6, "enter", "y") as screen:
        assert "! The disk is full" in screen.text()


FORK = "33" * 20
REVIEW = GroupReviewRow(
    fork=FORK, by=[EVA.hex()], excluded_by=[ME.hex()], excludes=[BEN.hex()], out=[BEN.hex()],
    reasons=["days"], late_us=30 * 86_400_000_000, messages=1, rejected=False,
)  # fmt: skip


def with_fork() -> ScreenState:
    """Eva excluded Ben long after her own exclusion."""
    sight = with_group()
    room = dataclasses.replace(sight.groups[0], alert=waiting_reviews(1), reviews=1)
    return dataclasses.replace(sight, groups=[room])


async def test_a_fork_that_waits_is_accepted_or_rejected_in_the_menu() -> None:
    node = FakeNode(with_fork(), reviews=[REVIEW])
    async with shown(node, *IN_GROUP) as screen:
        screen.check(80)
        await screen.press("down", "enter")
        assert "Accept: Eva" in screen.text()
        assert f"excluded Ben {BEN.hex()[:8]} (fork 33333333)" in screen.text()
        await screen.press("enter")
        assert "Accept fork?" in screen.text()
        await screen.press("escape")
        assert node.done == []
        await screen.press("o", "down", "enter", "down", "enter", "y")
        change = GroupChange(action=GroupAction.REJECT_FORK, group=GROUP, fork=FORK)
        assert node.done == [("group", change)]


async def test_the_conversation_tells_that_a_fork_waits() -> None:
    async with shown(FakeNode(with_fork()), "shift+tab", "down", "down", size=(120, 40)) as screen:
        assert "waits for your decision: press o" in screen.text()
    async with shown(FakeNode(with_group()), *IN_GROUP) as screen:
        assert "Decide" not in screen.text()


async def test_a_file_is_sent_after_its_cost_was_shown() -> None:
    node = FakeNode(with_group())
    async with shown(node, *IN_GROUP, "down", "enter", *"map", "enter") as screen:
        screen.check(80)
        assert "map: 1 byte" in screen.text()
        assert "in 1 packet" in screen.text()
        await screen.press("escape")
        assert node.done == []
        await screen.press("o", "down", "enter", *"map", "enter", "y")
        ((word, draft),) = node.done
        assert (word, draft) == ("file", GroupFileDraft(GROUP, File("map", "image/webp", b"x")))
        assert "Sent it." in screen.text()


async def test_a_file_of_a_group_is_saved() -> None:
    sight = with_group()
    about = '{"name": "map.webp", "type": "image/webp", "size": 256}'
    file = message("map", ANA, about, 4, conversation=GROUP, private=True, kind=MessageKind.FILE)
    node = FakeNode(dataclasses.replace(sight, messages=[*sight.messages, file]))
    async with shown(node, "shift+tab", "down", "down", "enter", "end") as screen:
        assert "(file map.webp, 256 bytes:" in screen.text()
        await screen.press("s")
        assert node.done == [("save", GROUP, id_of("map"))]
        assert "Saved /tmp/map.webp" in screen.text()
        await screen.press("up", "s")
        assert len(node.done) == 1


async def test_a_message_of_a_group_or_a_conversation_is_shown_with_its_answers() -> None:
    async with shown(FakeNode(with_group()), "shift+tab", "down", "down", "enter", "t") as screen:
        screen.check(80)
        assert f"Yes, {id_of('in the group').hex()[:4]}" in screen.text()
    async with shown(FakeNode(with_group()), "t") as screen:
        assert "Ben in publ: Yes," in screen.text()


async def test_messages_of_groups_are_searched_and_opened() -> None:
    node = FakeNode(with_group())
    async with shown(node, "slash", *"Only", "enter") as screen:
        screen.check(80)
        assert " Found 1\n" in screen.text()
        assert f"Hut crew 5a5a5a5a: Ana {ANA.hex()[:4]}: Only for us." in screen.text()
        await screen.press("enter")
        asked = node.asked[-1]
        assert (asked.conversation, (asked.before or "")[18:]) == (GROUP, f"{id_of('in the group').hex()}00")
        assert "> to the group Hut crew" in screen.text()
    node = FakeNode(with_group(), refusing=True)
    async with shown(node, "slash", *"nothing", "enter") as screen:
        assert "Found 0; groups were not searched" in screen.text()


async def test_a_group_is_renamed_muted_and_unmuted() -> None:
    node = FakeNode(with_group())
    async with shown(node, *IN_GROUP, *["down"] * 4, "enter", *"Ski", "enter", "y") as screen:
        assert node.done == [("group", GroupChange(action=GroupAction.RENAME, group=GROUP, name="Ski"))]
        await screen.press("o", *["down"] * 5, "enter", "y")
        assert node.done[-1] == ("group", GroupChange(action=GroupAction.MUTE, group=GROUP))
    sight = with_group()
    room = dataclasses.replace(sight.groups[0], muted=True)
    node = FakeNode(dataclasses.replace(sight, groups=[room]))
    async with shown(node, *IN_GROUP, *["down"] * 5, "enter", "y") as screen:
        assert node.done == [("group", GroupChange(action=GroupAction.UNMUTE, group=GROUP))]
        assert "; muted" in screen.text()


@pytest.mark.parametrize("muted", [True, False])
async def test_new_messages_of_a_muted_group_are_not_marked(muted: bool) -> None:
    sight = with_group()
    room = dataclasses.replace(sight.groups[0], muted=muted)
    node = FakeNode(dataclasses.replace(sight, groups=[room]))
    async with shown(node) as screen:
        last = message("new", ANA, "And now?", 9, conversation=GROUP, private=True)
        room = dataclasses.replace(room, last=last)
        node.sight = dataclasses.replace(node.sight, groups=[room])
        await screen.look()
        assert ("*Hut crew" in screen.text()) is not muted
