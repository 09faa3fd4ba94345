"""Two nodes that talk over a link, by the commands that people type."""

import contextlib
import json
import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from tests.daemon.processes import PATIENCE_S, PROGRAM, RunningDaemon, daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port
from tests.docs import pages
from tinyssb_node.errors import ExitCode


@dataclass
class Person:
    """Somebody who types."""

    running: RunningDaemon
    feed: str

    def types(self, *arguments: str, stdin: bytes = b"") -> str:
        ended = tinyssb(self.running.home, *arguments, stdin=stdin)
        assert ended.returncode == 0, ended.stderr.decode()
        return ended.stdout.decode()

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.types(*arguments, "--json").splitlines()]

    def sees(self, words: str, *arguments: str) -> str:
        """Return the output of a command once *words* are in it."""
        until_s = time.monotonic() + PATIENCE_S
        while words not in (shown := self.types(*arguments)):
            assert time.monotonic() < until_s, shown
        return shown


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Person, Person]]:
    face = f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0"
    with contextlib.ExitStack() as stack:
        people = []
        for name in ("ana", "bob"):
            home = tmp_path_factory.mktemp(name)
            feed = make_home(home, face, name=name)
            people.append(Person(stack.enter_context(daemon(home)), feed.hex()))
        ana, bob = people
        ana.types("follow", bob.feed)
        bob.types("follow", ana.feed)
        ana.types("alias", "Ana")
        bob.types("alias", "Bob")
        ana.sees("Bob", "contacts")
        bob.sees("Ana", "contacts")
        yield ana, bob


def test_people_talk_and_answer(two: tuple[Person, Person]) -> None:
    ana, bob = two
    (first,) = ana.objects("chat", "say", "Is", "anybody", "up there?")
    bob.sees("Is anybody up there?", "chat")
    (answer,) = bob.objects("chat", "say", "--reply", first["id"][:10], "Yes: at the hut, with soup.")
    ana.sees("with soup", "chat")
    ana.types("chat", "say", "-", stdin=b"On the ridge.\nSee you!\n")
    shown = bob.sees("On the ridge.⏎See you!", "chat")
    assert f"Ana {ana.feed[:8]}" in shown
    rows = {row["id"]: row for row in bob.objects("chat")}
    assert rows[answer["id"]]["previous"] == [first["id"]]
    thread = [row["text"] for row in ana.objects("thread", "show", first["id"][:8])]
    assert thread == [row["text"] for row in bob.objects("thread", "show", "public")]


def test_private_messages_are_read_by_their_recipients_only(
    two: tuple[Person, Person], tmp_path: Path
) -> None:
    ana, bob = two
    ana.types("chat", "say", "For all to read")
    (said,) = ana.objects("chat", "say", "--with", "bob", "The key is under the stone")
    assert "The key is under the stone" in bob.sees("The key", "chat", "--with", "ana")
    (reply,) = bob.objects("chat", "say", "--reply", said["id"], "Found it")
    ana.sees("Found it", "chat", "--with", "bob")
    assert "The key" not in ana.types("chat")
    assert "1" in next(line for line in ana.types("chat", "list").splitlines() if "Bob" in line)
    # Whoever carries both feeds sees that something was said, and no word of it.
    make_home(tmp_path / "eve")
    file = tmp_path / "feeds.tssb"
    ana.types("export", str(file))
    with daemon(tmp_path / "eve") as running:
        eve = Person(running, "")
        eve.types("import", str(file))
        assert "For all to read" in eve.types("chat")
        assert "stone" not in eve.types("chat", "--with", "ana")
        assert [eve.objects("search", word) for word in ("stone", "key", "under")] == [[], [], []]
        (sealed,) = eve.objects("show", ana.feed[:8], str(said["seq"]))
        assert b"stone" not in bytes.fromhex(sealed["content"])
    assert [row["private"] for row in ana.objects("search", "stone")] == [True]
    assert reply["seq"] > 0


