"""Three nodes that keep a private group, by the commands that people type."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_talk_daemons import Person
from tests.daemon.processes import PATIENCE_S, PROGRAM, daemon, make_home, tinyssb
from tests.daemon.test_process_networks import free_udp_port
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content.time_order import right_behind
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens.group_changes import GroupAction, GroupChange
from tinyssb_node.screens.group_conversations import NOTES
from tinyssb_node.store.home import Home
from tinyssb_node.tui.screen_state import ScreenRequest
from tinyssb_node.tui.source import NodeScreenSource
from tinyssb_node.web import views
from tinyssb_node.web.errors import PageNotFoundError
from tinyssb_node.web.opener import NodeOpener
from tinyssb_node.web.views import OutgoingMessage

NAMES = ("Ana", "Bob", "Cyd")


@pytest.fixture(scope="module")
def face() -> str:
    return f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0"


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory, face: str) -> Iterator[tuple[Person, Person, Person]]:
    with contextlib.ExitStack() as stack:
        people = []
        for name in NAMES:
            home = tmp_path_factory.mktemp(name)
            feed = make_home(home, face, name=name)
            people.append(Person(stack.enter_context(daemon(home)), feed.hex()))
        for person, name in zip(people, NAMES, strict=True):
            person.types("alias", name)
        for person in people:
            for name in NAMES:
                person.sees(name, "contacts")
        for person in people:
            for other in people:
                if other is not person:
                    person.types("follow", other.feed)
        ana, bob, cyd = people
        yield ana, bob, cyd


def refused(person: Person, code: ExitCode, *arguments: str) -> str:
    ended = tinyssb(person.running.home, *arguments)
    assert ended.returncode == code, ended.stderr.decode()
    return ended.stderr.decode()


def test_a_group_from_its_beginning_to_an_exclusion(
    three: tuple[Person, Person, Person], monkeypatch: pytest.MonkeyPatch
) -> None:
    ana, bob, cyd = three
    assert "You are in no group" in ana.types("group")
    (cost,) = ana.objects("group", "create", "Hut crew", "bob", "cyd", "--dry-run")
    assert "You are in no group" in ana.types("group")
    made = ana.types("group", "create", "Hut crew", "bob", "cyd")
    assert f"in {cost['packets']} packets" in made
    assert "Texts are kept" in made
    assert f"Created the group Hut crew {made.split()[5]} with Bob" in made
    bob.sees("Hut crew", "group", "list")
    cyd.sees("Hut crew", "group", "list")
    cyd.sees("◆ named the group: Hut crew", "group", "read", "hut crew")
    said = bob.types("group", "post", "hut crew", "Soup", "at noon")
    assert said.startswith("Posted ")
    assert f"Bob {bob.feed[:8]}" in ana.sees("Soup at noon", "group", "read", "Hut crew")

    refusal = refused(ana, ExitCode.USAGE, "group", "exclude", "Hut crew", "cyd")
    assert "They keep all earlier messages" in refusal
    assert "Add --yes to" in refusal
    with monkeypatch.context() as patch:
        patch.setattr("tinyssb_node.screens.screen.is_interactive", lambda: True)
        ended = tinyssb(ana.running.home, "group", "exclude", "Hut crew", "cyd", stdin=b"n\n")
    assert (ended.returncode, ended.stdout) == (ExitCode.ATTENTION, b"")
    assert ended.stderr.endswith(b"[y/N] Nothing was written.\n")
    (cost,) = ana.objects("group", "exclude", "Hut crew", "cyd", "--dry-run")
    written = ana.objects("group", "exclude", "Hut crew", "cyd", "--yes")
    assert cost["packets"] == written[0]["packets"]
    cyd.sees("you were excluded", "group", "list")
    sees_that_they_are_out(cyd, "Hut crew")
    ana.types("group", "post", "Hut crew", "for two")
    bob.sees("for two", "chat", "--group", "Hut crew")
    shown = bob.sees("you write here", "group", "show", "Hut crew")
    assert f"excluded by Ana {ana.feed[:8]}" in shown
    assert "You were excluded" in refused(cyd, ExitCode.DATA, "group", "post", "Hut crew", "let me in")
    assert "for two" not in cyd.types("group", "read", "Hut crew")
    (epochs,) = [len(row["epochs"]) for row in bob.objects("group", "show", "Hut crew")]
    assert epochs == 2
    audit = bob.objects("group", "audit", "Hut crew")
    assert [row["rule"] for row in audit if row["rule"]] == []
    assert "excludes from" in bob.types("group", "audit", "Hut crew")


def sees_that_they_are_out(person: Person, group: str) -> None:
    """Check each screen of a person who was excluded from a group."""
    note = NOTES["excluded"]
    for command in (("group", "show", group), ("chat", "list")):
        assert note in person.types(*command)
    for command in (("group", "read", group), ("chat", "--group", group)):
        ended = tinyssb(person.running.home, *command)
        assert ended.stderr.decode().endswith(f"You cannot write to this group: {note}.\n")
    with NodeOpener(Home(person.running.home), None).node() as node:
        (room,) = [room for room in node.groups() or () if group.lower() in (room.title or "").lower()]
        page: Any = views.messages(node, room.name, before=None, limit=2)
        details: Any = views.group(node, room.name)
        assert (page["note"], details["note"], details["state"]) == (note, note, "excluded")
    source = NodeScreenSource(str(person.running.home), None)
    try:
        assert note in [one.note for one in source.look(ScreenRequest(conversation=room.name)).groups]
        assert f"{note}: you cannot write" in source.group_page(room.name)
    finally:
        source.end_looking()
        source.end_writing()
    assert "You were excluded" in refused(person, ExitCode.DATA, "chat", "say", "--group", group, "x")
    for change in (
        ("exclude", group, "ana", "--yes"),
        ("exclude", group, "ana", "--dry-run"),
        ("add", group, "bob"),
    ):
        assert "You were excluded" in refused(person, ExitCode.DATA, "group", *change)
    with NodeOpener(Home(person.running.home), None).node() as node:
        excluding = GroupChange(
            action=GroupAction.EXCLUDE, group=room.name, people=(FeedId.from_hex(person.feed),)
        )
        with pytest.raises(ProblemError, match="You were excluded"):
            views.preview_group(node, excluding)


def test_groups_stand_among_conversations(three: tuple[Person, Person, Person]) -> None:
    ana, bob, _ = three
    ana.types("group", "create", "Ridge", "bob")
    bob.sees("group Ridge", "chat", "list")
    ana.types("chat", "say", "--group", "ridge", "Here too")
    bob.sees("Here too", "group", "read", "ridge")
    (row,) = [row for row in bob.objects("chat", "list") if row.get("title") == "Ridge"]
    assert row["last"]["text"] == "Here too"
    assert "Use --group without" in refused(
        ana, ExitCode.USAGE, "chat", "say", "--group", "ridge", "--with", "bob", "x"
    )
    with NodeOpener(Home(bob.running.home), None).node() as node:
        node.catch_up()
        message = OutgoingMessage("On the page", row["name"], (), None, "once-only")
        assert views.say(node, message)["conversation"] == row["name"]
        page: Any = views.messages(node, row["name"], before=None, limit=2)
        assert [message["text"] for message in page["rows"]] == ["Here too", "On the page"]
        assert page["more"]
        listed: Any = views.conversations(node)
        assert f"Ridge {row['name'][:8]}" in [room["title"] for room in listed["rows"]]
        with pytest.raises(PageNotFoundError):
            views.messages(node, "00" * 20, before=None, limit=2)
        assert views.draft_packets(node, message) == 2
    (here, *_) = [row for row in bob.objects("group", "read", "ridge") if row["text"] == "Here too"]
    bob.types("group", "post", "ridge", "--reply", here["id"][:8], "Which way?")
    bob.types("chat", "say", "--group", "ridge", "--reply", here["id"], "And when?")
    answers = [row for row in bob.objects("group", "read", "ridge") if row["reply_to"] == here["id"]]
    assert [row["text"] for row in answers] == ["Which way?", "And when?"]
    drawn = bob.types("thread", "show", answers[0]["id"][:8], "--group", "ridge", "--ascii")
    assert [line.split()[-1] for line in drawn.splitlines() if "*" in line] == ["too", "way?", "when?"]
    thread = bob.objects("thread", "show", here["id"], "--group", "ridge")
    assert [row["text"] for row in thread] == ["Here too", "Which way?", "And when?"]
    assert "> Which way?" in bob.types("thread", "export", here["id"][:8], "--group", "ridge")
    assert "No messages of this group" in refused(
        bob, ExitCode.MISSING, "thread", "show", "f" * 12, "--group", "ridge"
    )
    assert [row["text"] for row in bob.objects("search", "WHÍCH", "wa")] == ["Which way?"]
    assert bob.objects("search", "created") == []  # a change of the group, not a text
    shown = bob.types("group", "read", "ridge")
    assert f"> {here['id'][:8]}" in shown
    assert "No messages of this group" in refused(
        bob, ExitCode.MISSING, "group", "post", "ridge", "--reply", "ffffffffffff", "x"
    )
    long = "x" * 2_500
    for command in (["group", "post", "ridge"], ["chat", "say", "--group", "ridge"], ["chat", "say"]):
        assert "Add --yes" in refused(bob, ExitCode.USAGE, *command, long)
    assert "Posted" in bob.types("group", "post", "ridge", "--yes", long)
    source = NodeScreenSource(str(bob.running.home), None)
    try:
        sight = source.look(ScreenRequest())
        assert "Ridge" in [room.title for room in sight.groups]
        source.say(row["name"], "On the screen")
        asked = ScreenRequest(conversation=row["name"])
        texts = [message.text for message in source.look(asked).messages]
        assert texts[-1] == "On the screen"
        assert "↳ " in source.thread(row["name"], MessageId.from_hex(here["id"]))
        places = [message.order for message in source.look(asked).messages]
        assert places == sorted(places)
        for before, there in ((places[-1], places[:-1]), (right_behind(places[-1]), places)):
            page = ScreenRequest(conversation=row["name"], before=before)
            assert [message.order for message in source.look(page).messages] == there
    finally:
        source.end_looking()
        source.end_writing()


def test_files_are_sent_to_a_group_and_saved(three: tuple[Person, Person, Person], tmp_path: Path) -> None:
    ana, bob, _ = three
    ana.types("group", "create", "Maps", "bob")
    bob.sees("Maps", "group", "list")
    small, big = tmp_path / "map.webp", tmp_path / "big.bin"
    small.write_bytes(bytes(range(256)))
    big.write_bytes(bytes(32_000))
    (cost,) = ana.objects("group", "attach", "Maps", str(small), "--dry-run")
    assert (cost["messages"], cost["packets"]) == (1, 5)
    assert ana.types("group", "attach", "Maps", str(small), "--dry-run").startswith(
        "map.webp: 256 bytes of image/webp\n"
    )
    sent = ana.types("group", "attach", "maps", str(small))
    assert "Sent map.webp: 256 bytes of image/webp to the group" in sent
    command = sent.splitlines()[-1].removeprefix("Others save it with: tinyssb ").split()
    assert f"(file map.webp, 256 bytes: `tinyssb {' '.join(command)}`)" in bob.sees(
        "map.webp", "chat", "--group", "Maps"
    )
    assert "Saved" in bob.types(*command, "-o", str(tmp_path / "saved.webp"))
    assert (tmp_path / "saved.webp").read_bytes() == small.read_bytes()
    assert "exists already" in refused(bob, ExitCode.CREATE, *command, "-o", str(tmp_path / "saved.webp"))
    (row,) = bob.objects(*command, "-o", str(tmp_path / "again.webp"))
    assert (row["name"], row["type"], row["size"]) == ("map.webp", "image/webp", 256)
    refusal = refused(ana, ExitCode.USAGE, "group", "attach", "Maps", str(big))
    assert "big.bin: 32,000 bytes" in refusal
    assert "323 packets" in refusal
    assert "Add --yes" in refusal
    big.write_bytes(bytes(32_001))
    assert "carries 32,000" in refused(ana, ExitCode.DATA, "group", "attach", "Maps", str(big), "--yes")
    answer = ana.objects(
        "group", "attach", "Maps", str(small), "--reply", command[-1], "--name", "second.webp"
    )
    bob.sees("second.webp", "group", "read", "Maps")
    (*_, last) = bob.objects("group", "read", "Maps")
    assert last["id"] == answer[0]["entries"][-1]["id"]
    assert last["reply_to"].startswith(command[-1])


def test_a_group_by_a_person_whom_one_does_not_follow_waits_on_all_screens(
    three: tuple[Person, Person, Person], face: str, tmp_path: Path
) -> None:
    _, bob, _ = three
    feed = make_home(tmp_path, face, name="Eve")
    with daemon(tmp_path) as running:
        eve = Person(running, feed.hex())
        eve.types("alias", "Eve")
        bob.sees("Eve", "contacts")
        eve.sees("Bob", "contacts")
        (made,) = eve.objects("group", "create", "Sale", "bob")
        eve.types("group", "post", "Sale", "Cheap!")
        group, words = made["group"], f"Eve {eve.feed[:8]} (whom you do not follow) added you to Sale"
        commands = f"`tinyssb group accept {group[:8]}` / `tinyssb group decline {group[:8]}`"
        for shown in (bob.sees(words, "group", "list"), bob.sees("Cheap!", "group", "read", "Sale")):
            assert shown
        for command in (("group", "list"), ("group", "show", "Sale"), ("status",)):
            shown = " ".join(bob.types(*command).split())
            assert words in shown
            assert commands in shown
        assert "you have not accepted this group" in bob.types("chat", "list")
        assert bob.objects("search", "Cheap") == []
        with NodeOpener(Home(bob.running.home), None).node() as node:
            (room,) = [room for room in node.groups() or () if room.name == group]
            assert (room.last, room.note, words in room.alert) == (None, NOTES["invited"], True)
            page: Any = views.group(node, group)
            assert (page["state"], words in page["invitation"]) == ("invited", True)
        assert "You have not accepted" in refused(bob, ExitCode.DATA, "group", "post", "Sale", "No")
        assert "Declined the group" in bob.types("group", "decline", "Sale")
        assert "you declined this group" in bob.types("group", "list")
        assert "Sale" not in bob.types("chat", "list")
        assert "You declined" in refused(bob, ExitCode.DATA, "group", "decline", "Sale")
        assert "You take part in the group" in bob.types("group", "accept", "Sale")
        bob.types("group", "post", "Sale", "How much?")
        eve.sees("How much?", "group", "read", "Sale")
        assert "To leave it" in refused(bob, ExitCode.DATA, "group", "accept", "Sale")


def test_a_newcomer_reads_the_newest_posts_before_the_history_is_there_on_all_screens(
    three: tuple[Person, Person, Person], tmp_path: Path
) -> None:
    """Dan is out of reach, and gets on a stick what comes first on the air."""
    ana, _, _ = three
    dan_home, stick = tmp_path / "dan", tmp_path / "newest.tinyssb"
    dan_feed = make_home(dan_home, name="Dan").hex()
    (made,) = ana.objects("group", "create", "Alps", "bob", "cyd")
    ana.types("group", "exclude", "Alps", "cyd", "--yes")
    ana.types("follow", dan_feed)
    (added,) = ana.objects("group", "add", "Alps", dan_feed, "--yes")
    (posted,) = ana.objects("group", "post", "Alps", "Snow above 1,800 m")
    newest, additions = posted["entries"][-1]["feed"], added["entries"][-1]["feed"]
    assert tinyssb(ana.running.home, "export", str(stick), ana.feed, additions, newest).returncode == 0
    with daemon(dan_home) as running:
        dan = Person(running, dan_feed)
        dan.types("follow", ana.feed)
        dan.types("import", str(stick))
        group = made["group"]
        command, missing = f"tinyssb group history {group[:8]}", "its older messages are missing"
        dan.sees("Snow above 1,800 m (not checked yet)", "group", "read", group[:8])
        for shown in (dan.types("group", "list"), dan.types("chat", "list")):
            assert missing in shown
        words = " ".join(dan.types("group", "show", group[:8]).split())
        assert "added you. Older messages are missing" in words
        assert command in words
        assert "(not checked yet)" in dan.types("chat", "--group", group[:8])
        with NodeOpener(Home(dan_home), None).node() as node:
            (room,) = [room for room in node.groups() or () if room.name == group]
            assert (room.note, "Older messages are missing" in room.alert) == (missing, True)
            page: Any = views.group(node, group)
            assert (page["state"], "Older messages are missing" in page["arriving"]) == ("arriving", True)
            rows: Any = views.messages(node, group, before=None, limit=10)
            assert "Snow above 1,800 m (not checked yet)" in json.dumps(rows)
        refusal = refused(dan, ExitCode.DATA, "group", "post", group[:8], "Me too")
        assert "The older messages of this group are not here yet" in refusal
        assert command in refusal
        assert "Requested the older messages" in dan.types("group", "history", group[:8])
        assert "They are requested." in " ".join(dan.types("group", "show", group[:8]).split())
        everything = tmp_path / "all.tinyssb"
        assert tinyssb(ana.running.home, "export", str(everything)).returncode == 0
        dan.types("import", str(everything))
        dan.sees("Alps", "group", "list")
        dan.sees("you write here", "group", "show", "Alps")
        assert "(not checked yet)" not in dan.types("group", "read", "Alps")
        assert "are here, or are requested" in refused(dan, ExitCode.DATA, "group", "history", "Alps")


def test_a_group_is_renamed_and_muted_and_members_show_what_they_have(
    three: tuple[Person, Person, Person],
) -> None:
    ana, bob, _ = three
    ana.types("group", "create", "Typo", "bob")
    bob.sees("Typo", "group", "list")
    assert "Named the group Right " in bob.types("group", "rename", "Typo", "Right")
    ana.sees("Right", "group", "list")
    ana.sees("◆ named the group: Right", "group", "read", "Right")
    assert ana.types("group", "mute", "right").startswith("Muted the group ")
    assert " muted" in ana.types("group", "list")
    (row,) = [row for row in ana.objects("group", "list") if row["name"] == "Right"]
    assert row["muted"]
    assert "no longer muted" in ana.types("group", "unmute", "right")
    ana.types("group", "post", "right", "Who has this?")
    bob.sees("Who has this?", "group", "read", "right")
    assert "on 0 of 1 other member's node" in " ".join(ana.types("group", "read", "right").split())
    bob.types("group", "post", "right", "I")
    ana.sees("on 1 of 1 other member's node, as far as known: Bob", "group", "read", "right")


def test_a_group_is_left(three: tuple[Person, Person, Person]) -> None:
    ana, bob, _ = three
    ana.types("group", "create", "Short", "bob")
    bob.sees("Short", "group", "list")
    assert bob.types("group", "leave", "Short").startswith("Left the group ")
    assert "you left this group" in bob.types("group", "list")
    ana.sees("◆ left the group", "group", "read", "Short")
    assert "You left this group" in refused(bob, ExitCode.DATA, "group", "post", "Short", "x")
    assert "again. Messages that you missed are requested" in bob.types("group", "return", "Short")
    bob.types("group", "post", "Short", "Here I am")
    ana.sees("Here I am", "group", "read", "Short")
    assert "no group 'nothing'" in refused(bob, ExitCode.MISSING, "group", "read", "nothing")


def test_additions_greet(three: tuple[Person, Person, Person]) -> None:
    ana, _, cyd = three
    assert "Texts are erased after 14 days" in ana.types("group", "create", "Door", "--erase-after", "14")
    (cost,) = ana.objects("group", "add", "Door", "cyd", "--dry-run")
    assert (cost["messages"], cost["costs"]) == (1, [])
    ana.types("group", "add", "Door", "cyd", "--text", "Welcome")
    cyd.sees("Door", "group", "list")
    cyd.sees("Welcome", "group", "read", "Door")
    assert "In the group already" in refused(ana, ExitCode.DATA, "group", "add", "Door", "cyd")


def test_a_member_of_whom_nothing_is_stored_is_excluded_and_added_again(
    three: tuple[Person, Person, Person],
) -> None:
    ana, _, _ = three
    stranger = SigningKey(bytes(31) + b"\x07").feed_id.hex()
    ana.types("group", "create", "Far")
    with DaemonClient.at_home(str(ana.running.home)) as node:
        node.group_add("Far", [stranger])
    assert stranger[:8] in ana.types("group", "show", "Far")
    assert "Excluded" in ana.types("group", "exclude", "Far", stranger, "--yes")
    assert "Added" in ana.types("group", "add", "Far", stranger[:12])
    assert "Excluded" in ana.types("group", "exclude", "Far", stranger[:8], "--yes")


def test_a_group_is_followed_as_it_comes(three: tuple[Person, Person, Person]) -> None:
    ana, bob, _ = three
    ana.types("group", "create", "Live", "bob")
    bob.sees("Live", "group", "list")
    chat = ["chat", "--group", "Live", "--last", "1", "--follow", "--json"]
    with subprocess.Popen(
        [*PROGRAM, "--home", str(ana.running.home), *chat], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["text"].startswith("added Bob")
        bob.types("group", "post", "Live", "Now?")
        assert json.loads(process.stdout.readline())["text"] == "Now?"
        process.terminate()
        process.wait(PATIENCE_S)


def test_groups_are_the_same_after_a_restart(three: tuple[Person, Person, Person]) -> None:
    ana, _, _ = three
    asked = [("list",), ("read", "Hut crew"), ("show", "Hut crew"), ("audit", "Hut crew")]
    before = [ana.types("group", *words) for words in asked]
    assert ana.running.stop()[0] == 0
    ana.running.notifications.close()
    with daemon(ana.running.home):
        assert [ana.types("group", *words) for words in asked] == before
