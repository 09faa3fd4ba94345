"""People on the node's page in Chromium: named, blocked, found again; the user's own name."""

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_node_page import box, opened, said
from tests.browser.visits import Visit
from tests.catalog.fake import BOB, CYD
from tests.web.fake import FakeNode, friendly_mesh, serving

pytestmark = pytest.mark.browser


def card_of(page: Page, feed: bytes) -> Locator:
    return page.locator(".person", has_text=feed.hex()[:8])


def test_a_person_is_named_blocked_and_shown_again(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit, "/people")
        card = card_of(page, CYD)
        card.get_by_text("Name, follow, and block").click()
        name = card.get_by_label("Your name for this person; only you see it")
        name.fill("Cy")
        node.arrive(BOB, "A message that comes meanwhile")
        name.press_sequentially("d")
        expect(name).to_be_focused()
        card.get_by_role("button", name="Save the name").click()
        expect(page.get_by_role("status").get_by_text("The name is saved.")).to_be_visible()
        expect(card.locator(".who")).to_contain_text("Cyd")
        assert visit.barriers() == []
        assert not visit.wide()

        card.get_by_role("button", name="Block", exact=True).click()
        expect(page.get_by_role("status").get_by_text(f"{CYD.hex()[:8]} is blocked.")).to_be_visible()
        expect(card).to_contain_text("Blocked.")
        expect(card.get_by_role("link", name="Write")).to_have_count(0)
        page.get_by_role("link", name="Chat").click()
        expect(said(page).first).to_be_visible()
        expect(page.locator(".message", has_text="Cyd")).to_have_count(0)
        page.get_by_role("link", name="People").click()
        card.get_by_text("Name, and unblock").click()
        card.get_by_role("button", name="Unblock").click()
        expect(card.get_by_role("link", name="Write")).to_be_visible()
        assert visit.barriers() == []
        assert visit.complaints == []


def test_a_card_that_is_filled_in_stays_while_people_change(browser: Browser) -> None:
    """The whole list was drawn again with each entry of anybody, and took along what was being typed."""
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, "/people")
        card = card_of(page, CYD)
        card.get_by_text("Name, follow, and block").click()
        name = card.get_by_label("Your name for this person; only you see it")
        name.fill("Half a na")
        node.petname(BOB, "Robert")
        node.arrive(BOB, "A message that comes meanwhile")
        expect(card_of(page, BOB).locator(".who")).to_contain_text("Robert")
        expect(name).to_have_value("Half a na")
        expect(name).to_be_focused()
        assert visit.complaints == []


def test_a_person_is_not_followed_any_more_and_followed_again(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit, "/people")
        card = card_of(page, CYD)
        card.get_by_text("Name, follow, and block").click()
        card.get_by_role("button", name="Stop following").click()
        expect(page.get_by_role("status").get_by_text("The node no longer follows")).to_be_visible()
        expect(card).to_contain_text("Not followed.")
        assert not node.catalog.all_people[CYD].wanted
        card.get_by_text("Name, follow, and block").click()
        assert visit.barriers() == []
        card.get_by_role("button", name="Follow", exact=True).click()
        expect(card).not_to_contain_text("Not followed.")
        assert node.catalog.all_people[CYD].wanted
        assert not visit.wide()
        assert visit.complaints == []


def test_the_user_publishes_their_name(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit, "/people")
        page.get_by_text("Your name", exact=True).click()
        field = page.get_by_label("Name; everyone in the mesh can read it")
        expect(field).to_have_value("Ana")
        field.fill("Ana K.")
        assert visit.barriers() == []
        page.get_by_role("button", name="Publish it").click()
        expect(page.get_by_role("status").get_by_text("Your name is published.")).to_be_visible()
        assert node.said == [{"alias": "Ana K."}]
        assert not visit.wide()
        assert visit.complaints == []


def test_a_private_conversation_of_several_begins_with_a_choice(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit)
        page.get_by_role("link", name="Write privately").click()
        form = page.locator("form")
        form.get_by_role("button", name="Write").click()
        expect(form.get_by_role("status")).to_have_text("Choose people first.")
        form.get_by_role("checkbox", name="Bob").check()
        form.get_by_role("checkbox", name=CYD.hex()[:8]).check()
        assert visit.barriers() == []
        assert not visit.wide()
        form.get_by_role("button", name="Write").click()
        about = page.locator(".conversation > header")
        expect(about).to_contain_text("will be able to read this")
        expect(about).to_contain_text("Bob from the hut")
        expect(about).to_contain_text(CYD.hex()[:8])
        node.circles[frozenset({BOB, CYD})] = "aa" * 8
        box(page).fill("Hello both")
        box(page).press("Enter")
        expect(page).to_have_url(f"{address}/c/{'aa' * 8}")
        assert set(node.said[-1]["recipients"]) == {BOB, CYD}


def test_who_has_a_message_is_shown_on_request(browser: Browser) -> None:
    node = FakeNode(friendly_mesh())
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit)
        words = page.locator(".message.own summary").last
        expect(words).to_contain_text("on 2 of 3 nodes, 1 confirmed")
        words.click()
        rows = page.locator(".message.own .holders[open] li")
        expect(rows).to_have_count(4)
        expect(rows.nth(0)).to_contain_text(f"Eva {CYD.hex()[:8]}: It arrived there, confirmed")
        expect(rows.nth(1)).to_contain_text("lora:hut: A node there seems to have it since")
        expect(rows.nth(2)).to_contain_text("Ben at the hut")
        expect(rows.nth(2)).to_contain_text("It has not arrived there yet")
        expect(rows.nth(3)).to_contain_text("This node never confirms messages.")
        assert visit.barriers() == []
        assert not visit.wide()
        assert visit.complaints == []
