"""The page's server, asked over real sockets."""

import dataclasses
import gzip
import json
import re
import shutil
import threading
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from tests.catalog.fake import (
    ANA,
    BOB,
    CYD,
    EVE,
    HOSTILE_TEXT,
    PRIVATE,
    START_US,
    ZOE,
    make_person,
    message_id,
    small_mesh,
)
from tests.sse import Events
from tests.web.asking import ask, post
from tests.web.fake import FORK, GROUP, FakeNode, serving, with_fork, with_group
from tinyssb_node.catalog.rows import PUBLIC, ArrivingRow, MessageKind
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.control.group_rows import GroupArrivingRow, GroupBudgetRow, GroupSaidRow
from tinyssb_node.control.rows import GroupInvitationRow
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.screens import drafts
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.group_conversations import GroupConversation, message_row
from tinyssb_node.screens.subject_pages import SubjectPage
from tinyssb_node.web import app, limits
from tinyssb_node.web.app import STATIC


@pytest.fixture(scope="module")
def quiet() -> Iterator[str]:
    """A page of which nothing but questions is asked."""
    with serving(FakeNode()) as address:
        yield address


def saying(text: str = "hello", **changes: object) -> dict[str, object]:
    return {"conversation": "public", "text": text, "once": "once-0001"} | changes


def test_conversations_say_with_whom_and_what_was_said_last(quiet: str) -> None:
    rows = {row["name"]: row for row in ask(quiet, "/api/conversations").json["rows"]}
    assert rows["public"]["members"] == []
    assert [one["name"] for one in rows[PRIVATE]["members"]] == ["Bob from the hut"]
    assert rows[PRIVATE]["last"]["text"] == "Found it."


def test_messages_come_in_their_order_with_what_they_follow(quiet: str) -> None:
    found = ask(quiet, "/api/messages").json
    rows = found["rows"]
    assert [row["placed"] for row in rows] == sorted(row["placed"] for row in rows)
    by_id = {row["id"]: row for row in rows}
    # The answer stands right below what it follows; the other one does not, and shows it.
    assert by_id[message_id("answer").hex()]["answers"] == []
    assert [one["text"] for one in by_id[message_id("other").hex()]["answers"]] == ["Is anybody up there?"]
    assert by_id[message_id("evil").hex()]["text"] == HOSTILE_TEXT
    waiting = [(row["text"], row["gap"]) for row in found["waiting"]]
    assert waiting == [("I follow what you lack", "1 message missing"), ("and I follow her", None)]
    assert all(row["order"] > rows[-1]["order"] for row in found["waiting"])


def test_what_arrives_is_told_with_the_latest_public_messages() -> None:
    node = FakeNode()
    node.catalog.incomplete.append(
        ArrivingRow(
            id=message_id("map"),
            feed=BOB,
            seq=9,
            is_file=True,
            name="map.webp",
            size=900,
            chunks=10,
            chunks_held=2,
        )
    )
    with serving(node) as address:
        (row,) = ask(address, "/api/messages").json["arriving"]
        assert (row["name"], row["size"], row["chunks_held"], row["chunks"]) == ("map.webp", 900, 2, 10)
        assert row["author"]["name"] == "Bob from the hut"
        assert ask(address, f"/api/messages?conversation={PRIVATE}").json["arriving"] == []


def test_earlier_messages_are_asked_for_by_their_place(quiet: str) -> None:
    last = ask(quiet, "/api/messages?limit=3").json
    before = ask(quiet, f"/api/messages?limit=3&before={last['rows'][0]['order']}").json
    everything = ask(quiet, "/api/messages?limit=9999").json
    assert (last["more"], everything["more"]) == (True, False)
    assert before["waiting"] == []
    assert ask(quiet, "/api/messages?before=7").status == 400
    assert [row["id"] for row in before["rows"] + last["rows"]] == [
        row["id"] for row in everything["rows"][-6:]
    ]


def test_older_messages_that_arrived_since_the_user_looked_are_named() -> None:
    node = FakeNode()
    with serving(node) as address:
        shown = ask(address, "/api/messages?limit=3").json
        assert shown["older"] == [], "nothing was seen before"
        node.mark_read({PUBLIC: max(row["placed"] for row in shown["rows"])})
        node.arrive(BOB, "new")
        node.arrive(BOB, "late", order_us=START_US - 60_000_000)
        shown = ask(address, "/api/messages?limit=3").json
        late = node.catalog.all_messages[-1]
        assert shown["older"] == [{"id": late.id.hex(), "order": late.order}]
        assert late.id.hex() not in [row["id"] for row in shown["rows"]]
        last = shown["rows"][0]["order"]
        assert ask(address, f"/api/messages?limit=3&before={last}").json["older"] == []


def test_unread_messages_are_counted_until_the_page_has_shown_them() -> None:
    with serving(FakeNode()) as address:

        def unread() -> dict[str, int]:
            return {row["name"]: row["unread"] for row in ask(address, "/api/conversations").json["rows"]}

        before = unread()
        assert before[PUBLIC] > 2
        assert before[PRIVATE] == 1
        last = max(row["placed"] for row in ask(address, "/api/messages").json["rows"])
        assert post(address, "/api/read", {"conversation": PUBLIC, "placed": last}).status == 200
        assert unread() == {PUBLIC: 0, PRIVATE: 1}
        for body in ({"conversation": "..", "placed": 1}, {"conversation": PUBLIC, "placed": -1}, {}):
            assert post(address, "/api/read", body).status == 400
        assert unread() == {PUBLIC: 0, PRIVATE: 1}


