"""Pictures on the node's page in Chromium: made to fit a number of packets, looked at before they are sent."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.test_node_page import noisy_picture, opened
from tests.browser.visits import Visit
from tests.web.fake import GROUP, FakeNode, serving, with_group

pytestmark = pytest.mark.browser


def choose(page: Page, name: str, picture: bytes) -> Locator:
    """Choose a picture; returns the panel that shows it."""
    page.locator("input[type=file]").set_input_files(
        {"name": name, "mimeType": "image/bmp", "buffer": picture}
    )
    return page.get_by_role("group", name="File to send")


def packets_in(panel: Locator) -> int:
    found = re.search(r"(\d+) packets?", panel.get_by_role("status").inner_text())
    assert found
    return int(found[1])


@pytest.mark.parametrize("path", ["/c/public", f"/c/{GROUP}"])
def test_a_picture_is_made_to_fit_the_packets_that_one_chooses(browser: Browser, path: str) -> None:
    node = with_group(FakeNode())
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit, path)
        panel = choose(page, "hut.bmp", noisy_picture(300))
        expect(panel).to_contain_text("hut.webp")
        sizes = []
        for budget in (320, 160, 80, 40, 20):
            panel.get_by_label("Size of the picture").select_option(str(budget))
            expect(panel.get_by_role("status")).to_contain_text("of airtime")
            assert 0.4 * budget < packets_in(panel) <= budget, budget
            preview = panel.get_by_role("img", name="The picture as it is sent")
            expect(preview).to_be_visible()
            sizes.append(preview.evaluate("(one) => one.width * one.height"))
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > sizes[-1]
        assert node.said == []
        assert visit.barriers() == []
        assert not visit.wide()
        page.emulate_media(color_scheme="dark")
        assert visit.barriers() == []
        panel.get_by_role("button", name=re.compile("Send")).click()
        expect(panel).to_be_hidden()
        picture = page.get_by_role("img", name="hut.webp")
        expect(picture).to_be_visible()
        assert (
            picture.evaluate("(one) => one.decode().then(() => one.naturalWidth * one.naturalHeight)")
            == sizes[-1]
        )
        # The next picture is made to fit the same number.
        panel = choose(page, "other.bmp", noisy_picture(300))
        expect(panel.get_by_label("Size of the picture")).to_have_value("20")
        assert visit.complaints == []


def test_a_small_picture_is_sent_unchanged_unless_one_chooses_packets(browser: Browser) -> None:
    node = FakeNode()
    small = noisy_picture(40)
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit)
        panel = choose(page, "small.bmp", small)
        choice = panel.get_by_label("Size of the picture")
        expect(choice).to_have_value("")
        expect(panel).to_contain_text("small.bmp, 4.9 kB")
        choice.select_option("20")
        expect(panel).to_contain_text("small.webp")
        choice.select_option("")
        expect(panel).to_contain_text("small.bmp, 4.9 kB")
        panel.get_by_role("button", name=re.compile("Send")).click()
        expect(panel).to_be_hidden()
        assert node.said == [{"file": "small.bmp", "conversation": "public"}]
        assert visit.complaints == []


def test_a_file_that_is_no_picture_offers_no_size(browser: Browser) -> None:
    with serving(FakeNode()) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit)
        panel = choose(page, "broken.bmp", b"no picture")
        expect(panel.get_by_role("status")).to_contain_text("of airtime")
        expect(panel.get_by_label("Size of the picture")).to_be_hidden()
        page.locator("input[type=file]").set_input_files(
            {"name": "big.bin", "mimeType": "application/octet-stream", "buffer": bytes(40_000)}
        )
        expect(panel.get_by_role("status")).to_contain_text("It has 40.0 kB; a message carries 32.0 kB.")
        expect(panel.get_by_role("button", name=re.compile("Send"))).to_have_count(0)
        assert visit.complaints == []


def test_the_last_choice_counts_while_pictures_are_made(browser: Browser) -> None:
    """A size that is chosen while another one is made replaces it."""
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit)
        panel = choose(page, "hut.bmp", noisy_picture(600))
        choice = panel.get_by_label("Size of the picture")
        expect(choice).to_be_visible()
        for budget in ("320", "20", "80"):
            choice.select_option(budget)
        expect(panel.get_by_role("status")).to_contain_text("of airtime")
        assert 20 < packets_in(panel) <= 80
        panel.get_by_role("button", name="Not now").click()
        expect(panel).to_be_hidden()
        assert node.said == []
        assert visit.complaints == []
