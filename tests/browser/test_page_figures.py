"""Mesh, messages, nodes, node, feed and job on a story of a small mesh: what a reader sees is what the server says."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import answers
from tests.browser.visits import HEIGHT, PHONE_WIDTH, Visit

pytestmark = pytest.mark.browser

HOUR_US = 3_600_000_000
SHOWN_AT_FIRST = 40
"""Rows of a long table."""


def ask(story: str, path: str) -> answers.Answer:
    """Return the server's answer."""
    with urlopen(story + path) as response:
        found: answers.Answer = json.load(response)
    return found


def path_of(story: str, view: str) -> str:
    """Address of a view; node and feed pages are those of the node farthest behind and of its feed."""
    if view in ("node", "feed"):
        worst = max(ask(story, "/api/overview")["nodes"], key=lambda node: node["behind"])
        return f"/{view}/{worst[view]}"
    return {"mesh": "/"}.get(view, f"/{view}")


@pytest.fixture
def visit(browser: Browser, story: str) -> Iterator[Visit]:
    with Visit(browser, story) as visit:
        yield visit
        assert visit.complaints == []


@pytest.mark.parametrize("view", ["mesh", "messages", "nodes", "node", "feed", "job"])
def test_everybody_can_use_the_view_on_any_screen(visit: Visit, story: str, view: str) -> None:
    page = visit.go(path_of(story, view))
    assert visit.picture_differs(view) == ""
    assert visit.barriers() == []
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert visit.barriers() == []
    page.set_viewport_size({"width": PHONE_WIDTH, "height": HEIGHT})
    assert visit.barriers() == []
    assert not visit.wide()
    page.set_viewport_size({"width": 3_840, "height": 2_160})
    assert not visit.wide()
    assert {story.split("//")[1]} == visit.places


def column(page: Page, table: str, number: int) -> list[str]:
    """The texts of a column, 1 being the first."""
    return [
        text.strip() for text in page.locator(f"{table} tbody tr > :nth-child({number})").all_text_contents()
    ]


def test_the_overview_tells_what_the_server_knows(visit: Visit, story: str) -> None:
    known = ask(story, "/api/overview")
    page = visit.go("/nodes")
    assert dict(zip(column(page, "#nodes", 1), column(page, "#nodes", 2), strict=True)) == {
        node["label"]: f"{node['behind']:,}" for node in known["nodes"]
    }
    page = visit.go("/messages")
    assert column(page, "#recent", 1) == [f"{entry['label']} #{entry['seq']}" for entry in known["recent"]]
    page = visit.go("/")
    expect(page.locator("h1")).to_have_text(known["sentence"])
    expect(page.locator("#alerts .badge.alarm")).to_have_count(
        sum(alert["level"] == "alarm" and alert["until_us"] is None for alert in known["alerts"])
    )
    expect(page.locator("#convergence footer")).to_contain_text(
        f"{known['totals']['behind']} copies missing now"
    )


def test_a_table_is_sorted_by_its_heads_and_the_address_keeps_it(visit: Visit) -> None:
    page = visit.go("/nodes")
    page.locator("#nodes").get_by_role("button", name="node").click()
    expect(page.locator("#nodes th[aria-sort]")).to_have_attribute("aria-sort", "ascending")
    by_name = column(page, "#nodes", 1)
    assert "sort-nodes=node" in page.url
    page.locator("#nodes").get_by_role("button", name="lacks").press("Enter")
    behind = [int(text.replace(",", "")) for text in column(page, "#nodes", 2)]
    assert behind == sorted(behind, reverse=True)
    assert by_name != column(page, "#nodes", 1)
    page.reload()
    visit.settle()
    assert [int(text.replace(",", "")) for text in column(page, "#nodes", 2)] == behind


def test_the_line_can_be_read_with_the_keyboard(visit: Visit, story: str) -> None:
    missing = ask(story, "/api/overview")["convergence"][-1][1]
    page = visit.go("/")
    page.locator("#convergence .chart").focus()
    page.keyboard.press("End")
    expect(page.locator("#tip")).to_contain_text(f"{missing} copies missing")
    page.keyboard.press("Escape")
    expect(page.locator("#tip")).to_be_hidden()


