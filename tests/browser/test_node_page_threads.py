"""Threads on the node's page: what a message answers and all answers, in groups, in public and in private."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_node_page import HARM, box, opened
from tests.browser.visits import Visit
from tests.catalog.fake import (
    ANA,
    BOB,
    CYD,
    EVE,
    PRIVATE,
    START_US,
    FakeCatalog,
    make_message,
    make_person,
    message_id,
)
from tests.web.fake import GROUP, FakeNode, serving, with_group
from tinyssb_node.catalog.rows import MessageRow
from tinyssb_node.control.group_rows import GroupSaidRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_conversations import message_row

pytestmark = pytest.mark.browser


def rows_of(page: Page) -> Locator:
    """The messages of the thread."""
    return page.get_by_role("list", name="Thread").get_by_role("listitem")


def path_of(name: str) -> str:
    return f"/t/public/{message_id(name).hex()}"


def said(name: str, feed: FeedId, place: int, *previous: str, **changes: object) -> MessageRow:
    values = {"arrival": place, "placed": place, "committed_us": START_US + place * 60_000_000}
    return make_message(name, feed, place, name, *previous, **(values | changes))


def lunch() -> FakeNode:
    """People who talk about lunch and the weather."""
    people = [
        make_person(feed, name) for feed, name in ((ANA, "Ana"), (BOB, "Bob"), (CYD, "Cyd"), (EVE, HARM))
    ]
    rows = [
        said("Lunch?", BOB, 1),
        said("At noon", CYD, 2, "Lunch?"),
        said("Rain again", EVE, 3, "At noon"),
        said("Which soup?", ANA, 4, "Lunch?", "Rain again"),
        said("Snow", EVE, 5, "Which soup?"),
        said("Leek", BOB, 6, "Which soup?", "Snow"),
        said(HARM, EVE, 7, "Lunch?", "Leek"),
    ]
    return FakeNode(FakeCatalog(people, rows))


def test_a_thread_shows_answers_below_what_they_answer(browser: Browser) -> None:
    node = with_group(FakeNode())
    first = node.group_said[0]

    def post_row(name: str, feed: FeedId, place: int, answered: str | None) -> GroupSaidRow:
        return GroupSaidRow(
            id=message_id(name).hex(), feed=feed.hex(), seq=place, own=feed == ANA, epoch=None, kind="post",
            text=name, people=[], previous=[], committed_us=place, group=GROUP, place=place,
            reply_to=answered,
        )  # fmt: skip

    node.threads = [
        post_row("in group 0", BOB, 1, None),
        post_row("leek", CYD, 2, first.id.hex()),
        post_row("again?", ANA, 3, message_id("leek").hex()),
    ]
    node.group_said = [message_row(row, node.names()) for row in node.threads]
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/c/{GROUP}")
        page.get_by_role("link", name="1 answer").first.click()
        expect(page).to_have_url(re.compile("/t/"))
        rows = rows_of(page)
        expect(rows).to_have_count(3)
        lefts = [rows.nth(at).evaluate("(row) => row.getBoundingClientRect().left") for at in range(2)]
        assert lefts[0] < lefts[1]
        box(page).fill("Every day")
        box(page).press("Enter")
        expect(box(page)).to_have_value("")
        assert node.said[-1]["reply_to"] == message_id("in group 0")
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []


def test_a_public_message_is_answered_in_its_thread(browser: Browser) -> None:
    node = lunch()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit)
        lunches = page.locator(f"#m-{message_id('Lunch?').hex()}")
        lunches.get_by_role("link", name="2 answers").click()
        expect(page).to_have_url(address + path_of("Lunch?"))
        expect(page.get_by_role("heading", name="Thread")).to_be_focused()
        expect(page.locator(".conversation > header")).to_contain_text("Public, 3 answers")
        expect(rows_of(page).locator(".text")).to_have_text(
            ["Lunch?", "At noon", "Which soup?", "Snow", "Leek", HARM]
        )
        expect(rows_of(page).nth(1)).to_contain_text("right below it in the chat, perhaps no answer")
        expect(page.locator("[aria-current=true] .text")).to_have_text("Lunch?")
        # The box says whom it answers; another message can be chosen, and left again.
        answering = page.locator(".answering")
        expect(answering).to_contain_text("Answering Bob")
        expect(answering.get_by_role("button")).to_be_hidden()
        rows_of(page).nth(4).get_by_role("button", name="Answer Bob").click()
        expect(answering).to_contain_text("Leek")
        box(page).press_sequentially("With bread")
        box(page).press("Escape")
        expect(answering).to_contain_text("Lunch?")
        box(page).press("Enter")
        expect(rows_of(page).last.locator(".text")).to_have_text("With bread")
        # What does not stand right below what it answers says so, and leads there.
        quote = rows_of(page).last.get_by_role("button", name=re.compile("Follows .*Lunch"))
        quote.click()
        expect(rows_of(page).first).to_be_focused()
        assert node.said == [
            {"text": "With bread", "conversation": "public", "reply_to": message_id("Lunch?")}
        ]
        rows_of(page).nth(4).get_by_role("button", name="Answer Bob").click()
        box(page).fill("How much?")
        box(page).press("Enter")
        expect(answering).to_contain_text("Lunch?")
        assert node.said[-1]["reply_to"] == message_id("Leek")
        node.arrive(CYD, "With noodles", [message_id("Leek")])
        expect(rows_of(page).locator(".text")).to_contain_text(["With noodles"])
        assert page.evaluate("document.querySelectorAll('main img, main b, main script').length") == 0
        assert page.evaluate(
            "[...document.querySelectorAll('.scroll')].every((one) => one.scrollWidth <= one.clientWidth)"
        )
        assert visit.barriers() == []
        page.emulate_media(color_scheme="dark")
        assert visit.barriers() == []
        page.get_by_role("link", name="All public messages").click()
        expect(page).to_have_url(address + "/c/public")
        assert visit.complaints == []
        assert len(visit.places) == 1


def test_a_thread_is_read_and_answered_by_keyboard(browser: Browser) -> None:
    node = lunch()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        link = page.locator(f"#m-{message_id('Leek').hex()}").get_by_role("link", name="Thread")
        link.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Thread")).to_be_focused()
        expect(page.locator(".answering")).to_contain_text("Leek")
        reached = []
        for _ in range(40):
            page.keyboard.press("Tab")
            reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
            if reached[-1] == "say":
                break
        assert reached[0] == "All public messages"
        assert reached.count("Answer Bob") == 2
        page.keyboard.type("Good")
        page.keyboard.press("Enter")
        expect(rows_of(page).locator(".text")).to_contain_text(["Good"])
        assert node.said[0]["reply_to"] == message_id("Leek")
        page.go_back()
        expect(page).to_have_url(address + "/c/public")
        assert visit.complaints == []


def test_what_is_missing_and_what_is_hidden_is_said(browser: Browser) -> None:
    node = lunch()
    lost = said("Pea", CYD, 9, "gone", placed=None, tangle=None, missing=(message_id("gone"),))
    node.catalog.all_messages.append(lost)
    node.catalog.all_people[EVE] = make_person(EVE, "Eve", blocked=True)
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, path_of("Lunch?"))
        expect(rows_of(page)).to_have_count(4)
        expect(page.locator(".notes")).to_have_text("2 messages of blocked people are hidden.")
        page.goto(address + path_of("Pea"))
        expect(rows_of(page)).to_have_text(re.compile("Waits for earlier messages"))
        expect(page.locator(".notes")).to_contain_text("answers has not arrived here")
        expect(page.locator(".composer")).to_be_hidden()
        assert visit.barriers() == []
        assert visit.complaints == []
        page.goto(address + path_of("gone"))
        expect(page.locator(".conversation > header")).to_contain_text("This message has not arrived here")
        expect(page.locator(".composer")).to_be_hidden()
        node.catalog.all_messages.append(said("gone", BOB, 10))
        expect(rows_of(page).locator(".text")).to_have_text(["gone", "Pea"])
        expect(page.locator(".composer")).to_be_visible()


def test_a_quote_of_a_message_that_is_not_loaded_leads_to_its_thread(browser: Browser) -> None:
    node = FakeNode()
    for number in range(60):
        node.arrive(BOB, f"{number}")
    node.arrive(CYD, "Late answer", [message_id("first"), message_id("arrived 80")])
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit)
        page.get_by_role("button", name=re.compile("Is anybody up there")).click()
        expect(page).to_have_url(address + path_of("first"))
        expect(page.locator("[aria-current=true] .text")).to_have_text("Is anybody up there?")
        expect(rows_of(page).locator(".text")).to_contain_text(["Late answer"])
        assert visit.complaints == []


def test_private_conversations_have_threads_too(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address) as visit:
        page = opened(visit, f"/t/{PRIVATE}/{message_id('secret').hex()}")
        expect(rows_of(page).locator(".text")).to_have_text(["The key is under the stone.", "Found it."])
        expect(page.locator(".conversation > header")).to_contain_text("Bob from the hut, 0 answers")
        box(page).fill("Which one?")
        box(page).press("Enter")
        expect(rows_of(page)).to_have_count(3)
        assert node.said == [
            {"text": "Which one?", "conversation": PRIVATE, "reply_to": message_id("secret")}
        ]
        assert visit.complaints == []


def test_a_file_in_the_thread_of_a_group_answers_the_message(browser: Browser) -> None:
    node = with_group(FakeNode())
    first = node.group_said[0]
    node.threads = [
        GroupSaidRow(
            id=first.id.hex(), feed=BOB.hex(), seq=1, own=False, epoch=None, kind="post", text="Map?",
            people=[], previous=[], committed_us=1, group=GROUP, place=1,
        ),
    ]  # fmt: skip
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/t/{GROUP}/{first.id.hex()}")
        expect(rows_of(page)).to_have_count(1)
        page.locator("input[type=file]").set_input_files(
            {"name": "map.txt", "mimeType": "text/plain", "buffer": b"north"}
        )
        page.get_by_role("button", name="Send file").click()
        expect(page.get_by_role("group", name="File to send")).to_be_hidden()
        assert node.said == [{"file": "map.txt", "conversation": GROUP, "reply_to": first.id.hex()}]
        assert visit.complaints == []
