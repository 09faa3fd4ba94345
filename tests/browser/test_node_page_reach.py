"""The node's page for everybody: WCAG 2.2 AA on all views, low windows, large text, few bytes, a poor link."""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.poor_link import PoorLink, over
from tests.browser.test_node_page_boards import filled_board
from tests.browser.visits import AXE, Visit
from tests.catalog.fake import BOB, message_id
from tests.web.fake import GROUP, FakeNode, friendly_mesh, serving, with_fork, with_group

pytestmark = pytest.mark.browser

VIEWS = (
    "/c/public",
    f"/c/{GROUP}",
    f"/g/{GROUP}",
    f"/t/{GROUP}/{message_id('in group 0').hex()}",
    f"/t/public/{message_id('second').hex()}",
    f"/with/{BOB.hex()}",
    "/new",
    "/write",
    "/boards",
    f"/b/{message_id('operation 0').hex()}",
    "/search",
    "/people",
    "/node",
)
FIRST_LOAD_MAX = 150_000
"""Bytes, headers included."""
RULES = "['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']"
FIND = (
    "async () => (await axe.run({runOnly: {type: 'tag', values: "
    + RULES
    + "}, resultTypes: ['violations']}))"
    ".violations.map((one) => one.id + ': ' + one.nodes.map((node) => node.html.slice(0, 160)).join(' '))"
)
WIDE = """() => [...document.querySelectorAll('html, main, .scroll, .sheet, .conversation, .bar, .composer, header')]
  .filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => `${part.localName}.${part.className}`)"""


def look_at(visit: Visit, path: str) -> Page:
    visit.page.goto(visit.address + path)
    expect(visit.page.locator("#connection-text")).to_have_text("Live")
    return visit.page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_view_breaks_a_rule_of_wcag_or_is_wider_than_a_phone(browser: Browser, scheme: str) -> None:
    node = with_fork(FakeNode(friendly_mesh()))
    filled_board(node)
    with serving(node) as address, Visit(browser, address, width=320, scheme=scheme) as visit:
        for path in VIEWS:
            page = look_at(visit, path)
            page.evaluate(AXE.read_text())
            assert page.evaluate(FIND) == [], path
            assert page.evaluate(WIDE) == [], path


def test_messages_can_be_read_in_a_window_that_is_low(browser: Browser) -> None:
    """A desktop at 200 % and at 400 % (WCAG 1.4.4, 1.4.10), a phone on its side."""
    node = with_group(FakeNode(friendly_mesh()))
    with serving(node) as address, Visit(browser, address) as visit:
        for width, height in ((640, 400), (320, 256), (720, 330)):
            visit.page.set_viewport_size({"width": width, "height": height})
            for path in VIEWS[:2]:
                page = look_at(visit, path)
                expect(page.locator(".message").first).to_be_visible()
                assert page.evaluate("document.querySelector('.scroll').clientHeight") >= 170, (width, path)
                assert page.evaluate(WIDE) == [], (width, path)
                page.get_by_role("textbox", name="Message").scroll_into_view_if_needed()
                expect(page.get_by_role("button", name="Send")).to_be_in_viewport()


def test_text_of_twice_the_size_fits(browser: Browser) -> None:
    node = with_group(FakeNode(friendly_mesh()))
    filled_board(node)
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        talk = visit.context.new_cdp_session(visit.page)
        talk.send("Page.setFontSizes", {"fontSizes": {"standard": 32, "fixed": 26}})
        for path in VIEWS:
            page = look_at(visit, path)
            assert page.evaluate("getComputedStyle(document.body).fontSize") == "32px"
            assert page.evaluate(WIDE) == [], path


def test_nothing_moves_by_itself(browser: Browser) -> None:
    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        visit.page.emulate_media(reduced_motion="no-preference")
        page = look_at(visit, "/c/public")
        expect(page.locator(".message").first).to_be_visible()
        assert page.evaluate("document.getAnimations().length") == 0
        moving = "[...document.querySelectorAll('*')].filter((one) => { const style = getComputedStyle(one); "
        moving += "return style.transitionDuration !== '0s' || style.animationName !== 'none'; }).length"
        assert page.evaluate(moving) == 0
        assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).scrollBehavior") == "auto"


def first_load(visit: Visit, look: Callable[[Visit, str], Page]) -> int:
    """*look* at the page; returns the bytes that came until it was there."""
    talk = visit.context.new_cdp_session(visit.page)
    talk.send("Network.enable")
    sizes: list[int] = []

    def loaded(event: dict[str, Any]) -> None:
        sizes.append(int(event["encodedDataLength"]))

    talk.on("Network.loadingFinished", loaded)
    page = look(visit, "/c/public")
    expect(page.locator(".message").first).to_be_visible()
    page.wait_for_load_state("load")
    return sum(sizes)


def test_the_first_load_is_small(browser: Browser) -> None:
    """A data saver counts bytes; at the edge of a Wi-Fi the first load decides whether anybody waits for it."""
    with serving(FakeNode(friendly_mesh())) as address, Visit(browser, address, width=390) as visit:
        assert 20_000 < first_load(visit, look_at) < FIRST_LOAD_MAX


def test_what_got_lost_on_the_way_is_asked_for_again(browser: Browser) -> None:
    node, lost = FakeNode(), list[str]()

    def lose_the_first(route: Route) -> None:
        path = urlsplit(route.request.url).path
        if path in lost:
            route.continue_()
            return
        if path == "/api/say":  # the request arrives, and its answer does not
            route.fetch()
        lost.append(path)
        route.abort()

    with serving(node) as address, Visit(browser, address) as visit:
        for path in ("/static/message.js", "/api/session", "/api/messages**", "/api/say"):
            visit.page.route(f"**{path}", lose_the_first)
        page = look_at(visit, "/c/public")
        expect(page.locator(".message").first).to_be_visible()
        box = page.get_by_role("textbox", name="Message")
        box.fill("Once")
        box.press("Enter")
        expect(page.locator(".message.own .text").last).to_have_text("Once")
        assert sorted(lost) == ["/api/messages", "/api/say", "/api/session", "/static/message.js"]
        assert len(node.said) == 1


@pytest.mark.slow
def test_it_works_over_a_link_that_loses_a_third_with_two_seconds_of_round_trip(browser: Browser) -> None:
    """A server that gave requests 10 s cut them off here. A page that lost one of its scripts stayed empty."""
    node = with_group(FakeNode(friendly_mesh()))
    link = PoorLink(round_trip_s=2.0, loss=0.3)
    with (
        serving(node, sign_s=5.0) as near,
        over(link, near) as address,
        Visit(browser, address, width=390) as visit,
    ):
        page = visit.page
        page.set_default_timeout(180_000)
        expect.set_options(timeout=180_000)
        page.goto(address + "/c/public", wait_until="commit", timeout=180_000)
        expect(page.locator(".message").first).to_be_visible()
        box = page.get_by_role("textbox", name="Message")
        box.fill("Hello over a poor link")
        box.press("Enter")
        expect(page.locator(".message.own .text", has_text="Hello over a poor link")).to_be_visible()
        assert len(node.said) == 1
        # Requests that took too long are repeated, and nobody sees it.
        expect(page.locator("#send-status")).to_have_text("")
        page.get_by_role("link", name="People").click()
        expect(page.locator(".person").first).to_be_visible()
        page.get_by_role("link", name="Node").click()
        expect(page.locator("meter").first).to_be_visible()
        assert link.sent < FIRST_LOAD_MAX
    expect.set_options(timeout=5_000)
