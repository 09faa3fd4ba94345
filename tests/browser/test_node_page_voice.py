"""Voice messages on the node's page in Chromium: recorded with its made-up microphone, heard, sent, and played."""

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_node_page import opened
from tests.browser.visits import Visit
from tests.web.fake import FakeNode, serving
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.content.voice_note import parse_voice

pytestmark = [pytest.mark.browser, pytest.mark.codec2]


def recorded(page: Page) -> None:
    """Record for a second."""
    page.get_by_role("button", name="Voice", exact=True).click()
    expect(page.get_by_role("group", name="Voice message").get_by_text("1 s")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Send the recording")).to_be_visible()


def test_a_message_is_spoken_and_heard(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=320) as visit:
        page = opened(visit)
        recorded(page)
        panel = page.get_by_role("group", name="Voice message")
        expect(panel).to_contain_text("packets")
        assert panel.locator("audio").evaluate("(audio) => audio.readyState >= 1 || audio.networkState !== 3")
        assert visit.barriers() == []
        assert not visit.wide()
        page.get_by_role("button", name="Send the recording").click()
        expect(panel).to_be_hidden()
        (said,) = node.said
        note = parse_voice(said["voice"])
        assert note is not None
        assert 0.8 * 8_000 < note.samples < 4 * 8_000
        message = page.locator(".message.own", has_text="Save").last
        message.get_by_role("button", name="Play the recording").click()
        player = message.locator("audio")
        expect(player).to_be_visible()
        page.wait_for_function("(audio) => audio.duration > 0.8", arg=player.element_handle())
        assert visit.barriers() == []
        assert not visit.wide()
        assert visit.complaints == []


def test_what_is_not_sent_is_thrown_away(browser: Browser) -> None:
    node = FakeNode()
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit)
        recorded(page)
        page.get_by_role("button", name="Not now").last.click()
        expect(page.get_by_role("group", name="Voice message")).to_be_hidden()
        assert node.said == []
        assert visit.complaints == []


def test_without_a_microphone_the_page_says_so(browser: Browser) -> None:
    node = FakeNode()
    refuse = (
        "navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('', 'NotAllowedError'); }"
    )
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        visit.page.add_init_script(refuse)
        page = opened(visit)
        page.get_by_role("button", name="Voice", exact=True).click()
        expect(page.get_by_role("group", name="Voice message")).to_contain_text("no microphone")


def test_without_the_programs_the_page_says_what_to_install(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = FakeNode()
    node.say("", PUBLIC, voice=bytes.fromhex("c0dec201000400") + bytes(70))
    monkeypatch.setenv("PATH", "/nonexistent")
    with serving(node) as address, Visit(browser, address, width=390) as visit:
        page = opened(visit)
        message = page.locator(".message.own", has_text="Save").last
        message.get_by_role("button", name="Play the recording").click()
        expect(message).to_contain_text("sudo apt install codec2")
