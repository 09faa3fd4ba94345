"""Keys, and the screen when the node does not do as it should."""

import asyncio
import dataclasses
import threading

import pytest
from textual.events import Key, Paste
from textual.filter import Monochrome, NoColor

from tests.tui.node import ANA, BEN, EVA, ME, MIA, NOW_US, FakeNode, hostile, id_of, message, usual
from tests.tui.screen import PATIENCE_S, shown
from tinyssb_node.catalog.rows import PUBLIC, ArrivingRow, ConversationRow
from tinyssb_node.tui import limits
from tinyssb_node.tui.app import Tui
from tinyssb_node.tui.screen_state import ScreenRequest, ScreenState
from tinyssb_node.tui.widgets import MessageInput, RowList


def mesh(count: int) -> ScreenState:
    """A long conversation."""
    rows = [message(str(number), ANA, f"text {number}", number) for number in range(count)]
    public = ConversationRow(name=PUBLIC, members=(), messages=count, last=rows[-1])
    return dataclasses.replace(usual(), conversations=[public], messages=rows)


class PagedNode(FakeNode):
    """A node that answers with no more messages than it may."""

    def look(self, asked: ScreenRequest) -> ScreenState:
        sight = super().look(asked)
        rows = [row for row in sight.messages if row.placed is not None]
        if asked.before is not None:
            rows = [row for row in rows if row.order < asked.before][-limits.MESSAGES_MAX :]
        elif asked.after is not None:
            rows = [row for row in rows if row.order > asked.after][: limits.MESSAGES_MAX]
        else:
            rows = rows[-limits.MESSAGES_MAX :]
        return dataclasses.replace(sight, messages=rows)


async def test_what_is_written_is_sent_where_one_is() -> None:
    node = FakeNode(usual())
    async with shown(node, "w", *"hi", "space", *"you", "enter") as screen:
        assert node.done == [("say", PUBLIC, "hi you", None)]
        assert "the message is on the disk" in screen.text()
        assert screen.app.query_one(MessageInput).text == ""
        await screen.press("escape", "shift+tab", "down")
        assert "How much bread?" in screen.text()
        assert "> private, to Eva" in screen.text()
        await screen.press("w", *"two", "enter")
        assert node.done[1:] == [("say", "00112233aabbccdd", "two", None)]


async def test_a_reply_goes_to_the_message_that_was_chosen() -> None:
    node = FakeNode(usual())
    async with shown(node, "home", "down", "r", "y", "ctrl+j", "z", "enter") as screen:
        assert node.done == [("say", PUBLIC, "y\nz", id_of("b"))]
        assert "> to everybody" in screen.text()


async def test_keys_that_come_in_a_bunch_go_where_they_were_meant_to() -> None:
    node = FakeNode(usual())
    async with shown(node) as screen:
        for key in ("w", *"qb", "space", *"q1?", "enter"):
            character = {"space": " ", "enter": "\r"}.get(key, key)
            screen.app.post_message(Key(key, character))
        async with asyncio.timeout(PATIENCE_S):
            while not node.done:
                await screen.settle()
    assert node.done == [("say", PUBLIC, "qb q1?", None)]


def test_without_colours_the_terminals_own_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    kinds = {type(one) for one in Tui(FakeNode(usual()))._filters}
    assert NoColor in kinds
    assert Monochrome not in kinds  # It makes black letters on black of the terminal's own colours.


async def test_nothing_is_sent_where_nothing_is_written() -> None:
    node = FakeNode(usual())
    async with shown(node, "w", "enter", "space", "ctrl+j", "enter"):
        assert node.done == []


async def test_text_stays_when_it_could_not_be_published_and_when_one_leaves() -> None:
    node = FakeNode(usual(), refusing=True)
    async with shown(node, "w", *"keep", "enter") as screen:
        assert "! The disk is full." in screen.text()
        assert screen.app.query_one(MessageInput).text == "keep"
        await screen.press("escape", "2", "1", "w")
        node.refusing = False
        await screen.press("end", "enter")
        assert node.done == [("say", PUBLIC, "keep", None)]


async def test_people_are_written_to_followed_and_blocked() -> None:
    node = FakeNode(usual())
    async with shown(node, "2", "f", "down", "b", "m", "o", "enter") as screen:
        await screen.press("escape", "2", "home", "down", "down", "m", "k", "enter")
        await screen.press("escape", "2", "down", "f", "b")
    assert node.done == [
        ("follow", ANA, False),
        ("block", BEN, True),
        ("tell", (BEN,), "o"),
        ("say", "00112233aabbccdd", "k", None),
        ("follow", MIA, True),
        ("block", MIA, False),
    ]


async def test_of_oneself_nothing_is_asked() -> None:
    node = FakeNode(usual())
    async with shown(node, "2", "end", "f", "b", "m", "4", "end", "f"):
        assert node.done == []