def test_nothing_of_who_is_blocked_is_shown() -> None:
    catalog = small_mesh()
    catalog.all_people[EVE] = make_person(EVE, "Eve", blocked=True)
    with serving(FakeNode(catalog)) as address:
        found = ask(address, "/api/messages").json
        people = ask(address, "/api/people").json["rows"]
    shown = json.dumps([found["rows"], found["waiting"]])
    assert EVE.hex() not in shown
    assert people[-1]["feed"] == EVE.hex()


def test_data_of_optional_parts_is_read_as_lines() -> None:
    node = FakeNode()
    node.pages = [SubjectPage("PZP messages", ("one", HOSTILE_TEXT))]
    with serving(node) as address:
        assert ask(address, "/api/subjects").json == {
            "pages": [{"title": "PZP messages", "lines": ["one", HOSTILE_TEXT]}]
        }


def test_people_node_and_receipts(quiet: str) -> None:
    people = ask(quiet, "/api/people").json
    node = ask(quiet, "/api/node").json
    receipts = ask(quiet, "/api/receipts").json["receipts"]
    assert (people["all"], people["rows"][0]["own"]) == (5, True)
    assert (node["name"], node["links"][0]["received"], node["airtime"][0]["wait_us"]) == ("hut", 5_678, 0)
    (disk,) = node["disk"]
    assert disk["use"] == "own 30.0 kB, followed 2.0 MB, groups 0 B, others 4.9 MB of 5.0 MB"
    assert disk["biggest"].endswith(" 900 kB")
    (limit,) = node["limits"]
    assert limit["what"] == "4 packets had to wait for airtime"
    assert "tinyssb airtime" in limit["todo"]
    receipt = receipts[message_id("first").hex()]
    assert (receipt["held"], receipt["expected"], receipt["missing"][0]["name"]) == (2, 3, "Bob from the hut")


def test_alerts_are_what_the_checks_find_looked_for_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    node = FakeNode()
    finding = CheckResult("daemon", ok=False, found="not open", advice="Open it.", about="face lora:hut")
    with serving(node) as address:
        assert ask(address, "/api/alerts").json == {"alerts": []}
        node.found = [finding]
        assert ask(address, "/api/alerts").json == {"alerts": []}, "a check is not made for each page"
        monkeypatch.setattr(limits, "CHECK_S", 0.0)
        assert ask(address, "/api/alerts").json == {
            "alerts": [
                {"check": "daemon", "about": "face lora:hut", "found": "not open", "advice": "Open it."}
            ]
        }


def test_a_text_is_said_where_it_was_written() -> None:
    node = FakeNode()
    first = message_id("first")
    with serving(node) as address:
        answer = post(address, "/api/say", saying("  Soup!\n", reply_to=first.hex()))
        assert (answer.status, answer.json["packets"]) == (200, 3)
        post(address, "/api/say", saying("Hi Bob", conversation=PRIVATE, once="once-0002"))
        body = {"text": "Hi Zoe", "to": [ZOE.hex()], "once": "once-0003"}
        assert post(address, "/api/say", body).json["conversation"] is None
        rows = ask(address, "/api/messages").json["rows"]
    assert node.said == [
        {"text": "Soup!", "conversation": "public", "reply_to": first},
        {"text": "Hi Bob", "conversation": PRIVATE, "reply_to": None},
        {"text": "Hi Zoe", "recipients": (ZOE,), "reply_to": None},
    ]
    assert (rows[-1]["text"], rows[-1]["own"]) == ("Soup!", True)


def test_what_a_message_would_cost_is_told_before_it_is_sent() -> None:
    node = FakeNode()
    with serving(node) as address:
        found = post(address, "/api/cost", saying("x" * 60)).json
        private = post(address, "/api/cost", {"text": "x" * 100, "to": [ZOE.hex()], "once": "once-0001"}).json
        node.running = False
        assert post(address, "/api/cost", saying()).status == 503
    assert found["packets"] == 2
    assert private["packets"] > 2
    assert found["costs"] == [{"air_us": 2 * 205_056, "share": 2 * 205_056 / 36_000_000, "wait_us": 0}]
    assert node.said == []


def test_what_is_sent_again_for_a_lost_answer_is_said_once() -> None:
    node = FakeNode()
    saying_it, go_on = threading.Event(), threading.Event()

    def wait() -> None:
        saying_it.set()
        go_on.wait(10)

    node.before_saying = wait
    with serving(node) as address:
        answers: list[object] = []
        asking = [
            threading.Thread(target=lambda: answers.append(post(address, "/api/say", saying()).json))
            for _ in range(3)
        ]
        for one in asking:
            one.start()
        assert saying_it.wait(10)
        go_on.set()
        for one in asking:
            one.join(10)
        answers.append(post(address, "/api/say", saying()).json)
    assert len(node.said) == 1
    assert answers == [answers[0]] * 4


