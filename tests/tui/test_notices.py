"""Notifications through the terminal: of what others write, and without their text."""

import dataclasses

from tests.tui.node import ANA, BEN, FakeNode, message, usual
from tests.tui.screen import Screen
from tests.tui.test_groups import with_group
from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.tui.app import Tui
from tinyssb_node.tui.notices import ArrivalCounter, Notice, sequence
from tinyssb_node.tui.screen_state import ScreenState


def with_last(sight: ScreenState, row: MessageRow) -> ScreenState:
    first, *others = sight.conversations
    return dataclasses.replace(sight, conversations=[dataclasses.replace(first, last=row), *others])


def test_what_others_write_counts_once_and_nothing_at_first() -> None:
    counter, sight = ArrivalCounter(), usual()
    assert counter.look(sight.rooms) == 0
    assert counter.look(sight.rooms) == 0
    assert counter.look(with_last(sight, message("own", sight.people[-1].feed, "mine", 95)).rooms) == 0
    assert counter.look(with_last(sight, message("new", BEN, "theirs", 96)).rooms) == 1
    assert counter.look(with_last(sight, message("new", BEN, "theirs", 96)).rooms) == 0


def test_muted_groups_and_groups_that_come_with_the_daemon_do_not_count() -> None:
    counter, sight = ArrivalCounter(), with_group()
    assert counter.look(sight.conversations) == 0
    assert counter.look(sight.rooms) == 0
    (group,) = [one for one in sight.groups if one.last is not None][:1]
    later = dataclasses.replace(group, last=message("later", ANA, "hi", 99))
    muted = dataclasses.replace(later, muted=True)
    assert isinstance(later, GroupConversation)
    assert counter.look([*sight.conversations, muted]) == 0
    counter = ArrivalCounter()
    counter.look(sight.rooms)
    assert counter.look([*sight.conversations, later]) == 1


def test_no_text_of_strangers_reaches_the_terminal() -> None:
    assert sequence(Notice.BELL, 3) == "\a"
    assert sequence(Notice.OSC9, 1) == "\x1b]9;tinySSB: new messages\x1b\\"
    assert sequence(Notice.OSC777, 2) == "\x1b]777;notify;tinySSB;New messages in 2 conversations\x1b\\"


async def test_the_screen_notifies_once() -> None:
    node, told = FakeNode(usual()), list[int]()
    app = Tui(node, look_s=None, notify=told.append)
    async with app.run_test(size=(80, 24)) as pilot:
        screen = Screen(app, pilot)
        await screen.settle()
        assert told == []
        node.sight = with_last(node.sight, message("new", BEN, "theirs", 96))
        await screen.look()
        await screen.look()
    assert told == [1]
