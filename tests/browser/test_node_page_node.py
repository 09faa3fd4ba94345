"""The view of the node in Chromium: what is wrong, and the last week as bars that words and tables repeat."""

import math
import random
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visits import PHONE_WIDTH, Visit
from tests.web.fake import FakeNode, serving
from tests.web.logs import Record, record, write_segment
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.web import limits

pytestmark = pytest.mark.browser

HOUR_US = 3_600_000_000


def busy_week(folder: Path) -> FakeNode:
    """Return a node with a log of five days: busy by day, off for an evening."""
    node, entropy = FakeNode(), random.Random(7)
    node.log = folder
    now_us = time.time_ns() // 1_000
    for hours in range(120, -1, -1):
        if 40 <= hours < 50:
            continue
        busy = 1 + round(9 * max(0.0, math.sin(hours / 24 * 2 * math.pi)) * entropy.random())
        records: list[Record] = []
        for _ in range(busy):
            t_us = now_us - hours * HOUR_US
            records += [
                record("tx", t_us, airtime_us=205_056),
                record("entry", t_us, origin="own" if entropy.random() < 0.2 else "peer"),
                *[record("rx", t_us, airtime_us=205_056, verdict="new")] * 3,
                *[record("rx", t_us, airtime_us=205_056, verdict="duplicate")] * entropy.randrange(9),
            ]
        write_segment(folder, 1_000 - hours, records)
    return node


def test_the_week_is_drawn_and_said_in_words(browser: Browser, tmp_path: Path) -> None:
    with (
        serving(busy_week(tmp_path)) as address,
        Visit(browser, address, width=PHONE_WIDTH) as visit,
    ):
        page = visit.page
        page.goto(f"{visit.address}/node")
        week = page.get_by_role("region", name="The last week")
        expect(week.get_by_role("status")).to_contain_text("In 57 hours of the week the log has no records")
        cards = week.get_by_role("listitem")
        expect(cards.locator("h3")).to_have_text(
            ["Entries stored", "Airtime", "Packets heard", "Written to the disk"]
        )
        expect(cards.nth(0)).to_contain_text("from neighbours")
        expect(cards.nth(2).locator(".keys")).to_contain_text("told nothing new")
        drawn = cards.nth(2).locator("path.part-0").get_attribute("d") or ""
        assert drawn.count("M") == 111, "a bar for each hour with packets"
        cards.nth(0).get_by_text("By day").click()
        rows = cards.nth(0).get_by_role("row")
        expect(rows).to_have_count(9)  # the head, and parts of eight days
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []


def test_while_the_log_is_being_read_the_page_says_so_and_asks_again(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HISTORY_SLICE_S", 0.0)
    with serving(busy_week(tmp_path)) as address, Visit(browser, address) as visit:
        page = visit.page
        page.goto(f"{visit.address}/node")
        week = page.get_by_role("region", name="The last week")
        expect(week.get_by_role("status")).to_contain_text("The node reads its event log: 0 % is done")
        expect(page.get_by_role("heading", name="Airtime").first).to_be_visible()
        monkeypatch.setattr(limits, "HISTORY_SLICE_S", 5.0)
        expect(week.get_by_role("status")).to_contain_text("By the hour")
        expect(week.get_by_role("heading", name="Packets heard")).to_be_visible()


def test_nodes_heard_by_radio_are_listed_with_their_signal(browser: Browser) -> None:
    with serving(FakeNode()) as address, Visit(browser, address, width=PHONE_WIDTH) as visit:
        page = visit.page
        page.goto(f"{visit.address}/node")
        named = page.get_by_role("listitem").filter(has=page.get_by_role("heading", name="Node 3fa1"))
        expect(named).to_contain_text("SNR 7.3 dB, RSSI -97 dBm")
        expect(named).to_contain_text("12 s ago")
        nameless = page.get_by_role("listitem").filter(
            has=page.get_by_role("heading", name="Boards and phones")
        )
        expect(nameless).to_contain_text("not known")
        assert not visit.wide()
        assert visit.barriers() == []


def test_what_is_wrong_stands_above_all_else(browser: Browser) -> None:
    node = FakeNode()
    node.found = [
        CheckResult(
            "daemon", ok=False, found="the face lora:hut is not open: <b>gone</b>", advice="Plug it in."
        )
    ]
    with serving(node) as address, Visit(browser, address, width=PHONE_WIDTH) as visit:
        page = visit.page
        page.goto(f"{visit.address}/node")
        alerts = page.get_by_role("list", name="Alerts").get_by_role("listitem")
        expect(alerts).to_have_count(1)
        expect(alerts).to_contain_text("The face lora:hut is not open: <b>gone</b>")
        expect(alerts).to_contain_text("Plug it in.")
        assert not visit.wide()
        assert visit.barriers() == []
        assert visit.complaints == []
