"""How soon the page is painted, what it weighs, and what a change costs it: 50 nodes and 200 feeds, on loopback."""

import sqlite3
import statistics
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from playwright.sync_api import Browser, CDPSession, Response

from spark_sink.serving import totals
from tests.bench.figure import Figure
from tests.spark_sink.page.book import Book, bucket_of, feed_of, node_of
from tests.spark_sink.page.serve_story import serving

NODES: Final = 50
FEEDS: Final = 200
ENTRIES: Final = 40
"""Of each feed."""
HOURS: Final = 24
NEIGHBOURS: Final = 8
"""Of each node."""
T0_US: Final = 1_770_001_200_000_000
"""A full hour."""
ALERTS: Final = 20
"""Open ones."""
PACKETS: Final = 2_000
"""Single packets that are kept for looking at."""
HOUR_US: Final = 3_600_000_000
MINUTE_US: Final = 60_000_000
ROUNDS: Final = 5
DRAWN_MS: Final = 300.0
"""After an answer has begun to come, until it has been drawn for certain."""
PAINT_MAX_MS: Final = 300.0
WEIGHT_MAX_MB: Final = 1.5
UPDATE_MAX_MS: Final = 50.0
VIEWS: Final = (
    "/",
    "/feeds",
    "/topology",
    "/airtime",
    "/delays",
    "/gossip",
    "/packets",
    "/faults",
    "/job",
    "/map",
)
"""All that the tabs lead to."""
LAST_HOUR_US: Final = T0_US + (HOURS - 1) * HOUR_US
CHANGES: Final = f"""
BEGIN;
INSERT INTO entries
  SELECT feed_no, max(seq) + 1, id, type, size, chunks, publisher, boot, max(t_us) + 1000000, max(mono_us) + 1000000
  FROM entries WHERE feed_no % 8 = 0 GROUP BY feed_no;
UPDATE frontiers SET seq = (SELECT max(e.seq) FROM entries e WHERE e.feed_no = frontiers.feed_no)
  WHERE feed_no % 8 = 0 AND (node_no + (SELECT count(*) FROM batch_log)) % 3 > 0;
DELETE FROM node_totals;
{totals.fill("node_totals")};
DELETE FROM feed_totals;
{totals.fill("feed_totals")};
INSERT INTO copies
  SELECT f.feed_no, f.seq, f.node_no, 1, 0, e.t_us + 4000000, e.mono_us, 'peer', 'lora'
  FROM frontiers f JOIN entries e ON e.feed_no = f.feed_no AND e.seq = f.seq WHERE f.feed_no % 8 = 0
  ON CONFLICT DO NOTHING;
UPDATE links SET heard = heard + 1, sent = sent + 1, last_us = last_us + 1000000 WHERE hour_us = {LAST_HOUR_US};
UPDATE delays SET n = n + 1 WHERE hour_us = {LAST_HOUR_US};
UPDATE uses SET packets = packets + 1, airtime_us = airtime_us + 90000 WHERE hour_us = {LAST_HOUR_US};
UPDATE traffic SET packets = packets + 1, airtime_us = airtime_us + 90000 WHERE hour_us = {LAST_HOUR_US};
UPDATE transmitted SET packets = packets + 1, airtime_us = airtime_us + 90000 WHERE hour_us = {LAST_HOUR_US};
UPDATE counts SET records = records + 1, total = total + 3 WHERE hour_us = {LAST_HOUR_US};
UPDATE progress SET copied = copied + 40 WHERE minute_us = (SELECT max(minute_us) FROM progress);
UPDATE packets SET place = place + {PACKETS}, t_us = t_us + 1000000;
UPDATE alerts SET value = value + 1, peak = peak + 1 WHERE until_us IS NULL;
INSERT INTO incidents
  SELECT node_no, boot, max(offset) + 1, max(t_us) + 1000000, mono_us, kind, face, rule, detail, feed_no, seq, held,
  other, n FROM incidents GROUP BY node_no;
INSERT INTO batch_log
  SELECT max(committed_us) + 1000000, query, batch_id + 1, records, bytes, behind_bytes, read_us, merge_us,
  newest_us + 1000000 FROM batch_log;
UPDATE boots SET last_us = last_us + 1000000, last_mono_us = last_mono_us + 1000000, records = records + 20;
UPDATE batches SET committed_us = committed_us + 1000000, newest_us = newest_us + 1000000;
UPDATE meta SET value = value + 1 WHERE name = 'changes';
COMMIT;
"""
"""Statements that bring something new to every view."""
SETTLED: Final = "() => document.querySelector('#view > .view:not([aria-busy=true]) > *')"
NOTE_FIGURES: Final = """
  const told = new MutationObserver(() => {
    if (window.figuresAt || !document.querySelector('.summary dd, .heat canvas')) return;
    window.figuresAt = -1;
    requestAnimationFrame(() => setTimeout(() => { window.figuresAt = performance.now(); }));
  });
  told.observe(document, { childList: true, subtree: true });
"""
"""Notes when the first figures have been drawn."""
WEIGHT: Final = """() => performance.getEntriesByType('resource')
  .concat(performance.getEntriesByType('navigation'))
  .reduce((sum, one) => sum + one.transferSize, 0)"""