def test_a_node_that_goes_through_what_it_holds_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PATIENCE_S", 0.05)
    node, go_on = FakeNode(), threading.Event()

    def catch_up(progress: Callable[[int, int], None] = lambda _done, _total: None) -> object:
        progress(1, 3)
        return go_on.wait(10)

    monkeypatch.setattr(node, "catch_up", catch_up)
    with serving(node) as address:
        answer = ask(address, "/api/messages")
        assert (answer.status, answer.json["code"]) == (503, "busy")
        assert "33 % is done" in answer.json["message"]
        assert post(address, "/api/say", saying()).status == 503
        events = Events(address)
        assert events.next()["problem"] is None
        events.close()
        go_on.set()
        assert post(address, "/api/say", saying()).status == 200
        assert ask(address, "/api/messages").status == 200


def test_what_was_refused_can_be_sent_again() -> None:
    node = FakeNode()
    node.running = False
    with serving(node) as address:
        answer = post(address, "/api/say", saying())
        assert (answer.status, answer.json["message"]) == (503, "The node's daemon is not running.")
        assert ask(address, "/api/node").status == 503
        assert ask(address, "/api/messages").status == 200
        node.running = True
        assert post(address, "/api/say", saying()).status == 200
    assert len(node.said) == 1


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ([], 400),
        ("text", 400),
        ({}, 400),
        (saying(""), 400),
        (saying(" \n"), 400),
        (saying("x" * (limits.TEXT_MAX + 1)), 400),
        (saying("\ud800"), 400),
        (saying(once="short"), 400),
        (saying(once="no spaces here"), 400),
        (saying(conversation="../x"), 400),
        (saying(conversation=7), 400),
        (saying(to=["00" * 32]), 400),
        (saying(to="00" * 32, conversation=None), 400),
        (saying(reply_to="xyz"), 400),
        (saying(reply_to=7), 400),
        ({"text": "x", "once": "once-0001"}, 400),
        ({"text": "x", "once": "once-0001", "to": ["zz"]}, 400),
        ({"text": "x", "once": "once-0001", "to": [["00" * 32]]}, 400),
        ({"text": "x", "once": "once-0001", "to": ["00" * 32] * 7}, 400),
    ],
)
def test_what_is_no_message_is_refused_in_a_sentence(quiet: str, content: object, status: int) -> None:
    answer = post(quiet, "/api/say", content)
    assert (answer.status, answer.json["message"][-1]) == (status, ".")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 30_000])
def test_what_is_no_json_is_refused(quiet: str, body: bytes) -> None:
    headers = {"content-type": "application/json"}
    assert ask(quiet, "/api/say", method="POST", body=body, headers=headers).status == 400


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/messages?before=-1", 400),
        ("/api/messages?before=" + "9" * 17, 400),
        ("/api/messages?conversation=%00", 400),
        ("/api/messages?conversation=0123456789abcdef", 404),
        ("/api/circle", 400),
        (f"/api/circle?feed={'00' * 32}", 404),
        ("/static/..%2fapp.py", 404),
        ("/static/app.py", 404),
        ("/c/x/y", 404),
        ("/api/nothing", 404),
    ],
)
def test_what_is_not_there_is_said(quiet: str, path: str, status: int) -> None:
    answer = ask(quiet, path)
    assert (answer.status, answer.json["message"] != "") == (status, True)


