"""Access to the page: requests that are let in, and those refused before any work is done."""

import contextlib
import http.client
import re
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request
from starlette.types import Message

from tests.sse import Events
from tests.web.asking import ask, post
from tests.web.fake import TOKEN, FakeNode, serving
from tinyssb_node.web import limits
from tinyssb_node.web.errors import RequestTooLargeError
from tinyssb_node.web.page_server import connections
from tinyssb_node.web.page_server.addresses import allowed_hosts, owner_of
from tinyssb_node.web.request_fields import body_of

SAYING = {"conversation": "public", "text": "hello", "once": "once-0001"}
PRIVATE_PATHS = (
    "/api/conversations",
    "/api/messages",
    "/api/people",
    "/api/node",
    "/api/receipts",
)


@pytest.fixture(scope="module")
def closed() -> Iterator[str]:
    """A page that takes a token."""
    with serving(FakeNode(), token=TOKEN) as address:
        yield address


def cookie_for(address: str, token: str = TOKEN) -> str:
    answer = post(address, "/api/login", {"token": token})
    assert answer.status == 200
    return answer.headers["set-cookie"].partition(";")[0]


@pytest.mark.parametrize("path", PRIVATE_PATHS)
def test_nothing_of_the_node_is_told_without_the_token(closed: str, path: str) -> None:
    for headers in ({}, {"cookie": "tinyssb_1=x"}, {"authorization": f"Bearer {TOKEN}"}, {"cookie": "="}):
        answer = ask(closed, path, headers=headers)
        assert (answer.status, answer.json["code"]) == (401, "token")


def test_the_figures_need_the_token_and_a_program_sends_it(closed: str) -> None:
    for headers in ({}, {"authorization": "Bearer x"}, {"authorization": TOKEN}, {"cookie": "tinyssb_1=x"}):
        answer = ask(closed, "/metrics", headers=headers)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    bearer = {"authorization": f"Bearer {TOKEN}"}
    assert ask(closed, "/metrics", headers=bearer).status == 200
    foreign = {**bearer, "origin": "https://evil.example"}
    assert ask(closed, "/metrics", headers=foreign).status == 401


def test_nothing_is_listened_to_without_the_token(closed: str) -> None:
    events = Events(closed)
    assert events.status == 401
    events.close()


def test_nothing_is_said_without_the_token() -> None:
    node = FakeNode()
    with serving(node, token=TOKEN) as address:
        assert post(address, "/api/say", SAYING).status == 401
        assert post(address, "/api/follow", {"feed": "00" * 32}).status == 401
    assert node.said == []


def test_the_token_is_traded_for_a_cookie_that_scripts_cannot_read() -> None:
    node = FakeNode()
    with serving(node, token=TOKEN) as address:
        assert ask(address, "/api/session").json == {"needed": True, "known": False, "guest": False}
        answer = post(address, "/api/login", {"token": f" {TOKEN}\n"})
        cookie = answer.headers["set-cookie"]
        assert re.search(r"; HttpOnly;.*; SameSite=strict", cookie)
        assert TOKEN not in cookie
        given = {"cookie": cookie.partition(";")[0]}
        assert ask(address, "/api/session", headers=given).json == {
            "needed": True,
            "known": True,
            "guest": False,
        }
        assert ask(address, "/api/people", headers=given).status == 200
        assert post(address, "/api/say", SAYING, **given).status == 200
        assert "tinyssb_" in post(address, "/api/logout", {}, **given).headers["set-cookie"]
    assert len(node.said) == 1


@pytest.mark.parametrize("token", ["", "x", TOKEN[:-1], TOKEN + "0", TOKEN.upper(), "\ud800", "é" * 32])
def test_another_token_opens_nothing(closed: str, token: str) -> None:
    answer = post(closed, "/api/login", {"token": token})
    assert (answer.status, "set-cookie" in answer.headers) == (403, False)


def test_a_cookie_is_of_one_node_and_one_token() -> None:
    with serving(FakeNode(), token=TOKEN) as one, serving(FakeNode(), token=TOKEN + "1") as other:
        value = cookie_for(one).partition("=")[2]
        name = cookie_for(other, TOKEN + "1").partition("=")[0]
        assert ask(other, "/api/people", headers={"cookie": f"{name}={value}"}).status == 401


def test_the_page_itself_is_given_to_anybody(closed: str) -> None:
    for path in ("/", "/people", "/static/app.js"):
        assert ask(closed, path).status == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
        ({"content_type": "text/plain"}, 415),
        ({"content_type": "application/x-www-form-urlencoded"}, 415),
        ({"sec_fetch_site": "same-origin"}, 200),
        ({"content_type": "application/json; charset=utf-8"}, 200),
    ],
)
def test_other_pages_cannot_write(headers: dict[str, str], status: int) -> None:
    node = FakeNode()
    with serving(node) as address:
        assert post(address, "/api/say", SAYING, **headers).status == status
    assert len(node.said) == (status == 200)


def test_other_pages_cannot_read_by_a_name_of_their_own() -> None:
    with serving(FakeNode()) as address:
        assert ask(address, "/api/people", headers={"host": "evil.example"}).status == 400
    assert allowed_hosts("0.0.0.0") == ["*"]