async def test_feeds_are_followed_or_not() -> None:
    node = FakeNode(usual())
    async with shown(node, "4", "f", "down", "down", "down", "f"):
        assert node.done == [("follow", ANA, False), ("follow", MIA, True)]


async def test_new_messages_come_in_below_and_what_one_reads_stays() -> None:
    node = FakeNode(dataclasses.replace(usual(), waiting=()))
    async with shown(node) as screen:
        newest = message("new", EVA, "Did you see the ibex?", 95)
        node.sight = dataclasses.replace(node.sight, messages=[*node.sight.messages, newest])
        await screen.look()
        assert "Did you see the ibex?" in "".join(screen.reversed())
        await screen.press("home")
        later = message("later", EVA, "It is gone.", 96)
        node.sight = dataclasses.replace(node.sight, messages=[*node.sight.messages, later])
        await screen.look()
        assert "Bridge is out" in "".join(screen.reversed())
        assert "It is gone." in screen.text()


async def test_a_star_stands_at_what_is_new_elsewhere_until_it_is_read() -> None:
    node = FakeNode(usual())
    async with shown(node) as screen:
        assert "*Eva" not in screen.text()
        public, private = node.sight.conversations
        news = message("n", EVA, "And cheese?", 97, conversation=private.name, private=True)
        node.sight = dataclasses.replace(
            node.sight,
            conversations=[dataclasses.replace(private, last=news), public],
            messages=[*node.sight.messages, news],
        )
        await screen.look()
        assert "*Eva" in screen.text()
        assert ">everybody" in screen.text()
        await screen.press("shift+tab", "up")
        assert ">Eva" in screen.text()
        assert "And cheese?" in screen.text()
        await screen.press("down")
        assert "*Eva" not in screen.text()


async def test_a_long_conversation_is_read_in_pieces() -> None:
    whole = mesh(1_000)
    node = PagedNode(whole)
    async with shown(node) as screen:
        assert "text 999" in screen.text()
        for _ in range(3):
            await screen.press("home", "up")
        assert node.asked[-1] == ScreenRequest(before=whole.messages[700].order)
        assert "earlier messages: End shows the latest" in screen.text()
        assert max(len(node.look(asked).messages) for asked in tuple(node.asked)) == limits.MESSAGES_MAX
        await screen.press("down")
        assert node.asked[-1] == ScreenRequest(before=whole.messages[700].order)
        for _ in range(3):
            screen.app.query_one("#messages", RowList).highlighted = limits.MESSAGES_MAX - 1
            await screen.press("down")
        assert node.asked[-1] == ScreenRequest(after=whole.messages[802].order)
        await screen.press("end")
        assert node.asked[-1] == ScreenRequest()
        assert "text 999" in screen.text()


async def test_the_screen_answers_while_the_node_does_not() -> None:
    node = SlowNode(usual())
    async with shown(node) as screen:
        node.slow = True
        screen.app.look_soon()
        await screen.pilot.pause()
        await screen.pilot.press("3")
        await screen.pilot.pause()
        assert "868.0-868.6 MHz" in screen.text()
        assert screen.app.busy
        node.go_on.set()
        await screen.settle()


async def test_nothing_is_said_to_everybody_because_the_node_is_slow() -> None:
    node = SlowNode(usual())
    async with shown(node, "shift+tab") as screen:
        node.slow = True
        for key in ("down", "w", *"hush", "enter"):
            await screen.pilot.press(key)
        assert "> private, to Eva" in screen.text()
        node.go_on.set()
        await screen.settle()
    assert node.done == [("say", "00112233aabbccdd", "hush", None)]


class SlowNode(FakeNode):
    """A node that answers when the test lets it."""

    def __init__(self, sight: ScreenState) -> None:
        super().__init__(sight)
        self.slow = False
        self.go_on = threading.Event()

    def look(self, asked: ScreenRequest) -> ScreenState:
        if self.slow:
            assert self.go_on.wait(10)
        return super().look(asked)


async def test_many_wishes_for_a_look_are_one() -> None:
    node = FakeNode(usual())
    async with shown(node) as screen:
        looks = len(node.asked)
        for _ in range(50):
            screen.app.look_soon()
        await screen.settle()
        assert len(node.asked) <= looks + 2


async def test_a_daemon_that_goes_and_comes_is_told_and_all_stays_shown() -> None:
    node = FakeNode(usual())
    async with shown(node) as screen:
        node.sight = dataclasses.replace(usual(), away="The node's daemon is not running.", away_us=NOW_US)
        await screen.look()
        assert "not running. Shown: state of 14:00. Retrying." in screen.text()
        assert "Bridge is out" in screen.text()
        node.sight = usual()
        await screen.look()
        assert "not running" not in screen.text()
        node.sight = dataclasses.replace(usual(), fault="The index is damaged.")
        await screen.look()
        assert "! The index is damaged." in screen.text()


