"""Guests at the page's server: what they may ask, and what the node takes of them."""

import contextlib
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.catalog.fake import ANA, BOB, EVE, PRIVATE, START_US, make_person, message_id
from tests.daemon.processes import daemon, make_home, tinyssb
from tests.web.asking import Answer, ask, post
from tests.web.fake import GROUP, TOKEN, FakeNode, serving, with_group
from tinyssb_node.catalog.rows import SealedRow, TelemetryRow
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.telemetry import PositionRecord, serialize_telemetry
from tinyssb_node.control.group_rows import GroupTelemetryRow
from tinyssb_node.control.rows import ImportedRow, RefusedRow
from tinyssb_node.feeds.author import ComposedEntry, compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect
from tinyssb_node.store.home import Home
from tinyssb_node.web import app, limits
from tinyssb_node.web.access import GUEST_ENTRANCE, GUEST_FOLDER, GUEST_PATHS, OPEN
from tinyssb_node.web.guests import refused_in_words
from tinyssb_node.web.opener import NodeOpener
from tinyssb_node.web.phones import PROOF
from tinyssb_node.web.tokens import make_token

CYD, MALLORY = SigningKey(b"c" * 32), SigningKey(b"m" * 32)


def enter(address: str, token: str) -> str:
    """Come in as a phone; returns its cookie."""
    answer = post(address, GUEST_ENTRANCE, {"token": token})
    assert answer.status == 200, answer.body
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    return cookie.partition(";")[0]


