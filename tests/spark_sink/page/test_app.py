"""The page's server, asked over real sockets."""

import contextlib
import http.client
import json
import re
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from spark_sink.page import access, app, limits
from spark_sink.page.answers import make_payload
from spark_sink.page.static_files import STATIC, StaticFiles
from tests.spark_sink.page.asking import get
from tests.spark_sink.page.book import feed_of, node_of
from tests.spark_sink.page.serve_story import serving
from tests.spark_sink.page.story import KEYS, Story
from tests.sse import Events
from tinyssb_node.web.page_server.addresses import allowed_hosts, is_local

TOKEN = "0123456789abcdef0123456789abcdef"
VIEWS = [
    *(f"/api/{view}" for view in ("overview", "heatmap", "topology", "airtime", "delays", "packets")),
    *(f"/api/{view}" for view in ("gossip", "faults", "job")),
    f"/api/node/{node_of(KEYS[5])}",
    f"/api/feed/{feed_of(KEYS[2])}",
    f"/api/message/{feed_of(KEYS[2])}/1",
]


@pytest.mark.parametrize("path", VIEWS)
def test_every_view_is_json_with_a_head_and_csv(address: str, path: str) -> None:
    status, headers, body = get(address + path)
    assert (status, headers["content-type"]) == (200, "application/json")
    found = json.loads(body)
    assert (found["v"], found["state"]) == (2, "ready")
    assert {"as_of_us", "committed_us", "from_us", "to_us", "changes"} <= set(found)
    status, headers, body = get(f"{address}{path}?format=csv")
    assert (status, headers["content-type"]) == (200, "text/csv; charset=utf-8")
    assert headers["content-disposition"].startswith("attachment")
    assert body.count(b"\r\n") > 1


@pytest.mark.parametrize(
    "path", ["/", "/feeds", "/map", "/job", "/node/0123456789abcdef", "/message/ab/3?last=24h"]
)
def test_every_page_is_the_one_document(address: str, path: str) -> None:
    status, headers, body = get(address + path)
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert body == (STATIC / "index.html").read_bytes()


def test_all_that_the_document_names_is_served_from_here(address: str) -> None:
    names = re.findall(r'(?:src|href)="(/static/[^"]+)"', get(f"{address}/")[2].decode())
    assert "/static/app.js" in names
    for name in names:
        assert get(address + name)[0] == 200, name


@pytest.mark.parametrize("path", app.PAGES)
def test_what_a_view_needs_is_named_with_the_document_and_is_served(address: str, path: str) -> None:
    links = get(f"{address}{path.format(node='0' * 16, feed='0' * 64, seq=3)}")[1]["link"]
    names = re.findall(r"<([^>]+)>", links)
    word = path.split("/")[1]
    view = app.MOVED.get(word) or app.TABS.get(word, word)
    assert names[0] == f"/static/views/{view}.js"
    draws_lines = "LineChart" in (STATIC / "views" / f"{view}.js").read_text()
    assert len(names) == (3 if draws_lines else 1)
    assert all(get(address + name)[0] == 200 for name in names)


def test_every_answer_carries_a_strict_policy(address: str) -> None:
    for name in (
        "/",
        "/api/overview",
        "/static/app.js",
        "/healthz",
        "/metrics",
        "/nothing-here",
        "/api/node/x",
    ):
        headers = get(address + name)[1]
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_what_a_browser_has_is_not_sent_again(address: str) -> None:
    for path in ("/api/overview", "/static/app.js", "/"):
        _status, headers, body = get(address + path)
        status, _headers, again = get(address + path, {"if-none-match": f'"other", W/{headers["etag"]}'})
        assert (status, again) == (304, b"")
        assert len(body) > 0


def test_large_answers_are_compressed_for_who_takes_that(address: str) -> None:
    import gzip

    _status, plain_headers, plain = get(f"{address}/api/overview")
    _status, headers, packed = get(f"{address}/api/overview", {"accept-encoding": "br, gzip;q=0.8"})
    assert headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain_headers
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 2
    assert "content-encoding" not in get(f"{address}/api/overview", {"accept-encoding": "gzip;q=0"})[1]


def test_libraries_are_kept_by_browsers_and_scripts_are_not(address: str) -> None:
    library = next((STATIC / "vendor").glob("uplot-*/uplot.js")).relative_to(STATIC)
    assert "immutable" in get(f"{address}/static/{library}")[1]["cache-control"]
    assert get(f"{address}/static/app.js")[1]["cache-control"] == "no-cache"


def test_an_address_that_leads_nowhere_shows_people_the_page(address: str) -> None:
    status, headers, body = get(f"{address}/nowhere", {"accept": "text/html,*/*;q=0.8"})
    assert (status, headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert b"<main" in body
    assert get(f"{address}/nowhere")[1]["content-type"] == "application/json"


def test_nothing_beside_the_pages_files_is_served(address: str) -> None:
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/",
        "/static/nothing.js",
        "/static/..%2fapp.py",
    ):
        assert get(address + path)[0] == 404, path