async def test_the_window_may_be_any_size() -> None:
    node = FakeNode(hostile())
    async with shown(node) as screen:
        for key, width, height in (("1", 20, 6), ("2", 3, 2), ("3", 9, 3), ("4", 60, 20), ("5", 200, 60)):
            await screen.pilot.resize_terminal(width, height)
            await screen.press(key)
            screen.check(width)


async def test_what_is_pasted_cannot_reach_the_terminal() -> None:
    async with shown(FakeNode(usual()), "w") as screen:
        box = screen.app.query_one(MessageInput)
        box.post_message(Paste("a\x1b[2Jb\r\nc\u202e" + "d" * 10_000))
        await screen.settle()
        assert box.text == "a[2Jb\nc" + "d" * 10_000
        screen.check(80)


async def test_nothing_is_cut_off_a_pasted_text() -> None:
    async with shown(FakeNode(usual()), "w") as screen:
        box = screen.app.query_one(MessageInput)
        box.post_message(Paste("d" * (limits.PASTE_MAX + 1)))
        await screen.settle()
        assert box.text == ""
        assert "The pasted text has 65,537 characters" in screen.text()
        box.post_message(Paste("d" * limits.PASTE_MAX))
        await screen.settle()
        assert len(box.text) == limits.PASTE_MAX


async def test_the_cost_is_shown_while_one_writes() -> None:
    async with shown(FakeNode(usual()), "w", pause_s=0.001) as screen:
        await screen.press("s", "o", "u", "p")
        await screen.until("4 packets, 0.4 s of airtime")
        assert "to everybody" in screen.text()
        await screen.press("backspace")
        await screen.until("3 packets, 0.4 s of airtime")
        await screen.press("enter")
        assert "of airtime" not in screen.text()


async def test_messages_of_pzp_are_a_page() -> None:
    async with shown(FakeNode(usual()), "z") as screen:
        assert "post of 3yZe, 2 messages:" in screen.text()
        assert "\x1b" not in screen.text()
        await screen.press("escape", "1")
        assert ">everybody" in screen.text()


async def test_pages_open_and_close_and_q_ends_it() -> None:
    node = FakeNode(usual())
    async with shown(node, "question_mark") as screen:
        assert "while writing: send" in screen.text()
        await screen.press("down", "up", "escape", "5", "enter")
        assert '"kind": "refused"' in screen.text()
        await screen.press("q", "1")
        assert ">everybody" in screen.text()
        await screen.press("w", "q")
        assert screen.app.query_one(MessageInput).text == "q"
        await screen.press("escape")
        await screen.pilot.press("q")
    assert sorted(node.ended) == ["looking", "writing"]


def test_our_own_feed_is_me() -> None:
    assert usual().names.name(ME) == "me"


async def test_a_big_message_asks_first() -> None:
    node = FakeNode(usual())
    async with shown(node, "w", *"long", "enter") as screen:
        assert "This message takes 21 packets." in screen.text()
        await screen.press("escape")
        assert node.done == []
        assert "long" in screen.text()
        await screen.press("enter", "y")
        assert node.done == [("say", PUBLIC, "long", None)]
        assert "Published" in screen.text()


async def test_unread_conversations_are_marked_until_they_are_shown() -> None:
    """Across starts of the screen: what was read elsewhere is not new here."""
    sight = usual()
    last = {row.name: row.last.placed for row in sight.conversations if row.last and row.last.placed}
    assert len(last) > 1
    other = next(name for name in last if name != PUBLIC)
    node = FakeNode(dataclasses.replace(sight, read={PUBLIC: 1, other: last[other]}, older=2))
    async with shown(node) as screen:
        assert node.marked == [{PUBLIC: last[PUBLIC]}]
        assert "2 older messages arrived further up" in screen.text()
    private = message("in private", EVA, "psst", 59, conversation=other)
    node = FakeNode(dataclasses.replace(sight, read={}, messages=[*sight.messages, private]))
    async with shown(node) as screen:
        assert len([line for line in screen.lines() if line.startswith("*")]) >= 1
        await screen.press("shift+tab", "down")
        assert [*node.marked[-1]] == [other]
        assert not [line for line in screen.lines() if line.startswith("*Eva")]


async def test_what_arrives_is_told_above_the_public_messages() -> None:
    row = ArrivingRow(
        id=message("f", BEN, "", 1).id, feed=BEN, seq=9, is_file=True, name="map\x1b[2J.webp", size=9_000, chunks=91,
        chunks_held=12,
    )  # fmt: skip
    async with shown(FakeNode(dataclasses.replace(usual(), arriving=[row])), size=(120, 40)) as screen:
        assert "arriving: map\\x1b[2J.webp of Ben" in screen.text()
        assert "12 of 91 packets" in screen.text()
