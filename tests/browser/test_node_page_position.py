"""Sharing of a position from a phone: off by default, shown first, published, withdrawn; why it cannot be shared."""

import pytest
from playwright.sync_api import Browser, Geolocation, Locator, expect

from tests.browser.visits import Visit
from tests.web.fake import GROUP, FakeNode, serving, with_group
from tinyssb_node.content.telemetry import PositionRecord

pytestmark = pytest.mark.browser

ZURICH: Geolocation = {"latitude": 47.37694, "longitude": 8.54172, "accuracy": 11.2}


def form(visit: Visit) -> Locator:
    """The form of the position, opened."""
    visit.page.goto(f"{visit.address}/map")
    expect(visit.page.locator("#connection-text")).to_have_text("Live")
    visit.page.get_by_text("Your position", exact=True).click()
    return visit.page.locator("details", has=visit.page.get_by_text("Your position", exact=True))


def test_it_is_shown_first_then_published_and_withdrawn(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        visit.context.grant_permissions(["geolocation"])
        visit.context.set_geolocation(ZURICH)
        mine = form(visit)
        expect(mine.get_by_text("Nothing is sent until you publish it.")).to_be_visible()
        expect(mine.get_by_role("button", name="Stop sharing")).to_be_hidden()
        mine.get_by_role("button", name="Find my position").click()
        expect(mine.locator(".asked")).to_contain_text("47.37735, 8.54192 ±83 m")
        expect(mine.locator(".asked")).to_contain_text("Everyone in the mesh can read it for good")
        expect(mine.locator(".asked")).to_contain_text("1 packet")
        mine.get_by_label("Precision").select_option("10000")
        expect(mine.locator(".asked")).to_contain_text("±7.1 km")
        assert node.said == [], "nothing is published before it is said"
        mine.get_by_role("button", name="Publish it").click()
        expect(mine.get_by_role("status")).to_have_text("Your position is published.")
        (one,) = node.said
        assert isinstance(one["record"], PositionRecord)
        assert (one["record"].valid_minutes, one["record"].altitude_m) == (240, None)
        assert (one["record"].radius_m or 0) > 7_000
        expect(visit.page.locator(".map .place.own")).to_be_visible()
        mine.get_by_role("button", name="Stop sharing").click()
        expect(mine.get_by_role("status")).to_contain_text("no longer show your position")
        expect(mine.get_by_role("button", name="Stop sharing")).to_be_hidden()
        assert node.said[1]["record"].latitude is None
        assert visit.complaints == []
        assert len(visit.places) == 1


def test_a_group_alone_can_read_it(browser: Browser) -> None:
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address) as visit:
        visit.context.grant_permissions(["geolocation"])
        visit.context.set_geolocation(ZURICH)
        mine = form(visit)
        mine.get_by_label("Readable by").select_option("Hut crew 5a5a5a5a")
        mine.get_by_label("Valid for").select_option("60")
        mine.get_by_role("button", name="Find my position").click()
        expect(mine.locator(".asked")).to_contain_text("Members of the group can read it for good")
        expect(mine.locator(".asked")).to_contain_text("2 packets")
        mine.get_by_role("button", name="Not now").click()
        expect(mine.locator(".asked")).to_be_hidden()
        assert node.said == []
        mine.get_by_role("button", name="Find my position").click()
        mine.get_by_role("button", name="Publish it").click()
        expect(mine.get_by_role("status")).to_have_text("Your position is published.")
        (one,) = node.said
        assert (one["group"], one["record"].valid_minutes) == (GROUP, 60)
        assert visit.complaints == []


def test_a_browser_that_does_not_tell_it_is_named(browser: Browser) -> None:
    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        mine = form(visit)
        mine.get_by_role("button", name="Find my position").click()
        expect(mine.get_by_role("status")).to_contain_text("Allow it in the browser’s settings")
        expect(mine.get_by_role("button", name="Find my position")).to_be_enabled()


def test_without_https_it_says_what_to_do(browser: Browser) -> None:
    with serving(FakeNode()) as address, Visit(browser, address) as visit:
        visit.context.add_init_script("Object.defineProperty(window, 'isSecureContext', { value: false })")
        mine = form(visit)
        expect(mine.get_by_text("over HTTPS only")).to_be_visible()
        expect(mine.get_by_role("button", name="Find my position")).to_have_count(0)
        assert visit.complaints == []


@pytest.mark.parametrize("width", [320, 1_280])
def test_it_fits_and_everybody_can_use_it(browser: Browser, width: int) -> None:
    with serving(with_group(FakeNode())) as address, Visit(browser, address, width=width) as visit:
        visit.context.grant_permissions(["geolocation"])
        visit.context.set_geolocation(ZURICH)
        mine = form(visit)
        mine.get_by_role("button", name="Find my position").click()
        expect(mine.get_by_role("button", name="Publish it")).to_be_focused()
        for scheme in ("light", "dark"):
            visit.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            assert not visit.wide()
            assert visit.barriers() == []
        assert visit.complaints == []