@pytest.fixture(scope="module")
def hut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address of a page that takes guests, and the cookie of one."""
    folder = tmp_path_factory.mktemp("hut")
    with serving(with_group(FakeNode()), token=TOKEN, folder=folder) as address:
        yield address, enter(address, make_token(folder / "web.guest"))


def all_paths() -> list[str]:
    """All addresses of the API, as the sources have them."""
    import re

    sources = "".join(path.read_text("utf-8") for path in Path(app.__file__).parent.glob("*.py"))
    return sorted({*re.findall(r'"(/api/[a-z/]+)"', sources)})


@pytest.mark.parametrize("path", all_paths())
def test_a_guest_asks_for_what_is_public_and_for_nothing_else(hut: tuple[str, str], path: str) -> None:
    """A new address is closed to guests until somebody decides otherwise."""
    address, cookie = hut
    if path in {*GUEST_PATHS, *OPEN, GUEST_FOLDER}:
        return
    query = f"?conversation={PRIVATE}&group={GROUP}&id={message_id('in group 0').hex()}&feed={BOB.hex()}"
    assert ask(address, path + query, headers={"cookie": cookie}).status == 403
    assert post(address, path, {"conversation": "public", "text": "x"}, cookie=cookie).status == 403


def test_a_guest_reads_public_messages_by_the_names_that_people_give_themselves(hut: tuple[str, str]) -> None:
    address, cookie = hut
    found = ask(address, "/api/guest/messages", headers={"cookie": cookie}).json
    assert [row["text"] for row in found["rows"]][:1] == ["Is anybody up there?"]
    assert not any(row["own"] or row["author"]["own"] or row["private"] for row in found["rows"])
    names = {row["author"]["feed"]: row["author"]["name"] for row in found["rows"]}
    assert names[BOB.hex()] != "Bob from the hut", "what the host calls people is not for guests"
    assert not any(row["author"]["alone"] for row in found["rows"])
    rows = ask(address, "/api/guest/conversations", headers={"cookie": cookie}).json["rows"]
    assert [row["name"] for row in rows] == ["public"]
    assert ANA.hex() in names
    assert EVE.hex() in {row["author"]["feed"] for row in [*found["rows"], *found["waiting"]]}


def test_a_guest_reads_threads_of_public_messages_only(hut: tuple[str, str]) -> None:
    address, cookie = hut
    answer = message_id("answer").hex()
    found = ask(address, f"/api/guest/thread?id={answer}", headers={"cookie": cookie}).json
    assert [row["depth"] for row in found["rows"]][:2] == [0, 1]
    names = {row["author"]["feed"]: row["author"]["name"] for row in found["rows"]}
    assert names[BOB.hex()] != "Bob from the hut"
    assert not any(row["own"] for row in found["rows"])
    for id_ in (message_id("in group 0").hex(), message_id("secret").hex(), "00" * 20, "x", ""):
        for conversation in ("public", PRIVATE, GROUP):
            path = f"/api/guest/thread?conversation={conversation}&id={id_}"
            assert ask(address, path, headers={"cookie": cookie}).status in {400, 404}, path


def test_a_guest_gets_public_files_only(tmp_path: Path) -> None:
    node = with_group(FakeNode())
    with serving(node, token=TOKEN, folder=tmp_path) as address:
        cookie = enter(address, make_token(tmp_path / "web.guest"))
        for id_ in (message_id("in group 0").hex(), message_id("secret").hex(), "00" * 20, "x", ""):
            answer = ask(address, f"/api/guest/file?id={id_}", headers={"cookie": cookie})
            assert answer.status in {400, 404}, id_


def test_a_guest_gets_private_messages_unopened_and_asks_again_for_those_that_were_incomplete(
    tmp_path: Path,
) -> None:
    node = FakeNode()
    node.catalog.all_people[EVE] = make_person(EVE, "Eve", blocked=True)
    rows = [(1, BOB, b"sealed"), (2, BOB, None), (3, BOB, b""), (4, EVE, b"of a blocked person")]
    node.catalog.all_sealed = [
        SealedRow(number, message_id(f"sealed {number}"), feed, number, START_US, content)
        for number, feed, content in rows
    ]
    with serving(node, token=TOKEN, folder=tmp_path) as address:
        headers = {"cookie": enter(address, make_token(tmp_path / "web.guest"))}
        found = ask(address, "/api/guest/sealed", headers=headers).json
        assert [(row["arrival"], row["feed"], row["content"]) for row in found["rows"]] == [
            (1, BOB.hex(), b64encode(b"sealed").decode())
        ]
        assert (found["lacking"], found["after"], found["more"]) == ([2], 4, False)
        node.catalog.all_sealed[1] = replace(node.catalog.all_sealed[1], content=b"complete now")
        found = ask(address, "/api/guest/sealed?after=4&again=2", headers=headers).json
        assert ([row["arrival"] for row in found["rows"]], found["lacking"], found["after"]) == ([2], [], 4)
        for again in ("x", "-1", ",".join("1" * 17), "1,"):
            assert ask(address, f"/api/guest/sealed?again={again}", headers=headers).status == 400


def test_a_guest_sees_people_by_the_names_that_they_give_themselves(hut: tuple[str, str]) -> None:
    address, cookie = hut
    rows = ask(address, "/api/guest/people", headers={"cookie": cookie}).json["rows"]
    assert {row["feed"]: row["name"] for row in rows}[BOB.hex()] != "Bob from the hut"
    assert all(row["private"] for row in rows)
    assert not any(row["own"] or row["alone"] for row in rows)


def test_a_guest_sees_public_positions_by_the_names_that_people_give_themselves(tmp_path: Path) -> None:
    node = with_group(FakeNode())
    now_us = time.time_ns() // 1_000
    public = PositionRecord(latitude=4_734_990, longitude=849_130, radius_m=722)
    exact = PositionRecord(latitude=4_734_555, longitude=849_444, radius_m=5)
    node.catalog.all_telemetry = [
        TelemetryRow(feed=BOB, own=False, committed_us=now_us - 60_000_000, record=public)
    ]
    node.group_records = [
        GroupTelemetryRow(
            group=GROUP, feed=feed.hex(), committed_us=now_us, record=serialize_telemetry(exact).hex()
        )
        for feed in (ANA, BOB)
    ]
    with serving(node, token=TOKEN, folder=tmp_path) as address:
        cookie = enter(address, make_token(tmp_path / "web.guest"))
        found = ask(address, "/api/guest/places", headers={"cookie": cookie}).json
        rows = {row["author"]["feed"]: row for row in found["rows"]}
        assert (rows[BOB.hex()]["position"]["radius_m"], rows[BOB.hex()]["position"]["grouped"]) == (
            722,
            False,
        )
        assert rows[BOB.hex()]["author"]["name"] != "Bob from the hut"
        assert rows[ANA.hex()]["position"] is None
        assert not any(row["author"]["own"] for row in found["rows"])
        assert ask(address, "/api/map", headers={"cookie": cookie}).json == {"map": None}
        assert ask(address, "/api/tile/0/0/0", headers={"cookie": cookie}).status == 404, "there is no map"
        assert ask(address, "/api/tile/0/0/0").status == 401


def test_strangers_and_other_sites_get_nothing_of_guests(hut: tuple[str, str]) -> None:
    address, cookie = hut
    for path in GUEST_PATHS:
        assert ask(address, path).status == 401
        evil = {"cookie": cookie, "origin": "http://evil.example"}
        assert ask(address, path, headers=evil).status == 403
    assert post(address, GUEST_ENTRANCE, {"token": "0" * 32}).status == 404
    assert post(address, GUEST_ENTRANCE, {"token": TOKEN}).status == 404, "the host's token is another one"
    assert ask(address, "/api/session", headers={"cookie": cookie}).json == {
        "needed": True, "known": False, "guest": True,
    }  # fmt: skip


def test_without_the_door_there_are_no_guests(tmp_path: Path) -> None:
    with serving(FakeNode(), token=TOKEN, folder=tmp_path) as address:
        assert post(address, GUEST_ENTRANCE, {"token": "0" * 32}).status == 404
    assert list(tmp_path.iterdir()) == []


def test_a_list_of_phones_that_cannot_be_read_is_said_and_lets_nobody_in(tmp_path: Path) -> None:
    with serving(FakeNode(), token=TOKEN, folder=tmp_path) as address:
        cookie = enter(address, make_token(tmp_path / "web.guest"))
        (tmp_path / "web-phones.json").write_text("{")
        answer = ask(address, "/api/guest/messages", headers={"cookie": cookie})
        assert (answer.status, "web-phones.json" in answer.json["message"]) == (503, True)


# --- A node that runs


@contextlib.contextmanager
def running(tmp_path: Path) -> Iterator[tuple[str, Path, str]]:
    """A page over a daemon; its address, the home, the cookie of a phone."""
    home = tmp_path / "ana"
    make_home(home, name="ana")
    with (
        daemon(home),
        serving(NodeOpener(Home.find(str(home), {}), None), token=TOKEN, folder=home) as address,
    ):
        yield address, home, enter(address, make_token(home / "web.guest"))


def bind(address: str, cookie: str, key: SigningKey) -> Answer:
    challenge = bytes.fromhex(ask(address, "/api/guest", headers={"cookie": cookie}).json["challenge"])
    signature = key.sign(PROOF + challenge).hex()
    return post(
        address, "/api/guest/bind", {"feed": key.feed_id.hex(), "signature": signature}, cookie=cookie
    )


def hand_over(address: str, cookie: str, *packets: bytes) -> Answer:
    texts = [b64encode(packet).decode() for packet in packets]
    return post(address, "/api/guest/publish", {"packets": texts}, cookie=cookie)


def entries(key: SigningKey, *contents: bytes) -> list[ComposedEntry]:
    tip, made = Tip(key.feed_id, Dialect.SPEC, 0, None), []
    for content in contents:
        made.append(compose(Network(), key, tip, content))
        tip = made[-1].extended.tip
    return made


def test_the_node_carries_what_a_phone_signed_and_nothing_else(tmp_path: Path) -> None:
    with running(tmp_path) as (address, home, cookie):
        first, second = entries(CYD, b"a" * 20, b"b" * 300)
        assert hand_over(address, cookie, first.packet).status == 400, "whose phone it is, is not known yet"
        assert bind(address, cookie, CYD).status == 200
        # A hostile phone: another's entry, one out of order, one that was changed, one by another key.
        (others,) = entries(MALLORY, b"m" * 20)
        changed = bytes((*first.packet[:-1], first.packet[-1] ^ 1))
        for packet in (others.packet, second.packet, changed, bytes(120)):
            answer = hand_over(address, cookie, packet)
            assert (answer.status, answer.json["code"]) == (409, "phone_refused")
        assert b"no entries" not in tinyssb(home, "feeds").stdout
        assert CYD.feed_id.hex()[:8].encode() not in tinyssb(home, "feeds").stdout
        assert hand_over(address, cookie, first.packet).json == {"entries": 1, "chunks": 0, "held": 0}
        # An answer that was lost: the same again.
        assert hand_over(address, cookie, first.packet).json == {"entries": 0, "chunks": 0, "held": 1}
        assert hand_over(address, cookie, second.packet, *second.chunks).json["chunks"] == len(second.chunks)
        about = ask(address, "/api/guest", headers={"cookie": cookie}).json
        assert (about["seq"], about["entry"]) == (2, (second.extended.tip.id or b"").hex())
        assert about["dialect"] == "spec"
        assert about["left"] < limits.PHONE_PACKETS - 5


def test_a_file_counts_once_and_one_beyond_the_quota_is_not_begun(tmp_path: Path) -> None:
    picture = File("hut.webp", "image/webp", bytes(range(256)) * 16, said_s=1_800_000_000)
    with running(tmp_path) as (address, _, cookie):
        bind(address, cookie, CYD)
        headers = {"cookie": cookie}
        contents = (serialize_file(replace(picture, data=picture.data[at:])) for at in range(3))
        one, two, three = entries(CYD, *contents)
        packets = (one.packet, *one.chunks)
        assert len(packets) == 43
        for counted in ({"entries": 1, "chunks": 42, "held": 0}, {"entries": 0, "chunks": 0, "held": 43}):
            assert hand_over(address, cookie, *packets).json == counted
            left = ask(address, "/api/guest", headers=headers).json["left"]
            assert left == limits.PHONE_PACKETS - 43
        assert hand_over(address, cookie, two.packet, *two.chunks).status == 200
        answer = hand_over(address, cookie, three.packet, *three.chunks)
        assert (answer.status, answer.json["code"]) == (503, "busy")
        assert ask(address, "/api/guest", headers=headers).json["seq"] == 2
        rows = ask(address, "/api/guest/messages", headers=headers).json["rows"]
        assert [(row["kind"], row["own"], row["file"]["picture"]) for row in rows] == [
            ("file", True, True)
        ] * 2
        found = ask(address, rows[0]["file"]["href"], headers=headers)
        assert (found.headers["content-type"], found.body) == ("image/webp", picture.data)


def test_what_the_node_could_not_take_is_not_counted(tmp_path: Path) -> None:
    home = tmp_path / "ana"
    make_home(home, name="ana")
    opener = NodeOpener(Home.find(str(home), {}), None)
    with serving(opener, token=TOKEN, folder=home) as address:
        cookie = enter(address, make_token(home / "web.guest"))
        with daemon(home):
            bind(address, cookie, CYD)
        (one,) = entries(CYD, b"a" * 20)
        assert hand_over(address, cookie, one.packet).status >= 500
        with daemon(home):
            left = ask(address, "/api/guest", headers={"cookie": cookie}).json["left"]
        assert left == limits.PHONE_PACKETS


def test_a_fork_of_a_phone_is_refused_and_freezes_its_feed_alone(tmp_path: Path) -> None:
    with running(tmp_path) as (address, home, cookie):
        bind(address, cookie, CYD)
        (one,), (two,) = entries(CYD, b"one"), entries(CYD, b"two")
        assert hand_over(address, cookie, one.packet).status == 200
        assert hand_over(address, cookie, two.packet).status == 409
        assert tinyssb(home, "publish", "still here").returncode == 0


@pytest.mark.parametrize(
    "packets",
    [
        None,
        [],
        "x",
        [1],
        ["x"],
        [b64encode(bytes(119)).decode()],
        [b64encode(bytes(120)).decode()] * (limits.PUBLISH_PACKETS_MAX + 1),
        [None],
    ],
)
def test_what_is_no_entry_is_refused(hut: tuple[str, str], packets: object) -> None:
    address, cookie = hut
    assert post(address, "/api/guest/publish", {"packets": packets}, cookie=cookie).status == 400


def test_why_an_entry_was_not_taken_is_said() -> None:
    assert refused_in_words(ImportedRow(entries=1, chunks=0, held=0, refused=None)) is None
    for reason, words in (("blocked", "blocks this feed"), ("WrongDmx", "does not follow")):
        row = ImportedRow(entries=0, chunks=0, held=0, refused=RefusedRow(packet=0, reason=reason))
        problem = refused_in_words(row)
        assert problem is not None
        assert words in problem.message


def test_words_of_keys_are_given_to_all(hut: tuple[str, str]) -> None:
    assert len(ask(hut[0], "/words.txt").body.split()) == 2_048


def test_the_link_for_guests_and_the_list_of_phones(tmp_path: Path) -> None:
    home = tmp_path / "ana"
    make_home(home, name="ana")
    shown = tinyssb(home, "web", "--listen", "192.0.2.7:8780", "--guests").stdout.decode()
    token = (home / "web.guest").read_text().strip()
    assert f"http://192.0.2.7:8780/#guest={token}" in shown
    assert "█" in shown
    assert "guests can only read" in shown
    assert "guests can only read" not in tinyssb(home, "web", "--guests", "--tls", "self").stdout.decode()
    assert tinyssb(home, "web", "--phones").stdout == b""
    missing = tinyssb(home, "web", "--revoke", "00000000")
    assert (missing.returncode != 0, b"There is no phone" in missing.stderr) == (True, True)