def test_every_answer_carries_a_strict_policy(closed: str) -> None:
    for path in ("/", "/api/people", "/api/session", "/static/app.js", "/nothing"):
        headers = ask(closed, path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; ")
        assert "unsafe" not in policy
        assert "require-trusted-types-for 'script'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "server" not in headers


def test_what_is_too_long_or_of_another_kind_is_turned_away() -> None:
    large = b" " * (limits.BODY_MAX + 1)
    own = {"content-type": "application/json"}
    with serving(FakeNode()) as address:
        assert ask(address, "/api/people", method="DELETE").status == 405
        assert ask(address, "/?" + "a" * limits.TARGET_MAX).status == 414
        assert ask(address, "/api/say", method="POST", body=large, headers=own).status == 413
        chunked = own | {"transfer-encoding": "chunked"}
        assert (
            ask(address, "/api/say", method="POST", body=b"2\r\n{}\r\n0\r\n\r\n", headers=chunked).status
            == 411
        )


def test_chunks_do_not_pass_behind_a_length_that_is_short(closed: str) -> None:
    place = urlsplit(closed)
    head = (
        b"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 14\r\nTransfer-Encoding: chunked\r\n\r\n"
    )
    body = b'{"token": "x"}'
    with socket.create_connection((place.hostname or "", place.port or 0), timeout=10) as talk:
        talk.sendall(head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        assert talk.recv(64).startswith(b"HTTP/1.1 411 ")


async def test_a_body_is_counted_as_it_comes() -> None:
    asked = 0

    async def receive() -> Message:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": b" " * 10_000, "more_body": asked < 9}

    with pytest.raises(RequestTooLargeError):
        await body_of(Request({"type": "http", "headers": [(b"content-length", b"2")]}, receive))
    assert asked == limits.BODY_MAX // 10_000 + 1


def connect(address: str, *sent: bytes, source: str = "127.0.0.1") -> socket.socket:
    """A connection from *source* that says *sent*, and waits."""
    place = urlsplit(address)
    talk = socket.create_connection(
        (place.hostname or "", place.port or 0), timeout=10, source_address=(source, 0)
    )
    talk.sendall(b"".join(sent))
    return talk


def rest_of(talk: socket.socket) -> bytes:
    """Return all bytes until the other end closes."""
    found = b""
    with talk, contextlib.suppress(ConnectionResetError):
        while part := talk.recv(4_096):
            found += part
    return found


def test_who_asks_nothing_or_without_end_gives_up_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "REQUEST_S", 0.2)
    post_head = b"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    whole = b"GET /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving(FakeNode()) as address:
        listening = Events(address)
        assert rest_of(connect(address)) == b""
        assert rest_of(connect(address, b"GET / HTTP/1.1\r\nHost: 127")) == b""
        assert rest_of(connect(address, post_head, b"Content-Length: 9\r\n\r\n{")) == b""
        assert rest_of(connect(address, whole, b"GET / HTTP")).startswith(b"HTTP/1.1 200 ")
        # One that listens has said all it has to say.
        for _ in range(6):
            listening.next("sign")
        listening.close()


@pytest.mark.parametrize("near", [True, False])
def test_one_address_does_not_take_all_places(monkeypatch: pytest.MonkeyPatch, near: bool) -> None:
    monkeypatch.setattr(limits, "EACH_MAX", 3)
    monkeypatch.setattr(connections, "is_local", lambda _address: near)
    with serving(FakeNode()) as address, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(address)) for _ in range(3)]
        if near:
            assert ask(address, "/api/session").status == 200
            return
        with pytest.raises((ConnectionError, http.client.HTTPException)):
            ask(address, "/api/session")
        silent[0].close()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                assert ask(address, "/api/session").status == 200
                return
        pytest.fail("a place that was left stays taken")


HALF = b"GET /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


def test_half_requests_keep_nobody_out() -> None:
    with serving(FakeNode()) as address, contextlib.ExitStack() as stack:
        listening = Events(address)
        for _ in range(260):
            stack.enter_context(connect(address, HALF))
        begun_s = time.monotonic()
        assert ask(address, "/api/session").status == 200
        assert time.monotonic() - begun_s < 1
        listening.next("sign")
        listening.close()


def test_who_is_silent_makes_room_by_its_own_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WAITING_MAX", 4)
    with serving(FakeNode()) as address, contextlib.ExitStack() as stack:
        honest = stack.enter_context(connect(address, HALF))
        for _ in range(20):
            stack.enter_context(connect(address, HALF, source="127.0.0.2"))
        assert ask(address, "/api/session").status == 200
        honest.sendall(b"no more\r\n\r\n")
        assert honest.recv(64).startswith(b"HTTP/1.1 200 ")


def test_one_person_may_have_many_addresses_of_ipv6() -> None:
    assert owner_of("2001:db8::1%eth0") == owner_of("2001:db8::ffff:2") != owner_of("2001:db8:0:1::1")
    assert owner_of("::ffff:192.0.2.1") == owner_of("192.0.2.1") != owner_of("192.0.2.2")
    assert owner_of("a socket") == "a socket"


@pytest.mark.parametrize(
    "header",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine, which even gets the cookie
        {"origin": "https://evil.example"},
    ],
)
def test_pages_of_other_sites_take_no_listeners(header: dict[str, str]) -> None:
    with serving(FakeNode(), token=TOKEN) as address:
        cookie = cookie_for(address)
        foreign = [Events(address, **header, cookie=cookie) for _ in range(limits.LISTENERS_MAX)]
        ours = Events(address, cookie=cookie, **{"sec-fetch-site": "same-origin"})
        assert [one.status for one in foreign] == [403] * limits.LISTENERS_MAX
        assert ours.status == 200
        assert ask(address, "/api/people", headers={**header, "cookie": cookie}).status == 403
        for one in (*foreign, ours):
            one.close()
        # A link on another page opens this one.
        assert ask(address, "/", headers=header).status == 200


def test_there_are_only_so_many_listeners() -> None:
    with serving(FakeNode()) as address:
        listening = [Events(address) for _ in range(limits.LISTENERS_MAX)]
        try:
            assert [one.status for one in listening] == [200] * limits.LISTENERS_MAX
            listening.append(Events(address))
            assert listening[-1].status == 503
        finally:
            for one in listening:
                one.close()
