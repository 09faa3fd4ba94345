"""Four nodes, split and joined late, show the same conversation in the same order, on every screen."""

import contextlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_talk_daemons import Person
from tests.daemon.processes import daemon, make_home
from tests.daemon.test_process_networks import free_udp_port
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.content.references import message_text
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.talkjson import message_json
from tinyssb_node.tui.screen_state import ScreenRequest
from tinyssb_node.tui.source import NodeScreenSource
from tinyssb_node.web import views

NOW_S = 1_760_000_000
YEAR_S = 365 * 86_400


def says(person: Person, text: str, minute: int, *, years: int = 0) -> str:
    """Post a text by a clock that a test can set; return its id."""
    tips = [row["id"] for row in person.objects("chat", "--last", "99")][-1:]
    said_s = NOW_S + 60 * minute + years * YEAR_S
    refs = [message_text(MessageId.from_hex(one)) for one in tips]
    (row,) = person.objects("publish", "--bipf", json.dumps(["TAV", refs, text, None, said_s]))
    return str(row["id"])


def line(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return what all nodes show alike of a message: all but when it came, and names, which each node gives itself."""
    return row["id"], row["order"], row["doubtful"], row["kind"] == "happening" or row["text"]


def listings(person: Person) -> dict[str, list[Any]]:
    """Return the public conversation on every screen of a node."""
    return {
        "chat": [line(row) for row in person.objects("chat", "--last", "99")],
        "thread": [line(row) for row in person.objects("thread", "show", "public", "--last", "99")],
        **screens(person, PUBLIC),
    }


def group_listings(person: Person, group: str) -> dict[str, list[Any]]:
    """Return a private group on every screen of a node."""
    read = person.objects("group", "read", group, "--last", "99")
    chat = [line(row) for row in person.objects("chat", "--group", group, "--last", "99")]
    # This command lists the group's own words for kinds, and no text of a change.
    assert [(row["id"], row["order"]) for row in read] == [(id_, order) for id_, order, *_ in chat]
    return {"chat": chat, **screens(person, group)}


def screens(person: Person, conversation: str) -> dict[str, list[Any]]:
    """Return a conversation in the terminal screen and on the page."""
    home = str(person.running.home)
    source = NodeScreenSource(home, None)
    try:
        rows = source.look(ScreenRequest(conversation=conversation)).messages
    finally:
        source.end_looking()
        source.end_writing()
    with NodeSession.at_home(home) as node:
        node.catch_up()
        page = views.messages(node, conversation, before=None, limit=99)["rows"]
        names = node.names()
    assert isinstance(page, list)
    return {"tui": [line(message_json(row, names)) for row in rows], "web": [line(row) for row in page]}


def markdown(person: Person, *thread: str) -> str:
    """The exported thread without names, which each node gives itself."""
    return re.sub(r"^\*\*.*?\*\*,", "", person.types("thread", "export", *thread), flags=re.MULTILINE)


@pytest.mark.parametrize("years", [0, 60, -5], ids=["right-clocks", "one-far-ahead", "one-far-behind"])
def test_four_nodes_show_one_order_after_splits_and_a_late_start(tmp_path: Path, years: int) -> None:
    with contextlib.ExitStack() as stack:
        faces = [f"udp:239.5.5.9:{free_udp_port()}?interface=lo&ttl=0" for _ in range(2)]

        def start(name: str, face: str) -> Person:
            feed = make_home(tmp_path / name, face, name=name)
            return Person(stack.enter_context(daemon(tmp_path / name)), feed.hex())

        ana, bob = start("ana", faces[0]), start("bob", faces[0])
        cyd = start("cyd", faces[1])
        for one, other in ((ana, bob), (bob, ana)):
            one.types("follow", other.feed)
        says(ana, "Bridge is out", 0)
        bob.sees("Bridge is out", "chat")
        says(bob, "Since when?", 5, years=years)
        ana.sees("Since when?", "chat")
        says(ana, "Since noon", 9)
        says(cyd, "Anybody on the north side?", 3)
        says(cyd, "The path is dry here", 7)
        bob.sees("Since noon", "chat")
        says(bob, "I go around", 11, years=years)
        ana.sees("I go around", "chat")
        # The two sides meet by files, in another order on each node; a fourth node starts only now.
        dan = start("dan", faces[1])
        south, north = tmp_path / "south.tssb", tmp_path / "north.tssb"
        ana.types("export", str(south))
        cyd.types("export", str(north))
        for one, files in ((ana, [north]), (bob, [north]), (cyd, [south]), (dan, [north, south])):
            for file in files:
                one.types("import", str(file))
        says(dan, "I just woke up", 20)
        dan.types("export", str(tmp_path / "all.tssb"))
        for one in (ana, bob, cyd):
            one.types("import", str(tmp_path / "all.tssb"))
        nodes = [listings(one) for one in (ana, bob, cyd, dan)]
        shown = nodes[0]["chat"]
        assert len(shown) == 7
        for node in nodes:
            assert all(screen == shown for screen in node.values()), node
        texts = [row[-1] for row in shown]
        south_side = ["Bridge is out", "Since when?", "Since noon", "I go around", "I just woke up"]
        assert [text for text in texts if text in south_side] == south_side
        if years == 0:
            assert texts[1:4] == ["Anybody on the north side?", "Since when?", "The path is dry here"]
        assert len({markdown(one, "public") for one in (ana, bob, cyd, dan)}) == 1


def post(person: Person, text: str, *answered: str) -> str:
    """Post a text to the group, or an answer; return its id."""
    reply = ("--reply", answered[0]) if answered else ()
    (row,) = person.objects("group", "post", "Hut", *reply, text)
    return str(row["entries"][-1]["id"])


def carry(file: Path, one: Person, *others: Person) -> None:
    """Bring all that one person has to others, by a file."""
    one.types("export", str(file))
    for other in others:
        for _ in range(3):  # with each feed of the group the next ones become known
            other.types("import", str(file))
    file.unlink()


def test_four_nodes_show_a_group_in_one_order_after_splits_and_a_late_start(tmp_path: Path) -> None:
    names = ("ana", "bob", "cyd", "dan")
    feeds = {name: make_home(tmp_path / name, name=name).hex() for name in names}
    stick = tmp_path / "stick.tssb"
    with contextlib.ExitStack() as stack:

        def start(name: str) -> Person:
            person = Person(stack.enter_context(daemon(tmp_path / name)), feeds[name])
            for other in feeds.values():
                if other != person.feed:
                    person.types("follow", other)
            return person

        ana, bob, cyd = map(start, names[:3])
        carry(stick, bob, ana)
        carry(stick, cyd, ana)
        (made,) = ana.objects("group", "create", "Hut", *(feeds[name] for name in names[1:]))
        question = post(ana, "Bridge is out")
        carry(stick, ana, bob, cyd)
        cyd.sees("Bridge is out", "group", "read", "Hut")
        # Two sides that do not hear each other.
        bob.sees("Bridge is out", "group", "read", "Hut")
        post(bob, "Since when?", question)
        post(cyd, "Anybody on the north side?")
        carry(stick, bob, ana)
        ana.sees("Since when?", "group", "read", "Hut")
        post(ana, "Since noon", question)
        post(cyd, "The path is dry here", question)
        carry(stick, ana, bob)
        bob.sees("Since noon", "group", "read", "Hut")
        # They meet, in another order on each node; a fourth node starts only now.
        dan = start("dan")
        carry(stick, cyd, ana, bob)
        carry(stick, ana, cyd, dan)
        dan.sees("Since noon", "group", "read", made["group"][:8])
        post(dan, "I just woke up", question)
        carry(stick, dan, ana, bob, cyd)
        all_four = (ana, bob, cyd, dan)
        for one in all_four:
            one.sees("I just woke up", "group", "read", "Hut")
        nodes = [group_listings(one, made["group"]) for one in all_four]
        shown = nodes[0]["chat"]
        texts = [row[-1] for row in shown if row[-1] is not True]
        assert (texts[0], texts[-1], len(texts)) == ("Bridge is out", "I just woke up", 6)
        for node in nodes:
            assert all(screen == shown for screen in node.values()), node
        threads = {markdown(one, question[:8], "--group", "Hut") for one in all_four}
        assert len(threads) == 1
        assert "I just woke up" in threads.pop()


def test_what_was_read_in_a_group_is_known_after_a_restart(tmp_path: Path) -> None:
    feeds = {name: make_home(tmp_path / name, name=name).hex() for name in ("ana", "bob")}
    stick = tmp_path / "stick.tssb"

    def unread(person: Person) -> list[tuple[int, str]]:
        return [(row["unread"], row["latest"]["text"]) for row in person.objects("inbox")]

    with daemon(tmp_path / "ana") as running:
        ana = Person(running, feeds["ana"])
        with daemon(tmp_path / "bob") as first:
            bob = Person(first, feeds["bob"])
            ana.types("follow", bob.feed)
            bob.types("follow", ana.feed)
            carry(stick, bob, ana)
            ana.objects("group", "create", "Hut", bob.feed)
            for text in ("one", "a long one " * 30):
                post(ana, text)
            carry(stick, ana, bob)
            bob.sees("a long one", "group", "read", "Hut", "--json")
            assert unread(bob)[0][0] == 2
            assert "one" in bob.types("chat", "--group", "Hut")
            assert unread(bob) == []
        post(ana, "two")
        with daemon(tmp_path / "bob") as second:
            bob = Person(second, feeds["bob"])
            assert unread(bob) == []
            carry(stick, ana, bob)
            bob.sees("two", "group", "read", "Hut", "--json")
            assert unread(bob) == [(1, "two")]
        with daemon(tmp_path / "bob") as third:
            bob = Person(third, feeds["bob"])
            assert unread(bob) == [(1, "two")]
            (row,) = bob.objects("chat", "--group", "Hut", "--arrived", "1")
            assert row["text"] == "two"
            (row,) = bob.objects("group", "read", "Hut", "--arrived", "1")
            assert row["text"] == "two"
            assert unread(bob) == [(1, "two")], "a program reads for nobody"
            shown = bob.types("group", "read", "Hut", "--arrived", "1")
            assert shown.endswith("  two\n")
            assert unread(bob) == []
