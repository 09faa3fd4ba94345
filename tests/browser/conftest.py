"""One browser for all tests of pages: starting one costs more than most of the tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests import needs
from tests.spark_sink.page.serve_story import serving
from tests.spark_sink.page.story import Story

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


@pytest.fixture(scope="package")
def story_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up mesh; not to be changed."""
    database = tmp_path_factory.mktemp("story") / "story.sqlite"
    Story().write(database)
    return database


@pytest.fixture(scope="package")
def story(story_database: Path) -> Iterator[str]:
    """Address of the page over the made-up mesh."""
    with serving(str(story_database)) as address:
        yield address
