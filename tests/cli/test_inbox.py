"""Unread messages: counted for each conversation, marked as read by what shows them, reachable if they are old."""

import json
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.catalog import mesh
from tests.catalog.mesh import SAID_S, Author, Home, id_of, post
from tests.cli.talkers import BOB, CYD, Talkers, make_talkers
from tests.daemon.processes import PATIENCE_S, PROGRAM, tinyssb
from tinyssb_node.content import private
from tinyssb_node.errors import ExitCode
from tinyssb_node.store.secrets import Identity, create_identity


@pytest.fixture
def talkers(tmp_path: Path) -> Talkers:
    return make_talkers(tmp_path / "home")


def types(talkers: Talkers, *arguments: str) -> str:
    ended = tinyssb(talkers.folder, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def objects(talkers: Talkers, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in types(talkers, *arguments, "--json").splitlines()]


def arrive(talkers: Talkers, *entries: Any) -> None:
    home = Home(talkers.folder, talkers.people["ana"], wall_us=1_760_000_100_000_000)
    home.keep(entries)
    home.close()


@pytest.fixture(autouse=True)
def _reopened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home may be opened again, though its identity is there."""

    def create_once(path: Path, identity: Identity) -> None:
        if not path.exists():
            create_identity(path, identity)

    monkeypatch.setattr(mesh, "create_identity", create_once)


def test_unread_messages_are_counted_until_they_were_shown(talkers: Talkers) -> None:
    found = {row["conversation"]: row for row in objects(talkers, "inbox")}
    secret = next(name for name in found if name != "public")
    assert (found["public"]["unread"], found[secret]["unread"]) == (3, 1), "our own do not count"
    assert found[secret]["latest"]["text"] == "The key is under the stone."
    shown = types(talkers, "inbox")
    assert [line.split()[0] for line in shown.splitlines()] == ["UNREAD", "1", "3"]
    types(talkers, "chat", "--json")
    assert len(objects(talkers, "inbox")) == 2, "a program reads for nobody"
    types(talkers, "chat")
    assert [row["conversation"] for row in objects(talkers, "inbox")] == [secret]
    types(talkers, "chat", "--with", talkers.feed(BOB))
    assert types(talkers, "inbox") == "There are no unread messages.\n"
    arrive(talkers, talkers.people[CYD].say(post("one more", talkers.ids["merge"], said_s=SAID_S + 99)))
    assert [row["unread"] for row in objects(talkers, "inbox")] == [1]
    assert "Marked as read: 1 public." in types(talkers, "inbox", "--read")
    assert objects(talkers, "inbox") == []


def test_older_messages_that_arrive_are_named_and_can_be_shown(talkers: Talkers) -> None:
    types(talkers, "chat")
    dan = Author("dan")
    old = [dan.say(post(f"old {number}", said_s=SAID_S - 5_400 + number)) for number in range(3)]
    new = dan.say(post("new", said_s=SAID_S + 9_000))
    arrive(talkers, *old, new)
    (row,) = (row for row in objects(talkers, "inbox") if row["conversation"] == "public")
    assert (row["unread"], row["older"]) == (4, 3)
    shown = types(talkers, "chat", "--last", "2")
    assert "3 older messages have arrived since you last looked. To see them: add --arrived 4" in shown
    assert "older" not in types(talkers, "chat", "--last", "2"), "told once"
    arrived = types(talkers, "chat", "--arrived", "4").splitlines()
    assert len([line for line in arrived if "  old " in line]) == 3
    rows = objects(talkers, "chat", "--arrived", "4")
    texts = [one["text"] for one in rows if one["placed"] is not None]
    assert texts == ["old 0", "old 1", "old 2", "new"]


def test_an_older_message_within_the_list_is_marked(talkers: Talkers) -> None:
    types(talkers, "chat")
    dan = Author("dan")
    arrive(talkers, dan.say(post("old", said_s=SAID_S - 60)))
    lines = types(talkers, "chat").splitlines()
    assert [line for line in lines if "[older message]" in line] == [
        line for line in lines if "  old" in line
    ]
    assert not any("have arrived since" in line for line in lines)


def test_new_messages_are_shown_and_given_to_a_program(talkers: Talkers, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run = f"sh -c 'cat >> {out}'"
    command = [*PROGRAM, "--home", str(talkers.folder), "inbox", "--follow", "--bell", "--run", run]
    with (tmp_path / "shown").open("wb") as shown, (tmp_path / "bell").open("wb") as bell:
        following = subprocess.Popen(command, stdout=shown, stderr=bell)
        try:
            secret = _whispered(talkers)
            public = talkers.people[CYD].say(post("to all", talkers.ids["merge"]))
            until_s = time.monotonic() + PATIENCE_S
            arrived = False
            while not out.exists() or "to all" not in out.read_text():
                assert time.monotonic() < until_s
                if not arrived and b"Waiting" in (tmp_path / "bell").read_bytes():
                    arrive(talkers, secret, public)
                    arrived = True
                time.sleep(0.1)
        finally:
            following.terminate()
            following.wait()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert {row["text"]: row["conversation"] == "public" for row in rows} == {"psst": False, "to all": True}
    assert {row["id"] for row in rows} == {id_of(secret).hex(), id_of(public).hex()}
    text = (tmp_path / "shown").read_text()
    assert "[everybody]" in text
    assert "psst" in text
    assert b"\a" in (tmp_path / "bell").read_bytes()


def _whispered(talkers: Talkers) -> Any:
    bob = talkers.people[BOB]
    readers = private.circle(bob.feed, [talkers.people["ana"].feed])
    return bob.whisper(post("psst", recipients=readers), readers)


def test_options_that_need_another_one_say_so(talkers: Talkers) -> None:
    for options in (["--bell"], ["--run", "true"]):
        ended = tinyssb(talkers.folder, "inbox", *options)
        assert ended.returncode == ExitCode.USAGE
        assert b"need --follow" in ended.stderr
    ended = tinyssb(talkers.folder, "inbox", "--follow", "--run", "'open")
    assert (ended.returncode, b"cannot be run" in ended.stderr) == (ExitCode.USAGE, True)
