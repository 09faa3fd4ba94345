"""The node's page whole: two daemons, the page that one of them starts, Chromium."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visits import Visit
from tests.daemon.processes import PATIENCE_S, daemon, make_home
from tests.web.asking import Answer, ask
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.web.tokens import make_token

pytestmark = pytest.mark.browser


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def ask_until(address: str, path: str, *, served: bool) -> Answer | None:
    """The answer once there is one, or None once there is none any more."""
    deadline_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline_s:
        answer = None
        with contextlib.suppress(OSError):
            answer = ask(address, path)
        if (answer is not None) == served:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"the page {'does not come' if served else 'does not go'}")


def wait_for(talk: NodeSession, count: int, rows: Callable[[], Sequence[object]]) -> None:
    """Catch up until there are so many rows."""
    deadline_s = time.monotonic() + PATIENCE_S
    while len(rows()) < count:
        assert time.monotonic() < deadline_s, "what Ana wrote does not come"
        talk.catch_up()


@pytest.fixture
def mesh(tmp_path: Path) -> tuple[Path, Path, str, str]:
    """Homes of Ana, who has a page, and of Ben; the page's address and token."""
    wire, port = free_port(), free_port()
    ana, ben = tmp_path / "ana", tmp_path / "ben"
    make_home(ana, f"ws:listen:127.0.0.1:{wire}", name="ana")
    make_home(ben, f"ws:connect:127.0.0.1:{wire}", name="ben")
    with (ana / "config.toml").open("a") as config:
        config.write(f'[web]\nenabled = true\nlisten = "127.0.0.1:{port}"\n')
    return ana, ben, f"http://127.0.0.1:{port}", make_token(ana / "web.token")


def test_two_people_talk_over_the_page_of_one(browser: Browser, mesh: tuple[Path, Path, str, str]) -> None:
    ana, ben, address, token = mesh
    with daemon(ana) as running, daemon(ben), NodeSession.at_home(str(ben)) as talk:
        talk.call_me("Ben\u202e")
        talk.say("Is anybody up there?")
        ask_until(address, "/api/session", served=True)
        with Visit(browser, address, width=320) as visit:
            page = visit.page
            page.goto(f"{address}/#token={token}")
            expect(page.locator(".message .text")).to_have_text(
                "Is anybody up there?", timeout=PATIENCE_S * 1e3
            )
            expect(page.locator(".message .who bdi")).to_have_text("Ben⟨202E⟩")
            page.get_by_role("textbox", name="Message").fill("Yes: at the hut, with soup. " * 5)
            page.get_by_role("button", name="Send").click()
            expect(page.locator(".message.own .text")).to_contain_text("with soup")
            wait_for(talk, 2, lambda: talk.catalog.messages("public"))
            first, second = talk.catalog.messages("public")
            assert (second.text, second.previous) == (
                ("Yes: at the hut, with soup. " * 5).strip(),
                (first.id,),
            )

            page.get_by_role("link", name="People").click()
            page.get_by_role("link", name="Write to “Ben⟨202E⟩”").click()
            expect(page.locator(".conversation > header")).to_contain_text("read this")
            box = page.get_by_role("textbox", name="Message")
            box.fill("The key is under the stone.")
            box.press("Enter")
            expect(page.locator(".message.own .text")).to_have_text("The key is under the stone.")
            wait_for(talk, 2, talk.catalog.conversations)
            (private,) = [row for row in talk.catalog.conversations() if row.name != "public"]
            assert private.last is not None
            assert (private.last.text, private.last.private) == ("The key is under the stone.", True)
            expect(page).to_have_url(f"{address}/c/{private.name}")

            page.get_by_role("link", name="Node").click()
            expect(page.locator("h3").first).to_contain_text("ws:")
            assert not visit.wide()
            assert [one for one in visit.complaints if "401" not in one] == []
        code, logged = running.stop()
        assert (code, "started a companion process" in logged) == (0, True)
        ask_until(address, "/api/session", served=False)


def test_a_page_does_not_outlive_its_daemon(mesh: tuple[Path, Path, str, str]) -> None:
    ana, _, address, _ = mesh
    with daemon(ana) as running:
        ask_until(address, "/api/session", served=True)
        os.kill(running.process.pid, signal.SIGKILL)
        ask_until(address, "/api/session", served=False)
        running.process.communicate()
