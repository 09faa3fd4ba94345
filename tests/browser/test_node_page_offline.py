"""The node's page as an app: opened, read and written without the node."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Error, Page, expect

from tests.browser.poor_link import PoorLink, over
from tests.browser.test_node_page import box, opened, said
from tests.browser.visits import Visit
from tests.catalog.fake import BOB
from tests.web.fake import GROUP, TOKEN, FakeNode, serving, with_group
from tinyssb_node.web.certificates import page_certificate

pytestmark = pytest.mark.browser

SLOW_STORAGE = """{
  const put = Cache.prototype.put;
  Cache.prototype.put = async function (...given) {
    await new Promise((done) => setTimeout(done, 300));
    return put.apply(this, given);
  };
}"""
CONTROLLED = "navigator.serviceWorker.ready.then(() => caches.keys()).then((names) => names.join())"


@contextmanager
def phone(browser: Browser, node: FakeNode, token: str | None = None) -> Iterator[tuple[Visit, PoorLink]]:
    """A phone that has the page installed, and the link to the node."""
    link = PoorLink(round_trip_s=0.0, loss=0.0)
    with (
        serving(node, token=token) as near,
        over(link, near) as address,
        Visit(browser, address, width=390, worker=True) as visit,
    ):
        visit.page.goto(f"{address}/c/public" + (f"#token={token}" if token else ""))
        expect(visit.page.locator("#connection-text")).to_have_text("Live")
        assert "shell" in visit.page.evaluate(CONTROLLED)
        yield visit, link


def waiting(page: Page) -> list[str]:
    return page.get_by_role("list", name="Waiting on this device").locator(".text").all_text_contents()


def test_what_was_seen_is_read_without_the_node(browser: Browser) -> None:
    node = with_group(FakeNode())
    with phone(browser, node) as (visit, link):
        visit.page.add_init_script(SLOW_STORAGE)
        page = opened(visit, f"/c/{GROUP}")
        expect(said(page)).to_have_text(["Soup at noon?"])
        link.down = True
        page.goto(visit.address + "/c/public")
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        expect(said(page).first).to_have_text("Is anybody up there?")
        page.get_by_role("link", name="Hut crew").click()
        expect(said(page)).to_have_text(["Soup at noon?"])
        page.get_by_role("link", name="People").click()
        expect(page.get_by_role("heading", name="People")).to_be_visible()
        link.down = False
        expect(page.locator("#connection-text")).to_have_text("Live")
        expect(page.locator(".person")).to_have_count(5)


def test_what_is_written_without_the_node_waits_and_is_sent_once(browser: Browser) -> None:
    node = with_group(FakeNode())
    with phone(browser, node) as (visit, link):
        page = opened(visit, f"/c/{GROUP}")
        expect(said(page)).to_have_text(["Soup at noon?"])
        opened(visit, "/c/public")
        expect(said(page).first).to_be_visible()
        link.down = True
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        for text in ("First", "Second"):
            box(page).fill(text)
            box(page).press("Enter")
            expect(box(page)).to_have_value("")
        assert waiting(page) == ["First", "Second"]
        expect(page.locator("#announcer")).to_contain_text("The message waits on this device.")
        assert visit.barriers() == []
        page.goto(f"{visit.address}/c/{GROUP}")
        assert waiting(page) == []
        box(page).fill("For the crew")
        box(page).press("Enter")
        expect(page.locator(".outbox .soft")).to_have_text(
            "Waits on this device, and is sent when the node is back."
        )
        page.goto(f"{visit.address}/c/public")
        page.locator(".outbox .message", has_text="Second").get_by_role("button", name="Delete").click()
        assert waiting(page) == ["First"]
        link.down = False
        expect(said(page).last).to_have_text("First")
        assert waiting(page) == []
        assert [(one["text"], one["conversation"]) for one in node.said] == [
            ("First", "public"),
            ("For the crew", GROUP),
        ]


def test_what_the_node_refuses_keeps_waiting_and_says_why(browser: Browser) -> None:
    node = with_group(FakeNode())
    with phone(browser, node) as (visit, link):
        page = visit.page
        link.down = True
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        box(page).fill("long " * 500)
        box(page).press("Enter")
        box(page).fill("short")
        box(page).press("Enter")
        expect(page.locator(".outbox .message")).to_have_count(2)
        link.down = False
        expect(said(page).last).to_have_text("short")
        expect(page.locator(".outbox .failed")).to_contain_text("of this hour's budget")
        assert [one["text"] for one in node.said] == ["short"]
        page.get_by_role("button", name="Send anyway").click()
        expect(page.locator(".outbox .message")).to_have_count(0)
        assert len(node.said) == 2


def test_only_so_many_messages_wait(browser: Browser) -> None:
    with phone(browser, FakeNode()) as (visit, link):
        page = visit.page
        link.down = True
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        row = {"key": "public", "request": {"text": "x"}, "written_ms": 0, "problem": None, "costly": False}
        rows = json.dumps([{**row, "request": {"text": "x", "once": str(n)}} for n in range(50)])
        page.evaluate("(rows) => localStorage.setItem('outbox', rows)", rows)
        box(page).fill("One too many")
        box(page).press("Enter")
        expect(page.locator("#send-status")).to_contain_text("Your message is still in the box.")
        expect(box(page)).to_have_value("One too many")


def test_a_browser_that_is_locked_out_keeps_nothing_that_was_read(browser: Browser) -> None:
    node = FakeNode()
    with phone(browser, node, TOKEN) as (visit, link):
        page = visit.page
        expect(said(page).first).to_be_visible()
        kept = "caches.keys().then((names) => names.filter((name) => !name.startsWith('shell')).join())"
        page.wait_for_function(f"{kept}.then((names) => names === 'answers')")
        link.down = True
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        box(page).fill("Mine")
        box(page).press("Enter")
        expect(page.locator(".outbox .message")).to_have_count(1)
        visit.context.clear_cookies()
        link.down = False
        expect(page.get_by_label("Token")).to_be_visible()
        page.wait_for_function(f"{kept}.then((names) => names === '')")
        assert node.said == []
        page.evaluate(f"location.hash = 'token={TOKEN}'")
        expect(said(page).last).to_have_text("Mine")
        assert len(node.said) == 1


def test_the_worker_is_the_only_trusted_address_and_markup_stays_text(browser: Browser) -> None:
    with phone(browser, FakeNode()) as (visit, _):
        page = visit.page
        tries = """async () => {
          const failed = [];
          const attempt = async (name, work) => { try { await work(); } catch { failed.push(name); } };
          await attempt("policy", () => trustedTypes.createPolicy("other", {}));
          await attempt("worker", () => navigator.serviceWorker.register("/static/dom.js"));
          await attempt("markup", () => { document.body.innerHTML = "<b>x</b>"; });
          return failed;
        }"""
        assert page.evaluate(tries) == ["policy", "worker", "markup"]


def test_it_can_be_installed(browser: Browser) -> None:
    with phone(browser, FakeNode()) as (visit, _):
        talk = visit.context.new_cdp_session(visit.page)
        found = talk.send("Page.getAppManifest")
        assert found["errors"] == []
        assert json.loads(found["data"])["display"] == "standalone"
        errors = talk.send("Page.getInstallabilityErrors")["installabilityErrors"]
        assert [one["errorId"] for one in errors if one["errorId"] != "in-incognito"] == []
        assert visit.complaints == []


def test_a_certificate_that_the_phone_does_not_trust_is_warned_of_and_keeps_the_page_from_being_installed(
    browser: Browser, tmp_path: Path
) -> None:
    """As docs/howto/web.md says."""
    tls = page_certificate(tmp_path, ["127.0.0.1"], datetime.now(UTC))
    with serving(FakeNode(), tls=tls) as address:
        with Visit(browser, address) as visit, pytest.raises(Error, match="ERR_CERT_AUTHORITY_INVALID"):
            visit.page.goto(address)
        page = browser.new_page(ignore_https_errors=True)
        page.goto(address)
        expect(page.locator(".message").first).to_be_visible()
        assert page.evaluate("isSecureContext")
        page.close()


def test_a_private_conversation_that_has_no_message_yet_can_be_begun(browser: Browser) -> None:
    node = FakeNode()
    with phone(browser, node) as (visit, link):
        page = opened(visit, f"/with/{BOB.hex()}")
        expect(page.locator(".conversation > header")).to_contain_text("can read this")
        link.down = True
        expect(page.locator("#connection-text")).to_contain_text("Offline since")
        box(page).fill("Psst")
        box(page).press("Enter")
        expect(page.locator(".outbox .message")).to_have_count(1)
        link.down = False
        expect(page.locator(".outbox .message")).to_have_count(0)
        assert [one["text"] for one in node.said] == ["Psst"]
