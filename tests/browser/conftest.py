"""One browser for all tests of pages: starting one costs more than most of the tests."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests import needs

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium as this machine has it; it ends with this package, since its loop stands in the way of asyncio tests."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=needs.chromium(), args=list(ARGUMENTS))
        yield running
        running.close()
