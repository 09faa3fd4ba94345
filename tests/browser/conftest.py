"""One browser for all tests of pages: starting one costs more than most of the tests."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests import needs
from tests.spark_sink.page.serve_story import serving
from tests.spark_sink.page.story import Story

WITHOUT = (
    # Web pages that Chromium's own address bar loads in each new window: a third of the tests' processor time.
    "WebUIOmniboxPopup",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    # Of Playwright's own list, which ours replaces: what the tests need to paint at once and to ask nobody else.
    "AimEnabled",
    "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",
    "LensOverlay",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PaintHolding",
    "PreconnectToSearch",
    "ThirdPartyStoragePartitioning",
)
"""Features of Chromium that are switched off."""
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(WITHOUT)}",
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    # A microphone that beeps, and a user who allows it.
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium as this machine has it; it ends with this package, since its loop stands in the way of asyncio tests."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=needs.chromium(), args=list(ARGUMENTS))
        yield running
        running.close()


NAMES = {3: "dora", 5: "fritz", 6: "gian", 7: "Berghütte", 8: "hana"}
"""Names of people in place of those that mean harm or are long, by place: pictures are of what users see."""


@pytest.fixture(scope="package")
def harmful_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up mesh, in which some names mean harm; not to be changed."""
    database = tmp_path_factory.mktemp("story") / "harmful.sqlite"
    Story().write(database)
    return database


@pytest.fixture(scope="package")
def story_database(harmful_database: Path) -> Path:
    """The made-up mesh with names of people; not to be changed."""
    database = harmful_database.with_name("story.sqlite")
    with closing(sqlite3.connect(harmful_database)) as told:
        told.execute("VACUUM INTO ?", (str(database),))
    with closing(sqlite3.connect(database)) as told, told:
        told.executemany(
            "UPDATE boots SET name = ? WHERE node_no = ?", [(name, at) for at, name in NAMES.items()]
        )
    return database


@pytest.fixture(scope="package")
def story(story_database: Path) -> Iterator[str]:
    """Address of the page over the made-up mesh."""
    with serving(str(story_database)) as address:
        yield address


@pytest.fixture(scope="package")
def harmful_story(harmful_database: Path) -> Iterator[str]:
    """The same, with names that mean harm."""
    with serving(str(harmful_database)) as address:
        yield address