def test_a_stretch_of_the_line_can_be_chosen_and_the_back_button_undoes_it(visit: Visit) -> None:
    page = visit.go("/")
    box = page.locator("#convergence .u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 40)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 60, steps=4)
    page.mouse.up()
    page.wait_for_url("**/?from=*&to=*")
    expect(page.get_by_label("Time range")).to_have_value("fixed")
    page.go_back()
    expect(page.get_by_label("Time range")).to_have_value("24h")


def test_cells_of_the_heat_map_are_reached_and_told_by_the_keyboard(visit: Visit, story: str) -> None:
    known = ask(story, "/api/heatmap")
    page = visit.go("/messages")
    page.locator(".heat canvas").press("Home")
    for _step in range(2):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    feed, node, lacked = known["feeds"][2], known["nodes"][1], known["behind"][2][1]
    told = page.locator("#heat-cell")
    expect(told).to_contain_text(f"{node['label']} {'has all' if lacked == 0 else f'lacks {lacked} of'}")
    expect(told.get_by_role("link").nth(1)).to_have_attribute("href", f"/feed/{feed['feed']}")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/node/{node['node']}")


def lacking(known: answers.Answer) -> set[tuple[str, str, str]]:
    """(feed, node, how many) of all cells where entries or packets of side chains are missing."""
    chunks = known["chunks_missing"] or [[0] * len(known["nodes"])] * len(known["feeds"])
    return {
        (feed["label"], node["label"], str(known["behind"][row][at]))
        for row, feed in enumerate(known["feeds"])
        for at, node in enumerate(known["nodes"])
        if known["behind"][row][at] or chunks[row][at]
    }


def test_the_heat_map_as_a_table_has_every_cell_with_something_missing(visit: Visit, story: str) -> None:
    page = visit.go("/messages")
    page.get_by_role("button", name="Table").click()
    page.wait_for_url("**/messages?as=table")
    expect(page.locator("#heat tbody tr")).to_have_count(SHOWN_AT_FIRST)
    page.get_by_role("button", name="Show all").click()
    known = lacking(ask(story, "/api/heatmap"))
    expect(page.locator("#heat tbody tr")).to_have_count(len(known))
    assert set(zip(*(column(page, "#heat", number) for number in (1, 2, 3)), strict=True)) == known


def test_the_slider_shows_an_earlier_moment_and_the_address_keeps_it(visit: Visit, story: str) -> None:
    now = ask(story, "/api/heatmap")
    page = visit.go("/messages?as=table")
    page.get_by_role("button", name="Show all").click()
    slider = page.get_by_label("Moment that is shown")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_url(f"**at={now['first_us']}*")
    page.keyboard.press("ArrowRight")
    page.wait_for_url(f"**at={now['first_us'] + HOUR_US}*")
    then = ask(story, f"/api/heatmap?at={now['first_us'] + HOUR_US}")
    expect(page.locator("#heat tbody tr")).to_have_count(len(lacking(then)))
    page.reload()
    visit.settle()
    expect(page.locator("#heat tbody tr")).to_have_count(min(SHOWN_AT_FIRST, len(lacking(then))))
    page.get_by_role("button", name="Now").click()
    page.get_by_role("button", name=f"Show all {len(lacking(now))} rows").wait_for()
    assert "at=" not in page.url


def test_the_history_plays_and_can_be_stopped(visit: Visit) -> None:
    page = visit.go("/messages")
    page.get_by_role("button", name="Play").click()
    page.wait_for_url("**at=*")
    first = page.url
    page.wait_for_url(lambda url: url != first)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_a_node_page_tells_what_the_server_knows(visit: Visit, story: str) -> None:
    path = path_of(story, "node")
    known = ask(story, f"/api{path}")
    page = visit.go(path)
    expect(page.locator("h1")).to_have_text(f"Node {known['label']}")
    expect(page.locator(".summary")).to_contain_text(f"{known['behind']} entries behind")
    expect(page.locator("#lacks tbody tr")).to_have_count(len(known["feeds_behind"]))
    for name, rows in (
        ("hears", "hears"),
        ("heard-by", "heard_by"),
        ("boots", "boots"),
        ("traffic", "traffic"),
    ):
        expect(page.locator(f"#{name} tbody tr")).to_have_count(len(known[rows]))
    labels = {node["node"]: node["label"] for node in ask(story, "/api/overview")["nodes"]}
    assert set(column(page, "#hears", 1)) == {labels[link["sender"]] for link in known["hears"]}


def test_a_feed_page_tells_who_has_what(visit: Visit, story: str) -> None:
    path = path_of(story, "feed")
    known = ask(story, f"/api{path}")
    page = visit.go(path)
    expect(page.locator("h1")).to_have_text(f"Feed {known['label']}")
    held = dict(zip(column(page, "#holders", 1), column(page, "#holders", 2), strict=True))
    assert held == {node["label"]: f"{node['seq']} of {known['newest']}" for node in known["nodes"]}
    expect(page.locator("#entries tbody tr")).to_have_count(len(known["entries"]))
    expect(page.locator("#delays .histogram")).to_be_visible()
    page.locator("#entries tbody a").first.click()
    page.wait_for_url(f"**/message/{known['feed']}/{known['newest']}")


def test_a_forked_feed_says_so(visit: Visit, story: str) -> None:
    (fork, *_others) = ask(story, "/api/faults")["forks"]
    page = visit.go(f"/feed/{fork['feed']}")
    expect(page.locator("#forks tbody tr").first).to_contain_text(f"#{fork['seq']}")


def test_the_job_page_tells_lag_and_batches(visit: Visit, story: str) -> None:
    known = ask(story, "/api/job")
    page = visit.go("/job")
    expect(page.locator(".summary")).to_contain_text(f"{known['records']:,}")
    expect(page.locator("#batches tbody tr")).to_have_count(min(SHOWN_AT_FIRST, len(known["batches"])))
    expect(page.locator("#took canvas")).to_be_visible()
    expect(page.get_by_label("Time range")).to_be_hidden()


@pytest.mark.parametrize(("path", "card"), [("/", "#convergence"), ("/messages", "#heat")])
def test_pictures_and_tables_can_be_taken_away(visit: Visit, path: str, card: str) -> None:
    page = visit.go(path)
    with page.expect_download() as picture:
        page.locator(card).get_by_role("button", name="PNG").click()
    assert picture.value.path().read_bytes().startswith(b"\x89PNG")
    with page.expect_download() as table:
        page.locator(card).get_by_role("link", name="CSV").click()
    assert table.value.path().read_text().count("\n") > 1


def test_paper_gets_the_figures_in_ink(visit: Visit) -> None:
    page = visit.go("/")
    page.locator("#theme").click()
    page.emulate_media(media="print")
    shown: dict[str, Any] = page.evaluate(
        "() => ({ground: getComputedStyle(document.body).backgroundColor,"
        " tabs: getComputedStyle(document.querySelector('.tabs')).display})"
    )
    assert shown == {"ground": "rgb(255, 255, 255)", "tabs": "none"}
