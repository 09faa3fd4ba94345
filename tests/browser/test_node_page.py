"""The node's own page in Chromium: read, write, answer, on a phone, by keyboard, offline, with harmful people."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping, Sequence
from random import Random

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.visits import Visit
from tests.catalog.fake import (
    ANA,
    BOB,
    CYD,
    EVE,
    PRIVATE,
    START_US,
    ZOE,
    FakeCatalog,
    make_message,
    make_person,
    message_id,
)
from tests.web.fake import FORK, GROUP, TOKEN, FakeNode, friendly_mesh, serving, with_fork, with_group
from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageKind
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_conversations import GroupConversation
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.subject_pages import SubjectPage

pytestmark = pytest.mark.browser

PHONE_WIDTH = 320
HARM = "<img src=x onerror=alert(1)><b>bold</b><script>alert(2)</script>"


def opened(visit: Visit, path: str = "/c/public") -> Page:
    """The page at *path*, once it is live."""
    visit.page.goto(visit.address + path)
    expect(visit.page.locator("#connection-text")).to_have_text("Live")
    return visit.page


def height_of(part: Locator) -> float:
    """Pixels from top to bottom."""
    return float(part.evaluate("(part) => part.offsetHeight"))


def said(page: Page) -> Locator:
    """The texts of the messages that found their place."""
    return page.get_by_role("list", name="Messages", exact=True).locator(".text")


def box(page: Page) -> Locator:
    """Where one writes."""
    return page.get_by_role("textbox", name="Message")


def test_read_write_answer_and_see_what_comes(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        messages = page.get_by_role("list", name="Messages", exact=True).get_by_role("listitem")
        expect(messages).to_have_count(10)  # with two that wait
        expect(messages.nth(8).locator(".gap")).to_have_text("… 1 message missing before this …")
        box(page).fill("Soup is ready")
        expect(page.locator("#cost")).to_have_text(
            "1 packet · 0.2 s of airtime, 0.6 % of the airtime allowed"
        )
        page.get_by_role("button", name="Send").click()
        expect(messages.last.locator(".text")).to_have_text("Soup is ready")
        expect(box(page)).to_have_value("")
        expect(page.locator("#announcer")).to_have_text("Sent: 3 packets.")

        node.arrive(BOB, "On my way")
        expect(messages.last.locator(".text")).to_have_text("On my way")
        expect(page.locator("#announcer")).to_have_text("Bob from the hut: On my way")

        messages.nth(1).get_by_role("button", name="Answer Bob from the hut").click()
        expect(page.locator(".answering")).to_contain_text("Yes: at the hut")
        box(page).press_sequentially("Which soup?")
        box(page).press("Enter")
        expect(messages.last.locator(".quote")).to_contain_text("Bob from the hut: Yes: at the hut")
        assert [one["reply_to"] for one in node.said] == [None, message_id("answer")]
        assert visit.complaints == []
        assert len(visit.places) == 1


def test_a_private_conversation_begins_with_a_person(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, "/people")
        page.get_by_role("link", name="Write to Bob from the hut").click()
        expect(page.get_by_role("heading", name="Bob from the hut")).to_be_focused()
        expect(page.locator(".conversation > header")).to_contain_text(
            "Only Bob from the hut and you can read this."
        )
        box(page).fill("Thank you")
        box(page).press("Enter")
        expect(said(page).last).to_have_text("Thank you")
        page.go_back()
        expect(page.get_by_role("heading", name="People")).to_be_visible()
        # With Zoe nothing was said yet.
        page.get_by_role("link", name=f"Write to {ZOE.hex()[:8]}").click()
        expect(page.locator(".conversation > header")).to_contain_text("will be able to read this")
        box(page).fill("Hello")
        box(page).press("Enter")
        expect(box(page)).to_have_value("")
        assert node.said == [
            {"text": "Thank you", "conversation": PRIVATE, "reply_to": None},
            {"text": "Hello", "recipients": (ZOE,), "reply_to": None},
        ]
        assert visit.complaints == []


def test_an_answer_that_comes_after_the_reader_left_moves_nobody(browser: Browser) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        page = opened(visit, "/people")
        page.get_by_role("link", name="Write to Bob from the hut").click()
        expect(page.locator(".conversation > header")).to_contain_text("can read this")
        page.route("**/api/say", hold)
        box(page).fill("Thank you")
        with page.expect_request("**/api/say"):
            box(page).press("Enter")
        page.go_back()
        with page.expect_response("**/api/say") as answered:
            held[0].continue_()
        answered.value.finished()
        page.evaluate("fetch('/static/app.js').then((found) => found.text())")  # a round trip later
        assert page.url == f"{visit.address}/people"
        expect(page.get_by_role("heading", name="People")).to_be_visible()
        assert visit.complaints == []


@pytest.mark.parametrize("path", ["/c/public", "/people", "/node"])
def test_it_fits_a_small_phone_and_everybody_can_use_it(browser: Browser, path: str) -> None:
    small = (
        "[...document.querySelectorAll('button, a, input, textarea, summary')].filter((e) => e.checkVisibility()"
        " && !e.closest('.skip') && (e.offsetHeight < 24 || e.offsetWidth < 24)).map((e) => e.outerHTML)"
    )
    parts = "[...document.querySelectorAll('main, .scroll, .sheet')]"
    with serving(FakeNode()) as address, Visit(browser, address, width=PHONE_WIDTH) as visit:
        page = opened(visit, path)
        expect(page.locator(".message, .person, meter").first).to_be_visible()
        assert not visit.wide()
        assert not page.evaluate(f"{parts}.some((part) => part.scrollWidth > part.clientWidth)")
        assert page.evaluate(small) == []
        assert visit.barriers() == []
        page.emulate_media(color_scheme="dark")
        assert visit.barriers() == []
        assert visit.complaints == []


def test_all_of_it_works_by_keyboard(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(page.locator(".message").first).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.locator(".skip").first).to_be_focused()
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(box(page)).to_be_focused()
        page.evaluate("document.getElementById('main').focus()")
        reached = []
        for _ in range(60):
            page.keyboard.press("Tab")
            name = page.evaluate("document.activeElement.id || document.activeElement.textContent")
            reached.append(name)
            if name == "say":
                break
            if name == "Answer Bob from the hut" and page.locator(".answering").is_hidden():
                page.keyboard.press("Enter")
                expect(box(page)).to_be_focused()
                page.keyboard.type("by hand")
                page.keyboard.press("Escape")
                expect(page.locator(".answering")).to_be_hidden()
                break
        assert any("Public" in name for name in reached)
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("second line")
        page.keyboard.press("Enter")
        expect(said(page).last).to_have_text("by hand\nsecond line")
        assert node.said[0]["reply_to"] is None


def test_what_harmful_people_write_is_only_text(browser: Browser) -> None:
    catalog = FakeNode().catalog
    catalog.all_people[EVE] = make_person(EVE, HARM)
    catalog.all_messages.append(
        make_message("harm", EVE, 9, HARM + "\u202e\u0000" + "o" + "\u0336" * 500, arrival=99, placed=99)
    )
    with serving(FakeNode(catalog)) as address, Visit(browser, address) as visit:
        page = opened(visit)
        last = page.locator(f"#m-{message_id('harm').hex()}")
        expect(last.locator(".text")).to_contain_text("<img src=x onerror=alert(1)><b>bold</b>")
        expect(last.locator(".text")).to_contain_text("⟨202E⟩⟨0000⟩")
        expect(last.locator(".who bdi")).to_contain_text("<img src=x")
        assert page.evaluate("document.querySelectorAll('main img, main b, main script').length") == 0
        hidden = r"/[\u0000-\u0008\u000b-\u001f\u202a-\u202e\u2066-\u2069\u200b]/"
        assert page.evaluate(f"!{hidden}.test(document.body.textContent)")
        assert height_of(last) < 200
        visit.page.goto(address + "/people")
        expect(page.locator(".person")).to_have_count(5)
        assert page.evaluate("document.querySelectorAll('main img, main b, main script').length") == 0
        assert visit.complaints == []


class Circles(FakeCatalog):
    """Private conversations of several."""

    circles: Mapping[str, tuple[FeedId, ...]] = {"aa" * 8: (BOB, CYD), "bb" * 8: (EVE,), "cc" * 8: ()}

    def conversations(self) -> Sequence[ConversationRow]:
        private = [
            ConversationRow(name=name, members=tuple(sorted((ANA, *others))), messages=0, last=None)
            for name, others in self.circles.items()
        ]
        return [self._conversation(PUBLIC), *private]


class Petnamed(FakeNode):
    """Our user calls Bob and Cyd by these names."""

    def names(self) -> DisplayNames:
        return DisplayNames(self.catalog.people(), {BOB, CYD})


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("Bob, Cyd", "“Bob, Cyd”"), ('Bob", “Cyd', "“Bob', 'Cyd”"), ("Public", "Public"), ("You", "You"),
        ("Notes to myself", "Notes to myself"),
    ],
)  # fmt: skip
def test_nobody_poses_as_others(browser: Browser, said: str, shown: str) -> None:
    people = [
        make_person(feed, name) for feed, name in ((ANA, "Ana"), (BOB, "Bob"), (CYD, "Cyd"), (EVE, said))
    ]
    messages = [
        make_message("first", ANA, 1, "Mine.", arrival=1, placed=1),
        make_message("second", EVE, 2, "Not yours.", arrival=2, placed=2),
        make_message("third", ANA, 3, "So?", "second", "first", arrival=3, placed=3),
        make_message("fourth", EVE, 4, "Indeed.", "third", "second", arrival=4, placed=4),
        make_message("fifth", BOB, 5, "Hm.", "second", arrival=5, placed=5),
    ]
    who = f"{shown} {EVE.hex()[:8]}"
    both = ", ".join(name for _, name in sorted([(BOB, "Bob"), (CYD, "Cyd")]))
    with serving(Petnamed(Circles(people, messages))) as address, Visit(browser, address) as visit:
        page = opened(visit, "/c/" + "bb" * 8)
        expect(page.get_by_role("heading", name=who, exact=True)).to_be_visible()
        expect(page.locator(".conversation > header p")).to_have_text(f"Only {who} and you can read this.")
        links = page.locator(".conversations a .title")
        expect(links).to_have_text(["Public", both, who, "Notes to myself"])
        links.nth(1).click()
        expect(page.locator(".conversation > header p")).to_have_text(f"Only {both} and you can read this.")
        links.nth(3).click()
        expect(page.locator(".conversation > header p")).to_have_text("Only you can read this.")
        links.first.click()
        expect(page.locator(".quote")).to_have_text([f"Follows {who}: Not yours."])
        page.get_by_role("button", name=f"Answer {who}").first.click()
        expect(page.locator(".answering span").first).to_have_text(f"Answering {who}: Not yours.")
        assert visit.complaints == []


def test_long_messages_are_folded_and_earlier_ones_come_when_asked_for(browser: Browser) -> None:
    rows = [
        make_message(f"m{n}", BOB, n, f"number {n}", *([f"m{n - 1}"] if n > 1 else []), arrival=n, placed=n)
        for n in range(1, 131)
    ]
    rows[-1] = make_message("long", BOB, 130, "line\n" * 300, "m129", arrival=130, placed=130)
    node = FakeNode(FakeCatalog([make_person(BOB, "Bob")], rows))
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(page.locator(".message")).to_have_count(50)
        fold = page.get_by_role("button", name="Show all")
        low = height_of(page.locator(".message").last)
        fold.click()
        assert height_of(page.locator(".message").last) > 10 * low
        expect(page.get_by_role("button", name="Show less")).to_have_attribute("aria-expanded", "true")
        for count in (100, 130):
            page.get_by_role("button", name="Show earlier messages").click()
            expect(page.locator(".message")).to_have_count(count)
        expect(page.get_by_role("button", name="Show earlier messages")).to_be_hidden()
        expect(page.locator(".message .text").first).to_have_text("number 1")
        assert page.locator(".quote").count() == 0


def test_the_token_opens_the_page_by_link_and_by_hand(browser: Browser) -> None:
    with serving(FakeNode(), token=TOKEN) as address:
        with Visit(browser, address) as visit:
            page = visit.page
            page.goto(f"{visit.address}/people#token={TOKEN}")
            expect(page.locator(".person")).to_have_count(5)
            assert page.url == f"{visit.address}/people"
            (cookie,) = visit.context.cookies()
            assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
            assert TOKEN not in page.evaluate("document.cookie + JSON.stringify(localStorage)")
        with Visit(browser, address) as visit:
            page = visit.page
            page.goto(f"{visit.address}/people")
            expect(page.get_by_label("Token")).to_be_focused()
            page.evaluate(f"location.hash = 'token={TOKEN}'")  # as a link that is opened in this tab
            expect(page.locator(".person")).to_have_count(5)
            assert page.url == f"{visit.address}/people"
        with Visit(browser, address, width=PHONE_WIDTH) as visit:
            page = visit.page
            page.goto(address)
            field = page.get_by_label("Token")
            expect(field).to_be_focused()
            assert visit.barriers() == []
            field.fill("not the token")
            field.press("Enter")
            expect(page.get_by_role("alert").first).to_contain_text("This is not the token")
            assert page.locator(".message").count() == 0
            field.fill(TOKEN)
            page.get_by_role("button", name="Open").click()
            expect(page.locator(".message").first).to_be_visible()


def test_without_the_node_it_says_so_and_keeps_what_was_written(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        node.running = False
        expect(page.locator("#problem")).to_contain_text(
            "The node's daemon is not running. You can still read"
        )
        box(page).fill("Still here?")
        box(page).press("Enter")
        expect(page.locator("#send-status")).to_contain_text("Not sent. The node's daemon is not running.")
        expect(box(page)).to_have_value("Still here?")

        node.running = True
        expect(page.locator("#problem")).to_be_hidden()
        visit.context.set_offline(True)
        expect(page.locator("#connection-text")).to_have_text(re.compile("Offline since .+"))
        page.get_by_role("link", name="Node").click()
        page.get_by_role("link", name="Chat").click()
        expect(box(page)).to_have_value("Still here?")
        visit.context.set_offline(False)
        expect(page.locator("#connection-text")).to_have_text("Live")
        page.reload()
        expect(box(page)).to_have_value("Still here?")
        expect(page.locator(".message").first).to_be_visible()
        box(page).press("Enter")
        expect(said(page).last).to_have_text("Still here?")
        assert len(node.said) == 1


@pytest.mark.parametrize(
    ("name", "width", "scheme"), [("web-phone", 360, "light"), ("web-desk", 1_200, "dark")]
)
def test_it_looks_as_in_the_docs(browser: Browser, name: str, width: int, scheme: str) -> None:
    with (
        serving(FakeNode(friendly_mesh())) as address,
        Visit(browser, address, width=width, scheme=scheme) as visit,
    ):
        visit.page.set_viewport_size({"width": width, "height": 720})
        page = opened(visit)
        expect(page.locator(".message")).to_have_count(6)
        expect(page.locator(".message.own footer").last).to_contain_text("on 2 of 3 nodes, 1 confirmed")
        page.mouse.move(0, 0)
        assert visit.picture_differs(name) == ""


def test_older_messages_that_arrive_are_marked_and_one_click_away(browser: Browser) -> None:
    node = FakeNode(FakeCatalog([make_person(BOB, "Bob")], ()))
    for number in range(120):
        node.arrive(BOB, f"word {number}", order_us=START_US + number * 60_000_000)
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        expect(said(page).last).to_have_text("word 119")
        expect(page.locator(".up")).to_be_hidden()
        for place in (10, 20, 100):
            node.arrive(BOB, f"late {place}", order_us=START_US + place * 60_000_000 + 30_000_000)
        expect(said(page).filter(has_text="late 100")).to_be_visible()
        late = page.locator(".message", has_text="late 100")
        expect(late.locator(".older")).to_have_text("Older message")
        up = page.get_by_role("button", name="2 older messages arrived")
        expect(up).to_be_visible()
        up.click()
        expect(up).to_be_hidden()
        expect(said(page)).to_have_count(123)
        first = page.locator(".message", has_text="late 10").first
        expect(first).to_be_in_viewport()
        expect(first.locator(".older")).to_be_visible()
        expect(page.locator(".message .older:visible")).to_have_count(3)
        assert said(page).all_text_contents()[10:13] == ["word 10", "late 10", "word 11"]
        assert node.marks["public"] == 123
        assert visit.complaints == []


def test_a_private_group_is_read_and_written_to(browser: Browser) -> None:
    node = FakeNode()
    group = "5a" * 20
    node.group_said = [
        make_message("in group 0", BOB, 1, "Only for us.", conversation=group, placed=1, private=True)
    ]
    node.rooms = [
        GroupConversation(
            name=group, members=(BOB,), messages=1, last=node.group_said[0], title=f"Hut {HARM}", note=""
        )
    ]
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        page.get_by_role("link", name="Hut <img").click()
        expect(page).to_have_url(f"{address}/c/{group}")
        expect(page.get_by_role("heading", name="Hut <img")).to_be_visible()
        expect(page.locator(".conversation header p")).to_have_text(
            "Only the 2 members of this group can read this."
        )
        expect(said(page)).to_have_text(["Only for us."])
        page.get_by_role("button", name="Answer Bob").click()
        box(page).fill("Soup?")
        expect(page.locator("#cost")).to_contain_text("3 packets")
        page.get_by_role("button", name="Send").click()
        expect(said(page)).to_have_text(["Only for us.", "Soup?"])
        assert node.said[-1]["conversation"] == group
        assert node.said[-1]["reply_to"] == message_id("in group 0")
        node.rooms = [dataclasses.replace(node.rooms[0], note="you left this group")]
        page.reload()
        expect(page.locator(".conversation header p")).to_contain_text(
            "You cannot write here: you left this group."
        )


def test_a_group_that_excluded_the_user_is_read_and_offers_no_way_to_write(browser: Browser) -> None:
    """There was a line to write in; what was sent there was refused only then."""
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/c/{GROUP}")
        expect(page.get_by_role("textbox", name="Message")).to_be_visible()
        expect(page.get_by_role("button", name="Answer")).to_be_visible()
        node.rooms = [dataclasses.replace(node.rooms[0], note="you were excluded")]
        page.reload()
        expect(page.locator(".conversation header p")).to_contain_text(
            "You cannot write here: you were excluded."
        )
        expect(page.get_by_text("Soup at noon?").last).to_be_visible()
        expect(page.get_by_role("textbox")).to_have_count(0)
        expect(page.get_by_role("button", name="Send")).to_have_count(0)
        expect(page.get_by_role("button", name="Answer")).to_have_count(0)
        assert visit.barriers() == []
        assert visit.complaints == []


def test_a_group_is_managed_after_its_cost_was_shown(browser: Browser) -> None:
    node = with_group(FakeNode(), f"Hut {HARM}")
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, f"/c/{GROUP}")
        page.get_by_role("link", name="Members and details").click()
        expect(page).to_have_url(f"{address}/g/{GROUP}")
        readers = page.get_by_role("region", name="Who can read what").get_by_role("listitem")
        expect(readers).to_have_count(4)
        expect(readers.nth(0)).to_contain_text("You")
        expect(readers.nth(3)).to_contain_text("excluded by you")
        form = page.get_by_role("form", name="Exclude people")
        expect(form.get_by_role("checkbox")).to_have_count(2)
        form.get_by_role("button", name="Show the cost").click()
        expect(form.get_by_role("status")).to_have_text(re.compile("Choose people first"))
        form.get_by_role("checkbox", name="Bob").check()
        form.get_by_role("button", name="Show the cost").click()
        expect(form).to_contain_text("16 packets, 3.3 s of airtime")
        expect(form).to_contain_text("This cannot be undone.")
        form.get_by_role("button", name="Cancel").click()
        assert node.changes == []
        form.get_by_role("button", name="Show the cost").click()
        form.get_by_role("button", name="Exclude them").click()
        expect(form.get_by_role("status")).to_contain_text("Excluded Bob")
        assert node.changes == [("exclude", GROUP, (BOB.hex(),))]
        assert visit.barriers() == []
        assert visit.complaints == []


def test_a_fork_that_waits_is_decided_on_by_buttons(browser: Browser) -> None:
    node = with_fork(FakeNode())
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/c/{GROUP}")
        expect(page.locator(".conversation header p")).to_contain_text("waits for your decision, behind")
        page.get_by_role("link", name="Members and details").click()
        card = page.get_by_role("region", name="Your decision")
        expect(card).to_contain_text("excluded Bob from the hut")
        card.get_by_role("button", name="Accept…").click()
        expect(card).to_contain_text("7 packets, 1.4 s of airtime")
        card.get_by_role("button", name="Cancel").click()
        assert node.changes == []
        card.get_by_role("button", name="Reject…").click()
        card.get_by_role("button", name="Reject it on this node").click()
        expect(page.get_by_role("status").get_by_text("Rejected the fork.")).to_be_visible()
        expect(card).to_have_count(0)
        assert node.changes == [(f"reject {FORK}", GROUP, ())]
        assert visit.barriers() == []
        assert visit.complaints == []


def test_messages_are_searched(browser: Browser) -> None:
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, "/c/public")
        page.get_by_role("link", name="Search").click()
        page.get_by_role("searchbox").fill("Soup at noon")
        page.get_by_role("button", name="Search").click()
        expect(page.get_by_role("status").get_by_text("1 message found.")).to_be_visible()
        expect(page.get_by_role("link", name="Hut crew 5a5a5a5a")).to_be_visible()
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []


def test_new_messages_of_a_muted_group_are_not_announced(browser: Browser) -> None:
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, f"/g/{GROUP}")
        form = page.get_by_role("form", name="Mute", exact=True)
        form.get_by_role("button", name="Mute…").click()
        form.get_by_role("button", name="Mute it").click()
        expect(page.get_by_role("form", name="Muted")).to_be_visible()
        assert node.changes == [("mute", GROUP, ())]
        node.rooms = [dataclasses.replace(room, muted=True) for room in node.rooms]
        page.goto(f"{address}/c/{GROUP}")
        expect(said(page)).to_have_count(1)
        expect(page.locator(".conversations")).to_contain_text("muted")
        node.group_said.append(
            make_message("in group 9", BOB, 9, "And now?", conversation=GROUP, placed=9, private=True)
        )
        node.arrive(BOB, "Public news")
        expect(said(page)).to_have_count(2)
        expect(page.locator("#announcer")).to_have_text("")
        assert visit.complaints == []


def test_a_picture_is_sent_to_a_group_after_its_cost_was_shown(browser: Browser) -> None:
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/c/{GROUP}")
        small = page.screenshot(clip={"x": 0, "y": 0, "width": 40, "height": 40})
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="File").click()
        chooser.value.set_files({"name": "dot.png", "mimeType": "image/png", "buffer": small})
        panel = page.get_by_role("group", name="File to send")
        expect(panel).to_contain_text("dot.png")
        expect(panel.get_by_role("status")).to_contain_text("of airtime")
        assert visit.barriers() == []
        panel.get_by_role("button", name="Not now").click()
        expect(panel).to_be_hidden()
        assert node.said == []
        page.locator("input[type=file]").set_input_files(
            {"name": "hut.bmp", "mimeType": "image/bmp", "buffer": noisy_picture(300)}
        )
        expect(panel).to_contain_text("hut.webp")
        expect(panel.get_by_role("img", name="The picture as it is sent")).to_be_visible()
        panel.get_by_role("button", name=re.compile("Send all .* packets")).click()
        expect(panel).to_be_hidden()
        picture = page.get_by_role("img", name="hut.webp")
        expect(picture).to_be_visible()
        assert picture.evaluate("(one) => one.decode().then(() => one.naturalWidth > 0)")
        (type_, data) = node.files[GROUP, "hut.webp"]
        assert (type_, len(data) <= 32_000) == ("image/webp", True)
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save").last.click()
        assert saved.value.suggested_filename == "hut.webp"
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []


def test_a_public_picture_is_sent_shown_and_saved(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit)
        small = page.screenshot(clip={"x": 0, "y": 0, "width": 40, "height": 40})
        page.locator("input[type=file]").set_input_files(
            {"name": "dot.png", "mimeType": "image/png", "buffer": small}
        )
        panel = page.get_by_role("group", name="File to send")
        expect(panel.get_by_role("status")).to_contain_text("Everyone in the mesh can read it.")
        assert node.said == []
        panel.get_by_role("button", name=re.compile("Send")).click()
        picture = page.get_by_role("img", name="dot.png")
        expect(picture).to_be_visible()
        assert picture.evaluate("(one) => one.decode().then(() => one.naturalWidth)") == 40
        with page.expect_download() as saved:
            page.get_by_role("link", name="Save").last.click()
        assert saved.value.suggested_filename == "dot.png"
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []
        page.set_viewport_size({"width": 1000, "height": 900})
        expect(page.get_by_role("link", name="Public").locator(".preview")).to_contain_text("File dot.png")


def noisy_picture(side: int) -> bytes:
    """Return a picture of noise, which nothing makes small, as a BMP."""
    pixels = Random(1).randbytes(3 * side * side)
    head = b"BM" + (54 + len(pixels)).to_bytes(4, "little") + bytes(4) + (54).to_bytes(4, "little")
    info = (40).to_bytes(4, "little") + side.to_bytes(4, "little") * 2 + b"\x01\x00\x18\x00" + bytes(24)
    return head + info + pixels


def test_a_group_looks_as_in_the_docs(browser: Browser) -> None:
    node = with_group(FakeNode(friendly_mesh()))
    with serving(node) as address, Visit(browser, address, width=720) as visit:
        page = opened(visit, f"/g/{GROUP}")
        form = page.get_by_role("form", name="Exclude people")
        form.get_by_role("checkbox").first.check()
        form.get_by_role("button", name="Show the cost").click()
        expect(form).to_contain_text("This cannot be undone.")
        page.set_viewport_size({"width": 720, "height": 1_180})
        page.locator("#main").evaluate("(main) => main.scrollTo(0, 0)")
        assert visit.picture_differs("web-group") == ""


def test_a_group_is_created(browser: Browser) -> None:
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        page.get_by_role("link", name="New group").click()
        page.get_by_label("Name").fill("Ski")
        page.get_by_role("checkbox", name="Bob").check()
        page.get_by_label("Erase texts after so many days").fill("14")
        page.get_by_role("button", name="Show the cost").click()
        expect(page.get_by_role("form")).to_contain_text("18 packets, 3.7 s of airtime")
        expect(page.get_by_role("form")).to_contain_text("Texts are erased after 14 days")
        page.get_by_role("button", name="Create it").click()
        expect(page).to_have_url(f"{address}/c/{GROUP}")
        assert node.changes == [("create", "Ski after 14", (BOB.hex(),))]
        assert visit.barriers() == []
        assert visit.complaints == []


def test_a_big_message_asks_first(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        box(page).fill("long " * 500)
        page.get_by_role("button", name="Send").click()
        asked = page.locator(".asked[role=alert]")
        expect(asked).to_contain_text("packets")
        expect(asked).to_contain_text("of this hour's budget")
        assert visit.barriers() == []
        page.get_by_role("button", name="Not now").click()
        expect(asked).to_be_hidden()
        assert node.said == []
        page.get_by_role("button", name="Send").click()
        page.get_by_role("button", name="Send anyway").click()
        expect(box(page)).to_have_value("")
        assert len(node.said) == 1


def test_unread_messages_are_counted_until_they_are_shown(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, f"/c/{PRIVATE}")
        public = page.locator('.conversations a[href="/c/public"]')
        expect(public.locator(".unread")).to_have_text(re.compile(r"^ [0-9]+ new$"))
        public.click()
        expect(said(page)).not_to_have_count(0)
        page.locator(f'.conversations a[href="/c/{PRIVATE}"]').click()
        expect(public.locator(".unread")).to_have_count(0)
        assert {*node.marks} == {"public", PRIVATE}
        node.arrive(BOB, "Anybody?", own=False)
        expect(public.locator(".unread")).to_have_text(" 1 new")


def test_a_link_that_is_pressed_while_a_message_comes_is_followed(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, f"/c/{PRIVATE}")
        public = page.locator('.conversations a[href="/c/public"]')
        expect(public).to_be_visible()
        page.get_by_role("link", name="Search").hover()
        page.mouse.down()
        node.arrive(BOB, "Anybody?", own=False)
        expect(public).to_contain_text("Anybody?")
        page.mouse.up()
        expect(page.get_by_role("searchbox")).to_be_visible()


def test_a_text_that_is_too_long_is_not_cut_but_refused(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        box(page).fill("word " * 1_000)
        expect(page.locator("#send-status")).to_contain_text("The message has 4,999 characters")
        box(page).press("Enter")
        assert page.evaluate("document.getElementById('say').value.length") == 5_000
        assert node.said == []
        box(page).fill("short")
        expect(page.locator("#send-status")).to_have_text("")
        box(page).press("Enter")
        expect(said(page).last).to_have_text("short")


FAKE_NOTIFICATIONS = """
window.shownNotices = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() { return (window.Notification.permission = "granted"); }
  constructor(title, { body }) {
    super();
    window.shownNotices.push([title, body]);
  }
};
"""


def test_new_messages_are_counted_in_the_title_and_notified_if_one_wants(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        visit.page.add_init_script(FAKE_NOTIFICATIONS)
        page = opened(visit)
        expect(page).to_have_title("(1) tinySSB")  # the private message
        page.get_by_role("button", name="Notify me of new messages").click()
        expect(page.get_by_role("button", name="Stop notifications")).to_be_visible()
        node.arrive(BOB, "Seen at once")
        expect(said(page).last).to_have_text("Seen at once")
        page.get_by_role("link", name="People").click()
        node.arrive(BOB, "Somewhere else")
        expect(page).to_have_title("(2) tinySSB")
        assert page.evaluate("shownNotices") == [["Bob from the hut · Public", "Somewhere else"]]
        page.get_by_role("link", name="Chat").click()
        expect(page).to_have_title("(1) tinySSB")
        page.get_by_role("button", name="Stop notifications").click()
        page.get_by_role("link", name="People").click()
        node.arrive(BOB, "Nobody is told")
        expect(page).to_have_title("(2) tinySSB")
        assert len(page.evaluate("shownNotices")) == 1


def test_readings_of_sensors_are_charted_and_no_label_is_markup(browser: Browser) -> None:
    node = FakeNode()
    for number in range(48):
        value = 20 + 4 * math.sin(number / 7)
        node.arrive(
            BOB, json.dumps(["temp", "roof", round(value, 1)]), kind=MessageKind.DATA, conversation=None
        )
    node.arrive(EVE, json.dumps([HARM, 7]), kind=MessageKind.DATA, conversation=None)
    with serving(node) as address, Visit(browser, address, width=PHONE_WIDTH) as visit:
        page = opened(visit, "/node")
        charts = page.get_by_role("region", name="Readings").get_by_role("listitem")
        expect(charts).to_have_count(2)
        expect(charts.nth(0)).to_contain_text(HARM[:30])
        expect(charts.nth(1)).to_contain_text("temp roof of Bob")
        expect(charts.nth(1)).to_contain_text("48 values within 47 min, from 16 to 24")
        drawn = charts.nth(1).locator("polyline").get_attribute("points") or ""
        assert drawn.count(",") == 48
        assert charts.nth(0).locator("polyline, b, img").count() == 0


def test_messages_of_pzp_are_text_and_fit_a_phone(browser: Browser) -> None:
    node = FakeNode()
    node.pages = [
        SubjectPage("PZP messages", ("post of BF2vr4tE, 1 message, feed H4yaQNYj:", f"  1  {HARM * 9}"))
    ]
    with serving(node) as address, Visit(browser, address, width=PHONE_WIDTH) as visit:
        page = opened(visit, "/node")
        text = page.locator("pre")
        expect(text).to_contain_text("post of BF2vr4tE")
        expect(text).to_contain_text(HARM[:20])
        assert text.locator("*").count() == 0
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []
