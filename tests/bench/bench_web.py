"""The page of a node on a phone: how soon it is drawn, what it weighs, what moves; also over a poor link.

The figures are those that Lighthouse gives for phones, with its network and its slower processor, and what it calls
good (https://developer.chrome.com/docs/lighthouse/performance/performance-scoring).
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from tests import needs
from tests.bench import tables
from tests.bench.figure import Figure, Findings
from tests.browser.conftest import ARGUMENTS
from tests.browser.poor_link import PoorLink, over
from tests.web.fake import GROUP, FakeNode, friendly_mesh, serving, with_group

ROUNDS: Final = 5
POOR_ROUNDS: Final = 3
VIEWS: Final = {
    "messages": ("/c/public", ".message"),
    "a group": (f"/c/{GROUP}", ".message"),
    "node": ("/node", "meter"),
}
"""By name: the path, and what has to stand there."""
LANGUAGES: Final = {"English": "en-GB", "Ukrainian": "uk-UA"}
"""Ukrainian has the largest catalogue, by bytes."""
NETWORK: Final = {
    "offline": False,
    "latency": 150,
    "downloadThroughput": 1.6e6 / 8,
    "uploadThroughput": 0.75e6 / 8,
}
"""Lighthouse's for phones: 150 ms, 1.6 Mbit/s, which it calls slow 4G."""
SLOWER: Final = 4
"""How much slower the phone's processor is than this one, likewise."""
QUIET_MS: Final = 1_500
"""After the view stands there, until nothing moves any more."""
SIGN_S: Final = 5.0
"""Between two signs of life of the stream of news, as the program has it."""
ROUND_TRIP_S: Final = 2.0
LOSS: Final = 0.3
LIMITS: Final = {
    "first contentful paint": (1_800.0, "ms"),
    "largest contentful paint": (2_500.0, "ms"),
    "total blocking time": (200.0, "ms"),
    "cumulative layout shift": (0.1, ""),
    "bytes": (150.0, "kB"),
}
"""By figure: the most that is good; of bytes, what the page allows itself."""
NOTE: Final = """
  window.noted = { shift: 0, largest: 0, long: [] };
  const note = (type, take) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true });
  note('layout-shift', (one) => { if (!one.hadRecentInput) window.noted.shift += one.value; });
  note('largest-contentful-paint', (one) => { window.noted.largest = one.startTime; });
  note('longtask', (one) => window.noted.long.push([one.startTime, one.duration]));
"""
READ: Final = """() => ({ ...window.noted,
  first: performance.getEntriesByName('first-contentful-paint')[0].startTime,
  bytes: performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
    .reduce((sum, one) => sum + one.transferSize, 0) })"""
BODY: Final = """\
A page with {messages} messages, served on loopback to Chromium with a window of 390 × 844 px and an empty cache:
150 ms, 1.6 Mbit/s, a processor four times as slow, as Lighthouse does for phones; medians of {rounds}, and what it
calls good.
*Over a poor link*: TCP with a round trip of 2 s that loses 30 % of its segments, delivered as late as TCP would deliver
them; the time until messages are there, of {poor} runs each.
"""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One opening of a view."""

    first_ms: float
    largest_ms: float
    blocked_ms: float
    """Sum of what tasks after the first paint took beyond 50 ms each."""
    shift: float
    kilobytes: float


def run() -> Iterator[Findings]:
    """Measure."""
    node = with_group(FakeNode(friendly_mesh()))
    with sync_playwright() as playwright, serving(node, sign_s=SIGN_S) as address:
        browser = playwright.chromium.launch(executable_path=needs.chromium(), args=list(ARGUMENTS))
        found = [figure for name in VIEWS for figure in _phone(browser, address, name)]
        found += [_poor(browser, address, language) for language in LANGUAGES]
        browser.close()
    messages = len(node.catalog.all_messages)
    body = (
        BODY.format(messages=messages, rounds=ROUNDS, poor=POOR_ROUNDS) + "\n" + tables.figures_table(found)
    )
    yield Findings(found, body, "Page of a node on a phone")


def _phone(browser: Browser, address: str, name: str) -> list[Figure]:
    """Figures of a view in each language."""
    found = []
    for language, locale in LANGUAGES.items():
        seen = [_open(browser, address, name, locale) for _ in range(ROUNDS)]
        values = (
            statistics.median(one.first_ms for one in seen),
            statistics.median(one.largest_ms for one in seen),
            statistics.median(one.blocked_ms for one in seen),
            statistics.median(one.shift for one in seen),
            max(one.kilobytes for one in seen),
        )
        found += [
            Figure(
                f"{name}, {language}, {what}", value, unit, f"at most {most:g} {unit}".rstrip(), value <= most
            )
            for (what, (most, unit)), value in zip(LIMITS.items(), values, strict=True)
        ]
    return found


def _open(browser: Browser, address: str, name: str, locale: str) -> Drawn:
    """Open a view as a phone would, with nothing in its cache."""
    path, there = VIEWS[name]
    page = _page(browser, locale)
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    session.send("Network.emulateNetworkConditions", NETWORK)
    session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    page.add_init_script(NOTE)
    page.goto(address + path)
    page.locator(there).first.wait_for()
    page.wait_for_timeout(QUIET_MS)
    told: dict[str, Any] = page.evaluate(READ)
    page.context.close()
    blocked = sum(max(0.0, took - 50.0) for begun, took in told["long"] if begun >= told["first"])
    return Drawn(told["first"], told["largest"], blocked, told["shift"], told["bytes"] / 1_000)


def _poor(browser: Browser, address: str, language: str) -> Figure:
    """The time until messages are there over a poor link."""
    took = []
    for seed in range(POOR_ROUNDS):
        with over(PoorLink(round_trip_s=ROUND_TRIP_S, loss=LOSS, seed=seed + 1), address) as far:
            page = _page(browser, LANGUAGES[language])
            page.set_default_timeout(300_000)
            begun_s = time.perf_counter()
            page.goto(far + VIEWS["messages"][0], wait_until="commit")
            page.locator(VIEWS["messages"][1]).first.wait_for()
            took.append(time.perf_counter() - begun_s)
            page.context.close()
    return Figure(f"messages over a poor link, {language}", statistics.median(took), "s")


def _page(browser: Browser, locale: str) -> Page:
    context = browser.new_context(
        viewport={"width": 390, "height": 844}, is_mobile=True, locale=locale, service_workers="block"
    )
    return context.new_page()