def test_both_work_on_a_board(two: tuple[Person, Person]) -> None:
    ana, bob = two
    ana.types("board", "new", "Hut work")
    bob.sees('"Hut work"', "board", "--json")
    bob.types("board", "add-list", "hut work", "To do")
    bob.types("board", "add-list", "hut work", "Done")
    ana.sees("Done", "board", "show", "hut work")
    ana.types("board", "add", "Hut work", "to do", "Wood")
    bob.sees("Wood", "board", "show", "hut work")
    bob.types("board", "move", "hut work", "wood", "done")
    bob.types("board", "assign", "hut work", "wood", "ana")
    bob.types("board", "comment", "hut work", "wood", "it was wet")
    ana.sees("it was wet", "board", "show", "hut work", "wood")
    ana.types("board", "invite", "hut work", "bob")
    bob.sees("invited", "board", "history", "hut work")
    bob.types("board", "accept", "hut work")
    ana.sees("accepted", "board", "history", "hut work")
    boards = [person.objects("board", "show", "hut work")[0] for person in two]
    for board in boards:
        assert board["lists"][0]["cards"] == []
        assert len(board["members"]) == 2
    (card,) = boards[0]["lists"][1]["cards"]
    assert ([one["feed"] for one in card["assigned"]], card["comments"][0]["text"]) == (
        [ana.feed],
        "it was wet",
    )
    bob.types("board", "remove", "hut work", "wood")
    bob.types("board", "rename", "hut work", "Hut")
    ana.sees('"Hut"', "board", "--json")
    assert "Hut  (" in ana.types("board", "show", "hut")
    assert "Wood" not in ana.types("board", "show", "hut")
    assert tinyssb(ana.running.home, "board", "move", "hut", "wood", "done").returncode == ExitCode.MISSING


@pytest.mark.parametrize("page", ["docs/howto/chat.md", "docs/reference/cli.md"])
def test_the_manuals_board_is_made_as_written(two: tuple[Person, Person], page: str) -> None:
    ana, _ = two
    name = f"Hut work of {Path(page).stem}"
    lines = [line.strip() for line in pages.read(page).splitlines()]
    typed = [shlex.split(line)[1:] for line in lines if re.match(r'tinyssb board .*"Hut work"', line)]
    assert len(typed) >= 5
    for words in typed:
        ana.types(*(name if word == "Hut work" else word for word in words))
    (_, done) = ana.objects("board", "show", name)[0]["lists"]
    assert (done["name"], [card["name"] for card in done["cards"]]) == ("Done", ["Split wood"])


@contextlib.contextmanager
def followed(person: Person, *words: str) -> Iterator[IO[str]]:
    """Yield the output of a command that goes on until this block ends."""
    command = [*PROGRAM, "--home", str(person.running.home), *words, "--follow"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


def test_the_chat_is_followed_as_it_comes(two: tuple[Person, Person]) -> None:
    ana, bob = two
    ana.types("chat", "say", "Before")
    with followed(ana, "chat", "--last", "1", "--json") as lines:
        assert json.loads(lines.readline())["kind"] == "text"
        (said,) = bob.objects("chat", "say", "Now?")
        assert json.loads(lines.readline())["id"] == said["id"]


def test_who_follows_the_public_chat_sees_private_messages_too(two: tuple[Person, Person]) -> None:
    ana, bob = two
    ana.types("chat", "say", "Beginning")
    with followed(ana, "chat", "--last", "1") as lines:
        assert lines.readline().startswith("-- ")
        assert "Beginning" in lines.readline()
        bob.types("chat", "say", "--with", ana.feed, "Only for you")
        assert f"[private: Bob {bob.feed[:8]}] Only for you" in lines.readline()


def test_people_are_blocked_and_followed_by_name(two: tuple[Person, Person]) -> None:
    ana, bob = two
    bob.types("chat", "say", "Soup!")
    ana.sees("Soup!", "chat")
    assert "Blocked Bob" in ana.types("block", "bob")
    assert "Soup!" not in ana.types("chat")
    ana.sees("blocked", "feeds")
    assert "Unblocked Bob" in ana.types("unblock", "bob")
    assert f"No longer following {bob.feed}" in ana.types("unfollow", "Bob")
    assert f"Now following {bob.feed}" in ana.types("follow", "bob")


def test_who_has_it_stands_behind_own_messages(two: tuple[Person, Person]) -> None:
    ana, _ = two
    ana.types("chat", "say", "Who has this?")
    assert "Who has this?  [" in ana.sees(" of 1", "chat", "--last", "1")
