"""The node's page in other languages: messages, plurals, dates, width, bytes, right to left, without the node."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.browser.poor_link import PoorLink, over
from tests.browser.test_node_page_reach import FIND, FIRST_LOAD_MAX, VIEWS, WIDE, first_load
from tests.browser.visits import AXE, Visit
from tests.web.fake import FakeNode, friendly_mesh, serving, with_fork, with_group
from tinyssb_node.screens.languages import LANGUAGES
from tinyssb_node.web.app import STATIC

pytestmark = pytest.mark.browser

every_language = pytest.mark.parametrize("language", LANGUAGES)
LIVE = {"de": "Verbunden", "es": "Conectado", "fr": "Connecté", "uk": "На зв’язку"}


@contextmanager
def visited(
    browser: Browser, locale: str, node: FakeNode | None = None, *, width: int = 390
) -> Iterator[Visit]:
    """A visit with a browser of that language."""
    with (
        serving(node or FakeNode(friendly_mesh())) as address,
        Visit(browser, address, width=width, locale=locale) as visit,
    ):
        yield visit


def look_at(visit: Visit, path: str) -> Page:
    visit.page.goto(visit.address + path)
    expect(visit.page.locator("#connection")).to_have_attribute("data-state", "live")
    return visit.page


def plural(page: Page, number: int) -> str:
    """The words for so many packets."""
    script = "(n) => import('/static/language.js').then((found) => found.tn(n, '{n} packet', '{n} packets'))"
    return str(page.evaluate(script, number))


@every_language
def test_the_page_has_the_language_of_the_browser(browser: Browser, language: str) -> None:
    with visited(browser, language) as visit:
        page = look_at(visit, "/c/public")
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("#connection-text")).to_have_text(LIVE[language])
        assert visit.complaints == []


@every_language
def test_no_view_is_wider_than_a_small_phone(browser: Browser, language: str) -> None:
    with visited(browser, language, with_fork(FakeNode(friendly_mesh())), width=320) as visit:
        for path in VIEWS:
            page = look_at(visit, path)
            assert page.evaluate(WIDE) == [], path
        page.evaluate(AXE.read_text())
        assert page.evaluate(FIND) == []


@every_language
def test_the_first_load_is_small(browser: Browser, language: str) -> None:
    with visited(browser, language) as visit:
        assert 20_000 < first_load(visit, look_at) < FIRST_LOAD_MAX


def test_german_plurals_numbers_and_dates(browser: Browser) -> None:
    with visited(browser, "de-CH") as visit:
        page = look_at(visit, "/c/public")
        assert [plural(page, n) for n in (0, 1, 2, 12_345)] == [
            "0 Pakete",
            "1 Paket",
            "2 Pakete",
            "12'345 Pakete",
        ]
        title = page.locator(".message time").first.get_attribute("title")
        assert title is not None
        assert re.match(r"Geschrieben \w+, \d+\. \w+ \d{4} um \d\d:\d\d:\d\d", title), title


def test_ukrainian_has_three_plural_forms_and_french_counts_none_as_one(browser: Browser) -> None:
    with visited(browser, "uk") as visit:
        words = [
            plural(look_at(visit, "/node"), n).split()[-1] for n in (1, 2, 4, 5, 11, 12, 21, 22, 25, 111, 221)
        ]
        one, few, many = "пакет", "пакети", "пакетів"
        assert words == [one, few, few, many, many, many, one, few, many, many, one]
    with visited(browser, "fr") as visit:
        assert [plural(look_at(visit, "/node"), n) for n in (0, 1, 2)] == [
            "0 paquet",
            "1 paquet",
            "2 paquets",
        ]


def test_a_language_that_is_not_there_is_english(browser: Browser) -> None:
    with visited(browser, "it-IT") as visit:
        page = look_at(visit, "/node")
        expect(page.locator("html")).to_have_attribute("lang", "en")
        expect(page.locator("html")).to_have_attribute("dir", "ltr")
        assert [plural(page, n) for n in (0, 1, 2)] == ["0 packets", "1 packet", "2 packets"]


def test_a_language_is_chosen_on_the_page_and_stays(browser: Browser) -> None:
    with visited(browser, "en-GB") as visit:
        page = look_at(visit, "/node")
        page.get_by_label("Language").select_option(label="Deutsch")
        expect(page.locator("html")).to_have_attribute("lang", "de")
        expect(page.get_by_role("link", name="Knoten")).to_be_visible()
        expect(page.locator("#connection-text")).to_have_text("Verbunden")
        page = look_at(visit, "/people")
        expect(page.get_by_role("heading", name="Personen")).to_be_visible()
        page = look_at(visit, "/node")
        page.get_by_label("Language").select_option(label="Wie im Browser")
        expect(page.locator("html")).to_have_attribute("lang", "en")


def test_messages_that_got_lost_on_the_way_are_asked_for_again(browser: Browser) -> None:
    lost: list[str] = []

    def lose_the_first(route: Route) -> None:
        if lost:
            route.continue_()
        else:
            lost.append(route.request.url)
            route.abort()

    with visited(browser, "de") as visit:
        visit.page.route("**/static/de.json", lose_the_first)
        page = look_at(visit, "/c/public")
        expect(page.locator("#connection-text")).to_have_text("Verbunden")
        assert len(lost) == 1


def test_the_page_is_in_its_language_without_the_node(browser: Browser) -> None:
    link = PoorLink(round_trip_s=0.0, loss=0.0)
    with (
        serving(with_group(FakeNode())) as near,
        over(link, near) as address,
        Visit(browser, address, width=390, worker=True, locale="de") as visit,
    ):
        page = look_at(visit, "/c/public")
        page.evaluate("navigator.serviceWorker.ready")
        expect(page.locator(".message").first).to_be_visible()
        link.down = True
        page.goto(address + "/c/public")
        expect(page.locator("#connection-text")).to_contain_text("Getrennt seit")
        expect(page.locator(".message").first).to_be_visible()


def arabic(page: Page) -> None:
    """Let the page have a language that is written from right to left: one that the node does not have."""
    script = (STATIC / "language.js").read_text("utf-8").replace("NAMES = {", 'NAMES = { ar: "العربية",')
    messages = {
        "Chat": "دردشة",
        "People": "أشخاص",
        "Map": "خريطة",
        "Node": "عقدة",
        "Public": "عام",
        "Live": "متصل",
    }
    content = json.dumps({"forms": "1" * 200, "messages": messages})
    page.route(
        "**/static/language.js", lambda route: route.fulfill(body=script, content_type="text/javascript")
    )
    page.route(
        "**/static/ar.json", lambda route: route.fulfill(body=content, content_type="application/json")
    )


def test_a_language_from_right_to_left(browser: Browser) -> None:
    with visited(browser, "ar", with_fork(FakeNode(friendly_mesh())), width=320) as visit:
        arabic(visit.page)
        for path in VIEWS:
            page = look_at(visit, path)
            expect(page.locator("html")).to_have_attribute("dir", "rtl")
            assert page.evaluate(WIDE) == [], path
        page = look_at(visit, "/c/public")
        expect(page.locator("h1")).to_have_text("عام")
        left = "(part) => part.getBoundingClientRect().left"
        assert page.locator(".brand").evaluate(left) > page.locator("#connection").evaluate(left)
        own, others = page.locator(".message.own").first, page.locator(".message:not(.own)").first
        assert own.evaluate(left) < others.evaluate("(part) => part.getBoundingClientRect().right") - 100
        tabs = page.locator(".tabs a:visible")
        assert tabs.nth(0).evaluate(left) > tabs.nth(1).evaluate(left)
