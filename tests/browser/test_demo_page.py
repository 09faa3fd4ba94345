"""The demonstration as a whole, real daemons and a real browser: page and terminal tell one story."""

import queue
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tinyssb_node.cli.demo.mesh import DemoMesh, free_port
from tinyssb_node.cli.demo.story import DemoStory

FIGURES = re.compile(r"(\d+ copies of messages are missing|all 5 nodes have everything)", re.IGNORECASE)
"""Claims about the whole mesh in a line of the story."""
ALERT = re.compile(r"raises an alert for (\w+):")
WAIT_MS = 10_000
ACTS_S = 190.0


class Terminal:
    """Lines of the story, each of which waits until it was compared with the page."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str | None] = queue.Queue()
        self._compared = threading.Semaphore(0)

    def print(self, line: str) -> None:
        """Take a line, and return when it was compared."""
        self.lines.put(line)
        self._compared.acquire(timeout=60)

    def go_on(self) -> None:
        """Let the story go on."""
        self._compared.release()


def compare(page: Page, line: str) -> list[str]:
    """Check that the page shows the same words, the same figures in its headline, and an alert if the story names one,
    else none once it is over. Returns the figures."""
    expect(page.locator("#caption")).to_have_text(line, timeout=WAIT_MS)
    figures: list[str] = FIGURES.findall(line)
    for said in figures:
        expect(page.locator("h1")).to_contain_text(re.compile(said, re.IGNORECASE), timeout=WAIT_MS)
    open_alerts = page.locator("#alerts .alert:not(.done)").filter(has_text="has been down")
    if alert := ALERT.search(line):
        expect(open_alerts.filter(has_text=alert[1])).to_have_count(1, timeout=WAIT_MS)
    if "The alert is over." in line:
        expect(open_alerts).to_have_count(0, timeout=WAIT_MS)
    return figures


@pytest.mark.slow
@pytest.mark.browser
def test_the_page_never_contradicts_the_terminal(tmp_path: Path, browser: Browser) -> None:
    mesh = DemoMesh(tmp_path / "demo", free_port(0))
    terminal = Terminal()
    page = browser.new_page()
    compared: list[str] = []

    def tell() -> bool:
        try:
            mesh.start()
            # All three acts once. Nobody looks at what a person would, and the third one takes more than a minute.
            story = DemoStory(mesh, terminal.print, time.monotonic() + ACTS_S, skipped=lambda: True)
            story.run()
            return story.end().tables_agree
        finally:
            mesh.stop()
            terminal.lines.put(None)

    with ThreadPoolExecutor(1) as executor:
        told = executor.submit(tell)
        while (line := terminal.lines.get(timeout=120)) is not None:
            if page.url == "about:blank":
                page.goto(mesh.page)
            compared += compare(page, line)
            terminal.go_on()
        assert told.result()
    page.close()
    whole = "all 5 nodes have everything"
    assert compared[:3] == [whole, "7 copies of messages are missing", whole]
    assert "2 copies of messages are missing" in compared
    assert "5 copies of messages are missing" in compared, "a radio came loose"
