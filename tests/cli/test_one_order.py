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


def listings(person: Person) -> dict[str, list[Any]]:
    """The public conversation on every screen of a node: id, text and times of each message."""

    def line(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["id"], row["text"], row["order"], row["doubtful"]

    home = str(person.running.home)
    found = {
        "chat": [line(row) for row in person.objects("chat", "--last", "99")],
        "thread": [line(row) for row in person.objects("thread", "show", "public", "--last", "99")],
    }
    source = NodeScreenSource(home, None)
    try:
        rows = source.look(ScreenRequest(conversation=PUBLIC)).messages
    finally:
        source.end_looking()
        source.end_writing()
    found["tui"] = [(row.id.hex(), row.text, row.order, row.doubtful) for row in rows]
    with NodeSession.at_home(home) as node:
        node.catch_up()
        page = views.messages(node, PUBLIC, before=None, limit=99)["rows"]
    assert isinstance(page, list)
    found["web"] = [line(row) for row in page]
    return found


def markdown(person: Person) -> str:
    """The exported thread without names, which each node gives itself."""
    return re.sub(r"^\*\*.*?\*\*,", "", person.types("thread", "export", "public"), flags=re.MULTILINE)


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
        texts = [text for _, text, *_ in shown]
        south_side = ["Bridge is out", "Since when?", "Since noon", "I go around", "I just woke up"]
        assert [text for text in texts if text in south_side] == south_side
        if years == 0:
            assert texts[1:4] == ["Anybody on the north side?", "Since when?", "The path is dry here"]
        assert len({markdown(one) for one in (ana, bob, cyd, dan)}) == 1
