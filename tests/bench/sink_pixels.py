"""From a line in a log to pixels in a browser, at a thousand events a second."""

import math
import re
import time
from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser

from tests.bench.figure import Figure
from tests.bench.sink_logs import LiveMesh
from tests.bench.sink_process import Sink

RATE: Final = 1_000.0
"""Records a second."""
SECONDS: Final = 60.0
"""How long is watched."""
WARM_S: Final = 30.0
"""Before that: the first batches and the first refresh take longer."""
DELAY_MAX_S: Final = 2.0
START_S: Final = 120.0
"""The time that Spark has to start."""
ADDRESS: Final = re.compile(r"http://\S+")
WATCH: Final = """() => {
  window.seen = [];
  const look = () => {
    const shown = document.querySelectorAll('.summary dd')[2];
    const number = shown ? Number(shown.textContent.replace(/\\D/g, '')) : 0;
    const last = window.seen.at(-1);
    if (number && (!last || last[1] !== number)) window.seen.push([Date.now(), number]);
  };
  // What a frame's callbacks see is drawn with this frame; the task after it runs when that has been done.
  new MutationObserver(() => requestAnimationFrame(() => setTimeout(look))).observe(
    document.querySelector('#view'), { childList: true, subtree: true, characterData: true });
}"""
"""Notes when the number of entries on the overview has become another one, and which."""


def delays_s(
    seen: Sequence[tuple[float, int]], published_s: Sequence[float], since_s: float, until_s: float
) -> list[float]:
    """How long each entry took that was published in the time given, sorted.

    *seen* are times at which the page had come to show so many entries. One that it never showed took for ever.
    """
    shown = [number for _, number in seen]
    found = []
    for number, at_s in enumerate(published_s, 1):
        if since_s <= at_s < until_s:
            place = bisect_left(shown, number)
            found.append(seen[place][0] - at_s if place < len(seen) else math.inf)
    return sorted(found)


def percentile(values: Sequence[float], share: float) -> float:
    """Of sorted values, the smallest that so large a share does not exceed; infinite if there are none."""
    return values[max(0, math.ceil(share * len(values)) - 1)] if values else math.inf


def figures(browser: Browser, folder: Path) -> list[Figure]:
    """Measure."""
    logs, database = folder / "live", folder / "live.sqlite"
    mesh = LiveMesh(logs, RATE)
    with (
        Sink(["run", str(logs), "--db", str(database)]) as job,
        Sink(["serve", "--db", str(database), "--port", "0"]) as server,
    ):
        said = ADDRESS.search(server.wait_for("The page is at", START_S))
        assert said is not None
        job.wait_for("Reading", START_S)
        mesh.start()
        try:
            context = browser.new_context(viewport={"width": 1400, "height": 1000})
            page = context.new_page()
            page.goto(said[0])
            page.locator(".summary dd").nth(2).wait_for(timeout=START_S * 1_000)
            page.evaluate(WATCH)
            since_s = time.time() + WARM_S
            page.wait_for_timeout((WARM_S + SECONDS + 4 * DELAY_MAX_S) * 1_000)
            seen: list[Any] = page.evaluate("window.seen")
            context.close()
        finally:
            mesh.end()
    found = delays_s(
        [(at / 1_000, number) for at, number in seen], mesh.published_s, since_s, since_s + SECONDS
    )
    name = "event → pixel at 1,000 events/s, overview in Chromium"
    p95 = percentile(found, 0.95)
    return [
        Figure(f"{name}, p50", percentile(found, 0.5), "s"),
        Figure(f"{name}, p95", p95, "s", f"at most {DELAY_MAX_S:g} s", p95 <= DELAY_MAX_S),
        Figure("entries watched for it", len(found), ""),
    ]