def make_database(path: Path) -> None:
    """A mesh in which some lag behind."""
    book = Book()
    for node in range(NODES):
        book.node(f"n{node}")
    for feed in range(FEEDS):
        book.feed(f"n{feed}")
    for node in range(NODES):
        _put_node(book, node)
    for feed in range(FEEDS):
        _put_feed(book, feed)
    for minute in range(HOURS * 60):
        at = T0_US + minute * MINUTE_US
        book.put(
            "progress",
            minute_us=at,
            hour_us=at - at % HOUR_US,
            published=minute % 7,
            copied=minute % 7 * NODES,
        )
    _put_lists(book, T0_US + HOURS * HOUR_US)
    book.write(path)


def _put_lists(book: Book, now_us: int) -> None:
    """Add the tables that the page shows row by row."""
    batch = {"query": "q", "batch_id": 1, "records": 1_000, "committed_us": now_us, "newest_us": now_us}
    book.put("batches", **batch, offsets="{}")
    book.put("batch_log", **batch, bytes=200_000, read_us=200_000, merge_us=40_000)
    for number in range(ALERTS):
        book.put(
            "alerts",
            rule="stuck",
            subject=f"node {number}",
            since_us=now_us - HOUR_US,
            level="warning",
            value=9,
        )
    for node in range(NODES):
        book.put(
            "incidents", node_no=node, boot=1, offset=1, t_us=now_us - HOUR_US, kind="face_down", face="lora"
        )
        for kind in ("want", "chnk", "claim"):
            book.put(
                "counts", node_no=node, hour_us=LAST_HOUR_US, kind=kind, detail="tx", records=40, total=90
            )
    for place in range(1, PACKETS + 1):
        book.put(
            "packets", place=place, node_no=place % NODES, t_us=now_us - PACKETS + place, direction="rx", face="lora",
            packet="entry", verdict="new", length=120, rssi_dbm=-90, snr_db=5.5, airtime_us=90_000,
            feed_no=place % FEEDS, seq=place % ENTRIES + 1,
        )  # fmt: skip


def _put_node(book: Book, node: int) -> None:
    end_us = T0_US + HOURS * HOUR_US - node * 1_000_000
    place = {"node_no": node, "boot": 1}
    book.put(
        "boots", **place, name=f"n{node}", feed_no=node, version="0.1.0", clean=1, latitude=46.5 + node % 7 / 50,
        longitude=7.9 + node % 5 / 50, started_us=T0_US, records=40_000, first_us=T0_US, last_offset=39_999,
        last_us=end_us, last_mono_us=end_us - T0_US,
    )  # fmt: skip
    book.put(
        "clocks", **place, base_us=T0_US, mesh=1_000_000, at_us=end_us, offset_us=node * 1_000, matches=400
    )
    book.put(
        "faces", **place, face="lora", t_us=T0_US, up=1, spec="lora:rak4631", sub_band="EU868 868.0-868.6",
        limit_ppm=10_000, window_us=HOUR_US,
    )  # fmt: skip
    for feed in range(FEEDS):
        behind = feed * 7 % 5 if node % 5 == 0 else 0
        book.put("frontiers", node_no=node, feed_no=feed, seq=ENTRIES - behind, boot=1, t_us=end_us)
    for hour in range(HOURS):
        hour_us = T0_US + hour * HOUR_US
        for bucket in range(4):
            delay = bucket_of(10 ** (bucket + 4))
            book.put("delays", hour_us=hour_us, scope="node", a=node, b=0, bucket=delay, n=9 + hour)
        for step in range(1, NEIGHBOURS + 1):
            book.put(
                "links", hour_us=hour_us, sender=node, receiver=(node + step) % NODES, heard=20 + step, sent=30,
                rssi_sum=-90 * 20, rssi_n=20, snr_sum=100.0, snr_n=20, first_us=hour_us, last_us=hour_us + MINUTE_US,
            )  # fmt: skip
        book.put(
            "traffic", node_no=node, hour_us=hour_us, direction="tx", face="lora", packet="entry", verdict="sent",
            packets=40, bytes=4_800, airtime_us=8_000_000,
        )  # fmt: skip
        book.put(
            "uses", hour_us=hour_us, node_no=node, face="lora", packet="entry", use="news", packets=40,
            airtime_us=8_000_000,
        )  # fmt: skip
        for slot in range(6):
            at = {"node_no": node, "slot_us": hour_us + slot * 10 * MINUTE_US}
            book.put("transmitted", **at, face="lora", hour_us=hour_us, packets=7, airtime_us=1_300_000)
            book.put("groups", **at, hour_us=hour_us, contacts=NEIGHBOURS, last_us=at["slot_us"])


