"""Commands that read what people say, on a real store, without a daemon."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import wcwidth

from tests.cli.talkers import ANA, BOB, CYD, EVE, Talkers, make_notes, make_talkers
from tests.daemon.processes import tinyssb
from tinyssb_node.errors import ExitCode
from tinyssb_node.store.sqlite import SqliteStore


@pytest.fixture(scope="module")
def talkers(tmp_path_factory: pytest.TempPathFactory) -> Talkers:
    return make_talkers(tmp_path_factory.mktemp("talk") / "home")


@pytest.fixture
def own(tmp_path: Path) -> Talkers:
    """One for a test that changes something."""
    return make_talkers(tmp_path / "home")


def said(talkers: Talkers, *arguments: str) -> str:
    ended = tinyssb(talkers.folder, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    text = ended.stdout.decode()
    assert all(wcwidth.wcswidth(line) >= 0 for line in text.splitlines())
    return text


def objects(talkers: Talkers, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(talkers, *arguments, "--json").splitlines()]


def refused(talkers: Talkers, code: ExitCode, *arguments: str) -> str:
    ended = tinyssb(talkers.folder, *arguments)
    told = ended.stderr.decode()
    assert ended.returncode == code, told
    assert "Traceback" not in told
    assert all(wcwidth.wcswidth(line) >= 0 for line in told.splitlines())
    return told


def test_the_chat_shows_what_was_said_and_what_waits(talkers: Talkers) -> None:
    lines = said(talkers, "chat").splitlines()
    texts = ["Is anybody", "Yes: at the hut", "Here too", "Good. Meet", "\\x1b]0;owned", "after what nobody"]
    found = [next(number for number, line in enumerate(lines) if text in line) for text in texts]
    assert found == sorted(found)
    assert lines[found[-1]].endswith("[waits for 07070707]")
    assert "The key" not in "".join(lines)
    (last,) = [line for line in said(talkers, "chat", "--last", "1").splitlines() if "owned" in line]
    assert talkers.digits("evil") in last


def test_names_stand_beside_feeds_and_are_doubted(talkers: Talkers) -> None:
    text = said(talkers, "chat")
    assert f"me {talkers.feed(ANA)[:8]}" in text
    assert f"Cyd {talkers.feed(CYD)[:8]}" in text
    assert f"Bob? {talkers.feed(BOB)[:8]}" in text
    assert f"bob? {talkers.feed(EVE)[:8]}" in text


def test_private_conversations_are_read_by_person(talkers: Talkers) -> None:
    person = talkers.feed(BOB)[:10]
    text = said(talkers, "chat", "--with", person)
    assert "Private conversation with Bob?" in text
    assert "The key is under the stone." in text
    assert "There are no messages yet" in said(talkers, "chat", "--with", "Cyd")
    rows = objects(talkers, "chat", "list")
    assert [(row["name"] == "public", row["messages"]) for row in rows] == [(False, 1), (True, 5)]
    assert f"Bob? {talkers.feed(BOB)[:8]}" in said(talkers, "chat", "list")


def test_json_has_what_was_written_and_one_line_for_each(talkers: Talkers) -> None:
    rows = objects(talkers, "chat")
    assert [row["id"] for row in rows] == [
        talkers.ids[name].hex() for name in ("first", "answer", "other", "merge", "evil", "late")
    ]
    assert "\x1b" in rows[4]["text"]
    assert set(rows[3]["previous"]) == {talkers.ids[name].hex() for name in ("answer", "other")}
    assert (rows[5]["placed"], rows[5]["missing"]) == (None, ["07" * 20])
    assert (rows[0]["own"], rows[0]["name"], rows[0]["kind"]) == (True, "me", "TAV")


def test_a_thread_is_drawn(talkers: Talkers) -> None:
    text = said(talkers, "thread", "show", talkers.digits("first"), "--ascii")
    drawings = [line[:5].rstrip() for line in text.splitlines()]
    assert drawings == ["*", "+-.", "| *", "* |", "+-'", "*", "*", "", "*"], text
    assert "after what nobody has  [1 message missing before this] [also follows " in text
    assert "●" in said(talkers, "thread", "show", "public")
    rows = objects(talkers, "thread", "show", f"{talkers.feed(ANA)[:8]}.1", "--last", "2")
    assert rows[0]["id"] == talkers.ids["first"].hex()
    text = said(talkers, "thread", "show", talkers.digits("evil"), "--last", "2")
    assert text.startswith("(3 earlier messages)")


def test_a_note_in_two_threads_is_shown_in_both(tmp_path: Path) -> None:
    ids = make_notes(tmp_path / "notes")
    notes = Talkers(tmp_path / "notes", {}, ids)
    ended = tinyssb(notes.folder, "thread", "show", notes.digits("both"), "--json")
    rows = [json.loads(line) for line in ended.stdout.decode().splitlines()]
    assert [row["id"] for row in rows] == [ids["game"].hex(), ids["both"].hex()]
    assert "in 2 threads. To see the others: `--tangle 'log" in ended.stderr.decode()
    rows = objects(notes, "thread", "show", notes.digits("both"), "--tangle", "log \x1b[1m")
    assert [row["id"] for row in rows] == [ids["diary"].hex(), ids["both"].hex()]
    assert rows[1]["previous"] == [ids["diary"].hex()]
    assert "both" in said(notes, "thread", "show", notes.digits("diary"), "--ascii")
    told = refused(notes, ExitCode.MISSING, "thread", "export", notes.digits("both"), "--tangle", "go")
    assert "has no position in a thread named go" in told
    refused(notes, ExitCode.USAGE, "thread", "show", "public", "--tangle", "chess")


def test_a_thread_is_exported(talkers: Talkers, tmp_path: Path) -> None:
    file = tmp_path / "thread.json"
    assert "Wrote 5 messages" in said(
        talkers, "thread", "export", talkers.digits("first"), str(file), "--format", "json"
    )
    document = json.loads(file.read_text())
    assert (document["format"], document["v"], len(document["messages"])) == ("tinyssb-thread", 1, 5)
    refused(talkers, ExitCode.CREATE, "thread", "export", "public", str(file))
    page = said(talkers, "thread", "export", "public")
    assert "> Yes: at the hut, with soup." in page
    assert "> \\\\x1b\\]0;owned" in page


def test_boards_are_shown_with_cards_and_history(talkers: Talkers) -> None:
    (board,) = objects(talkers, "board")
    assert (board["id"], board["items"], board["operations"]) == (talkers.ids["board"].hex(), 2, 7)
    assert "Hut \\x1b[1mwork" in said(talkers, "board")
    page = said(talkers, "board", "show", talkers.digits("board"))
    assert (
        page.index("To do")
        < page.index("Water \\u202e")
        < page.index("Done")
        < page.index("Wood (1 comment)")
    )
    assert max(map(len, page.splitlines())) <= 200
    card = said(talkers, "board", "show", talkers.digits("board"), "wood")
    assert "  wet\n  \\x1b[2Jtoo\n" in card
    (shown,) = objects(talkers, "board", "show", talkers.digits("board"))
    assert [[one["name"] for one in column["cards"]] for column in shown["lists"]][1] == ["Wood"]
    (card_row,) = objects(talkers, "board", "show", talkers.digits("board"), "Wood")
    assert card_row["comments"][0]["text"] == "wet\n\x1b[2Jtoo"
    history = said(talkers, "board", "history", talkers.digits("board")).splitlines()
    assert len(history) == 7
    assert 'moved "Wood" from "To do" to "Done"' in history[5]
    assert all(one["applied"] for one in objects(talkers, "board", "history", talkers.digits("board")))


def test_words_are_found(talkers: Talkers) -> None:
    (row,) = objects(talkers, "search", "soup", "HUT")
    assert row["id"] == talkers.ids["answer"].hex()
    assert "[private]" in said(talkers, "search", "key", "stone")
    assert said(talkers, "search", "nothing-like-it") == "No message has all these words.\n"


def test_people_are_listed_named_and_blocked(own: Talkers) -> None:
    assert "Cyd" in said(own, "contacts")
    feed = own.feed(BOB)
    assert said(own, "contacts", "petname", feed[:8], "Bob") == f"The name is now Bob {feed[:8]}.\n"
    assert f"Bob {feed[:8]} " in said(own, "chat")
    assert f"bob? {own.feed(EVE)[:8]}" in said(own, "chat")
    assert "The key" in said(own, "chat", "--with", "bob")
    assert said(own, "block", own.feed(EVE)[:8]).startswith("Blocked bob?")
    assert "owned" not in said(own, "chat")
    for command in (["thread", "show", "public"], ["thread", "export", "public"]):
        assert "(blocked)" in (text := said(own, *command))
        assert "owned" not in text
    assert [row["blocked"] for row in objects(own, "contacts") if row["feed"] == own.feed(EVE)] == [True]
    (row,) = objects(own, "unblock", own.feed(EVE)[:8])
    assert row == {"feed": own.feed(EVE), "blocked": False}
    assert "owned" in said(own, "chat")
    assert said(own, "contacts", "petname", "bob", "").startswith("The name is now Bob? ")


def test_what_we_call_ourselves_is_shown(talkers: Talkers) -> None:
    assert "You have not published a name" in said(talkers, "alias")
    (row,) = objects(talkers, "alias")
    assert row == {"feed": talkers.feed(ANA), "said": None}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["chat", "--with", "nobody"], ExitCode.MISSING, "tinyssb contacts"),
        (["chat", "--with", "bob"], ExitCode.USAGE, "2 people"),
        (["chat", "--with", "\x1b[2J"], ExitCode.MISSING, "\\x1b[2J"),
        (["chat", "--network", "mars"], ExitCode.MISSING, "mars"),
        (["chat", "say", "--reply", "ffffffffff", "x"], ExitCode.MISSING, "no message 'ffffffffff'"),
        (["chat", "say", " "], ExitCode.DATA, "message is empty"),
        (["chat", "say", "x"], ExitCode.UNAVAILABLE, "tinyssb run"),
        (["thread"], ExitCode.USAGE, "--help"),
        (["thread", "show", "zz"], ExitCode.MISSING, "zz"),
        (["thread", "export", "public", "/no/such/folder/file"], ExitCode.MISSING, "/no/such/folder/file"),
        (["board", "show", "nothing"], ExitCode.MISSING, "tinyssb board"),
        (["board", "add", "nothing", "x", "y"], ExitCode.MISSING, "tinyssb board"),
        (["contacts", "petname", "cyd", "x" * 99], ExitCode.DATA, "64 characters"),
        (["unfollow", "nobody at all"], ExitCode.MISSING, "tinyssb contacts"),
    ],
)
def test_what_cannot_be_done_is_told_in_words(
    talkers: Talkers, arguments: list[str], code: ExitCode, words: str
) -> None:
    assert words in refused(talkers, code, *arguments)


def test_things_of_a_board_that_are_not_there_are_named(talkers: Talkers) -> None:
    board = talkers.digits("board")
    assert "no card 'coal'" in refused(talkers, ExitCode.MISSING, "board", "move", board, "coal", "done")
    assert "no list 'never'" in refused(talkers, ExitCode.MISSING, "board", "move", board, "wood", "never")
    assert "tinyssb run" in refused(talkers, ExitCode.UNAVAILABLE, "board", "move", board, "wood", "to do")
    assert "You have no invitation to this board" in refused(
        talkers, ExitCode.MISSING, "board", "accept", board
    )


def test_messages_without_a_place_have_no_thread(talkers: Talkers) -> None:
    assert "waits for a predecessor" in refused(
        talkers, ExitCode.MISSING, "thread", "show", talkers.digits("late")
    )
    assert "is not in a thread" in refused(
        talkers, ExitCode.MISSING, "thread", "show", talkers.digits("alias-bob")
    )


def test_an_index_that_was_lost_is_made_anew_and_said(own: Talkers) -> None:
    shown = said(own, "chat")
    (own.folder / "content.sqlite").write_bytes(b"not a database, not at all" * 100)
    ended = tinyssb(own.folder, "chat")
    assert ended.stdout.decode() == shown
    assert "The index of messages was rebuilt: it was damaged" in ended.stderr.decode()
    (own.folder / "content.sqlite").unlink()
    ended = tinyssb(own.folder, "chat")
    assert (ended.stdout.decode(), ended.stderr) == (shown, b"")


def test_the_chat_says_whose_feed_is_forked(own: Talkers) -> None:
    store = SqliteStore.open(own.folder / "store.sqlite")
    for name, seq in ((BOB, 2), (ANA, 3)):
        record = next(record for record in store.feeds() if record.feed == own.people[name].feed)
        store.put_feed(replace(record, forked_at=seq))
    store.commit(0)
    store.close()
    *_, one, other = said(own, "chat").splitlines()
    told = {one, other}
    assert "Your feed is forked at entry 3, and nothing new of it is accepted: see `tinyssb forks`." in told
    assert any(line.startswith("The feed of ") and own.feed(BOB)[:8] in line for line in told)
    assert "forked" not in said(own, "chat", "--json")
