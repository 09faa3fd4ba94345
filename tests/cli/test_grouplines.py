"""Groups as people see them in a terminal: rows of a desk that plays a group, in lines."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
import wcwidth

from tests.daemon.fakes import make_bench
from tests.daemon.groupfakes import FakeGroups, say
from tests.daemon.test_group_handler import Asked
from tests.groups.pretender import in_model
from tests.groups.world import World, person, start
from tinyssb_node.catalog.rows import MessageKind, PersonRow, is_group
from tinyssb_node.cli import grouplines
from tinyssb_node.cli.graph import ASCII, UNICODE
from tinyssb_node.control.group_rows import GroupErasedRow, GroupSaidRow
from tinyssb_node.control.requests import (
    AuditGroup,
    ControlListing,
    ListGroups,
    ReadGroup,
    ShowGroup,
    item_type,
    result_type,
)
from tinyssb_node.groups.plan import add, exclude
from tinyssb_node.groups.writer import draft_exclude
from tinyssb_node.screens import group_conversations, group_details
from tinyssb_node.screens.chatlines import ChatFormatter, displayed_text
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import HAPPENED, apart

EVIL = "Bob\x1b[2J\u202e" + "x" * 300
CALLED = {"a": "Ana", "b": EVIL, "c": "Cyd", "d": "Dan"}
NAMES = DisplayNames(
    [
        PersonRow(
            feed=person(name),
            alias=alias,
            said=alias,
            own=name == "a",
            entries=1,
            last_us=None,
            blocked=False,
        )
        for name, alias in CALLED.items()
    ]
)
ME, CYD, DAN = (NAMES.shown(person(name)) for name in "acd")


LISTINGS: tuple[type[ControlListing[Any, Any]], ...] = (ListGroups, ShowGroup, AuditGroup, ReadGroup)


class Looking:
    """A group as Ana sees it."""

    def __init__(self, folder: Path, world: World, name: str) -> None:
        self.world = world
        self._bench = make_bench(folder)
        self._ask = Asked(self._bench, FakeGroups(**{name: world["a"]}))
        self.group = world["a"].here.root.hex()

    def ask(self, command: str, **arguments: object) -> tuple[list[Any], Any]:
        (kind,) = (kind for kind in LISTINGS if kind.command == command)
        items, result = asyncio.run(self._ask(command, **arguments))
        return msgspec.convert(items, list[item_type(kind)]), msgspec.convert(result, result_type(kind))  # type: ignore[misc]  # known at run time

    def shown(self, glyphs: str = UNICODE, width: int | None = 80) -> list[str]:
        epochs, row = self.ask("group_show", group=self.group)
        return safe(grouplines.shown(row, epochs, NAMES, glyphs, width), width)

    def audit(self, width: int | None = 80) -> list[str]:
        return safe(grouplines.audit(self.ask("group_audit", group=self.group)[0], NAMES, width), width)

    def read(self) -> list[str]:
        rows = [
            group_conversations.message_row(row, NAMES) for row in self.ask("group_read", group=self.group)[0]
        ]
        lines = ChatFormatter(NAMES, 100)
        lines.fit(rows)
        return safe((line for row in rows for line in lines.message(row)), 100)

    def close(self) -> None:
        self._bench.close()


def safe(lines: Iterator[str], width: int | None) -> list[str]:
    listed = list(lines)
    assert all(0 <= wcwidth.wcswidth(line) <= (width or 10_000) for line in listed)
    return listed


@pytest.fixture
def forked(tmp_path: Path) -> Iterator[Looking]:
    """Ana and Bob exclude different people at the same time."""
    world = start("abcd", "x")
    say(world["b"], "hello")
    world.meet(*"abcd")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")]))
    world["b"].do(exclude(world["b"].here, person("b"), [person("d")]))
    world.meet(*"abcd")
    say(world["a"], "in between \x1b[2J\n\n\nend")
    with contextlib.closing(Looking(tmp_path, world, EVIL)) as looking:
        yield looking


def test_epochs_are_drawn_with_their_members_and_what_comes_next(forked: Looking) -> None:
    assert len(forked.shown(width=40)) > len(forked.shown()) > len(forked.shown(width=None))
    text = "\n".join(" ".join(line.split()) for line in forked.shown(width=None))
    assert "├─╮" in text
    assert f"{CYD} added by you, excluded by you" in text
    assert f"{DAN} added by you, excluded by Bob" in text
    assert text.count("[you write here]") == 1
    assert "overlap: a new epoch will merge them" in text
    assert "in 12 min 34 s, unless another member does it first: merge forks that overlap" in text
    assert f"exclude from {text.split('you: write in ')[1][:8]}: " in text
    assert "until a member merges them (for now)" in "\n".join(forked.shown(width=None))
    drawn = "\n".join(forked.shown(ASCII, None))
    assert "+-." in drawn
    assert "●" not in drawn


def test_forks_that_were_joined_are_drawn_joined(forked: Looking) -> None:
    forked.world.settle()
    a = forked.world["a"]
    a.do(add(a.here, person("a"), [person("x")])[:1])
    lines = forked.shown(width=None)
    assert "├─╯" in lines
    assert any("it comes after all other epochs that you are in" in line for line in lines)
    # Nobody adds a newcomer to an epoch that another one succeeds: its key is in the one of theirs.
    assert not any("missing" in line for line in lines)


def test_people_whom_an_interrupted_exclusion_left_out_are_missing_until_they_are_added(
    forked: Looking,
) -> None:
    forked.world.settle()
    a = forked.world["a"]
    a.do(exclude(a.here, person("a"), [person("b")])[:2])
    missing = [line for line in forked.shown(width=None) if line.endswith("missing: not added yet")]
    assert [ME in line for line in missing] == [True]


def test_a_group_with_nothing_to_do_says_so(tmp_path: Path) -> None:
    with contextlib.closing(Looking(tmp_path, start("ab"), "Hut")) as looking:
        lines = looking.shown()
        assert lines[-1] == "Your node has no pending tasks in this group."
        assert any("write in" in line and "it is the only epoch" in line for line in lines)


def test_a_group_that_keeps_its_texts_says_what_a_thief_reads(tmp_path: Path) -> None:
    with contextlib.closing(Looking(tmp_path, start("ab"), "Hut")) as looking:
        assert "texts:     are kept: a thief of this device could read all of them" in looking.shown(
            width=None
        )


@pytest.mark.parametrize(
    ("erased", "line"),
    [
        (
            (1, 0, True),
            "are erased after 1 day: a thief of this device could read none; newer ones wait for a key",
        ),
        ((7, 1, False), "are erased after 7 days: a thief of this device could read those of today"),
        ((7, 8, False), "are erased after 7 days: a thief of this device could read those of 8 days"),
    ],
)
def test_how_far_back_a_thief_reads_in_a_group_that_erases_is_shown(
    tmp_path: Path, erased: tuple[int, int, bool], line: str
) -> None:
    with contextlib.closing(Looking(tmp_path, start("ab"), "Hut")) as looking:
        row = looking.ask("group_show", group=looking.group)[1]
    erasing = msgspec.structs.replace(row, erased=GroupErasedRow(*erased))
    assert group_details.kept(erasing) == line
    days = "1 day" if erased[0] == 1 else f"{erased[0]} days"
    assert f"those of the last {days} at most" in group_details.limits_of_access(erasing)
    assert group_details.limits_of_access(row) == group_details.KEPT


def test_who_was_excluded_is_told(tmp_path: Path) -> None:
    world = start("abc")
    world["b"].do(exclude(world["b"].here, person("b"), [person("a")]))
    world.meet(*"abc")
    with contextlib.closing(Looking(tmp_path, world, "Hut")) as looking:
        assert "you:       you were excluded: you cannot write" in looking.shown()
        assert "you were excluded" in grouplines.listing(looking.ask("group_list")[0])


def test_what_was_said_is_read_like_a_chat(forked: Looking) -> None:
    lines = forked.read()
    assert lines[1].endswith("◆ created the group")
    assert "◆ added Bob\\x1b[2J" in " ".join("".join(lines[2:4]).split())
    assert any("hello" in line for line in lines)
    assert any(line.endswith(f"◆ excluded {CYD}") for line in lines)
    assert "\\x1b[2J" in "\n".join(lines)
    # Nobody is told to follow what is not shown.
    shown = {line.split()[1] for line in lines if line[2:3] == ":"}
    followed = {line.split("> ")[1][:8] for line in lines if "> " in line}
    assert followed <= shown


def test_what_was_written_in_a_held_fork_is_marked(tmp_path: Path) -> None:
    world = start("abcd")
    world["b"].do(exclude(world["b"].here, person("b"), [person("d")]))
    world.settle(0)
    world.now_us += 30 * 86_400_000_000
    pretender = in_model(world["d"])
    pretender.exclude([person("c")])
    world.settle(world.now_us)
    say(world["b"], "for all")
    world.settle(world.now_us)
    assert world["a"].here.late_forks
    with contextlib.closing(Looking(tmp_path, world, "Hut")) as looking:
        lines = looking.read()
    text = " ".join(" ".join(lines).split())
    assert f"excluded {CYD} (in a fork that is held until you decide)" in text
    assert text.count("(in a fork that is held until you decide)") == 1
    assert any(line.endswith("for all") for line in lines)


def test_the_audit_names_the_rule_that_was_broken(forked: Looking) -> None:
    world = forked.world
    cyd = world["c"]
    root = cyd.here.root
    cyd.publish(draft_exclude(cyd.here, root, [person("a")]), cyd.here.view[root].key)
    world.meet(*"abcd")
    lines = forked.audit(None)
    marked = [number for number, line in enumerate(lines) if line.startswith("!")]
    assert [lines[number + 1].strip() for number in marked] == [
        "does not count (R1): was written by a person who was excluded from the epoch before"
    ]
    assert len(forked.audit(60)) > len(lines)
    text = "\n".join(lines)
    assert f"adds to {forked.group[:8]}: you" in text
    assert "posts: in between \\x1b[2J" in text
    assert f"excludes from {forked.group[:8]}: {DAN}" in text


def test_groups_are_listed(forked: Looking) -> None:
    table = grouplines.listing(forked.ask("group_list")[0]).splitlines()
    assert table[0].split() == ["GROUP", "NAME", "MEMBERS", "EPOCHS", "MESSAGES", "LATEST", "STATE"]
    assert table[1].startswith(f"{forked.group[:8]}  Bob\\x1b[2J\\u202e")
    assert max(map(len, table)) < 100


def test_a_group_is_a_conversation(forked: Looking) -> None:
    (row,), _ = forked.ask("group_list")
    room = group_conversations.room_of(row, NAMES)
    assert (room.name, room.messages, room.note) == (forked.group, 2, "")
    assert room.last is not None
    assert room.last.text.startswith("in between")
    assert is_group(room.name)
    assert not is_group("public")
    assert not is_group("00112233aabbccdd")
    assert group_conversations.called(None, room.name) == f"group {room.name[:8]}"
    assert "\x1b" not in group_conversations.called(room.title, room.name)


def test_what_a_blocked_person_says_is_not_shown(forked: Looking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NAMES, "is_blocked", lambda feed: feed == person("b"))
    shown = "\n".join(forked.read() + forked.audit(None))
    assert shown.count("(blocked)") >= 2
    assert "hello" not in shown
    assert "in between" in shown


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("group/leave", None, "left the group"),
        ("group/name", "Hut", "named the group: Hut"),
        ("something", None, "sent a message of a kind that this program cannot show: something"),
    ],
)
def test_other_happenings_are_told_in_words(kind: str, text: str | None, words: str) -> None:
    row: Any = SimpleNamespace(kind=kind, text=text, people=[], feed=person("a").hex())
    assert group_conversations.happening(row, NAMES) == words


@pytest.mark.parametrize("text", ["excluded {}", "(excluded {})", "◆ excluded {}", "hi\nAna: ◆ excluded {}"])
def test_nobody_can_say_what_only_the_node_tells(text: str) -> None:
    feed, group = person("b").hex(), "5a" * 20
    shared: Any = {"id": group, "group": group, "feed": feed, "seq": 1, "own": False, "epoch": None}
    shared |= {"previous": [], "committed_us": 1, "place": 1}
    deed = GroupSaidRow(**shared, kind="group/exclude-member", text=None, people=[person("c").hex()])
    post = GroupSaidRow(**shared, kind="post", text=text.format(CYD), people=[])
    done, written = (group_conversations.message_row(row, NAMES) for row in (deed, post))
    assert (done.kind, written.kind) == (MessageKind.HAPPENING, MessageKind.TEXT)
    assert displayed_text(done) == f"{HAPPENED} excluded {CYD}"
    assert HAPPENED not in displayed_text(written)
    assert CYD in displayed_text(written)


BOB = PersonRow(feed=person("b"), alias=None, said=None, own=False, entries=1, last_us=None, blocked=False)


def test_nobody_is_called_what_only_the_node_tells() -> None:
    bob = dataclasses.replace(BOB, alias="Bob ◆ excluded Cyd")
    assert HAPPENED not in apart(bob.alias or "", 40)
    assert HAPPENED not in DisplayNames([bob]).shown(bob.feed)


def test_of_many_people_it_is_said_how_many_they_are() -> None:
    many = [person(number) for number in range(20)]
    assert group_conversations.people_in_words(many, NAMES).endswith(" and 12 more")
    assert group_conversations.people_in_words([], NAMES) == "nobody"
