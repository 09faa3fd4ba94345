"""A page opened in a browser, what it complained about, whether everybody can use it, and how it looks.

Pictures of views are kept in docs/screenshots. They are compared coarsely, since letters differ between machines: both
are shrunk to a grid of grey cells, and few cells may differ by much. That finds a view that lost a card or its colours,
and not a comma. To keep new pictures: ``TINYSSB_SCREENSHOTS=keep pytest tests/browser``.
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
GRID = (35, 25)
"""Cells across and down: 40 pixels each, two lines of text."""
CELL_DIFFERS = 40
"""Of 255 steps of grey: a cell that was empty and now has a card's worth of text, or the other way round."""
CELLS_DIFFERENT_MAX = 0.06
"""Share of the cells: two cards' headings, but no card."""
MEAN_DIFFERENCE_MAX = 8.0
"""Of 255, over all cells: other letters make 2 to 4; the dark theme in place of the light one 200."""
STILL = """
#connection, #as-of { visibility: hidden !important; }
*, *::before, *::after { transition: none !important; animation: none !important; caret-color: transparent !important; }
"""
"""What changes from second to second is not in pictures."""

HOLD_STILL = """(rules) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(rules);
  document.adoptedStyleSheets = [sheet];
  window.scrollTo(0, 0);
}"""

COMPARE = """async ([kept, fresh, [across, down]]) => {
  const cells = async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = across; canvas.height = down;
    const pen = canvas.getContext("2d", { willReadFrequently: true });
    pen.imageSmoothingQuality = "high";
    pen.drawImage(image, 0, 0, across, down);
    const { data: pixels } = pen.getImageData(0, 0, across, down);
    const weights = [0.3, 0.59, 0.11];
    const grey = (at) => weights.reduce((sum, weight, colour) => sum + weight * pixels[4 * at + colour], 0);
    return Array.from({ length: across * down }, (_, at) => grey(at));
  };
  const [a, b] = [await cells(kept), await cells(fresh)];
  return a.map((grey, at) => Math.abs(grey - b[at]));
}"""

Violation = dict[str, Any]


class Visit:
    """A page opened in a browser, with everything it complained about and asked for; ends with its ``with``."""

    def __init__(
        self, browser: Browser, address: str, *, width: int = DESK_WIDTH, scheme: str = "light"
    ) -> None:
        self.address = address
        self.context = browser.new_context(
            viewport={"width": width, "height": HEIGHT},
            color_scheme="dark" if scheme == "dark" else "light",
            reduced_motion="reduce",
            timezone_id="UTC",
            locale="en-GB",
        )
        self.complaints: list[str] = []
        self.places: set[str] = set()
        self.page: Page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.places.add(urlsplit(request.url).netloc))

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
        self.page.locator("#view > .view > *").first.wait_for()
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.chart[role=img]:not(.without)')]"
            ".every((one) => !one.checkVisibility() || one.querySelector('canvas, svg'))"
        )

    def wide(self) -> bool:
        """Whether the page as a whole has to be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))

    def barriers(self) -> list[str]:
        """What axe-core finds that is serious or critical: rule, and the first elements concerned."""
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
        kept = path.read_bytes()
        cells: list[float] = self.page.evaluate(
            COMPARE, [base64.b64encode(kept).decode(), base64.b64encode(fresh).decode(), list(GRID)]
        )
        mean = sum(cells) / len(cells)
        different = sum(cell > CELL_DIFFERS for cell in cells) / len(cells)
        if mean <= MEAN_DIFFERENCE_MAX and different <= CELLS_DIFFERENT_MAX:
            return ""
        return f"{name} differs from {path}: {mean:.1f} on average, {different:.0%} of the cells by much"