def test_an_address_that_leads_nowhere_shows_people_the_page(quiet: str) -> None:
    answer = ask(quiet, "/c/x/y", headers={"accept": "text/html,*/*;q=0.8"})
    assert (answer.status, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert answer.body == (STATIC / "index.html").read_bytes()


def test_a_private_conversation_is_found_by_a_feed(quiet: str) -> None:
    assert ask(quiet, f"/api/circle?feed={BOB.hex()}").json["name"] == PRIVATE
    assert ask(quiet, f"/api/circle?feed={ZOE.hex()}").json["name"] is None


def test_a_private_conversation_may_have_several_people() -> None:
    node = FakeNode()
    node.circles[frozenset({BOB, CYD})] = "aa" * 8
    with serving(node) as address:
        found = ask(address, f"/api/circle?feed={CYD.hex()},{BOB.hex()},{CYD.hex()}").json
        assert (found["name"], [one["feed"] for one in found["members"]]) == (
            "aa" * 8,
            [CYD.hex(), BOB.hex()],
        )
        many = [f"{number:064x}" for number in range(7)]
        assert ask(address, f"/api/circle?feed={','.join(many)}").status == 400
        body = {"text": "Hi both", "to": [CYD.hex(), BOB.hex()], "once": "once-0003"}
        assert post(address, "/api/say", body).json["conversation"] == "aa" * 8
    assert node.said[-1]["recipients"] == (CYD, BOB)


def test_who_has_a_message_is_told_by_name(quiet: str) -> None:
    rows = ask(quiet, f"/api/receipt?id={message_id('first').hex()}").json["rows"]
    assert [(row["author"] and row["author"]["feed"], row["state"], row["face"]) for row in rows] == [
        (CYD.hex(), "has", None),
        (None, "has", "lora:hut"),
        (BOB.hex(), "lacks", None),
        (EVE.hex(), "silent", None),
    ]
    assert ask(quiet, f"/api/receipt?id={message_id('merge').hex()}").status == 404
    assert ask(quiet, "/api/receipt?id=x").status == 400


def test_a_feed_is_followed() -> None:
    node = FakeNode()
    with serving(node) as address:
        followed = post(address, "/api/follow", {"feed": ZOE.hex()}).json
        assert (followed["changed"], followed["pending"]) == (True, True)
        assert post(address, "/api/follow", {"feed": "xyz"}).status == 400
    assert node.followed == [ZOE]


def test_a_follow_is_shown_as_pending_and_undone() -> None:
    catalog = small_mesh()
    catalog.all_people[EVE] = make_person(EVE, None, entries=0, last_us=None, pending=True)
    node = FakeNode(catalog)
    with serving(node) as address:
        post(address, "/api/follow", {"feed": EVE.hex()})
        rows = {row["feed"]: row["pending"] for row in ask(address, "/api/people").json["rows"]}
        assert [feed for feed, pending in rows.items() if pending] == [EVE.hex()]
        assert post(address, "/api/unfollow", {"feed": EVE.hex()}).json["forgotten"]
        assert post(address, "/api/unfollow", {"feed": "xyz"}).status == 400
    assert node.followed == []


def test_a_listening_page_is_told_of_what_came_and_of_a_daemon_that_is_gone() -> None:
    node = FakeNode()
    with serving(node) as address:
        events = Events(address)
        first = events.next()
        assert first["problem"] is None
        node.arrive(BOB, "news")
        second = events.next()
        assert second["number"] > first["number"]
        node.running = False
        assert events.next()["problem"] == "The node's daemon is not running."
        events.close()


def test_the_document_names_nothing_that_is_not_served_from_here(quiet: str) -> None:
    document = ask(quiet, "/c/public").body.decode()
    names = re.findall(r'(?:src|href)="(/static/[^"]+)"', document)
    manifest = ask(quiet, "/static/manifest.webmanifest")
    assert manifest.headers["content-type"] == "application/manifest+json"
    named = {*names, *(icon["src"] for icon in manifest.json["icons"]), "/static/worker.js"}
    # Views that are loaded when they are opened; the worker keeps them, too.
    named |= set(re.findall(r'"(/static/[a-z]+\.js)"', (STATIC / "worker.js").read_text("utf-8")))
    assert sorted(named) == sorted(
        f"/static/{path.name}" for path in STATIC.iterdir() if path.name != "index.html"
    )
    for name in named:
        answer = ask(quiet, name)
        assert answer.status == 200
        assert ask(quiet, name, headers={"if-none-match": answer.headers["etag"]}).status == 304
    scripts = "".join(path.read_text("utf-8") for path in STATIC.glob("*.js"))
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|https?://", scripts)


def test_the_worker_changes_with_any_file_of_the_page(
    quiet: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = ask(quiet, "/static/worker.js")
    assert first.headers["service-worker-allowed"] == "/"
    assert re.match(rb'const VERSION = "[0-9a-f]{16}";\n', first.body)
    shutil.copytree(STATIC, tmp_path / "static")
    monkeypatch.setattr(app, "STATIC", tmp_path / "static")
    (tmp_path / "static" / "dom.js").write_text("// another one")
    second = ask(quiet, "/static/worker.js", headers={"if-none-match": first.headers["etag"]})
    assert second.status == 200
    assert second.body.partition(b"\n")[0] != first.body.partition(b"\n")[0]
    assert second.body.partition(b"\n")[2] == first.body.partition(b"\n")[2]


def test_files_of_the_page_are_sent_compressed_to_who_reads_that(quiet: str) -> None:
    plain = ask(quiet, "/static/app.js")
    packed = ask(quiet, "/static/app.js", headers={"accept-encoding": "br, gzip"})
    assert "content-encoding" not in plain.headers
    assert (packed.headers["content-encoding"], packed.headers["vary"]) == ("gzip", "accept-encoding")
    assert gzip.decompress(packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2


def test_the_numbers_of_the_scripts_are_those_of_the_server() -> None:
    composer = (STATIC / "composer.js").read_text("utf-8")
    found = re.search(r"const TEXT_MAX = ([\d_]+);", composer)
    assert found
    assert int(found[1].replace("_", "")) == limits.TEXT_MAX
    api = (STATIC / "api.js").read_text("utf-8")
    found = re.search(r"const PATIENCE_MS = ([\d_]+);", api)
    assert found
    assert int(found[1].replace("_", "")) > limits.CALL_S * 1_000
    outbox = (STATIC / "outbox.js").read_text("utf-8")
    assert f"of {limits.TEXT_MAX:,} characters" in outbox
    live = (STATIC / "live.js").read_text("utf-8")
    found = re.search(r"const SILENCE_MS = ([\d_]+);", live)
    assert found
    assert int(found[1].replace("_", "")) > 3 * limits.SIGN_S * 1_000


def test_a_name_of_our_users_giving_is_told_from_others(quiet: str) -> None:
    people = {row["feed"]: row["alone"] for row in ask(quiet, "/api/people").json["rows"]}
    assert people == {feed: feed == BOB.hex() for feed in people}


def test_a_name_as_long_as_a_file_is_cut_in_every_row() -> None:
    catalog = small_mesh()
    catalog.all_people[BOB] = make_person(BOB, "B" * 1_000_000)
    with serving(FakeNode(catalog)) as address:
        for path in ("/api/messages", "/api/conversations", "/api/people", "/api/receipts"):
            answer = ask(address, path)
            assert b"B" * limits.NAME_MAX in answer.body
            assert len(answer.body) < 100_000


def test_a_group_is_not_called_as_several_people_are() -> None:
    node = FakeNode()
    group = "5a" * 20
    node.rooms = [GroupConversation(name=group, members=(), messages=0, last=None, title="Bob, Cyd", note="")]
    with serving(node) as address:
        assert ask(address, f"/api/messages?conversation={group}").json["title"] == '"Bob, Cyd" 5a5a5a5a'


def test_our_own_name_is_ours(quiet: str) -> None:
    first = ask(quiet, "/api/messages").json["rows"][0]
    assert first["author"]["own"]
    assert first["author"]["feed"] == ANA.hex()


def change(action: str, *people: FeedId, **more: object) -> dict[str, object]:
    return {"action": action, "people": [feed.hex() for feed in people], "once": "once-0001"} | more


def test_a_group_states_who_can_read_what() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        found = ask(address, f"/api/group?group={GROUP}").json
        assert ask(address, f"/api/group?group={'0' * 40}").status == 404
        assert ask(address, "/api/group?group=x").status == 400
    assert (found["title"], found["state"]) == ("Hut crew 5a5a5a5a", "member")
    reads = {one["feed"]: (one["current"], one["reads"]) for one in found["readers"]}
    assert reads[ANA.hex()] == (True, "everything")
    assert reads[CYD.hex()] == (True, "everything"), "additions bring the keys of earlier epochs"
    assert reads[EVE.hex()][0] is False
    assert any("add missing members" in line for line in found["tasks"])


def test_a_fork_that_waits_for_the_user_is_decided_on() -> None:
    node = with_fork(FakeNode())
    with serving(node) as address:
        (review,) = ask(address, f"/api/group?group={GROUP}").json["reviews"]
        assert (review["fork"], review["rejected"]) == (FORK, False)
        assert any("waits for your decision" in line for line in review["lines"])
        assert not any("tinyssb group" in line for line in review["lines"])
        accept = change("accept_fork", group=GROUP, fork=FORK)
        lines = post(address, "/api/group/preview", accept).json["lines"]
        assert any("7 packets, 1.4 s of airtime" in line for line in lines)
        assert any("a new epoch begins without Bob" in line for line in lines)
        lines = post(address, "/api/group/preview", change("reject_fork", group=GROUP, fork=FORK)).json[
            "lines"
        ]
        assert any("If you reject it, your node ignores it" in line for line in lines)
        assert node.changes == []
        for _ in range(2):  # the answer was lost, and the page asks again
            answer = post(address, "/api/group/change", accept)
            assert answer.json["done"].startswith("Accepted the fork in 16 packets.")
    assert node.changes == [(f"accept {FORK}", GROUP, ())]


def test_an_invitation_is_shown_and_answered() -> None:
    node = with_group(FakeNode())
    assert node.shown is not None
    invitation = GroupInvitationRow(
        group=GROUP, name="Hut crew", creator=BOB.hex(), added_by=[BOB.hex()], strangers=[BOB.hex()]
    )
    budget = GroupBudgetRow(used=12, of=96)
    node.shown = msgspec.structs.replace(node.shown, state="invited", invitation=invitation, budget=budget)
    with serving(node) as address:
        found = ask(address, f"/api/group?group={GROUP}").json
        lines = post(address, "/api/group/preview", change("accept", group=GROUP)).json["lines"]
        post(address, "/api/group/change", change("accept", group=GROUP))
        post(address, "/api/group/change", change("decline", group=GROUP) | {"once": "once-0002"})
    assert (found["state"], found["note"]) == ("invited", "you have not accepted this group")
    assert found["invitation"].endswith("(whom you do not follow) added you to Hut crew 5a5a5a5a")
    assert found["tasks"][0] == "By itself your node wrote 12 of 96 packets that it may in 24 hours."
    assert any("does its part" in line for line in lines)
    assert node.changes == [("accept", GROUP, ()), ("decline", GROUP, ())]


def test_a_group_whose_history_is_missing_says_so_and_requests_it() -> None:
    node = with_group(FakeNode())
    assert node.shown is not None
    row = GroupArrivingRow(added_by=[BOB.hex()], people=[BOB.hex()], requested=False)
    node.shown = msgspec.structs.replace(node.shown, state="arriving", arriving=row, epoch=None, name=None)
    with serving(node) as address:
        found = ask(address, f"/api/group?group={GROUP}").json
        lines = post(address, "/api/group/preview", change("history", group=GROUP)).json["lines"]
        answer = post(address, "/api/group/change", change("history", group=GROUP))
    assert (found["state"], found["note"]) == ("arriving", "its older messages are missing")
    assert "added you. Older messages are missing" in found["arriving"]
    assert any("may take hours" in line for line in lines)
    assert answer.json["done"].startswith("Requested the older messages")
    assert node.changes == [("history", GROUP, ())]


def test_a_group_is_changed_once_after_a_preview() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        lines = post(address, "/api/group/preview", change("exclude", BOB, group=GROUP)).json["lines"]
        assert any("16 packets, 3.3 s of airtime" in line for line in lines)
        assert any("This cannot be undone." in line for line in lines)
        assert node.changes == []
        for _ in range(2):  # the answer was lost, and the page asks again
            answer = post(address, "/api/group/change", change("exclude", BOB, group=GROUP))
            assert (answer.status, answer.json["group"]) == (200, GROUP)
        post(address, "/api/group/change", change("leave", group=GROUP, once="once-0002"))
        ski = change("create", CYD, name=" Ski ", erase_days=30, once="once-0003")
        lines = post(address, "/api/group/preview", ski).json["lines"]
        assert any("18 packets, 3.7 s of airtime" in line for line in lines)
        assert any("erased after 30 days" in line for line in lines)
        made = post(address, "/api/group/change", ski)
    assert made.json["done"].startswith("Created the group Ski 5a5a5a5a")
    assert node.changes == [
        ("exclude", GROUP, (BOB.hex(),)),
        ("leave", GROUP, ()),
        ("create", "Ski after 30", (CYD.hex(),)),
    ]


@pytest.mark.parametrize(
    "body",
    [
        change("delete", group=GROUP),
        change("exclude", group=GROUP),
        change("add", BOB),
        change("add", BOB, group="public"),
        change("create", BOB),
        change("create", BOB, name="  "),
        change("create", BOB, name="Ski", erase_days=0),
        change("create", BOB, name="Ski", erase_days=366),
        change("create", BOB, name="Ski", erase_days="7"),
        change("create", BOB, name="Ski", erase_days=True),
        change("leave", group=GROUP) | {"once": "!"},
        change("leave", group=GROUP) | {"people": [1]},
        change("leave", group=GROUP) | {"people": "all"},
        change("accept_fork", group=GROUP),
        change("reject_fork", group=GROUP, fork="33"),
    ],
)
def test_a_change_that_is_no_change_is_refused(body: dict[str, object]) -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        assert post(address, "/api/group/change", body).status == 400
    assert node.changes == []


def test_a_big_message_is_published_after_its_author_agreed() -> None:
    node = FakeNode()
    with serving(node) as address:
        asked = post(address, "/api/say", saying("x" * 2_500))
        assert (asked.status, asked.json["code"]) == (409, "costly")
        assert "26 packets" in asked.json["message"]
        assert "% of this hour's budget" in asked.json["message"]
        assert node.said == []
        assert post(address, "/api/say", saying("x" * 2_500, agreed="yes")).status == 409
        assert post(address, "/api/say", saying("x" * 2_500, agreed=True)).status == 200
    assert len(node.said) == 1


def sending(content: bytes, **changes: object) -> dict[str, object]:
    body = {"group": GROUP, "name": "map.webp", "type": "image/webp", "data": b64encode(content).decode()}
    return body | {"once": "once-0001"} | changes


def test_a_file_is_sent_to_a_group_and_comes_back() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        cost = post(address, "/api/group/attach/cost", sending(bytes(200))).json
        assert (cost["packets"], cost["costly"], len(cost["costs"])) == (5, False, 1)
        assert node.said == []
        for _ in range(2):  # the answer was lost, and the page asks again
            sent = post(address, "/api/group/attach", sending(bytes(200)))
            assert (sent.status, sent.json["packets"], sent.json["conversation"]) == (200, 5, GROUP)
        assert len(node.said) == 1
        (*_, row) = ask(address, f"/api/messages?conversation={GROUP}").json["rows"]
        assert (row["file"]["name"], row["file"]["size"], row["file"]["picture"]) == ("map.webp", 200, True)
        found = ask(address, row["file"]["href"])
        assert (found.body, found.headers["content-type"]) == (bytes(200), "image/webp")
        assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''map.webp"
        assert found.headers["cache-control"] == "no-store"
        assert ask(address, f"/api/group/file?group={GROUP}&id={'0' * 40}").status == 404
        assert ask(address, f"/api/group/file?group={GROUP}&id=x").status == 400


def test_missing_messages_of_a_group_are_counted_below_its_latest() -> None:
    node = with_group(FakeNode())
    node.rooms = [dataclasses.replace(room, lacking=2) for room in node.rooms]
    with serving(node) as address:
        found = ask(address, f"/api/messages?conversation={GROUP}").json
        assert found["lacking"].startswith("2 messages are missing here")
        order = found["rows"][0]["order"]
        assert ask(address, f"/api/messages?conversation={GROUP}&before={order}").json["lacking"] == ""


def test_readings_of_sensors_are_given_for_charts() -> None:
    node = FakeNode()
    with serving(node) as address:
        assert ask(address, "/api/readings").json == {"series": []}
    for value in (21.5, 22):
        node.arrive(BOB, json.dumps(["temp", "roof", value]), kind=MessageKind.DATA, conversation=None)
    with serving(node) as address:
        (series,) = ask(address, "/api/readings").json["series"]
        assert (series["label"], [value for _, value in series["points"]]) == ("temp roof", [21.5, 22.0])
        assert series["author"]["feed"] == BOB.hex()


def test_a_public_file_is_sent_and_comes_back() -> None:
    node = FakeNode()
    body = {name: value for name, value in sending(bytes(200)).items() if name != "group"}
    with serving(node) as address:
        cost = post(address, "/api/attach/cost", body).json
        assert (cost["packets"], cost["costly"], len(cost["costs"])) == (4, False, 1)
        for _ in range(2):  # the answer was lost, and the page asks again
            sent = post(address, "/api/attach", body)
            assert (sent.status, sent.json["conversation"]) == (200, PUBLIC)
        assert node.said == [{"file": "map.webp", "conversation": PUBLIC}]
        row = ask(address, "/api/messages").json["rows"][-1]
        assert (row["file"]["name"], row["file"]["size"], row["file"]["picture"]) == ("map.webp", 200, True)
        found = ask(address, row["file"]["href"])
        assert (found.body, found.headers["content-type"]) == (bytes(200), "image/webp")
        assert found.headers["content-disposition"] == "attachment; filename*=UTF-8''map.webp"
        for other in (message_id("first").hex(), "0" * 40):
            assert ask(address, f"/api/file?id={other}").status == 404
        assert ask(address, "/api/file?id=x").status == 400
        big = body | {"data": b64encode(bytes(32_000)).decode(), "once": "once-0002"}
        asked = post(address, "/api/attach", big)
        assert (asked.status, asked.json["code"]) == (409, "costly")
        assert "map.webp" in asked.json["message"]
        assert post(address, "/api/attach", big | {"agreed": True}).status == 200
        assert post(address, "/api/attach", body | {"name": "x" * 65}).status == 400


def test_a_file_in_a_private_conversation_is_encrypted_for_its_members(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encrypted: list[tuple[FeedId, ...]] = []

    def encrypt(file: File, readers: Sequence[FeedId]) -> bytes:
        encrypted.append(tuple(readers))
        return serialize_file(dataclasses.replace(file, readers=tuple(readers)))

    monkeypatch.setattr(drafts, "private_file_draft", encrypt)
    node = FakeNode()
    body = {name: value for name, value in sending(bytes(200)).items() if name != "group"}
    body["conversation"] = PRIVATE
    with serving(node) as address:
        assert post(address, "/api/attach/cost", body).status == 200
        sent = post(address, "/api/attach", body)
        assert (sent.status, sent.json["conversation"]) == (200, PRIVATE)
        assert node.said == [{"file": "map.webp", "conversation": PRIVATE}]
        assert set(encrypted) == {(BOB, ANA)}
        row = ask(address, f"/api/messages?conversation={PRIVATE}").json["rows"][-1]
        found = ask(address, row["file"]["href"])
        assert (found.body, found.headers["content-type"]) == (bytes(200), "image/webp")
        assert post(address, "/api/attach", body | {"conversation": "0" * 16, "once": "x" * 9}).status >= 400


def test_a_big_file_is_sent_after_its_author_agreed() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        asked = post(address, "/api/group/attach", sending(bytes(32_000)))
        assert (asked.status, asked.json["code"]) == (409, "costly")
        assert "323 packets" in asked.json["message"]
        assert node.said == []
        assert post(address, "/api/group/attach", sending(bytes(32_000), agreed=True)).status == 200
        assert (
            post(address, "/api/group/attach", sending(bytes(32_001), agreed=True, once="once-0002")).status
            >= 400
        )
    assert len(node.said) == 1


@pytest.mark.parametrize("name", ["page.html", "picture.svg", "../../etc/\r\nx: y", "💧" * 16])
def test_a_file_of_a_stranger_is_never_a_page(name: str) -> None:
    node = with_group(FakeNode())
    node.group_said.append(node.file_message(name, BOB, "text/html", b"<script>1</script>", 2, GROUP))
    with serving(node) as address:
        (*_, row) = ask(address, f"/api/messages?conversation={GROUP}").json["rows"]
        assert not row["file"]["picture"]
        found = ask(address, row["file"]["href"])
    assert found.headers["content-type"] == "application/octet-stream"
    assert found.headers["content-disposition"].startswith("attachment; ")
    assert not {"/", "\r", "\n"} & set(found.headers["content-disposition"].removeprefix("attachment; "))
    assert "default-src 'none'" in found.headers["content-security-policy"]


@pytest.mark.parametrize(
    "body",
    [
        sending(b"", data="?"),
        sending(b"", data=1),
        sending(b"", name="n" * 65),
        sending(b"", name="é" * 64),
        sending(b"", name="\ud800"),
        sending(b"", group="public"),
        sending(b"", once="!"),
        sending(b"", reply_to="x"),
    ],
)
def test_a_file_that_is_none_is_refused(body: dict[str, object]) -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        assert post(address, "/api/group/attach", body).status == 400
    assert node.said == []


def test_a_thread_of_a_group_has_depths() -> None:
    node = with_group(FakeNode())
    first = node.group_said[0]
    node.threads = [
        GroupSaidRow(
            id=first.id.hex(), feed=BOB.hex(), seq=1, own=False, epoch=None, kind="post", text="Soup at noon?",
            people=[], previous=[], committed_us=1, group=GROUP, place=1,
        ),
        GroupSaidRow(
            id="77" * 20, feed=CYD.hex(), seq=1, own=False, epoch=None, kind="post", text="Yes",
            people=[], previous=[], committed_us=2, group=GROUP, place=2, reply_to=first.id.hex(),
        ),
    ]  # fmt: skip
    with serving(node) as address:
        found = ask(address, f"/api/thread?conversation={GROUP}&id={'77' * 20}").json
        assert [(row["text"], row["depth"]) for row in found["rows"]] == [("Soup at noon?", 0), ("Yes", 1)]
        assert (found["title"], found["rows"][1]["reply_to"]) == ("Hut crew 5a5a5a5a", first.id.hex())
        assert ask(address, f"/api/thread?conversation={GROUP}&id={'78' * 20}").status >= 400
        assert ask(address, f"/t/{GROUP}/{'77' * 20}").status == 200


def test_a_thread_of_a_conversation_has_what_a_message_answers_and_all_answers() -> None:
    node = FakeNode()
    node.arrive(CYD, "Which soup?", [message_id("answer")])
    buy = node.arrive(EVE, "Buy mine", [message_id("first"), message_id("arrived 20")])
    node.catalog.all_people[EVE] = make_person(EVE, "Eve", blocked=True)
    with serving(node) as address:
        found = ask(address, f"/api/thread?id={message_id('answer').hex()}").json
        assert [(row["text"][:11], row["depth"], bool(row["remark"])) for row in found["rows"]] == [
            ("Is anybody ", 0, False),
            ("Yes: at the", 1, True),
            ("Which soup?", 2, False),
            ("Here too, o", 1, False),
            ("Good. Meet ", 2, True),
        ]
        assert [len(row["answers"]) for row in found["rows"]] == [0, 0, 0, 1, 0]
        assert found["rows"][3]["answers"][0]["id"] == message_id("first").hex()
        assert (found["name"], found["notes"]) == (PUBLIC, ["1 message of blocked people is hidden."])
        late = ask(address, f"/api/thread?id={message_id('late').hex()}").json
        assert [(row["text"], row["gap"]) for row in late["rows"]] == [("and I follow her", None)]
        assert late["notes"] == [
            "The message that the first one answers has not arrived here.",
            "1 message of blocked people is hidden.",
        ]
        node.arrive(CYD, "Hers is cold", [MessageId.from_hex(buy.id), message_id("bare")])
        found = ask(address, f"/api/thread?id={message_id('first').hex()}").json
        assert [(row["text"], row["depth"], row["answers"]) for row in found["rows"]][-1] == (
            "Hers is cold",
            2,
            [],
        )
        assert "Buy mine" not in json.dumps(found)
        secret = message_id("secret").hex()
        private = ask(address, f"/api/thread?conversation={PRIVATE}&id={secret}").json
        assert [row["depth"] for row in private["rows"]] == [0, 1]
        for path in (f"id={secret}", f"conversation=0123456789abcdef&id={secret}", f"id={'ab' * 20}"):
            refused = ask(address, f"/api/thread?{path}")
            assert (refused.status, refused.json["code"]) == (404, "unknown_entry")
        for path in ("id=ab", "conversation=x&id=" + secret):
            assert ask(address, f"/api/thread?{path}").status == 400
        assert ask(address, f"/t/public/{secret}").status == 200


def test_a_message_says_which_one_it_answers_unless_it_may_just_follow_it() -> None:
    node = FakeNode()
    node.arrive(BOB, '{"name": "map.webp", "type": "image/webp", "size": 3}', kind=MessageKind.FILE)
    node.arrive(CYD, "Below a file", [message_id("bare")])
    node.arrive(BOB, "With noodles", [message_id("answer")])
    with serving(node) as address:
        rows = ask(address, "/api/messages").json["rows"]
        answered = {row["text"][:12]: row["reply_to"] for row in rows}
        assert answered["Here too, on"] == message_id("first").hex()
        assert answered["With noodles"] == message_id("answer").hex()
        assert (answered["Yes: at the "], answered["Below a file"], answered["Is anybody u"]) == (
            None,
            None,
            None,
        )


def test_words_are_found_in_groups_and_elsewhere() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        found = post(address, "/api/search", {"words": "Soup at noon"}).json
        (row,) = found["rows"]
        assert (found["groups"], row["title"]) == (True, "Hut crew 5a5a5a5a")
        assert row["where"] == f"/t/{GROUP}/{node.group_said[0].id.hex()}"
        public = post(address, "/api/search", {"words": "Yes: at the hut"}).json["rows"]
        where = f"/t/public/{message_id('answer').hex()}"
        assert {(one["title"], one["where"]) for one in public} == {("Public", where)}
        assert post(address, "/api/search", {"words": "x" * 201}).status == 400
        assert post(address, "/api/search", {}).status == 400
        node.running = False
        assert not post(address, "/api/search", {"words": "Soup"}).json["groups"]


def test_a_group_is_renamed_and_muted() -> None:
    node = with_group(FakeNode())
    with serving(node) as address:
        rename = change("rename", group=GROUP, name=" Ski ", once="once-0002")
        lines = post(address, "/api/group/preview", rename).json["lines"]
        assert any("2 packets" in line for line in lines)
        assert "Named the group Ski" in post(address, "/api/group/change", rename).json["done"]
        assert (
            post(
                address, "/api/group/change", change("rename", group=GROUP, name=" ", once="once-0003")
            ).status
            == 400
        )
        assert not ask(address, f"/api/group?group={GROUP}").json["muted"]
        post(address, "/api/group/change", change("mute", group=GROUP))
        assert ask(address, f"/api/group?group={GROUP}").json["muted"]
        post(address, "/api/group/change", change("unmute", group=GROUP, once="once-0004"))
    assert node.changes == [("rename Ski", GROUP, ()), ("mute", GROUP, ()), ("unmute", GROUP, ())]


def test_a_message_of_ours_in_a_group_states_who_has_it() -> None:
    node = with_group(FakeNode())
    row = GroupSaidRow(
        id="77" * 20, feed=ANA.hex(), seq=1, own=True, epoch=None, kind="post", text="Soup", people=[],
        previous=[], committed_us=1, group=GROUP, place=2, order="9" * 18, holders=(BOB.hex(),), expected=2,
    )  # fmt: skip
    node.group_said.append(message_row(row, node.names()))
    with serving(node) as address:
        (first, own) = ask(address, f"/api/messages?conversation={GROUP}").json["rows"]
    assert first["held"] is None
    assert own["held"] == f"on 1 of 2 other members' nodes, as far as known: {node.names().shown(BOB)}"