def test_a_file_is_read_again_when_it_changed(tmp_path: Path) -> None:
    files = StaticFiles(tmp_path)
    (tmp_path / "a.js").write_text("1")
    first = files.get("a.js")
    assert files.get("a.js") is first
    (tmp_path / "a.js").write_text("22")
    second = files.get("a.js")
    assert second is not None
    assert second.payload == make_payload(b"22")
    assert second.media_type == "text/javascript; charset=utf-8"


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        ("/api/overview?from=5&to=2", 400, "empty"),
        ("/api/overview?from=-1", 400, "`from` is a whole number"),
        ("/api/overview?to=99999999999999999", 400, "`to` is a whole number"),
        ("/api/overview?to=٣", 400, "`to` is a whole number"),
        ("/api/overview?format=xml", 400, "json or csv"),
        ("/api/overview?format=csv&table=totals", 400, "no table 'totals'"),
        ("/api/delays?scope=<b>", 400, "lower case"),
        ("/api/delays?scope=planet", 400, "node, feed, hop"),
        ("/api/packets?limit=0", 400, "1 to 2000"),
        ("/api/node/ABCDEF0123456789", 404, "16 hexadecimal digits"),
        ("/api/node/0123456789abcdef", 404, "has been read"),
        (f"/api/message/{feed_of(KEYS[2])}/x", 404, "number"),
        (f"/api/message/{feed_of(KEYS[2])}/99999", 404, "entry 99999"),
        ("/nothing", 404, "nothing at /nothing"),
    ],
)
def test_what_cannot_be_answered_is_said_in_a_sentence(
    address: str, path: str, status: int, words: str
) -> None:
    from urllib.parse import quote

    found, _headers, body = get(address + quote(path, safe="/?=&<>-"))
    assert found == status
    assert words in json.loads(body)["message"]
    assert "state" not in json.loads(body)


def test_other_methods_and_long_addresses_are_refused(address: str) -> None:
    place = urlsplit(address)
    for method, path, expected in (
        ("POST", "/api/overview", 405),
        ("DELETE", "/", 405),
        ("HEAD", "/api/overview", 200),
        ("GET", "/api/overview?" + "x" * limits.TARGET_SIZE_MAX, 414),
    ):
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        connection.request(method, path)
        with connection.getresponse() as answer:
            assert answer.status == expected, method
        connection.close()


def test_a_strange_name_for_this_machine_is_refused(address: str) -> None:
    place = urlsplit(address)
    for name, expected in (
        ("evil.example", 400),
        ("localhost", 200),
        ("127.0.0.1:80", 200),
        ("[::1]:9", 200),
    ):
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=10)
        connection.request("GET", "/api/job", headers={"Host": name})
        with connection.getresponse() as answer:
            assert answer.status == expected, name
        connection.close()


def test_only_a_server_for_this_machine_checks_names() -> None:
    for host, local in (
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("0.0.0.0", False),
        ("pi", False),
    ):
        assert is_local(host) is local
        assert (allowed_hosts(host) == ["*"]) is not local


def test_states_of_a_database_that_cannot_be_shown(tmp_path: Path, story: Story) -> None:
    import sqlite3

    path = tmp_path / "mesh.sqlite"
    with serving(str(path)) as address:

        def state() -> tuple[str, str, int]:
            status, _headers, body = get(f"{address}/api/overview")
            assert status == 200
            found = json.loads(body)
            return (
                found["state"],
                found["message"] if found["state"] != "ready" else "",
                get(f"{address}/healthz")[0],
            )

        assert state()[::2] == ("missing", 503)
        assert str(path) in state()[1]
        assert b"tinyssb_database_up 0.0" in get(f"{address}/metrics")[2]
        path.write_text("something else")
        assert state()[::2] == ("unreadable", 503)
        assert "is not a database of tinyssb-sink" in state()[1]
        path.unlink()
        story.write(path)
        assert state() == ("ready", "", 200)
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
        path.rename(tmp_path / "newer.sqlite")
        (tmp_path / "newer.sqlite").rename(path)
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 2")
            db.execute("DROP TABLE progress")
            db.execute("UPDATE meta SET value = value + 1 WHERE name = 'changes'")
        db.close()
        assert state()[0] == "unreadable"
        assert "older tinyssb-sink" in state()[1]


def test_an_empty_database_says_so(tmp_path: Path) -> None:
    from spark_sink.serving.connect import open_for_writing

    with open_for_writing(str(tmp_path / "db")), serving(str(tmp_path / "db")) as address:
        found = json.loads(get(f"{address}/api/heatmap")[2])
        assert found["state"] == "empty"
        assert "no log has been read" in found["message"]


