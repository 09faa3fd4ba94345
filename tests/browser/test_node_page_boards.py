"""Boards on the node's page in Chromium: begun, filled, moved, written on, by two people."""

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.test_node_page import HARM, opened
from tests.browser.visits import Visit
from tests.catalog.fake import ANA, BOB
from tests.web.fake import FakeNode, serving
from tinyssb_node.content.board import Operation, create_step, make_operation
from tinyssb_node.ids import MessageId

pytestmark = pytest.mark.browser


def list_of(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def fill(part: Locator | Page, label: str, text: str, yes: str) -> None:
    """Write into one of the forms, and send it."""
    part.get_by_label(label, exact=True).fill(text)
    part.get_by_role("button", name=yes, exact=True).click()


def filled_board(node: FakeNode, name: str = "Hut work") -> tuple[MessageId, MessageId]:
    """A board of Bob's with a list and a card; returns the board and the card."""
    board = node.do(BOB, create_step(name))
    todo = node.do(BOB, make_operation(node.board(board), Operation.COLUMN_CREATE, "To do"))
    card = node.do(BOB, make_operation(node.board(board), Operation.ITEM_CREATE, todo, "Split wood"))
    return board, card


def test_a_board_is_begun_and_a_card_goes_its_way(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit)
        page.get_by_role("link", name="Boards").click()
        fill(page, "Name of the board", "Hut work", "Begin it")
        expect(page.get_by_role("heading", name="Hut work")).to_be_visible()
        for name in ("To do", "Done"):
            fill(page, "Name of a new list", name, "Add the list")
            expect(list_of(page, name)).to_be_visible()
        todo, done = list_of(page, "To do"), list_of(page, "Done")
        fill(todo, "Name of a new card", "Split wood", "Add the card")
        card = page.locator(".item", has_text="Split wood")
        card.locator("summary").first.click()
        fill(card, "Comment", "The axe is\nin the shed", "Write it")
        expect(card.get_by_role("list", name="Comments")).to_contain_text("The axe is")
        expect(card.get_by_label("Comment", exact=True)).to_have_value("")
        card.get_by_label("Person to give the card to").select_option(BOB.hex())
        card.get_by_role("button", name="Give it to them").click()
        expect(card.locator("summary").first).to_contain_text("Bob from the hut · 1 comment")
        assert visit.barriers() == []
        assert not visit.wide()
        page.emulate_media(color_scheme="dark")
        assert visit.barriers() == []
        card.get_by_role("button", name="Move it").click()
        expect(done.locator(".item")).to_have_count(1)
        expect(todo.locator(".item")).to_have_count(0)
        page.get_by_text("What happened on this board").click()
        expect(page.get_by_text('moved "Split wood" from "To do" to "Done"')).to_be_visible()
        page.get_by_role("link", name="All boards").click()
        expect(page.get_by_role("link", name="Hut work", exact=True)).to_be_visible()
        assert visit.barriers() == []
        assert not visit.wide()
        assert visit.complaints == []


def test_what_others_change_appears_and_what_is_typed_stays(browser: Browser) -> None:
    node = FakeNode()
    board, card_id = filled_board(node)
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/b/{board.hex()}")
        card = page.locator(".item", has_text="Split wood")
        card.locator("summary").first.click()
        comment = card.get_by_label("Comment", exact=True)
        comment.fill("Half a sen")
        node.do(BOB, make_operation(node.board(board), Operation.ITEM_COMMENT, card_id, "On my way"))
        expect(card.get_by_role("list", name="Comments")).to_contain_text("On my way")
        expect(comment).to_have_value("Half a sen")
        expect(comment).to_be_focused()
        node.do(BOB, make_operation(node.board(board), Operation.ITEM_REMOVE, card_id))
        expect(page.locator(".item")).to_have_count(0)
        assert visit.complaints == []


def test_a_failure_keeps_the_text_and_a_costly_one_asks(browser: Browser) -> None:
    node = FakeNode()
    board, _ = filled_board(node)
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/b/{board.hex()}")
        card = page.locator(".item", has_text="Split wood")
        card.locator("summary").first.click()
        sent = len(node.steps)
        fill(card, "Comment", "x" * 3_000, "Write it")
        expect(card).to_contain_text("of this hour's budget")
        assert len(node.steps) == sent
        card.get_by_role("button", name="Send anyway").click()
        expect(card.get_by_label("Comment", exact=True)).to_have_value("")
        assert len(node.steps) == sent + 1
        node.running = False
        fill(card, "Comment", "And now?", "Write it")
        expect(card.locator(".failed")).to_contain_text("The node's daemon is not running.")
        expect(card.get_by_label("Comment", exact=True)).to_have_value("And now?")
        node.running = True
        card.get_by_role("button", name="Write it").click()
        expect(card.get_by_label("Comment", exact=True)).to_have_value("")
        assert len(node.steps) == sent + 2


def test_a_text_cannot_be_changed_while_it_is_sent(browser: Browser) -> None:
    node = FakeNode()
    board, _ = filled_board(node)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit, f"/b/{board.hex()}")
        page.route("**/api/board/change", hold)
        box = page.get_by_label("Name of a new list", exact=True)
        fill(page, "Name of a new list", "Done", "Add the list")
        expect(box).not_to_be_editable()
        expect(page.get_by_role("button", name="Add the list")).to_be_disabled()
        held.pop().continue_()
        expect(list_of(page, "Done")).to_be_visible()
        expect(box).to_be_editable()
        expect(box).to_have_value("")
        assert visit.complaints == []


def test_an_invitation_is_answered_and_names_of_strangers_are_only_text(browser: Browser) -> None:
    node = FakeNode()
    board, _ = filled_board(node, HARM)
    node.do(BOB, make_operation(node.board(board), Operation.INVITE, ANA))
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit, f"/b/{board.hex()}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("<img src=x")
        expect(page.get_by_text("You are invited to this board.")).to_be_visible()
        assert visit.barriers() == []
        page.get_by_role("button", name="Accept").click()
        expect(page.get_by_text("You are invited to this board.")).to_be_hidden()
        expect(page.get_by_role("status").get_by_text("You are a member now.")).to_be_visible()
        assert ANA in node.board(board).members
        assert page.evaluate("document.querySelectorAll('main img, main b, main script').length") == 0
        assert not visit.wide()
        assert visit.complaints == []