def _put_feed(book: Book, feed: int) -> None:
    publisher = feed if feed < NODES else None
    for seq in range(1, ENTRIES + 1):
        at_us = T0_US + (seq * FEEDS + feed) * (HOURS * HOUR_US // (FEEDS * (ENTRIES + 2)))
        book.put(
            "entries", feed_no=feed, seq=seq, id="ab" * 20, size=38, publisher=publisher, boot=1, t_us=at_us,
            mono_us=at_us - T0_US,
        )  # fmt: skip


def change(path: Path) -> None:
    """Add one second of a busy mesh: in one feed of eight an entry that two nodes of three have already, packets on all
    links, and figures of the last hour that grew."""
    with closing(sqlite3.connect(path)) as told:
        told.executescript(CHANGES)


def figures(browser: Browser, folder: Path) -> list[Figure]:
    """Measure."""
    path = folder / "wide.sqlite"
    make_database(path)
    with serving(str(path)) as address:
        first, drawn, weights = zip(*(_open(browser, address) for _ in range(ROUNDS)), strict=True)
        whole = _weight_of_all(browser, address)
        costs = {
            what: _update_ms(browser, address + path_, lambda: change(path))
            for what, path_ in views().items()
        }
    paint, filled, weight = statistics.median(first), statistics.median(drawn), max(weights) / 1e6
    name = f"{NODES} nodes × {FEEDS} feeds"
    found = [
        Figure(f"{name}, first paint", paint, "ms", f"at most {PAINT_MAX_MS:g} ms", paint <= PAINT_MAX_MS),
        Figure(f"{name}, figures drawn", filled, "ms"),
        Figure(
            f"{name}, the page as opened",
            weight,
            "MB",
            f"at most {WEIGHT_MAX_MB} MB",
            weight <= WEIGHT_MAX_MB,
        ),
        Figure(f"{name}, after a look at every view", whole / 1e6, "MB"),
    ]
    return found + [
        Figure(
            f"{name}, main thread per live update, {what}",
            cost,
            "ms",
            f"at most {UPDATE_MAX_MS:g} ms",
            cost <= UPDATE_MAX_MS,
        )
        for what, cost in costs.items()
    ]


def views() -> dict[str, str]:
    """All views, and where they are."""
    some = {"a node": f"/node/{node_of('n0')}", "a feed": f"/feed/{feed_of('n0')}"}
    names = {"/": "overview", "/feeds": "feeds × nodes"}
    tabs = {names.get(path, path.removeprefix("/")): path for path in VIEWS}
    return {**tabs, **some, "a message": f"/message/{feed_of('n0')}/{ENTRIES}"}


def _open(browser: Browser, address: str) -> tuple[float, float, float]:
    """(first paint, figures drawn, bytes): ms from the start of the navigation, nothing in the browser's cache."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.add_init_script(NOTE_FIGURES)
    page.goto(f"{address}/")
    page.wait_for_function("() => window.figuresAt > 0")
    page.wait_for_function("() => performance.getEntriesByType('paint').length > 0")
    paints: list[Any] = page.evaluate("performance.getEntriesByType('paint').map((one) => one.startTime)")
    found = min(paints), float(page.evaluate("window.figuresAt")), float(page.evaluate(WEIGHT))
    context.close()
    return found


def _weight_of_all(browser: Browser, address: str) -> float:
    """Bytes of a page on which every view has been looked at."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    for view in VIEWS:
        page.goto(f"{address}{view}")
        page.wait_for_function(SETTLED)
        page.wait_for_timeout(300)
    context.close()
    return sum(sizes)


def _update_ms(browser: Browser, address: str, change_: Callable[[], None]) -> float:
    """Main-thread time of one change until it is drawn, median."""
    context = browser.new_context(viewport={"width": 1400, "height": 1000})
    page = context.new_page()
    page.goto(address)
    page.wait_for_function(SETTLED)
    session = context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    costs = []
    for _ in range(ROUNDS):
        before = _busy_s(session)
        with page.expect_response(_is_answer):
            change_()
        page.wait_for_timeout(DRAWN_MS)
        costs.append((_busy_s(session) - before) * 1_000)
    context.close()
    return statistics.median(costs)


def _is_answer(response: Response) -> bool:
    """Return True for an answer that ends, which the stream of changes does not."""
    path = urlsplit(response.url).path
    return path.startswith("/api/") and path != "/api/events"


def _busy_s(session: CDPSession) -> float:
    """Seconds that the main thread has worked so far; while others have its core, it does not work."""
    found = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(found["TaskDuration"])