def test_a_change_is_sent_to_everybody_who_listens(tmp_path: Path) -> None:
    story = Story()
    story.write(tmp_path / "db")
    with serving(str(tmp_path / "db")) as address:
        pages = [Events(address), Events(address)]
        assert isinstance(pages[0].next("clock")["now_us"], int)
        before = [page.next("change") for page in pages]
        assert before[0] == before[1]
        assert {"changes", "committed_us", "as_of_us", "totals", "sentence", "level"} <= set(before[0])
        kept = get(f"{address}/api/faults")[1]["etag"]
        assert get(f"{address}/api/faults")[1]["etag"] == kept
        story.book.put("bad_lines", path="new", byte=1, reason="JSON")
        story.write(tmp_path / "db")
        after = [page.next("change") for page in pages]
        assert after[0] == after[1]
        assert after[0]["totals"]["bad_lines"] == before[0]["totals"]["bad_lines"] + 1
        assert after[0]["changes"] > before[0]["changes"]
        assert get(f"{address}/api/faults")[1]["etag"] != kept
    for page in pages:  # the server ended while they listened
        page.response.read()
        page.close()


def test_beyond_the_limit_a_page_is_turned_away_with_a_sentence(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CLIENTS_MAX", 1)
    page = Events(address)
    page.next("change")
    status, headers, body = get(f"{address}/api/events")
    assert (status, headers["retry-after"]) == (503, "10")
    assert "pages are open already" in json.loads(body)["message"]
    page.close()


def test_half_requests_keep_nobody_out(address: str) -> None:
    place = urlsplit(address)
    with contextlib.ExitStack() as stack:
        for _ in range(260):
            talk = stack.enter_context(socket.create_connection((place.hostname, place.port), timeout=10))
            talk.sendall(b"GET /api/overview HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ")
        begun_s = time.monotonic()
        assert get(f"{address}/api/overview")[0] == 200
        assert time.monotonic() - begun_s < 1


def test_pages_of_other_sites_read_nothing_and_take_no_listeners(address: str) -> None:
    for header in (
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://evil.example"},
    ):
        foreign = [Events(address, **header) for _ in range(limits.CLIENTS_MAX)]
        assert {one.status for one in foreign} == {403}
        ours = Events(address, **{"sec-fetch-site": "same-origin"})
        assert ours.status == 200
        for one in (*foreign, ours):
            one.close()
        assert get(f"{address}/metrics", header)[0] == 403
        assert get(address, header)[0] == 200


def test_more_questions_than_may_wait_are_turned_away(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_MAX", 0)
    status, headers, body = get(f"{address}/api/overview")
    assert (status, headers["retry-after"]) == (503, "2")
    assert "is overloaded" in json.loads(body)["message"]


def test_figures_are_for_who_has_the_token(database: Path) -> None:
    with serving(str(database), token=TOKEN) as address:
        for path in ("/api/overview", "/api/events", "/metrics"):
            status, headers, body = get(address + path)
            assert (status, headers["www-authenticate"]) == (401, "Bearer")
            assert "needs a token" in json.loads(body)["message"]
        assert get(f"{address}/api/overview", {"authorization": "Bearer wrong" + TOKEN[5:]})[0] == 401
        assert get(f"{address}/api/overview", {"authorization": f"Bearer {TOKEN}"})[0] == 200
        assert get(f"{address}/api/overview?token={TOKEN}")[0] == 401
        for path in ("/", "/static/app.js", "/healthz"):
            assert get(address + path)[0] == 200


def test_a_token_is_traded_for_a_cookie_once(database: Path) -> None:
    with serving(str(database), token=TOKEN) as address:
        assert get(f"{address}/?token={'x' * 32}")[0] == 401
        status, headers, _body = get(f"{address}/feeds?last=6h&token={TOKEN}&at=5")
        assert (status, headers["location"]) == (303, "/feeds?last=6h&at=5")
        cookie = headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        value = cookie.split(";")[0]
        assert get(f"{address}/api/overview", {"cookie": f"other=1; {value}"})[0] == 200
        assert get(f"{address}/api/overview", {"cookie": f"{value[:-2]}00x"})[0] == 401
        assert get(f"{address}/api/overview", {"cookie": f"{access.COOKIE}={TOKEN}"})[0] == 401
        assert get(f"{address}//evil.example/?token={TOKEN}")[1]["location"] == "/evil.example/"


def test_gzip_is_read_off_lists_of_encodings() -> None:
    for accepted, takes in (
        ("gzip", True),
        ("br, GZIP;q=0.5", True),
        ("gzip; q=0", False),
        ("x-gzip", False),
        ("", False),
    ):
        assert app.takes_gzip(accepted) is takes
