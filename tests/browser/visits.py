"""A page opened in a browser, what it complained about, whether everybody can use it, and how it looks.

Pictures of views are kept in docs/screenshots. They are compared coarsely, since letters differ between machines: by a
grid of cells, of which few may have something where there is nothing near in the other picture. That finds a view that
lost a card or its colours, and not a comma. To keep new pictures: ``TINYSSB_SCREENSHOTS=keep pytest tests/browser``.
"""

import base64
import os
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "tests" / "browser" / "vendor" / "axe-core-4.14.1" / "axe.min.js"
PICTURES = ROOT / "docs" / "screenshots"
KEEP = os.environ.get("TINYSSB_SCREENSHOTS") == "keep"
PHONE_WIDTH = 360
DESK_WIDTH = 1400
HEIGHT = 1000
CELL = 40
"""Pixels: two lines of text."""
INK_DIFFERENCE = 12
"""Of 255 steps of grey, from the ground of most of the picture: the palest fill of a chart; a card's ground is less."""
INK_SHARE = 0.01
"""Of a cell's pixels, for a cell that has something in it: one short word, or a line across."""
CELLS_DIFFERENT_MAX = 0.015
"""Share of the cells that have something while nothing is near in the other picture: other letters make 0, four alerts
that are gone 0.035, a chart that is gone 0.07."""
MEAN_DIFFERENCE_MAX = 20.0
"""Of 255, over the cells' means: other letters make up to 2, a sentence that takes one more line 7, the dark theme in
place of the light one 200."""
STILL = """
#connection, #as-of { visibility: hidden !important; }
*, *::before, *::after { transition: none !important; animation: none !important; caret-color: transparent !important; }
"""
"""Pictures leave out all that changes from second to second."""

HOLD_STILL = """(rules) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  document.adoptedStyleSheets = [sheet];
  window.scrollTo(0, 0);
}"""

STAYS_WIDE = """() => new Promise((done) => {
  const until = performance.now() + 5000;
  const look = () => {
    const wide = document.documentElement.scrollWidth > window.innerWidth;
    if (wide && performance.now() < until) setTimeout(look, 50);
    else done(wide);
  };
  look();
})"""

COMPARE = Path(__file__).with_name("compare.js")
"""Tells how two pictures differ; reading their pixels is what a browser does well."""

Violation = dict[str, Any]


class Visit:
    """A page opened in a browser, with everything it complained about and asked for; ends with its ``with``."""

    def __init__(
        self,
        browser: Browser,
        address: str,
        *,
        width: int = DESK_WIDTH,
        scheme: str = "light",
        worker: bool = False,
        toured: bool = True,
        locale: str = "en-GB",
    ) -> None:
        """Open a browser's context of its own; one that is *toured* has seen the tour of the page."""
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            timezone_id="UTC",
            locale=locale,
            service_workers="allow" if worker else "block",
        )
        if toured:
            self.context.add_init_script("localStorage.setItem('tinyssb-tour', 'seen')")
        self.complaints: list[str] = []
        self.places: set[str] = set()
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self._complain(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.places.add(urlsplit(request.url).netloc))

    def _complain(self, text: str) -> None:
        if text != "Service Worker registration blocked by Playwright":
            self.complaints.append(text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.context.close()

    def go(self, path: str) -> Page:
        """Open a path of the page and wait until its view stands there and nothing is being loaded."""
        self.page.goto(self.address.rstrip("/") + path)
        self.settle()
        return self.page

    def settle(self) -> None:
        """Wait until the view stands there, and what it draws with has been loaded."""
        self.page.locator("#view > .view:not([aria-busy=true]) > *").first.wait_for()
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.chart[role=img]:not(.without)')]"
            ".every((one) => !one.checkVisibility() || one.querySelector('canvas, svg'))"
        )

    def wide(self) -> bool:
        """Return True if the whole page stays wider than the window: drawings follow a new size a moment later."""
        return bool(self.page.evaluate(STAYS_WIDE))

    def barriers(self) -> list[str]:
        """Return the serious and critical findings of axe-core: rule, and the first elements concerned."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        found: list[Violation] = self.page.evaluate(
            "async () => (await axe.run({resultTypes: ['violations']})).violations"
            ".filter((one) => ['serious', 'critical'].includes(one.impact))"
        )
        return [f"{one['id']}: {[node['html'][:160] for node in one['nodes'][:3]]}" for one in found]

    def picture_differs(self, name: str) -> str:
        """Why the page does not look like the picture that is kept of it; empty if it does, or is kept now."""
        self.page.evaluate(HOLD_STILL, STILL)
        fresh = self.page.screenshot()
        path = PICTURES / f"{name}.png"
        if KEEP:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(fresh)
            return ""
        pictures = [base64.b64encode(one).decode() for one in (path.read_bytes(), fresh)]
        # In a page of its own: what is tested may forbid pictures out of a string.
        empty = self.context.new_page()
        mean, different = empty.evaluate(COMPARE.read_text(), [*pictures, CELL, INK_DIFFERENCE, INK_SHARE])
        empty.close()
        if mean <= MEAN_DIFFERENCE_MAX and different <= CELLS_DIFFERENT_MAX:
            return ""
        return f"{name} differs from {path}: {mean:.1f} of 255 on average, {different:.1%} of the cells"
